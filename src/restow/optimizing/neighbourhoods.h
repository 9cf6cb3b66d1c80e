/*
 * The changes that the search tries: each tries one and says whether it was made, which it is if the cost rises by `most` at
 * most and no rule is broken.
 *
 * Part of kernel.c, after rules.h.
 */
#define MOST_EJECTED 24
#define MOST_DRAWS 16
#define ASKED_FOR_COST 8
#define WITHIN_SAFETY 16 /* of so many ejection chains, one goes on until nothing is above the safety capacity */

enum kind { SHIFT, SWAP, RETURN, FORCE, EMPTY, KINDS };

/* A machine for process i. */
static inline int32_t draw_machine(const struct problem *p, struct state *s, int32_t i) {
    int32_t m = below(s, p->machines);
    for (int k = 1; k < MOST_DRAWS && !is_possible(p, i, m); k++) m = below(s, p->machines);
    return m;
}

/* A process to change places with process i. */
static inline int32_t draw_partner(const struct problem *p, struct state *s, int32_t i) {
    int32_t j = below(s, p->processes);
    for (int k = 1; k < MOST_DRAWS; k++) {
        if (is_possible(p, i, s->place[j]) && is_possible(p, j, s->place[i])) break;
        j = below(s, p->processes);
    }
    return j;
}

static inline int64_t shift_change(const struct problem *p, struct state *s, int32_t i, int32_t to) {
    int32_t from = s->place[i];
    const int64_t *usage = p->usage + i * p->resources;
    int64_t change = cost_of(p, s, from, nothing, usage, s->count[from] - 1) - s->machine_cost[from];
    change += cost_of(p, s, to, usage, nothing, s->count[to] + 1) - s->machine_cost[to];
    change += move_cost(p, i, to) - move_cost(p, i, from);
    return change + service_change(p, s, i, moved_change(p, s, i, to), 0, 0);
}

static inline int within_budget(const struct problem *p, const struct state *s, int64_t change) {
    return change <= 0 || s->moved + change <= p->budget;
}

/* Whether the group of process i has room for a change of its moved processes. */
static inline int within_group(const struct problem *p, const struct state *s, int32_t i, int32_t change) {
    int32_t g = p->group_of[i];
    return change <= 0 || g < 0 || s->moved_in_group[g] + change <= p->group_most[g];
}

static inline int may_move(const struct problem *p, const struct state *s, int32_t i, int32_t to) {
    int32_t change = moved_change(p, s, i, to);
    return within_budget(p, s, change) && within_group(p, s, i, change);
}

/* Process i goes to another machine. */
static int shift(const struct problem *p, struct state *s, int32_t i, int32_t to, int64_t most) {
    if (to == s->place[i] || !may_move(p, s, i, to)) return 0;
    if (!fits(p, s, i, to, nothing) || !may_go(p, s, i, to)) return 0;
    int64_t change = shift_change(p, s, i, to);
    if (change > most) return 0;
    if (change > 0) save(s);
    move(p, s, i, to);
    return 1;
}

/* Processes i and j change places; of one service, no count changes, so only the machines' masks are asked. */
static int swap(const struct problem *p, struct state *s, int32_t i, int32_t j, int64_t most) {
    int32_t from = s->place[i], to = s->place[j];
    if (from == to) return 0;
    int32_t di = moved_change(p, s, i, to), dj = moved_change(p, s, j, from);
    if (!within_budget(p, s, di + dj) || !within_group(p, s, i, di) || !within_group(p, s, j, dj)) return 0;
    if (di > 0 && dj > 0 && p->group_of[i] == p->group_of[j] && !within_group(p, s, i, 2)) return 0;
    const int64_t n = p->resources, *mine = p->usage + i * n, *other = p->usage + j * n;
    int64_t buffer_from[MOST_RESOURCES], buffer_to[MOST_RESOURCES];
    const int64_t *freed_from = held_only_there(p, i, from, buffer_from);
    const int64_t *freed_to = held_only_there(p, j, to, buffer_to);
    if (!fits(p, s, i, to, freed_to) || !fits(p, s, j, from, freed_from)) return 0;
    if (p->service_of[i] == p->service_of[j]) {
        if (!is_allowed(p, i, to) || !is_allowed(p, j, from)) return 0;
    } else {
        if (!service_may_go(p, s, i, to) || !service_may_go(p, s, j, from)) return 0;
        if (related(p, p->service_of[i], p->service_of[j])) return 0;
    }
    if (p->any_skew && !skews_hold_in_turn(p, s, i, j) && !skews_hold_in_turn(p, s, j, i)) return 0;
    int64_t change = cost_of(p, s, from, other, mine, s->count[from]) - s->machine_cost[from];
    change += cost_of(p, s, to, mine, other, s->count[to]) - s->machine_cost[to];
    change += move_cost(p, i, to) - move_cost(p, i, from) + move_cost(p, j, from) - move_cost(p, j, to);
    change += service_change(p, s, i, di, j, dj);
    if (change > most) return 0;
    if (change > 0) save(s);
    move(p, s, i, to);
    move(p, s, j, from);
    return 1;
}

