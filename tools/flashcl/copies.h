// Copies of a problem's keys and values, so that launches that take them in turn find none of them
// in a device's caches.
#ifndef FLASHCL_TOOL_COPIES_H
#define FLASHCL_TOOL_COPIES_H

#include "buffers.h"

#define COPIES_LIMIT 64

// All have the tensors of the first one, but for keys and values.
struct copies {
    int count;
    struct buffers buffers[COPIES_LIMIT];
    struct fcl_attention_args arguments[COPIES_LIMIT];
    const struct fcl_attention_args *turns[COPIES_LIMIT]; // as fcl_attention_time takes them
};

// Makes and fills the buffers of a problem, with `count` (1 to COPIES_LIMIT) times its keys and
// values, each in memory of its own and all with the same contents. On failure nothing is kept and
// session->error says why: OUT_OF_MEMORY where the device cannot hold them.
enum fcl_status copies_create(struct session *session, const fcl_plan *plan,
                              const struct fcl_problem *problem,
                              const struct fcl_sequences *sequences, int count,
                              struct copies *copies);
void copies_free(struct copies *copies);

#endif
