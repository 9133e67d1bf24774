// Repeatable random numbers for tests.
#include "noise.h"

uint32_t test_random(uint64_t *seed)
{
    uint64_t x = *seed;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *seed = x;
    return (uint32_t)((x * UINT64_C(2685821657736338717)) >> 32);
}

float test_noise(uint64_t *seed)
{
    return (float)(test_random(seed) >> 8) * 0x1p-23f - 1.0f;
}

void test_fill_unbalanced(float *data, int64_t rows, int dim, float largest, uint64_t *seed)
{
    for (int64_t row = 0; row < rows; row++) {
        const int64_t phase = row * 5 % 37;
        const float size = 0.25f + largest * (float)(phase < 19 ? phase : 37 - phase) / 18.0f;
        for (int d = 0; d < dim; d++)
            data[row * dim + d] = size * test_noise(seed);
    }
}
