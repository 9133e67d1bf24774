// The arithmetic of a problem that `flashcl bench` reports: operations and bytes, as formulas.
#ifndef FLASHCL_TOOL_TRAFFIC_H
#define FLASHCL_TOOL_TRAFFIC_H

#include <flashcl/tune.h>

// Pairs of a query and a key that it sees, of one head.
double traffic_pairs(const struct fcl_problem *problem);

// Floating-point operations: 2 for each multiply-add of Q K' and of P V on visible pairs.
double traffic_operations(const struct fcl_problem *problem);

// Bytes that must cross device memory: each tensor once (a bias for all of the batch, a mask tensor
// for all heads), of keys outside of a window nothing, and
// for the unfused form also the scores and the probabilities, each written and read in q's type.
// For one type and as many keys as queries, the latter is (1 + N/d) times the former.
double traffic_bytes(const struct fcl_problem *problem, enum fcl_implementation implementation);

// Bytes of the score matrix of the unfused form, without the padding of its rows.
double traffic_score_bytes(const struct fcl_problem *problem);

// From which N on that matrix has more than so many bytes: N queries and N keys where the problem
// has as many of both, else N keys for the queries that it has. 0: never.
int64_t traffic_outgrows(const struct fcl_problem *problem, uint64_t bytes);

// What the roofline model says of a problem on a device.
struct traffic_roof {
    double intensity; // operations a byte
    double ms;        // no launch can be faster
    const char *name; // what binds: "compute" or "memory"
};

// Returns 0 where there is nothing to say: no bytes, or a peak that is not known.
int traffic_roof(const struct fcl_problem *problem, enum fcl_implementation implementation,
                 const struct fcl_peak *peak, struct traffic_roof *roof);

// What a launch takes at least, by each of three limits.
struct traffic_limits {
    double compute_ms, memory_ms, launch_ms;
    const char *name; // the largest: "compute", "memory" or "launch"
};

// `launches`: kernels that follow each other. The peak must be known.
struct traffic_limits traffic_limits(const struct fcl_problem *problem,
                                     enum fcl_implementation implementation,
                                     const struct fcl_peak *peak, int launches);

#endif
