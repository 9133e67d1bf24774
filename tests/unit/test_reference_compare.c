// The judge itself: right results pass, each kind of fault is flagged, and the numbers that it
// reports are those of the worst row.
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>

#include <flashcl/tune.h>

#include "attention/reference.h"
#include "core/common.h"
#include "core/element.h"
#include "noise.h"

// A problem with inputs in their types, and a result.
struct fixture {
    struct fcl_problem problem;
    float *q, *k, *v; // large enough for every type
    float *o;
    float *lse;
    struct fcl_reference reference;
};

// What a kernel may get wrong.
enum fault {
    RIGHT,
    NO_RESCALE,    // the accumulator stays relative to the old maximum
    DROPPED_KEY,   // a key in the middle of each row
    DROPPED_TAIL,  // the keys behind the last whole block
    NEIGHBOUR_KEY, // one key too many: causality off by one
    SWAPPED_HEAD,  // h % heads_kv in place of h / group
    WRONG_SCALE,   // off by one part in 64
    HALF_SUM,      // the accumulator in f16
    FAULTS
};

static float *make_tensor(enum fcl_dtype dtype, int64_t rows, int dim, uint64_t *seed)
{
    const size_t count = (size_t)(rows * dim);
    float *numbers = malloc((count + 1) * sizeof *numbers);
    float *data = malloc((count + 1) * sizeof *data);
    test_fill_unbalanced(numbers, rows, dim, 2, seed);
    for (size_t i = 0; i < count; i++)
        fcl_element_store(data, dtype, (int64_t)i, numbers[i]);
    free(numbers);
    return data;
}

static void open_fixture(struct fixture *f, const char *text)
{
    char reason[256] = "";
    if (fcl_problem_parse(text, &f->problem, reason, sizeof reason) != FCL_OK)
        fail_msg("%s: %s", text, reason);
    const struct fcl_problem *p = &f->problem;
    const int64_t rows_q = p->batch * p->heads_q * p->q_len;
    const int64_t rows_k = p->batch * p->heads_kv * p->k_len;
    uint64_t seed = 11;
    f->q = make_tensor(p->dtype_q, rows_q, p->head_dim_qk, &seed);
    f->k = make_tensor(p->dtype_k, rows_k, p->head_dim_qk, &seed);
    f->v = make_tensor(p->dtype_v, rows_k, p->head_dim_v, &seed);
    f->o = calloc((size_t)(rows_q * p->head_dim_v), sizeof *f->o);
    f->lse = calloc((size_t)rows_q, sizeof *f->lse);
    f->reference = (struct fcl_reference){.problem = p,
                                          .q = {.data = f->q, .dtype = p->dtype_q},
                                          .k = {.data = f->k, .dtype = p->dtype_k},
                                          .v = {.data = f->v, .dtype = p->dtype_v}};
}

static void close_fixture(struct fixture *f)
{
    free(f->q);
    free(f->k);
    free(f->v);
    free(f->o);
    free(f->lse);
}

#define BLOCK 32
#define DIM 64

static int is_dropped(enum fault fault, int64_t j, int64_t visible)
{
    return (fault == DROPPED_KEY && j == visible / 2) ||
           (fault == DROPPED_TAIL && j >= visible / BLOCK * BLOCK);
}

