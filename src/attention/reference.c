// Attention on the host, one row at a time and by definition: in double precision (the truth) and
// in the precision that a kernel may use (the unit of the tolerance).
#include "reference.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "core/element.h"
#include "problem.h"

// One row's view of its inputs. Hidden keys are outside of it: it is `visible` keys from `first`
// on.
struct inputs {
    struct fcl_problem problem;
    float scale, softcap;
    int64_t first, visible;
    int64_t q_first, q_step;  // element where the query begins, and to its next one
    int64_t k_first, v_first; // element where the key head's first row begins
    int64_t k_strides[4], v_strides[4];
    const struct fcl_reference *reference;
    float *q, *line, *sums;        // the query; one row of K or V; head_dim_v sums
    double sink;                   // a logit more, without a value; -INFINITY: none
    double slope;                  // what a score loses for each key of distance
    int64_t place;                 // where the query stands among the visible keys
    int64_t bias_first, bias_step; // element where the row's biases begin, and to the next key
    int64_t visible_first, visible_step; // the same of the mask tensor
    double *scores;                      // `visible` of them; later their exponentials
};

int64_t fcl_reference_visible(const struct fcl_problem *p, int64_t i, int64_t *first)
{
    const int64_t place = i + fcl_problem_shift(p, p->q_len, p->k_len);
    int64_t begin = 0, end = p->k_len;
    if (fcl_problem_bounds_left(p))
        begin = fcl_max(place - fcl_problem_reach_left(p), 0);
    if (fcl_problem_bounds_right(p))
        end = fcl_min(place + fcl_problem_reach_right(p) + 1, p->k_len);
    *first = begin;
    return fcl_max(end - begin, 0);
}

// The standard slope of a head (Press et al. 2022): 2^(-8 (h + 1) / n); beyond the power of two n,
// every second one of the series of 2 n.
static double alibi_slope(int64_t head, int64_t heads)
{
    const int64_t n = fcl_alibi_heads(heads);
    return head < n ? exp2(-8.0 * (double)(head + 1) / (double)n)
                    : exp2(-8.0 * (double)(2 * (head - n) + 1) / (double)(2 * n));
}

float fcl_reference_scale(float scale, int head_dim_qk)
{
    return scale != 0 ? scale : (float)(1 / sqrt((double)head_dim_qk));
}

// The tensor's strides, and the first element of the matrix of one batch and head.
static int64_t open_tensor(const struct fcl_host_tensor *tensor, int64_t heads, int64_t length,
                           int64_t dim, int64_t b, int64_t h, int64_t strides[4])
{
    const int64_t *given = tensor->strides;
    if (given[0] == 0 && given[1] == 0 && given[2] == 0 && given[3] == 0)
        fcl_layout_strides(FCL_LAYOUT_BHSD, heads, length, dim, strides);
    else
        for (int axis = 0; axis < 4; axis++)
            strides[axis] = given[axis] == FCL_BROADCAST ? 0 : given[axis];
    return b * strides[0] + h * strides[1];
}

static int are_usable(const struct fcl_reference *reference, const struct fcl_problem *problem,
                      int64_t visible, const struct fcl_reference_row *row)
{
    if ((problem->sink && reference->sinks == NULL) ||
        (problem->alibi == FCL_ALIBI_GIVEN && reference->slopes == NULL))
        return 0;
    if (problem->bias && visible > 0 &&
        (reference->bias.data == NULL || reference->bias.dtype != fcl_bias_dtype(problem->bias)))
        return 0;
    if (problem->visible && visible > 0 && reference->visible.data == NULL)
        return 0;
    const int reads_v = row->o != NULL || row->magnitude != NULL;
    if (reference->q.data == NULL || reference->q.dtype != problem->dtype_q)
        return 0;
    if (visible > 0 && (reference->k.data == NULL || reference->k.dtype != problem->dtype_k))
        return 0;
    if (reads_v && problem->pass != FCL_PASS_FORWARD)
        return 0;
    return !reads_v || visible == 0 ||
           (reference->v.data != NULL && reference->v.dtype == problem->dtype_v);
}

static void close_inputs(struct inputs *in)
{
    free(in->q);
    free(in->line);
    free(in->sums);
    free(in->scores);
}

// Numbers of a row, and where it begins in its tensors.
static void find_row(struct inputs *in, int64_t b, int64_t h, int64_t i)
{
    const struct fcl_problem *p = &in->problem;
    const struct fcl_reference *reference = in->reference;
    in->scale = fcl_reference_scale(reference->scale, p->head_dim_qk);
    in->sink = p->sink ? (double)reference->sinks[h] : -INFINITY;
    in->place = i + fcl_problem_shift(p, p->q_len, p->k_len) - in->first;
    if (p->alibi)
        in->slope =
            p->alibi == FCL_ALIBI_GIVEN ? (double)reference->slopes[h] : alibi_slope(h, p->heads_q);
    in->softcap = reference->softcap != 0 ? reference->softcap : (float)p->softcap;
    const int64_t key_head = h / (p->heads_q / p->heads_kv);
    int64_t strides[4];
    in->q_first = open_tensor(&reference->q, p->heads_q, p->q_len, p->head_dim_qk, b, h, strides) +
                  i * strides[2];
    in->q_step = strides[3];
    in->k_first = open_tensor(&reference->k, p->heads_kv, p->k_len, p->head_dim_qk, b, key_head,
                              in->k_strides);
    in->v_first = open_tensor(&reference->v, p->heads_kv, p->k_len, p->head_dim_v, b, key_head,
                              in->v_strides);
    in->bias_first = open_tensor(&reference->bias, p->heads_q, p->q_len, p->k_len, b, h, strides) +
                     i * strides[2];
    in->bias_step = strides[3];
    in->visible_first =
        open_tensor(&reference->visible, p->heads_q, p->q_len, p->k_len, b, h, strides) +
        i * strides[2];
    in->visible_step = strides[3];
}

