// The references judge everything else, so they are tested on cases computed by hand.
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>

#include <flashcl/tune.h>

#include "attention/reference.h"

#define LN3 1.0986122886681098

static struct fcl_problem parse(const char *text)
{
    struct fcl_problem problem;
    char reason[256] = "";
    if (fcl_problem_parse(text, &problem, reason, sizeof reason) != FCL_OK)
        fail_msg("%s: %s", text, reason);
    return problem;
}

static struct fcl_reference make(const struct fcl_problem *problem, const void *q, const void *k,
                                 const void *v, float scale)
{
    return (struct fcl_reference){.problem = problem,
                                  .q = {.data = q, .dtype = problem->dtype_q},
                                  .k = {.data = k, .dtype = problem->dtype_k},
                                  .v = {.data = v, .dtype = problem->dtype_v},
                                  .scale = scale};
}

static void assert_close(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-12 * (1 + fabs(expected))))
        fail_msg("%.17g instead of %.17g", value, expected);
}

// The exact row, whose storage is static.
static struct fcl_reference_row dense(const struct fcl_reference *reference, int64_t b, int64_t h,
                                      int64_t i)
{
    static double o[8], magnitude[8];
    struct fcl_reference_row row = {.o = o, .magnitude = magnitude};
    assert_int_equal(fcl_reference_dense(reference, b, h, i, &row), FCL_OK);
    return row;
}

static void assert_empty(const struct fcl_reference *reference, int64_t b, int64_t h, int64_t i)
{
    const struct fcl_reference_row row = dense(reference, b, h, i);
    for (int d = 0; d < reference->problem->head_dim_v; d++)
        assert_true(row.o[d] == 0 && row.magnitude[d] == 0);
    assert_true(isinf(row.lse) && row.lse < 0 && row.score_limit == 0);
}