static int settle(const struct problem *p, struct state *s, int64_t before, int64_t most) {
    if (s->cost - before > most || s->moved > p->budget || s->groups_over > 0) {
        undo(p, s);
        return 0;
    }
    s->journal = 0;
    return 1;
}

/* One of the processes of machine m, or -1. */
static inline int32_t process_on(const struct state *s, int32_t m, int32_t position) {
    int32_t i = s->head[m];
    while (position-- > 0) i = s->next[i];
    return i;
}

/*
 * A moved process returns to where it was, and another gets its part of the budget, or of the room that it held in two
 * places: any process or one of the machine that it returns to, which goes anywhere or where the first one was.
 */
static int hand_over(const struct problem *p, struct state *s, int64_t most) {
    if (s->moved == 0) return 0;
    int32_t j = s->moved_list[below(s, s->moved)], home = p->start[j], variant = below(s, 4);
    int32_t i = below(s, p->processes);
    if (variant & 2) i = s->count[home] > 0 ? process_on(s, home, below(s, s->count[home])) : i;
    int32_t to = variant & 1 ? s->place[j] : draw_machine(p, s, i);
    if (variant == 3) return s->place[i] == home && is_possible(p, i, to) ? swap(p, s, i, j, most) : 0;
    if (to == s->place[i] || i == j || !is_possible(p, i, to) || !is_allowed(p, i, to) || !may_go(p, s, j, home)) return 0;
    int64_t buffer[MOST_RESOURCES];
    if (!fits(p, s, j, home, s->place[i] == home ? held_only_there(p, i, home, buffer) : nothing)) return 0;
    if (!fits(p, s, i, to, to == s->place[j] ? held_only_there(p, j, to, buffer) : nothing)) return 0;
    int64_t before = s->cost;
    save(s);
    tentatively(p, s, j, home);
    if (!fits(p, s, i, to, nothing) || !may_go(p, s, i, to)) {
        undo(p, s);
        return 0;
    }
    if (s->cost - before + shift_change(p, s, i, to) > most) {
        undo(p, s);
        return 0;
    }
    tentatively(p, s, i, to);
    return settle(p, s, before, most);
}

/* The cheapest of machines for process i, which leaves `barred`; all are asked, or a sample of them. */
static int32_t cheapest(const struct problem *p, struct state *s, int32_t i, int32_t barred, int64_t sample,
                        int64_t *change_there) {
    int32_t best = -1, at = below(s, p->machines);
    int64_t least = INT64_MAX, asked = sample < p->machines ? sample : p->machines;
    for (int64_t k = 0; k < asked; k++) {
        int32_t m = asked < p->machines ? below(s, p->machines) : at;
        if (++at == p->machines) at = 0;
        if (m == barred || m == s->place[i] || !is_possible(p, i, m) || !fits(p, s, i, m, nothing) || !may_go(p, s, i, m)) continue;
        int64_t change = shift_change(p, s, i, m);
        if (change < least) {
            least = change;
            best = m;
        }
    }
    *change_there = least;
    return best;
}

/* A process of the machine that costs most of a few, one of which is that of process i. */
static inline int32_t of_a_costly_machine(const struct problem *p, struct state *s, int32_t i) {
    int32_t costly = s->place[i];
    for (int k = 0; k < ASKED_FOR_COST; k++) {
        int32_t m = below(s, p->machines);
        if (s->count[m] > 0 && s->machine_cost[m] > s->machine_cost[costly]) costly = m;
    }
    return process_on(s, costly, below(s, s->count[costly]));
}

/* How much of each resource must leave machine m: what exceeds its capacity, or its safety capacity. Returns whether any. */
static inline int lacking(const struct problem *p, const struct state *s, int32_t m, int within_safety, int64_t *lacks) {
    const int64_t n = p->resources, *room = s->room + m * n, *load = s->load + m * n, *safety = p->safety + m * n;
    int any = 0;
    for (int64_t r = 0; r < n; r++) {
        lacks[r] = room[r] < 0 ? -room[r] : 0;
        if (within_safety && p->excess_weight[r] > 0 && load[r] - safety[r] > lacks[r]) lacks[r] = load[r] - safety[r];
        any |= lacks[r] > 0;
    }
    return any;
}

