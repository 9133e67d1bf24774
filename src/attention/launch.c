// Checks the arguments of a launch and works out what the kernels get.
#include "launch.h"

#include <math.h>

#include "problem.h"
#include "space.h"

#define LENGTH_LIMIT FCL_LENGTH_LIMIT
#define POSITION_LIMIT \
    (INT32_MAX - INT64_C(2048)) // so are a query's place and a block of rows more
#define LOG2_E 1.44269504f
#define HEADS_TOGETHER 8
#define GROUP_LIMIT UINT32_MAX // so are numbers of work-groups, unsigned

enum fcl_status fcl_shape_complete(const struct fcl_shape *given, struct fcl_shape *shape,
                                   char *reason, size_t size)
{
    *shape = *given;
    if (!shape->heads_kv)
        shape->heads_kv = shape->heads_q;
    const struct {
        const char *name;
        int64_t value, low, high;
    } limits[] = {
        {"batch", shape->batch, 0, INT32_MAX},       {"heads_q", shape->heads_q, 1, INT32_MAX},
        {"heads_kv", shape->heads_kv, 1, INT32_MAX}, {"q_len", shape->q_len, 0, LENGTH_LIMIT},
        {"k_len", shape->k_len, 0, LENGTH_LIMIT},
    };
    for (size_t i = 0; i < FCL_COUNT(limits); i++)
        if (limits[i].value < limits[i].low || limits[i].value > limits[i].high)
            return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                            "shape.%s is %lld, allowed are %lld to %lld", limits[i].name,
                            (long long)limits[i].value, (long long)limits[i].low,
                            (long long)limits[i].high);
    if (shape->heads_q % shape->heads_kv)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "shape.heads_q is %lld, which is not a multiple of heads_kv, %lld",
                        (long long)shape->heads_q, (long long)shape->heads_kv);
    if (shape->batch * shape->heads_q > INT32_MAX)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "shape.batch x heads_q is %lld, allowed are up to %d",
                        (long long)(shape->batch * shape->heads_q), INT32_MAX);
    return FCL_OK;
}

uint64_t fcl_score_bytes(const struct fcl_problem *problem, const struct fcl_config *config,
                         const struct fcl_shape *shape)
{
    const uint64_t pitch =
        (uint64_t)fcl_div_up(shape->q_len, config->block_m) * (uint64_t)config->block_m;
    uint64_t bytes;
    if (__builtin_mul_overflow((uint64_t)(shape->batch * shape->heads_q), (uint64_t)shape->k_len,
                               &bytes) ||
        __builtin_mul_overflow(bytes, pitch, &bytes) ||
        __builtin_mul_overflow(bytes, fcl_dtype_size(problem->dtype_q), &bytes))
        return UINT64_MAX;
    return bytes;
}

// ---- tensors

static const char *const dimension_names[4] = {"batch", "head", "row", "column"};

// One dimension's stride against the promises of the problem.
static enum fcl_status check_stride(const struct fcl_problem *p, const struct fcl_operand *x,
                                    int dimension, char *reason, size_t size)
{
    const int64_t stride = x->strides[dimension];
    const int64_t element = (int64_t)x->element;
    if (stride < 0 || stride > INT64_MAX / 16)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "%s.strides[%d] (%s) is %lld, allowed are 0 to %lld", x->name, dimension,
                        dimension_names[dimension], (long long)stride, (long long)INT64_MAX / 16);
    if (x->extents[dimension] <= 1 || x->is_free)
        return FCL_OK;
    if (dimension == 3) {
        if (stride != 1 && !p->strided)
            return fcl_fail(
                reason, size, FCL_UNSUPPORTED,
                "%s.strides[3] (column) is %lld: strides other than 1 need a plan for a "
                "problem that says strided",
                x->name, (long long)stride);
    } else if (stride * element % p->alignment) {
        return fcl_fail(
            reason, size, FCL_INVALID_ARGUMENT,
            "%s.strides[%d] (%s) is %lld elements of %lld bytes, which breaks the promised "
            "alignment of %d bytes; use a problem with align=%lld",
            x->name, dimension, dimension_names[dimension], (long long)stride, (long long)element,
            p->alignment, (long long)element);
    }
    return FCL_OK;
}

