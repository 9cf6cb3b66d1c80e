/*
 * What the search works on: a problem, an assignment with every count that makes a change cheap, and what a change does.
 *
 * Part of kernel.c. Sections: structures; random numbers; costs; changes and undo.
 */
#include <stdint.h>

#define MOST_RESOURCES 64
/* Of what few problems need: inlined, it would make the inner loop of all others slower. */
#define APART __attribute__((noinline)) static

/* ---- Structures: arrays are row-major, and belong to the caller ---- */

struct problem {
    int64_t processes, machines, resources, services, locations, neighbourhoods, pairs, budget;
    int64_t service_weight, distance_weight, any_excess, any_square, any_price, any_need;
    int64_t any_skew, skew_width;
    const int64_t *usage;            /* [process][resource] */
    const int64_t *safety;           /* [machine][resource]: load above it costs excess_weight a unit */
    const int64_t *excess_weight;    /* [resource] */
    const double *share;             /* [machine][resource]: what turns a load into a share of the machine */
    const int64_t *target;           /* [machine][resource]: the share whose squared deviation costs square_weight */
    const int64_t *square_weight;    /* [resource] */
    const int64_t *available;        /* [machine][resource]: capacity, of which balance pairs compare what is free */
    const int32_t *pair_first;       /* [pair] resources; max(0, ratio * free[first] - free[second]) costs pair_weight */
    const int32_t *pair_second;
    const int64_t *pair_ratio;
    const int64_t *pair_weight;
    const int64_t *price;            /* [machine]: what a machine with a process costs */
    const int64_t *move_cost;        /* [process] */
    const int32_t *distance;         /* [machine][machine] from start to new, or null */
    const uint8_t *transient;        /* [resource]: a moved process counts on its start as well */
    const int32_t *start;            /* [process] */
    const int32_t *class_of;         /* [process] */
    const uint8_t *allowed;          /* [class][machine] */
    const int32_t *service_of;       /* [process] */
    const int32_t *limit;            /* [service]: most processes on one machine, 0 without a limit */
    const int32_t *spread;           /* [service]: fewest locations */
    const int32_t *location;         /* [machine] */
    const int32_t *neighbourhood;    /* [machine] */
    const int32_t *needs_at;         /* [service + 1]: where its needed services begin in needs */
    const int32_t *needs;
    const int32_t *needed_at;        /* the same, the other way round */
    const int32_t *needed_by;
    const double *logarithm;         /* [4096]: -ln of a uniform number, by its top 12 bits */
    const uint8_t *possible;         /* [process][machine], eight machines a byte: see find_possible; or null */
    const int32_t *group_of;         /* [process], -1 for none */
    const int32_t *group_most;       /* [group]: most of its processes away from their start */
    const int32_t *skews_at;         /* [service + 1]: where the skew rules that count its processes begin in skews_of */
    const int32_t *skews_of;
    const int32_t *division;         /* [rule]: its row of skew_location */
    const int32_t *skew_location;    /* [division][machine] */
    const int32_t *skew_locations;   /* [rule]: how many of its locations count */
    const int32_t *skew_most;        /* [rule]: how many more members one may have than the one with fewest */
    const int32_t *skew_from_zero;   /* [rule]: whether the fewest always count as none */
    const int32_t *skew_at_start;    /* [rule]: the fewest members of any location at the start */
};

struct state {
    int64_t cost, moved, most_moved, journal, best_cost, unsaved;
    int64_t groups_over;             /* groups with more moved processes than they may have; never between tries */
    uint64_t random;
    int32_t *place;                  /* [process]: its machine */
    int64_t *load;                   /* [machine][resource] */
    int64_t *room;                   /* [machine][resource]: capacity without load and without what moved processes hold */
    int64_t *machine_cost;           /* [machine] */
    int32_t *count;                  /* [machine]: its processes */
    int32_t *head, *next, *previous; /* processes of a machine, as a list */
    uint16_t *occupancy;             /* [limited service][machine]: its members there, of which some may stay */
    int32_t *occupancy_row;          /* [service], -1 if it cannot pass its limit */
    int32_t *at_location;            /* [spread service][location]: its members there */
    int32_t *location_row;           /* [service], -1 without a spread */
    int32_t *locations_used;         /* [spread service] */
    int32_t *in_neighbourhood;       /* [service in a dependency][neighbourhood] */
    int32_t *neighbourhood_row;      /* [service], -1 without a dependency */
    int32_t *moved_of;               /* [service]: moved processes */
    int32_t *moved_histogram;        /* [number]: services with so many moved processes */
    int32_t *moved_list;             /* the moved processes, in any order */
    int32_t *moved_position;         /* [process] in moved_list */
    int32_t *journal_process;        /* changes since the last mark, for undo */
    int32_t *journal_from;
    int32_t *best;                   /* [process]: the best assignment so far */
    int32_t *unsaved_list;           /* processes whose place may differ from best */
    uint8_t *unsaved_flag;           /* [process] */
    int64_t *tries;                  /* [neighbourhood kind]: tried, accepted, better */
    int32_t *moved_in_group;         /* [group] */
    int32_t *in_skew;                /* [rule][location]: its members there, of which some may stay */
    int32_t *skew_away;              /* [rule][location]: processes of these that began on another machine */
};

