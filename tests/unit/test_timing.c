// Judging clocks and samples, with invented stamps. No device.
#include "cmocka_all.h"

#include <math.h>

#include "core/timing.h"

static void near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected) + 1e-12))
        fail_msg("%.17g is not near %.17g", value, expected);
}

static void stamps_become_durations(void **state)
{
    (void)state;
    near(fcl_stamps_ms((struct fcl_stamps){1, 1000000, 3500000}), 2.5);
    near(fcl_stamps_ms((struct fcl_stamps){1, UINT64_MAX - 1000, UINT64_MAX}), 1e-3);
    near(fcl_stamps_ms((struct fcl_stamps){1, 1, 2}), 1e-6);
}

static void stamps_that_are_no_duration_are_negative(void **state)
{
    (void)state;
    const struct fcl_stamps bad[] = {
        {0, 100, 200},      // refused
        {1, 0, 0},          // all zero
        {1, 0, 500},        // never started
        {1, 500, 0},        // never ended
        {1, 500, 500},      // equal
        {1, 500, 499},      // reversed by the least
        {1, UINT64_MAX, 1}, // reversed by the most
    };
    for (size_t i = 0; i < FCL_COUNT(bad); i++)
        assert_true(fcl_stamps_ms(bad[i]) < 0);
}

static void clocks_are_judged(void **state)
{
    (void)state;
    const struct {
        double event, wall;
        enum fcl_clock clock;
    } cases[] = {
        {9.9, 10, FCL_CLOCK_EVENT},
        {10.5, 10, FCL_CLOCK_EVENT},
        {10.51, 10, FCL_CLOCK_WALL},
        {10 * 41.7, 10, FCL_CLOCK_WALL}, // a factor that Apple's driver has
        {10 / 41.7, 10, FCL_CLOCK_WALL},
        {2.0, 10, FCL_CLOCK_EVENT},
        {1.99, 10, FCL_CLOCK_WALL},
        {0.001, 4.99, FCL_CLOCK_EVENT}, // short: launching costs more than the kernel
        {0.99, 5, FCL_CLOCK_WALL},
        {1, 5, FCL_CLOCK_EVENT},
        {-1, 10, FCL_CLOCK_WALL},
        {0, 10, FCL_CLOCK_WALL},
        {1, 0, FCL_CLOCK_WALL},
        {NAN, 10, FCL_CLOCK_WALL},
        {1, NAN, FCL_CLOCK_WALL},
        {INFINITY, 10, FCL_CLOCK_WALL},
    };
    for (size_t i = 0; i < FCL_COUNT(cases); i++)
        if (fcl_timing_judge(cases[i].event, cases[i].wall) != cases[i].clock)
            fail_msg("case %zu", i);
}

static void batches_reach_the_clock(void **state)
{
    (void)state;
    const struct {
        double one_ms;
        uint64_t resolution_ns;
        double batch_ms;
        int batch;
    } cases[] = {
        {5, 1, 0, 1},         {1, 1, 0, 1},
        {0.999, 1, 0, 2},     {0.5, 1, 0, 2},
        {0.25, 0, 0, 4},      {0.3, 1, 0, 4},
        {0.01, 1000, 0, 100}, {1, 100000, 0, 10}, // 100 resolutions are 10 ms
        {10, 100000, 0, 1},   {3, 100000, 0, 4},
        {1e-9, 1, 0, 65536},  {0, 1, 0, 65536},
        {-1, 1, 0, 65536},    {NAN, 1, 0, 65536},
        {HUGE_VAL, 1, 0, 1},  {1e-3, UINT64_MAX, 0, 65536},
        {0.5, 1, 100, 200},                     // as long as asked for
        {30, 1, 100, 4},      {0.5, 1, 0.1, 2}, // but never shorter than the clock needs
        {1, 100000, 3, 10},   {0.5, 1, -1, 2},
        {0.5, 1, NAN, 2},     {1e-3, 1, 100, 65536},
    };
    for (size_t i = 0; i < FCL_COUNT(cases); i++) {
        const int batch = fcl_timing_batch(
            cases[i].one_ms, fcl_timing_least(cases[i].resolution_ns, cases[i].batch_ms, 5));
        if (batch != cases[i].batch)
            fail_msg("case %zu: %d", i, batch);
    }
}

