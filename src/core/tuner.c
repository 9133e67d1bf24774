// The tuner's loop: ask a search, have points evaluated, tell; in the end the best meet in turn.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <flashcl/tune.h>

#include "common.h"

#define FINALISTS 4
#define FINALISTS_LIMIT 64
#define AHEAD_LIMIT 256

struct finalist {
    uint64_t point;
    double median_ms;
};

struct tuner {
    const fcl_space *space;
    const struct fcl_evaluator *evaluator;
    struct fcl_tuner_options options;
    struct fcl_tuner_result *result;
    fcl_search *search;
    uint64_t standard; // the default; FCL_NO_POINT: none
    double standard_ms, started_ms;
    size_t points, total;                       // that may be tried, that will be at most
    struct finalist finalists[FINALISTS_LIMIT]; // by time, without the default
    size_t finalist_count;
};

// ---- beginning

static uint64_t find_default(const fcl_space *space, const struct fcl_tuner_options *options)
{
    const struct fcl_search_options *search = &options->search;
    if (!search->seed_point_count)
        return FCL_NO_POINT;
    const uint64_t last = search->seed_points[search->seed_point_count - 1];
    for (size_t i = 0; i < options->avoid_count; i++)
        if (options->avoid[i] == last)
            return FCL_NO_POINT;
    return fcl_space_index(space, last) < fcl_space_count(space) ? last : FCL_NO_POINT;
}

static enum fcl_status read_options(struct tuner *t, const struct fcl_tuner_options *options,
                                    char *reason, size_t size)
{
    if (options && !fcl_struct_read(&t->options, sizeof t->options, options))
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "options.struct_size is %zu, allowed are 8 to %zu", options->struct_size,
                        sizeof t->options);
    struct fcl_tuner_options *o = &t->options;
    if (!(o->seconds >= 0.0))
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "options.seconds is %g, allowed are 0 and more", o->seconds);
    if (o->ahead > AHEAD_LIMIT || o->finalists > FINALISTS_LIMIT)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "options.ahead and finalists are %zu and %zu, allowed are up to %d and %d",
                        o->ahead, o->finalists, AHEAD_LIMIT, FINALISTS_LIMIT);
    if (!o->avoid && o->avoid_count)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "options.avoid is NULL, but avoid_count is %zu", o->avoid_count);
    o->ahead = o->ahead ? o->ahead : 1;
    o->finalists = o->finalists ? o->finalists : FINALISTS;
    o->search.struct_size = sizeof o->search;
    return FCL_OK;
}

// The search never proposes what it was told before; other points than those of the space are no
// matter.
static void avoid_points(struct tuner *t)
{
    struct fcl_search_progress progress;
    for (size_t i = 0; i < t->options.avoid_count; i++)
        fcl_search_tell(t->search, t->options.avoid[i], INFINITY);
    fcl_search_get_progress(t->search, &progress);
    t->points = fcl_space_count(t->space) - progress.told;
}

static enum fcl_status begin(struct tuner *t, char *reason, size_t size)
{
    const size_t most = t->options.search.evaluations;
    const enum fcl_status status =
        fcl_search_create(t->space, &t->options.search, &t->search, reason, size);
    if (status)
        return status;
    avoid_points(t);
    t->standard = find_default(t->space, &t->options);
    t->total = most && most < t->points ? most : t->points;
    if (t->evaluator->begin)
        t->evaluator->begin(t->evaluator->user, t->space);
    return FCL_OK;
}

// ---- one point

static void enter_finals(struct tuner *t, uint64_t point, double median_ms)
{
    size_t at = t->finalist_count;
    for (; at > 0 && t->finalists[at - 1].median_ms > median_ms; at--)
        if (at < t->options.finalists)
            t->finalists[at] = t->finalists[at - 1];
    if (at < t->options.finalists)
        t->finalists[at] = (struct finalist){point, median_ms};
    if (t->finalist_count < t->options.finalists)
        t->finalist_count++;
}

// The best so far; the default counts.
static struct finalist best_of(const struct tuner *t)
{
    const struct finalist standard = {t->standard, t->standard_ms};
    if (t->finalist_count && !(standard.median_ms <= t->finalists[0].median_ms))
        return t->finalists[0];
    return isfinite(t->standard_ms) ? standard : (struct finalist){FCL_NO_POINT, INFINITY};
}

static void report(const struct tuner *t, uint64_t point, const struct fcl_evaluation *evaluation)
{
    if (!t->options.progress)
        return;
    const struct finalist best = best_of(t);
    const struct fcl_tuner_step step = {.point = point,
                                        .evaluation = evaluation,
                                        .number = t->result->tried,
                                        .total = t->total,
                                        .best = best.point,
                                        .best_ms = best.median_ms,
                                        .first_ms = t->standard_ms,
                                        .elapsed_s = (fcl_now_ms() - t->started_ms) / 1000.0};
    t->options.progress(t->options.user, &step);
}

