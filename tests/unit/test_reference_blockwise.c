// The blockwise recurrence equals the dense reference for every shape, block size and mask.
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>

#include <flashcl/tune.h>

#include "core/common.h"
#include "noise.h"

// Inputs of one problem and a result between NaN.
struct fixture {
    struct fcl_problem problem;
    float *q, *k, *v, *o, *lse;
};

static float *make_floats(int64_t count)
{
    float *data = malloc((size_t)(count + 1) * sizeof *data);
    for (int64_t i = 0; i <= count; i++)
        data[i] = NAN;
    return data;
}

static void open_fixture(struct fixture *f, const char *text)
{
    char reason[256] = "";
    if (fcl_problem_parse(text, &f->problem, reason, sizeof reason) != FCL_OK)
        fail_msg("%s: %s", text, reason);
    const struct fcl_problem *p = &f->problem;
    const int64_t rows_q = p->batch * p->heads_q * p->q_len;
    const int64_t rows_k = p->batch * p->heads_q * p->k_len;
    uint64_t seed = 7;
    f->q = make_floats(rows_q * p->head_dim_qk);
    f->k = make_floats(rows_k * p->head_dim_qk);
    f->v = make_floats(rows_k * p->head_dim_v);
    f->o = make_floats(rows_q * p->head_dim_v);
    f->lse = make_floats(rows_q);
    test_fill_unbalanced(f->q, rows_q, p->head_dim_qk, 3, &seed);
    test_fill_unbalanced(f->k, rows_k, p->head_dim_qk, 3, &seed);
    test_fill_unbalanced(f->v, rows_k, p->head_dim_v, 3, &seed);
}

static void close_fixture(struct fixture *f)
{
    free(f->q);
    free(f->k);
    free(f->v);
    free(f->o);
    free(f->lse);
}

static enum fcl_status run(struct fixture *f, int block)
{
    const struct fcl_problem *p = &f->problem;
    const int64_t leading[2] = {p->batch, p->heads_q};
    return fcl_reference_blockwise(leading, 2, p->q_len, p->k_len, p->head_dim_qk, p->head_dim_v,
                                   f->q, f->k, f->v, p->mask, 0, block, f->o, f->lse);
}

static struct fcl_comparison compare(const struct fixture *f)
{
    const struct fcl_problem *p = &f->problem;
    const struct fcl_reference reference = {
        .problem = p, .q = {.data = f->q}, .k = {.data = f->k}, .v = {.data = f->v}};
    struct fcl_comparison comparison = {0};
    for (int64_t row = 0; row < p->batch * p->heads_q * p->q_len; row++)
        assert_int_equal(fcl_reference_compare(&reference, row / p->q_len / p->heads_q,
                                               row / p->q_len % p->heads_q, row % p->q_len,
                                               f->o + row * p->head_dim_v, 1, f->lse + row, 0,
                                               &comparison),
                         FCL_OK);
    return comparison;
}

static void check(const char *text, int block)
{
    struct fixture f;
    open_fixture(&f, text);
    assert_int_equal(run(&f, block), FCL_OK);
    const struct fcl_comparison comparison = compare(&f);
    if (!(comparison.ratio <= 1))
        fail_msg("%s in blocks of %d: ratio %g at row %d, column %d", text, block, comparison.ratio,
                 (int)comparison.worst_i, (int)comparison.worst_d);
    const int64_t rows = f.problem.batch * f.problem.heads_q * f.problem.q_len;
    assert_true(isnan(f.lse[rows]) && isnan(f.o[rows * f.problem.head_dim_v]));
    close_fixture(&f);
}

static void equals_dense_for_every_length(void **state)
{
    (void)state;
    static const int lengths[] = {0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 65, 127, 129};
    static const char *const masks[] = {"none", "causal-tl", "causal-br"};
    char text[96];
    for (size_t n = 0; n < FCL_COUNT(lengths); n++)
        for (size_t m = 0; m < FCL_COUNT(lengths); m++)
            for (size_t mask = 0; mask < FCL_COUNT(masks); mask++) {
                snprintf(text, sizeof text, "fwd h2 q%d k%d d5 %s", lengths[n], lengths[m],
                         masks[mask]);
                check(text, 16);
            }
}

static void equals_dense_for_every_block_size(void **state)
{
    (void)state;
    static const int blocks[] = {1, 2, 3, 5, 16, 31, 32, 33, 64, 99, 100, 101, 1000, INT32_MAX};
    for (size_t i = 0; i < FCL_COUNT(blocks); i++) {
        check("fwd q9 k100 d8", blocks[i]);
        check("fwd q9 k100 d8 causal-br", blocks[i]);
        check("fwd q100 k9 d8 causal-br", blocks[i]);
        check("fwd q40 k100 d8 causal-tl", blocks[i]);
    }
}

static void equals_dense_for_head_dims_and_batches(void **state)
{
    (void)state;
    check("fwd b2 h3 q5 k70 d1", 32);
    check("fwd b3 h1 q5 k70 d64/3 causal-tl", 32);
    check("fwd b1 h2 q5 k70 d3/64 causal-br", 32);
    check("fwd q3 k1000 d192/128", 64);
}

