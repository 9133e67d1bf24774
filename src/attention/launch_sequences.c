// What sequences of different lengths add to a launch: kernels/lib/sequence.clh reads it.
#include "launch.h"
#include "problem.h"

// ---- tensors

// A number of rows that a caller gives.
static enum fcl_status check_count(const char *name, int64_t value, int64_t limit, char *reason,
                                   size_t size)
{
    if (value >= 0 && value <= limit)
        return FCL_OK;
    return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%s is %lld, allowed are 0 to %lld", name,
                    (long long)value, (long long)limit);
}

enum fcl_status fcl_sequences_extent(const struct fcl_problem *problem,
                                     const struct fcl_attention_args *args,
                                     const struct fcl_shape *shape, struct fcl_extent *extent,
                                     char *reason, size_t size)
{
    *extent = (struct fcl_extent){shape->batch, shape->q_len, shape->batch, shape->k_len};
    if (!problem->varlen)
        return FCL_OK;
    const int64_t most = fcl_min(shape->batch * shape->q_len, FCL_LENGTH_LIMIT);
    enum fcl_status status = check_count("total_q", args->total_q, most, reason, size);
    if (!status)
        status = check_count("total_k", args->total_k, FCL_LENGTH_LIMIT, reason, size);
    *extent = (struct fcl_extent){1, args->total_q, 1, args->total_k};
    return status;
}

// ---- metadata

// int32 numbers in device memory.
static enum fcl_status take_numbers(const char *name, cl_mem buffer, size_t offset, int64_t count,
                                    int32_t *start, uint64_t *end, char *reason, size_t size)
{
    if (!buffer)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "%s is NULL, but the plan's problem reads it", name);
    if (offset % sizeof(int32_t) || offset > INT32_MAX)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "%s_offset is %zu bytes, allowed are multiples of 4 up to %d", name, offset,
                        INT32_MAX);
    *start = (int32_t)(offset / sizeof(int32_t));
    *end = offset + (uint64_t)count * sizeof(int32_t);
    return FCL_OK;
}

static enum fcl_status take_varlen(const struct fcl_attention_args *args,
                                   const struct fcl_shape *shape, struct fcl_launch *launch,
                                   char *reason, size_t size)
{
    struct fcl_kernel_args *a = &launch->args;
    a->total_q = (int32_t)args->total_q;
    a->total_k = (int32_t)args->total_k;
    enum fcl_status status = take_numbers("cu_q", args->cu_q, args->cu_q_offset, shape->batch + 1,
                                          &a->cu_q_start, &launch->cu_q_end, reason, size);
    if (!status)
        status = take_numbers("cu_k", args->cu_k, args->cu_k_offset, shape->batch + 1,
                              &a->cu_k_start, &launch->cu_k_end, reason, size);
    return status;
}

static enum fcl_status take_used(const struct fcl_attention_args *args,
                                 const struct fcl_shape *shape, struct fcl_launch *launch,
                                 char *reason, size_t size)
{
    struct fcl_kernel_args *a = &launch->args;
    enum fcl_status status = take_numbers("used_k", args->used_k, args->used_k_offset, shape->batch,
                                          &a->used_k_start, &launch->used_k_end, reason, size);
    a->used_q_start = -1;
    if (!status && args->used_q)
        status = take_numbers("used_q", args->used_q, args->used_q_offset, shape->batch,
                              &a->used_q_start, &launch->used_q_end, reason, size);
    return status;
}

// Where query 0 stands is known on the device only. Beyond all keys is as good as at their end.
static void prepare_reach(const struct fcl_problem *p, const struct fcl_shape *shape,
                          struct fcl_kernel_args *a)
{
    a->bottom = (int32_t)fcl_problem_shift(p, 0, 1);
    const int64_t right = a->bottom ? shape->q_len : shape->k_len;
    const int64_t left = a->bottom ? shape->k_len : shape->q_len;
    if (fcl_problem_bounds_right(p))
        a->shift = (int32_t)fcl_min(fcl_problem_reach_right(p), right);
    if (fcl_problem_bounds_left(p))
        a->first = (int32_t)-fcl_min(fcl_problem_reach_left(p), left);
}

enum fcl_status fcl_sequences_prepare(const struct fcl_problem *problem,
                                      const struct fcl_attention_args *args,
                                      const struct fcl_shape *shape, struct fcl_launch *launch,
                                      char *reason, size_t size)
{
    struct fcl_kernel_args *a = &launch->args;
    enum fcl_status status = FCL_OK;
    a->sequences = (int32_t)shape->batch;
    a->lse_rows = (int32_t)(problem->varlen ? args->total_q : shape->q_len);
    prepare_reach(problem, shape, a);
    if (problem->varlen)
        status = take_varlen(args, shape, launch, reason, size);
    if (!status && problem->used)
        status = take_used(args, shape, launch, reason, size);
    return status;
}

// ---- the grid

uint64_t fcl_sequences_slots(const struct fcl_problem *problem, const struct fcl_config *config,
                             const struct fcl_extent *extent, const struct fcl_shape *shape,
                             int64_t group)
{
    if (!problem->varlen)
        return (uint64_t)(fcl_div_up(shape->q_len * group, config->block_m) * shape->batch);
    return (uint64_t)(extent->q_len * group / config->block_m + shape->batch);
}