static void equal_scores_give_the_mean(void **state)
{
    (void)state;
    const struct fcl_problem problem = parse("fwd q1 k4 d2/3");
    const float q[2] = {0, 0}, k[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const float v[12] = {1, -1, 0, 2, -2, 0, 3, 3, 0, 6, 4, 8};
    const struct fcl_reference reference = make(&problem, q, k, v, 0);
    const struct fcl_reference_row row = dense(&reference, 0, 0, 0);
    assert_close(row.o[0], 3);
    assert_close(row.o[1], 1);
    assert_close(row.o[2], 2);
    assert_close(row.magnitude[0], 3);
    assert_close(row.magnitude[1], 2.5);
    assert_close(row.magnitude[2], 2);
    assert_close(row.lse, log(4));
    assert_close(row.score_limit, 0);
}

// Scores of 3 and 0 with a cap of 2; the cap of a call goes before the problem's.
static void caps_bend_scores(void **state)
{
    (void)state;
    const struct fcl_problem problem = parse("fwd q1 k2 d1 softcap=2");
    const float q[1] = {1}, k[2] = {3, 0}, v[2] = {1, 0};
    struct fcl_reference reference = make(&problem, q, k, v, 1);
    const double two = exp(2 * tanh(1.5)), five = exp(5 * tanh(0.6));
    assert_close(dense(&reference, 0, 0, 0).o[0], two / (1 + two));
    assert_close(dense(&reference, 0, 0, 0).score_limit, 2 * tanh(1.5));
    double o[1];
    struct fcl_reference_row model = {.o = o};
    assert_int_equal(fcl_reference_model(&reference, 0, 0, 0, &model), FCL_OK);
    assert_true(fabs(o[0] - two / (1 + two)) < 1e-6);
    reference.softcap = 5;
    assert_close(dense(&reference, 0, 0, 0).o[0], five / (1 + five));
}

// A logit of each head without a value: in the denominator and in LSE, also of a row without keys.
static void sinks_take_their_share(void **state)
{
    (void)state;
    const struct fcl_problem problem = parse("fwd h2 q2 k1 d1 causal-br sink");
    const float q[4] = {1, 1, 1, 1}, k[2] = {1, 1}, v[2] = {6, 8}, sinks[2] = {1, -INFINITY};
    struct fcl_reference reference = make(&problem, q, k, v, 1);
    double o[1];
    struct fcl_reference_row model = {.o = o};
    assert_int_equal(fcl_reference_dense(&reference, 0, 0, 1, &model), FCL_INVALID_ARGUMENT);
    reference.sinks = sinks;
    assert_close(dense(&reference, 0, 0, 1).o[0], 3);
    assert_close(dense(&reference, 0, 0, 1).lse, 1 + log(2));
    assert_close(dense(&reference, 0, 0, 0).o[0], 0);
    assert_close(dense(&reference, 0, 0, 0).lse, 1);
    assert_close(dense(&reference, 0, 1, 1).o[0], 8);
    assert_true(isinf(dense(&reference, 0, 1, 0).lse));
    assert_int_equal(fcl_reference_model(&reference, 0, 0, 1, &model), FCL_OK);
    assert_true(fabs(o[0] - 3) < 1e-6 && fabs(model.lse - 1 - log(2)) < 1e-6);
}

static void two_keys_share_one_to_three(void **state)
{
    (void)state;
    const struct fcl_problem problem = parse("fwd q1 k2 d1");
    // 1.0986123f is off ln 3 by 1.5e-8; the weights follow what fp32 holds.
    const float q[1] = {-2}, k[2] = {0, 1.0986123f}, v[2] = {8, -4};
    const struct fcl_reference reference = make(&problem, q, k, v, -0.5f);
    const double three = exp((double)1.0986123f);
    const struct fcl_reference_row row = dense(&reference, 0, 0, 0);
    assert_close(row.o[0], (8 - 4 * three) / (1 + three));
    assert_close(row.magnitude[0], (8 + 4 * three) / (1 + three));
    assert_close(row.lse, log(1 + three));
    assert_close(row.score_limit, (double)1.0986123f);
    assert_true(fabs(row.o[0] + 1) < 1e-7);
}

static void one_key_takes_all(void **state)
{
    (void)state;
    const struct fcl_problem problem = parse("fwd q1 k3 d1");
    const float q[1] = {1}, k[3] = {0, 2000, 100}, v[3] = {5, 7, 11};
    const struct fcl_reference reference = make(&problem, q, k, v, 1);
    const struct fcl_reference_row row = dense(&reference, 0, 0, 0);
    assert_true(row.o[0] == 7 && row.magnitude[0] == 7);
    assert_true(row.lse == 2000 && row.score_limit == 2000);
}

static void default_scale_is_one_over_the_root_of_the_dimension(void **state)
{
    (void)state;
    const struct fcl_problem problem = parse("fwd q1 k1 d4");
    const float q[4] = {1, 1, 1, 1}, k[4] = {3, 3, 3, 3}, v[4] = {0};
    struct fcl_reference reference = make(&problem, q, k, v, 0);
    assert_close(dense(&reference, 0, 0, 0).lse, 6);
    reference.scale = 0.25f;
    assert_close(dense(&reference, 0, 0, 0).lse, 3);
}

// With equal scores, the LSE is the logarithm of the number of visible keys, and O the mean of
// their V = 1, 2, 3, ...
static void assert_visible(const struct fcl_reference *reference, int64_t i, int count)
{
    const struct fcl_reference_row row = dense(reference, 0, 0, i);
    assert_close(row.lse, log(count));
    assert_close(row.o[0], (1 + count) / 2.0);
}

static void masks_show_the_right_number_of_keys(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int visible[9]; // of each row; -1: end
    } cases[] = {
        {"fwd q4 k4 d1", {4, 4, 4, 4, -1}}, // causality is never inferred from q = k
        {"fwd q1 k16 d1 causal-tl", {1, -1}},
        {"fwd q1 k16 d1 causal-br", {16, -1}},
        {"fwd q3 k5 d1 causal-tl", {1, 2, 3, -1}},
        {"fwd q3 k5 d1 causal-br", {3, 4, 5, -1}},
        {"fwd q5 k3 d1 causal-tl", {1, 2, 3, 3, 3, -1}},
        {"fwd q5 k3 d1 causal-br", {0, 0, 1, 2, 3, -1}},
        {"fwd q9 k4 d1 causal-br", {0, 0, 0, 0, 0, 1, 2, 3, 4}},
        {"fwd q2 k0 d1", {0, 0, -1}},
        {"fwd q4 k9 d1 tl win=9,1", {2, 3, 4, 5, -1}},
        {"fwd q3 k9 d1 causal-tl win=9,9", {1, 2, 3, -1}},
        {"fwd q2 k0 d1 br win=0,0", {0, 0, -1}},
        {"fwd q2 k0 d1 causal-tl", {0, 0, -1}},
        {"fwd q2 k0 d1 causal-br", {0, 0, -1}},
    };
    float q[9] = {0}, k[16], v[16];
    for (int j = 0; j < 16; j++) {
        k[j] = (float)j;
        v[j] = (float)(j + 1);
    }
    for (size_t c = 0; c < FCL_COUNT(cases); c++) {
        const struct fcl_problem problem = parse(cases[c].text);
        const struct fcl_reference reference = make(&problem, q, k, v, 1);
        for (int i = 0; i < problem.q_len; i++)
            if (cases[c].visible[i] == 0)
                assert_empty(&reference, 0, 0, i);
            else
                assert_visible(&reference, i, cases[c].visible[i]);
        assert_true(problem.q_len == 9 || cases[c].visible[problem.q_len] == -1);
    }
}

