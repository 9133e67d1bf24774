// Searches: no point twice, every point if asked long enough, the same everywhere, and better than
// random on recorded and made-up spaces.
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>

#include "core/common.h"
#include "core/random.h"
#include "recorded.h"
#include "spaces.h"

#define SEEDS 50
#define MARKS 4
#define LONGEST 450 // evaluations of a replay

static const char *const strategies[] = {"exhaustive", "random", "greedy", "seeded"};
static const size_t marks[MARKS] = {10, 25, 50, 100};

static fcl_search *begin(const fcl_space *space, const char *strategy, uint64_t seed)
{
    const struct fcl_search_options options = {
        .struct_size = sizeof options, .strategy = strategy, .seed = seed};
    fcl_search *search = NULL;
    assert_int_equal(fcl_search_create(space, &options, &search, NULL, 0), FCL_OK);
    return search;
}

static fcl_space *triangle(void)
{
    static const char *const parameters[] = {"A", "range(12)", "B", "range(12)",
                                             "C", "[0, 1]",    NULL};
    static const char *const constraints[] = {"A >= B", "A % 3 != 2 or B > 0", NULL};
    return test_space(parameters, constraints);
}

// ---- creating

static void strategies_are_listed(void **state)
{
    (void)state;
    const char *description = NULL;
    for (size_t i = 0; i < FCL_COUNT(strategies); i++) {
        assert_string_equal(fcl_search_strategy(i, &description), strategies[i]);
        assert_true(strlen(description) > 10);
    }
    assert_null(fcl_search_strategy(FCL_COUNT(strategies), NULL));
    assert_string_equal(fcl_search_default(0), "exhaustive");
    assert_string_equal(fcl_search_default(299), "exhaustive");
    assert_string_equal(fcl_search_default(300), "seeded");
}

static void options_are_checked(void **state)
{
    (void)state;
    fcl_space *space = triangle();
    fcl_search *search = NULL;
    char reason[200];
    struct fcl_search_options options = {.struct_size = sizeof options, .strategy = "luck"};
    assert_int_equal(fcl_search_create(space, &options, &search, reason, sizeof reason),
                     FCL_INVALID_ARGUMENT);
    assert_string_equal(reason, "strategy is `luck`; allowed are exhaustive random greedy seeded");
    options.strategy = NULL;
    options.seed_point_count = 2;
    assert_int_equal(fcl_search_create(space, &options, &search, reason, sizeof reason),
                     FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(reason, "seed_points is NULL"));
    options.struct_size = 1;
    assert_int_equal(fcl_search_create(space, &options, &search, reason, sizeof reason),
                     FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(reason, "struct_size is 1"));
    assert_int_equal(fcl_search_create(NULL, NULL, &search, NULL, 0), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_search_create(space, NULL, NULL, NULL, 0), FCL_INVALID_ARGUMENT);
    assert_null(search);
    // The default of a small space is exhaustive.
    uint64_t point;
    assert_int_equal(fcl_search_create(space, NULL, &search, NULL, 0), FCL_OK);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(fcl_search_ask(search, &point), FCL_ASK_POINT);
        assert_int_equal(point, fcl_space_point(space, i));
    }
    fcl_search_destroy(&search);
    assert_null(search);
    fcl_search_destroy(&search);
    fcl_search_destroy(NULL);
    fcl_space_destroy(&space);
}

// ---- asking and telling

enum outcome { FINE, SOME_FAIL, ALL_FAIL, ALL_EQUAL };

static double outcome_of(enum outcome outcome, uint64_t point)
{
    const uint64_t random = fcl_random_mix(point) % 1000;
    if (outcome == ALL_FAIL || (outcome == SOME_FAIL && random % 3 == 0))
        return INFINITY;
    return outcome == ALL_EQUAL ? 1.0 : 1.0 + (double)random;
}