static void load_q(const struct inputs *in)
{
    fcl_element_load_row(in->reference->q.data, in->problem.dtype_q, in->q_first, in->q_step,
                         in->problem.head_dim_qk, in->q);
}

// On OK, close_inputs is due.
static enum fcl_status open_inputs(const struct fcl_reference *reference, int64_t b, int64_t h,
                                   int64_t i, const struct fcl_reference_row *row,
                                   struct inputs *in)
{
    *in = (struct inputs){.reference = reference};
    if (reference == NULL || row == NULL ||
        fcl_problem_complete(reference->problem, &in->problem, NULL, 0) != FCL_OK)
        return FCL_INVALID_ARGUMENT;
    const struct fcl_problem *p = &in->problem;
    if (b < 0 || b >= p->batch || h < 0 || h >= p->heads_q || i < 0 || i >= p->q_len)
        return FCL_INVALID_ARGUMENT;
    in->visible = fcl_reference_visible(p, i, &in->first);
    if (!are_usable(reference, p, in->visible, row))
        return FCL_INVALID_ARGUMENT;
    find_row(in, b, h, i);
    in->q = malloc((size_t)p->head_dim_qk * sizeof *in->q);
    in->line = malloc((size_t)fcl_max(p->head_dim_qk, p->head_dim_v) * sizeof *in->line);
    in->sums = calloc((size_t)p->head_dim_v, sizeof *in->sums);
    in->scores = malloc((size_t)fcl_max(in->visible, 1) * sizeof *in->scores);
    if (in->q == NULL || in->line == NULL || in->sums == NULL || in->scores == NULL) {
        close_inputs(in);
        return FCL_OUT_OF_MEMORY;
    }
    load_q(in);
    return FCL_OK;
}

static void load_k(const struct inputs *in, int64_t j)
{
    fcl_element_load_row(in->reference->k.data, in->problem.dtype_k,
                         in->k_first + (in->first + j) * in->k_strides[2], in->k_strides[3],
                         in->problem.head_dim_qk, in->line);
}

static void load_v(const struct inputs *in, int64_t j)
{
    fcl_element_load_row(in->reference->v.data, in->problem.dtype_v,
                         in->v_first + (in->first + j) * in->v_strides[2], in->v_strides[3],
                         in->problem.head_dim_v, in->line);
}

// What is added to a key's score; -INFINITY: the key is hidden.
static float added_to(const struct inputs *in, int64_t j)
{
    const unsigned char *visible = in->reference->visible.data;
    if (in->problem.visible && !visible[in->visible_first + (in->first + j) * in->visible_step])
        return -INFINITY;
    if (!in->problem.bias)
        return 0;
    return fcl_element_load(in->reference->bias.data, in->reference->bias.dtype,
                            in->bias_first + (in->first + j) * in->bias_step);
}

static double exact_score(const struct inputs *in, int64_t j, float added)
{
    double dot = 0;
    for (int d = 0; d < in->problem.head_dim_qk; d++)
        dot += (double)in->q[d] * (double)in->line[d];
    const double s = (double)in->scale * dot, cap = (double)in->softcap;
    return (cap > 0 ? cap * tanh(s / cap) : s) + (double)added -
           in->slope * (double)llabs(in->place - j);
}

static double float_score(const struct inputs *in, int64_t j, float added)
{
    float dot = 0;
    for (int d = 0; d < in->problem.head_dim_qk; d++)
        dot += in->q[d] * in->line[d];
    const float s = in->scale * dot, cap = in->softcap;
    const float capped = cap > 0 ? cap * tanhf(s / cap) : s;
    return (double)(capped + added - (float)in->slope * (float)llabs(in->place - j));
}

// Below the largest score by this much, a key weighs less than 2e-14: its score matters to nothing.
#define SCORE_REACH 32

// max |score| over the keys that matter.
static double limit_of(const struct inputs *in, double largest)
{
    double limit = in->sink >= largest - SCORE_REACH && isfinite(in->sink) ? fabs(in->sink) : 0;
    for (int64_t j = 0; j < in->visible; j++)
        if (in->scores[j] >= largest - SCORE_REACH && fabs(in->scores[j]) > limit)
            limit = fabs(in->scores[j]);
    return limit;
}

