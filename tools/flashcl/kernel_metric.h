// A number that is computed for each timed point of a user's kernel: `--metric NAME=EXPRESSION`.
#ifndef FLASHCL_TOOL_KERNEL_METRIC_H
#define FLASHCL_TOOL_KERNEL_METRIC_H

#include "options.h"

#include <flashcl/search.h>

struct kernel_metric {
    char *name; // NULL: none
    fcl_expression *expression;
};

// Reads the option's text (NULL: none), an expression over the space's parameters and time_ms.
// Returns EXIT_OK, or EXIT_USAGE after the error was reported.
int kernel_metric_read(struct kernel_metric *metric, const char *text, const fcl_space *space);

// Its value for a point that takes so long; NaN where there is none or it cannot be computed.
double kernel_metric_compute(const struct kernel_metric *metric, const fcl_space *space,
                             uint64_t point, double ms);

void kernel_metric_free(struct kernel_metric *metric);

#endif