// Asks until the end with up to `outstanding` asks at a time, told in a random order.
static void visit_everything(const fcl_space *space, const char *strategy, size_t outstanding,
                             enum outcome outcome)
{
    uint64_t asked[16], random = outstanding;
    size_t waiting = 0, told = 0;
    unsigned char *seen = calloc(fcl_space_count(space), 1);
    fcl_search *search = begin(space, strategy, 7);
    struct fcl_search_progress progress;
    for (;;) {
        enum fcl_answer answer = FCL_ASK_POINT;
        while (waiting < outstanding && answer == FCL_ASK_POINT) {
            answer = fcl_search_ask(search, &asked[waiting]);
            if (answer != FCL_ASK_POINT)
                break;
            const size_t index = fcl_space_index(space, asked[waiting++]);
            assert_true(index < fcl_space_count(space));
            assert_int_equal(seen[index]++, 0);
        }
        assert_true(answer != FCL_ASK_LATER || waiting > 0);
        if (waiting == 0)
            break;
        const size_t which = (size_t)fcl_random_below(&random, waiting);
        const uint64_t point = asked[which];
        asked[which] = asked[--waiting];
        assert_int_equal(fcl_search_tell(search, point, outcome_of(outcome, point)), FCL_OK);
        told++;
        fcl_search_get_progress(search, &progress);
        assert_int_equal(progress.told, told);
        assert_int_equal(progress.asked, told + waiting);
        assert_int_equal(progress.outstanding, waiting);
    }
    if (told != fcl_space_count(space))
        fail_msg("%s, %zu outstanding, outcome %d: %zu of %zu", strategy, outstanding, outcome,
                 told, fcl_space_count(space));
    uint64_t point;
    assert_int_equal(fcl_search_ask(search, &point), FCL_ASK_DONE);
    assert_true((progress.best == FCL_NO_POINT) == (outcome == ALL_FAIL));
    assert_true(isinf(progress.best_value) == (outcome == ALL_FAIL));
    fcl_search_destroy(&search);
    free(seen);
}

static void every_point_is_visited_once(void **state)
{
    (void)state;
    static const char *const one[] = {"A", "[1]", NULL};
    static const char *const apart[] = {"A", "range(20)", "B", "range(20)", NULL};
    static const char *const diagonal[] = {"A == B", NULL}; // no point has a neighbour
    static const char *const nothing[] = {"A > 1", NULL};
    fcl_space *spaces[] = {triangle(), test_space(one, NULL), test_space(apart, diagonal),
                           test_space(one, nothing)};
    for (size_t i = 0; i < FCL_COUNT(spaces); i++) {
        for (size_t s = 0; s < FCL_COUNT(strategies); s++)
            for (size_t outstanding = 1; outstanding <= 16; outstanding += 5)
                for (int outcome = FINE; outcome <= ALL_EQUAL; outcome++)
                    if (fcl_space_count(spaces[i]) > 0)
                        visit_everything(spaces[i], strategies[s], outstanding,
                                         (enum outcome)outcome);
        if (fcl_space_count(spaces[i]) == 0) {
            uint64_t point;
            fcl_search *search = begin(spaces[i], "seeded", 1);
            assert_int_equal(fcl_search_ask(search, &point), FCL_ASK_DONE);
            fcl_search_destroy(&search);
        }
        fcl_space_destroy(&spaces[i]);
    }
}

static void told_points_count_and_are_not_proposed(void **state)
{
    (void)state;
    fcl_space *space = triangle();
    struct fcl_search_progress progress;
    for (size_t s = 0; s < FCL_COUNT(strategies); s++) {
        fcl_search *search = begin(space, strategies[s], 3);
        // As if an earlier run had got half-way.
        for (size_t i = 0; i < fcl_space_count(space); i += 2)
            assert_int_equal(fcl_search_tell(search, fcl_space_point(space, i), 5.0 + (double)i),
                             FCL_OK);
        uint64_t point;
        size_t count = 0;
        while (fcl_search_ask(search, &point) == FCL_ASK_POINT) {
            assert_int_equal(fcl_space_index(space, point) % 2, 1);
            assert_int_equal(fcl_search_tell(search, point, INFINITY), FCL_OK);
            count++;
        }
        assert_int_equal(count, fcl_space_count(space) / 2);
        fcl_search_get_progress(search, &progress);
        assert_int_equal(progress.asked, count);
        assert_int_equal(progress.failed, count);
        assert_int_equal(progress.told, fcl_space_count(space));
        assert_int_equal(progress.best, fcl_space_point(space, 0));
        assert_true(progress.best_value == 5.0);
        fcl_search_destroy(&search);
    }
    fcl_space_destroy(&space);
}