// Whether two elements of an output share a place: each stride, from the smallest up, must step
// over all that the smaller ones reach.
static int overlaps(const struct fcl_operand *x)
{
    int order[4], count = 0;
    for (int i = 0; i < 4; i++) {
        if (x->extents[i] <= 1)
            continue;
        int at = count++;
        for (; at > 0 && x->strides[order[at - 1]] > x->strides[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    int64_t reach = 0;
    for (int i = 0; i < count; i++) {
        if (x->strides[order[i]] <= reach)
            return 1;
        reach += (x->extents[order[i]] - 1) * x->strides[order[i]];
    }
    return 0;
}

static enum fcl_status find_end(struct fcl_operand *x, char *reason, size_t size)
{
    const uint64_t element = x->element;
    uint64_t last = 0, step;
    int bad = 0;
    for (int i = 0; i < 4; i++)
        bad |=
            __builtin_mul_overflow((uint64_t)(x->extents[i] - 1), (uint64_t)x->strides[i], &step) ||
            __builtin_add_overflow(last, step, &last);
    bad |= last > (uint64_t)INT64_MAX / 16;
    if (bad)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "%s reaches beyond 2^59 elements by its strides", x->name);
    if (__builtin_add_overflow((uint64_t)x->tensor->offset, (last + 1) * element, x->end))
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "%s.offset is %zu bytes, which leaves no room for %llu more", x->name,
                        x->tensor->offset, (unsigned long long)((last + 1) * element));
    return FCL_OK;
}

static enum fcl_status check_offset(const struct fcl_problem *p, const struct fcl_operand *x,
                                    char *reason, size_t size)
{
    const size_t offset = x->tensor->offset, element = x->element;
    const size_t unit = (size_t)fcl_max(p->alignment, (int64_t)element);
    if (x->is_free && offset % element)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "%s.offset is %zu bytes, which is not a multiple of an element's %zu",
                        x->name, offset, element);
    if (!x->is_free && offset % unit)
        return fcl_fail(
            reason, size, FCL_INVALID_ARGUMENT,
            "%s.offset is %zu bytes, which is not a multiple of the promised alignment, %zu; "
            "use a problem with align=%zu",
            x->name, offset, unit, element);
    return FCL_OK;
}

// The strides that are given, or those of a contiguous tensor.
static enum fcl_status find_strides(const struct fcl_problem *p, const struct fcl_operand *x,
                                    char *reason, size_t size)
{
    int given = 0;
    for (int i = 0; i < 4; i++) {
        const int64_t stride = x->tensor->strides[i];
        x->strides[i] = stride == FCL_BROADCAST ? 0 : stride;
        given |= stride != 0;
    }
    if (!given)
        fcl_layout_strides(x->is_free ? FCL_LAYOUT_BHSD : p->layout, x->extents[1], x->extents[2],
                           x->extents[3], x->strides);
    enum fcl_status status = FCL_OK;
    for (int i = 0; given && i < 4 && !status; i++)
        status = check_stride(p, x, i, reason, size);
    return status;
}

enum fcl_status fcl_operand_prepare(const struct fcl_problem *p, struct fcl_operand *x,
                                    char *reason, size_t size)
{
    for (int i = 0; i < 4; i++)
        if (x->extents[i] == 0)
            return FCL_OK; // no element is ever touched
    if (!x->tensor->buffer)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%s.buffer is NULL", x->name);
    enum fcl_status status = check_offset(p, x, reason, size);
    if (!status)
        status = find_strides(p, x, reason, size);
    if (!status)
        status = find_end(x, reason, size);
    *x->start = (int64_t)(x->tensor->offset / x->element);
    if (status)
        return status;
    if (x->is_output && overlaps(x))
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "%s has elements that overlap: strides %lld %lld %lld %lld", x->name,
                        (long long)x->strides[0], (long long)x->strides[1],
                        (long long)x->strides[2], (long long)x->strides[3]);
    return FCL_OK;
}

static enum fcl_status prepare_lse(const struct fcl_attention_args *args, const struct fcl_shape *s,
                                   const struct fcl_extent *extent, struct fcl_launch *launch,
                                   char *reason, size_t size)
{
    if (!args->lse)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "lse is NULL, but the plan's problem writes it");
    if (args->lse_offset % sizeof(float))
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "lse_offset is %zu bytes, allowed are multiples of 4", args->lse_offset);
    const uint64_t bytes =
        (uint64_t)(extent->q_batch * s->heads_q) * (uint64_t)extent->q_len * sizeof(float);
    if (__builtin_add_overflow((uint64_t)args->lse_offset, bytes, &launch->lse_end))
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "lse_offset is %zu bytes, which leaves no room for %llu more",
                        args->lse_offset, (unsigned long long)bytes);
    launch->args.lse_start = (int64_t)(args->lse_offset / sizeof(float));
    return FCL_OK;
}

