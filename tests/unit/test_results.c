// T4 results: what is written follows the schema and is whole after each entry; both spellings are
// read; what is not understood is refused.
#include "cmocka_all.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "results.h"
#include "results_file.h"

static int read_text(const char *text, struct results *results, char *reason, size_t size)
{
    test_file_write(test_results_path, text, strlen(text));
    return results_read(results, test_results_path, reason, size);
}

// ---- writing

static const struct results_setting first[] = {{"BM", {FCL_VALUE_INTEGER, {.integer = 16}}},
                                               {"pad", {FCL_VALUE_BOOL, {.integer = 1}}},
                                               {"mode", {FCL_VALUE_TEXT, {.text = "row"}}},
                                               {"x", {FCL_VALUE_REAL, {.real = 0.5}}}};
static const struct results_setting second[] = {{"BM", {FCL_VALUE_INTEGER, {.integer = 8}}},
                                                {"pad", {FCL_VALUE_BOOL, {.integer = 0}}},
                                                {"mode", {FCL_VALUE_TEXT, {.text = "col"}}},
                                                {"x", {FCL_VALUE_REAL, {.real = 1.0}}}};
static const struct results_setting metadata[] = {
    {"device", {FCL_VALUE_TEXT, {.text = "bad \xff text"}}}};

static void add_both(struct results_writer *writer)
{
    static const double runtimes[] = {3.0, 1.5, 2.0};
    const struct results_measurement time[] = {{"time", "ms", 1.25}, {"unknown", "", NAN}};
    const struct results_entry entries[] = {
        {.configuration = {first, 4},
         .compilation_ms = 100,
         .runtimes_ms = runtimes,
         .runtime_count = 3,
         .measurements = time,
         .measurement_count = 2},
        {.configuration = {second, 4}, .status = FCL_BUILD_FAILED, .compilation_ms = NAN}};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(results_add(writer, &entries[i]), 1);
        json_t *whole = json_load_file(test_results_path, 0, NULL);
        assert_non_null(whole);
        assert_int_equal(json_array_size(json_object_get(whole, "results")), i + 1);
        json_decref(whole);
    }
}

static void what_is_written_follows_the_schema(void **state)
{
    (void)state;
    struct results_writer writer;
    assert_int_equal(results_begin(&writer, test_results_path,
                                   (struct results_settings){metadata, 1},
                                   (struct results_settings){second, 4}),
                     1);
    add_both(&writer);
    assert_int_equal(results_end(&writer), 1);
    size_t size;
    char *text = (char *)test_file_read(test_results_path, &size);
    static const char wanted[] =
        "{\"schema_version\":\"1.0.0\",\"metadata\":{\"device\":\"bad ? text\",\"default\":"
        "{\"BM\":8,\"pad\":false,\"mode\":\"col\",\"x\":1.0}},\"results\":[\n"
        "{\"configuration\":{\"BM\":16,\"pad\":true,\"mode\":\"row\",\"x\":0.5},"
        "\"times\":{\"compilation_time\":100.0,\"runtimes\":[3.0,1.5,2.0]},"
        "\"invalidity\":\"correct\",\"correctness\":1,"
        "\"measurements\":[{\"name\":\"time\",\"value\":1.25,\"unit\":\"ms\"}],"
        "\"objectives\":[\"time\"]},\n"
        "{\"configuration\":{\"BM\":8,\"pad\":false,\"mode\":\"col\",\"x\":1.0},"
        "\"times\":{\"runtimes\":[]},\"invalidity\":\"compile\",\"correctness\":0,"
        "\"measurements\":[],\"objectives\":[\"time\"]}\n]}\n";
    assert_int_equal(size, strlen(wanted));
    assert_memory_equal(text, wanted, size);
    free(text);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    struct results_writer writer;
    struct results results;
    char reason[256] = "";
    const struct results_settings none = {0};
    assert_int_equal(results_begin(&writer, test_results_path, none, none), 1);
    add_both(&writer);
    assert_int_equal(results_end(&writer), 1);
    if (!results_read(&results, test_results_path, reason, sizeof reason))
        fail_msg("%s", reason);
    assert_int_equal(results.count, 2);
    assert_true(results.points[0].time == 1.25);
    assert_true(isinf(results.points[1].time));
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(results.points[0].configuration[i].name, first[i].name);
        assert_int_equal(results.points[0].configuration[i].value.kind, first[i].value.kind);
        assert_true(fcl_value_equal(&results.points[0].configuration[i].value, &first[i].value));
        assert_true(fcl_value_equal(&results.standard.configuration[i].value, &first[i].value));
    }
    results_free(&results);
}

