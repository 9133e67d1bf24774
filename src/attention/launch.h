// From the arguments of a call to the arguments of a kernel.
#ifndef FCL_ATTENTION_LAUNCH_H
#define FCL_ATTENTION_LAUNCH_H

#include <flashcl/flashcl.h>
#include <flashcl/tune.h>

#include "core/common.h"

#define FCL_LENGTH_LIMIT (INT64_C(1) << 30) // positions are ints in kernels
#define FCL_COMBINE_GROUP 64                // work-items of combine.cl's groups

// What a kernel of nvidia_wgmma.clh keeps in workspace, behind the partial results: a counter
// (tile/nvidia_draw.clh), and tensor maps of each work-group. Bytes.
#define FCL_STATE_ALIGNMENT 128
#define FCL_STATE_COUNTER 128
#define FCL_STATE_MAPS 512

// fcl_args of kernels/lib/types.clh, field by field.
struct fcl_kernel_args {
    int64_t q_strides[4], k_strides[4], v_strides[4], o_strides[4];
    int64_t q_start, k_start, v_start, o_start, lse_start;
    int64_t o_split, lse_split;
    int32_t splits, q_len, k_len, heads, group, all_heads, together, shift;
    float unit, unit_size;
    int32_t first;
    float cap, cap_inverse;
    int32_t sinks_start;
    int32_t lse_rows, sequences;
    uint32_t slots;
    int32_t bottom, total_q, total_k;
    int32_t cu_q_start, cu_k_start, used_q_start, used_k_start;
    int32_t table_start, table_row, table_entries, page_count, page_size;
    uint32_t page_magic;
    int32_t page_shift;
    int32_t slopes_start, place, slope_heads;
    float slope_step;
    int64_t bias_strides[4], bias_start, visible_strides[4], visible_start;
    int64_t score_pitch;
};
// Mesa's rusticl (22.3) does not count padding behind the last field.
_Static_assert(offsetof(struct fcl_kernel_args, score_pitch) + sizeof(int64_t) ==
                   sizeof(struct fcl_kernel_args),
               "the last field ends where the struct does");

// What a launch comes to, once its arguments were found to be valid.
struct fcl_launch {
    struct fcl_kernel_args args;
    struct fcl_kernel_args
        part_args;           // of the fused kernel when keys are split: O and LSE are workspace
    int empty;               // 1: nothing to do
    uint64_t groups;         // work-groups of the fused kernel and of the unfused product
    int split;               // 1: the fused kernel writes partial results
    uint64_t combine_groups; // of the kernel that joins them; 0: there is none
    uint64_t part_bytes;     // of the partial results, and of the marks of a kernel that joins them
    uint64_t mark;           // the first of this launch's, chosen by the caller
    uint64_t marks;          // how many it takes
    uint64_t state_start;    // where the kernel's state begins in workspace, bytes
    uint64_t state_bytes;    // of it; 0: the kernel keeps none
    uint64_t row_groups;     // of the unfused softmax
    uint64_t score_groups;   // of the unfused scores
    uint64_t score_bytes;    // of the score matrix
    // Bytes that each buffer must have.
    uint64_t q_end, k_end, v_end, o_end, lse_end, sinks_end, slopes_end, bias_end, visible_end;
    uint64_t cu_q_end, cu_k_end, used_q_end, used_k_end, table_end;
};

// How tensors lie in memory: the batch and the length of q and o, and of k and v, which may be
// pages.
struct fcl_extent {
    int64_t q_batch, q_len, k_batch, k_len;
};

// Checks a launch of a completed problem on a device and works it out. On failure `reason` names
// the argument, its value and what is allowed. No OpenCL call.
enum fcl_status fcl_launch_prepare(const struct fcl_problem *problem,
                                   const struct fcl_config *config, const struct fcl_caps *caps,
                                   const struct fcl_attention_args *args, struct fcl_launch *launch,
                                   char *reason, size_t size);

// A tensor of a launch, and where its place goes.
struct fcl_operand {
    const char *name;
    const struct fcl_tensor *tensor;
    size_t element;     // bytes
    int64_t extents[4]; // batch, heads, length, dim or keys
    int is_output;
    int is_free;              // 1: neither the promised alignment nor `strided` concerns it
    int64_t *strides, *start; // where the kernel's arguments go
    uint64_t *end;            // bytes from the buffer's start to behind the last element
};

// Checks a tensor against the promises of a completed problem (layout, alignment, strided) and
// works out its place.
enum fcl_status fcl_operand_prepare(const struct fcl_problem *problem, struct fcl_operand *operand,
                                    char *reason, size_t size);

// Where `count` numbers of 4 bytes start and end in a buffer, which must be there for any.
enum fcl_status fcl_numbers_prepare(const char *name, cl_mem buffer, size_t offset, int64_t count,
                                    int32_t *start, uint64_t *end, char *reason, size_t size);

// Checks a shape and fills in heads_kv.
enum fcl_status fcl_shape_complete(const struct fcl_shape *given, struct fcl_shape *shape,
                                   char *reason, size_t size);

// What sequences add to a launch (launch_sequences.c), all of a completed problem and shape. First,
// checks of the numbers, and the extent of the tensors; of a problem without sequences, that of the
// shape.
enum fcl_status fcl_sequences_extent(const struct fcl_problem *problem,
                                     const struct fcl_attention_args *args,
                                     const struct fcl_shape *shape, struct fcl_extent *extent,
                                     char *reason, size_t size);

// Then, where there are sequences, the kernel's arguments for them and the ends of the metadata.
enum fcl_status fcl_sequences_prepare(const struct fcl_problem *problem,
                                      const struct fcl_attention_args *args,
                                      const struct fcl_shape *shape, struct fcl_launch *launch,
                                      char *reason, size_t size);

// Then the grid's blocks of rows, of all sequences, where `group` query heads are rows of one
// block.
uint64_t fcl_sequences_slots(const struct fcl_problem *problem, const struct fcl_config *config,
                             const struct fcl_extent *extent, const struct fcl_shape *shape,
                             int64_t group);

// Bytes of workspace that a fused launch of a shape needs: partial results and state.
uint64_t fcl_workspace_bytes(const struct fcl_problem *problem, const struct fcl_config *config,
                             const struct fcl_caps *caps, const struct fcl_shape *shape);

// Bytes of the partial results of a shape, and of marks: 0 when keys are not split.
uint64_t fcl_part_bytes(const struct fcl_problem *problem, const struct fcl_config *config,
                        const struct fcl_shape *shape);

// Bytes of the score matrix of a shape; UINT64_MAX when that overflows.
uint64_t fcl_score_bytes(const struct fcl_problem *problem, const struct fcl_config *config,
                         const struct fcl_shape *shape);

#endif
