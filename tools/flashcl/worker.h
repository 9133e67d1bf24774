// What a worker process can work on. The parent's side is workers.h.
#ifndef FLASHCL_TOOL_WORKER_H
#define FLASHCL_TOOL_WORKER_H

#include "session.h"

#include <jansson.h>

// A kind of work: candidates are texts that only it understands.
struct worker_kind {
    const char *name; // `kind` of the parent's first message
    // Takes over what that message says; `evaluates` 0: only builds will be asked for. Returns the
    // work, or NULL with the reason.
    void *(*open)(struct session *session, const json_t *message, int evaluates, char *reason,
                  size_t size);
    void (*close)(void *work);
    // Builds a candidate and tries it on something tiny; `keep` 1: into the session's cache.
    void (*build)(void *work, const char *candidate, int keep, struct fcl_evaluation *evaluation);
    // Runs once what was built, unjudged; NULL where a build already does.
    void (*launch)(void *work, const char *candidate, struct fcl_evaluation *evaluation);
    // Builds it, or takes it from the cache, verifies and times it.
    void (*evaluate)(void *work, const char *candidate, double best_ms,
                     struct fcl_evaluation *evaluation);
    // Times candidates in turn.
    enum fcl_status (*compare)(void *work, const char *const *candidates, size_t count,
                               struct fcl_timing *timings);
};

extern const struct worker_kind worker_attention, worker_kernel;

#endif