enum fcl_status fcl_numbers_prepare(const char *name, cl_mem buffer, size_t offset, int64_t count,
                                    int32_t *start, uint64_t *end, char *reason, size_t size)
{
    if (!buffer && count)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "%s is NULL, but the plan's problem reads it", name);
    if (offset % 4 || offset > INT32_MAX)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "%s_offset is %zu bytes, allowed are multiples of 4 up to %d", name, offset,
                        INT32_MAX);
    *start = (int32_t)(offset / 4);
    *end = count ? offset + (uint64_t)count * 4 : 0;
    return FCL_OK;
}

// ---- splits

// How many parts keys are cut into: at most one a key block, so that it depends on the shape alone.
static int split_count(const struct fcl_config *config, const struct fcl_shape *shape)
{
    const int64_t blocks = fcl_max(fcl_div_up(shape->k_len, config->block_n), 1);
    return (int)fcl_min(config->splits, blocks);
}

// Behind partial results of so many bytes, a mark of 8 bytes for each group
// (tile/nvidia_mma_join.clh).
static uint64_t with_marks(uint64_t bytes, uint64_t groups)
{
    return (bytes + 7) / 8 * 8 + groups * sizeof(uint64_t);
}

uint64_t fcl_part_bytes(const struct fcl_problem *problem, const struct fcl_config *config,
                        const struct fcl_shape *shape)
{
    const uint64_t rows = (uint64_t)(shape->batch * shape->heads_q) * (uint64_t)shape->q_len;
    const uint64_t row = (uint64_t)(problem->head_dim_v + 1) * sizeof(float);
    const uint64_t parts = (uint64_t)split_count(config, shape);
    if (config->splits == 1)
        return 0;
    if (!fcl_config_joins(config))
        return parts * rows * row;
    const int64_t group = config->packed ? shape->heads_q / shape->heads_kv : 1;
    const int64_t blocks = fcl_div_up(shape->q_len * group, config->block_m) +
                           (problem->varlen != 0); // fcl_sequences_slots
    return with_marks(parts * rows * row, parts * (uint64_t)config->dv_split *
                                              (uint64_t)(shape->batch * blocks) *
                                              (uint64_t)(shape->heads_q / group));
}

// Partial results: O [split][batch, head, query][d], then LSE [split][batch, head, query].
static void prepare_splits(const struct fcl_problem *p, const struct fcl_config *c,
                           const struct fcl_shape *s, const struct fcl_extent *extent,
                           struct fcl_launch *launch)
{
    const int64_t dim = p->head_dim_v, rows = extent->q_batch * s->heads_q * extent->q_len;
    struct fcl_kernel_args *a = &launch->args, *part = &launch->part_args;
    a->splits = split_count(c, s);
    a->lse_split = rows;
    a->o_split = rows * dim;
    *part = *a;
    launch->split = c->splits > 1;
    if (!launch->split)
        return;
    fcl_layout_strides(FCL_LAYOUT_BHSD, s->heads_q, extent->q_len, dim, part->o_strides);
    part->o_start = 0;
    part->lse_start = a->splits * a->o_split;
    launch->part_bytes = (uint64_t)(a->splits * (a->o_split + a->lse_split)) * sizeof(float);
    if (!fcl_config_joins(c))
        launch->combine_groups = (uint64_t)fcl_div_up(rows * dim, FCL_COMBINE_GROUP);
}

// ---- state

// Work-groups that stay and draw one piece of work after the other: one a compute unit.
static uint64_t staying_groups(const struct fcl_config *config, const struct fcl_caps *caps)
{
    return config->family == FCL_FAMILY_NVIDIA_WGMMA
               ? (uint64_t)fcl_max((int64_t)caps->compute_units, 1)
               : 0;
}

static uint64_t state_bytes(const struct fcl_config *config, const struct fcl_caps *caps)
{
    const uint64_t groups = staying_groups(config, caps);
    return groups ? FCL_STATE_COUNTER + groups * FCL_STATE_MAPS : 0;
}

static uint64_t state_start(uint64_t part_bytes)
{
    return (part_bytes + FCL_STATE_ALIGNMENT - 1) / FCL_STATE_ALIGNMENT * FCL_STATE_ALIGNMENT;
}

