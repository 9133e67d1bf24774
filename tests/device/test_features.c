// What may be added to plain attention - windows, caps, slopes, sinks - on every
// usable family against the double-precision reference. Numbers in comments are rows of the list of
// inputs that broke other implementations.
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>

#include "attention.h"

static struct test_opencl opencl;

// 12, 14, 16: windows on either side of where a query stands, by either alignment, with and without
// causality, wider than the keys, beside them, with tails, packed heads, split keys.
static void windows(void **state)
{
    (void)state;
    TEST_PROBLEMS(&opencl, "fwd b2 h4/2 q70 k133 d20 causal-br win=33,-1 lse",
                  "fwd h2 q70 k133 d20 br win=17,40 lse", "fwd h2 q133 k70 d20/12 tl win=30,2 lse",
                  "fwd h2 q133 k70 d20 br win=0,0 lse", "fwd h2 q70 k133 d20 tl win=-1,3 lse",
                  "fwd h2 q70 k133 d20 tl win=5,-1 lse", "fwd h2 q70 k133 d24 f16 br win=31,0 lse",
                  "fwd h2 q70 k133 d24 bf16 causal-tl win=12,50",
                  "fwd h2 q40 k20 d16 tl win=300,300", "fwd h6/2 q3 k200 d16 br win=70,-1 lse",
                  "fwd h6/2 q2 k200 d16 causal-br win=1,0 lse",
                  "fwd h2 q300 k33 d16 tl win=20,1 lse", "fwd h2 q9 k0 d16 br win=4,4 lse",
                  "lse h2 q70 k133 d20 br win=17,40");
}

// The window is an argument: one plan serves every size, and both alignments are what was asked
// for.
static void windows_are_arguments(void **state)
{
    (void)state;
    static const char *const masks[] = {"tl", "br", "causal-tl", "causal-br"};
    static const int64_t sizes[][2] = {{0, 0},   {1, 0},    {0, 1},     {15, 16},          {16, 15},
                                       {31, 33}, {100, 17}, {300, 300}, {1 << 30, 1 << 30}};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        char configs[TEST_CONFIGS][96], text[96];
        struct test_attention a;
        snprintf(text, sizeof text, "fwd h2 q49 k80 d8 lse %s win=3,3", masks[i]);
        test_attention_init(&a, text);
        const int count = test_configs(&opencl, &a.problem, configs);
        for (int c = 0; c < count; c++) {
            fcl_plan *plan = test_plan(&opencl, &a.problem, FCL_FUSED, configs[c]);
            for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
                a.problem.window_left = sizes[n][0];
                a.problem.window_right = sizes[n][1];
                test_attention_judge(&opencl, &a, plan, 0);
            }
            fcl_plan_destroy(&plan);
        }
        test_attention_free(&a);
    }
}

// 13: causality, and a window that reaches from the first key to where a query stands, show the
// same keys.
static void windows_as_wide_as_causality(void **state)
{
    (void)state;
    static const char *const problems[] = {"fwd q16384 d8 causal-br lse",
                                           "fwd q16384 d8 br win=16383,0 lse"};
    struct test_attention a[2];
    for (int i = 0; i < 2; i++) {
        test_attention_init(&a[i], problems[i]);
        fcl_plan *plan = test_plan(&opencl, &a[i].problem, FCL_FUSED, NULL);
        assert_int_equal(test_attention_run(&opencl, &a[i], plan), FCL_OK);
        fcl_plan_destroy(&plan);
    }
    for (int64_t i = 0; i < 16384; i++) {
        assert_true(fabsf(a[0].lse[i] - a[1].lse[i]) <= 1e-5f * (1 + fabsf(a[0].lse[i])));
        float largest = 0, off = 0;
        for (int64_t d = 0; d < 8; d++) {
            const float x = test_tensor_get(&a[0].o, 0, 0, i, d);
            largest = fmaxf(largest, fabsf(x));
            off = fmaxf(off, fabsf(x - test_tensor_get(&a[1].o, 0, 0, i, d)));
        }
        assert_true(off <= 1e-4f * largest);
    }
    for (int i = 0; i < 2; i++)
        test_attention_free(&a[i]);
}

