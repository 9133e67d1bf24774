// The row model: the same rows as text table, blocks, CSV and JSON.
#include "cmocka_all.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#include "report.h"

static const struct report_column columns[] = {{"name", REPORT_WORD, 0, 0},
                                               {"hidden", REPORT_WORD, 0, 1},
                                               {"count", REPORT_INTEGER, 0, 0},
                                               {"time_ms", REPORT_FIXED, 2, 0},
                                               {"ratio", REPORT_SIGNIFICANT, 3, 0}};

#define OUTPUT_SIZE 4096

// A report whose output goes to a temporary file.
static struct report start(enum report_format format, enum report_layout layout)
{
    struct report report;
    FILE *out = tmpfile();
    assert_non_null(out);
    report_init(&report, out, format, layout, columns, sizeof(columns) / sizeof(columns[0]));
    return report;
}

static void add(struct report *report, const char *name, int64_t count, double time, double ratio)
{
    report_row(report);
    report_set_text(report, "name", name);
    report_set_text(report, "hidden", "h");
    report_set_integer(report, "count", count);
    report_set_real(report, "time_ms", time);
    report_set_real(report, "ratio", ratio);
    report_row_end(report);
}

static void finish(struct report *report, char output[OUTPUT_SIZE])
{
    report_finish(report);
    rewind(report->out);
    size_t size = fread(output, 1, OUTPUT_SIZE - 1, report->out);
    output[size] = '\0';
    fclose(report->out);
}

static void a_table_is_aligned(void **state)
{
    (void)state;
    char output[OUTPUT_SIZE];
    struct report report = start(REPORT_TEXT, REPORT_TABLE);
    add(&report, "a", 5, 1.005, 0.00012345);
    add(&report,
        "Gr\xc3\xbc\xc3\x9f"
        "e",
        -12345, 123456.789, NAN);
    report_row(&report);
    report_row_end(&report);
    finish(&report, output);
    assert_string_equal(output, "name    count    time_ms     ratio\n"
                                "a           5       1.00  0.000123\n"
                                "Gr\xc3\xbc\xc3\x9f"
                                "e  -12345  123456.79       nan\n"
                                "-           -          -         -\n");
}

static void blocks_have_a_line_a_value(void **state)
{
    (void)state;
    char output[OUTPUT_SIZE];
    struct report report = start(REPORT_TEXT, REPORT_BLOCKS);
    add(&report, "a", 5, 1, 2);
    add(&report, "b", 6, 1e300, 2);
    finish(&report, output);
    assert_string_equal(output, "name     a\ncount    5\ntime_ms  1.00\nratio    2\n\n"
                                "name     b\ncount    6\ntime_ms  1e+300\nratio    2\n");
}

static void any_column_takes_a_reason(void **state)
{
    (void)state;
    char output[OUTPUT_SIZE];
    struct report report = start(REPORT_CSV, REPORT_TABLE);
    report_row(&report);
    report_set_integer(&report, "count", 3);
    report_set_text(&report, "count", "(error -5)"); // the last value counts
    report_set_text(&report, "count", "(error -30)");
    report_set_text(&report, "name", NULL);
    report_row_end(&report);
    finish(&report, output);
    assert_string_equal(output, "name,hidden,count,time_ms,ratio\n,,(error -30),,\n");
}

static void csv_is_quoted_where_it_must(void **state)
{
    (void)state;
    char output[OUTPUT_SIZE];
    struct report report = start(REPORT_CSV, REPORT_TABLE);
    add(&report, "plain text", 1, 0.1, 1.0 / 3);
    add(&report, "a,b", INT64_MIN, -0.0, INFINITY);
    add(&report, "say \"hi\"", INT64_MAX, 1e-300, -INFINITY);
    add(&report, "two\nlines\r", 0, 123456789012.0, NAN);
    finish(&report, output);
    assert_string_equal(output, "name,hidden,count,time_ms,ratio\n"
                                "plain text,h,1,0.1,0.333333333\n"
                                "\"a,b\",h,-9223372036854775808,-0,inf\n"
                                "\"say \"\"hi\"\"\",h,9223372036854775807,1e-300,-inf\n"
                                "\"two\nlines\r\",h,0,1.23456789e+11,nan\n");
}

