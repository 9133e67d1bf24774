// Sequences of different lengths in host memory: what tests, checks and the host reference take for
// the metadata of a launch. No OpenCL here.
#ifndef FLASHCL_SEQUENCES_H
#define FLASHCL_SEQUENCES_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

// Metadata of sequences in host memory: what fcl_attention_args names in device memory. Arrays that
// a problem does not use are NULL, and so is used_q where all rows are used.
struct fcl_sequences {
    int64_t total_q, total_k;
    int32_t *cu_q, *cu_k;     // varlen: [batch + 1]
    int32_t *used_q, *used_k; // used: [batch]
    int32_t *table;           // page: [batch, table_stride], table_entries of each row
    int64_t table_stride, table_entries, page_count;
    int page; // rows of a page; 0: as the problem says
};

// Makes metadata of a problem to try it with. Sequences have in turn 8, 3, 6, 1, 4, 7, 2 and 5
// eighths of q_len and of k_len, rounded up; packed ones use three quarters of their keys. Each
// sequence has pages of its own for k_len keys, in an order that `seed` decides. Free it with
// fcl_sequences_free. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY; then *sequences is zeroed.
// Thread-safety: safe.
FCL_API enum fcl_status fcl_sequences_create(const struct fcl_problem *problem, uint64_t seed,
                                             struct fcl_sequences *sequences);

// Frees the arrays and zeroes the struct. Thread-safety: safe.
FCL_API void fcl_sequences_free(struct fcl_sequences *sequences);

// The rows of one sequence: the first one of its tensors, and how many.
struct fcl_sequence_rows {
    int64_t q_first, q_len, k_first, k_len;
};

// Gives the rows of sequence s, clamped as kernels do. `sequences` may be NULL for a problem that
// is neither varlen nor used: all rows. Errors: INVALID_ARGUMENT (arguments that are NULL or of no
// such sequence, an array that is missing); then *rows is untouched. Thread-safety: safe.
FCL_API enum fcl_status fcl_sequences_rows(const struct fcl_problem *problem,
                                           const struct fcl_sequences *sequences, int64_t s,
                                           struct fcl_sequence_rows *rows);

// Checks metadata: cu_q and cu_k begin with 0, never decrease, end within total_q and total_k, with
// no sequence longer than q_len and k_len; lengths used are within those; the pages that a sequence
// needs are in its row of the table, and in the pool. INVALID_ARGUMENT and a reason (size bytes,
// may be NULL) that names the first entry that is not so. Thread-safety: safe.
FCL_API enum fcl_status fcl_sequences_validate(const struct fcl_problem *problem,
                                               const struct fcl_sequences *sequences, char *reason,
                                               size_t size);

// The page of the pool that holds key `key` of sequence s; -1: none. Thread-safety: safe.
FCL_API int64_t fcl_sequences_page(const struct fcl_problem *problem,
                                   const struct fcl_sequences *sequences, int64_t s, int64_t key);

#ifdef __cplusplus
}
#endif
#endif
