// How many candidates failed in which way.
#ifndef FLASHCL_TOOL_FAILURES_H
#define FLASHCL_TOOL_FAILURES_H

#include <flashcl/types.h>

#include <stddef.h>

#define FAILURES_LIMIT 16

// A status's word, or what a worker process died of.
struct failure_kind {
    char name[32];
    size_t count;
    char first[256]; // reason of the first
};

struct failures {
    struct failure_kind kinds[FAILURES_LIMIT];
    size_t count;
};

// Counts one; `bad` is that of the evaluation, "" where the status says all. OK counts nothing.
void failures_add(struct failures *failures, enum fcl_status status, const char *bad,
                  const char *reason);

// `2 timeout, 1 wrong`, to be freed; NULL where nothing failed.
char *failures_list(const struct failures *failures);

#endif
