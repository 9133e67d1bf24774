// Each tile function alone against plain C, in several configurations of both families. Scores,
// products and stores run on small whole numbers and powers of two, so that every right answer is
// exact whatever the order of the sums, and is compared bit by bit.
#include "cmocka_all.h"
#include <math.h>
#include <stdio.h>

#include "core/element.h"
#include "kernels.h"
#include "noise.h"

#define HIDDEN (-3.402823466e38f)
#define TAIL 4096        // bytes behind a tensor that are poisoned too
#define FLUSHED 0x1p-125 // numbers that may become 0

// What is tried: all types, masks, ways to visit blocks; micro tiles and chunks that do not divide.
static const struct test_kernels_row rows[] = {
    {"fwd b2 h4/2 q37 k45 d20/24 f32 none", "generic_m16n16w64r4d16"},
    {"fwd b2 h4/2 q37 k45 d20/10 f16 causal-br strided", "generic_m16n16w16r4d20p2"},
    {"fwd b1 h4/2 q37 k45 d18/24 bf16 causal-tl guard-v", "generic_m32n32w64r8d7"},
    {"fwd b2 h2 q45 k37 d5/3 q:f16 k:bf16 v:f32 o:f16 causal-br guard-v strided",
     "generic_m8n16w16r4d5x1"},
    {"fwd b1 h2/1 q9 k70 d33/36 f32 causal-br lse", "generic_m16n32w64r4d32p2x2"},
    {"fwd b2 h2 q37 k45 d24/20 f16 causal-br guard-v", "generic_m16n16w32r8d24h8"},
    {"fwd h2 q37 k45 d32 f32 none", "generic_m32n32w32r8d32h16"},
    {"fwd b2 h4/2 q37 k45 d20/10 f32 none", "vector_m8n32l4k4c4"},
    {"fwd b2 h4/2 q37 k45 d20/10 f32 causal-br guard-v", "vector_m32n32l16k4c4"},
    {"fwd b2 h4/2 q37 k70 d20/24 f16 causal-br strided", "vector_m16n32l8k4c5p2"},
    {"fwd b1 h4/2 q70 k45 d18/11 bf16 causal-tl guard-v", "vector_m32n32l16k8c4x1"},
    {"fwd b1 h2/1 q9 k70 d3/12 f32 causal-br strided guard-v", "vector_m4n32l4k2c8p3x2"},
    {"fwd b2 h2 q45 k37 d18/7 q:f16 k:bf16 v:f32 o:bf16 none", "vector_m8n32l8k8c2"},
    {"fwd b2 h4/2 q37 k45 d20/10 f32 causal-br guard-v", "row_m4n32l8k2c1"},
    {"fwd b1 h4/2 q37 k45 d18/24 f16 causal-tl strided", "row_m2n32l4k4c3p2"},
    {"fwd b1 h2/1 q9 k70 d33/36 bf16 none lse", "row_m8n48l16k1c1"},
};

static struct test_opencl opencl;
static struct test_kernels cases[FCL_COUNT(rows)];
static size_t case_count;

// ---- judging

// Demands equal elements; any NaN equals any other.
static void demand_equal(const struct test_kernels *k, const char *what, enum fcl_dtype dtype,
                         const void *actual, const void *expected, size_t size)
{
    const size_t element = fcl_dtype_size(dtype);
    for (size_t i = 0; i < size / element; i++) {
        if (!memcmp((const char *)actual + i * element, (const char *)expected + i * element,
                    element))
            continue;
        const float x = fcl_element_load(actual, dtype, (int64_t)i);
        const float y = fcl_element_load(expected, dtype, (int64_t)i);
        if (!isnan(x) || !isnan(y))
            fail_msg("%s: %s[%zu] is %.9g, expected is %.9g", k->name, what, i, (double)x,
                     (double)y);
    }
}

static void demand_near(const struct test_kernels *k, const char *what, size_t index, float actual,
                        double expected, double relative)
{
    if (!(fabs((double)actual - expected) <= relative * expected + FLUSHED))
        fail_msg("%s: %s[%zu] is %.9g, expected is %.9g", k->name, what, index, (double)actual,
                 expected);
}

