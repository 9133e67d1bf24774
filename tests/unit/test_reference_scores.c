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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(standard_slopes_are_those_of_the_paper),
        cmocka_unit_test(given_slopes_are_read),
    };
    return cmocka_run_group_tests_name("reference_scores", tests, NULL, NULL);
}
