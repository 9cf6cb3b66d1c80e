/*
 * Where a process may go: room, masks, and what the rules of services and of skews allow.
 *
 * Part of kernel.c, after state.h.
 */

/* Whether process i fits on m when `less` leaves it. What a process holds on its start it holds there anyway. */
static inline int fits(const struct problem *p, const struct state *s, int32_t i, int32_t m, const int64_t *less) {
    const int64_t n = p->resources, *usage = p->usage + i * n, *room = s->room + m * n;
    if (m != p->start[i]) {
        for (int64_t r = 0; r < n; r++)
            if (usage[r] > room[r] + less[r] && usage[r] > 0) return 0;
    } else {
        for (int64_t r = 0; r < n; r++)
            if (usage[r] > room[r] + less[r] && usage[r] > 0 && !p->transient[r]) return 0;
    }
    return 1;
}

static inline int dependencies_hold(const struct problem *p, const struct state *s, int32_t service, int32_t from,
                                    int32_t to) {
    int32_t old = p->neighbourhood[from], new = p->neighbourhood[to];
    if (old == new) return 1;
    const int32_t *in = s->in_neighbourhood;
    const int64_t n = p->neighbourhoods;
    for (int32_t k = p->needs_at[service]; k < p->needs_at[service + 1]; k++)
        if (p->needs[k] != service && in[s->neighbourhood_row[p->needs[k]] * n + new] == 0) return 0;
    if (p->needed_at[service] == p->needed_at[service + 1]) return 1;
    if (in[s->neighbourhood_row[service] * n + old] > 1) return 1;
    for (int32_t k = p->needed_at[service]; k < p->needed_at[service + 1]; k++)
        if (p->needed_by[k] != service && in[s->neighbourhood_row[p->needed_by[k]] * n + old] > 0) return 0;
    return 1;
}

static inline int is_allowed(const struct problem *p, int32_t i, int32_t m) {
    return p->allowed[p->class_of[i] * p->machines + m];
}

/*
 * Whether process i can be on m whatever else moves. Where that is rare, most random changes are impossible, and asking
 * this first, and drawing again, is what makes them worth a try.
 */
static inline int is_possible(const struct problem *p, int32_t i, int32_t m) {
    return !p->possible || p->possible[i * ((p->machines + 7) / 8) + m / 8] >> m % 8 & 1;
}

/* Whether skew rule r holds when process i has gone from one machine to another: see Skews in problem.py. */
static inline int skew_holds(const struct problem *p, const struct state *s, int32_t r, int32_t i, int32_t from,
                             int32_t to) {
    const int32_t *location = p->skew_location + p->division[r] * p->machines, number = p->skew_locations[r];
    const int32_t *in = s->in_skew + r * p->skew_width, *away = s->skew_away + r * p->skew_width;
    int32_t old = location[from], new = location[to], least = INT32_MAX;
    for (int32_t e = 0; e < number; e++) {
        int32_t members = in[e] + (e == new) - (e == old);
        if (members < least) least = members;
    }
    if (p->skew_from_zero[r]) least = 0;
    int64_t most = (int64_t)least + p->skew_most[r];
    for (int32_t e = 0; e < number; e++) {
        if (in[e] + (e == new) - (e == old) <= most) continue;
        int32_t came = away[e] + (e == new && to != p->start[i]) - (e == old && from != p->start[i]);
        if (came > 0 || least < p->skew_at_start[r]) return 0;
    }
    return 1;
}

APART int skews_hold(const struct problem *p, const struct state *s, int32_t i, int32_t from, int32_t to) {
    int32_t service = p->service_of[i];
    for (int32_t k = p->skews_at[service]; k < p->skews_at[service + 1]; k++)
        if (!skew_holds(p, s, p->skews_of[k], i, from, to)) return 0;
    return 1;
}

/* Whether skew rules hold when process i has gone to where j is, and when j has then gone to where i was. */
APART int skews_hold_in_turn(const struct problem *p, struct state *s, int32_t i, int32_t j) {
    int32_t from = s->place[i], to = s->place[j];
    if (!skews_hold(p, s, i, from, to)) return 0;
    count_in_skews(p, s, i, from, to);
    int both = skews_hold(p, s, j, to, from);
    count_in_skews(p, s, i, to, from);
    return both;
}

/* Whether process i may go to m, as far as its class and its service alone are concerned. */
static inline int service_may_go(const struct problem *p, const struct state *s, int32_t i, int32_t m) {
    if (!is_allowed(p, i, m)) return 0;
    int32_t service = p->service_of[i], from = s->place[i], row = s->occupancy_row[service];
    if (row >= 0 && s->occupancy[row * p->machines + m] >= p->limit[service]) return 0;
    row = s->location_row[service];
    if (row >= 0) {
        const int32_t *at = s->at_location + row * p->locations;
        int32_t old = p->location[from], new = p->location[m];
        if (old != new && at[old] == 1 && at[new] > 0 && s->locations_used[row] <= p->spread[service]) return 0;
    }
    return !p->any_need || s->neighbourhood_row[service] < 0 || dependencies_hold(p, s, service, from, m);
}

/* Whether process i may go to m, as far as everything but resources is concerned. */
static inline int may_go(const struct problem *p, const struct state *s, int32_t i, int32_t m) {
    return service_may_go(p, s, i, m) && (!p->any_skew || skews_hold(p, s, i, s->place[i], m));
}

/* Whether one service needs the other: the two are never exchanged, for each alone might hold and both not. */
static inline int related(const struct problem *p, int32_t one, int32_t other) {
    if (!p->any_need) return 0;
    for (int32_t k = p->needs_at[one]; k < p->needs_at[one + 1]; k++)
        if (p->needs[k] == other) return 1;
    for (int32_t k = p->needs_at[other]; k < p->needs_at[other + 1]; k++)
        if (p->needs[k] == one) return 1;
    return 0;
}

static inline int overloaded(const struct problem *p, const struct state *s, int32_t m) {
    const int64_t *room = s->room + m * p->resources;
    for (int64_t r = 0; r < p->resources; r++)
        if (room[r] < 0) return 1;
    return 0;
}