// ---- inputs

static void fill(struct test_tensor *t, int low, int high, uint64_t seed)
{
    for (int64_t b = 0; b < t->extents[0]; b++)
        for (int64_t h = 0; h < t->extents[1]; h++)
            for (int64_t i = 0; i < t->extents[2]; i++)
                for (int64_t d = 0; d < t->extents[3]; d++) {
                    const int span = high - low + 1;
                    const int x = low + (int)(test_random(&seed) % (uint32_t)span);
                    test_tensor_set(t, b, h, i, d, (float)x);
                }
}

// Rows and columns that stand apart, NaN between them and behind each head.
static void spread(struct test_tensor *t, int strided)
{
    const int64_t column = strided ? 3 : 1;
    const int64_t row = (t->extents[3] * column + 8) / 8 * 8;
    const int64_t head = (t->extents[2] + 64) * row;
    const int64_t strides[4] = {t->extents[1] * head + 8, head, row, column};
    test_tensor_lay(t, strides, 256);
}

// Small whole numbers. The last key head has only negative keys and its queries are positive: a
// score of 0 that should be hidden is then the maximum.
static void prepare(const struct test_kernels *k, struct test_attention *a)
{
    char text[256];
    fcl_problem_format(&k->problem, text, sizeof text);
    test_attention_init(a, text);
    const struct fcl_problem *p = &a->problem;
    fill(&a->q, -3, 3, 1);
    fill(&a->k, -3, 3, 2);
    fill(&a->v, -4, 4, 3);
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t i = 0; i < p->q_len || i < p->k_len; i++)
            for (int64_t d = 0; d < p->head_dim_qk; d++) {
                if (i < p->k_len)
                    test_tensor_set(&a->k, b, p->heads_kv - 1, i, d, -(float)(1 + (i + d) % 3));
                if (i < p->q_len)
                    test_tensor_set(&a->q, b, p->heads_q - 1, i, d, (float)(1 + i % 2));
            }
    spread(&a->q, p->strided);
    spread(&a->k, p->strided);
    spread(&a->v, p->strided);
    spread(&a->o, p->strided);
    a->scale = 0.375f;
}

static float score_of(const struct test_attention *a, int64_t b, int64_t h, int64_t i, int64_t j)
{
    const struct fcl_problem *p = &a->problem;
    float sum = 0.0f;
    if (!test_is_visible(p, i, j))
        return HIDDEN;
    for (int64_t d = 0; d < p->head_dim_qk; d++)
        sum += a->scale * test_tensor_get(&a->q, b, h, i, d) *
               test_tensor_get(&a->k, b, h / (p->heads_q / p->heads_kv), j, d);
    return sum;
}

// ---- scores, masks, maxima, probabilities, sums

struct scores {
    const struct test_kernels *k;
    struct test_attention a;
    struct fcl_kernel_args args;
    size_t matrix, values; // floats
    int blocks, groups;    // key blocks; work-groups
    float *scores, *powers, *tops, *sums;
};

// One more than the last key that some row from `first` on (a block of rows) has to look at.
static int64_t keys_end(const struct scores *x, int64_t first)
{
    const struct fcl_problem *p = &x->k->problem;
    int64_t end = 0;
    if (p->mask == FCL_MASK_NONE || x->k->config.visit == 2)
        return p->k_len;
    for (int64_t i = first; i < first + x->k->config.block_m && i < p->q_len; i++)
        for (int64_t j = end; j < p->k_len; j++)
            if (test_is_visible(p, i, j))
                end = j + 1;
    return end;
}

