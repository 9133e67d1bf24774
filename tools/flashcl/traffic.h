// The arithmetic of a problem that `flashcl bench` reports: operations and bytes, as formulas.
#ifndef FLASHCL_TOOL_TRAFFIC_H
#define FLASHCL_TOOL_TRAFFIC_H

#include <flashcl/types.h>

// Pairs of a query and a key that it sees, of one head.
double traffic_pairs(const struct fcl_problem *problem);

// Floating-point operations: 2 for each multiply-add of Q K' and of P V on visible pairs.
double traffic_operations(const struct fcl_problem *problem);

// Bytes that must cross device memory: each tensor once, and for the unfused form also the scores
// and the probabilities, each written and read in q's type. For one type and as many keys as
// queries, the latter is (1 + N/d) times the former.
double traffic_bytes(const struct fcl_problem *problem, enum fcl_implementation implementation);

#endif
