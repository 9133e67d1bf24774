// One point of a user's kernel under way, and what its trials share.
#ifndef FCL_KERNEL_TRIAL_H
#define FCL_KERNEL_TRIAL_H

#include "kernel_buffer.h"
#include "program.h"

#define FCL_TRIALS_KEPT 8 // programs of the fastest points, for the finals

struct fcl_kernel_kept {
    uint64_t point;
    double ms;
    struct fcl_program program; // no program: an empty place
};

struct fcl_kernel_trials {
    struct fcl_device *device;
    struct fcl_kernel_form form;
    cl_command_queue queue;
    struct fcl_kernel_buffer *buffers; // one an argument
    unsigned char *copy;               // of the largest buffer
    size_t item_sizes[3];
    struct fcl_kernel_kept kept[FCL_TRIALS_KEPT];
    int repeatable; // 1: a second run gives the same result
    int spoilt;     // 1: a kernel failed: buffers and queue may be damaged
};

// One point under way.
struct fcl_kernel_trial {
    struct fcl_kernel_trials *trials;
    uint64_t point;
    int keep; // 1: what is built goes into the device's cache
    struct fcl_grid grid;
    size_t local_bytes; // of local arguments
    struct fcl_program program;
    struct fcl_evaluation *evaluation;
};

#define FCL_TRIAL_FAIL(trial, status, ...) \
    fcl_fail((trial)->evaluation->reason, sizeof(trial)->evaluation->reason, status, __VA_ARGS__)

// The device's limits.
void fcl_kernel_trials_limits(struct fcl_kernel_trials *trials);

// Steps on the way to a kernel that can be launched; why not OK is in the evaluation. They need
// neither queue nor buffers: what is known of the point before its build,
enum fcl_status fcl_kernel_trial_plan(struct fcl_kernel_trial *trial);

// the build, of the reference kernel where that is not NULL,
enum fcl_status fcl_kernel_trial_build(struct fcl_kernel_trial *trial,
                                       const struct fcl_kernel_reference *reference);

// what is known after it,
enum fcl_status fcl_kernel_trial_check(const struct fcl_kernel_trial *trial);

// and all of that.
enum fcl_status fcl_kernel_trial_make(struct fcl_kernel_trial *trial);

#endif
