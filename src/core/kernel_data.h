// Arrays of elements on the host: storing, filling, comparing.
#ifndef FCL_CORE_KERNEL_DATA_H
#define FCL_CORE_KERNEL_DATA_H

#include <flashcl/kernel.h>

#include "common.h"

// Stores a number as a scalar; returns NULL, or what is wrong: static text.
const char *fcl_scalar_store(void *at, enum fcl_scalar scalar, const struct fcl_value *value);

double fcl_scalar_load(const void *at, enum fcl_scalar scalar);
int fcl_scalar_is_real(enum fcl_scalar scalar);
const char *fcl_scalar_text(enum fcl_scalar scalar);

#define FCL_SCALAR_SIZE 32

// Writes a scalar: whole numbers exactly, others with 9 digits.
void fcl_scalar_format(const void *at, enum fcl_scalar scalar, char text[FCL_SCALAR_SIZE]);

// Fills `count` scalars with numbers uniform in low..high (whole numbers: inclusive), the same for
// the same seed everywhere.
void fcl_data_fill_random(void *data, enum fcl_scalar scalar, size_t count, double low, double high,
                          uint64_t seed);

struct fcl_tolerance {
    double absolute, relative;
};

// The argument's tolerance, or the default one for these `count` expected scalars.
struct fcl_tolerance fcl_data_tolerance(const struct fcl_kernel_argument *argument,
                                        const void *expected, size_t count);

struct fcl_data_comparison {
    double ratio; // worst error as a part of the tolerance; infinite where only one is NaN
    size_t wrong; // scalars
    size_t first; // of these
};

struct fcl_data_comparison fcl_data_compare(const void *data, const void *expected,
                                            enum fcl_scalar scalar, size_t count,
                                            struct fcl_tolerance tolerance);

#endif
