// The tuner's loop with an invented evaluator: what is asked, told, compared and chosen.
#include "cmocka_all.h"

#include <math.h>
#include <string.h>

#include <flashcl/tune.h>

#define POINTS 40

// Points of one parameter X = 0..39; `times` are their medians (0: fails), `finals` those of the
// finals (0: as before).
struct world {
    fcl_space *space;
    double times[POINTS], finals[POINTS], spread;
    size_t evaluated[POINTS], order[POINTS], count;
    double told_best[POINTS]; // best_ms as of the evaluation of a point
    size_t prepared, largest, compared, steps, began;
    uint64_t compared_points[POINTS];
    size_t stop_after; // evaluations; 0: never
    struct fcl_tuner_step last;
};

static void make_world(struct world *w)
{
    struct fcl_value values[POINTS];
    char reason[128];
    memset(w, 0, sizeof *w);
    w->space = fcl_space_create();
    for (int i = 0; i < POINTS; i++) {
        values[i] = fcl_value_integer(i);
        w->times[i] = 10.0 + i;
    }
    assert_int_equal(fcl_space_add_parameter(w->space, "X", values, POINTS, reason, sizeof reason),
                     FCL_OK);
    assert_int_equal(fcl_space_enumerate(w->space, reason, sizeof reason), FCL_OK);
    w->spread = 0.01;
}

static void begin(void *user, const fcl_space *space)
{
    struct world *w = user;
    assert_ptr_equal(space, w->space);
    w->began++;
}

static void prepare(void *user, const uint64_t *points, size_t count)
{
    struct world *w = user;
    assert_true(count > 0 && points[0] < POINTS);
    w->prepared += count;
    w->largest = count > w->largest ? count : w->largest;
}

static void evaluate(void *user, uint64_t point, double best_ms, struct fcl_evaluation *e)
{
    struct world *w = user;
    w->evaluated[point]++;
    w->order[w->count++] = (size_t)point;
    w->told_best[point] = best_ms;
    e->ratio = 0.5;
    e->timing = (struct fcl_timing){.median_ms = w->times[point], .spread = w->spread};
    if (w->times[point] == 0.0) {
        e->status = FCL_WRONG_RESULT;
        strcpy(e->reason, "invented");
    }
}

static enum fcl_status compare(void *user, const uint64_t *points, size_t count,
                               struct fcl_timing *timings)
{
    struct world *w = user;
    w->compared = count;
    for (size_t i = 0; i < count; i++) {
        w->compared_points[i] = points[i];
        const double final = w->finals[points[i]];
        timings[i] = (struct fcl_timing){.median_ms = final > 0.0 ? final : w->times[points[i]],
                                         .spread = w->spread};
    }
    return FCL_OK;
}

static int stop(void *user)
{
    const struct world *w = user;
    return w->stop_after && w->count >= w->stop_after;
}

static void note(void *user, const struct fcl_tuner_step *step)
{
    struct world *w = user;
    w->steps++;
    assert_int_equal(step->number, w->steps);
    w->last = *step;
}

static enum fcl_status run(struct world *w, struct fcl_tuner_options options,
                           struct fcl_tuner_result *result)
{
    const struct fcl_evaluator evaluator = {.user = w,
                                            .begin = begin,
                                            .prepare = prepare,
                                            .evaluate = evaluate,
                                            .compare = compare,
                                            .stop = stop};
    char reason[256];
    options.struct_size = sizeof options;
    options.progress = note;
    options.user = w;
    return fcl_tuner_run(w->space, &evaluator, &options, result, reason, sizeof reason);
}

static void every_point_once_and_the_best_wins(void **state)
{
    (void)state;
    struct world w;
    struct fcl_tuner_result result;
    const uint64_t standard = 20;
    make_world(&w);
    w.times[33] = 2.0;
    const struct fcl_tuner_options options = {
        .search = {.seed_points = &standard, .seed_point_count = 1}};
    assert_int_equal(run(&w, options, &result), FCL_OK);
    for (int i = 0; i < POINTS; i++)
        assert_int_equal(w.evaluated[i], 1);
    assert_int_equal(w.order[0], standard); // so that all others are measured against it
    assert_int_equal(result.winner, 33);
    assert_int_equal(result.tried, POINTS);
    assert_int_equal(result.failed, 0);
    assert_true(result.better && result.timing.median_ms == 2.0);
    assert_true(result.default_timing.median_ms == 30.0);
    assert_int_equal(w.compared, 5); // four and the default, best first, the default last
    assert_int_equal(w.compared_points[0], 33);
    assert_int_equal(w.compared_points[1], 0);
    assert_int_equal(w.compared_points[4], standard);
    assert_true(isinf(w.told_best[20]) && w.told_best[0] == 30.0 && w.told_best[39] == 2.0);
    assert_true(w.last.best == 33 && w.last.best_ms == 2.0 && w.last.first_ms == 30.0);
    assert_true(w.began == 1 && w.steps == POINTS && w.last.total == POINTS);
    fcl_space_destroy(&w.space);
}

// The finals decide, not the search's times.
static void finals_decide(void **state)
{
    (void)state;
    struct world w;
    struct fcl_tuner_result result;
    make_world(&w);
    w.finals[0] = 13.5;
    assert_int_equal(run(&w, (struct fcl_tuner_options){.finalists = 2}, &result), FCL_OK);
    assert_int_equal(w.compared, 2);
    assert_int_equal(result.winner, 1);
    assert_true(result.better && result.default_timing.median_ms == 0.0);
    fcl_space_destroy(&w.space);
}