static void a_point_can_be_told_again(void **state)
{
    (void)state;
    fcl_space *space = triangle();
    struct fcl_search_progress progress;
    for (size_t s = 0; s < FCL_COUNT(strategies); s++) {
        fcl_search *search = begin(space, strategies[s], 3);
        static const struct {
            size_t index, best, failed;
            double value, best_value;
        } steps[] = {
            {4, 4, 0, 8.0, 8.0}, {6, 6, 0, 7.0, 7.0},      {6, 4, 0, 9.0, 8.0},
            {4, 4, 0, 3.0, 3.0}, {4, 6, 1, INFINITY, 9.0}, {6, 0, 2, INFINITY, 1000.0},
            {4, 4, 1, 2.0, 2.0},
        };
        for (size_t i = 0; i < FCL_COUNT(steps); i++) {
            uint64_t point;
            assert_int_equal(
                fcl_search_tell(search, fcl_space_point(space, steps[i].index), steps[i].value),
                FCL_OK);
            fcl_search_get_progress(search, &progress);
            assert_true(progress.best_value == steps[i].best_value);
            if (steps[i].best_value < 1000.0) // of what was asked for between
                assert_int_equal(progress.best, fcl_space_point(space, steps[i].best));
            assert_int_equal(progress.failed, steps[i].failed);
            if (fcl_search_ask(search, &point) == FCL_ASK_POINT)
                assert_int_equal(fcl_search_tell(search, point, 1000.0), FCL_OK);
            else
                fail_msg("%s has nothing to ask", strategies[s]);
        }
        fcl_search_destroy(&search);
    }
    fcl_space_destroy(&space);
}

static void wrong_answers_are_refused(void **state)
{
    (void)state;
    fcl_space *space = triangle();
    fcl_search *search = begin(space, "greedy", 1);
    const uint64_t point = fcl_space_point(space, 0);
    assert_int_equal(fcl_search_tell(search, point, NAN), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_search_tell(search, point, 0.0), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_search_tell(search, point, -1.0), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_search_tell(search, FCL_NO_POINT, 1.0), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_search_tell(search, test_point(space, "A=0 B=1 C=0"), 1.0),
                     FCL_INVALID_ARGUMENT);
    struct fcl_search_progress progress;
    fcl_search_get_progress(search, &progress);
    assert_int_equal(progress.told, 0);
    fcl_search_destroy(&search);
    fcl_space_destroy(&space);
}

static void proposals_are_limited(void **state)
{
    (void)state;
    fcl_space *space = triangle();
    for (size_t s = 0; s < FCL_COUNT(strategies); s++) {
        const struct fcl_search_options options = {
            .struct_size = sizeof options, .strategy = strategies[s], .evaluations = 9};
        fcl_search *search = NULL;
        assert_int_equal(fcl_search_create(space, &options, &search, NULL, 0), FCL_OK);
        uint64_t point;
        int count = 0;
        for (; fcl_search_ask(search, &point) == FCL_ASK_POINT; count++)
            assert_int_equal(fcl_search_tell(search, point, 1.0 + (double)point), FCL_OK);
        assert_int_equal(count, 9);
        fcl_search_destroy(&search);
    }
    fcl_space_destroy(&space);
}