// One row as a fused kernel computes it, with a fault.
static void attend(struct fixture *f, enum fault fault, int64_t b, int64_t h, int64_t i)
{
    const struct fcl_problem *p = &f->problem;
    const int d_qk = p->head_dim_qk, d_v = p->head_dim_v;
    const int64_t key_head =
        fault == SWAPPED_HEAD ? h % p->heads_kv : h / (p->heads_q / p->heads_kv);
    const int64_t row_q = (b * p->heads_q + h) * p->q_len + i;
    const int64_t row_k = (b * p->heads_kv + key_head) * p->k_len;
    const int64_t extra = fault == NEIGHBOUR_KEY ? 2 : 1;
    const int64_t visible =
        p->mask == FCL_MASK_NONE ? p->k_len : fcl_max(0, fcl_min(i + extra, p->k_len));
    const float scale = (fault == WRONG_SCALE ? 65 / 64.0f : 1.0f) / sqrtf((float)d_qk);
    float q[DIM], k[DIM], v[DIM], acc[DIM] = {0}, m = -INFINITY, l = 0;
    fcl_element_load_row(f->q, p->dtype_q, row_q * d_qk, 1, d_qk, q);
    for (int64_t j = 0; j < visible; j++) {
        if (is_dropped(fault, j, visible))
            continue;
        fcl_element_load_row(f->k, p->dtype_k, (row_k + j) * d_qk, 1, d_qk, k);
        fcl_element_load_row(f->v, p->dtype_v, (row_k + j) * d_v, 1, d_v, v);
        float s = 0;
        for (int d = 0; d < d_qk; d++)
            s += q[d] * k[d];
        s *= scale;
        const float m_new = fmaxf(m, s), rescale = expf(m - m_new), e = expf(s - m_new);
        l = l * rescale + e;
        for (int d = 0; d < d_v; d++) {
            const float kept = fault == NO_RESCALE && j > 0 ? acc[d] : acc[d] * rescale;
            acc[d] = kept + fcl_element_round(p->dtype_v, e) * v[d];
            if (fault == HALF_SUM)
                acc[d] = fcl_element_round(FCL_F16, acc[d]);
        }
        m = m_new;
    }
    for (int d = 0; d < d_v; d++)
        fcl_element_store(f->o, p->dtype_o, row_q * d_v + d, l > 0 ? acc[d] / l : 0);
    f->lse[row_q] = m + logf(l);
}

static struct fcl_comparison compare_row(const struct fixture *f, int64_t b, int64_t h, int64_t i,
                                         int unfused)
{
    const struct fcl_problem *p = &f->problem;
    const int64_t row = (b * p->heads_q + h) * p->q_len + i;
    const char *o = (const char *)f->o + row * p->head_dim_v * (int64_t)fcl_dtype_size(p->dtype_o);
    struct fcl_comparison comparison = {0};
    assert_int_equal(
        fcl_reference_compare(&f->reference, b, h, i, o, 1, f->lse + row, unfused, &comparison),
        FCL_OK);
    return comparison;
}

// The worst ratio over all rows.
static double judge(struct fixture *f, enum fault fault)
{
    const struct fcl_problem *p = &f->problem;
    double ratio = 0;
    for (int64_t row = 0; row < p->batch * p->heads_q * p->q_len; row++) {
        const int64_t b = row / p->q_len / p->heads_q, h = row / p->q_len % p->heads_q;
        attend(f, fault, b, h, row % p->q_len);
        ratio = fmax(ratio, compare_row(f, b, h, row % p->q_len, 0).ratio);
    }
    return ratio;
}

static void right_results_pass_and_faults_do_not(void **state)
{
    (void)state;
    static const char *const types[] = {"f32", "f16", "bf16", "q:f16 k:f16 v:f16 o:f32",
                                        "q:f32 k:f32 v:f32 o:f16"};
    for (size_t t = 0; t < FCL_COUNT(types); t++) {
        char text[128];
        snprintf(text, sizeof text, "fwd b1 h4/2 q40 k200 d64 causal-tl %s", types[t]);
        struct fixture f;
        open_fixture(&f, text);
        for (int fault = RIGHT; fault < FAULTS; fault++) {
            if (fault == HALF_SUM && f.problem.dtype_o != FCL_F32)
                continue; // 40 keys are too few to tell
            const double ratio = judge(&f, (enum fault)fault);
            if (fault == RIGHT ? !(ratio <= 1) : !(ratio > 1))
                fail_msg("%s, fault %d: ratio %g", text, fault, ratio);
        }
        close_fixture(&f);
    }
}

// Terms of one sign: sums grow, and small terms are lost in a coarse one.
static void make_positive(struct fixture *f)
{
    const enum fcl_dtype dtype = f->problem.dtype_v;
    for (int64_t n = 0; n < f->problem.k_len * f->problem.head_dim_v; n++)
        fcl_element_store(f->v, dtype, n, fabsf(fcl_element_load(f->v, dtype, n)));
}

