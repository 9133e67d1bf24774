// Runs a plan on seeded inputs and judges the result by the host reference.
#ifndef FCL_ATTENTION_CHECK_H
#define FCL_ATTENTION_CHECK_H

#include "plan.h"

// Buffers for one problem on one device, with inputs filled in and outputs poisoned between guard
// bands.
struct fcl_bench {
    struct fcl_device *device;
    struct fcl_problem problem; // completed, exact lengths
    cl_command_queue queue;
    unsigned char *q, *k, *v, *sinks, *slopes, *bias, *visible; // host copies of the inputs
    struct fcl_sequences sequences;
    size_t o_bytes, lse_bytes;
    struct fcl_attention_args args;
};

// Makes the buffers. *bench is then to be finished even on failure.
enum fcl_status fcl_bench_init(struct fcl_bench *bench, struct fcl_device *device,
                               const struct fcl_problem *problem, enum fcl_fill fill,
                               uint64_t seed);

// Makes or keeps the workspace that a plan needs for this problem.
enum fcl_status fcl_bench_prepare(struct fcl_bench *bench, const struct fcl_plan *plan);
void fcl_bench_finish(struct fcl_bench *bench);

// Poisons the outputs, runs the plan once and reads them into `o` (o_bytes) and `lse` (lse_bytes;
// NULL where there is none), which are allocated and the caller's to free. WRONG_RESULT when a
// guard was touched.
enum fcl_status fcl_bench_run(struct fcl_bench *bench, const struct fcl_plan *plan,
                              unsigned char **o, float **lse);

// Compares `rows` rows (0: all) of such outputs with the reference.
enum fcl_status fcl_bench_compare(const struct fcl_bench *bench, const struct fcl_plan *plan,
                                  uint64_t seed, int64_t rows, const unsigned char *o,
                                  const float *lse, struct fcl_comparison *comparison);

// All of it in one go; fcl_attention_check for a plan under construction.
enum fcl_status fcl_check_plan(const struct fcl_plan *plan, const struct fcl_problem *problem,
                               enum fcl_fill fill, uint64_t seed, int64_t rows,
                               struct fcl_comparison *comparison);

#endif