// A default that nothing beats beyond the spread stays.
static void a_default_stays_within_the_spread(void **state)
{
    (void)state;
    static const double spreads[] = {0.20, 0.05};
    for (int i = 0; i < 2; i++) {
        struct world w;
        struct fcl_tuner_result result;
        const uint64_t standard = 1;
        make_world(&w);
        w.spread = spreads[i];
        const struct fcl_tuner_options options = {
            .search = {.seed_points = &standard, .seed_point_count = 1}};
        assert_int_equal(run(&w, options, &result), FCL_OK);
        assert_int_equal(result.winner, 0);
        assert_int_equal(result.better, i);
        fcl_space_destroy(&w.space);
    }
}

static void failures_never_win(void **state)
{
    (void)state;
    struct world w;
    struct fcl_tuner_result result;
    const uint64_t standard = 0;
    make_world(&w);
    w.times[0] = w.times[1] = 0.0;
    const struct fcl_tuner_options options = {
        .search = {.seed_points = &standard, .seed_point_count = 1}};
    assert_int_equal(run(&w, options, &result), FCL_OK);
    assert_int_equal(result.failed, 2);
    assert_int_equal(result.winner, 2);
    assert_true(result.better); // the default does not run at all
    memset(w.times, 0, sizeof w.times);
    w.count = w.steps = 0;
    assert_int_equal(run(&w, options, &result), FCL_NO_CONFIGURATION);
    assert_true(result.winner == FCL_NO_POINT && result.failed == POINTS);
    fcl_space_destroy(&w.space);
}

// Points to avoid are as if they were none of the space, also where one is the default.
static void avoided_points_are_never_tried(void **state)
{
    (void)state;
    struct world w;
    struct fcl_tuner_result result;
    const uint64_t avoid[] = {0, 3, 3, POINTS}, standard = 3;
    make_world(&w);
    struct fcl_tuner_options options = {.search = {.seed_points = &standard, .seed_point_count = 1},
                                        .avoid = avoid,
                                        .avoid_count = 4};
    assert_int_equal(run(&w, options, &result), FCL_OK);
    assert_true(w.evaluated[0] == 0 && w.evaluated[3] == 0 && w.last.total == POINTS - 2);
    assert_true(result.tried == POINTS - 2 && result.failed == 0 && result.winner == 1);
    assert_true(result.better && result.default_timing.median_ms == 0.0);
    w.count = w.steps = 0;
    options.search.evaluations = 5;
    assert_int_equal(run(&w, options, &result), FCL_BUDGET_REACHED);
    assert_int_equal(result.tried, 5);
    options.avoid = NULL;
    assert_int_equal(run(&w, options, &result), FCL_INVALID_ARGUMENT);
    fcl_space_destroy(&w.space);
}

// A last seed point that is none: there is no default, but there are seeds.
static void there_may_be_seeds_without_a_default(void **state)
{
    (void)state;
    struct world w;
    struct fcl_tuner_result result;
    const uint64_t seeds[] = {7, FCL_NO_POINT};
    make_world(&w);
    const struct fcl_tuner_options options = {
        .search = {.strategy = "seeded", .seed_points = seeds, .seed_point_count = 2}};
    assert_int_equal(run(&w, options, &result), FCL_OK);
    assert_int_equal(w.order[0], 7);
    assert_true(result.better && result.default_timing.median_ms == 0.0);
    fcl_space_destroy(&w.space);
}

static void budgets_end_it_early(void **state)
{
    (void)state;
    struct world w;
    struct fcl_tuner_result result;
    make_world(&w);
    struct fcl_tuner_options options = {.search = {.evaluations = 7, .strategy = "random"},
                                        .ahead = 4};
    assert_int_equal(run(&w, options, &result), FCL_BUDGET_REACHED);
    assert_true(result.tried == 7 && result.winner != FCL_NO_POINT && w.last.total == 7);
    assert_true(w.prepared == 7 && w.largest == 4); // nothing is prepared in vain
    w.count = w.steps = 0;
    w.stop_after = 3;
    assert_int_equal(run(&w, (struct fcl_tuner_options){0}, &result), FCL_BUDGET_REACHED);
    assert_int_equal(result.tried, 3);
    w.count = w.steps = w.stop_after = 0;
    assert_int_equal(run(&w, (struct fcl_tuner_options){.seconds = 1e-9}, &result),
                     FCL_BUDGET_REACHED);
    assert_true(result.tried == 0 && result.winner == FCL_NO_POINT);
    fcl_space_destroy(&w.space);
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    struct world w;
    struct fcl_tuner_result result;
    char reason[256];
    make_world(&w);
    assert_int_equal(run(&w, (struct fcl_tuner_options){.seconds = -1}, &result),
                     FCL_INVALID_ARGUMENT);
    assert_int_equal(run(&w, (struct fcl_tuner_options){.ahead = 1000}, &result),
                     FCL_INVALID_ARGUMENT);
    assert_int_equal(run(&w, (struct fcl_tuner_options){.search = {.strategy = "x"}}, &result),
                     FCL_INVALID_ARGUMENT);
    const struct fcl_evaluator none = {.user = &w};
    assert_int_equal(fcl_tuner_run(w.space, &none, NULL, &result, reason, sizeof reason),
                     FCL_INVALID_ARGUMENT);
    assert_string_equal(reason, "evaluator.evaluate is NULL");
    assert_int_equal(w.count, 0);
    fcl_space_destroy(&w.space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_point_once_and_the_best_wins),
        cmocka_unit_test(finals_decide),
        cmocka_unit_test(a_default_stays_within_the_spread),
        cmocka_unit_test(failures_never_win),
        cmocka_unit_test(avoided_points_are_never_tried),
        cmocka_unit_test(there_may_be_seeds_without_a_default),
        cmocka_unit_test(budgets_end_it_early),
        cmocka_unit_test(bad_options_are_refused),
    };
    return cmocka_run_group_tests_name("tuner", tests, NULL, NULL);
}
