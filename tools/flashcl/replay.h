// Searching in a recorded space: what a strategy would have found, without a device.
#ifndef FLASHCL_TOOL_REPLAY_H
#define FLASHCL_TOOL_REPLAY_H

#include "results.h"

// A recorded space. A configuration that was recorded twice has its last time.
struct replay {
    fcl_space *space;
    double *times;     // by index of the point; INFINITY: it failed
    double optimum;    // the least of them
    uint64_t standard; // what is used without tuning; FCL_NO_POINT: that was not recorded
    size_t failed;
};

// Makes the space: each parameter has the values that were recorded, numbers ascending, then texts
// in the order of the file; its points are those recorded. Returns 1, or 0 with the reason: entries
// whose parameters differ, or none that has a time. Then nothing is to be freed.
int replay_create(struct replay *replay, const struct results *results, char *reason, size_t size);
void replay_destroy(struct replay *replay);

// Runs a strategy (NULL: that of the space) with one seed, from the standard configuration on;
// fractions[i] becomes the optimum as a part of the best time after counts[i] evaluations, which
// ascend: 1 is the optimum, 0 nothing yet. Returns 1, or 0 with the reason.
int replay_run(const struct replay *replay, const char *strategy, uint64_t seed,
               const size_t *counts, size_t count, double *fractions, char *reason, size_t size);

// The quartile (0 to 4: least, first, median, third, largest) of `count` numbers, at least one,
// which are sorted: between two numbers where it falls between them.
double replay_quartile(double *numbers, size_t count, int quartile);

#endif