static void long_rows_pass_and_half_sums_do_not(void **state)
{
    (void)state;
    static const char *const types[] = {"f32", "f16", "bf16"};
    for (size_t t = 0; t < FCL_COUNT(types); t++) {
        char text[128];
        snprintf(text, sizeof text, "fwd q4 k4000 d16/64 %s", types[t]);
        struct fixture f;
        open_fixture(&f, text);
        make_positive(&f);
        const double right = judge(&f, RIGHT), half = judge(&f, HALF_SUM);
        if (!(right <= 1))
            fail_msg("%s: ratio %g", text, right);
        if (!(half > 1))
            fail_msg("%s: an f16 sum has ratio %g", text, half);
        close_fixture(&f);
    }
}

// The exact result rounded once to the output type is as right as can be.
static void exact_results_pass(void **state)
{
    (void)state;
    static const char *const types[] = {"f32", "f16", "bf16"};
    for (size_t t = 0; t < FCL_COUNT(types); t++) {
        char text[128];
        snprintf(text, sizeof text, "fwd h2 q5 k33 d16 %s", types[t]);
        struct fixture f;
        open_fixture(&f, text);
        for (int row = 0; row < 10; row++) {
            double o[16];
            struct fcl_reference_row exact = {.o = o};
            assert_int_equal(fcl_reference_dense(&f.reference, 0, row / 5, row % 5, &exact),
                             FCL_OK);
            for (int d = 0; d < 16; d++)
                fcl_element_store(f.o, f.problem.dtype_o, row * 16 + d, (float)o[d]);
            f.lse[row] = (float)exact.lse;
            const struct fcl_comparison c = compare_row(&f, 0, row / 5, row % 5, 0);
            assert_true(c.ratio <= 0.5);
            assert_int_equal(c.rows, 1);
        }
        close_fixture(&f);
    }
}

// ---- One key, one column: everything by hand --------------------------------------------------

struct single {
    struct fcl_problem problem;
    float q[2], k[2], v[2];
    struct fcl_reference reference;
};

static void open_single(struct single *s, const char *text, float q, float k, float v)
{
    *s = (struct single){.problem = {0}};
    assert_int_equal(fcl_problem_parse(text, &s->problem, NULL, 0), FCL_OK);
    fcl_element_store(s->q, s->problem.dtype_q, 0, q);
    fcl_element_store(s->k, s->problem.dtype_k, 0, k);
    fcl_element_store(s->v, s->problem.dtype_v, 0, v);
    s->reference = (struct fcl_reference){.problem = &s->problem,
                                          .q = {.data = s->q, .dtype = s->problem.dtype_q},
                                          .k = {.data = s->k, .dtype = s->problem.dtype_k},
                                          .v = {.data = s->v, .dtype = s->problem.dtype_v},
                                          .scale = 1};
}

// The comparison of one output and LSE (NULL: none).
static struct fcl_comparison compare_one(const struct single *s, float o, const float *lse,
                                         int unfused)
{
    float stored;
    fcl_element_store(&stored, s->problem.dtype_o, 0, o);
    struct fcl_comparison comparison = {0};
    assert_int_equal(
        fcl_reference_compare(&s->reference, 0, 0, 0, &stored, 1, lse, unfused, &comparison),
        FCL_OK);
    return comparison;
}

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.12g instead of %.12g", value, expected);
}