// V = 2^j: the sum says which keys were seen.
static void windows_show_the_right_keys(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int seen[4]; // of each row, a bit a key
    } cases[] = {
        {"fwd q4 k4 d1 tl win=1,0", {1, 3, 6, 12}},
        {"fwd q4 k4 d1 tl win=0,1", {3, 6, 12, 8}},
        {"fwd q4 k4 d1 tl win=-1,1", {3, 7, 15, 15}},
        {"fwd q4 k4 d1 tl win=1,-1", {15, 15, 14, 12}},
        {"fwd q4 k4 d1 causal-tl win=1,2", {1, 3, 6, 12}},
        {"fwd q4 k6 d1 br win=1,0", {6, 12, 24, 48}},
        {"fwd q4 k2 d1 br win=0,1", {0, 1, 3, 2}},
        {"fwd q4 k2 d1 tl win=0,0", {1, 2, 0, 0}},
    };
    const float q[4] = {0}, k[6] = {0}, v[6] = {1, 2, 4, 8, 16, 32};
    for (size_t c = 0; c < FCL_COUNT(cases); c++) {
        const struct fcl_problem problem = parse(cases[c].text);
        const struct fcl_reference reference = make(&problem, q, k, v, 1);
        for (int i = 0; i < 4; i++) {
            const int seen = cases[c].seen[i], count = __builtin_popcount((unsigned)seen);
            if (seen == 0)
                assert_empty(&reference, 0, 0, i);
            else
                assert_close(dense(&reference, 0, 0, i).o[0] * count, seen);
        }
    }
}

static void no_keys_need_no_tensors(void **state)
{
    (void)state;
    const struct fcl_problem problem = parse("fwd b2 h3 q2 k0 d1");
    const float q[12] = {0};
    const struct fcl_reference reference = make(&problem, q, NULL, NULL, 0);
    assert_empty(&reference, 1, 2, 1);
}

// The arrays end with the visible keys: a sanitizer sees any access behind them.
static void hidden_keys_are_not_read(void **state)
{
    (void)state;
    const struct fcl_problem problem = parse("fwd q3 k4 d1 causal-tl");
    const float q[3] = {1, 1, 1};
    float *k = malloc(sizeof *k), *v = malloc(sizeof *v);
    k[0] = 2;
    v[0] = 5;
    const struct fcl_reference reference = make(&problem, q, k, v, 1);
    const struct fcl_reference_row row = dense(&reference, 0, 0, 0);
    assert_close(row.o[0], 5);
    assert_close(row.lse, 2);
    double o[1];
    struct fcl_reference_row model = {.o = o};
    assert_int_equal(fcl_reference_model(&reference, 0, 0, 0, &model), FCL_OK);
    assert_close(o[0], 5);
    free(k);
    free(v);
}

static void hidden_nan_has_no_influence_and_visible_nan_does(void **state)
{
    (void)state;
    const struct fcl_problem problem = parse("fwd q2 k2 d1 causal-tl");
    const float q[2] = {1, 1}, k[2] = {1, NAN}, v[2] = {3, NAN};
    const struct fcl_reference reference = make(&problem, q, k, v, 1);
    assert_close(dense(&reference, 0, 0, 0).o[0], 3);
    const struct fcl_reference_row row = dense(&reference, 0, 0, 1);
    assert_true(isnan(row.o[0]) && isnan(row.lse));
}

