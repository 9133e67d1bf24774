// `flashcl tune --report-latency`: what is compiled when, and what it costs.
#ifndef FLASHCL_TOOL_TUNE_LATENCY_H
#define FLASHCL_TOOL_TUNE_LATENCY_H

#include "problems.h"

// Uses the problem for the first time, again, with another key, with other arguments, and once more
// in a new process, or where `in_process` or the system demand it, on a new device handle; prints a
// row for each. The cache is a temporary folder, and there is no wisdom. A process is given up
// after `seconds`. Returns the exit code.
int tune_latency(const struct options *options, const struct problem_entry *entry,
                 enum fcl_implementation implementation, int in_process, double seconds);

#endif