static void seed_points_come_first(void **state)
{
    (void)state;
    fcl_space *space = triangle();
    const uint64_t seeds[] = {test_point(space, "A=7 B=3 C=1"),
                              test_point(space, "A=0 B=5 C=0"),
                              test_point(space, "A=1 B=1 C=0"),
                              test_point(space, "A=7 B=3 C=1"),
                              FCL_NO_POINT,
                              test_point(space, "A=9 B=9 C=1")};
    static const size_t order[] = {0, 2, 5}; // the others are not valid, or there already
    const struct fcl_search_options options = {.struct_size = sizeof options,
                                               .strategy = "seeded",
                                               .seed_points = seeds,
                                               .seed_point_count = FCL_COUNT(seeds)};
    fcl_search *search = NULL;
    uint64_t point;
    assert_int_equal(fcl_search_create(space, &options, &search, NULL, 0), FCL_OK);
    for (size_t i = 0; i < FCL_COUNT(order); i++) {
        assert_int_equal(fcl_search_ask(search, &point), FCL_ASK_POINT);
        assert_int_equal(point, seeds[order[i]]);
    }
    // Six random points follow; then it waits, until most of what is outstanding was told.
    uint64_t random[6];
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(fcl_search_ask(search, &random[i]), FCL_ASK_POINT);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(fcl_search_ask(search, &point), FCL_ASK_LATER);
        assert_int_equal(fcl_search_tell(search, i < 3 ? seeds[order[i]] : random[i - 3], 2.0),
                         FCL_OK);
    }
    assert_int_equal(fcl_search_ask(search, &point), FCL_ASK_POINT);
    fcl_search_destroy(&search);
    fcl_space_destroy(&space);
}

static void a_greedy_search_waits_for_what_it_starts_from(void **state)
{
    (void)state;
    fcl_space *space = triangle();
    fcl_search *search = begin(space, "greedy", 2);
    uint64_t starts[10], point;
    for (size_t i = 0; i < FCL_COUNT(starts); i++)
        assert_int_equal(fcl_search_ask(search, &starts[i]), FCL_ASK_POINT);
    for (size_t i = 0; i < FCL_COUNT(starts); i++) {
        assert_int_equal(fcl_search_ask(search, &point), FCL_ASK_LATER);
        assert_int_equal(fcl_search_tell(search, starts[i], i == 3 ? 1.0 : 2.0), FCL_OK);
    }
    uint64_t neighbours[30];
    const size_t count = fcl_point_neighbours(space, starts[3], FCL_NEIGHBOURS_ALL, neighbours, 30);
    size_t asked = 0;
    for (; fcl_search_ask(search, &point) == FCL_ASK_POINT; asked++) {
        size_t at = 0;
        while (at < count && neighbours[at] != point)
            at++;
        assert_true(at < count);
    }
    assert_in_range(asked, 5, count);
    fcl_search_destroy(&search);
    fcl_space_destroy(&space);
}

static void proposals_are_the_same_everywhere(void **state)
{
    (void)state;
    static const struct {
        const char *strategy;
        uint64_t points[16]; // the first proposals
        uint64_t all;        // a hash of the order of all points
    } expected[] = {
        {"exhaustive",
         {0, 1, 24, 25, 26, 27, 50, 51, 52, 53, 72, 73, 74, 75, 76, 77},
         UINT64_C(14908068569929279451)},
        {"random",
         {235, 221, 51, 247, 173, 175, 97, 146, 234, 231, 195, 250, 77, 128, 124, 27},
         UINT64_C(8939765032850031352)},
        {"greedy",
         {235, 221, 51, 247, 173, 175, 97, 146, 234, 231, 257, 103, 241, 79, 261, 253},
         UINT64_C(5058216727779662785)},
        {"seeded",
         {235, 221, 51, 247, 173, 175, 245, 246, 241, 249, 248, 105, 129, 97, 153, 177},
         UINT64_C(4405401592433431938)},
    };
    fcl_space *space = triangle();
    for (size_t s = 0; s < FCL_COUNT(expected); s++) {
        fcl_search *search = begin(space, expected[s].strategy, 11);
        uint64_t point, all = 0;
        for (size_t i = 0; fcl_search_ask(search, &point) == FCL_ASK_POINT; i++) {
            if (i < FCL_COUNT(expected[s].points) && point != expected[s].points[i])
                fail_msg("%s, proposal %zu: %llu", expected[s].strategy, i,
                         (unsigned long long)point);
            all = fcl_random_mix(all ^ point);
            assert_int_equal(fcl_search_tell(search, point, outcome_of(SOME_FAIL, point)), FCL_OK);
        }
        if (all != expected[s].all)
            fail_msg("%s: hash %llu", expected[s].strategy, (unsigned long long)all);
        fcl_search_destroy(&search);
    }
    fcl_space_destroy(&space);
}