static enum fcl_status evaluate(struct tuner *t, uint64_t point)
{
    struct fcl_evaluation e = {0};
    t->evaluator->evaluate(t->evaluator->user, point, best_of(t).median_ms, &e);
    t->result->tried++;
    const double median = e.status ? INFINITY : e.timing.median_ms;
    if (!e.status && !(median > 0.0)) {
        e.status = FCL_DEVICE_ERROR;
        strcpy(e.reason, "timed as 0 ms");
    }
    if (e.status)
        t->result->failed++;
    else if (point == t->standard)
        t->standard_ms = median;
    else
        enter_finals(t, point, median);
    report(t, point, &e);
    return fcl_search_tell(t->search, point, e.status ? INFINITY : median);
}

// ---- the loop

static int is_over(const struct tuner *t)
{
    return t->result->tried >= t->total ||
           (t->options.seconds > 0.0 &&
            fcl_now_ms() - t->started_ms > 1000.0 * t->options.seconds) ||
           (t->evaluator->stop && t->evaluator->stop(t->evaluator->user));
}

// Asks for points until `count` are there, none is left, or some must be told first.
static size_t ask(struct tuner *t, uint64_t *points, size_t count)
{
    size_t have = 0;
    while (have < count && fcl_search_ask(t->search, &points[have]) == FCL_ASK_POINT)
        have++;
    return have;
}

// Returns OK when the space was exhausted.
static enum fcl_status search(struct tuner *t)
{
    uint64_t points[AHEAD_LIMIT];
    size_t count = 1;
    points[0] = t->standard; // first, so that everything else is measured against it
    if (t->standard == FCL_NO_POINT)
        count = ask(t, points, t->options.ahead);
    while (count && !is_over(t)) {
        if (t->evaluator->prepare)
            t->evaluator->prepare(t->evaluator->user, points, count);
        for (size_t i = 0; i < count && !is_over(t); i++) {
            const enum fcl_status status = evaluate(t, points[i]);
            if (status)
                return status;
        }
        const size_t left = t->total - t->result->tried;
        count = ask(t, points, left < t->options.ahead ? left : t->options.ahead);
    }
    return t->result->tried < t->points && (count || is_over(t)) ? FCL_BUDGET_REACHED : FCL_OK;
}

// ---- the finals

static void judge(struct tuner *t, const uint64_t *points, const struct fcl_timing *timings,
                  size_t count)
{
    struct fcl_tuner_result *r = t->result;
    size_t winner = 0;
    for (size_t i = 1; i < count; i++)
        if (timings[i].median_ms < timings[winner].median_ms)
            winner = i;
    r->winner = points[winner];
    r->timing = timings[winner];
    if (isfinite(t->standard_ms))
        r->default_timing = timings[count - 1];
    const double noise = fmax(r->timing.spread, r->default_timing.spread);
    r->better = r->winner != t->standard &&
                (!isfinite(t->standard_ms) ||
                 r->timing.median_ms * (1.0 + noise) < r->default_timing.median_ms);
}

static enum fcl_status conclude(struct tuner *t, char *reason, size_t size)
{
    uint64_t points[FINALISTS_LIMIT + 1];
    struct fcl_timing timings[FINALISTS_LIMIT + 1];
    size_t count = 0;
    for (; count < t->finalist_count; count++)
        points[count] = t->finalists[count].point;
    if (isfinite(t->standard_ms))
        points[count++] = t->standard;
    if (!count)
        return fcl_fail(reason, size, FCL_NO_CONFIGURATION,
                        "none of %zu points built, ran and gave the right result",
                        t->result->tried);
    const enum fcl_status status =
        t->evaluator->compare(t->evaluator->user, points, count, timings);
    if (status)
        return fcl_fail(reason, size, status, "the finals failed: %s", fcl_status_text(status));
    judge(t, points, timings, count);
    return FCL_OK;
}

enum fcl_status fcl_tuner_run(const fcl_space *space, const struct fcl_evaluator *evaluator,
                              const struct fcl_tuner_options *options,
                              struct fcl_tuner_result *result, char *reason, size_t size)
{
    if (!space || !evaluator || !result || !evaluator->evaluate || !evaluator->compare)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%s is NULL",
                        !space                 ? "space"
                        : !evaluator           ? "evaluator"
                        : !result              ? "result"
                        : !evaluator->evaluate ? "evaluator.evaluate"
                                               : "evaluator.compare");
    *result = (struct fcl_tuner_result){.winner = FCL_NO_POINT};
    struct tuner t = {.space = space,
                      .evaluator = evaluator,
                      .result = result,
                      .standard_ms = INFINITY,
                      .started_ms = fcl_now_ms()};
    enum fcl_status status = read_options(&t, options, reason, size);
    if (!status)
        status = begin(&t, reason, size);
    if (!status)
        status = search(&t);
    if (!status || status == FCL_BUDGET_REACHED) {
        const enum fcl_status end = conclude(&t, reason, size);
        if (end != FCL_NO_CONFIGURATION || !status)
            status = end ? end : status;
    }
    if (status == FCL_BUDGET_REACHED)
        fcl_fail(reason, size, status, "%zu of %zu points were tried in the budget", result->tried,
                 t.points);
    fcl_search_destroy(&t.search);
    return status;
}
