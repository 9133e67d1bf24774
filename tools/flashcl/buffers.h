// The device buffers of one problem: contiguous tensors in the problem's own layout; a bias is the
// same for all of the batch, a mask tensor for all heads.
#ifndef FLASHCL_TOOL_BUFFERS_H
#define FLASHCL_TOOL_BUFFERS_H

#include "session.h"

#include <flashcl/tune.h>

// Behind the tensors, the metadata of sequences.
enum buffer_role {
    BUFFER_Q,
    BUFFER_K,
    BUFFER_V,
    BUFFER_O,
    BUFFER_LSE,
    BUFFER_SINKS,
    BUFFER_SLOPES,
    BUFFER_BIAS,
    BUFFER_VISIBLE,
    BUFFER_CU_Q,
    BUFFER_CU_K,
    BUFFER_USED_Q,
    BUFFER_USED_K,
    BUFFER_TABLE,
    BUFFER_COUNT
};

struct buffers {
    cl_mem tensors[BUFFER_COUNT]; // NULL where the problem does not use one
    cl_mem workspace;
    struct fcl_sequences sequences; // the caller's arrays
};

// Elements and bytes of a tensor; 0 where the problem does not use it. `sequences` is zeroed where
// the problem has none.
size_t buffers_elements(const struct fcl_problem *problem, const struct fcl_sequences *sequences,
                        enum buffer_role role);
size_t buffers_bytes(const struct fcl_problem *problem, const struct fcl_sequences *sequences,
                     enum buffer_role role);

// Makes all buffers and the plan's workspace, and writes the metadata, which are to stay as they
// are as long as the buffers. On failure nothing is kept and session->error says why: OUT_OF_MEMORY
// where the device cannot hold them.
enum fcl_status buffers_create(struct session *session, const fcl_plan *plan,
                               const struct fcl_problem *problem,
                               const struct fcl_sequences *sequences, struct buffers *buffers);
void buffers_free(struct buffers *buffers);

// The same buffers but with keys and values in memory of their own, which hold what those of `from`
// do; in pages, the pools. Errors as of buffers_create; each is freed on its own.
enum fcl_status buffers_copy(struct session *session, const struct fcl_problem *problem,
                             const struct buffers *from, struct buffers *copy);

// Copies a whole tensor to or from the device; an empty one is fine.
enum fcl_status buffers_write(struct session *session, struct buffers *buffers,
                              const struct fcl_problem *problem, enum buffer_role role,
                              const void *data);
enum fcl_status buffers_read(struct session *session, const struct buffers *buffers,
                             const struct fcl_problem *problem, enum buffer_role role, void *data);

// Fills the inputs with numbers in (-1, 1), the same ones in every run; a mask tensor hides every
// fourth key on average, anywhere.
enum fcl_status buffers_fill(struct session *session, struct buffers *buffers,
                             const struct fcl_problem *problem);

// The launch arguments for the buffers.
struct fcl_attention_args buffers_arguments(const struct buffers *buffers,
                                            const struct fcl_problem *problem, float scale);

#endif
