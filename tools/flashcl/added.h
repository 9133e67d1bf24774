// What `flashcl run` adds to scores: arrays from files, checked against the problem, and how a
// launch and the reference see them.
#ifndef FLASHCL_TOOL_ADDED_H
#define FLASHCL_TOOL_ADDED_H

#include "npy.h"
#include "session.h"

// Files; NULL: none.
struct added_paths {
    char *sinks, *slopes, *bias, *mask;
};

// A tensor for the scores [batch, head, query, key]; dimensions of 1 stand for all.
struct added_tensor {
    struct npy_array array; // without data where there is none
    int64_t strides[4];
    cl_mem buffer;
};

struct added {
    struct npy_array sinks, slopes; // without data where there are none
    struct added_tensor bias, mask;
};

// Reads the files and says in *problem, which has its shape, what it then has. `rank` is that of
// the scores: [N,M], [B,N,M] or [B,H,N,M]. `bf16`: u2 elements are bfloat16. Returns EXIT_OK, or
// the exit code after the error was reported. *added, which starts zeroed, is to be freed in every
// case.
int added_read(const struct added_paths *paths, int rank, int bf16, struct fcl_problem *problem,
               struct added *added);

// Makes the device buffers of the tensors and puts them into the arguments of a launch.
enum fcl_status added_upload(struct session *session, struct added *added,
                             struct fcl_attention_args *arguments);

// Puts everything into what a reference computes from.
void added_refer(const struct added *added, const struct fcl_problem *problem,
                 struct fcl_reference *reference);

void added_free(struct added *added);

#endif