static void run_scores(struct scores *x)
{
    struct test_argument arguments[] = {
        {TEST_INPUT, x->a.q.data, x->a.q.bytes},
        {TEST_INPUT, x->a.k.data, x->a.k.bytes},
        {TEST_OUTPUT, x->scores, x->matrix * sizeof(float)},
        {TEST_OUTPUT, x->powers, x->matrix * sizeof(float)},
        {TEST_OUTPUT, x->tops, x->values * sizeof(float)},
        {TEST_OUTPUT, x->sums, x->values * sizeof(float)},
        {TEST_VALUE, &x->blocks, sizeof x->blocks},
        {TEST_VALUE, &x->args, sizeof x->args},
        {0},
    };
    test_kernels_run(x->k, "test_scores", (size_t)x->groups, test_kernels_items(x->k), arguments);
}

// Row i of head h and the keys [key, end) that the group `group` took.
static void check_scores_row(const struct scores *x, float *expected, int64_t b, int64_t h,
                             int64_t i, int64_t key, int64_t end, size_t group)
{
    const struct fcl_problem *p = &x->k->problem;
    const size_t at = (size_t)((b * p->heads_q + h) * p->k_len * x->args.score_pitch + i);
    const size_t pitch = (size_t)x->args.score_pitch;
    const size_t value = group * (size_t)x->k->config.block_m + (size_t)i % x->k->config.block_m;
    float top = HIDDEN;
    double sum = 0;
    for (int64_t j = key; j < end; j++) {
        expected[at + (size_t)j * pitch] = score_of(&x->a, b, h, i, j);
        top = fmaxf(top, expected[at + (size_t)j * pitch]);
    }
    if (!(x->tops[value] == top))
        fail_msg("%s: the maximum of row %d from key %d on is %g, expected is %g", x->k->name,
                 (int)i, (int)key, (double)x->tops[value], (double)top);
    for (int64_t j = key; j < end; j++) {
        const float score = expected[at + (size_t)j * pitch];
        const double power = score == HIDDEN ? 0 : exp2((double)score - (double)top);
        demand_near(x->k, "powers", at + (size_t)j * pitch, x->powers[at + (size_t)j * pitch],
                    power, 4e-7);
        assert_false(score == HIDDEN && x->powers[at + (size_t)j * pitch] != 0.0f);
        sum += power;
    }
    demand_near(x->k, "sums", value, x->sums[value], sum, 1e-6);
}

// All rows of one head; `number` is its first query block in the order of visits.
static void check_scores_head(const struct scores *x, float *expected, int64_t b, int64_t h)
{
    const struct fcl_problem *p = &x->k->problem;
    const int64_t block_m = x->k->config.block_m, block_n = x->k->config.block_n;
    const int64_t row_blocks = x->args.score_pitch / block_m;
    for (int64_t i = 0; i < p->q_len; i++) {
        const int64_t end = keys_end(x, i / block_m * block_m);
        const int64_t visit = p->mask == FCL_MASK_NONE ? i / block_m : row_blocks - 1 - i / block_m;
        const int64_t work = (b * p->heads_q + h) * row_blocks + visit;
        for (int64_t key = 0; key < end || key == 0; key += block_n)
            check_scores_row(x, expected, b, h, i, key, end < key + block_n ? end : key + block_n,
                             (size_t)(work * x->blocks + key / block_n));
    }
}

// Rows behind the last and blocks that nobody sees: whatever is there, it is copied to `expected`.
static void ignore_padding(const struct scores *x, float *expected)
{
    const size_t pitch = (size_t)x->args.score_pitch;
    for (size_t i = 0; i < x->matrix; i++)
        if (i % pitch >= (size_t)x->k->problem.q_len)
            expected[i] = x->scores[i];
}