// A search that was told of a success and then that it failed goes on as if it had failed at once.
static void what_failed_after_all_is_no_leader(void **state)
{
    (void)state;
    fcl_space *space = triangle();
    fcl_search *searches[] = {begin(space, "seeded", 5), begin(space, "seeded", 5)};
    uint64_t points[2];
    for (size_t i = 0; i < 6; i++) {
        for (size_t s = 0; s < 2; s++)
            assert_int_equal(fcl_search_ask(searches[s], &points[s]), FCL_ASK_POINT);
        assert_int_equal(points[0], points[1]);
        assert_int_equal(fcl_search_tell(searches[1], points[1], 1.0), FCL_OK);
        for (size_t s = 0; s < 2; s++)
            assert_int_equal(fcl_search_tell(searches[s], points[s], INFINITY), FCL_OK);
    }
    for (size_t s = 0; s < 2; s++)
        fcl_search_destroy(&searches[s]);
    fcl_space_destroy(&space);
}

// ---- replays

static int compare_sizes(const void *a, const void *b)
{
    const size_t left = *(const size_t *)a, right = *(const size_t *)b;
    return (left > right) - (left < right);
}

// Means over all seeds of the fraction of the optimum after each mark. Returns the median of the
// evaluations that reach 0.95 of it.
static size_t replay(const struct test_recorded *recorded, const char *strategy, int seeded,
                     size_t outstanding, double means[MARKS])
{
    const size_t half = fcl_space_count(recorded->space) / 2;
    const size_t evaluations = half < LONGEST ? half : LONGEST;
    double *trace = calloc(evaluations, sizeof *trace);
    size_t reached[SEEDS];
    memset(means, 0, MARKS * sizeof *means);
    for (size_t seed = 0; seed < SEEDS; seed++) {
        test_replay(recorded, strategy, seed, seeded, outstanding, trace, evaluations);
        for (size_t m = 0; m < MARKS; m++)
            means[m] += trace[marks[m] - 1] / SEEDS;
        size_t at = 0;
        while (at < evaluations && trace[at] < 0.95)
            at++;
        reached[seed] = at + 1;
    }
    qsort(reached, SEEDS, sizeof *reached, compare_sizes);
    free(trace);
    return reached[SEEDS / 2];
}

// 0.95 of the optimum within a tenth of the space; at no mark behind random.
static void check_quality(const struct test_recorded *recorded, const char *name)
{
    double random[MARKS], greedy[MARKS], means[MARKS];
    const size_t count = fcl_space_count(recorded->space);
    replay(recorded, "random", 0, 1, random);
    replay(recorded, "greedy", 0, 1, greedy);
    print_message(
        "%s, %zu points; after 10 25 50 100: random %.3f %.3f %.3f %.3f, greedy %.3f %.3f "
        "%.3f %.3f\n",
        name, count, random[0], random[1], random[2], random[3], greedy[0], greedy[1], greedy[2],
        greedy[3]);
    for (size_t m = 1; m < MARKS; m++)
        assert_true(greedy[m] > random[m] + 0.03);
    for (int seeded = 0; seeded <= 1; seeded++)
        for (size_t outstanding = 1; outstanding <= 8; outstanding += 7) {
            const size_t reached = replay(recorded, "seeded", seeded, outstanding, means);
            print_message("    %d seed points, %zu outstanding: %.3f %.3f %.3f %.3f; 0.95 after "
                          "%zu\n",
                          seeded, outstanding, means[0], means[1], means[2], means[3], reached);
            assert_true(reached <= count / 10);
            for (size_t m = 0; m < MARKS; m++)
                assert_true(means[m] >= random[m]);
            assert_true(means[2] > random[2] + 0.05);
            assert_true(outstanding > 1 || means[1] > greedy[1]);
        }
}

