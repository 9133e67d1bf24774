// Evaluations and timings as JSON, for workers and journals.
#ifndef FLASHCL_TOOL_EXCHANGE_H
#define FLASHCL_TOOL_EXCHANGE_H

#include <flashcl/tune.h>

#include <jansson.h>

// New objects, the caller's.
json_t *exchange_timing(const struct fcl_timing *timing);
json_t *exchange_evaluation(const struct fcl_evaluation *evaluation);

// A number; null where it is not finite.
json_t *exchange_real(double number);

// Read what the functions above wrote. Return 1, or 0 where something else stands there; the result
// is then not to be used. A null is read as infinity.
int exchange_read_real(const json_t *object, const char *name, double *number);
int exchange_read_timing(const json_t *object, struct fcl_timing *timing);
int exchange_read_evaluation(const json_t *object, struct fcl_evaluation *evaluation);

#endif