static void check_scores(const struct test_kernels *k)
{
    struct scores x = {.k = k};
    prepare(k, &x.a);
    const struct fcl_problem *p = &k->problem;
    const int64_t heads = p->batch * p->heads_q;
    x.args = test_kernel_args(k, &x.a);
    x.blocks = (int)fcl_div_up(p->k_len, k->config.block_n);
    x.groups = (int)(heads * x.args.score_pitch / k->config.block_m) * x.blocks;
    x.matrix = (size_t)(heads * p->k_len * x.args.score_pitch);
    x.values = (size_t)x.groups * (size_t)k->config.block_m;
    x.scores = test_poisoned(x.matrix * sizeof(float));
    x.powers = test_poisoned(x.matrix * sizeof(float));
    x.tops = test_poisoned(x.values * sizeof(float));
    x.sums = test_poisoned(x.values * sizeof(float));
    float *expected = test_poisoned(x.matrix * sizeof(float));
    run_scores(&x);
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t h = 0; h < p->heads_q; h++)
            check_scores_head(&x, expected, b, h);
    ignore_padding(&x, expected);
    demand_equal(k, "scores", FCL_F32, x.scores, expected, x.matrix * sizeof(float));
    float *memory[] = {x.scores, x.powers, x.tops, x.sums, expected};
    for (size_t i = 0; i < FCL_COUNT(memory); i++)
        free(memory[i]);
    test_attention_free(&x.a);
}

static void scores_are_masked_products(void **state)
{
    (void)state;
    for (size_t i = 0; i < case_count; i++)
        check_scores(&cases[i]);
}

// ---- the score matrix in memory

#define RANGES 4

struct matrix {
    const struct test_kernels *k;
    enum fcl_dtype dtype;
    cl_int ranges[RANGES][2], rows; // first key and count; rows that are stored
    cl_long start, pitch;
    size_t elements, values;
    float fill, *origins, *tops, *powers, *sums;
    void *source, *copy;
};

static void make_matrix(struct matrix *m, const struct test_kernels *k, float fill_value)
{
    const int block_n = k->config.block_n, block_m = k->config.block_m;
    const cl_int ranges[RANGES][2] = {
        {0, block_n}, {block_n, block_n - 3}, {2 * block_n, 1}, {2 * block_n + 1, 0}};
    *m = (struct matrix){.k = k, .dtype = k->problem.dtype_q, .fill = fill_value};
    memcpy(m->ranges, ranges, sizeof ranges);
    m->rows = block_m - 3;
    m->start = 5;
    m->pitch = block_m + 3;
    m->elements = (size_t)(m->start + (2 * block_n + 2) * m->pitch);
    m->values = (size_t)(RANGES * block_m);
    m->source = test_poisoned(m->elements * sizeof(float));
    m->copy = test_poisoned(m->elements * sizeof(float));
    m->powers = test_poisoned(m->elements * sizeof(float));
    m->origins = test_poisoned(m->values * sizeof(float));
    m->tops = test_poisoned(m->values * sizeof(float));
    m->sums = test_poisoned(m->values * sizeof(float));
    for (size_t i = 0; i < m->elements; i++)
        fcl_element_store(m->source, m->dtype, (int64_t)i, (float)((int)(i * 37 % 80) - 70) / 2);
    for (size_t i = 0; i < m->values; i++)
        m->origins[i] = 5.25f + (float)(i % 4);
}

static void free_matrix(struct matrix *m)
{
    void *memory[] = {m->source, m->copy, m->powers, m->origins, m->tops, m->sums};
    for (size_t i = 0; i < FCL_COUNT(memory); i++)
        free(memory[i]);
}

static void run_matrix(struct matrix *m)
{
    const size_t bytes = m->elements * sizeof(float), value_bytes = m->values * sizeof(float);
    const struct test_argument arguments[] = {
        {TEST_INPUT, m->source, bytes},           {TEST_INPUT, m->ranges, sizeof m->ranges},
        {TEST_INPUT, m->origins, value_bytes},    {TEST_OUTPUT, m->copy, bytes},
        {TEST_OUTPUT, m->tops, value_bytes},      {TEST_OUTPUT, m->powers, bytes},
        {TEST_OUTPUT, m->sums, value_bytes},      {TEST_VALUE, &m->fill, sizeof m->fill},
        {TEST_VALUE, &m->start, sizeof m->start}, {TEST_VALUE, &m->pitch, sizeof m->pitch},
        {TEST_VALUE, &m->rows, sizeof m->rows},   {0},
    };
    test_kernels_run(m->k, "test_matrix", RANGES, test_kernels_items(m->k), arguments);
}

