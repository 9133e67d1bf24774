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

static int page_size(const struct fcl_problem *problem, const struct fcl_attention_args *args)
{
    return args->page ? args->page : problem->page;
}

static enum fcl_status check_pages(const struct fcl_attention_args *args, char *reason, size_t size)
{
    if (args->page < 0 || args->page > FCL_LENGTH_LIMIT)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "page is %d, allowed are 0 to %lld",
                        args->page, (long long)FCL_LENGTH_LIMIT);
    enum fcl_status status = check_count("page_count", args->page_count, INT32_MAX, reason, size);
    if (!status)
        status = check_count("table_entries", args->table_entries, FCL_LENGTH_LIMIT, reason, size);
    if (!status)
        status = check_count("table_stride", args->table_stride, FCL_LENGTH_LIMIT, reason, size);
    return status;
}

enum fcl_status fcl_sequences_extent(const struct fcl_problem *problem,
                                     const struct fcl_attention_args *args,
                                     const struct fcl_shape *shape, struct fcl_extent *extent,
                                     char *reason, size_t size)
{
    const int64_t most = fcl_min(shape->batch * shape->q_len, FCL_LENGTH_LIMIT);
    enum fcl_status status = FCL_OK;
    *extent = (struct fcl_extent){shape->batch, shape->q_len, shape->batch, shape->k_len};
    if (problem->varlen) {
        status = check_count("total_q", args->total_q, most, reason, size);
        extent->q_batch = extent->k_batch = 1;
        extent->q_len = args->total_q;
        extent->k_len = args->total_k;
    }
    if (!status && problem->varlen && !problem->page)
        status = check_count("total_k", args->total_k, FCL_LENGTH_LIMIT, reason, size);
    if (!status && problem->page) {
        status = check_pages(args, reason, size);
        extent->k_batch = args->page_count;
        extent->k_len = page_size(problem, args);
    }
    return status;
}

// ---- metadata

static enum fcl_status take_varlen(const struct fcl_problem *problem,
                                   const struct fcl_attention_args *args,
                                   const struct fcl_shape *shape, struct fcl_launch *launch,
                                   char *reason, size_t size)
{
    struct fcl_kernel_args *a = &launch->args;
    a->total_q = (int32_t)args->total_q;
    const enum fcl_status status =
        fcl_numbers_prepare("cu_q", args->cu_q, args->cu_q_offset, shape->batch + 1, &a->cu_q_start,
                            &launch->cu_q_end, reason, size);
    if (status || problem->page)
        return status;
    a->total_k = (int32_t)args->total_k;
    return fcl_numbers_prepare("cu_k", args->cu_k, args->cu_k_offset, shape->batch + 1,
                               &a->cu_k_start, &launch->cu_k_end, reason, size);
}

static enum fcl_status take_used(const struct fcl_attention_args *args,
                                 const struct fcl_shape *shape, struct fcl_launch *launch,
                                 char *reason, size_t size)
{
    struct fcl_kernel_args *a = &launch->args;
    enum fcl_status status =
        fcl_numbers_prepare("used_k", args->used_k, args->used_k_offset, shape->batch,
                            &a->used_k_start, &launch->used_k_end, reason, size);
    a->used_q_start = -1;
    if (!status && args->used_q)
        status = fcl_numbers_prepare("used_q", args->used_q, args->used_q_offset, shape->batch,
                                     &a->used_q_start, &launch->used_q_end, reason, size);
    return status;
}

// Division by a multiplication: row / size is mul_hi(2 row, magic) >> shift for each row below
// 2^31, where 2^shift is at least size, and magic is 2^(31 + shift) / size rounded up.
static void prepare_division(int64_t size, struct fcl_kernel_args *a)
{
    a->page_size = (int32_t)size;
    a->page_shift = 0;
    while ((INT64_C(1) << a->page_shift) < size)
        a->page_shift++;
    a->page_magic = (uint32_t)fcl_div_up(INT64_C(1) << (31 + a->page_shift), size);
}

static enum fcl_status take_pages(const struct fcl_attention_args *args,
                                  const struct fcl_shape *shape, int64_t page,
                                  struct fcl_launch *launch, char *reason, size_t size)
{
    struct fcl_kernel_args *a = &launch->args;
    const int64_t stride = args->table_stride ? args->table_stride : args->table_entries;
    const int64_t count = (shape->batch - 1) * stride + args->table_entries;
    const enum fcl_status status =
        fcl_numbers_prepare("table", args->table, args->table_offset, count, &a->table_start,
                            &launch->table_end, reason, size);
    if (status)
        return status;
    if (a->table_start + count > INT32_MAX)
        return fcl_fail(reason, size, FCL_UNSUPPORTED,
                        "table has %lld elements, at most %d are possible", (long long)count,
                        INT32_MAX);
    prepare_division(page, a);
    a->table_row = (int32_t)stride;
    a->table_entries = (int32_t)fcl_min(args->table_entries, fcl_div_up(FCL_LENGTH_LIMIT, page));
    a->page_count = (int32_t)args->page_count;
    a->k_len = args->page_count ? (int32_t)fcl_min(shape->k_len, a->table_entries * page) : 0;
    return FCL_OK;
}

// Where query 0 stands is known on the device only. Beyond all keys is as good as at their end.
static void prepare_reach(const struct fcl_problem *p, const struct fcl_shape *shape,
                          struct fcl_kernel_args *a)
{
    a->bottom = (int32_t)fcl_problem_shift(p, 0, 1);
    a->place = 0;
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
        status = take_varlen(problem, args, shape, launch, reason, size);
    if (!status && problem->used)
        status = take_used(args, shape, launch, reason, size);
    if (!status && problem->page)
        status = take_pages(args, shape, page_size(problem, args), launch, reason, size);
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
