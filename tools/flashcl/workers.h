// A pool of worker processes as an evaluator of the library's tuner: candidates are built side by
// side, then verified and timed one at a time in a process of their own. A candidate that crashes
// or hangs costs its process, which is replaced, and no more.
#ifndef FLASHCL_TOOL_WORKERS_H
#define FLASHCL_TOOL_WORKERS_H

#include "journal.h"

struct workers_options {
    const char *const *arguments; // of a worker's command line, ended by NULL
    const json_t *open;           // its first message, without `do` and `evaluates`
    size_t builders;
    int launches; // 1: builders run each candidate once, since the driver generates code only then
    double build_seconds, run_seconds; // a candidate over its limit is killed
    struct journal *journal;           // NULL: none
    int quiet;                         // 1: what workers print is dropped
    // The text that workers know a point by.
    void (*name)(const fcl_space *space, uint64_t point, char *text, size_t size);
};

#define WORKERS_NAME_SIZE 512

struct workers;

// Starts nothing yet. The options' pointers must outlive the pool.
struct workers *workers_create(const struct workers_options *options);

// Ends all processes. NULL is fine.
void workers_destroy(struct workers **workers);

// The evaluator; it lives as long as the pool.
const struct fcl_evaluator *workers_evaluator(struct workers *workers);

// Why workers cannot be had, which ends the tuning; NULL where they can.
const char *workers_failure(const struct workers *workers);

// 1: SIGINT or SIGTERM asked for the end.
int workers_stopped(void);

#endif
