// Operations and bytes of `flashcl bench`, against counting and hand-computed numbers.
#include "cmocka_all.h"

#include "traffic.h"

static int64_t count_pairs(const struct fcl_problem *p)
{
    int64_t pairs = 0;
    int64_t shift = p->mask == FCL_MASK_CAUSAL_BOTTOM_RIGHT ? p->k_len - p->q_len : 0;
    for (int64_t i = 0; i < p->q_len; i++) {
        for (int64_t j = 0; j < p->k_len; j++) {
            pairs += p->mask == FCL_MASK_NONE || j <= i + shift;
        }
    }
    return pairs;
}

static void pairs_are_those_that_counting_finds(void **state)
{
    (void)state;
    static const enum fcl_mask masks[] = {FCL_MASK_NONE, FCL_MASK_CAUSAL_TOP_LEFT,
                                          FCL_MASK_CAUSAL_BOTTOM_RIGHT};
    for (int m = 0; m < 3; m++) {
        for (int64_t q = 0; q < 12; q++) {
            for (int64_t k = 0; k < 12; k++) {
                const struct fcl_problem p = {.mask = masks[m], .q_len = q, .k_len = k};
                assert_true(traffic_pairs(&p) == (double)count_pairs(&p));
            }
        }
    }
}

static void operations(void **state)
{
    (void)state;
    struct fcl_problem p = {.batch = 2,
                            .heads_q = 6,
                            .heads_kv = 3,
                            .q_len = 10,
                            .k_len = 20,
                            .head_dim_qk = 8,
                            .head_dim_v = 4};
    assert_true(traffic_operations(&p) == 2.0 * 2 * 6 * 10 * 20 * (8 + 4));
    p.pass = FCL_PASS_STATISTICS;
    assert_true(traffic_operations(&p) == 2.0 * 2 * 6 * 10 * 20 * 8);
}

static void bytes(void **state)
{
    (void)state;
    struct fcl_problem p = {.batch = 2,
                            .heads_q = 6,
                            .heads_kv = 3,
                            .q_len = 10,
                            .k_len = 30,
                            .head_dim_qk = 8,
                            .head_dim_v = 4,
                            .dtype_q = FCL_F16,
                            .dtype_k = FCL_F16,
                            .dtype_v = FCL_BF16,
                            .dtype_o = FCL_F32};
    double q = 2 * 6 * 10 * 8 * 2, k = 2 * 3 * 30 * 8 * 2, v = 2 * 3 * 30 * 4 * 2,
           o = 2 * 6 * 10 * 4 * 4, lse = 2 * 6 * 10 * 4, scores = 2 * 6 * 10 * 30 * 2;
    assert_true(traffic_bytes(&p, FCL_FUSED) == q + k + v + o);
    assert_true(traffic_bytes(&p, FCL_UNFUSED) == q + k + v + o + 4 * scores);
    p.lse = 1;
    assert_true(traffic_bytes(&p, FCL_FUSED) == q + k + v + o + lse);
    p.pass = FCL_PASS_STATISTICS;
    assert_true(traffic_bytes(&p, FCL_FUSED) == q + k + lse);
}

static void the_ratio_is_one_plus_n_over_d(void **state)
{
    (void)state;
    const struct fcl_problem p = {.batch = 1,
                                  .heads_q = 8,
                                  .heads_kv = 8,
                                  .q_len = 4096,
                                  .k_len = 4096,
                                  .head_dim_qk = 64,
                                  .head_dim_v = 64,
                                  .dtype_q = FCL_F16,
                                  .dtype_k = FCL_F16,
                                  .dtype_v = FCL_F16,
                                  .dtype_o = FCL_F16};
    assert_true(traffic_bytes(&p, FCL_UNFUSED) / traffic_bytes(&p, FCL_FUSED) == 1 + 4096 / 64);
}

// 2 x 8 heads x 64 x 64 pairs x 128 operations; 4 tensors of 8 x 64 x 64 floats.
static void the_roof_that_binds(void **state)
{
    (void)state;
    const struct fcl_problem p = {.batch = 1,
                                  .heads_q = 8,
                                  .heads_kv = 8,
                                  .q_len = 64,
                                  .k_len = 64,
                                  .head_dim_qk = 64,
                                  .head_dim_v = 64};
    double operations = 2.0 * 8 * 64 * 64 * 128, bytes = 4.0 * 8 * 64 * 64 * 4;
    struct fcl_peak peak = {.gflops = 150, .read_gbs = 10};
    struct traffic_roof roof = {0};
    assert_true(traffic_roof(&p, FCL_FUSED, &peak, &roof));
    assert_string_equal(roof.name, "compute");
    assert_true(roof.intensity == operations / bytes);
    assert_float_equal(roof.ms, operations / 150e9 * 1e3, 1e-9);
    peak.gflops = 170; // the ridge, 17 operations a byte, is beyond the intensity of 16
    assert_true(traffic_roof(&p, FCL_FUSED, &peak, &roof));
    assert_string_equal(roof.name, "memory");
    assert_float_equal(roof.ms, bytes / 10e9 * 1e3, 1e-9);
    assert_true(traffic_roof(&p, FCL_UNFUSED, &peak, &roof));
    assert_true(roof.intensity == operations / (2 * bytes));
}

static void without_a_peak_there_is_no_roof(void **state)
{
    (void)state;
    struct fcl_problem p = {.batch = 1, .heads_q = 1, .heads_kv = 1, .q_len = 8, .k_len = 8};
    struct traffic_roof roof;
    p.head_dim_qk = p.head_dim_v = 8;
    assert_false(traffic_roof(&p, FCL_FUSED, &(struct fcl_peak){.gflops = 1}, &roof));
    assert_false(traffic_roof(&p, FCL_FUSED, &(struct fcl_peak){.read_gbs = 1}, &roof));
    p.batch = 0;
    const struct fcl_peak peak = {.gflops = 1, .read_gbs = 1};
    assert_false(traffic_roof(&p, FCL_FUSED, &peak, &roof));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_those_that_counting_finds),
        cmocka_unit_test(operations),
        cmocka_unit_test(bytes),
        cmocka_unit_test(the_ratio_is_one_plus_n_over_d),
        cmocka_unit_test(the_roof_that_binds),
        cmocka_unit_test(without_a_peak_there_is_no_roof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