uint64_t fcl_workspace_bytes(const struct fcl_problem *problem, const struct fcl_config *config,
                             const struct fcl_caps *caps, const struct fcl_shape *shape)
{
    const uint64_t part = fcl_part_bytes(problem, config, shape), state = state_bytes(config, caps);
    return state ? state_start(part) + state : part;
}

// ---- the grid

static enum fcl_status prepare_grid(const struct fcl_problem *p, const struct fcl_config *c,
                                    const struct fcl_caps *caps, const struct fcl_shape *s,
                                    const struct fcl_extent *extent, struct fcl_launch *launch,
                                    char *reason, size_t size)
{
    const uint64_t staying = staying_groups(c, caps);
    const int64_t group = c->packed ? s->heads_q / s->heads_kv : 1;
    const uint64_t blocks = (uint64_t)fcl_div_up(s->q_len * group, c->block_m);
    const uint64_t slots = fcl_problem_has_sequences(p)
                               ? fcl_sequences_slots(p, c, extent, s, group)
                               : blocks * (uint64_t)s->batch;
    const uint64_t rows = slots * (uint64_t)(s->heads_q / group);
    const uint64_t keys = (uint64_t)fcl_div_up(fcl_max(s->k_len, 1), c->block_n);
    launch->row_groups = rows;
    launch->groups = rows * (uint64_t)c->dv_split * (uint64_t)launch->args.splits;
    if (fcl_config_joins(c))
        launch->part_bytes = with_marks(launch->part_bytes, launch->groups);
    launch->score_groups = rows * keys;
    launch->score_bytes = fcl_score_bytes(p, c, s);
    launch->args.score_pitch = (int64_t)blocks * c->block_m;
    launch->args.slots = launch->part_args.slots = (uint32_t)slots;
    if (rows > GROUP_LIMIT || launch->groups > GROUP_LIMIT - staying ||
        launch->combine_groups > GROUP_LIMIT)
        return fcl_fail(reason, size, FCL_UNSUPPORTED,
                        "the shape needs %llu work-groups, at most %llu are possible",
                        (unsigned long long)launch->groups,
                        (unsigned long long)(GROUP_LIMIT - staying));
    const int64_t packed_rows = extent->q_len * group;
    if (packed_rows > LENGTH_LIMIT)
        return fcl_fail(reason, size, FCL_UNSUPPORTED,
                        "the shape has %lld packed rows, at most %lld are possible",
                        (long long)packed_rows, (long long)LENGTH_LIMIT);
    launch->marks = 1;
    if (staying) {
        const uint64_t pieces = launch->groups;
        launch->groups = pieces < staying ? pieces : staying;
        launch->marks += pieces + launch->groups;
    }
    launch->state_start = state_start(launch->part_bytes);
    launch->state_bytes = state_bytes(c, caps);
    return FCL_OK;
}

// A causal grid ends sooner when the longest blocks of many heads come first, and is slower when
// more heads are under way than the cache holds keys and values of: a third of it is given to them.
// More than a few are worse, too: all units would begin with long blocks, and ask for all of their
// keys, at once (7 % on an H200 with 33 heads of 512). On a CPU, whose cores are few, neither
// matters.
static void prepare_order(const struct fcl_problem *p, const struct fcl_config *c,
                          const struct fcl_caps *caps, const struct fcl_shape *s,
                          struct fcl_kernel_args *a)
{
    const int64_t sharing = s->heads_q / s->heads_kv;
    const int64_t heads = s->batch * (c->packed ? s->heads_kv : s->heads_q);
    const int64_t bytes = s->k_len * (p->head_dim_qk * (int64_t)fcl_dtype_size(p->dtype_k) +
                                      p->head_dim_v * (int64_t)fcl_dtype_size(p->dtype_v));
    const int64_t held = (int64_t)(caps->cache_bytes / 3) / fcl_max(bytes, 1);
    const int64_t fit = fcl_min(held, HEADS_TOGETHER);
    a->all_heads = (int32_t)heads;
    a->together = 1;
    if (fcl_problem_bounds_right(p) && caps->gpu)
        a->together = (int32_t)fcl_min(fcl_max(fit * (c->packed ? 1 : sharing), 1), heads);
}

// ---- all of it