static const int64_t nothing[MOST_RESOURCES];

/* ---- Random numbers: splitmix64 ---- */

static inline uint64_t draw(struct state *s) {
    uint64_t z = (s->random += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

static inline int32_t below(struct state *s, int64_t bound) {
    return (int32_t)(((draw(s) >> 32) * (uint64_t)bound) >> 32);
}

/* The most that the cost may rise in the next try: an exponential variable with the temperature as its mean. */
static inline int64_t allowance(const struct problem *p, struct state *s, double temperature) {
    if (temperature <= 0) return 0;
    return (int64_t)(temperature * p->logarithm[draw(s) >> 52]);
}

/* ---- Costs ---- */

/* What machine m costs with `more` added to its load and `less` taken away, and `count` processes. */
static inline int64_t cost_of(const struct problem *p, const struct state *s, int32_t m, const int64_t *more,
                              const int64_t *less, int32_t count) {
    const int64_t n = p->resources, *load = s->load + m * n;
    int64_t value[MOST_RESOURCES], cost = 0;
    for (int64_t r = 0; r < n; r++) value[r] = load[r] + more[r] - less[r];
    if (p->any_excess) {
        const int64_t *safety = p->safety + m * n;
        for (int64_t r = 0; r < n; r++) {
            int64_t above = value[r] - safety[r];
            cost += p->excess_weight[r] * (above > 0 ? above : 0);
        }
    }
    if (p->any_square) {
        const double *share = p->share + m * n;
        const int64_t *target = p->target + m * n;
        for (int64_t r = 0; r < n; r++) {
            int64_t deviation = (int64_t)((double)value[r] * share[r]) - target[r];
            cost += p->square_weight[r] * deviation * deviation;
        }
    }
    for (int64_t b = 0; b < p->pairs; b++) {
        const int64_t *available = p->available + m * n;
        int32_t i = p->pair_first[b], j = p->pair_second[b];
        int64_t missing = p->pair_ratio[b] * (available[i] - value[i]) - (available[j] - value[j]);
        cost += p->pair_weight[b] * (missing > 0 ? missing : 0);
    }
    if (p->any_price && count > 0) cost += p->price[m];
    return cost;
}

/* What process i holds on m only while it is there: not what it holds on its start in any case. */
static inline const int64_t *held_only_there(const struct problem *p, int32_t i, int32_t m, int64_t *buffer) {
    const int64_t n = p->resources, *usage = p->usage + i * n;
    if (m != p->start[i]) return usage;
    for (int64_t r = 0; r < n; r++) buffer[r] = p->transient[r] ? 0 : usage[r];
    return buffer;
}

/* What it costs that process i is on machine m and not where it was, without its service's part. */
static inline int64_t move_cost(const struct problem *p, int32_t i, int32_t m) {
    int32_t start = p->start[i];
    if (m == start) return 0;
    int64_t cost = p->move_cost[i];
    if (p->distance) cost += p->distance_weight * p->distance[start * p->machines + m];
    return cost;
}

static inline void count_moved(struct state *s, int32_t service, int32_t change) {
    int32_t old = s->moved_of[service], new = old + change;
    s->moved_of[service] = new;
    s->moved_histogram[old]--;
    s->moved_histogram[new]++;
    if (new > s->most_moved) s->most_moved = new;
    if (change < 0 && old == s->most_moved && s->moved_histogram[old] == 0) s->most_moved = new;
}

static inline void count_in_group(const struct problem *p, struct state *s, int32_t i, int32_t change) {
    int32_t g = p->group_of[i];
    if (g < 0) return;
    int32_t over = s->moved_in_group[g] > p->group_most[g];
    s->moved_in_group[g] += change;
    s->groups_over += (s->moved_in_group[g] > p->group_most[g]) - over;
}

/* How the number of moved processes changes when process i goes to m. */
static inline int32_t moved_change(const struct problem *p, const struct state *s, int32_t i, int32_t m) {
    return (m != p->start[i]) - (s->place[i] != p->start[i]);
}

static inline int64_t service_change(const struct problem *p, struct state *s, int32_t i, int32_t di, int32_t j,
                                     int32_t dj) {
    if (p->service_weight == 0 || (di == 0 && dj == 0)) return 0;
    int64_t before = s->most_moved;
    if (di) count_moved(s, p->service_of[i], di);
    if (dj) count_moved(s, p->service_of[j], dj);
    int64_t after = s->most_moved;
    if (dj) count_moved(s, p->service_of[j], -dj);
    if (di) count_moved(s, p->service_of[i], -di);
    s->most_moved = before;
    return p->service_weight * (after - before);
}

/* ---- Changes and undo ---- */

static inline void unlink_process(struct state *s, int32_t i, int32_t m) {
    int32_t next = s->next[i], previous = s->previous[i];
    if (previous >= 0) s->next[previous] = next; else s->head[m] = next;
    if (next >= 0) s->previous[next] = previous;
    s->count[m]--;
}

static inline void link_process(struct state *s, int32_t i, int32_t m) {
    int32_t first = s->head[m];
    s->next[i] = first;
    s->previous[i] = -1;
    if (first >= 0) s->previous[first] = i;
    s->head[m] = i;
    s->count[m]++;
}

APART void count_in_skews(const struct problem *p, struct state *s, int32_t i, int32_t from, int32_t to) {
    int32_t service = p->service_of[i], start = p->start[i];
    for (int32_t k = p->skews_at[service]; k < p->skews_at[service + 1]; k++) {
        int32_t r = p->skews_of[k];
        const int32_t *location = p->skew_location + p->division[r] * p->machines;
        int64_t old = r * p->skew_width + location[from], new = r * p->skew_width + location[to];
        s->in_skew[old]--;
        s->in_skew[new]++;
        s->skew_away[old] -= from != start;
        s->skew_away[new] += to != start;
    }
}

static void count_places(const struct problem *p, struct state *s, int32_t service, int32_t from, int32_t to) {
    int32_t row = s->occupancy_row[service];
    if (row >= 0) {
        s->occupancy[row * p->machines + from]--;
        s->occupancy[row * p->machines + to]++;
    }
    row = s->location_row[service];
    if (row >= 0) {
        int32_t *at = s->at_location + row * p->locations;
        if (--at[p->location[from]] == 0) s->locations_used[row]--;
        if (at[p->location[to]]++ == 0) s->locations_used[row]++;
    }
    row = s->neighbourhood_row[service];
    if (row >= 0) {
        s->in_neighbourhood[row * p->neighbourhoods + p->neighbourhood[from]]--;
        s->in_neighbourhood[row * p->neighbourhoods + p->neighbourhood[to]]++;
    }
}

/* Moves process i to machine `to`, whatever the rules say, and keeps every count and cost. */
static void move(const struct problem *p, struct state *s, int32_t i, int32_t to) {
    const int64_t n = p->resources, *usage = p->usage + i * n;
    int32_t from = s->place[i], start = p->start[i], change = moved_change(p, s, i, to);
    int64_t *old_load = s->load + from * n, *new_load = s->load + to * n;
    int64_t *old_room = s->room + from * n, *new_room = s->room + to * n;
    for (int64_t r = 0; r < n; r++) {
        old_load[r] -= usage[r];
        new_load[r] += usage[r];
        if (from != start || !p->transient[r]) old_room[r] += usage[r];
        if (to != start || !p->transient[r]) new_room[r] -= usage[r];
    }
    int64_t cost = move_cost(p, i, to) - move_cost(p, i, from);
    unlink_process(s, i, from);
    link_process(s, i, to);
    s->place[i] = to;
    int64_t old_cost = cost_of(p, s, from, nothing, nothing, s->count[from]);
    int64_t new_cost = cost_of(p, s, to, nothing, nothing, s->count[to]);
    cost += old_cost + new_cost - s->machine_cost[from] - s->machine_cost[to];
    s->machine_cost[from] = old_cost;
    s->machine_cost[to] = new_cost;
    count_places(p, s, p->service_of[i], from, to);
    if (p->any_skew) count_in_skews(p, s, i, from, to);
    if (change) {
        int64_t most = s->most_moved;
        count_moved(s, p->service_of[i], change);
        count_in_group(p, s, i, change);
        cost += p->service_weight * (s->most_moved - most);
        if (change > 0) {
            s->moved_position[i] = (int32_t)s->moved;
            s->moved_list[s->moved++] = i;
        } else {
            int32_t last = s->moved_list[--s->moved], position = s->moved_position[i];
            s->moved_list[position] = last;
            s->moved_position[last] = position;
        }
    }
    s->cost += cost;
    if (!s->unsaved_flag[i]) {
        s->unsaved_flag[i] = 1;
        s->unsaved_list[s->unsaved++] = i;
    }
}

/* The same, to be taken back with `undo`. */
static void tentatively(const struct problem *p, struct state *s, int32_t i, int32_t to) {
    s->journal_process[s->journal] = i;
    s->journal_from[s->journal++] = s->place[i];
    move(p, s, i, to);
}

static void undo(const struct problem *p, struct state *s) {
    while (s->journal > 0) {
        s->journal--;
        move(p, s, s->journal_process[s->journal], s->journal_from[s->journal]);
    }
}

/* Remembers the assignment if none was better. Called before a change for the worse, and at the end. */
static void save(struct state *s) {
    if (s->cost >= s->best_cost) return;
    s->best_cost = s->cost;
    for (int64_t k = 0; k < s->unsaved; k++) {
        int32_t i = s->unsaved_list[k];
        s->best[i] = s->place[i];
        s->unsaved_flag[i] = 0;
    }
    s->unsaved = 0;
}
