// Build errors in many drivers' styles, and the source shown around them.
#include "cmocka_all.h"

#include <stdio.h>

#include "core/build_report.h"

// Lines 1 and 2 have no name; then 12 lines of main.cl, of which line 4 stands for 5 of part.clh.
static const char source[] = "#define A 1\n"
                             "#define B 2\n"
                             "#line 1 \"attention/main.cl\"\n"
                             "main one\n"
                             "main two\n"
                             "main three\n"
                             "#line 1 \"lib/part.clh\"\n"
                             "part one\n"
                             "part two\n"
                             "part three\n"
                             "part four\n"
                             "part five\n"
                             "#line 5 \"attention/main.cl\"\n"
                             "main five\n"
                             "main six\n"
                             "main seven\n"
                             "main eight\n"
                             "main nine\n"
                             "main ten\n"
                             "main eleven\n"
                             "main twelve\n";

static char *report_of(const char *log, const char *text)
{
    struct fcl_text report = {0};
    fcl_build_report(&report, log, text);
    return report.data;
}

static size_t count(const char *text, const char *what)
{
    size_t found = 0;
    for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what))
        found++;
    return found;
}

static void places_are_found_in_every_style(void **state)
{
    (void)state;
    const struct {
        const char *log, *around;
    } cases[] = {
        {"attention/main.cl:7:3: error: no such thing", "line 7 of attention/main.cl"},
        {"lib/part.clh:4:3: error: no such thing", "line 4 of lib/part.clh"},
        {"error: /tmp/cache/lib/part.clh:4:3: no such thing", "line 4 of lib/part.clh"},
        {"C:\\temp\\lib/part.clh:2:1: Error: what", "line 2 of lib/part.clh"},
        {"attention/main.cl:9: error: what", "line 9 of attention/main.cl"},
        {"attention/main.cl(9): error: what", "line 9 of attention/main.cl"},
        {"attention/main.cl(9,14): ERROR: what", "line 9 of attention/main.cl"},
        {"\"lib/part.clh\", line 3: error: what", "line 3 of lib/part.clh"},
        // Without a known name: the part that has none, else the line of the whole text.
        {"<kernel>:2:3: error: what", "around line 2:"},
        {":2:3: error: what", "around line 2:"},
        {"error (2)", "around line 2:"},
        {"error in line 2", "around line 2:"},
        {"<kernel>:15:3: error: what", "line 6 of attention/main.cl"},
        {"otherattention/main.cl:8:3: error: what", "line 1 of lib/part.clh"},
    };
    for (size_t i = 0; i < FCL_COUNT(cases); i++) {
        char *report = report_of(cases[i].log, source);
        assert_memory_equal(report, cases[i].log, strlen(cases[i].log));
        if (strstr(report, cases[i].around) == NULL || count(report, "around line") != 1)
            fail_msg("case %zu: %s", i, report);
        free(report);
    }
}

// A driver that names no file but honours #line.
static void numbers_without_names_count_as_well(void **state)
{
    (void)state;
    char *report = report_of("<kernel>:40:1: error: x", "one\n#line 40\nforty\nforty-one\n");
    assert_non_null(strstr(report, "around line 40:\n    1 | one\n"));
    free(report);
}

static void three_lines_are_shown_on_each_side(void **state)
{
    (void)state;
    char *report = report_of("attention/main.cl:8:3: error: x\n", source);
    assert_string_equal(report, "attention/main.cl:8:3: error: x\n"
                                "around line 8 of attention/main.cl:\n"
                                "    5 | main five\n"
                                "    6 | main six\n"
                                "    7 | main seven\n"
                                "    8 | main eight\n"
                                "    9 | main nine\n"
                                "   10 | main ten\n"
                                "   11 | main eleven\n");
    free(report);
    report = report_of("x:1:1: error: y", "only\n");
    assert_string_equal(report, "x:1:1: error: y\naround line 1:\n    1 | only\n");
    free(report);
}

static void at_most_three_places_and_each_once(void **state)
{
    (void)state;
    char *report = report_of("attention/main.cl:1:1: error: a\n"
                             "attention/main.cl:1:9: error: b\n"
                             "attention/main.cl:2:1: error: c\n"
                             "lib/part.clh:1:1: error: d\n"
                             "attention/main.cl:9:1: error: e\n",
                             source);
    assert_int_equal(count(report, "around line"), 3);
    assert_null(strstr(report, "around line 9"));
    free(report);
}

static void errors_come_before_other_messages(void **state)
{
    (void)state;
    char *report = report_of("attention/main.cl:1:1: warning: a\n"
                             "attention/main.cl:2:1: error: b\n",
                             source);
    assert_int_equal(count(report, "around line"), 1);
    assert_non_null(strstr(report, "around line 2 of"));
    free(report);
    report = report_of("attention/main.cl:1:1: warning: a\n", source);
    assert_non_null(strstr(report, "around line 1 of"));
    free(report);
}

static void logs_without_places_are_just_shown(void **state)
{
    (void)state;
    const char *const logs[] = {
        "ptxas fatal: out of registers",
        "error: 12",
        "error at 10:",
        "error ()",
        "line of thought: error",
        "attention/main.cl:99:1: error: beyond the end",
        "main.cl:0:0: error",
    };
    for (size_t i = 0; i < FCL_COUNT(logs); i++) {
        char expected[256];
        snprintf(expected, sizeof expected, "%s\n", logs[i]);
        char *report = report_of(logs[i], source);
        assert_string_equal(report, expected);
        free(report);
    }
}

static void an_empty_log_is_said_to_be_empty(void **state)
{
    (void)state;
    const char *const logs[] = {NULL, "", "\n", " \r\n\t"};
    for (size_t i = 0; i < FCL_COUNT(logs); i++) {
        char *report = report_of(logs[i], source);
        assert_string_equal(report, "the driver gave no build log\n");
        free(report);
    }
}

static void the_first_error_is_found(void **state)
{
    (void)state;
    static const struct {
        const char *log, *line;
    } cases[] = {
        {"a.cl:1: warning: w\n\r\n  a.cl:2: error: e\r\na.cl:3: error: f\n", "a.cl:2: error: e"},
        {"\n \n\tfirst \nsecond\n", "first "},
        {"last line", "last line"},
        {" \n\n", "the driver gave no build log"},
        {"", "the driver gave no build log"},
        {NULL, "the driver gave no build log"}};
    char line[64];
    for (size_t i = 0; i < FCL_COUNT(cases); i++) {
        fcl_build_first_error(cases[i].log, line, sizeof line);
        assert_string_equal(line, cases[i].line);
    }
    fcl_build_first_error("an error", line, 4);
    assert_string_equal(line, "an ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_found_in_every_style),
        cmocka_unit_test(numbers_without_names_count_as_well),
        cmocka_unit_test(three_lines_are_shown_on_each_side),
        cmocka_unit_test(at_most_three_places_and_each_once),
        cmocka_unit_test(errors_come_before_other_messages),
        cmocka_unit_test(logs_without_places_are_just_shown),
        cmocka_unit_test(an_empty_log_is_said_to_be_empty),
        cmocka_unit_test(the_first_error_is_found),
    };
    return cmocka_run_group_tests_name("build report", tests, NULL, NULL);
}
