// What `flashcl explain` works out, on a device with round numbers, against hand-computed ones.
#include "cmocka_all.h"

#include <math.h>

#include "explanation.h"

static const struct fcl_caps caps = {.gpu = 1,
                                     .compute_units = 40,
                                     .group_size = 1024,
                                     .local_bytes = 49152,
                                     .cache_bytes = 1 << 20,
                                     .allocation_bytes = 1 << 28,
                                     .global_bytes = 1 << 30,
                                     .c_version = 120};
static const struct fcl_peak peak = {
    .gflops = 1000, .read_gbs = 100, .launch_us = 10, .queued_us = 2};

static struct fcl_problem problem;

static struct explanation explain(const char *text, const char *config, const struct fcl_peak *of)
{
    struct explanation e = {.problem = &problem, .caps = &caps};
    char reason[256] = "";
    if (fcl_problem_parse(text, &problem, reason, sizeof reason))
        fail_msg("%s: %s", text, reason);
    if (of != NULL)
        e.peak = *of;
    if (config != NULL) {
        assert_int_equal(fcl_config_parse(config, &e.config, reason, sizeof reason), FCL_OK);
        e.origin = "default";
    }
    explanation_complete(&e);
    return e;
}

static void near(double actual, double expected)
{
    if (!(fabs(actual - expected) <= 1e-9 * expected))
        fail_msg("%.15g, expected is %.15g", actual, expected);
}

static void a_square_problem(void **state)
{
    (void)state;
    const struct explanation e = explain("fwd h8 q1024 d64 f16", "generic_m32n32w64r4d64", &peak);
    near(e.operations, 4.0 * 8 * 1024 * 1024 * 64);
    near(e.fused.bytes, 4.0 * 8 * 1024 * 64 * 2);
    near(e.unfused.bytes, 4.0 * 8 * 1024 * 64 * 2 + 4.0 * 8 * 1024 * 1024 * 2);
    near(e.fused.intensity, 512);
    near(e.score_bytes, 8.0 * 1024 * 1024 * 2);
    near(e.ridge, 10);
    assert_int_equal(e.peak_known, 1);
    assert_int_equal(e.cache_n, 257); // 8 x 256 x 256 x 2 bytes are just as many as the cache has
    assert_int_equal(e.buffer_n, 4097);
    assert_int_equal(e.memory_n, 8193);
    assert_int_equal(e.fused.launches, 1);
    assert_int_equal(e.unfused.launches, 3);
    near(e.fused.limits.compute_ms, 2.147483648);
    near(e.fused.limits.memory_ms, 0.04194304);
    near(e.fused.limits.launch_ms, 0.010);
    near(e.unfused.limits.memory_ms, 0.71303168);
    near(e.unfused.limits.launch_ms, 0.014);
    assert_string_equal(e.fused.limits.name, "compute");
    assert_string_equal(e.unfused.limits.name, "compute");
    assert_int_equal(e.budget.local_bytes, 33280);
}

// Decode: few operations a byte. Split keys need a second kernel.
static void a_problem_of_one_query(void **state)
{
    (void)state;
    const struct explanation e =
        explain("fwd h32/8 q1 k65536 d128 f16", "row_m4n256l8k1c2s4", &peak);
    assert_int_equal(e.fused.launches, 2);
    near(e.fused.limits.launch_ms, 0.012);
    assert_string_equal(e.fused.limits.name, "memory");
    assert_string_equal(e.unfused.limits.name, "memory");
    assert_int_equal(e.cache_n, (1 << 20) / (32 * 2) + 1);
    assert_true(e.unfused.bytes > e.fused.bytes);
}

static void a_small_problem_is_limited_by_launches(void **state)
{
    (void)state;
    const struct explanation e = explain("fwd q64 d64", "generic_m32n32w64r4d64", &peak);
    assert_string_equal(e.fused.limits.name, "launch");
    assert_string_equal(e.unfused.limits.name, "launch");
}

static void what_is_not_known_is_left_out(void **state)
{
    (void)state;
    struct explanation e = explain("fwd q64 d64", NULL, NULL);
    assert_int_equal(e.peak_known, 0);
    assert_true(isnan(e.ridge));
    assert_int_equal(e.budget.registers, 0);
    assert_null(e.fused.limits.name);
    const struct fcl_caps nothing = {.gpu = 1};
    e.caps = &nothing;
    explanation_complete(&e);
    assert_int_equal(e.cache_n, 0);
    assert_int_equal(e.memory_n, 0);
}

static void statistics_have_no_unfused_form(void **state)
{
    (void)state;
    const struct explanation e = explain("lse q64 d64", "generic_m32n32w64r4d64", &peak);
    assert_true(isnan(e.unfused.bytes));
    assert_null(e.unfused.limits.name);
    assert_int_equal(e.unfused.launches, 0);
    assert_string_equal(e.fused.limits.name, "launch");
}

// The text says what the values say, also where there are none.
static void texts_hold_the_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *problem, *config;
        const struct fcl_peak *peak;
        const char *words[6];
    } rows[] = {
        {"fwd h8 q1024 d64 f16",
         "generic_m32n32w64r4d64",
         &peak,
         {"1.05 M pairs", "71.3 M", "from N = 257 ", "is 10 operations a byte",
          "limited by          compute      compute\n", "local_bytes           33280"}},
        {"lse q64 d64",
         "generic_m32n32w64r4d64",
         &peak,
         {"no unfused form", "launch            -"}},
        {"fwd q0 d8", NULL, NULL, {"peak is not known", "No configuration is valid", "0 pairs"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        const struct explanation e = explain(rows[i].problem, rows[i].config, rows[i].peak);
        explanation_print(&e, out);
        fclose(out);
        for (size_t j = 0; j < 6 && rows[i].words[j] != NULL; j++)
            if (strstr(text, rows[i].words[j]) == NULL)
                fail_msg("no \"%s\" in: %s", rows[i].words[j], text);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_square_problem),
        cmocka_unit_test(a_problem_of_one_query),
        cmocka_unit_test(a_small_problem_is_limited_by_launches),
        cmocka_unit_test(what_is_not_known_is_left_out),
        cmocka_unit_test(statistics_have_no_unfused_form),
        cmocka_unit_test(texts_hold_the_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
