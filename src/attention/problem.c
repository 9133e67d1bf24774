// Problems as values: the table of their fields, defaults and checks.
#include "problem.h"

#include "problem_fields.h"

static const char *const pass_words[] = {"fwd", "lse", NULL};
static const char *const dtype_words[] = {"f32", "f16", "bf16", NULL};
static const char *const mask_words[] = {"none", "causal-tl", "causal-br", "tl", "br", NULL};
static const char *const layout_words[] = {"bhsd", "bshd", NULL};
static const char *const bias_words[] = {"none", "f32", "f16", "bf16", NULL};
static const char *const visible_words[] = {"none", "u8", NULL};
static const char *const alibi_words[] = {"alibi=none", "alibi", "alibi=given", NULL};

const struct fcl_problem_field fcl_problem_fields[] = {
#define FCL_X(member, kind, key, smallest, largest, words) \
    {#member, KIND_##kind, key, smallest, largest, words},
    FCL_PROBLEM_FIELDS(FCL_X)
#undef FCL_X
};

struct fcl_problem_values fcl_problem_to_values(const struct fcl_problem *problem)
{
    struct fcl_problem_values values;
#define FCL_X(member, kind, key, smallest, largest, words) \
    values.of[FIELD_##member] = (int64_t)problem->member;
    FCL_PROBLEM_FIELDS(FCL_X)
#undef FCL_X
    return values;
}

struct fcl_problem fcl_problem_from_values(const struct fcl_problem_values *values)
{
    struct fcl_problem problem = {.struct_size = sizeof problem};
#define FCL_X(member, kind, key, smallest, largest, words) \
    problem.member = values->of[FIELD_##member];
    FCL_PROBLEM_FIELDS(FCL_X)
#undef FCL_X
    return problem;
}

void fcl_problem_init(struct fcl_problem *problem)
{
    if (problem != NULL)
        *problem = fcl_problem(.batch = 1, .heads_q = 1, .head_dim_qk = 64);
}

const char *fcl_dtype_text(enum fcl_dtype dtype)
{
    return (int)dtype >= 0 && (size_t)dtype < FCL_COUNT(dtype_words) - 1 ? dtype_words[dtype] : "?";
}

void fcl_layout_strides(enum fcl_layout layout, int64_t heads, int64_t length, int64_t dim,
                        int64_t strides[4])
{
    const int by_head = layout == FCL_LAYOUT_BHSD;
    strides[0] = heads * length * dim;
    strides[1] = by_head ? length * dim : dim;
    strides[2] = by_head ? dim : heads * dim;
    strides[3] = 1;
}

// ---- Masks ------------------------------------------------------------------------------------

int64_t fcl_problem_shift(const struct fcl_problem *p, int64_t q_len, int64_t k_len)
{
    const int bottom = p->mask == FCL_MASK_CAUSAL_BOTTOM_RIGHT || p->mask == FCL_MASK_BOTTOM_RIGHT;
    return bottom ? k_len - q_len : 0;
}

enum fcl_dtype fcl_bias_dtype(enum fcl_bias bias)
{
    return bias == FCL_BIAS_F16 ? FCL_F16 : bias == FCL_BIAS_BF16 ? FCL_BF16 : FCL_F32;
}

int32_t fcl_alibi_heads(int64_t heads)
{
    int32_t power = 1;
    while (power <= heads / 2)
        power *= 2;
    return power;
}

int fcl_problem_is_causal(const struct fcl_problem *p)
{
    return p->mask == FCL_MASK_CAUSAL_TOP_LEFT || p->mask == FCL_MASK_CAUSAL_BOTTOM_RIGHT;
}

int fcl_problem_bounds_left(const struct fcl_problem *p)
{
    return p->window && p->window_left >= 0;
}

int fcl_problem_bounds_right(const struct fcl_problem *p)
{
    return fcl_problem_is_causal(p) || (p->window && p->window_right >= 0);
}

int64_t fcl_problem_reach_left(const struct fcl_problem *p)
{
    return p->window_left;
}

int64_t fcl_problem_reach_right(const struct fcl_problem *p)
{
    return fcl_problem_is_causal(p) ? 0 : p->window_right;
}

int fcl_problem_has_sequences(const struct fcl_problem *p)
{
    return p->varlen || p->used;
}

// ---- Defaults and checks ----------------------------------------------------------------------

size_t fcl_problem_tensors(const struct fcl_problem *p, struct fcl_problem_tensor tensors[4])
{
    tensors[0] = (struct fcl_problem_tensor){"q",      "head_dim_qk",  p->heads_q,
                                             p->q_len, p->head_dim_qk, p->dtype_q};
    tensors[1] = (struct fcl_problem_tensor){"k",      "head_dim_qk",  p->heads_kv,
                                             p->k_len, p->head_dim_qk, p->dtype_k};
    tensors[2] = (struct fcl_problem_tensor){"v",      "head_dim_v",  p->heads_kv,
                                             p->k_len, p->head_dim_v, p->dtype_v};
    tensors[3] = (struct fcl_problem_tensor){"o",      "head_dim_v",  p->heads_q,
                                             p->q_len, p->head_dim_v, p->dtype_o};
    return p->pass == FCL_PASS_STATISTICS ? 2 : 4;
}

int fcl_problem_natural_alignment(const struct fcl_problem *problem)
{
    struct fcl_problem_tensor tensors[4];
    const size_t count = fcl_problem_tensors(problem, tensors);
    int64_t alignment = FCL_ALIGNMENT_DEFAULT;
    for (size_t i = 0; i < count; i++)
        while (alignment > 1 &&
               tensors[i].dim * (int64_t)fcl_dtype_size(tensors[i].dtype) % alignment != 0)
            alignment /= 2;
    return (int)alignment;
}

// A statistics problem has no V and no O: what it says of them is replaced by one fixed choice, so
// that equal problems look equal.
void fcl_problem_fill_defaults(struct fcl_problem *problem)
{
    if (problem->heads_kv == 0)
        problem->heads_kv = problem->heads_q;
    if (problem->head_dim_v == 0 || problem->pass == FCL_PASS_STATISTICS)
        problem->head_dim_v = problem->head_dim_qk;
    if (problem->pass == FCL_PASS_STATISTICS) {
        problem->dtype_v = problem->dtype_k;
        problem->dtype_o = problem->dtype_q;
        problem->lse = 1;
        problem->guard_v = 0;
    }
    if (!problem->window || (problem->window_left == -1 && problem->window_right == -1))
        problem->window = 0, problem->window_left = problem->window_right = 0;
    if (!problem->window && !problem->alibi && problem->mask >= FCL_MASK_TOP_LEFT &&
        problem->mask <= FCL_MASK_BOTTOM_RIGHT)
        problem->mask = FCL_MASK_NONE;
    if (problem->page > 0)
        problem->used = 1;
    if (problem->varlen)
        problem->layout = FCL_LAYOUT_BSHD;
    if (problem->alignment == 0)
        problem->alignment = fcl_problem_natural_alignment(problem);
}

enum fcl_status fcl_problem_range_status(enum fcl_field_id id, int64_t value)
{
    if (value >= fcl_problem_fields[id].smallest && value <= fcl_problem_fields[id].largest)
        return FCL_OK;
    const int is_dim = id == FIELD_head_dim_qk || id == FIELD_head_dim_v;
    return is_dim && value > 0 ? FCL_UNSUPPORTED : FCL_INVALID_ARGUMENT;
}

static enum fcl_status check_ranges(const struct fcl_problem *problem, char *reason, size_t size)
{
    const struct fcl_problem_values values = fcl_problem_to_values(problem);
    for (int id = 0; id < FIELD_COUNT; id++) {
        const enum fcl_status status = fcl_problem_range_status(id, values.of[id]);
        if (status != FCL_OK)
            return fcl_fail(reason, size, status, "%s is %lld; allowed are %lld to %lld",
                            fcl_problem_fields[id].name, (long long)values.of[id],
                            (long long)fcl_problem_fields[id].smallest,
                            (long long)fcl_problem_fields[id].largest);
    }
    if (problem->heads_q % problem->heads_kv != 0)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "heads_q is %lld; allowed are multiples of heads_kv, %lld",
                        (long long)problem->heads_q, (long long)problem->heads_kv);
    if ((problem->window || problem->alibi) && problem->mask == FCL_MASK_NONE)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "%s, but mask is none: %s is measured from where a query stands; allowed "
                        "are causal-tl, causal-br, tl and br",
                        problem->window ? "window is 1" : "the problem says alibi",
                        problem->window ? "a window" : "its distance");
    return FCL_OK;
}

static enum fcl_status check_size(const struct fcl_problem *problem,
                                  const struct fcl_problem_tensor *tensor, char *reason,
                                  size_t size)
{
    const int64_t counts[] = {problem->batch, tensor->heads, tensor->length, tensor->dim};
    int64_t bytes = (int64_t)fcl_dtype_size(tensor->dtype);
    for (size_t i = 0; i < FCL_COUNT(counts); i++) {
        if (counts[i] != 0 && bytes > INT64_MAX / counts[i])
            return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                            "%s of %lld x %lld x %lld x %lld elements is too large; allowed are "
                            "2^63 - 1 bytes",
                            tensor->name, (long long)counts[0], (long long)counts[1],
                            (long long)counts[2], (long long)counts[3]);
        bytes *= counts[i];
    }
    return FCL_OK;
}

