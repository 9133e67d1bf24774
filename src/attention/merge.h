// A merge of partial results: element types and the kernel built for them.
#ifndef FCL_ATTENTION_MERGE_H
#define FCL_ATTENTION_MERGE_H

#include "core/program.h"

// fcl_merge_args of kernels/attention/merge.cl, field by field.
struct fcl_merge_numbers {
    int64_t a_strides[4], b_strides[4], o_strides[4];
    int64_t a_start, b_start, o_start, a_lse_start, b_lse_start, lse_start;
    uint32_t all_rows;
    int32_t heads, rows, columns, unit, writes_lse;
};
_Static_assert(offsetof(struct fcl_merge_numbers, writes_lse) + sizeof(int32_t) ==
                   sizeof(struct fcl_merge_numbers),
               "the last field ends where the struct does (launch.h says why)");

struct fcl_merge {
    struct fcl_device *device;
    enum fcl_dtype dtype_a, dtype_b, dtype_o;
    int width;       // elements of a vector register of a CPU; 0: a device of another kind
    int items, rows; // of a work-group
    struct fcl_program program;
    pthread_mutex_t lock; // arguments of the shared cl_kernel, from set to enqueue
};

#endif
