// Repeatable random numbers for tests.
#ifndef FCL_TESTS_NOISE_H
#define FCL_TESTS_NOISE_H

#include <stdint.h>

// The next of a fixed series of 32 random bits (xorshift64*). `*seed` must not be 0.
uint32_t test_random(uint64_t *seed);

// Uniform in -1 to 1, 24 bits.
float test_noise(uint64_t *seed);

// Fills `rows` rows of `dim` numbers whose size rises and falls from row to row between 1/4 and
// `largest`, so that a running maximum of scores changes late and often.
void test_fill_unbalanced(float *data, int64_t rows, int dim, float largest, uint64_t *seed);

#endif