static void one_block_of_two_keys_by_hand(void **state)
{
    (void)state;
    const float q[1] = {1}, k[3] = {0, 1.0986123f, 100}, v[3] = {8, -4, NAN};
    for (int block = 1; block <= 3; block++) {
        float o[1] = {NAN}, lse[1] = {NAN};
        assert_int_equal(
            fcl_reference_blockwise(NULL, 0, 1, 2, 1, 1, q, k, v, FCL_MASK_NONE, 1, block, o, lse),
            FCL_OK);
        assert_true(fabsf(o[0] + 1) < 1e-6f);
        assert_true(fabsf(lse[0] - logf(4)) < 1e-6f);
    }
}

static void leading_dimensions_are_counted_through(void **state)
{
    (void)state;
    const int64_t leading[3] = {2, 1, 3}, none[2] = {4, 0};
    float q[6], k[6], v[6], o[6], lse[6];
    for (int n = 0; n < 6; n++) {
        q[n] = 1;
        k[n] = (float)n;
        v[n] = (float)(10 * n);
    }
    assert_int_equal(
        fcl_reference_blockwise(leading, 3, 1, 1, 1, 1, q, k, v, FCL_MASK_NONE, 1, 4, o, lse),
        FCL_OK);
    assert_memory_equal(o, v, sizeof o);
    assert_memory_equal(lse, k, sizeof lse);
    assert_int_equal(fcl_reference_blockwise(none, 2, 1, 1, 1, 1, NULL, NULL, NULL, FCL_MASK_NONE,
                                             1, 4, NULL, NULL),
                     FCL_OK);
}

static void empty_rows_are_zero(void **state)
{
    (void)state;
    const float q[3] = {1, 1, 1}, k[1] = {2}, v[1] = {5};
    float o[3] = {NAN, NAN, NAN}, lse[3];
    assert_int_equal(fcl_reference_blockwise(NULL, 0, 3, 1, 1, 1, q, k, v,
                                             FCL_MASK_CAUSAL_BOTTOM_RIGHT, 1, 2, o, lse),
                     FCL_OK);
    assert_true(o[0] == 0 && o[1] == 0 && o[2] == 5);
    assert_true(lse[0] == -INFINITY && lse[1] == -INFINITY && lse[2] == 2);
    o[0] = NAN;
    assert_int_equal(
        fcl_reference_blockwise(NULL, 0, 1, 0, 1, 1, q, NULL, NULL, FCL_MASK_NONE, 1, 2, o, NULL),
        FCL_OK);
    assert_true(o[0] == 0);
}

static void hidden_nan_has_no_influence(void **state)
{
    (void)state;
    const float q[2] = {1, 1}, k[2] = {2, NAN}, v[2] = {5, NAN};
    float o[2];
    assert_int_equal(fcl_reference_blockwise(NULL, 0, 2, 2, 1, 1, q, k, v, FCL_MASK_CAUSAL_TOP_LEFT,
                                             1, 2, o, NULL),
                     FCL_OK);
    assert_true(o[0] == 5 && isnan(o[1]));
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    const int64_t negative[1] = {-1}, huge[2] = {INT64_MAX, 2};
    const float x[1] = {1};
    float o[1];
    static const struct {
        int rank, q_len, k_len, d_qk, d_v, block, mask;
    } bad[] = {{-1, 1, 1, 1, 1, 1, 0}, {0, -1, 1, 1, 1, 1, 0}, {0, 1, -1, 1, 1, 1, 0},
               {0, 1, 1, 0, 1, 1, 0},  {0, 1, 1, 1, 0, 1, 0},  {0, 1, 1, 1, 1, 0, 0},
               {0, 1, 1, 1, 1, 1, 3},  {1, 1, 1, 1, 1, 1, 0}};
    for (size_t i = 0; i < FCL_COUNT(bad); i++)
        assert_int_equal(fcl_reference_blockwise(
                             NULL, bad[i].rank, bad[i].q_len, bad[i].k_len, bad[i].d_qk, bad[i].d_v,
                             x, x, x, (enum fcl_mask)bad[i].mask, 1, bad[i].block, o, NULL),
                         FCL_INVALID_ARGUMENT);
    assert_int_equal(
        fcl_reference_blockwise(negative, 1, 1, 1, 1, 1, x, x, x, FCL_MASK_NONE, 1, 1, o, NULL),
        FCL_INVALID_ARGUMENT);
    assert_int_equal(
        fcl_reference_blockwise(huge, 2, 1, 1, 1, 1, x, x, x, FCL_MASK_NONE, 1, 1, o, NULL),
        FCL_INVALID_ARGUMENT);
    const float *const inputs[4][3] = {{NULL, x, x}, {x, NULL, x}, {x, x, NULL}, {x, x, x}};
    for (int i = 0; i < 4; i++)
        assert_int_equal(fcl_reference_blockwise(NULL, 0, 1, 1, 1, 1, inputs[i][0], inputs[i][1],
                                                 inputs[i][2], FCL_MASK_NONE, 1, 1,
                                                 i == 3 ? NULL : o, NULL),
                         FCL_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_dense_for_every_length),
        cmocka_unit_test(equals_dense_for_every_block_size),
        cmocka_unit_test(equals_dense_for_head_dims_and_batches),
        cmocka_unit_test(one_block_of_two_keys_by_hand),
        cmocka_unit_test(leading_dimensions_are_counted_through),
        cmocka_unit_test(empty_rows_are_zero),
        cmocka_unit_test(hidden_nan_has_no_influence),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
