// Rows that other programs wrote as `flashcl bench --json` writes its own: what it is compared
// with.
#ifndef FLASHCL_TOOL_RIVALS_H
#define FLASHCL_TOOL_RIVALS_H

#include "report.h"

#include <flashcl/tune.h>

struct rivals;

// Reads a file of JSON rows: an array of objects with `problem`, `impl` and `status` and, where the
// status is ok, `median_ms` and `min_ms`. NULL and a reason (size bytes) where it is none.
struct rivals *rivals_read(const char *path, char *reason, size_t size);
void rivals_free(struct rivals *rivals);

// Adds each rival's row for the problem (text form, shortest) to the report: what it says for the
// report's columns, `versus`, and how many times longer it took than `own` (NULL: not known) at
// best and in the median. Returns how many rows there were.
size_t rivals_add(const struct rivals *rivals, const char *problem, const char *versus,
                  const struct fcl_timing *own, struct report *report);

#endif
