// What a search is made of, for the strategies: each is a row of the table in search.c.
#ifndef FCL_CORE_SEARCH_H
#define FCL_CORE_SEARCH_H

#include <flashcl/search.h>

#include "common.h"

enum fcl_search_mark { FCL_FREE = 0, FCL_ASKED, FCL_TOLD };

struct fcl_search {
    const fcl_space *space;
    const struct fcl_strategy *strategy;
    void *state;          // the strategy's
    size_t count;         // valid points; below, points are named by their index among these
    unsigned char *marks; // an fcl_search_mark for each
    double *values;       // for those told
    size_t free, asked, outstanding, told, failed, limit;
    size_t best;     // `count` where there is none
    uint64_t random; // state of fcl_random_below
    uint64_t order;  // seed of the random order
    size_t order_at; // how far that was used
    size_t *seeds;   // valid seed points
    size_t seed_count;
};

struct fcl_strategy {
    const char *name, *description;
    int (*create)(struct fcl_search *search); // 0 when memory is out; NULL: no state
    void (*destroy)(struct fcl_search *search);
    // Called while points are free. Answers LATER only while some are outstanding.
    enum fcl_answer (*ask)(struct fcl_search *search, size_t *index);
    void (*tell)(struct fcl_search *search, size_t index); // NULL: no use for it
};

extern const struct fcl_strategy fcl_search_exhaustive, fcl_search_random, fcl_search_greedy,
    fcl_search_seeded;

// The next free point of the random order. One must be free.
size_t fcl_search_next_random(struct fcl_search *search);

// The indices of all valid neighbours, and how many there are; at most fcl_search_neighbour_limit.
size_t fcl_search_neighbours(const struct fcl_search *search, size_t index, uint64_t *neighbours);
size_t fcl_search_neighbour_limit(const struct fcl_search *search);

#endif
