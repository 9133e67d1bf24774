// `flashcl tune --replay`: how near a strategy comes to the optimum of a recorded space.
#ifndef FLASHCL_TOOL_TUNE_REPLAY_H
#define FLASHCL_TOOL_TUNE_REPLAY_H

#include "options.h"

#include <stdint.h>

// Replays the strategy (NULL: that of the space) and random on the results in the file, with the
// seeds from `seed` on, and prints a row for each number of evaluations. Returns the exit code.
int tune_replay(const struct options *options, const char *path, const char *strategy,
                uint64_t seed, size_t seeds);

#endif
