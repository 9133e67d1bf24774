// Problems with their defaults filled in, as every other module sees them.
#ifndef FCL_ATTENTION_PROBLEM_H
#define FCL_ATTENTION_PROBLEM_H

#include <flashcl/types.h>

#include "core/common.h"

// Reads a caller's struct (any struct_size up to today's), fills in the defaults (heads_kv,
// head_dim_v, alignment; no window for one that hides nothing) and validates. A statistics problem
// has no V and no O: its head_dim_v and types become those of K and Q, lse 1, guard_v 0. On failure
// *full is not to be used and `reason` says why.
enum fcl_status fcl_problem_complete(const struct fcl_problem *problem, struct fcl_problem *full,
                                     char *reason, size_t size);

// Strides in elements of a contiguous [batch, heads, length, dim] tensor in the problem's layout.
void fcl_layout_strides(enum fcl_layout layout, int64_t heads, int64_t length, int64_t dim,
                        int64_t strides[4]);

// Where query 0 stands among the keys by the problem's alignment: 0, or k_len - q_len.
int64_t fcl_problem_shift(const struct fcl_problem *full, int64_t q_len, int64_t k_len);

// The element type of a bias; F32 where there is none.
enum fcl_dtype fcl_bias_dtype(enum fcl_bias bias);

// The largest power of two up to a number of heads: those with slopes of the first series.
int32_t fcl_alibi_heads(int64_t heads);

int fcl_problem_is_causal(const struct fcl_problem *full);

// Whether some keys to the left, or to the right, of a query's place may be hidden from it.
int fcl_problem_bounds_left(const struct fcl_problem *full);
int fcl_problem_bounds_right(const struct fcl_problem *full);

// How many keys beside its place a query sees on a bounded side.
int64_t fcl_problem_reach_left(const struct fcl_problem *full);
int64_t fcl_problem_reach_right(const struct fcl_problem *full);

// Whether sequences differ in length: a launch reads metadata from device memory.
int fcl_problem_has_sequences(const struct fcl_problem *full);

// Whether two completed problems differ at most in batch, heads, lengths, how far a window reaches
// and what a softcap is: one plan serves both.
int fcl_problem_same_kernel(const struct fcl_problem *a, const struct fcl_problem *b);

// "f32", "f16", "bf16".
const char *fcl_dtype_text(enum fcl_dtype dtype);

#endif
