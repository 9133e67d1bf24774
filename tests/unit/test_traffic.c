// Operations and bytes of `flashcl bench`, against counting and hand-computed numbers.
#include "cmocka_all.h"

#include "traffic.h"

static int64_t count_pairs(const struct fcl_problem *p)
{
    int64_t pairs = 0;
    int bottom = p->mask == FCL_MASK_CAUSAL_BOTTOM_RIGHT || p->mask == FCL_MASK_BOTTOM_RIGHT;
    int causal = p->mask == FCL_MASK_CAUSAL_BOTTOM_RIGHT || p->mask == FCL_MASK_CAUSAL_TOP_LEFT;
    int64_t shift = bottom ? p->k_len - p->q_len : 0;
    for (int64_t i = 0; i < p->q_len; i++) {
        for (int64_t j = 0; j < p->k_len; j++) {
            pairs += (!causal || j <= i + shift) &&
                     (!p->window || ((p->window_left < 0 || j >= i + shift - p->window_left) &&
                                     (p->window_right < 0 || j <= i + shift + p->window_right)));
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

static void pairs_within_windows(void **state)
{
    (void)state;
    for (int mask = FCL_MASK_CAUSAL_TOP_LEFT; mask <= FCL_MASK_BOTTOM_RIGHT; mask++) {
        for (int64_t n = 0; n < 9 * 9 * 6 * 6; n++) {
            const struct fcl_problem p = {.mask = (enum fcl_mask)mask,
                                          .q_len = n % 9,
                                          .k_len = n / 9 % 9,
                                          .window = 1,
                                          .window_left = n / 81 % 6 - 1,
                                          .window_right = n / 486 - 1};
            assert_true(traffic_pairs(&p) == (double)count_pairs(&p));
        }
    }
}

// Keys outside of a window are not read.
static void bytes_within_a_window(void **state)
{
    (void)state;
    struct fcl_problem p = {.batch = 1,
                            .heads_q = 1,
                            .heads_kv = 1,
                            .q_len = 2,
                            .k_len = 1000,
                            .head_dim_qk = 8,
                            .head_dim_v = 8,
                            .mask = FCL_MASK_CAUSAL_BOTTOM_RIGHT,
                            .window = 1,
                            .window_left = 99,
                            .window_right = -1};
    assert_true(traffic_bytes(&p, FCL_FUSED) == 4 * 8 * (2 + 101 + 101 + 2));
    p.mask = FCL_MASK_TOP_LEFT;
    p.window_right = 5;
    assert_true(traffic_bytes(&p, FCL_FUSED) == 4 * 8 * (2 + 7 + 7 + 2));
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

// The first N whose matrix is larger, by counting.
static void outgrowing_is_exact(void **state)
{
    (void)state;
    struct fcl_problem p = {.batch = 1, .heads_q = 3, .q_len = 7, .k_len = 7, .dtype_q = FCL_F16};
    for (uint64_t bytes = 0; bytes < 3000; bytes++) {
        int64_t n = 0;
        while (3 * 2 * (uint64_t)(n * n) <= bytes)
            n++;
        assert_int_equal(traffic_outgrows(&p, bytes), n);
    }
    p.k_len = 8;
    for (uint64_t bytes = 0; bytes < 3000; bytes++)
        assert_int_equal(traffic_outgrows(&p, bytes), bytes / (3 * 7 * 2) + 1);
    p.q_len = 0;
    assert_int_equal(traffic_outgrows(&p, 5), 0);
    assert_true(traffic_score_bytes(&p) == 0);
    p.q_len = p.k_len = 1;
    assert_int_equal(traffic_outgrows(&p, UINT64_MAX), 1753413057); // sqrt(2^64 / 6) = 1753413056.2
    p.k_len = 0;
    p.heads_q = 1;
    p.dtype_q = FCL_F32;
    assert_int_equal(traffic_outgrows(&p, UINT64_MAX), 0); // 2^62 keys are never
}

static void the_largest_limit_is_named(void **state)
{
    (void)state;
    const struct fcl_problem p = {.batch = 1,
                                  .heads_q = 1,
                                  .heads_kv = 1,
                                  .q_len = 1000,
                                  .k_len = 1000,
                                  .head_dim_qk = 50,
                                  .head_dim_v = 50};
    const double operations = 2.0 * 1000 * 1000 * 100, bytes = 4.0 * 1000 * 50 * 4;
    const struct fcl_peak peaks[] = {
        {.gflops = 1, .read_gbs = 1, .launch_us = 1, .queued_us = 1},
        {.gflops = 1000, .read_gbs = 1, .launch_us = 1, .queued_us = 1},
        {.gflops = 1000, .read_gbs = 1000, .launch_us = 500, .queued_us = 7}};
    static const char *const names[] = {"compute", "memory", "launch"};
    for (size_t i = 0; i < 3; i++) {
        const struct traffic_limits limits = traffic_limits(&p, FCL_FUSED, &peaks[i], 3);
        assert_string_equal(limits.name, names[i]);
        assert_float_equal(limits.compute_ms, operations / peaks[i].gflops / 1e6, 1e-9);
        assert_float_equal(limits.memory_ms, bytes / peaks[i].read_gbs / 1e6, 1e-9);
        assert_float_equal(limits.launch_ms, (peaks[i].launch_us + 2 * peaks[i].queued_us) / 1e3,
                           1e-9);
    }
}

// Sequences of different lengths count for what they are: 8 and 3 eighths.
static void sequences_add_up(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "fwd b2 h2 q80 k160 d8 causal-br varlen lse", "fwd b2 h2 q80 k160 d8 causal-br used lse",
        "fwd h2 q80 k160 d8 causal-br lse", "fwd h2 q30 k60 d8 causal-br lse"};
    double operations[4], bytes[4];
    for (int i = 0; i < 4; i++) {
        struct fcl_problem p;
        assert_int_equal(fcl_problem_parse(texts[i], &p, NULL, 0), FCL_OK);
        operations[i] = traffic_operations(&p);
        bytes[i] = traffic_bytes(&p, FCL_FUSED);
    }
    for (int i = 0; i < 2; i++) {
        assert_true(operations[i] == operations[2] + operations[3]);
        assert_true(bytes[i] == bytes[2] + bytes[3]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequences_add_up),
        cmocka_unit_test(pairs_are_those_that_counting_finds),
        cmocka_unit_test(pairs_within_windows),
        cmocka_unit_test(bytes_within_a_window),
        cmocka_unit_test(operations),
        cmocka_unit_test(bytes),
        cmocka_unit_test(the_ratio_is_one_plus_n_over_d),
        cmocka_unit_test(the_roof_that_binds),
        cmocka_unit_test(without_a_peak_there_is_no_roof),
        cmocka_unit_test(outgrowing_is_exact),
        cmocka_unit_test(the_largest_limit_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
