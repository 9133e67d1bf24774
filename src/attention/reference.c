// Attention on the host, one row at a time and by definition: in double precision (the truth) and
// in the precision that a kernel may use (the unit of the tolerance).
#include "reference.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "core/element.h"
#include "problem.h"

// One row's view of its inputs. Hidden keys are outside of it: it is the `visible` ones of `keys`.
struct inputs {
    struct fcl_problem problem;
    float scale, softcap;
    int64_t visible;
    int64_t *keys;
    int64_t sequence;
    int64_t q_first, k_first, v_first; // element where the head's first row of the sequence begins
    int64_t k_strides[4], v_strides[4];
    const struct fcl_reference *reference;
    float *q, *line, *sums;            // the query; one row of K or V; head_dim_v sums
    double sink;                       // a logit more, without a value; -INFINITY: none
    double slope;                      // what a score loses for each key of distance
    int64_t place;                     // where the query stands among the keys
    int64_t bias_first, visible_first; // element where the row of the query begins
    int64_t bias_step, visible_step;   // from one key to the next
    double *scores;                    // `visible` of them; later their exponentials
    double *sizes;                     // which their partial sums reach; of the model, 0
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

// The tensor's strides, and the first element of a head's rows from `row` on of batch `b`.
// `layout`: of a contiguous one.
static int64_t open_tensor(enum fcl_layout layout, const struct fcl_host_tensor *tensor,
                           int64_t heads, int64_t length, int64_t dim, int64_t b, int64_t h,
                           int64_t row, int64_t strides[4])
{
    const int64_t *given = tensor->strides;
    if (given[0] == 0 && given[1] == 0 && given[2] == 0 && given[3] == 0)
        fcl_layout_strides(layout, heads, length, dim, strides);
    else
        for (int axis = 0; axis < 4; axis++)
            strides[axis] = given[axis] == FCL_BROADCAST ? 0 : given[axis];
    return b * strides[0] + h * strides[1] + row * strides[2];
}

static void open_tensors(struct inputs *in, const struct fcl_sequence_rows *rows, int64_t b,
                         int64_t h, int64_t q_strides[4])
{
    const struct fcl_problem *p = &in->problem;
    const struct fcl_reference *r = in->reference;
    const int64_t key_head = h / (p->heads_q / p->heads_kv), one = p->varlen ? 0 : b;
    const int64_t page = p->page && r->sequences->page ? r->sequences->page : p->page;
    const int64_t keys = page ? page : p->k_len, key_batch = page ? 0 : one;
    const enum fcl_layout layout = p->varlen ? FCL_LAYOUT_BSHD : FCL_LAYOUT_BHSD;
    in->q_first = open_tensor(layout, &r->q, p->heads_q, p->q_len, p->head_dim_qk, one, h,
                              rows->q_first, q_strides);
    in->k_first = open_tensor(layout, &r->k, p->heads_kv, keys, p->head_dim_qk, key_batch, key_head,
                              rows->k_first, in->k_strides);
    in->v_first = open_tensor(layout, &r->v, p->heads_kv, keys, p->head_dim_v, key_batch, key_head,
                              rows->k_first, in->v_strides);
}

// The tensors that say something of scores, element [sequence, head, query, key].
static void open_scores(struct inputs *in, int64_t b, int64_t h, int64_t i)
{
    const struct fcl_problem *p = &in->problem;
    const struct fcl_reference *r = in->reference;
    int64_t strides[4];
    in->bias_first =
        open_tensor(FCL_LAYOUT_BHSD, &r->bias, p->heads_q, p->q_len, p->k_len, b, h, i, strides);
    in->bias_step = strides[3];
    in->visible_first =
        open_tensor(FCL_LAYOUT_BHSD, &r->visible, p->heads_q, p->q_len, p->k_len, b, h, i, strides);
    in->visible_step = strides[3];
}

// What is added to the score of a key; -INFINITY: it is hidden.
static float added_to(const struct inputs *in, int64_t key)
{
    const struct fcl_reference *r = in->reference;
    const unsigned char *visible = r->visible.data;
    if (in->problem.visible && !visible[in->visible_first + key * in->visible_step])
        return -INFINITY;
    return in->problem.bias
               ? fcl_element_load(r->bias.data, r->bias.dtype, in->bias_first + key * in->bias_step)
               : 0;
}

// Lists the keys that query i sees; 0 when there is no memory.
static int list_keys(struct inputs *in, int64_t i)
{
    int64_t first;
    const int64_t count = fcl_reference_visible(&in->problem, i, &first);
    in->keys = malloc((size_t)fcl_max(count, 1) * sizeof *in->keys);
    for (int64_t j = first; in->keys != NULL && j < first + count; j++)
        if ((!in->problem.page ||
             fcl_sequences_page(&in->problem, in->reference->sequences, in->sequence, j) >= 0) &&
            added_to(in, j) != -INFINITY)
            in->keys[in->visible++] = j;
    return in->keys != NULL;
}

// Whether everything is there that is added to scores.
static int has_added(const struct fcl_reference *reference, const struct fcl_problem *problem)
{
    return (!problem->sink || reference->sinks != NULL) &&
           (problem->alibi != FCL_ALIBI_GIVEN || reference->slopes != NULL) &&
           (!problem->bias || problem->k_len == 0 ||
            (reference->bias.data != NULL &&
             reference->bias.dtype == fcl_bias_dtype(problem->bias))) &&
           (!problem->visible || problem->k_len == 0 || reference->visible.data != NULL);
}

static int are_usable(const struct fcl_reference *reference, const struct fcl_problem *problem,
                      int64_t visible, const struct fcl_reference_row *row)
{
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
    free(in->sizes);
    free(in->keys);
}

static void find_numbers(struct inputs *in, int64_t h, int64_t i)
{
    const struct fcl_problem *p = &in->problem;
    const struct fcl_reference *r = in->reference;
    in->scale = fcl_reference_scale(r->scale, p->head_dim_qk);
    in->sink = p->sink ? (double)r->sinks[h] : -INFINITY;
    in->softcap = r->softcap != 0 ? r->softcap : (float)p->softcap;
    in->place = i + fcl_problem_shift(p, p->q_len, p->k_len);
    if (p->alibi)
        in->slope = p->alibi == FCL_ALIBI_GIVEN ? (double)r->slopes[h] : alibi_slope(h, p->heads_q);
}

// On OK, close_inputs is due.
static enum fcl_status open_inputs(const struct fcl_reference *reference, int64_t b, int64_t h,
                                   int64_t i, const struct fcl_reference_row *row,
                                   struct inputs *in)
{
    *in = (struct inputs){.reference = reference, .sequence = b};
    if (reference == NULL || row == NULL ||
        fcl_problem_complete(reference->problem, &in->problem, NULL, 0) != FCL_OK)
        return FCL_INVALID_ARGUMENT;
    struct fcl_problem *p = &in->problem;
    struct fcl_sequence_rows rows;
    if (b < 0 || b >= p->batch || h < 0 || h >= p->heads_q || i < 0 ||
        fcl_sequences_rows(p, reference->sequences, b, &rows) != FCL_OK || i >= rows.q_len ||
        !has_added(reference, p))
        return FCL_INVALID_ARGUMENT;
    int64_t strides[4];
    open_tensors(in, &rows, b, h, strides);
    open_scores(in, b, h, i);
    p->q_len = rows.q_len;
    p->k_len = rows.k_len;
    if (!list_keys(in, i))
        return FCL_OUT_OF_MEMORY;
    if (!are_usable(reference, p, in->visible, row)) {
        close_inputs(in);
        return FCL_INVALID_ARGUMENT;
    }
    find_numbers(in, h, i);
    in->q = malloc((size_t)p->head_dim_qk * sizeof *in->q);
    in->line = malloc((size_t)fcl_max(p->head_dim_qk, p->head_dim_v) * sizeof *in->line);
    in->sums = calloc((size_t)p->head_dim_v, sizeof *in->sums);
    in->scores = malloc((size_t)fcl_max(in->visible, 1) * sizeof *in->scores);
    in->sizes = calloc((size_t)fcl_max(in->visible, 1), sizeof *in->sizes);
    if (in->q == NULL || in->line == NULL || in->sums == NULL || in->scores == NULL ||
        in->sizes == NULL) {
        close_inputs(in);
        return FCL_OUT_OF_MEMORY;
    }
    fcl_element_load_row(reference->q.data, p->dtype_q, in->q_first + i * strides[2], strides[3],
                         p->head_dim_qk, in->q);
    return FCL_OK;
}

// Where visible key number j lies in a tensor.
static int64_t key_place(const struct inputs *in, int64_t first, const int64_t strides[4],
                         int64_t j)
{
    const struct fcl_sequences *sequences = in->reference->sequences;
    const int64_t key = in->keys[j];
    if (!in->problem.page)
        return first + key * strides[2];
    const int64_t size = sequences->page ? sequences->page : in->problem.page;
    return first + fcl_sequences_page(&in->problem, sequences, in->sequence, key) * strides[0] +
           key % size * strides[2];
}

static void load_k(const struct inputs *in, int64_t j)
{
    fcl_element_load_row(in->reference->k.data, in->problem.dtype_k,
                         key_place(in, in->k_first, in->k_strides, j), in->k_strides[3],
                         in->problem.head_dim_qk, in->line);
}

static void load_v(const struct inputs *in, int64_t j)
{
    fcl_element_load_row(in->reference->v.data, in->problem.dtype_v,
                         key_place(in, in->v_first, in->v_strides, j), in->v_strides[3],
                         in->problem.head_dim_v, in->line);
}

// Keys between where the query stands and visible key number j.
static int64_t distance(const struct inputs *in, int64_t j)
{
    return llabs(in->place - in->keys[j]);
}

static double exact_score(const struct inputs *in, int64_t j)
{
    double dot = 0, squares = 0;
    for (int d = 0; d < in->problem.head_dim_qk; d++) {
        const double product = (double)in->q[d] * (double)in->line[d];
        dot += product;
        squares += product * product;
    }
    in->sizes[j] = fabs((double)in->scale) * sqrt(squares);
    const double s = (double)in->scale * dot, cap = (double)in->softcap;
    return (cap > 0 ? cap * tanh(s / cap) : s) + (double)added_to(in, in->keys[j]) -
           in->slope * (double)distance(in, j);
}

static double float_score(const struct inputs *in, int64_t j)
{
    float dot = 0;
    for (int d = 0; d < in->problem.head_dim_qk; d++)
        dot += in->q[d] * in->line[d];
    const float s = in->scale * dot, cap = in->softcap;
    const float capped = cap > 0 ? cap * tanhf(s / cap) : s;
    return (double)(capped + added_to(in, in->keys[j]) - (float)in->slope * (float)distance(in, j));
}

// The largest |score| and size over the keys that matter.
static void find_limits(const struct inputs *in, double largest, struct fcl_reference_row *row)
{
    row->score_limit =
        in->sink >= largest - FCL_SCORE_REACH && isfinite(in->sink) ? fabs(in->sink) : 0;
    row->score_size = 0;
    for (int64_t j = 0; j < in->visible; j++) {
        if (!(in->scores[j] >= largest - FCL_SCORE_REACH))
            continue;
        if (fabs(in->scores[j]) > row->score_limit)
            row->score_limit = fabs(in->scores[j]);
        if (in->sizes[j] > row->score_size)
            row->score_size = in->sizes[j];
    }
}

// Fills in->scores and the row's limits; returns the maximum, the sink included. A NaN is in no
// maximum; the exponentials carry it on.
static double fill_scores(const struct inputs *in, double (*score)(const struct inputs *, int64_t),
                          struct fcl_reference_row *row)
{
    double largest = -INFINITY; // of the keys: O is made of them, however large the sink
    for (int64_t j = 0; j < in->visible; j++) {
        load_k(in, j);
        double s = score(in, j);
        if (s < FCL_SCORE_FLOOR)
            s = FCL_SCORE_FLOOR;
        if (s > largest)
            largest = s;
        in->scores[j] = s;
    }
    find_limits(in, largest, row);
    return largest > in->sink ? largest : in->sink;
}

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
    row->score_size = 0;
}