static void the_allowed_error_is_as_documented(void **state)
{
    (void)state;
    struct single s;
    // Score 3, O = V = 2: the model is exact, so 4 u + 8 x 2^-24 x 3 is allowed, relative to 2.
    open_single(&s, "fwd q1 k1 d1", 1.5f, 2, 2);
    const float off = 2 + 0x1p-20f;
    struct fcl_comparison c = compare_one(&s, off, NULL, 0);
    assert_near(c.ratio, 0x1p-21 / (28 * 0x1p-24));
    assert_near(c.error, 0x1p-20);
    c = compare_one(&s, off, NULL, 1);
    assert_near(c.ratio, 0x1p-21 / ((28 + 4 * 3) * 0x1p-24));
    open_single(&s, "fwd q1 k1 d1 f16", 0.25f, 2, 2);
    c = compare_one(&s, 2 + 0x1p-9f, NULL, 0);
    const double error = 0x1p-9 - 0x1p-25;
    assert_near(c.ratio, error / 2 / (4 * 0x1p-11 + 4 * 0x1p-24));
    c = compare_one(&s, 2 + 0x1p-9f, NULL, 1); // scores below 1 count as 1
    assert_near(c.ratio, error / 2 / (8 * 0x1p-11 + 4 * 0x1p-24));
    open_single(&s, "fwd q1 k1 d1 bf16", 0, 2, -4);
    c = compare_one(&s, -4.03125f, NULL, 0);
    assert_near(c.ratio, 0x1p-5 / 4 / (4 * 0x1p-8));
    assert_int_equal(c.worst_d, 0);
}

// A key of weight 0 does not loosen the judgement, however huge its score.
static void keys_without_weight_loosen_nothing(void **state)
{
    (void)state;
    static const float scores[] = {-1e30f, -INFINITY};
    struct fcl_problem problem;
    assert_int_equal(fcl_problem_parse("fwd q1 k3 d1 lse", &problem, NULL, 0), FCL_OK);
    for (int i = 0; i < 2; i++) {
        const float q = 1, k[3] = {0, scores[i], 0}, v[3] = {2, 7, 3};
        const float right = 2.5f, wrong = 2.51f, lse = 0.69314718f, wrong_lse = 0.7f;
        const struct fcl_reference reference = {
            .problem = &problem, .q = {.data = &q}, .k = {.data = k}, .v = {.data = v}, .scale = 1};
        struct fcl_comparison good = {0}, bad = {0}, bad_lse = {0};
        fcl_reference_compare(&reference, 0, 0, 0, &right, 1, &lse, 0, &good);
        fcl_reference_compare(&reference, 0, 0, 0, &wrong, 1, &lse, 0, &bad);
        fcl_reference_compare(&reference, 0, 0, 0, &right, 1, &wrong_lse, 0, &bad_lse);
        assert_true(good.ratio <= 1 && bad.ratio > 1 && bad_lse.ratio > 1);
    }
}

// However little a key weighs beside a sink, O is made of it, and so precise as its score is. LSE
// is made of the sink.
static void keys_far_below_a_sink_count(void **state)
{
    (void)state;
    struct single s;
    const float sink = 3, lse = 3, wrong_lse = 3.0001f;
    open_single(&s, "fwd q1 k1 d1 sink lse", 1, -40, 2);
    s.reference.sinks = &sink;
    const float right = (float)(2 * exp(-43.0)); // of which 4 + 8 x 40 roundoffs are allowed
    assert_true(compare_one(&s, right * (1 + 300 * 0x1p-24f), &lse, 0).ratio <= 1);
    assert_true(compare_one(&s, right * (1 + 3000 * 0x1p-24f), &lse, 0).ratio > 1);
    assert_true(compare_one(&s, right, &wrong_lse, 0).ratio > 1);
    open_single(&s, "fwd q1 k1 d1 sink lse", 1, -1e30f, 2);
    s.reference.sinks = &sink;
    assert_true(compare_one(&s, 0, &lse, 0).ratio <= 1);
    assert_true(compare_one(&s, 0, &wrong_lse, 0).ratio > 1);
}

// P = 1 and 1/3, which f16 rounds; V = 0 and 3. The model is off by 0.000183, and so may a kernel.
static void the_models_own_error_counts_twice(void **state)
{
    (void)state;
    struct fcl_problem problem;
    assert_int_equal(fcl_problem_parse("fwd q1 k2 d1 q:f32 k:f32 v:f16 o:f32", &problem, NULL, 0),
                     FCL_OK);
    const float q[1] = {1}, k[2] = {0, -1.0986123f};
    uint16_t v[2] = {0, 0};
    fcl_element_store(v, FCL_F16, 1, 3);
    const struct fcl_reference reference = {.problem = &problem,
                                            .q = {.data = q},
                                            .k = {.data = k},
                                            .v = {.data = v, .dtype = FCL_F16},
                                            .scale = 1};
    // Twice as far from 0.75 as the model, and u_v = 2^-11 for P in another order.
    const float o[1] = {0.75f - 2 * 0.00018310547f - 0.75f * 0x1p-11f};
    struct fcl_comparison c = {0};
    assert_int_equal(fcl_reference_compare(&reference, 0, 0, 0, o, 1, NULL, 0, &c), FCL_OK);
    assert_true(c.ratio > 0.99 && c.ratio < 1);
}