static void csv_rows_are_written_at_once(void **state)
{
    (void)state;
    struct report report = start(REPORT_CSV, REPORT_TABLE);
    add(&report, "a", 1, 1, 1);
    struct stat status;
    assert_int_equal(fstat(fileno(report.out), &status), 0);
    assert_true(status.st_size > 0);
    report_row(&report);
    assert_int_equal(ftell(report.out), status.st_size);
    report_row_end(&report);
    char output[OUTPUT_SIZE];
    finish(&report, output);
    assert_string_equal(output, "name,hidden,count,time_ms,ratio\na,h,1,1,1\n,,,,\n");
}

static void json_is_an_array_of_rows(void **state)
{
    (void)state;
    char output[OUTPUT_SIZE];
    struct report report = start(REPORT_JSON, REPORT_TABLE);
    add(&report,
        "say \"hi\"\\\n\x01 Gr\xc3\xbc\xc3\x9f"
        "e",
        INT64_MAX, 0.1, 1.0 / 3);
    add(&report, "not UTF-8: \xff.", 2, NAN, -INFINITY);
    report_row(&report);
    report_row_end(&report);
    finish(&report, output);
    json_t *rows = json_loads(output, 0, NULL);
    assert_non_null(rows);
    assert_int_equal(json_array_size(rows), 3);
    json_t *row = json_array_get(rows, 0);
    assert_int_equal(json_object_size(row), 5);
    assert_string_equal(json_string_value(json_object_get(row, "name")),
                        "say \"hi\"\\\n\x01 Gr\xc3\xbc\xc3\x9f"
                        "e");
    assert_true(json_integer_value(json_object_get(row, "count")) == INT64_MAX);
    assert_non_null(strstr(output, "\"time_ms\": 0.1,"));
    assert_non_null(strstr(output, "\"ratio\": 0.333333333\n"));
    row = json_array_get(rows, 1);
    assert_string_equal(json_string_value(json_object_get(row, "name")), "not UTF-8: ?.");
    assert_true(json_is_null(json_object_get(row, "time_ms")));
    assert_true(json_is_null(json_object_get(row, "ratio")));
    row = json_array_get(rows, 2);
    assert_true(json_is_null(json_object_get(row, "name")));
    json_decref(rows);
}

static void no_rows(void **state)
{
    (void)state;
    static const struct {
        enum report_format format;
        const char *expected;
    } cases[] = {{REPORT_TEXT, ""},
                 {REPORT_JSON, "[]\n"},
                 {REPORT_CSV, "name,hidden,count,time_ms,ratio\n"}};
    for (size_t i = 0; i < 3; i++) {
        char output[OUTPUT_SIZE];
        struct report report = start(cases[i].format, REPORT_TABLE);
        finish(&report, output);
        assert_string_equal(output, cases[i].expected);
    }
}

static void many_rows_are_kept(void **state)
{
    (void)state;
    struct report report = start(REPORT_JSON, REPORT_TABLE);
    for (int i = 0; i < 1000; i++) {
        add(&report, "row", i, i, i);
    }
    report_finish(&report);
    rewind(report.out);
    json_t *rows = json_loadf(report.out, 0, NULL);
    assert_int_equal(json_array_size(rows), 1000);
    for (int i = 0; i < 1000; i++) {
        json_t *count = json_object_get(json_array_get(rows, (size_t)i), "count");
        assert_int_equal(json_integer_value(count), i);
    }
    json_decref(rows);
    fclose(report.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_aligned),
        cmocka_unit_test(blocks_have_a_line_a_value),
        cmocka_unit_test(any_column_takes_a_reason),
        cmocka_unit_test(csv_is_quoted_where_it_must),
        cmocka_unit_test(csv_rows_are_written_at_once),
        cmocka_unit_test(json_is_an_array_of_rows),
        cmocka_unit_test(no_rows),
        cmocka_unit_test(many_rows_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