enum fcl_status fcl_reference_dense(const struct fcl_reference *reference, int64_t b, int64_t h,
                                    int64_t i, struct fcl_reference_row *row)
{
    struct inputs in;
    const enum fcl_status status = open_inputs(reference, b, h, i, row, &in);
    if (status != FCL_OK)
        return status;
    clear_row(&in, row);
    if (in.visible > 0) {
        const double largest = fill_scores(&in, exact_score, row);
        double sum = in.sink > -INFINITY ? exp(in.sink - largest) : 0;
        for (int64_t j = 0; j < in.visible; j++) {
            in.scores[j] = exp(in.scores[j] - largest);
            sum += in.scores[j];
        }
        row->lse = largest + log(sum);
        const int dims_o = row->o != NULL ? in.problem.head_dim_v : 0;
        const int dims_magnitude = row->magnitude != NULL ? in.problem.head_dim_v : 0;
        for (int64_t j = 0; j < in.visible && (dims_o > 0 || dims_magnitude > 0); j++) {
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
    if (in.visible > 0) {
        const float largest = (float)fill_scores(&in, float_score, row);
        float sum = in.sink > -INFINITY ? flush(expf((float)in.sink - largest)) : 0;
        for (int64_t j = 0; j < in.visible; j++) {
            const float p = flush(expf((float)in.scores[j] - largest));
            sum += p;
            in.scores[j] = (double)fcl_element_round(in.problem.dtype_v, p);
        }
        row->lse = (double)(largest + logf(sum));
        const int dims_o = row->o != NULL ? in.problem.head_dim_v : 0;
        const int dims_magnitude = row->magnitude != NULL ? in.problem.head_dim_v : 0;
        for (int64_t j = 0; j < in.visible && (dims_o > 0 || dims_magnitude > 0); j++) {
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
