// From three .npy arrays to an attention problem: ranks, shapes and types, checked against each
// other.
#ifndef FLASHCL_TOOL_ARRAYS_H
#define FLASHCL_TOOL_ARRAYS_H

#include "npy.h"

#include <flashcl/types.h>

// An input: its file and what was read from it.
struct array_input {
    const char *path;
    struct npy_array array;
};

// How the arrays are to be read.
struct arrays_form {
    enum fcl_layout layout;
    int bf16;   // u2 elements are bfloat16
    int packed; // q, and k and v unless in pages, are [rows, H, D]: batch 1
    int paged;  // k and v are [pages, H, rows, D] or, as bshd, [pages, rows, H, D]
};

// Fills the shape, types and layout of *problem from q, k and v. Returns 1, or 0 with the reason,
// which names the file, the value and what is allowed.
int arrays_problem(const struct array_input *q, const struct array_input *k,
                   const struct array_input *v, const struct arrays_form *form,
                   struct fcl_problem *problem, char *reason, size_t reason_size);

// The shape of the result for a q of this shape: as q, with the head dimension of v. Returns the
// rank.
int arrays_output_shape(const struct npy_header *q, int head_dim_v, int64_t shape[NPY_RANK_LIMIT]);

// The shape of the log-sum-exp: [.., N], heads before the sequence in both layouts; [H, rows] of
// packed sequences.
int arrays_lse_shape(const struct npy_header *q, const struct fcl_problem *problem,
                     int64_t shape[NPY_RANK_LIMIT]);

#endif
