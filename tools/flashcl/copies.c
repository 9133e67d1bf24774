// Makes the copies that launches take in turn.
#include "copies.h"

#include <inttypes.h>
#include <string.h>

// A driver may promise more memory than there is, and end the process when it is written to.
static enum fcl_status check_size(struct session *session, const struct fcl_problem *problem,
                                  const struct fcl_sequences *sequences, int count)
{
    uint64_t bytes = (uint64_t)buffers_bytes(problem, sequences, BUFFER_K) +
                     buffers_bytes(problem, sequences, BUFFER_V);
    if (bytes <= session->caps->global_bytes / (uint64_t)count) {
        return FCL_OK;
    }
    snprintf(session->error, sizeof(session->error),
             "%d times keys and values of %" PRIu64 " bytes: the device has %" PRIu64, count, bytes,
             session->caps->global_bytes);
    return FCL_OUT_OF_MEMORY;
}

static enum fcl_status make_first(struct session *session, const fcl_plan *plan,
                                  const struct fcl_problem *problem,
                                  const struct fcl_sequences *sequences, struct copies *copies)
{
    enum fcl_status status = buffers_create(session, plan, problem, sequences, &copies->buffers[0]);
    if (status == FCL_OK) {
        copies->count = 1;
        status = buffers_fill(session, &copies->buffers[0], problem);
    }
    return status;
}

enum fcl_status copies_create(struct session *session, const fcl_plan *plan,
                              const struct fcl_problem *problem,
                              const struct fcl_sequences *sequences, int count,
                              struct copies *copies)
{
    memset(copies, 0, sizeof(*copies));
    enum fcl_status status = check_size(session, problem, sequences, count);
    if (status == FCL_OK) {
        status = make_first(session, plan, problem, sequences, copies);
    }
    while (status == FCL_OK && copies->count < count) {
        status =
            buffers_copy(session, problem, &copies->buffers[0], &copies->buffers[copies->count]);
        copies->count += status == FCL_OK;
    }
    if (status != FCL_OK) {
        copies_free(copies);
        return status;
    }
    for (int i = 0; i < count; i++) {
        copies->arguments[i] = buffers_arguments(&copies->buffers[i], problem, 0);
        copies->turns[i] = &copies->arguments[i];
    }
    return FCL_OK;
}

void copies_free(struct copies *copies)
{
    for (int i = 0; i < copies->count; i++) {
        buffers_free(&copies->buffers[i]);
    }
    copies->count = 0;
}
