// `flashcl wisdom diff`: what two wisdom files say differently.
#ifndef FLASHCL_TOOL_WISDOM_DIFF_H
#define FLASHCL_TOOL_WISDOM_DIFF_H

#include "report.h"

#include <flashcl/tune.h>

// Prints a row for each difference. `caps` describe `count` devices, which are known by their
// names.
void wisdom_diff(const fcl_wisdom *a, const fcl_wisdom *b, const struct fcl_caps *caps,
                 size_t count, enum report_format format);

#endif