static void the_lse_has_its_own_tolerance(void **state)
{
    (void)state;
    struct single s;
    open_single(&s, "fwd q1 k1 d1", 1.5f, 2, 2);
    const float lse = 3 + 0x1p-20f;
    struct fcl_comparison c = compare_one(&s, 2, &lse, 0);
    assert_near(c.ratio, 0x1p-20 / ((8 * 4 + 1) * 0x1p-24));
    assert_near(c.lse_error, 0x1p-20);
    assert_true(c.error == 0);
    assert_int_equal(c.worst_d, -1);
    c = compare_one(&s, 2, &lse, 1);
    assert_near(c.ratio, 0x1p-20 / ((8 * 4 + 1 + 4 * 3) * 0x1p-24));
    struct fcl_comparison alone = {0};
    assert_int_equal(fcl_reference_compare(&s.reference, 0, 0, 0, NULL, 0, &lse, 0, &alone),
                     FCL_OK);
    assert_near(alone.ratio, 16 / 33.0);
}

// The partial sums of a score that cancels are rounded as what they are.
static void a_score_that_cancels_errs_by_its_terms(void **state)
{
    (void)state;
    struct single s;
    open_single(&s, "fwd q1 k1 d2/1", 1024, 1, 2);
    s.q[1] = 1024;
    s.k[1] = 0x1p-11f - 1;
    const float lse = 0.5f + 0x1p-11f;
    const struct fcl_comparison c = compare_one(&s, 2, &lse, 0);
    const double size = 1024 * sqrt(1 + (1 - 0x1p-11) * (1 - 0x1p-11));
    assert_near(c.ratio, 0x1p-11 / ((8 * (1 + size) + 1) * 0x1p-24));
    assert_true(c.ratio > 0.5 && c.ratio < 1);
}

static void non_finite_values_must_agree(void **state)
{
    (void)state;
    static const struct {
        float v, o;
        int agree;
    } cases[] = {
        {1, NAN, 0},
        {NAN, 1, 0},
        {NAN, NAN, 1},
        {1, INFINITY, 0},
        {INFINITY, 1, 0},
        {INFINITY, INFINITY, 1},
        {INFINITY, -INFINITY, 0},
        {INFINITY, NAN, 0},
        {NAN, INFINITY, 0},
        {-INFINITY, -INFINITY, 1},
    };
    static const char *const texts[] = {"fwd q1 k1 d1", "fwd q1 k1 d1 f16", "fwd q1 k1 d1 bf16"};
    for (size_t t = 0; t < FCL_COUNT(texts); t++)
        for (size_t i = 0; i < FCL_COUNT(cases); i++) {
            struct single s;
            open_single(&s, texts[t], 0, 0, cases[i].v);
            const struct fcl_comparison c = compare_one(&s, cases[i].o, NULL, 0);
            assert_false(isnan(c.ratio) || isnan(c.error));
            if (cases[i].agree)
                assert_true(c.ratio == 0 && c.error == 0);
            else
                assert_true(isinf(c.ratio) && isinf(c.error));
        }
}