/* A process of machine m that frees some of what is lacking; with `at_once`, one that frees all of it if there is one. */
static int32_t to_eject(const struct problem *p, struct state *s, int32_t m, int32_t stays, const int64_t *lacks,
                        int at_once) {
    const int64_t n = p->resources;
    int32_t chosen = -1;
    int64_t seen = 0, sufficient = 0;
    for (int32_t i = s->head[m]; i >= 0; i = s->next[i]) {
        if (i == stays) continue;
        const int64_t *usage = p->usage + i * n;
        int enough = 1, some = 0;
        for (int64_t r = 0; r < n; r++) {
            if (lacks[r] == 0) continue;
            int64_t frees = m == p->start[i] && p->transient[r] ? 0 : usage[r];
            if (frees > 0) some = 1;
            if (frees < lacks[r]) enough = 0;
        }
        if (!some || enough < sufficient) continue;
        if (at_once && enough > sufficient) {
            sufficient = 1;
            seen = 0;
        }
        if (below(s, ++seen) == 0) chosen = i;
    }
    return chosen;
}

/*
 * Process i goes to a machine without room for it, which sends others away until there is: an ejection chain. A few go
 * on until nothing is above the safety capacity: they free a machine for a large process of one that costs much.
 */
static int force(const struct problem *p, struct state *s, int32_t i, int32_t to, int64_t most, int64_t sample) {
    int64_t before = s->cost, lacks[MOST_RESOURCES];
    int within_safety = p->any_excess && below(s, WITHIN_SAFETY) == 0, at_once = !within_safety || below(s, 2);
    if (within_safety) i = of_a_costly_machine(p, s, i);
    if (to == s->place[i] || !may_go(p, s, i, to)) return 0;
    save(s);
    tentatively(p, s, i, to);
    for (int k = 0; lacking(p, s, to, within_safety, lacks); k++) {
        int32_t j = k < MOST_EJECTED ? to_eject(p, s, to, i, lacks, at_once) : -1;
        int64_t change;
        int32_t elsewhere = j < 0 ? -1 : cheapest(p, s, j, to, sample, &change);
        if (elsewhere < 0) {
            if (!overloaded(p, s, to)) break;
            undo(p, s);
            return 0;
        }
        tentatively(p, s, j, elsewhere);
    }
    return settle(p, s, before, most);
}

/* All processes of a machine go elsewhere, each to the cheapest place. */
static int empty(const struct problem *p, struct state *s, int32_t m, int64_t most, int64_t sample) {
    if (s->count[m] == 0) return 0;
    int64_t before = s->cost;
    save(s);
    while (s->head[m] >= 0) {
        int64_t change;
        int32_t i = s->head[m], to = cheapest(p, s, i, m, sample, &change);
        if (to < 0) {
            undo(p, s);
            return 0;
        }
        tentatively(p, s, i, to);
    }
    return settle(p, s, before, most);
}

/* Process i, or a moved one where i may not move because the budget is used. */
static inline int32_t within_reach(const struct problem *p, struct state *s, int32_t i) {
    if (s->moved < p->budget || s->moved == 0 || s->place[i] != p->start[i]) return i;
    return s->moved_list[below(s, s->moved)];
}

/* Process i, or a moved one if the budget is used, goes anywhere, or where it started. */
static int shift_any(const struct problem *p, struct state *s, int32_t i, int home, int64_t most) {
    i = within_reach(p, s, i);
    return shift(p, s, i, home ? p->start[i] : draw_machine(p, s, i), most);
}

/* Process i, or a moved one if the budget is used, changes places with another. */
static int swap_any(const struct problem *p, struct state *s, int32_t i, int64_t most) {
    i = within_reach(p, s, i);
    return swap(p, s, i, draw_partner(p, s, i), most);
}

/* Process i is forced anywhere, or, one time in four, a moved one to where it started. */
static int force_any(const struct problem *p, struct state *s, int32_t i, int64_t most, int64_t sample) {
    int home = s->moved > 0 && below(s, 4) == 0;
    if (home) i = s->moved_list[below(s, s->moved)];
    return force(p, s, i, home ? p->start[i] : draw_machine(p, s, i), most, sample);
}