static void recorded_spaces_are_searched_well(void **state)
{
    (void)state;
    static const char *const names[] = {"recorded_vector.txt", "recorded_generic.txt"};
    for (size_t i = 0; i < FCL_COUNT(names); i++) {
        struct test_recorded recorded;
        test_recorded_load(&recorded, names[i]);
        check_quality(&recorded, names[i]);
        test_recorded_free(&recorded);
    }
}

// A made-up space of the kind that kernels have: factors of single parameters, of which one does
// not matter, a balance between two products, a plateau, failures in a corner, and roughness.
static double made_up(const fcl_space *space, uint64_t point)
{
    double x[7];
    for (size_t p = 0; p < 7; p++)
        x[p] = (double)fcl_point_place(space, point, p) /
               (double)(fcl_space_value_count(space, p) - 1);
    if (x[0] + x[2] + x[3] > 2.5)
        return INFINITY;
    const double balance = x[0] + x[1] - x[2] - 0.5, block = x[1] - 0.75;
    double factor = (1.0 + 3.0 * balance * balance) * (1.0 + 4.0 * block * block);
    factor *= 1.0 + 0.8 * fmax(0.0, x[3] - 0.4) + 0.3 * x[4] - 0.2 * x[5] * x[6];
    return factor * (1.0 + (double)(fcl_random_mix(point) % 100) * 0.002);
}

static void made_up_spaces_are_searched_well(void **state)
{
    (void)state;
    static const char *const parameters[] = {"BX",  "range(16, 257, 16)",
                                             "BY",  "[1, 2, 4, 8, 16]",
                                             "TX",  "[1, 2, 3, 4]",
                                             "TY",  "[1, 2, 3, 4]",
                                             "RO",  "[0, 1]",
                                             "PAD", "[0, 1]",
                                             "SH",  "[0, 1]",
                                             NULL};
    static const char *const constraints[] = {
        "PAD == 0 or BX % 32 != 0", "BX * BY <= 1024", "PAD == 0 or SH != 0",
        "SH == 0 or (BX * TX + 14) * (BY * TY + 14) < 12 * 1024", NULL};
    struct test_recorded recorded = {.space = test_space(parameters, constraints),
                                     .best = INFINITY};
    const size_t count = fcl_space_count(recorded.space);
    recorded.values = calloc(count, sizeof *recorded.values);
    for (size_t i = 0; i < count; i++) {
        recorded.values[i] = made_up(recorded.space, fcl_space_point(recorded.space, i));
        recorded.best = fmin(recorded.best, recorded.values[i]);
    }
    recorded.first = fcl_space_point(recorded.space, count / 2);
    check_quality(&recorded, "made up");
    test_recorded_free(&recorded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strategies_are_listed),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(every_point_is_visited_once),
        cmocka_unit_test(told_points_count_and_are_not_proposed),
        cmocka_unit_test(a_point_can_be_told_again),
        cmocka_unit_test(wrong_answers_are_refused),
        cmocka_unit_test(proposals_are_limited),
        cmocka_unit_test(seed_points_come_first),
        cmocka_unit_test(a_greedy_search_waits_for_what_it_starts_from),
        cmocka_unit_test(proposals_are_the_same_everywhere),
        cmocka_unit_test(what_failed_after_all_is_no_leader),
        cmocka_unit_test(recorded_spaces_are_searched_well),
        cmocka_unit_test(made_up_spaces_are_searched_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