static void visible_infinities_propagate(void **state)
{
    (void)state;
    const struct fcl_problem problem = parse("fwd q1 k2 d1");
    const float q[1] = {1}, k[2] = {0, 0}, k_high[2] = {0, INFINITY}, k_low[2] = {0, -INFINITY};
    const float v[2] = {1, 3}, v_high[2] = {1, INFINITY}, v_both[2] = {-INFINITY, INFINITY};
    struct fcl_reference reference = make(&problem, q, k, v_high, 1);
    assert_true(isinf(dense(&reference, 0, 0, 0).o[0]));
    reference.v.data = v_both;
    assert_true(isnan(dense(&reference, 0, 0, 0).o[0]));
    reference = make(&problem, q, k_high, v, 1);
    assert_true(isnan(dense(&reference, 0, 0, 0).o[0]));
    reference = make(&problem, q, k_low, v, 1);
    assert_close(dense(&reference, 0, 0, 0).o[0], 1);
    assert_close(dense(&reference, 0, 0, 0).lse, 0);
}

// Visible scores are at least -2^126 in base 2: nothing but minus infinity is a plain softmax.
static void a_row_of_visible_minus_infinities_is_a_mean(void **state)
{
    (void)state;
    const struct fcl_problem problem = parse("fwd q1 k2 d1");
    const float q[1] = {1}, k[2] = {-INFINITY, -3e38f}, v[2] = {1, 3};
    const struct fcl_reference reference = make(&problem, q, k, v, 1);
    const struct fcl_reference_row row = dense(&reference, 0, 0, 0);
    assert_close(row.o[0], 2);
    assert_close(row.lse, -0x1p126 * log(2));
    double o[1];
    struct fcl_reference_row model = {.o = o};
    assert_int_equal(fcl_reference_model(&reference, 0, 0, 0, &model), FCL_OK);
    assert_close(o[0], 2);
}

// K holds the number of its key head and V ten times it, whatever the query.
static void query_heads_read_their_key_head(void **state)
{
    (void)state;
    static const struct {
        int heads_q, heads_kv;
    } cases[] = {{6, 2}, {28, 4}, {48, 2}, {12, 1}, {20, 1}, {7, 7}};
    for (size_t c = 0; c < FCL_COUNT(cases); c++) {
        char text[64];
        snprintf(text, sizeof text, "fwd b2 h%d/%d q1 k1 d1", cases[c].heads_q, cases[c].heads_kv);
        const struct fcl_problem problem = parse(text);
        float q[96], k[96], v[96];
        for (int n = 0; n < 2 * cases[c].heads_q; n++)
            q[n] = 1;
        for (int n = 0; n < 2 * cases[c].heads_kv; n++) {
            k[n] = (float)n;
            v[n] = (float)(10 * n);
        }
        const struct fcl_reference reference = make(&problem, q, k, v, 1);
        for (int b = 0; b < 2; b++)
            for (int h = 0; h < cases[c].heads_q; h++) {
                const int group = cases[c].heads_q / cases[c].heads_kv;
                const int key_head = b * cases[c].heads_kv + h / group;
                const struct fcl_reference_row row = dense(&reference, b, h, 0);
                assert_close(row.lse, key_head);
                assert_close(row.o[0], 10 * key_head);
            }
    }
}