// Fills in->scores, of hidden keys with -INFINITY, and row->score_limit. Returns whether some key
// is not hidden. A NaN is in no maximum; the exponentials carry it on.
static int fill_scores(const struct inputs *in,
                       double (*score)(const struct inputs *, int64_t, float),
                       struct fcl_reference_row *row, double *maximum)
{
    double largest = in->sink;
    int some = 0;
    for (int64_t j = 0; j < in->visible; j++) {
        const float added = added_to(in, j);
        in->scores[j] = -INFINITY;
        if (added == -INFINITY)
            continue;
        some = 1;
        load_k(in, j);
        double s = score(in, j, added);
        if (s < FCL_SCORE_FLOOR)
            s = FCL_SCORE_FLOOR;
        if (s > largest)
            largest = s;
        in->scores[j] = s;
    }
    if (some)
        row->score_limit = limit_of(in, largest);
    *maximum = largest;
    return some;
}

// The exponential of a hidden key, which has no part in a row.
#define HIDDEN (-1.0)

// A row without keys: O = 0, LSE = the sink or -infinity. Sums start from it.
static void clear_row(const struct inputs *in, struct fcl_reference_row *row)
{
    for (int d = 0; d < in->problem.head_dim_v; d++) {
        if (row->o != NULL)
            row->o[d] = 0;
        if (row->magnitude != NULL)
            row->magnitude[d] = 0;
    }
    row->lse = in->sink;
    row->score_limit = isfinite(in->sink) ? fabs(in->sink) : 0;
}

enum fcl_status fcl_reference_dense(const struct fcl_reference *reference, int64_t b, int64_t h,
                                    int64_t i, struct fcl_reference_row *row)
{
    struct inputs in;
    const enum fcl_status status = open_inputs(reference, b, h, i, row, &in);
    if (status != FCL_OK)
        return status;
    clear_row(&in, row);
    double largest;
    if (fill_scores(&in, exact_score, row, &largest)) {
        double sum = in.sink > -INFINITY ? exp(in.sink - largest) : 0;
        for (int64_t j = 0; j < in.visible; j++) {
            in.scores[j] = in.scores[j] == -INFINITY ? HIDDEN : exp(in.scores[j] - largest);
            sum += in.scores[j] == HIDDEN ? 0 : in.scores[j];
        }
        row->lse = largest + log(sum);
        const int dims_o = row->o != NULL ? in.problem.head_dim_v : 0;
        const int dims_magnitude = row->magnitude != NULL ? in.problem.head_dim_v : 0;
        for (int64_t j = 0; j < in.visible && (dims_o > 0 || dims_magnitude > 0); j++) {
            if (in.scores[j] == HIDDEN)
                continue;
            const double p = in.scores[j] / sum;
            load_v(&in, j);
            for (int d = 0; d < dims_o; d++)
                row->o[d] += p * (double)in.line[d];
            for (int d = 0; d < dims_magnitude; d++)
                row->magnitude[d] += p * fabs((double)in.line[d]);
        }
    }
    close_inputs(&in);
    return FCL_OK;
}

// OpenCL devices may flush fp32 subnormals to 0.
static float flush(float value)
{
    return fabsf(value) < FLT_MIN ? 0.0f : value;
}

enum fcl_status fcl_reference_model(const struct fcl_reference *reference, int64_t b, int64_t h,
                                    int64_t i, struct fcl_reference_row *row)
{
    struct inputs in;
    const enum fcl_status status = open_inputs(reference, b, h, i, row, &in);
    if (status != FCL_OK)
        return status;
    clear_row(&in, row);
    double maximum;
    if (fill_scores(&in, float_score, row, &maximum)) {
        const float largest = (float)maximum;
        float sum = in.sink > -INFINITY ? flush(expf((float)in.sink - largest)) : 0;
        for (int64_t j = 0; j < in.visible; j++) {
            if (in.scores[j] == -INFINITY) {
                in.scores[j] = HIDDEN;
                continue;
            }
            const float p = flush(expf((float)in.scores[j] - largest));
            sum += p;
            in.scores[j] = (double)fcl_element_round(in.problem.dtype_v, p);
        }
        row->lse = (double)(largest + logf(sum));
        const int dims_o = row->o != NULL ? in.problem.head_dim_v : 0;
        const int dims_magnitude = row->magnitude != NULL ? in.problem.head_dim_v : 0;
        for (int64_t j = 0; j < in.visible && (dims_o > 0 || dims_magnitude > 0); j++) {
            if (in.scores[j] == HIDDEN)
                continue;
            const float p = (float)in.scores[j];
            load_v(&in, j);
            for (int d = 0; d < dims_o; d++)
                in.sums[d] += p * in.line[d];
            for (int d = 0; d < dims_magnitude; d++)
                row->magnitude[d] += (double)(p * fabsf(in.line[d]) / sum);
        }
        for (int d = 0; d < dims_o; d++)
            row->o[d] = (double)fcl_element_round(in.problem.dtype_o, flush(in.sums[d] / sum));
    }
    close_inputs(&in);
    return FCL_OK;
}