static void failures_to_write_are_told(void **state)
{
    (void)state;
    const struct results_settings none = {0}, some = {first, 4};
    const struct results_entry entry = {.configuration = some, .compilation_ms = NAN};
    struct results_writer writer = {.file = NULL};
    assert_int_equal(results_end(&writer), 1);
    test_path(test_results_path, test_results_folder, "missing/results.json");
    assert_int_equal(results_begin(&writer, test_results_path, none, none), 0);
    assert_int_equal(results_add(&writer, &entry), 0);
    assert_int_equal(results_end(&writer), 0);
    assert_int_equal(results_begin(&writer, "/dev/full", none, none), 0);
}

// ---- reading

#define RESULTS(entries) "{\"results\":[" entries "]}"
#define ENTRY(rest) "{\"configuration\":{\"a\":1}," rest "}"

static void times_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double time;
    } cases[] = {
        // As the schema has it, without a measurement: the median.
        {ENTRY("\"times\":{\"compilation_time\":9,\"runtimes\":[5,1,2.5]},"
               "\"invalidity\":\"correct\",\"correctness\":1"),
         2.5},
        // As Kernel Tuner writes it: other names in times, and a measurement.
        {ENTRY("\"times\":{\"compilation\":9,\"benchmark\":50,\"runtimes\":[5,1,2]},"
               "\"invalidity\":\"correct\",\"measurements\":[{\"name\":\"GFLOP/s\",\"value\":7},"
               "{\"name\":\"time\",\"value\":2.25,\"unit\":\"ms\"}]"),
         2.25},
        {ENTRY("\"times\":[4,2,3]"), 3},
        {ENTRY("\"times\":{\"runtimes\":[]},\"invalidity\":\"compile\""), INFINITY},
        {ENTRY("\"times\":{\"runtimes\":[1]},\"invalidity\":\"correctness\""), INFINITY},
        {ENTRY("\"invalidity\":\"runtime\",\"measurements\":[{\"name\":\"time\","
               "\"value\":\"RuntimeFailedConfig\"}]"),
         INFINITY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024], reason[256] = "";
        struct results results;
        snprintf(text, sizeof text, RESULTS("%s"), cases[i].text);
        if (!read_text(text, &results, reason, sizeof reason))
            fail_msg("%s: %s", text, reason);
        assert_int_equal(results.count, 1);
        assert_true(results.points[0].time == cases[i].time);
        results_free(&results);
    }
}

static void bad_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"", "line 1"},
        {"{\n\"results\": }", "line 2"},
        {"[]", "no array `results`"},
        {RESULTS(""), "no array `results` with entries"},
        {RESULTS("5"), "result 1: it is no object"},
        {RESULTS(ENTRY("\"times\":[1]") ",{}"), "result 2: it has no configuration"},
        {RESULTS("{\"configuration\":{}}"), "result 1: it has no configuration"},
        {RESULTS("{\"configuration\":{\"a\":[1]}}"), "`a` in its configuration"},
        {RESULTS(ENTRY("\"times\":[]")), "no time above 0"},
        {RESULTS(ENTRY("\"times\":[0],\"invalidity\":\"correct\"")), "no time above 0"},
        {"{\"metadata\":{\"default\":{}},\"results\":[" ENTRY("\"times\":[1]") "]}",
         "default in its metadata: it has no configuration"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char reason[512] = "";
        struct results results;
        assert_int_equal(read_text(cases[i].text, &results, reason, sizeof reason), 0);
        if (strstr(reason, cases[i].reason) == NULL)
            fail_msg("%s: %s", cases[i].text, reason);
    }
    char reason[512] = "";
    struct results results;
    assert_int_equal(results_read(&results, "missing.json", reason, sizeof reason), 0);
    assert_non_null(strstr(reason, "missing.json"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RESULTS_TEST(what_is_written_follows_the_schema),
        RESULTS_TEST(what_is_written_is_read),
        RESULTS_TEST(failures_to_write_are_told),
        RESULTS_TEST(times_are_found),
        RESULTS_TEST(bad_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