// Each element says where it stands, so that any mix-up of axes changes the result.
static void strides_lead_to_the_right_elements(void **state)
{
    (void)state;
    enum { B = 2, H = 3, N = 4, D = 2, ALL = B * H * N * D };
    const struct fcl_problem problem = parse("fwd b2 h3 q4 d2");
    float bhsd[3][ALL], packed[3 * ALL], doubled[3][2 * ALL];
    for (int t = 0; t < 3; t++)
        for (int b = 0; b < B; b++)
            for (int h = 0; h < H; h++)
                for (int s = 0; s < N; s++)
                    for (int d = 0; d < D; d++) {
                        const int at = ((b * H + h) * N + s) * D + d;
                        const float value = sinf((float)(1 + t * ALL + at));
                        bhsd[t][at] = value;
                        packed[(((b * N + s) * 3 + t) * H + h) * D + d] = value;
                        doubled[t][2 * at] = value;
                        doubled[t][2 * at + 1] = NAN;
                    }
    const struct fcl_reference plain = make(&problem, bhsd[0], bhsd[1], bhsd[2], 1);
    struct fcl_reference views[2] = {
        make(&problem, packed, packed + H * D, packed + 2 * H * D, 1),
        make(&problem, doubled[0], doubled[1], doubled[2], 1),
    };
    const int64_t strides[2][4] = {{N * 3 * H * D, D, 3 * H * D, 1},
                                   {2 * H * N * D, 2 * N * D, 2 * D, 2}};
    for (int n = 0; n < 2; n++) {
        memcpy(views[n].q.strides, strides[n], sizeof strides[n]);
        memcpy(views[n].k.strides, strides[n], sizeof strides[n]);
        memcpy(views[n].v.strides, strides[n], sizeof strides[n]);
    }
    for (int row = 0; row < B * H * N; row++) {
        const int b = row / (H * N), h = row / N % H, i = row % N;
        const struct fcl_reference_row expected = dense(&plain, b, h, i);
        const double o[2] = {expected.o[0], expected.o[1]}, lse = expected.lse;
        for (int n = 0; n < 2; n++) {
            const struct fcl_reference_row found = dense(&views[n], b, h, i);
            assert_true(found.o[0] == o[0] && found.o[1] == o[1] && found.lse == lse);
        }
    }
}

static void stride_zero_broadcasts(void **state)
{
    (void)state;
    const struct fcl_problem problem = parse("fwd b2 h2 q1 k33 d1");
    const float q[4] = {0, 0, 0, 0};
    float k[33], v[33];
    for (int j = 0; j < 33; j++) {
        k[j] = (float)j;
        v[j] = (float)j;
    }
    struct fcl_reference reference = make(&problem, q, k, v, 1);
    reference.k.strides[2] = reference.v.strides[2] = 1;
    reference.k.strides[3] = reference.v.strides[3] = 1;
    assert_close(dense(&reference, 1, 1, 0).o[0], 16);
    reference.v.strides[2] = 0; // one value row for all keys
    assert_close(dense(&reference, 1, 0, 0).o[0], 0);
}

static void large_logits_do_not_overflow(void **state)
{
    (void)state;
    const struct fcl_problem problem = parse("fwd q1 k2 d1 f16");
    uint16_t q, k[2], v[2];
    fcl_element_store(&q, FCL_F16, 0, 245);
    fcl_element_store(k, FCL_F16, 0, 245);
    fcl_element_store(k, FCL_F16, 1, 244.875f);
    fcl_element_store(v, FCL_F16, 0, 1);
    fcl_element_store(v, FCL_F16, 1, 2);
    struct fcl_reference reference = make(&problem, &q, k, v, 1);
    struct fcl_reference_row row = dense(&reference, 0, 0, 0);
    assert_close(row.score_limit, 60025);
    assert_close(row.lse, 60025 + log1p(exp(-30.625)));
    assert_close(row.o[0], (1 + 2 * exp(-30.625)) / (1 + exp(-30.625)));
    reference.scale = 0x1p-20f;
    row = dense(&reference, 0, 0, 0);
    assert_close(row.o[0], (1 + 2 * exp(-30.625 * 0x1p-20)) / (1 + exp(-30.625 * 0x1p-20)));
}

static void inputs_are_read_in_their_types(void **state)
{
    (void)state;
    const struct fcl_problem problem = parse("fwd q1 k2 d1 q:f16 k:bf16 v:f32 o:f16");
    uint16_t q, k[2];
    const float v[2] = {0, 1};
    fcl_element_store(&q, FCL_F16, 0, 1.5f);
    fcl_element_store(k, FCL_BF16, 0, 0);
    fcl_element_store(k, FCL_BF16, 1, -4);
    const struct fcl_reference reference = make(&problem, &q, k, v, 0.5f);
    assert_close(dense(&reference, 0, 0, 0).o[0], exp(-3) / (1 + exp(-3)));
}

// ---- The model --------------------------------------------------------------------------------

