// Reasons that differ only in their numbers are one, with the range of each number.
#include "cmocka_all.h"

#include "reasons.h"

static void demand(const struct reasons *reasons, size_t index, size_t times, const char *wanted)
{
    char *text = reasons_text(reasons, index);
    assert_string_equal(text, wanted);
    assert_int_equal(reasons_times(reasons, index), times);
    free(text);
}

static void numbers_become_ranges(void **state)
{
    (void)state;
    struct reasons reasons = {.count = 0};
    reasons_add(&reasons, "width 5 is not 4, 8 or 16");
    reasons_add(&reasons, "25 bytes needed, there are 16");
    reasons_add(&reasons, "width 32 is not 4, 8 or 16");
    reasons_add(&reasons, "width 2 is not 4, 8 or 16");
    reasons_add(&reasons, "none");
    reasons_add(&reasons, "");
    reasons_add(&reasons, "none");
    assert_int_equal(reasons.count, 4);
    demand(&reasons, 0, 3, "width 2..32 is not 4, 8 or 16");
    demand(&reasons, 1, 1, "25 bytes needed, there are 16");
    demand(&reasons, 2, 2, "none");
    demand(&reasons, 3, 1, "");
    reasons_free(&reasons);
}

// Words, the number of numbers, and where a text ends.
static void other_texts_stay_apart(void **state)
{
    (void)state;
    static const char *const texts[] = {"a 1", "a 1 2", "b 1", "a x", "a", "a 1x", "1", "a 1 2 x"};
    struct reasons reasons = {.count = 0};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        reasons_add(&reasons, texts[i]);
        assert_int_equal(reasons.count, i + 1);
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        demand(&reasons, i, 1, texts[i]);
    reasons_free(&reasons);
}

static void the_most_frequent_come_first(void **state)
{
    (void)state;
    struct reasons reasons = {.count = 0};
    static const char *const texts[] = {"a", "b", "c", "d", "c", "d", "d"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        reasons_add(&reasons, texts[i]);
    reasons_sort(&reasons);
    demand(&reasons, 0, 3, "d");
    demand(&reasons, 1, 2, "c");
    demand(&reasons, 2, 1, "a");
    demand(&reasons, 3, 1, "b");
    reasons_free(&reasons);
}

// More numbers than have a range, and one that no integer holds.
static void odd_numbers_do_no_harm(void **state)
{
    (void)state;
    static const char text[] = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18";
    struct reasons reasons = {.count = 0};
    reasons_add(&reasons, text);
    reasons_add(&reasons, text);
    reasons_add(&reasons, "99999999999999999999999999");
    assert_int_equal(reasons.count, 2);
    demand(&reasons, 0, 2, text);
    demand(&reasons, 1, 1, "18446744073709551615");
    reasons_free(&reasons);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_become_ranges),
        cmocka_unit_test(other_texts_stay_apart),
        cmocka_unit_test(the_most_frequent_come_first),
        cmocka_unit_test(odd_numbers_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
