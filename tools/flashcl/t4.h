// Results as the autotuning community exchanges them: T4, a JSON file that is complete after each
// entry.
#ifndef FLASHCL_TOOL_T4_H
#define FLASHCL_TOOL_T4_H

#include <flashcl/tune.h>

#include <stdio.h>

// What stands at the head of the file, and the unit of its times.
struct t4_metadata {
    const char *platform, *device, *time_unit;
    double units_per_ms;
};

struct t4 {
    FILE *file; // NULL: not open
    const char *path;
    struct t4_metadata metadata;
    size_t count;
};

// One result.
struct t4_entry {
    const fcl_space *space;
    uint64_t point;
    const struct fcl_evaluation *evaluation;
    double framework_ms, search_ms; // beside building, running and verifying; before it
    const char *metric;             // NULL: none
    double metric_value;            // NaN: none
};

// Replaces the file. Returns 1, or 0 after the error was reported; so does the next one.
int t4_open(struct t4 *t4, const char *path, const struct t4_metadata *metadata);
int t4_add(struct t4 *t4, const struct t4_entry *entry);
void t4_close(struct t4 *t4);

// The word of T4 for a status: correct, compile, runtime, correctness, constraints.
const char *t4_invalidity(enum fcl_status status);

#endif