// Scores 0 and -ln 3: P is 1 and 1/3, which f16 rounds to 0x3555 = 0.333251953125.
static void the_model_rounds_p_and_o(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double p, o;
    } cases[] = {
        {"fwd q1 k2 d1", 1 / 3.0, 0.75},
        {"fwd q1 k2 d1 q:f32 k:f32 v:f16 o:f32", 0.333251953125, 0.74981689453125},
        {"fwd q1 k2 d1 q:f32 k:f32 v:bf16 o:f32", 0.333984375, 0.75146484375},
        {"fwd q1 k2 d1 q:f32 k:f32 v:f16 o:f16", 0.333251953125, 0.75},
        {"fwd q1 k2 d1 q:f32 k:f32 v:bf16 o:f16", 0.333984375, 0.75146484375},
        {"fwd q1 k2 d1 q:f32 k:f32 v:bf16 o:bf16", 0.333984375, 0.75},
    };
    for (size_t c = 0; c < FCL_COUNT(cases); c++) {
        const struct fcl_problem problem = parse(cases[c].text);
        const float q[1] = {1}, k[2] = {0, -1.0986123f};
        float v[2] = {0, 0};
        fcl_element_store(v, problem.dtype_v, 1, 3);
        const struct fcl_reference reference = make(&problem, q, k, v, 1);
        double o[1], magnitude[1];
        struct fcl_reference_row row = {.o = o, .magnitude = magnitude};
        assert_int_equal(fcl_reference_model(&reference, 0, 0, 0, &row), FCL_OK);
        const double expected = cases[c].o;
        if (!(fabs(o[0] - expected) < 1.2e-7))
            fail_msg("%s: %.12g instead of %.12g", cases[c].text, o[0], expected);
        assert_true(fabs(magnitude[0] - cases[c].p * 2.25) < 2e-7);
        assert_true(fabs(row.lse - log(4 / 3.0)) < 1e-7);
        assert_true(fabs(row.score_limit - LN3) < 1e-7);
    }
}

static void the_model_sums_in_single_precision(void **state)
{
    (void)state;
    const struct fcl_problem problem = parse("fwd q1 k2 d3");
    // In fp32, 2^24 + 1 + 1 is 2^24: the score of key 0 loses its 2.
    const float q[3] = {0x1p24f, 1, 1}, k[6] = {1, 1, 1, 1, 0, 0}, v[6] = {1, 0, 0, 0, 0, 0};
    const struct fcl_reference reference = make(&problem, q, k, v, 1);
    assert_close(dense(&reference, 0, 0, 0).o[0], exp(2) / (1 + exp(2)));
    double o[3];
    struct fcl_reference_row row = {.o = o};
    assert_int_equal(fcl_reference_model(&reference, 0, 0, 0, &row), FCL_OK);
    assert_close(o[0], 0.5);
}

static void the_model_flushes_subnormals(void **state)
{
    (void)state;
    const struct fcl_problem problem = parse("fwd q1 k2 d1");
    const float q[1] = {1}, k[2] = {0, -90}, v[2] = {0, 1e10f};
    const struct fcl_reference reference = make(&problem, q, k, v, 1);
    assert_true(dense(&reference, 0, 0, 0).o[0] > 0);
    double o[1];
    struct fcl_reference_row row = {.o = o};
    assert_int_equal(fcl_reference_model(&reference, 0, 0, 0, &row), FCL_OK);
    assert_true(o[0] == 0);
}

static void the_model_has_empty_rows(void **state)
{
    (void)state;
    const struct fcl_problem problem = parse("fwd q2 k1 d1 causal-br");
    const float q[2] = {1, 1}, k[1] = {1}, v[1] = {1};
    const struct fcl_reference reference = make(&problem, q, k, v, 1);
    double o[1] = {7};
    struct fcl_reference_row row = {.o = o, .lse = 7, .score_limit = 7};
    assert_int_equal(fcl_reference_model(&reference, 0, 0, 0, &row), FCL_OK);
    assert_true(o[0] == 0 && isinf(row.lse) && row.lse < 0 && row.score_limit == 0);
}

// ---- Arguments --------------------------------------------------------------------------------

static void parts_of_a_row_may_be_left_out(void **state)
{
    (void)state;
    const struct fcl_problem problem = parse("fwd q1 k2 d1");
    const float q[1] = {0}, k[2] = {1, 2}, v[2] = {-1, 5};
    struct fcl_reference reference = make(&problem, q, k, v, 1);
    double numbers[1];
    struct fcl_reference_row row = {.magnitude = numbers};
    assert_int_equal(fcl_reference_dense(&reference, 0, 0, 0, &row), FCL_OK);
    assert_close(numbers[0], 3);
    row = (struct fcl_reference_row){.o = numbers};
    assert_int_equal(fcl_reference_dense(&reference, 0, 0, 0, &row), FCL_OK);
    assert_close(numbers[0], 2);
    row = (struct fcl_reference_row){0};
    reference.v.data = NULL;
    assert_int_equal(fcl_reference_dense(&reference, 0, 0, 0, &row), FCL_OK);
    assert_close(row.lse, log(2));
}

