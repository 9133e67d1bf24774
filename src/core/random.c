// Random numbers and random orders from integer arithmetic alone.
#include "random.h"

#define ROUNDS 6

uint64_t fcl_random_mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t fcl_random_below(uint64_t *state, uint64_t limit)
{
    const uint64_t random = fcl_random_mix(*state);
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return random % limit;
}

// A Feistel network permutes the numbers of 2 x `bits` bits without a table; those beyond the count
// are permuted again.
uint64_t fcl_random_place(uint64_t seed, uint64_t count, uint64_t place)
{
    int bits = 1;
    while (count > UINT64_C(1) << 2 * bits)
        bits++;
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    do {
        uint64_t left = place >> bits, right = place & mask;
        for (uint64_t round = 0; round < ROUNDS; round++) {
            const uint64_t turned =
                left ^ (fcl_random_mix(seed ^ fcl_random_mix(right * ROUNDS + round)) & mask);
            left = right;
            right = turned;
        }
        place = left << bits | right;
    } while (place >= count);
    return place;
}
