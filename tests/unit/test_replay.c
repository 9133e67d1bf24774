// Searching in recorded spaces: what space comes of results, and known answers on tiny ones.
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>

#include "replay.h"
#include "results_file.h"

// A result of these settings that took so long (NULL: it failed).
#define RESULT(settings, time)                                         \
    "{\"configuration\":{" settings "},\"times\":{\"runtimes\":[" time \
    "]},\"invalidity\":\"correct\"}"
#define FAILURE(settings) "{\"configuration\":{" settings "},\"invalidity\":\"compile\"}"

static int create(const char *text, struct replay *replay, struct results *results, char *reason,
                  size_t size)
{
    test_file_write(test_results_path, text, strlen(text));
    if (!results_read(results, test_results_path, reason, size))
        fail_msg("%s", reason);
    return replay_create(replay, results, reason, size);
}

static struct replay must_create(const char *text, struct results *results)
{
    struct replay replay;
    char reason[256] = "";
    if (!create(text, &replay, results, reason, sizeof reason))
        fail_msg("%s", reason);
    return replay;
}

// Seven points of 3 x 2 x 2; parameters come in any order, one point is recorded twice.
static const char mixed[] =
    "{\"metadata\":{\"default\":{\"B\":\"row\",\"A\":16,\"P\":false}},\"results\":"
    "[" RESULT("\"A\":32,\"B\":\"row\",\"P\":true", "8") "," RESULT(
        "\"P\":false,\"B\":\"column\",\"A\":8",
        "4") "," RESULT("\"A\":16,\"B\":\"row\",\"P\":false",
                        "9") "," RESULT("\"A\":16,\"B\":\"row\",\"P\":true",
                                        "3") "," FAILURE("\"A\":8,\"B\":\"row\",\"P\":"
                                                         "true") "," RESULT("\"A\":16,"
                                                                            "\"B\":"
                                                                            "\"row\","
                                                                            "\"P\":false",
                                                                            "5") "," RESULT("\"A\":"
                                                                                            "32,"
                                                                                            "\"B\":"
                                                                                            "\"colu"
                                                                                            "mn\","
                                                                                            "\"P\":"
                                                                                            "true",
                                                                                            "2") "," RESULT("\"A\":8,\"B\":\"column\",\"P\":true",
                                                                                                            "7") "]}";

static void demand_time(const struct replay *replay, const char *point_text, double time)
{
    uint64_t point;
    char reason[256] = "";
    if (fcl_point_parse(replay->space, point_text, &point, reason, sizeof reason))
        fail_msg("%s", reason);
    const size_t index = fcl_space_index(replay->space, point);
    assert_true(index < fcl_space_count(replay->space));
    assert_true(replay->times[index] == time);
}

static void the_space_is_what_was_recorded(void **state)
{
    (void)state;
    static const char *const values[3][4] = {
        {"8", "16", "32"}, {"row", "column"}, {"False", "True"}};
    struct results results;
    struct replay replay = must_create(mixed, &results);
    assert_int_equal(fcl_space_parameters(replay.space), 3);
    for (size_t p = 0; p < 3; p++)
        for (size_t i = 0; values[p][i] != NULL; i++) {
            const struct fcl_value value = fcl_space_value(replay.space, p, i);
            char text[32];
            fcl_value_format(&value, text, sizeof text);
            assert_string_equal(text, values[p][i]);
        }
    assert_int_equal(fcl_space_size(replay.space), 12);
    assert_int_equal(fcl_space_count(replay.space), 7);
    demand_time(&replay, "A=32 B=row P=True", 8);
    demand_time(&replay, "A=8 B=column P=False", 4);
    demand_time(&replay, "A=16 B=row P=False", 5); // the later one
    demand_time(&replay, "A=16 B=row P=True", 3);
    demand_time(&replay, "A=8 B=row P=True", INFINITY);
    demand_time(&replay, "A=32 B=column P=True", 2);
    demand_time(&replay, "A=8 B=column P=True", 7);
    assert_true(replay.optimum == 2);
    assert_int_equal(replay.failed, 1);
    assert_true(replay.times[fcl_space_index(replay.space, replay.standard)] == 5);
    replay_destroy(&replay);
    results_free(&results);
}