// With mixed types the promise may be smaller than some elements, never than all of them.
static enum fcl_status check_alignment(int64_t alignment, const struct fcl_problem_tensor *tensors,
                                       size_t count, char *reason, size_t size)
{
    if ((alignment & (alignment - 1)) != 0)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "alignment is %lld; allowed are powers of two up to %d",
                        (long long)alignment, FCL_ALIGNMENT_LIMIT);
    int64_t smallest = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct fcl_problem_tensor *tensor = &tensors[i];
        const int64_t element = (int64_t)fcl_dtype_size(tensor->dtype);
        smallest = fcl_min(smallest, element);
        if (tensor->dim * element % alignment != 0)
            return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                            "alignment is %lld, but rows of %s with %s %lld are %lld bytes, which "
                            "it does not divide",
                            (long long)alignment, tensor->name, tensor->dim_name,
                            (long long)tensor->dim, (long long)(tensor->dim * element));
    }
    if (alignment < smallest)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "alignment is %lld; allowed are at least the %lld bytes of an element",
                        (long long)alignment, (long long)smallest);
    return FCL_OK;
}

static enum fcl_status check(const struct fcl_problem *problem, char *reason, size_t size)
{
    enum fcl_status status = check_ranges(problem, reason, size);
    if (status != FCL_OK)
        return status;
    struct fcl_problem_tensor tensors[4];
    const size_t count = fcl_problem_tensors(problem, tensors);
    for (size_t i = 0; i < count && status == FCL_OK; i++)
        status = check_size(problem, &tensors[i], reason, size);
    if (status == FCL_OK)
        status = check_alignment(problem->alignment, tensors, count, reason, size);
    return status;
}