// What is added to scores, or hides them: tensors [batch, head, query, key] and numbers of heads.
static enum fcl_status prepare_scores(const struct fcl_problem *p, const struct fcl_shape *s,
                                      const struct fcl_attention_args *args,
                                      struct fcl_launch *launch, char *reason, size_t size)
{
    struct fcl_kernel_args *a = &launch->args;
    struct fcl_operand bias = {.name = "bias",
                               .tensor = &args->bias,
                               .element = fcl_dtype_size(fcl_bias_dtype(p->bias)),
                               .extents = {s->batch, s->heads_q, s->q_len, s->k_len},
                               .is_free = 1,
                               .strides = a->bias_strides,
                               .start = &a->bias_start,
                               .end = &launch->bias_end};
    struct fcl_operand visible = bias;
    visible.name = "visible";
    visible.tensor = &args->visible;
    visible.element = 1;
    visible.strides = a->visible_strides;
    visible.start = &a->visible_start;
    visible.end = &launch->visible_end;
    enum fcl_status status = FCL_OK;
    if (p->bias)
        status = fcl_operand_prepare(p, &bias, reason, size);
    if (!status && p->visible)
        status = fcl_operand_prepare(p, &visible, reason, size);
    if (!status && p->sink)
        status = fcl_numbers_prepare("sinks", args->sinks, args->sinks_offset, s->heads_q,
                                     &a->sinks_start, &launch->sinks_end, reason, size);
    if (!status && p->alibi == FCL_ALIBI_GIVEN)
        status = fcl_numbers_prepare("slopes", args->slopes, args->slopes_offset, s->heads_q,
                                     &a->slopes_start, &launch->slopes_end, reason, size);
    return status;
}

static enum fcl_status prepare_tensors(const struct fcl_problem *p, const struct fcl_shape *s,
                                       const struct fcl_extent *x,
                                       const struct fcl_attention_args *args,
                                       struct fcl_launch *launch, char *reason, size_t size)
{
    struct fcl_kernel_args *a = &launch->args;
    struct fcl_operand operands[] = {
        {.name = "q",
         .tensor = &args->q,
         .element = fcl_dtype_size(p->dtype_q),
         .strides = a->q_strides,
         .start = &a->q_start,
         .end = &launch->q_end,
         .extents = {x->q_batch, s->heads_q, x->q_len, p->head_dim_qk}},
        {.name = "k",
         .tensor = &args->k,
         .element = fcl_dtype_size(p->dtype_k),
         .strides = a->k_strides,
         .start = &a->k_start,
         .end = &launch->k_end,
         .extents = {x->k_batch, s->heads_kv, x->k_len, p->head_dim_qk}},
        {.name = "v",
         .tensor = &args->v,
         .element = fcl_dtype_size(p->dtype_v),
         .strides = a->v_strides,
         .start = &a->v_start,
         .end = &launch->v_end,
         .extents = {x->k_batch, s->heads_kv, x->k_len, p->head_dim_v}},
        {.name = "o",
         .tensor = &args->o,
         .element = fcl_dtype_size(p->dtype_o),
         .strides = a->o_strides,
         .start = &a->o_start,
         .end = &launch->o_end,
         .extents = {x->q_batch, s->heads_q, x->q_len, p->head_dim_v},
         .is_output = 1},
    };
    const size_t count = p->pass == FCL_PASS_FORWARD ? 4 : 2;
    enum fcl_status status = FCL_OK;
    for (size_t i = 0; i < count && !status; i++)
        status = fcl_operand_prepare(p, &operands[i], reason, size);
    if (!status && (p->lse || p->pass == FCL_PASS_STATISTICS))
        status = prepare_lse(args, s, x, launch, reason, size);
    if (!status && fcl_problem_has_sequences(p))
        status = fcl_sequences_prepare(p, args, s, launch, reason, size);
    return status;
}

static void prepare_numbers(const struct fcl_problem *p, const struct fcl_shape *s,
                            const struct fcl_attention_args *args, struct fcl_kernel_args *a)
{
    const float scale = args->scale;
    const float softcap = args->softcap != 0.0f ? args->softcap : (float)p->softcap;
    a->q_len = (int32_t)s->q_len;
    a->k_len = (int32_t)s->k_len;
    a->heads = (int32_t)s->heads_q;
    a->group = (int32_t)(s->heads_q / s->heads_kv);
    const int64_t shift = fcl_problem_shift(p, s->q_len, s->k_len);
    if (fcl_problem_bounds_right(p)) // beyond all keys is as good as at their end
        a->shift = (int32_t)fcl_min(shift + fcl_problem_reach_right(p), s->k_len);
    if (fcl_problem_bounds_left(p))
        a->first = (int32_t)fcl_max(shift - fcl_problem_reach_left(p), -s->q_len);
    a->unit = (scale != 0.0f ? scale : 1.0f / sqrtf((float)p->head_dim_qk)) * LOG2_E;
    a->unit_size = fmaxf(fabsf(a->unit), 0x1p-100f);
    a->place = p->alibi ? (int32_t)shift : 0;
    a->slope_heads = fcl_alibi_heads(s->heads_q);
    a->slope_step = 8.0f / (float)a->slope_heads;
    a->cap = softcap * LOG2_E;
    a->cap_inverse = softcap > 0.0f ? 1.0f / a->cap : 0.0f;
}