// Together at least 5 ms.
static void few_samples_are_longer(void **state)
{
    (void)state;
    near(fcl_timing_least(1, 0, 1), 5);
    near(fcl_timing_least(1, 0, 2), 2.5);
    near(fcl_timing_least(1, 0, 9), 1);
    near(fcl_timing_least(1, 30, 1), 30);
}

static void samples_are_summarised(void **state)
{
    (void)state;
    struct fcl_timing timing = {.clock = FCL_CLOCK_WALL, .batch = 3};
    double odd[] = {5, 1, 4, 2, 3};
    fcl_timing_summarise(odd, 5, &timing);
    near(timing.median_ms, 3);
    near(timing.min_ms, 1);
    near(timing.spread, (4.0 - 2.0) / 3);
    assert_int_equal(timing.samples, 5);
    assert_int_equal(timing.batch, 3);
    assert_int_equal(timing.clock, FCL_CLOCK_WALL);
    assert_int_equal(timing.kept, 5);
    assert_memory_equal(timing.times_ms, ((const double[]){5, 1, 4, 2, 3}), 5 * sizeof(double));
    double even[] = {4, 1, 2, 3};
    fcl_timing_summarise(even, 4, &timing);
    near(timing.median_ms, 2.5);
    near(timing.spread, (3.25 - 1.75) / 2.5);
    double one[] = {7};
    fcl_timing_summarise(one, 1, &timing);
    near(timing.median_ms, 7);
    near(timing.min_ms, 7);
    near(timing.spread, 0);
}

// There is room for so many.
static void the_first_samples_are_kept(void **state)
{
    (void)state;
    struct fcl_timing timing = {0};
    double times[FCL_TIMING_KEPT + 1];
    for (int i = 0; i <= FCL_TIMING_KEPT; i++)
        times[i] = 100 - i;
    fcl_timing_summarise(times, FCL_TIMING_KEPT + 1, &timing);
    assert_int_equal(timing.samples, FCL_TIMING_KEPT + 1);
    assert_int_equal(timing.kept, FCL_TIMING_KEPT);
    for (int i = 0; i < FCL_TIMING_KEPT; i++)
        near(timing.times_ms[i], 100 - i);
    fcl_timing_summarise(times, 0, &timing);
    assert_int_equal(timing.kept, 0);
}

static void no_samples_are_zero(void **state)
{
    (void)state;
    struct fcl_timing timing = {.median_ms = 9, .min_ms = 9, .spread = 9};
    double zeros[] = {0, 0};
    fcl_timing_summarise(zeros, 0, &timing);
    near(timing.median_ms, 0);
    near(timing.min_ms, 0);
    assert_int_equal(timing.samples, 0);
    fcl_timing_summarise(zeros, 2, &timing);
    near(timing.spread, 0); // not 0/0
}

static void clocks_have_names(void **state)
{
    (void)state;
    assert_string_equal(fcl_clock_text(FCL_CLOCK_EVENT), "event");
    assert_string_equal(fcl_clock_text(FCL_CLOCK_WALL), "wall");
    assert_string_equal(fcl_clock_text((enum fcl_clock)5), "unknown clock");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stamps_become_durations),
        cmocka_unit_test(stamps_that_are_no_duration_are_negative),
        cmocka_unit_test(clocks_are_judged),
        cmocka_unit_test(batches_reach_the_clock),
        cmocka_unit_test(few_samples_are_longer),
        cmocka_unit_test(samples_are_summarised),
        cmocka_unit_test(the_first_samples_are_kept),
        cmocka_unit_test(no_samples_are_zero),
        cmocka_unit_test(clocks_have_names),
    };
    return cmocka_run_group_tests_name("timing", tests, NULL, NULL);
}
