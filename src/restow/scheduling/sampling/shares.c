/*
 * How probable it is that each node wins, over all windows of feasible nodes: the inner loop of `landing_odds.py`.
 *
 * The same numbers as `vectorised_shares` there gives, bit for bit: scores are int64, and each double comes from one IEEE
 * operation, in the same order (compiled without contraction of floating point operations). No Python: the library is
 * loaded with ctypes, and `compiled.py` declares the arguments.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 1  /* also in compiled.py: another one whenever what an argument means changes */
#define MOST_LEVELS (1 << 16)

int64_t version(void) { return VERSION; }

struct work {
    int64_t *total;    /* of each entry, in the windows of one scale */
    int64_t *queue;    /* entries that may still be the highest of a window, by falling total */
    int64_t *highest;  /* of each window */
    double *begin;     /* of each entry: the sum of its level when the first window that holds it began */
    int64_t *count;    /* of each level: how many entries of the window have that total */
    double *sum;       /* of each level: the shares of the windows so far whose highest total it is */
};

/* The highest total of each window from `first` to `last`. */
static void find_highest(const struct work *work, int64_t first, int64_t last, int64_t size) {
    int64_t *queue = work->queue, head = 0, tail = 0;
    for (int64_t entry = first; entry < last + size; entry++) {
        while (tail > head && work->total[queue[tail - 1]] <= work->total[entry]) tail--;
        queue[tail++] = entry;
        if (queue[head] <= entry - size) head++;
        if (entry >= first + size - 1) work->highest[entry - size + 1] = work->total[queue[head]];
    }
}

/*
 * Adds what each entry wins in the windows of one scale from `first` on; `next` leads from each of them to the one after
 * it, the last is `last`. Returns 0 where totals are too far apart to be counted.
 */
static int add_won(const struct work *work, const int64_t *next, int64_t first, int64_t last, int64_t size,
                   const double *weights, double *won) {
    find_highest(work, first, last, size);
    int64_t least = work->highest[first], most = least;
    for (int64_t window = first; window != last;) {
        window = next[window];
        if (work->highest[window] < least) least = work->highest[window];
        if (work->highest[window] > most) most = work->highest[window];
    }
    int64_t levels = most - least + 1;
    if (levels > MOST_LEVELS) return 0;
    memset(work->count, 0, sizeof(int64_t) * (size_t)levels);
    memset(work->sum, 0, sizeof(double) * (size_t)levels);
    int64_t counted = first, due = first;
    for (int64_t window = first; window <= last; window++) {
        for (; counted < window + size; counted++) {
            uint64_t level = (uint64_t)(work->total[counted] - least);
            if (level >= (uint64_t)levels) continue;
            work->begin[counted] = work->sum[level];
            work->count[level]++;
        }
        if (window == due) {
            int64_t level = work->highest[window] - least;
            work->sum[level] += weights[window] / (double)work->count[level];
            due = next[window];
        }
        uint64_t level = (uint64_t)(work->total[window] - least);
        if (level >= (uint64_t)levels) continue;
        won[window] += work->sum[level] - work->begin[window];
        work->count[level]--;
    }
    for (int64_t entry = last + 1; entry < last + size; entry++) {
        uint64_t level = (uint64_t)(work->total[entry] - least);
        if (level < (uint64_t)levels) won[entry] += work->sum[level] - work->begin[entry];
    }
    return 1;
}

/* Adds what entries win in all windows of one scale, parted where more than a window is between two of them. */
static int add_scale(const struct work *work, const int64_t *next, int64_t first, int64_t windows, int64_t size,
                     const int64_t *fixed, const int64_t *kinds, const int64_t *row, const double *weights,
                     double *won) {
    while (first < windows) {
        int64_t last = first;
        while (next[last] < windows && next[last] - last <= size) last = next[last];
        for (int64_t entry = first; entry < last + size; entry++)
            work->total[entry] = fixed[entry] + row[kinds[entry]];
        if (!add_won(work, next, first, last, size, weights, won)) return 0;
        first = next[last];
    }
    return 1;
}

/*
 * Adds to `won` how probable it is that each entry wins. `scale` [window] is the row of `table` [scale][kind] that a
 * window adds to `fixed` [entry]; windows with a weight of 0 do not count. Returns 0 where it cannot say.
 */
int64_t shares(const int64_t *fixed, const int64_t *kinds, const int64_t *table, const int64_t *scale,
               const double *weights, int64_t windows, int64_t size, int64_t scales, int64_t width, double *won) {
    int64_t entries = windows + size - 1, done = 1;
    int64_t *space = malloc(sizeof(int64_t) * (size_t)(3 * entries + 2 * windows + scales + 2 * MOST_LEVELS));
    if (!space) return 0;
    struct work work;
    work.total = space;
    work.queue = work.total + entries;
    work.highest = work.queue + entries;
    work.begin = (double *)(work.highest + windows);
    work.count = (int64_t *)(work.begin + entries);
    work.sum = (double *)(work.count + MOST_LEVELS);
    int64_t *next = (int64_t *)(work.sum + MOST_LEVELS), *head = next + windows;
    for (int64_t each = 0; each < scales; each++) head[each] = windows;
    for (int64_t window = windows - 1; window >= 0; window--) {
        if (weights[window] == 0.0) continue;
        next[window] = head[scale[window]];
        head[scale[window]] = window;
    }
    for (int64_t each = 0; done && each < scales; each++)
        done = add_scale(&work, next, head[each], windows, size, fixed, kinds, table + each * width, weights, won);
    free(space);
    return done;
}