// One row of one range; what is right goes to the `expected` images.
static void expect_matrix_row(const struct matrix *m, int range, int row, void *copy, float *tops)
{
    const int value = range * m->k->config.block_m + row;
    const int end = m->ranges[range][0] + m->ranges[range][1];
    float top = m->fill;
    double sum = 0;
    for (int key = m->ranges[range][0]; key < end; key++) {
        const int64_t at = m->start + key * m->pitch + row;
        const float score = fcl_element_load(m->source, m->dtype, at);
        const double power = exp2((double)score - (double)m->origins[value]);
        fcl_element_store(copy, m->dtype, at, score);
        demand_near(m->k, "powers", (size_t)at, m->powers[at], power, 4e-7);
        top = fmaxf(top, score);
        sum += power;
    }
    if (row >= m->rows)
        return;
    tops[value] = top;
    if (m->fill == HIDDEN)
        demand_near(m->k, "sums", (size_t)value, m->sums[value], sum, 1e-6);
    else
        assert_true(m->sums[value] != 0.0f || sum == 0);
}

static void check_matrix(const struct test_kernels *k, float fill_value)
{
    struct matrix m;
    make_matrix(&m, k, fill_value);
    void *copy = test_poisoned(m.elements * sizeof(float));
    float *tops = test_poisoned(m.values * sizeof(float));
    run_matrix(&m);
    for (int range = 0; range < RANGES; range++)
        for (int row = 0; row < k->config.block_m; row++)
            expect_matrix_row(&m, range, row, copy, tops);
    demand_equal(k, "copy", m.dtype, m.copy, copy, m.elements * sizeof(float));
    demand_equal(k, "tops", FCL_F32, m.tops, tops, m.values * sizeof(float));
    free(copy);
    free(tops);
    free_matrix(&m);
}

static void matrices_are_loaded_and_stored(void **state)
{
    (void)state;
    for (size_t i = 0; i < case_count; i++) {
        check_matrix(&cases[i], HIDDEN);
        check_matrix(&cases[i], 0.0f);
    }
}

// ---- products and outputs

struct product {
    const struct test_kernels *k;
    struct test_attention a;
    struct fcl_kernel_args args;
    cl_int steps, heads;
    size_t elements, factor_count, row_count; // of P; numbers
    void *p, *o;
    size_t o_size;
    float *factors, *rows;
};

static int64_t p_index(const struct product *x, int64_t head, int64_t i, int64_t j)
{
    return (head * x->k->problem.k_len + j) * x->args.score_pitch + i;
}

static float factor_of(const struct product *x, int64_t step, int64_t head, int64_t i)
{
    return x->factors[(step * x->heads + head) * x->args.score_pitch + i];
}

// Probabilities 0, 1 and 2; some values that are not finite where a guarded tile may meet them.
static void make_product(struct product *x, const struct test_kernels *k)
{
    static const float between[] = {0.5f, 1.0f, 1.5f}, last[] = {1.0f, 1.0625f, 0.8125f, 3.125f};
    uint64_t seed = 5;
    *x = (struct product){.k = k};
    prepare(k, &x->a);
    const struct fcl_problem *p = &k->problem;
    x->args = test_kernel_args(k, &x->a);
    x->heads = (cl_int)(p->batch * p->heads_q);
    x->steps = (cl_int)fcl_div_up(p->k_len, k->config.block_n);
    x->elements = (size_t)(x->heads * p->k_len * x->args.score_pitch);
    x->row_count = (size_t)(x->heads * x->args.score_pitch);
    x->factor_count = (size_t)(x->steps + 1) * x->row_count;
    x->factors = test_poisoned(x->factor_count * sizeof(float));
    x->rows = test_poisoned(x->row_count * sizeof(float));
    x->p = test_poisoned(x->elements * sizeof(float));
    x->o_size = x->a.o.bytes + TAIL;
    x->o = test_poisoned(x->o_size);
    for (size_t i = 0; i < x->elements; i++)
        fcl_element_store(x->p, p->dtype_q, (int64_t)i, (float)(test_random(&seed) % 3));
    for (size_t i = 0; i < x->factor_count; i++)
        x->factors[i] = i < (size_t)x->steps * x->row_count ? between[test_random(&seed) % 3]
                                                            : last[test_random(&seed) % 4];
    for (int64_t b = 0; p->guard_v && b < p->batch; b++)
        for (int64_t d = 0; d < p->head_dim_v; d++) {
            test_tensor_set(&x->a.v, b, 0, 7, d, NAN);
            test_tensor_set(&x->a.v, b, 0, p->k_len - 1, d, d % 2 ? -INFINITY : INFINITY);
        }
}

