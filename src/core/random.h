// Random numbers that are the same on every platform.
#ifndef FCL_CORE_RANDOM_H
#define FCL_CORE_RANDOM_H

#include "common.h"

// A hash of a counter (splitmix64): the same number for the same place, whatever the order.
uint64_t fcl_random_mix(uint64_t x);

// The next of a series of numbers below `limit`, which is at least 1. Any state is a good start.
uint64_t fcl_random_below(uint64_t *state, uint64_t limit);

// Where `place` (below `count`, which is at most 2^32) comes to lie in a random order that depends
// on nothing but the seed and the count.
uint64_t fcl_random_place(uint64_t seed, uint64_t count, uint64_t place);

#endif
