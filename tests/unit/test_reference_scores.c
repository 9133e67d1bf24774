// What the references add to scores, against formulas written out here.
#include "cmocka_all.h"

#include <math.h>

#include <flashcl/tune.h>

#include "attention/reference.h"
#include "choices.h"

#define HEADS 12
#define QUERIES 3
#define KEYS 5

// Head dim 1: a score is scale q k, one number of each head and query, one of each key.
struct case_data {
    struct fcl_problem problem;
    struct fcl_reference reference;
    float q[HEADS * QUERIES], k[KEYS], v[KEYS];
};

static void make(struct case_data *c, const char *text)
{
    c->problem = test_problem(text);
    for (int i = 0; i < HEADS * QUERIES; i++)
        c->q[i] = 0.25f * (float)(i % 7) - 0.5f;
    for (int j = 0; j < KEYS; j++) {
        c->k[j] = 1.0f - 0.75f * (float)(j % 3);
        c->v[j] = (float)(j * j) - 3.0f;
    }
    c->reference = (struct fcl_reference){.problem = &c->problem,
                                          .q = {.data = c->q, .dtype = FCL_F32},
                                          .k = {.data = c->k, .dtype = FCL_F32},
                                          .v = {.data = c->v, .dtype = FCL_F32},
                                          .scale = 1.5f};
}

// The row by its definition: `added` to each score, -INFINITY where the key is hidden.
static void assert_row(const struct case_data *c, int h, int i, const double added[KEYS])
{
    double o[1], sum = 0, product = 0;
    for (int j = 0; j < KEYS; j++) {
        const double p = exp(1.5 * (double)(c->q[h * QUERIES + i] * c->k[j]) + added[j]);
        sum += p;
        product += p * (double)c->v[j];
    }
    struct fcl_reference_row row = {.o = o};
    assert_int_equal(fcl_reference_dense(&c->reference, 0, h, i, &row), FCL_OK);
    assert_true(fabs(o[0] - (sum > 0 ? product / sum : 0)) < 1e-12);
    assert_true(row.lse == log(sum) || fabs(row.lse - log(sum)) < 1e-12);
    assert_int_equal(fcl_reference_model(&c->reference, 0, h, i, &row), FCL_OK);
    assert_true(fabs(o[0] - (sum > 0 ? product / sum : 0)) < 3e-6);
    assert_true(row.lse == log(sum) || fabs(row.lse - log(sum)) < 3e-6);
}

// The slopes that Press et al. print, for a power of two and for other counts of heads.
static const struct {
    const char *problem;
    int heads, corner; // where query 0 stands
    double exponents[HEADS];
} slope_rows[] = {
    {"fwd h8/1 q3 k5 d1 tl alibi", 8, 0, {1, 2, 3, 4, 5, 6, 7, 8}},
    {"fwd h4/1 q3 k5 d1 br alibi", 4, 2, {2, 4, 6, 8}},
    {"fwd h1 q3 k5 d1 br alibi", 1, 2, {8}},
    {"fwd h3/1 q3 k5 d1 tl alibi", 3, 0, {4, 8, 2}},
    {"fwd h6/1 q3 k5 d1 br alibi", 6, 2, {2, 4, 6, 8, 1, 3}},
    {"fwd h12/1 q3 k5 d1 br alibi", 12, 2, {1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 3.5}},
};

static void standard_slopes_are_those_of_the_paper(void **state)
{
    (void)state;
    for (size_t n = 0; n < FCL_COUNT(slope_rows); n++) {
        struct case_data c;
        make(&c, slope_rows[n].problem);
        for (int h = 0; h < slope_rows[n].heads; h++)
            for (int i = 0; i < QUERIES; i++) {
                double added[KEYS];
                for (int j = 0; j < KEYS; j++)
                    added[j] =
                        -pow(2, -slope_rows[n].exponents[h]) * abs(i + slope_rows[n].corner - j);
                assert_row(&c, h, i, added);
            }
    }
}

static void given_slopes_are_read(void **state)
{
    (void)state;
    struct case_data c;
    const float slopes[2] = {0.5f, -0.25f};
    double o[1];
    struct fcl_reference_row row = {.o = o};
    make(&c, "fwd h2/1 q3 k5 d1 causal-br alibi=given");
    assert_int_equal(fcl_reference_dense(&c.reference, 0, 0, 0, &row), FCL_INVALID_ARGUMENT);
    c.reference.slopes = slopes;
    for (int h = 0; h < 2; h++)
        for (int i = 0; i < QUERIES; i++) {
            double added[KEYS];
            for (int j = 0; j < KEYS; j++)
                added[j] = j > i + 2 ? -INFINITY : -(double)slopes[h] * (i + 2 - j);
            assert_row(&c, h, i, added);
        }
}