// Exhaustive begins at the first point: 8 row True fails, 8 column False 4, 8 column True 7, 16 row
// False 5, 16 row True 3, 32 row True 8, 32 column True 2.
static void exhaustive_is_known(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 2, 3, 4, 5, 6, 7, 50};
    static const double wanted[] = {0, 0.5, 0.5, 0.5, 2.0 / 3, 2.0 / 3, 1, 1};
    double fractions[8];
    struct results results;
    struct replay replay = must_create(mixed, &results);
    assert_true(replay_run(&replay, "exhaustive", 0, counts, 8, fractions, NULL, 0));
    for (size_t i = 0; i < 8; i++)
        assert_true(fractions[i] == wanted[i]);
    replay_destroy(&replay);
    results_free(&results);
}

// The seeded strategy begins at the default: that of the metadata, else the first result.
static void seeds_begin_at_the_default(void **state)
{
    (void)state;
    static const char unnamed[] = "{\"results\":[" RESULT("\"A\":3", "4") "," RESULT(
        "\"A\":2", "2") "," RESULT("\"A\":1", "1") "]}";
    static const char foreign[] =
        "{\"metadata\":{\"default\":{\"A\":9}},\"results\":[" RESULT("\"A\":3", "4") "]}";
    static const size_t one[] = {1};
    double fraction;
    struct results results;
    struct replay replay = must_create(mixed, &results);
    for (uint64_t seed = 0; seed < 20; seed++) {
        assert_true(replay_run(&replay, "seeded", seed, one, 1, &fraction, NULL, 0));
        assert_true(fraction == 2.0 / 5);
    }
    replay_destroy(&replay);
    results_free(&results);
    replay = must_create(unnamed, &results);
    for (uint64_t seed = 0; seed < 20; seed++) {
        assert_true(replay_run(&replay, "seeded", seed, one, 1, &fraction, NULL, 0));
        assert_true(fraction == 1.0 / 4);
    }
    replay_destroy(&replay);
    results_free(&results);
    replay = must_create(foreign, &results);
    assert_true(replay.standard == FCL_NO_POINT);
    assert_true(replay_run(&replay, "seeded", 0, one, 1, &fraction, NULL, 0));
    assert_true(fraction == 1);
    replay_destroy(&replay);
    results_free(&results);
}

static void every_strategy_ends_at_the_optimum(void **state)
{
    (void)state;
    static const size_t counts[] = {2, 7};
    const char *strategy;
    struct results results;
    struct replay replay = must_create(mixed, &results);
    for (size_t i = 0; (strategy = fcl_search_strategy(i, NULL)) != NULL; i++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            double fractions[2], again[2];
            assert_true(replay_run(&replay, strategy, seed, counts, 2, fractions, NULL, 0));
            assert_true(replay_run(&replay, strategy, seed, counts, 2, again, NULL, 0));
            assert_true(fractions[1] == 1 && fractions[0] == again[0]);
        }
    char reason[256] = "";
    double fractions[2];
    assert_false(replay_run(&replay, "nonsense", 0, counts, 2, fractions, reason, sizeof reason));
    assert_non_null(strstr(reason, "nonsense"));
    replay_destroy(&replay);
    results_free(&results);
}

static void bad_records_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"{\"results\":[" RESULT("\"A\":1", "1") "," RESULT("\"A\":2,\"B\":1", "1") "]}",
         "result 2 has 2 parameters, result 1 has 1"},
        {"{\"results\":[" RESULT("\"A\":1", "1") "," RESULT("\"B\":2", "1") "]}",
         "result 2 has no parameter A"},
        {"{\"results\":[" FAILURE("\"A\":1") "]}", "no result has a time"},
        {"{\"results\":[" RESULT("\"A B\":1", "1") "]}", "A B"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char reason[256] = "";
        struct results results;
        struct replay replay;
        assert_false(create(cases[i].text, &replay, &results, reason, sizeof reason));
        if (strstr(reason, cases[i].reason) == NULL)
            fail_msg("%s: %s", cases[i].text, reason);
        results_free(&results);
    }
}

static void quartiles(void **state)
{
    (void)state;
    double one[] = {3}, five[] = {5, 1, 4, 2, 3}, four[] = {4, 1, 3, 2};
    for (int i = 0; i <= 4; i++) {
        assert_true(replay_quartile(one, 1, i) == 3);
        assert_true(replay_quartile(five, 5, i) == i + 1);
        assert_true(replay_quartile(four, 4, i) == 1 + 0.75 * i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RESULTS_TEST(the_space_is_what_was_recorded),
        RESULTS_TEST(exhaustive_is_known),
        RESULTS_TEST(seeds_begin_at_the_default),
        RESULTS_TEST(every_strategy_ends_at_the_optimum),
        RESULTS_TEST(bad_records_are_refused),
        cmocka_unit_test(quartiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
