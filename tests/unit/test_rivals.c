// Rows of rivals: which files are refused, and what stands beside ours.
#include "cmocka_all.h"

#include <stdio.h>
#include <unistd.h>

#include "files.h"
#include "rivals.h"

#define OUTPUT_SIZE 4096

static const struct report_column columns[] = {
    {"problem", REPORT_WORD, 0, 0},     {"impl", REPORT_WORD, 0, 0},
    {"status", REPORT_WORD, 0, 0},      {"median_ms", REPORT_FIXED, 4, 0},
    {"bytes", REPORT_INTEGER, 0, 0},    {"versus", REPORT_WORD, 0, 0},
    {"ratio_best", REPORT_FIXED, 2, 0}, {"ratio_median", REPORT_FIXED, 2, 0}};

// The rivals that a file with this text holds; NULL and the reason where it holds none.
static struct rivals *read_text(const char *text, char *reason, size_t size)
{
    char path[TEST_PATH_SIZE];
    test_file_create(path);
    test_file_write(path, text, strlen(text));
    struct rivals *rivals = rivals_read(path, reason, size);
    unlink(path);
    return rivals;
}

static void bad_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"", "line 1"},
        {"[\n{\"problem\": }\n]", "line 2"},
        {"{\"problem\": \"fwd q8 d8\"}", "no array"},
        {"[5]", "row 1: it is no object"},
        {"[{\"impl\": \"x\", \"status\": \"oom\"}]", "row 1: it has no text `problem`"},
        {"[{\"problem\": \"fwd q8 d8\", \"status\": \"oom\"}]", "no text `impl`"},
        {"[{\"problem\": \"fwd q8 d8\", \"impl\": 5, \"status\": \"oom\"}]", "no text `impl`"},
        {"[{\"problem\": \"fwd q8 d8\", \"impl\": \"x\"}]", "no text `status`"},
        {"[{\"problem\": \"bwd q8 d8\", \"impl\": \"x\", \"status\": \"oom\"}]", "bwd"},
        {"[{\"problem\": \"fwd q8 d8\", \"impl\": \"x\", \"status\": \"oom\"},\n"
         "{\"problem\": \"fwd q8 d8\", \"impl\": \"x\", \"status\": \"ok\", \"min_ms\": 1}]",
         "row 2: its status is ok, but it has no `median_ms`"},
        {"[{\"problem\": \"fwd q8 d8\", \"impl\": \"x\", \"status\": \"ok\", \"median_ms\": 1,"
         "\"min_ms\": 0}]",
         "no `min_ms` above 0"},
        {"[{\"problem\": \"fwd q8 d8\", \"impl\": \"x\", \"status\": \"ok\", \"median_ms\": \"1\","
         "\"min_ms\": 1}]",
         "no `median_ms` above 0"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char reason[512] = "";
        if (read_text(cases[i].text, reason, sizeof(reason)) != NULL ||
            strstr(reason, cases[i].reason) == NULL) {
            fail_msg("case %zu: %s", i, reason);
        }
    }
    char reason[512] = "";
    assert_null(rivals_read("/nonexistent/rows.json", reason, sizeof(reason)));
    assert_non_null(strstr(reason, "rows.json"));
}

static void rows_stand_beside_ours(void **state)
{
    (void)state;
    char reason[512] = "", output[OUTPUT_SIZE];
    struct rivals *rivals = read_text(
        "[{\"problem\": \"fwd d64 h8 k1024 q1024\", \"impl\": \"one\", \"status\": \"ok\","
        "  \"median_ms\": 3, \"min_ms\": 1.5, \"bytes\": 77, \"other\": [], \"versus\": \"x\"},"
        " {\"problem\": \"fwd h8 q8 d64\", \"impl\": \"else\", \"status\": \"ok\","
        "  \"median_ms\": 1, \"min_ms\": 1},"
        " {\"problem\": \"fwd h8 q1024 d64\", \"impl\": \"two\", \"status\": \"oom\","
        "  \"median_ms\": null}]",
        reason, sizeof(reason));
    assert_non_null(rivals);
    struct report report;
    report_init(&report, tmpfile(), REPORT_CSV, REPORT_TABLE, columns,
                sizeof(columns) / sizeof(columns[0]));
    const struct fcl_timing own = {.median_ms = 2, .min_ms = 0.75};
    assert_int_equal(rivals_add(rivals, "fwd h8 q1024 d64", "fused", &own, &report), 2);
    assert_int_equal(rivals_add(rivals, "fwd h8 q1024 d64", "unfused", NULL, &report), 2);
    assert_int_equal(rivals_add(rivals, "fwd h8 q1024 d32", "fused", &own, &report), 0);
    report_finish(&report);
    rivals_free(rivals);
    rewind(report.out);
    output[fread(output, 1, OUTPUT_SIZE - 1, report.out)] = '\0';
    fclose(report.out);
    assert_string_equal(output,
                        "problem,impl,status,median_ms,bytes,versus,ratio_best,ratio_median\n"
                        "fwd h8 q1024 d64,one,ok,3,77,fused,2,1.5\n"
                        "fwd h8 q1024 d64,two,oom,,,fused,,\n"
                        "fwd h8 q1024 d64,one,ok,3,77,unfused,,\n"
                        "fwd h8 q1024 d64,two,oom,,,unfused,,\n");
}

static void no_rows_are_no_error(void **state)
{
    (void)state;
    char reason[512] = "";
    struct rivals *rivals = read_text("[]", reason, sizeof(reason));
    assert_non_null(rivals);
    assert_int_equal(rivals_add(rivals, "fwd h8 q1024 d64", "fused", NULL, NULL), 0);
    rivals_free(rivals);
    rivals_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(rows_stand_beside_ours),
        cmocka_unit_test(no_rows_are_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
