// What `flashcl explain` says of a problem on a device, as values and as a text for people.
#ifndef FLASHCL_TOOL_EXPLANATION_H
#define FLASHCL_TOOL_EXPLANATION_H

#include "traffic.h"

#include <flashcl/tune.h>

#include <stdio.h>

// One implementation; NAN, 0 and NULL where there is none: unfused statistics.
struct explanation_side {
    double bytes, intensity; // that must cross device memory; operations for each of them
    int launches;
    struct traffic_limits limits; // where the peak is known
};

struct explanation {
    const struct fcl_problem *problem;
    const struct fcl_caps *caps;
    struct fcl_peak peak;
    int peak_known; // 1: peak, ridge and limits hold
    double operations, score_bytes;
    double ridge; // operations a byte at which arithmetic and memory take the same time
    int64_t cache_n, buffer_n, memory_n; // as traffic_outgrows; 0: never, or not known
    struct explanation_side fused, unfused;
    // What a plan would use; origin NULL: nothing is valid.
    struct fcl_config config;
    const char *origin;
    struct fcl_budget budget;
};

// Works out all that follows from problem, caps, peak and config, which are set.
void explanation_complete(struct explanation *explanation);

// Prints everything but the rows of configurations.
void explanation_print(const struct explanation *explanation, FILE *out);

#endif