static void non_finite_lse_must_agree(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        float k, lse;
        int agree;
    } cases[] = {
        {"fwd q1 k1 d1", 0, NAN, 0},         {"fwd q1 k1 d1", 0, -INFINITY, 0},
        {"fwd q1 k1 d1", NAN, 0, 0},         {"fwd q1 k1 d1", NAN, NAN, 1},
        {"fwd q1 k0 d1", 0, -INFINITY, 1},   {"fwd q1 k0 d1", 0, 0, 0},
        {"fwd q1 k0 d1", 0, -3.4028e38f, 0}, {"fwd q1 k0 d1", 0, INFINITY, 0},
    };
    for (size_t i = 0; i < FCL_COUNT(cases); i++) {
        struct single s;
        open_single(&s, cases[i].text, 1, cases[i].k, 0);
        struct fcl_comparison c = {0};
        assert_int_equal(
            fcl_reference_compare(&s.reference, 0, 0, 0, NULL, 0, &cases[i].lse, 0, &c), FCL_OK);
        if (cases[i].agree)
            assert_true(c.ratio == 0 && c.lse_error == 0);
        else
            assert_true(isinf(c.ratio) && isinf(c.lse_error));
    }
}

static void empty_rows_and_zero_values_must_be_exactly_zero(void **state)
{
    (void)state;
    struct single s;
    open_single(&s, "fwd q1 k0 d1", 1, 1, 1);
    assert_true(compare_one(&s, 0, NULL, 0).ratio == 0);
    assert_true(compare_one(&s, -0.0f, NULL, 0).ratio == 0);
    assert_true(isinf(compare_one(&s, 1e-30f, NULL, 0).ratio));
    open_single(&s, "fwd q1 k1 d1 f16", 1, 1, 0);
    assert_true(compare_one(&s, 0, NULL, 0).ratio == 0);
    assert_true(isinf(compare_one(&s, 0x1p-24f, NULL, 0).ratio));
}

static void results_below_the_type_may_be_zero(void **state)
{
    (void)state;
    struct single s;
    open_single(&s, "fwd q1 k1 d1 q:f32 k:f32 v:f32 o:f16", 1, 1, 0x1.8p-26f);
    assert_true(compare_one(&s, 0, NULL, 0).ratio == 0);
    assert_true(compare_one(&s, 0x1p-24f, NULL, 0).ratio > 1);
}

static void results_beyond_the_type_may_be_infinite(void **state)
{
    (void)state;
    struct single s;
    open_single(&s, "fwd q1 k1 d1 q:f32 k:f32 v:f32 o:f16", 1, 1, -70000);
    assert_true(compare_one(&s, -INFINITY, NULL, 0).ratio == 0);
    assert_true(isinf(compare_one(&s, INFINITY, NULL, 0).ratio));
    assert_true(compare_one(&s, -65504, NULL, 0).ratio > 1);
    open_single(&s, "fwd q1 k1 d1 q:f32 k:f32 v:f32 o:f16", 1, 1, 60000);
    assert_true(isinf(compare_one(&s, INFINITY, NULL, 0).ratio));
}

// Two values near the end of fp32: the model's sum overflows, the mean does not.
static void a_model_that_overflows_allows_nothing(void **state)
{
    (void)state;
    struct single s;
    open_single(&s, "fwd q1 k2 d1", 0, 0, 3e38f);
    s.v[1] = 3e38f;
    assert_true(compare_one(&s, 3e38f, NULL, 0).ratio <= 1);
    assert_true(compare_one(&s, 2.9e38f, NULL, 0).ratio > 1);
    assert_true(isinf(compare_one(&s, INFINITY, NULL, 0).ratio));
    assert_true(isinf(compare_one(&s, NAN, NULL, 0).ratio));
}