static void statistics_have_no_output(void **state)
{
    (void)state;
    const struct fcl_problem problem = parse("lse q1 k2 d1");
    const float q[1] = {1}, k[2] = {0, 0};
    const struct fcl_reference reference = make(&problem, q, k, NULL, 1);
    double o[1];
    struct fcl_reference_row row = {0};
    assert_int_equal(fcl_reference_dense(&reference, 0, 0, 0, &row), FCL_OK);
    assert_close(row.lse, log(2));
    row.o = o;
    assert_int_equal(fcl_reference_dense(&reference, 0, 0, 0, &row), FCL_INVALID_ARGUMENT);
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    const struct fcl_problem problem = parse("fwd b2 h2 q2 d1"), empty = parse("fwd b0 q2 d1");
    struct fcl_problem invalid = problem;
    invalid.heads_q = 0;
    const float data[8] = {0};
    const struct fcl_reference good = make(&problem, data, data, data, 1);
    struct fcl_reference bad[8] = {good, good, good, good, good, good, good, good};
    bad[0].problem = NULL;
    bad[1].problem = &invalid;
    bad[2].q.data = NULL;
    bad[3].k.data = NULL;
    bad[4].v.data = NULL;
    bad[5].q.dtype = FCL_F16;
    bad[6].v.dtype = FCL_BF16;
    bad[7].problem = &empty;
    double o[1];
    struct fcl_reference_row row = {.o = o};
    assert_int_equal(fcl_reference_dense(&good, 1, 1, 1, &row), FCL_OK);
    for (size_t i = 0; i < FCL_COUNT(bad); i++) {
        assert_int_equal(fcl_reference_dense(&bad[i], 0, 0, 0, &row), FCL_INVALID_ARGUMENT);
        assert_int_equal(fcl_reference_model(&bad[i], 0, 0, 0, &row), FCL_INVALID_ARGUMENT);
    }
    static const int64_t places[][3] = {{-1, 0, 0}, {2, 0, 0},  {0, -1, 0},
                                        {0, 2, 0},  {0, 0, -1}, {0, 0, 2}};
    for (size_t i = 0; i < FCL_COUNT(places); i++)
        assert_int_equal(fcl_reference_dense(&good, places[i][0], places[i][1], places[i][2], &row),
                         FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_reference_dense(NULL, 0, 0, 0, &row), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_reference_dense(&good, 0, 0, 0, NULL), FCL_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_scores_give_the_mean),
        cmocka_unit_test(two_keys_share_one_to_three),
        cmocka_unit_test(one_key_takes_all),
        cmocka_unit_test(default_scale_is_one_over_the_root_of_the_dimension),
        cmocka_unit_test(masks_show_the_right_number_of_keys),
        cmocka_unit_test(windows_show_the_right_keys),
        cmocka_unit_test(caps_bend_scores),
        cmocka_unit_test(sinks_take_their_share),
        cmocka_unit_test(no_keys_need_no_tensors),
        cmocka_unit_test(hidden_keys_are_not_read),
        cmocka_unit_test(hidden_nan_has_no_influence_and_visible_nan_does),
        cmocka_unit_test(visible_infinities_propagate),
        cmocka_unit_test(a_row_of_visible_minus_infinities_is_a_mean),
        cmocka_unit_test(query_heads_read_their_key_head),
        cmocka_unit_test(strides_lead_to_the_right_elements),
        cmocka_unit_test(stride_zero_broadcasts),
        cmocka_unit_test(large_logits_do_not_overflow),
        cmocka_unit_test(inputs_are_read_in_their_types),
        cmocka_unit_test(the_model_rounds_p_and_o),
        cmocka_unit_test(the_model_sums_in_single_precision),
        cmocka_unit_test(the_model_flushes_subnormals),
        cmocka_unit_test(the_model_has_empty_rows),
        cmocka_unit_test(parts_of_a_row_may_be_left_out),
        cmocka_unit_test(statistics_have_no_output),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