// The problem with the window of this launch in place of its own.
static enum fcl_status take_window(const struct fcl_problem *problem,
                                   const struct fcl_attention_args *args, const struct fcl_shape *s,
                                   struct fcl_problem *p, char *reason, size_t size)
{
    const int causal = fcl_problem_is_causal(problem); // then the right side is bounded anyhow
    const int left = fcl_problem_bounds_left(problem), right = fcl_problem_bounds_right(problem);
    const struct {
        const char *name;
        int64_t value, low, high;
    } sides[] = {
        {"left", args->window_left, left ? 0 : -1, left ? LENGTH_LIMIT : -1},
        {"right", args->window_right, right && !causal ? 0 : -1, right ? LENGTH_LIMIT : -1}};
    *p = *problem;
    for (size_t i = 0; args->window && i < FCL_COUNT(sides); i++)
        if (sides[i].value < sides[i].low || sides[i].value > sides[i].high)
            return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                            "window_%s is %lld, allowed by the plan's problem are %lld to %lld%s",
                            sides[i].name, (long long)sides[i].value, (long long)sides[i].low,
                            (long long)sides[i].high, sides[i].high < 0 ? " (no bound)" : "");
    if (args->window) {
        p->window_left = args->window_left;
        p->window_right = args->window_right;
    }
    if ((p->window || p->alibi) && s->q_len + s->k_len > POSITION_LIMIT)
        return fcl_fail(reason, size, FCL_UNSUPPORTED,
                        "shape.q_len + shape.k_len is %lld, with %s at most %lld are possible",
                        (long long)(s->q_len + s->k_len), p->window ? "a window" : "alibi",
                        (long long)POSITION_LIMIT);
    return FCL_OK;
}

static enum fcl_status check_numbers(const struct fcl_problem *p,
                                     const struct fcl_attention_args *args, char *reason,
                                     size_t size)
{
    const float softcap = args->softcap;
    if (!isfinite(softcap) || softcap < 0.0f || (softcap > 0.0f && p->softcap == 0))
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "softcap is %g, allowed %s by the plan's problem", (double)softcap,
                        p->softcap ? "are finite numbers from 0 on" : "is 0 (none)");
    if (!isfinite(args->scale))
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "scale is %g, allowed are finite numbers", (double)args->scale);
    return FCL_OK;
}

enum fcl_status fcl_launch_prepare(const struct fcl_problem *problem,
                                   const struct fcl_config *config, const struct fcl_caps *caps,
                                   const struct fcl_attention_args *args, struct fcl_launch *launch,
                                   char *reason, size_t size)
{
    struct fcl_shape s;
    struct fcl_problem p;
    struct fcl_extent x;
    *launch = (struct fcl_launch){0};
    enum fcl_status status = fcl_shape_complete(&args->shape, &s, reason, size);
    if (!status)
        status = take_window(problem, args, &s, &p, reason, size);
    if (!status)
        status = check_numbers(problem, args, reason, size);
    if (!status)
        status = fcl_sequences_extent(problem, args, &s, &x, reason, size);
    if (status)
        return status;
    launch->empty = s.batch == 0 || s.q_len == 0;
    if (launch->empty)
        return FCL_OK;
    if (x.q_len == 0) { // of packed sequences, which may say otherwise
        launch->empty = 1;
        return fcl_sequences_prepare(&p, args, &s, launch, reason, size);
    }
    prepare_numbers(&p, &s, args, &launch->args);
    status = prepare_tensors(&p, &s, &x, args, launch, reason, size);
    if (!status)
        status = prepare_scores(&p, &s, args, launch, reason, size);
    if (status) // sizes may leave 64 bits
        return status;
    prepare_order(&p, config, caps, &s, &launch->args);
    prepare_splits(&p, config, &s, &x, launch);
    return prepare_grid(&p, config, caps, &s, &x, launch, reason, size);
}