// After the cap, -INFINITY hides, also all keys; every axis by its stride.
static void biases_are_added_after_the_cap(void **state)
{
    (void)state;
    struct case_data c;
    float bias[2 * QUERIES * KEYS];
    make(&c, "fwd h2/1 q3 k5 d1 bias=f32");
    double o[1];
    struct fcl_reference_row row = {.o = o};
    assert_int_equal(fcl_reference_dense(&c.reference, 0, 0, 0, &row), FCL_INVALID_ARGUMENT);
    for (int n = 0; n < 2 * QUERIES * KEYS; n++)
        bias[n] = n % 4 == 1 || n < KEYS ? -INFINITY : 0.3f * (float)(n % 11) - 1.0f;
    c.reference.bias = (struct fcl_host_tensor){.data = bias, .dtype = FCL_F32};
    const int64_t shapes[][4] = {{0}, {0, QUERIES * KEYS, KEYS, 1}, {0, 3, 2, 4}};
    for (int s = 0; s < 3; s++) {
        const int64_t *stride = shapes[s ? s : 1];
        memcpy(c.reference.bias.strides, shapes[s], sizeof shapes[s]);
        for (int h = 0; h < 2; h++)
            for (int i = 0; i < QUERIES; i++) {
                double added[KEYS];
                for (int j = 0; j < KEYS; j++)
                    added[j] = (double)bias[h * stride[1] + i * stride[2] + j * stride[3]];
                assert_row(&c, h, i, added);
            }
    }
    // A cap of 2 on scores of 3 and 0, then 1 and 2 more.
    const struct fcl_problem capped = test_problem("fwd q1 k2 d1 softcap=2 bias=f32");
    const float q[1] = {1}, k[2] = {3, 0}, v[2] = {1, 0}, more[2] = {1, 2};
    const struct fcl_reference reference = {.problem = &capped,
                                            .q = {.data = q},
                                            .k = {.data = k},
                                            .v = {.data = v},
                                            .bias = {.data = more},
                                            .scale = 1};
    const double x = exp(2 * tanh(1.5) + 1), y = exp(2);
    assert_int_equal(fcl_reference_dense(&reference, 0, 0, 0, &row), FCL_OK);
    assert_true(fabs(o[0] - x / (x + y)) < 1e-12);
}

// Finite numbers, however low, hide nothing; what is hidden may be NaN; a visible NaN is seen.
static void biases_at_the_limits(void **state)
{
    (void)state;
    struct case_data c;
    const float low[KEYS] = {-3.402823466e38f, -3.402823466e38f, -3.402823466e38f, -3.402823466e38f,
                             -3.402823466e38f};
    const float some[KEYS] = {0, -INFINITY, -INFINITY, -INFINITY, -INFINITY};
    double o[1];
    struct fcl_reference_row row = {.o = o};
    make(&c, "fwd h1 q3 k5 d1 bias=f32");
    c.reference.bias = (struct fcl_host_tensor){
        .data = low, .dtype = FCL_F32, .strides = {0, 0, FCL_BROADCAST, 1}};
    assert_int_equal(fcl_reference_dense(&c.reference, 0, 0, 1, &row), FCL_OK);
    assert_true(fabs(o[0] - 3) < 1e-12); // the mean of 0, 1, 4, 9, 16 less 3
    assert_int_equal(fcl_reference_model(&c.reference, 0, 0, 1, &row), FCL_OK);
    assert_true(fabs(o[0] - 3) < 1e-6);
    c.reference.bias.data = some;
    c.k[3] = c.v[3] = NAN;
    assert_int_equal(fcl_reference_dense(&c.reference, 0, 0, 1, &row), FCL_OK);
    assert_true(o[0] == -3);
    assert_int_equal(fcl_reference_model(&c.reference, 0, 0, 1, &row), FCL_OK);
    assert_true(o[0] == -3);
    c.k[0] = NAN;
    assert_int_equal(fcl_reference_dense(&c.reference, 0, 0, 1, &row), FCL_OK);
    assert_true(isnan(o[0]));
}

// Beside causality and a bias; each hides on its own.
static void masks_hide(void **state)
{
    (void)state;
    struct case_data c;
    unsigned char bytes[2 * QUERIES * KEYS];
    float bias[KEYS] = {0.5f, -INFINITY, 1, -1, 0};
    double o[1];
    struct fcl_reference_row row = {.o = o};
    make(&c, "fwd h2/1 q3 k5 d1 causal-br bias=f32 mask=u8");
    c.reference.bias = (struct fcl_host_tensor){
        .data = bias, .dtype = FCL_F32, .strides = {0, 0, FCL_BROADCAST, 1}};
    assert_int_equal(fcl_reference_dense(&c.reference, 0, 0, 0, &row), FCL_INVALID_ARGUMENT);
    for (int n = 0; n < 2 * QUERIES * KEYS; n++)
        bytes[n] = n / KEYS == 4 || n % 3 == 1 ? 0 : (unsigned char)(1 << n % 8);
    c.reference.visible = (struct fcl_host_tensor){.data = bytes};
    for (int h = 0; h < 2; h++)
        for (int i = 0; i < QUERIES; i++) {
            double added[KEYS];
            for (int j = 0; j < KEYS; j++)
                added[j] =
                    j > i + 2 || !bytes[(h * QUERIES + i) * KEYS + j] ? -INFINITY : (double)bias[j];
            assert_row(&c, h, i, added);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(standard_slopes_are_those_of_the_paper),
        cmocka_unit_test(given_slopes_are_read),
        cmocka_unit_test(biases_are_added_after_the_cap),
        cmocka_unit_test(biases_at_the_limits),
        cmocka_unit_test(masks_hide),
    };
    return cmocka_run_group_tests_name("reference_scores", tests, NULL, NULL);
}