static void free_product(struct product *x)
{
    void *memory[] = {x->p, x->o, x->factors, x->rows};
    for (size_t i = 0; i < FCL_COUNT(memory); i++)
        free(memory[i]);
    test_attention_free(&x->a);
}

static void run_product(struct product *x)
{
    const size_t v_size = x->a.v.bytes + TAIL; // rows of NaN behind the last head, too
    unsigned char *v = test_poisoned(v_size);
    memcpy(v, x->a.v.data, x->a.v.bytes);
    memset(v + x->a.v.bytes, 0xff, TAIL);
    const struct fcl_problem *p = &x->k->problem;
    const struct test_argument arguments[] = {
        {TEST_INPUT, x->p, x->elements * sizeof(float)},
        {TEST_INPUT, v, v_size},
        {TEST_OUTPUT, x->o, x->o_size},
        {TEST_INPUT, x->factors, x->factor_count * sizeof(float)},
        {TEST_OUTPUT, x->rows, x->row_count * sizeof(float)},
        {TEST_VALUE, &x->steps, sizeof x->steps},
        {TEST_VALUE, &x->heads, sizeof x->heads},
        {TEST_VALUE, &x->args, sizeof x->args},
        {0},
    };
    const int64_t row_blocks = fcl_div_up(p->q_len, x->k->config.block_m);
    test_kernels_run(x->k, "test_product", (size_t)(x->heads * row_blocks * x->k->config.dv_split),
                     test_kernels_items(x->k), arguments);
    free(v);
}

// Output (i, d) of a head, by definition; exact in double and in float.
static float output_of(const struct product *x, int64_t b, int64_t h, int64_t i, int64_t d)
{
    const struct fcl_problem *p = &x->k->problem;
    const int64_t head = b * p->heads_q + h, kv = h / (p->heads_q / p->heads_kv);
    double sum = 0;
    for (int64_t step = x->steps; step-- > 0;) {
        const int64_t first = step * x->k->config.block_n, end = first + x->k->config.block_n;
        sum *= (double)factor_of(x, step, head, i);
        for (int64_t j = first; j < end && j < p->k_len; j++) {
            const double weight =
                (double)fcl_element_load(x->p, p->dtype_q, p_index(x, head, i, j));
            if (weight != 0 || !p->guard_v)
                sum += weight * (double)test_tensor_get(&x->a.v, b, kv, j, d);
        }
    }
    return (float)(sum * (double)factor_of(x, x->steps, head, i));
}

static void check_product(const struct test_kernels *k, int no_steps)
{
    struct product x;
    make_product(&x, k);
    if (no_steps) { // an output that was only cleared
        x.steps = 0;
        for (size_t i = 0; i < x.factor_count; i++)
            x.factors[i] = 3.0f;
    }
    const struct fcl_problem *p = &k->problem;
    unsigned char *expected = test_poisoned(x.o_size);
    struct test_tensor o = x.a.o;
    o.data = expected;
    float *expected_rows = test_poisoned(x.row_count * sizeof(float));
    run_product(&x);
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t h = 0; h < p->heads_q; h++)
            for (int64_t i = 0; i < p->q_len; i++) {
                const int64_t head = b * p->heads_q + h;
                expected_rows[head * x.args.score_pitch + i] = factor_of(&x, x.steps, head, i);
                for (int64_t d = 0; d < p->head_dim_v; d++)
                    test_tensor_set(&o, b, h, i, d, output_of(&x, b, h, i, d));
            }
    demand_equal(k, "o", p->dtype_o, x.o, expected, x.o_size);
    demand_equal(k, "rows", FCL_F32, x.rows, expected_rows, x.row_count * sizeof(float));
    free(expected);
    free(expected_rows);
    free_product(&x);
}

