// Greedy iterated local search: from the best of some random points to the first better neighbour,
// and so on; from a local optimum, a few random steps away from the best point and down again.
#include <math.h>
#include <stdlib.h>

#include "random.h"
#include "search.h"

#define STARTS 10 // random points of which the best is the first to go down from
#define KICK 3    // random steps away from the best point
#define STALE 20  // descents without a new point before the search starts at a random one

struct greedy {
    size_t current; // whose neighbours are tried; `count`: none
    size_t start;   // asked for, to become the current one whatever its value; `count`: none
    int starts;     // random points asked for at the beginning
    int begun;      // 1: the first descent has begun
    int stale;
    uint64_t *neighbours; // of the current one, shuffled, as indices
    size_t neighbour_count, next;
};

static int create(struct fcl_search *search)
{
    struct greedy *g = calloc(1, sizeof *g);
    search->state = g;
    if (g == NULL)
        return 0;
    g->current = g->start = search->count;
    g->neighbours = calloc(fcl_search_neighbour_limit(search) + 1, sizeof *g->neighbours);
    return g->neighbours != NULL;
}

static void destroy(struct fcl_search *search)
{
    struct greedy *g = search->state;
    if (g != NULL)
        free(g->neighbours);
    free(g);
}

static void stand_on(struct fcl_search *search, size_t index)
{
    struct greedy *g = search->state;
    g->current = index;
    g->next = 0;
    g->neighbour_count = fcl_search_neighbours(search, index, g->neighbours);
    for (size_t i = g->neighbour_count; i > 1; i--) {
        const size_t other = (size_t)fcl_random_below(&search->random, i);
        const uint64_t swapped = g->neighbours[i - 1];
        g->neighbours[i - 1] = g->neighbours[other];
        g->neighbours[other] = swapped;
    }
}

// A few random steps from the best point.
static size_t kick(struct fcl_search *search)
{
    struct greedy *g = search->state;
    size_t index = search->best;
    for (int i = 0; i < KICK; i++) {
        const size_t count = fcl_search_neighbours(search, index, g->neighbours);
        if (count > 0)
            index = (size_t)g->neighbours[fcl_random_below(&search->random, count)];
    }
    return index;
}

// Where the next descent begins: 1 when it is asked for, 0 when its value is known.
static int start_again(struct fcl_search *search, size_t *index)
{
    struct greedy *g = search->state;
    if (!g->begun && search->best < search->count) {
        g->begun = 1;
        stand_on(search, search->best);
        return 0;
    }
    *index = search->best == search->count || g->stale > STALE ? fcl_search_next_random(search)
                                                               : kick(search);
    g->current = search->count;
    if (search->marks[*index] == FCL_FREE) {
        g->stale = 0;
        g->start = *index;
        return 1;
    }
    g->stale++;
    stand_on(search, *index);
    return 0;
}

// The next free neighbour of the current point: 1, or 0 where none is left.
static int next_neighbour(struct fcl_search *search, size_t *index)
{
    struct greedy *g = search->state;
    while (g->current < search->count && g->next < g->neighbour_count) {
        *index = (size_t)g->neighbours[g->next++];
        if (search->marks[*index] == FCL_FREE)
            return 1;
        if (search->marks[*index] == FCL_TOLD &&
            search->values[*index] < search->values[g->current])
            stand_on(search, *index);
    }
    return 0;
}

static enum fcl_answer ask(struct fcl_search *search, size_t *index)
{
    struct greedy *g = search->state;
    if (g->starts < STARTS) {
        g->starts++;
        *index = fcl_search_next_random(search);
        return FCL_ASK_POINT;
    }
    for (;;) {
        if (next_neighbour(search, index))
            return FCL_ASK_POINT;
        if (search->outstanding > 0)
            return FCL_ASK_LATER;
        if (start_again(search, index))
            return FCL_ASK_POINT;
    }
}

static void tell(struct fcl_search *search, size_t index)
{
    struct greedy *g = search->state;
    const int starts = index == g->start;
    if (starts)
        g->start = search->count;
    if (isinf(search->values[index]))
        return; // there is nothing to go down from
    if (starts ||
        (g->current < search->count && search->values[index] < search->values[g->current]))
        stand_on(search, index);
}

const struct fcl_strategy fcl_search_greedy = {
    .name = "greedy",
    .description = "from the best of ten random points to the first better neighbour; from local "
                   "optima, a few steps away from the best point",
    .create = create,
    .destroy = destroy,
    .ask = ask,
    .tell = tell,
};
