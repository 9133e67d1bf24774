// From the arguments of a call to the arguments of a kernel.
#ifndef FCL_ATTENTION_LAUNCH_H
#define FCL_ATTENTION_LAUNCH_H

#include <flashcl/flashcl.h>
#include <flashcl/tune.h>

#include "core/common.h"

#define FCL_COMBINE_GROUP 64 // work-items of combine.cl's groups

// What a kernel of nvidia_wgmma.clh keeps in workspace, behind the partial results: a counter,
// cleared by the launch, and tensor maps of each work-group. Bytes.
#define FCL_STATE_ALIGNMENT 128
#define FCL_STATE_COUNTER 128
#define FCL_STATE_MAPS 512

// fcl_args of kernels/lib/types.clh, field by field.
struct fcl_kernel_args {
    int64_t q_strides[4], k_strides[4], v_strides[4], o_strides[4];
    int64_t q_start, k_start, v_start, o_start, lse_start;
    int64_t score_pitch, o_split, lse_split;
    int32_t splits, q_len, k_len, heads, group, all_heads, together, shift;
    float unit;
    int32_t first;
    float cap, cap_inverse;
    int32_t sinks_start, slopes_start, place, slope_heads;
    float slope_step;
    int64_t bias_strides[4], bias_start, visible_strides[4], visible_start;
};

// What a launch comes to, once its arguments were found to be valid.
struct fcl_launch {
    struct fcl_kernel_args args;
    struct fcl_kernel_args
        part_args;           // of the fused kernel when keys are split: O and LSE are workspace
    int empty;               // 1: nothing to do
    uint64_t groups;         // work-groups of the fused kernel and of the unfused product
    uint64_t combine_groups; // of the kernel that joins splits; 0: there are none
    uint64_t part_bytes;     // of the partial results
    uint64_t state_start;    // where the kernel's state begins in workspace, bytes
    uint64_t state_bytes;    // of it; 0: the kernel keeps none
    uint64_t row_groups;     // of the unfused softmax
    uint64_t score_groups;   // of the unfused scores
    uint64_t score_bytes;    // of the score matrix
    uint64_t q_end, k_end, v_end, o_end, lse_end, sinks_end, slopes_end, bias_end,
        visible_end; // bytes that each buffer must have
};

// Checks a launch of a completed problem on a device and works it out. On failure `reason` names
// the argument, its value and what is allowed. No OpenCL call.
enum fcl_status fcl_launch_prepare(const struct fcl_problem *problem,
                                   const struct fcl_config *config, const struct fcl_caps *caps,
                                   const struct fcl_attention_args *args, struct fcl_launch *launch,
                                   char *reason, size_t size);

// Checks a shape and fills in heads_kv.
enum fcl_status fcl_shape_complete(const struct fcl_shape *given, struct fcl_shape *shape,
                                   char *reason, size_t size);

// Bytes of workspace that a fused launch of a shape needs: partial results and state.
uint64_t fcl_workspace_bytes(const struct fcl_problem *problem, const struct fcl_config *config,
                             const struct fcl_caps *caps, const struct fcl_shape *shape);

// Bytes of the partial results of a shape: 0 when keys are not split.
uint64_t fcl_part_bytes(const struct fcl_problem *problem, const struct fcl_config *config,
                        const struct fcl_shape *shape);

// Bytes of the score matrix of a shape; UINT64_MAX when that overflows.
uint64_t fcl_score_bytes(const struct fcl_problem *problem, const struct fcl_config *config,
                         const struct fcl_shape *shape);

#endif
