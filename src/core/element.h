// Elements of host tensors as floats.
#ifndef FCL_CORE_ELEMENT_H
#define FCL_CORE_ELEMENT_H

#include <flashcl/tune.h>

#include "common.h"

// Converts `count` elements that stand `stride` elements apart, beginning with element `first`.
void fcl_element_load_row(const void *data, enum fcl_dtype dtype, int64_t first, int64_t stride,
                          int count, float *row);

// The value after a round trip through the type.
float fcl_element_round(enum fcl_dtype dtype, float value);

// The largest relative error of rounding to the type: 2^-24, 2^-11, 2^-8.
double fcl_element_roundoff(enum fcl_dtype dtype);

// Half of the smallest number above 0: magnitudes up to it round to 0.
double fcl_element_half_smallest(enum fcl_dtype dtype);

// Magnitudes from here on round to infinity.
double fcl_element_overflow(enum fcl_dtype dtype);

#endif
