// The peak's text form and the step of stamps. No device.
#include "cmocka_all.h"

#include "core/peak.h"

static const struct fcl_peak sample = {.gflops = 536.25,
                                       .read_gbs = 40.5,
                                       .copy_gbs = 38.125,
                                       .launch_us = 20.75,
                                       .queued_us = 1.5,
                                       .timer_ns = 0};

#define SAMPLE_TEXT     \
    "gflops 536.25\n"   \
    "read_gbs 40.5\n"   \
    "copy_gbs 38.125\n" \
    "launch_us 20.75\n" \
    "queued_us 1.5\n"   \
    "timer_ns 0\n"

static void writing_and_reading_agree(void **state)
{
    (void)state;
    struct fcl_text text = {0};
    struct fcl_peak peak = {0};
    fcl_peak_write(&sample, &text);
    assert_false(text.failed);
    assert_string_equal(text.data, SAMPLE_TEXT);
    assert_true(fcl_peak_read(text.data, text.length, &peak));
    assert_memory_equal(&peak, &sample, sizeof peak);
    fcl_text_free(&text);
}

static void anything_else_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "gflops 536.25\n", // the rest is missing
        SAMPLE_TEXT "\n",  // something behind it
        "\n" SAMPLE_TEXT,  // before it
        "gflops -536.25\nread_gbs 40.5\ncopy_gbs 38\nlaunch_us 20\nqueued_us 1.5\ntimer_ns 0\n",
        "gflops nan\nread_gbs 40.5\ncopy_gbs 38\nlaunch_us 20\nqueued_us 1.5\ntimer_ns 0\n",
        "gflops\nread_gbs 40.5\ncopy_gbs 38\nlaunch_us 20\nqueued_us 1.5\ntimer_ns 0\n",
        "gflops \nread_gbs 40.5\ncopy_gbs 38\nlaunch_us 20\nqueued_us 1.5\ntimer_ns 0\n",
        "gflops\t5\nread_gbs 40.5\ncopy_gbs 38\nlaunch_us 20\nqueued_us 1.5\ntimer_ns 0\n",
        "gflopz 5\nread_gbs 40.5\ncopy_gbs 38\nlaunch_us 20\nqueued_us 1.5\ntimer_ns 0\n",
        "read_gbs 40.5\ngflops 5\ncopy_gbs 38\nlaunch_us 20\nqueued_us 1.5\ntimer_ns 0\n",
        "gflops 5\nread_gbs 40.5\ncopy_gbs 38\nlaunch_us 20\nqueued_us 1.5\ntimer_ns 0 \n",
    };
    struct fcl_peak peak = sample;
    for (size_t i = 0; i < FCL_COUNT(texts); i++)
        if (fcl_peak_read(texts[i], strlen(texts[i]), &peak))
            fail_msg("text %zu was read", i);
    for (size_t size = 0; size < strlen(SAMPLE_TEXT); size++)
        assert_false(fcl_peak_read(SAMPLE_TEXT, size, &peak));
    assert_memory_equal(&peak, &sample, sizeof peak);
}

static void stamps_have_a_step(void **state)
{
    (void)state;
    const struct {
        uint64_t stamps[5];
        size_t count;
        uint64_t step;
    } cases[] = {
        {{0}, 0, 0},
        {{77}, 1, 0},
        {{77, 77, 77}, 3, 0},
        {{1000, 4000, 11000}, 3, 1000},
        {{11007, 4007, 4007, 1007}, 4, 1000}, // in any order, from any start
        {{96, 160, 1120, 1152, 32}, 5, 32},
        {{10, 11, 1000}, 3, 1},
        {{UINT64_MAX, 1}, 2, UINT64_MAX - 1},
    };
    for (size_t i = 0; i < FCL_COUNT(cases); i++)
        if (fcl_peak_step(cases[i].stamps, cases[i].count) != cases[i].step)
            fail_msg("case %zu", i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writing_and_reading_agree),
        cmocka_unit_test(anything_else_is_refused),
        cmocka_unit_test(stamps_have_a_step),
    };
    return cmocka_run_group_tests_name("peak_text", tests, NULL, NULL);
}