// 3: with guard-v, V rows that a window left behind may be NaN.
static void values_behind_a_window(void **state)
{
    (void)state;
    struct test_attention a;
    test_attention_init(&a, "fwd h6/2 q3 k70 d20 br win=9,3 guard-v lse");
    for (int64_t j = 0; j < 70 - 3 - 9; j++)
        for (int64_t d = 0; d < 20; d++)
            test_tensor_set(&a.v, 0, j % 2, j, d, NAN);
    test_attention_everywhere(&opencl, &a);
    test_attention_free(&a);
}

// 28: caps come before masks; small ones, large ones, with every other thing that scores meet.
static void softcaps(void **state)
{
    (void)state;
    TEST_PROBLEMS(&opencl, "fwd b2 h4/2 q70 k133 d20 causal-br softcap=5 lse",
                  "fwd h2 q70 k133 d20 softcap=1 lse", "fwd h2 q70 k133 d24 f16 softcap=50 lse",
                  "fwd h2 q133 k70 d24 bf16 tl win=9,20 softcap=3",
                  "fwd h6/2 q3 k200 d16 causal-br softcap=2 lse", "lse h2 q70 k133 d20 softcap=4");
    struct test_attention a;
    test_attention_init(&a, "fwd h2 q40 k70 d24 f16 softcap=30 lse");
    a.scale = -1.5f;
    a.softcap = 7.25f;
    test_attention_everywhere(&opencl, &a);
    test_attention_free(&a);
}

// 27: slopes of a power of two of heads and of other counts, from either corner, on both sides of
// where a query stands, with packed heads, split keys and what else meets a score.
static void slopes(void **state)
{
    (void)state;
    TEST_PROBLEMS(
        &opencl, "fwd b2 h3 q70 k133 d20 causal-br alibi lse", "fwd h6/2 q133 k70 d20 br alibi lse",
        "fwd h12/3 q3 k200 d16 tl alibi lse", "fwd h40/8 q2 k200 d16 br alibi lse",
        "fwd h4 q70 k133 d24 f16 tl alibi", "fwd h6/2 q3 k200 d16 causal-br alibi=given lse",
        "fwd b2 h2 q40 k70 d24 bf16 br alibi=given", "fwd h6/2 q5 k0 d16 br alibi lse",
        "lse h3 q70 k133 d20 tl alibi", "fwd h3 q70 k133 d20 br win=30,9 softcap=4 alibi sink lse");
    struct test_attention a;
    test_attention_init(&a, "fwd h3 q40 k70 d24 tl alibi=given lse");
    a.slopes[0] = 3e37f; // all but the nearest key are at the floor
    a.slopes[1] = 0.0f;
    a.slopes[2] = -0.5f;
    test_attention_everywhere(&opencl, &a);
    test_attention_free(&a);
}

// 6: sinks, also of rows without keys, packed heads, split keys and no keys at all.
static void sinks(void **state)
{
    (void)state;
    TEST_PROBLEMS(&opencl, "fwd b2 h4/2 q70 k133 d20 causal-br sink lse",
                  "fwd h4/2 q133 k70 d20 causal-br sink lse", "fwd h2 q70 k133 d24 f16 sink",
                  "fwd b2 h6/2 q3 k200 d16 causal-br sink lse", "fwd h6/2 q5 k0 d16 sink lse",
                  "lse h4/2 q70 k133 d20 sink", "fwd h6/2 q9 k4 d20 causal-br sink lse",
                  "fwd h2 q70 k133 d20 tl win=3,3 softcap=4 sink lse");
    struct test_attention a;
    test_attention_init(&a, "fwd h3 q40 k20 d24 causal-br sink lse");
    a.sinks[0] = -INFINITY;
    a.sinks[1] = 80.0f;
    a.sinks[2] = -90.0f;
    test_attention_everywhere(&opencl, &a);
    test_attention_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows),
        cmocka_unit_test(windows_are_arguments),
        cmocka_unit_test(windows_as_wide_as_causality),
        cmocka_unit_test(values_behind_a_window),
        cmocka_unit_test(softcaps),
        cmocka_unit_test(slopes),
        cmocka_unit_test(sinks),
    };
    if (!test_opencl_open(&opencl, NULL))
        return 77;
    const int failed = cmocka_run_group_tests_name("features", tests, NULL, NULL);
    test_opencl_close(&opencl);
    return failed;
}