static void the_worst_row_is_recorded(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, "fwd b2 h2 q3 k9 d4/3");
    struct fcl_comparison c = {0};
    for (int row = 0; row < 12; row++) {
        const int b = row / 6, h = row / 3 % 2, i = row % 3;
        double o[3];
        struct fcl_reference_row exact = {.o = o};
        assert_int_equal(fcl_reference_dense(&f.reference, b, h, i, &exact), FCL_OK);
        // Elements two apart, in reverse order of memory: strides of results are free.
        float result[5] = {NAN, NAN, NAN, NAN, NAN};
        for (int d = 0; d < 3; d++)
            result[4 - 2 * d] = (float)o[d] + (row == 7 && d == 1 ? 0.5f : row == 9 ? 0.01f : 0);
        const float lse = (float)exact.lse;
        assert_int_equal(fcl_reference_compare(&f.reference, b, h, i, result + 4, -2, &lse, 0, &c),
                         FCL_OK);
    }
    assert_int_equal(c.rows, 12);
    assert_true(c.ratio > 1000 && isfinite(c.ratio));
    assert_true(fabs(c.error - 0.5) < 1e-6);
    assert_true(c.worst_b == 1 && c.worst_h == 0 && c.worst_i == 1 && c.worst_d == 1);
    close_fixture(&f);
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    struct single s;
    open_single(&s, "fwd q1 k1 d1", 1, 1, 1);
    const float o[1] = {1};
    struct fcl_comparison c = {0}, zero = {0};
    assert_int_equal(fcl_reference_compare(NULL, 0, 0, 0, o, 1, NULL, 0, &c), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_reference_compare(&s.reference, 0, 0, 0, o, 1, NULL, 0, NULL),
                     FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_reference_compare(&s.reference, 0, 0, 0, NULL, 1, NULL, 0, &c),
                     FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_reference_compare(&s.reference, 0, 0, 1, o, 1, NULL, 0, &c),
                     FCL_INVALID_ARGUMENT);
    s.reference.problem = NULL;
    assert_int_equal(fcl_reference_compare(&s.reference, 0, 0, 0, o, 1, NULL, 0, &c),
                     FCL_INVALID_ARGUMENT);
    assert_memory_equal(&c, &zero, sizeof c);
}

// Rounding is forgiven relative to the row's largest number, also where that one is equal.
static void results_agree_within_rounding(void **state)
{
    (void)state;
    static const struct {
        float a[4], b[4]; // two rows
        int agree;
    } rows[] = {
        {{1, 2, 3, 4}, {1, 2, 3, 4}, 1},
        {{4, 0.001f, 1, 1}, {4, 0.0011f, 1, 1}, 1},
        {{4, 0.001f, 1, 1}, {4, 0.1f, 1, 1}, 0},
        {{4, 1, 0.001f, 0.001f}, {4, 1, 0.001f, 0.0012f}, 0}, // the other row's number is no help
        {{NAN, 0.001f, 1, 1}, {NAN, 0.001f, 1, 1}, 1},
        {{NAN, 1, 1, 1}, {1, 1, 1, 1}, 0},
        {{INFINITY, 0.001f, 1, 1}, {INFINITY, 0.0011f, 1, 1}, 0},
        {{1, 1, 1, 1}, {INFINITY, 1, 1, 1}, 0},
        {{0, 0, 1, 1}, {0, 1e-7f, 1, 1}, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint16_t a[4], b[4];
        for (int n = 0; n < 4; n++) {
            fcl_element_store(a, FCL_F16, n, rows[i].a[n]);
            fcl_element_store(b, FCL_F16, n, rows[i].b[n]);
        }
        if (fcl_rows_agree(a, b, FCL_F16, 4, 2) != rows[i].agree)
            fail_msg("row %zu: should be %d", i, rows[i].agree);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_agree_within_rounding),
        cmocka_unit_test(right_results_pass_and_faults_do_not),
        cmocka_unit_test(long_rows_pass_and_half_sums_do_not),
        cmocka_unit_test(exact_results_pass),
        cmocka_unit_test(the_allowed_error_is_as_documented),
        cmocka_unit_test(keys_without_weight_loosen_nothing),
        cmocka_unit_test(keys_far_below_a_sink_count),
        cmocka_unit_test(the_models_own_error_counts_twice),
        cmocka_unit_test(the_lse_has_its_own_tolerance),
        cmocka_unit_test(a_score_that_cancels_errs_by_its_terms),
        cmocka_unit_test(non_finite_values_must_agree),
        cmocka_unit_test(non_finite_lse_must_agree),
        cmocka_unit_test(empty_rows_and_zero_values_must_be_exactly_zero),
        cmocka_unit_test(results_below_the_type_may_be_zero),
        cmocka_unit_test(results_beyond_the_type_may_be_infinite),
        cmocka_unit_test(a_model_that_overflows_allows_nothing),
        cmocka_unit_test(the_worst_row_is_recorded),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
