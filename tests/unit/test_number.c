// Numbers in text forms: strict reading, overflow, and the same text in every locale.
#include "cmocka_all.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>

#include "core/number.h"
#include "files.h"

static int read_number(const char *text, int64_t largest, int64_t *number, size_t *used)
{
    const char *cursor = text;
    const int done = fcl_number_read(&cursor, text + strlen(text), largest, number);
    *used = (size_t)(cursor - text);
    return done;
}

static void whole_numbers_are_read_up_to_the_limit(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t largest, number;
        size_t used;
    } cases[] = {
        {"0", 0, 0, 1},       {"7", 7, 7, 1},
        {"007x", 9, 7, 3},    {"12/3", 100, 12, 2},
        {"100", 100, 100, 3}, {"9223372036854775807", INT64_MAX, INT64_MAX, 19},
    };
    for (size_t i = 0; i < FCL_COUNT(cases); i++) {
        int64_t number = -1;
        size_t used;
        assert_true(read_number(cases[i].text, cases[i].largest, &number, &used));
        assert_int_equal(number, cases[i].number);
        assert_int_equal(used, cases[i].used);
    }
}

static void other_texts_are_no_whole_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t largest;
    } cases[] = {
        {"", 9},
        {"-1", 9},
        {"+1", 9},
        {" 1", 9},
        {"x", 9},
        {"1", 0},
        {"5", 4},
        {"101", 100},
        {"9223372036854775808", INT64_MAX},
        {"99999999999999999999999", INT64_MAX},
    };
    for (size_t i = 0; i < FCL_COUNT(cases); i++) {
        int64_t number = -1;
        size_t used;
        assert_false(read_number(cases[i].text, cases[i].largest, &number, &used));
        assert_int_equal(number, -1);
        assert_int_equal(used, 0);
    }
}

static void reading_stops_at_the_given_end(void **state)
{
    (void)state;
    const char *text = "1234", *cursor = text;
    int64_t number;
    double real;
    assert_true(fcl_number_read(&cursor, text + 2, 99, &number));
    assert_int_equal(number, 12);
    const char *point = "1.567";
    assert_true(fcl_real_read(point, point + 3, &real));
    assert_true(real == 1.5);
}

static int read_real(const char *text, double *real)
{
    return fcl_real_read(text, text + strlen(text), real);
}

static void reals_are_read_exactly(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double real;
    } cases[] = {
        {"0", 0.0},
        {"0.1", 0.1},
        {"12.5", 12.5},
        {"1e3", 1e3},
        {"1e+3", 1e3},
        {"2.5e-7", 2.5e-7},
        {"123456", 123456.0},
        {"1.23457e+22", 1.23457e22},
        {"0.000000000000000000000000", 0.0},
        {"1000000000000000000000000", 1e24},
        {"0.33333333333333331483", 1.0 / 3.0},
    };
    for (size_t i = 0; i < FCL_COUNT(cases); i++) {
        double real = -1;
        assert_true(read_real(cases[i].text, &real));
        assert_true(fabs(real - cases[i].real) <= cases[i].real * DBL_EPSILON);
    }
}

static void other_texts_are_no_reals(void **state)
{
    (void)state;
    static const char *const texts[] = {"",      "-1",    "+1",    ".5",    "5.",  "1,5",  "0x10",
                                        "nan",   "inf",   "1e",    "1e+",   "1ex", "1.5 ", " 1",
                                        "1.2.3", "1e999", "1e400", "9e399", "1E3"};
    for (size_t i = 0; i < FCL_COUNT(texts); i++) {
        double real = -1;
        assert_false(read_real(texts[i], &real));
        assert_true(real == -1);
    }
}

static void written_reals_are_read_back(void **state)
{
    (void)state;
    const double reals[] = {0, 1, 0.1, 0.125, 3.14159, 123456, 1234567, 1e-9, 6.5e20, 2.2e-300};
    for (size_t i = 0; i < FCL_COUNT(reals); i++) {
        char first[FCL_REAL_SIZE], second[FCL_REAL_SIZE];
        double real;
        fcl_real_format(reals[i], first);
        assert_true(read_real(first, &real));
        assert_true(fabs(real - reals[i]) <= reals[i] * 1e-5);
        fcl_real_format(real, second);
        assert_string_equal(first, second);
    }
}

// Switches to a locale that writes a comma; makes one in `folder` where none is installed. 0 where
// that cannot be done.
static int use_comma(const char *folder)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    for (size_t i = 0; i < FCL_COUNT(names); i++)
        if (setlocale(LC_NUMERIC, names[i]) != NULL)
            return 1;
    char command[TEST_PATH_SIZE + 64];
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' 2>/dev/null",
             folder);
    if (system(command) != 0)
        return 0;
    setenv("LOCPATH", folder, 1);
    return setlocale(LC_NUMERIC, names[0]) != NULL;
}

static void a_locale_with_a_comma_changes_nothing(void **state)
{
    (void)state;
    char folder[TEST_PATH_SIZE], text[FCL_REAL_SIZE], foreign[FCL_REAL_SIZE];
    test_folder_create(folder);
    const int has_comma = use_comma(folder);
    if (has_comma) {
        double real = 0;
        snprintf(foreign, sizeof foreign, "%.1f", 0.5);
        fcl_real_format(1234.5, text);
        const int done = read_real("0.25", &real);
        setlocale(LC_NUMERIC, "C");
        assert_string_equal(foreign, "0,5");
        assert_string_equal(text, "1234.5");
        assert_true(done && real == 0.25);
    }
    test_folder_remove(folder);
    if (!has_comma)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_are_read_up_to_the_limit),
        cmocka_unit_test(other_texts_are_no_whole_numbers),
        cmocka_unit_test(reading_stops_at_the_given_end),
        cmocka_unit_test(reals_are_read_exactly),
        cmocka_unit_test(other_texts_are_no_reals),
        cmocka_unit_test(written_reals_are_read_back),
        cmocka_unit_test(a_locale_with_a_comma_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
