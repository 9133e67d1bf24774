// What wisdom knows of a user's kernel: its class, and its rows as points of its space.
#ifndef FCL_CORE_KERNEL_WISDOM_H
#define FCL_CORE_KERNEL_WISDOM_H

#include "kernel_spec.h"
#include "wisdom.h"

#define FCL_KERNEL_SEEDS 8 // at most

struct fcl_kernel_known {
    struct fcl_text problem_class;
    uint64_t winner; // of this class, device and driver, if it is not bad; FCL_NO_POINT: none
    uint64_t seeds[FCL_KERNEL_SEEDS]; // winners of the same kernel elsewhere: this device first,
                                      // then the same sizes, then the latest
    size_t seed_count;
    uint64_t *bad; // crashed or hung on this device and driver
    size_t bad_count, bad_capacity;
};

// Appends the class: fcl_kernel_class of kernel.h.
void fcl_kernel_add_class(const struct fcl_kernel_form *form, struct fcl_text *text);

// Reads the rows; wisdom NULL has none. OK, or OUT_OF_MEMORY; *known is to be freed in every case.
enum fcl_status fcl_kernel_know(const struct fcl_kernel_form *form, const struct fcl_caps *caps,
                                const fcl_wisdom *wisdom, struct fcl_kernel_known *known);
void fcl_kernel_known_free(struct fcl_kernel_known *known);

int fcl_kernel_is_bad(const struct fcl_kernel_known *known, uint64_t point);

// Appends a point as rows have it: the parameters that have several values, or all where none has.
void fcl_kernel_add_point(const fcl_space *space, uint64_t point, struct fcl_text *text);

#endif
