// The two strategies that need no results: every point in order, and every point in random order.
#include <stdlib.h>

#include "search.h"

static int create_order(struct fcl_search *search)
{
    search->state = calloc(1, sizeof(size_t));
    return search->state != NULL;
}

static void destroy_order(struct fcl_search *search)
{
    free(search->state);
}

static enum fcl_answer ask_in_order(struct fcl_search *search, size_t *index)
{
    size_t *next = search->state;
    while (search->marks[*next] != FCL_FREE)
        ++*next;
    *index = (*next)++;
    return FCL_ASK_POINT;
}

static enum fcl_answer ask_random(struct fcl_search *search, size_t *index)
{
    *index = fcl_search_next_random(search);
    return FCL_ASK_POINT;
}

const struct fcl_strategy fcl_search_exhaustive = {
    .name = "exhaustive",
    .description = "every valid point, in order",
    .create = create_order,
    .destroy = destroy_order,
    .ask = ask_in_order,
};

const struct fcl_strategy fcl_search_random = {
    .name = "random",
    .description = "valid points in random order: the baseline of every other strategy",
    .ask = ask_random,
};
