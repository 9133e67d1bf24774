// A plan: a problem, the configuration chosen for it, and its kernels.
#ifndef FCL_ATTENTION_PLAN_H
#define FCL_ATTENTION_PLAN_H

#include "core/program.h"
#include "launch.h"
#include "select.h"
#include "space.h"

struct fcl_plan {
    struct fcl_device *device;
    struct fcl_problem problem; // completed
    struct fcl_config config;
    enum fcl_implementation implementation;
    struct fcl_program program;
    const char *origin;
    char *label;
    char config_text[96];
    double plan_ms;
    pthread_mutex_t lock; // arguments of the shared cl_kernel objects, from set to enqueue
};

// Builds exactly one configuration of a completed problem. `read_only`: a candidate that may
// lose.
enum fcl_status fcl_plan_build(struct fcl_device *device, const struct fcl_problem *problem,
                               enum fcl_implementation implementation,
                               const struct fcl_choice *choice, int read_only,
                               struct fcl_plan **plan);

// Puts the binary of a plan that was built read_only into the cache.
enum fcl_status fcl_plan_store(struct fcl_plan *plan);

// fcl_attention_enqueue with the event of the first kernel too (NULL: not wanted).
enum fcl_status fcl_plan_launch(const struct fcl_plan *plan, cl_command_queue queue,
                                const struct fcl_attention_args *args, cl_uint wait_count,
                                const cl_event *wait, cl_event *first, cl_event *last);

// What a launch checks and works out before it touches the queue: *today gets the arguments, of
// this version's size. On failure the log says why.
enum fcl_status fcl_plan_check(const struct fcl_plan *plan, cl_command_queue queue,
                               const struct fcl_attention_args *args,
                               struct fcl_attention_args *today, struct fcl_launch *launch);

#endif