static void products_are_rescaled_and_stored(void **state)
{
    (void)state;
    for (size_t i = 0; i < case_count; i++) {
        check_product(&cases[i], 0);
        check_product(&cases[i], 1);
    }
}

// ---- exponential

#define POWERS 8192

static void check_exp2(const struct test_kernels *k)
{
    static const uint32_t nan_bits[] = {0x7fc00000, 0x7fc00001, 0x7f800001, 0xffffffff};
    static const float far_below[] = {-200.0f, -1e4f, -1e30f, HIDDEN, -INFINITY, -160.5f};
    float *x = test_poisoned(POWERS * sizeof(float)), *y = test_poisoned(POWERS * sizeof(float));
    const size_t nans = FCL_COUNT(nan_bits), far = nans + FCL_COUNT(far_below);
    memcpy(x, nan_bits, sizeof nan_bits);
    memcpy(x + nans, far_below, sizeof far_below);
    for (size_t i = far; i < POWERS; i++)
        x[i] = -200.0f * (float)(i - far) / (float)(POWERS - far);
    const struct test_argument arguments[] = {
        {TEST_INPUT, x, POWERS * sizeof *x}, {TEST_OUTPUT, y, POWERS * sizeof *y}, {0}};
    test_kernels_run(k, "test_exp2", POWERS / (size_t)test_kernels_lanes(k) / 64, 64, arguments);
    for (size_t i = 0; i < POWERS; i++) {
        const int right = i < nans ? isnan(y[i]) : i < far ? y[i] == 0.0f : x[i] || y[i] == 1.0f;
        if (!right)
            fail_msg("%s: 2^%g is %g", k->name, (double)x[i], (double)y[i]);
        if (i >= far)
            demand_near(k, "y", i, y[i], exp2((double)x[i]), 4e-7);
    }
    free(x);
    free(y);
}

static void powers_of_two_are_accurate(void **state)
{
    (void)state;
    for (size_t i = 0; i < case_count; i++)
        check_exp2(&cases[i]);
}

// ---- local memory

// The kernel declares the layout that the host computed, and nothing else.
static void local_memory_is_as_computed(void **state)
{
    (void)state;
    for (size_t i = 0; i < case_count; i++) {
        const struct test_kernels *k = &cases[i];
        const size_t bytes = fcl_config_local_bytes(&k->config, &k->problem);
        const uint64_t reported = k->program.local_bytes;
        assert_int_equal(bytes == 0, k->config.family != FCL_FAMILY_GENERIC);
        if (bytes && (reported < bytes || reported > bytes + 64)) // a driver may align it
            fail_msg("%s: %llu bytes of local memory reported, %zu computed", k->name,
                     (unsigned long long)reported, bytes);
    }
}

// ---- set-up

static int set_up(void **state)
{
    (void)state;
    case_count = test_kernels_build(cases, &opencl, rows, FCL_COUNT(rows), getenv("FCL_TEST_DATA"),
                                    "device/tile_functions.cl");
    return case_count == 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_kernels_free(cases, case_count);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(powers_of_two_are_accurate),
        cmocka_unit_test(scores_are_masked_products),
        cmocka_unit_test(matrices_are_loaded_and_stored),
        cmocka_unit_test(products_are_rescaled_and_stored),
        cmocka_unit_test(local_memory_is_as_computed),
    };
    if (!getenv("FCL_TEST_DATA")) {
        fprintf(stderr, "FCL_TEST_DATA is not set: the folder of all tests\n");
        return 2;
    }
    if (!test_opencl_open(&opencl, NULL))
        return 77;
    const int failed = cmocka_run_group_tests_name("tile", tests, set_up, tear_down);
    test_opencl_close(&opencl);
    return failed;
}
