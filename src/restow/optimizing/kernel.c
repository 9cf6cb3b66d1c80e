/*
 * The inner loop of the search: tries moves on an assignment and keeps those that the temperature allows.
 *
 * Every number that decides is an int64, or a double that comes from one IEEE operation, so the same seed and steps give
 * the same assignment on every machine (compiled without contraction of floating point operations). No libm, no Python:
 * the library is loaded with ctypes, and `compiled.py` declares the two structures in the same order.
 *
 * `state.h` has the structures and costs, `rules.h` the rules, `neighbourhoods.h` the changes; here is what `compiled.py` calls.
 */
#include "state.h"
#include "rules.h"
#include "neighbourhoods.h"

#define VERSION 6  /* also in compiled.py: another one whenever what a field or an argument means changes */

/* The version and the sizes of both structures: a library of another version has others and is not used. */
int64_t layout(void) {
    return (int64_t)((uint64_t)VERSION << 32 | sizeof(struct problem) << 16 | sizeof(struct state));
}

/*
 * Makes `steps` tries at one temperature. Of 1,024 tries, `parts[kind]` are of each kind; what remains are shifts.
 * Returns how many were made.
 */
int64_t anneal(const struct problem *p, struct state *s, double temperature, int64_t steps,
               const int64_t *parts, int64_t sample) {
    int64_t made = 0, sum = 0;
    for (enum kind k = SWAP; k < KINDS; k++) sum += parts[k];
    for (int64_t step = 0; step < steps; step++) {
        int64_t choice = below(s, 1024), most = allowance(p, s, temperature), before = s->cost;
        int32_t i = below(s, p->processes);
        enum kind kind = SHIFT;
        for (enum kind k = SWAP; k < KINDS; k++) {
            if (choice < parts[k]) {
                kind = k;
                break;
            }
            choice -= parts[k];
        }
        int done = 0;
        switch (kind) {
            case SWAP: done = swap_any(p, s, i, most); break;
            case RETURN: done = hand_over(p, s, most); break;
            case FORCE: done = force_any(p, s, i, most, sample); break;
            case EMPTY: done = empty(p, s, s->place[i], most, sample); break;
            default: done = shift_any(p, s, i, choice < (1024 - sum) / 9, most);
        }
        s->tries[3 * kind]++;
        s->tries[3 * kind + 1] += done;
        s->tries[3 * kind + 2] += s->cost < before;
        made += done;
    }
    save(s);
    return made;
}

/*
 * Draws shifts that the rules allow, at most `draws`, and returns the mean of how much they would change the
 * cost: the scale of temperatures.
 */
int64_t mean_change(const struct problem *p, struct state *s, int64_t draws) {
    int64_t sum = 0, found = 0;
    for (int64_t k = 0; k < draws; k++) {
        int32_t i = below(s, p->processes), to = below(s, p->machines);
        if (to == s->place[i] || !fits(p, s, i, to, nothing) || !may_go(p, s, i, to)) continue;
        int64_t change = shift_change(p, s, i, to);
        sum += change < 0 ? -change : change;
        found++;
    }
    return found ? sum / found : 0;
}

/*
 * Sets the bit of each process and machine that are possible together: allowed, and with enough room on the machine
 * without any other moved process. `free` [machine][resource] is that room: in a transient resource, what is free at the
 * start, for those that began there hold it wherever they are.
 */
void find_possible(const struct problem *p, const int64_t *free, uint8_t *possible) {
    const int64_t n = p->resources;
    for (int32_t i = 0; i < p->processes; i++) {
        uint8_t *row = possible + i * ((p->machines + 7) / 8);
        for (int32_t m = 0; m < p->machines; m++) {
            int enough = is_allowed(p, i, m);
            for (int64_t r = 0; enough && r < n; r++)
                enough = p->usage[i * n + r] <= free[m * n + r] || p->usage[i * n + r] == 0;
            if (enough || m == p->start[i]) row[m / 8] |= (uint8_t)(1 << m % 8);
        }
    }
}

static void sift_down(int64_t *heap, const int64_t *key, int64_t size, int64_t at) {
    for (int64_t child; (child = 2 * at + 1) < size; at = child) {
        if (child + 1 < size && key[heap[child + 1]] < key[heap[child]]) child++;
        if (key[heap[at]] <= key[heap[child]]) return;
        int64_t other = heap[at];
        heap[at] = heap[child];
        heap[child] = other;
    }
}

/*
 * Makes the shift that gains most, again and again, until none gains or `limit` were made. What a shift gains is asked
 * again only when it is the next one: gains mostly fall. `work` has room for 2 * processes. Returns how many were made.
 */
int64_t greedy(const struct problem *p, struct state *s, int64_t limit, int64_t sample, int64_t *work) {
    int64_t *key = work, *heap = work + p->processes, size = 0, made = 0;
    for (int32_t i = 0; i < p->processes; i++)
        if (cheapest(p, s, i, -1, sample, &key[i]) >= 0 && key[i] < 0) heap[size++] = i;
    for (int64_t at = size / 2 - 1; at >= 0; at--) sift_down(heap, key, size, at);
    while (size > 0 && made < limit) {
        int32_t i = (int32_t)heap[0], to = cheapest(p, s, i, -1, sample, &key[i]);
        if (to < 0 || key[i] >= 0 || !may_move(p, s, i, to)) {
            heap[0] = heap[--size];
        } else {
            int64_t gain = key[i];
            int64_t second = size > 1 ? key[heap[1]] : 0;
            if (size > 2 && key[heap[2]] < second) second = key[heap[2]];
            if (gain <= second) {
                move(p, s, i, to);
                made++;
            }
        }
        sift_down(heap, key, size, 0);
    }
    save(s);
    return made;
}

/*
 * Empties machines in this order, `number` of them, each if all of its processes find a place and the cost falls.
 * Returns how many were emptied.
 */
int64_t empty_in_order(const struct problem *p, struct state *s, const int32_t *order, int64_t number) {
    int64_t made = 0;
    for (int64_t k = 0; k < number; k++) made += empty(p, s, order[k], -1, p->machines);
    save(s);
    return made;
}

/* Moves a process, whatever the rules say. Returns the cost. */
int64_t place(const struct problem *p, struct state *s, int32_t i, int32_t to) {
    if (s->place[i] != to) move(p, s, i, to);
    return s->cost;
}
