// Statuses, reasons, the log and versioned structs.
#include "cmocka_all.h"

#include "capture.h"
#include "core/common.h"

struct versioned {
    size_t struct_size;
    int old;
    int added;
};

static void statuses_are_pinned_and_have_sentences(void **state)
{
    (void)state;
    assert_int_equal(FCL_OK, 0);
    assert_int_equal(FCL_IO_ERROR, 9);
    assert_string_equal(fcl_status_text(FCL_OK), "success");
    assert_string_equal(fcl_status_text(FCL_UNSUPPORTED),
                        "valid, but no kernel family can do it on this device");
    assert_string_equal(fcl_status_text((enum fcl_status)77), "unknown status");
    assert_string_equal(fcl_version(), "0.1.0");
}

static void element_sizes(void **state)
{
    (void)state;
    assert_int_equal(fcl_dtype_size(FCL_F32), 4);
    assert_int_equal(fcl_dtype_size(FCL_F16), 2);
    assert_int_equal(fcl_dtype_size(FCL_BF16), 2);
    assert_int_equal(fcl_dtype_size((enum fcl_dtype)9), 0);
}

static void reasons_are_cut_and_may_be_missing(void **state)
{
    (void)state;
    char reason[8] = "unused";
    assert_int_equal(fcl_fail(reason, sizeof reason, FCL_IO_ERROR, "%d apples", 12), FCL_IO_ERROR);
    assert_string_equal(reason, "12 appl");
    assert_int_equal(fcl_fail(NULL, 8, FCL_UNSUPPORTED, "x"), FCL_UNSUPPORTED);
    assert_int_equal(fcl_fail(reason, 0, FCL_UNSUPPORTED, "x"), FCL_UNSUPPORTED);
    assert_string_equal(reason, "12 appl");
}

static void log_respects_the_level(void **state)
{
    (void)state;
    struct test_capture capture = {0};
    struct fcl_log log = test_capture_log(&capture);
    log.level = FCL_LOG_WARNING;
    fcl_log_write(&log, FCL_LOG_ERROR, "one %d", 1);
    fcl_log_write(&log, FCL_LOG_WARNING, "two");
    fcl_log_write(&log, FCL_LOG_INFO, "three");
    fcl_log_write(&log, FCL_LOG_NONE, "four");
    fcl_log_write(NULL, FCL_LOG_ERROR, "five");
    assert_string_equal(capture.text, "one 1\ntwo\n");
    const struct fcl_log silent = {0};
    fcl_log_write(&silent, FCL_LOG_ERROR, "six");
}

static void long_messages_arrive_whole(void **state)
{
    (void)state;
    // Around the size of the buffer on the stack.
    for (int length = 509; length < 515; length++) {
        struct test_capture capture = {0};
        const struct fcl_log log = test_capture_log(&capture);
        fcl_log_write(&log, FCL_LOG_ERROR, "%*d", length, 7);
        assert_int_equal(capture.length, length + 1);
        assert_int_equal(capture.text[length - 1], '7');
    }
}

static void structs_of_older_callers_are_filled_up(void **state)
{
    (void)state;
    struct versioned today;
    struct versioned given = {offsetof(struct versioned, added), 5, 6};
    memset(&today, 0xff, sizeof today);
    assert_true(fcl_struct_read(&today, sizeof today, &given));
    assert_int_equal(today.struct_size, sizeof today);
    assert_int_equal(today.old, 5);
    assert_int_equal(today.added, 0);
    given.struct_size = sizeof given;
    assert_true(fcl_struct_read(&today, sizeof today, &given));
    assert_int_equal(today.added, 6);
}

static void structs_of_impossible_sizes_are_refused(void **state)
{
    (void)state;
    struct versioned today = {1, 2, 3};
    const size_t sizes[] = {0, sizeof(size_t) - 1, sizeof today + 1, SIZE_MAX};
    for (size_t i = 0; i < FCL_COUNT(sizes); i++) {
        const struct versioned given = {sizes[i], 5, 6};
        assert_false(fcl_struct_read(&today, sizeof today, &given));
        assert_int_equal(today.old, 2);
    }
}

static void small_arithmetic(void **state)
{
    (void)state;
    assert_int_equal(fcl_min(-3, 2), -3);
    assert_int_equal(fcl_max(-3, 2), 2);
    assert_int_equal(fcl_div_up(0, 4), 0);
    assert_int_equal(fcl_div_up(8, 4), 2);
    assert_int_equal(fcl_div_up(9, 4), 3);
    const double before = fcl_now_ms();
    assert_true(fcl_now_ms() >= before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses_are_pinned_and_have_sentences),
        cmocka_unit_test(element_sizes),
        cmocka_unit_test(reasons_are_cut_and_may_be_missing),
        cmocka_unit_test(log_respects_the_level),
        cmocka_unit_test(long_messages_arrive_whole),
        cmocka_unit_test(structs_of_older_callers_are_filled_up),
        cmocka_unit_test(structs_of_impossible_sizes_are_refused),
        cmocka_unit_test(small_arithmetic),
    };
    return cmocka_run_group_tests_name("common", tests, NULL, NULL);
}