enum fcl_status fcl_problem_complete(const struct fcl_problem *problem, struct fcl_problem *full,
                                     char *reason, size_t size)
{
    if (problem == NULL)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "problem is NULL");
    if (!fcl_struct_read(full, sizeof *full, problem))
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "struct_size of the problem is %zu; allowed are up to %zu, as set by "
                        "fcl_problem() and fcl_problem_init",
                        problem->struct_size, sizeof *full);
    fcl_problem_fill_defaults(full);
    return check(full, reason, size);
}

enum fcl_status fcl_problem_validate(const struct fcl_problem *problem, char *reason, size_t size)
{
    struct fcl_problem full;
    return fcl_problem_complete(problem, &full, reason, size);
}

int fcl_problem_same_kernel(const struct fcl_problem *a, const struct fcl_problem *b)
{
    return a->pass == b->pass && a->head_dim_qk == b->head_dim_qk &&
           a->head_dim_v == b->head_dim_v && a->dtype_q == b->dtype_q && a->dtype_k == b->dtype_k &&
           a->dtype_v == b->dtype_v && a->dtype_o == b->dtype_o && a->mask == b->mask &&
           a->layout == b->layout && a->alignment == b->alignment && a->lse == b->lse &&
           a->guard_v == b->guard_v && a->strided == b->strided &&
           fcl_problem_bounds_left(a) == fcl_problem_bounds_left(b) &&
           fcl_problem_bounds_right(a) == fcl_problem_bounds_right(b) &&
           (a->softcap > 0) == (b->softcap > 0) && a->sink == b->sink && a->varlen == b->varlen &&
           a->used == b->used && (a->page > 0) == (b->page > 0) && a->alibi == b->alibi &&
           a->bias == b->bias && a->visible == b->visible;
}
