// Tuning attention: a space of configurations, seeds from wisdom and tables, the tuner's loop, and
// the winner into wisdom.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/wisdom.h"
#include "problem.h"
#include "trials.h"
#include "tuning_space.h"

struct tuning {
    fcl_device *device;
    struct fcl_problem problem;
    struct fcl_tune_options options;
    struct fcl_tune_result *result;
    fcl_trials *trials; // NULL where the caller evaluates
    fcl_space *space;
    struct fcl_evaluator evaluator;
    uint64_t seeds[FCL_CHOICES]; // best first, the default last
    size_t seed_count;
    char problem_class[256];
    int learnt; // 1: wisdom knows more than its file
    char reason[256];
};

// ---- the space and its seeds

// Whether wisdom says that a configuration crashed or hung; `reason` repeats it.
static int is_bad(struct tuning *t, const struct fcl_config *config, char *reason, size_t size)
{
    pthread_mutex_lock(&t->device->wisdom_lock);
    const struct fcl_wisdom_row *row =
        fcl_select_bad(t->device->wisdom, &t->device->caps, t->problem_class, config);
    if (row)
        snprintf(reason, size, "wisdom says %s", row->config);
    pthread_mutex_unlock(&t->device->wisdom_lock);
    return row != NULL;
}

static int visit_config(void *user, const struct fcl_config *config, enum fcl_status status,
                        const char *reason)
{
    struct tuning *t = user;
    char text[96], bad[128];
    const int valid = status == FCL_OK;
    if (valid) {
        if (t->options.retry_bad || !is_bad(t, config, bad, sizeof bad))
            return 0;
        status = FCL_UNSUPPORTED;
        reason = bad;
    }
    t->result->pruned++;
    if (!t->options.progress)
        return valid;
    fcl_config_format(config, text, sizeof text);
    const struct fcl_trial trial = {.config = text,
                                    .status = status,
                                    .reason = reason,
                                    .bad = "",
                                    .number = t->result->tried,
                                    .total = 0,
                                    .best_ms = INFINITY,
                                    .default_ms = INFINITY};
    t->options.progress(t->options.user, &trial);
    return valid;
}

// The default comes first among the choices; as a seed it is the last. Choices of other families
// are no points of the space.
static enum fcl_status make_space(struct tuning *t)
{
    struct fcl_choice choices[FCL_CHOICES];
    pthread_mutex_lock(&t->device->wisdom_lock);
    const size_t count = fcl_select(&t->problem, t->options.implementation, &t->device->caps,
                                    t->device->wisdom, choices, t->reason, sizeof t->reason);
    pthread_mutex_unlock(&t->device->wisdom_lock);
    if (!count)
        return FCL_NO_CONFIGURATION;
    struct fcl_config standard;
    enum fcl_status status = FCL_OK;
    size_t kept = 0;
    standard = choices[0].config;
    for (size_t i = 0; i < count; i++)
        if (choices[i].config.family == standard.family)
            choices[kept++] = choices[i];
    fcl_config_format(&standard, t->result->default_config, sizeof t->result->default_config);
    status = fcl_config_points(&t->problem, t->options.implementation, &t->device->caps, &standard,
                               visit_config, t, &t->space, t->reason, sizeof t->reason);
    for (size_t i = 1; i <= kept && !status; i++)
        if (!fcl_config_point(t->space, &choices[i % kept].config, &t->seeds[t->seed_count]))
            t->seed_count++;
    return status;
}

// ---- evaluating in this process

static void evaluate_here(void *user, uint64_t point, double best_ms,
                          struct fcl_evaluation *evaluation)
{
    struct tuning *t = user;
    struct fcl_config config;
    fcl_point_config(t->space, point, &config);
    fcl_trials_evaluate(t->trials, &config, best_ms, evaluation);
}

static enum fcl_status compare_here(void *user, const uint64_t *points, size_t count,
                                    struct fcl_timing *timings)
{
    struct tuning *t = user;
    struct fcl_config configs[FCL_TRIALS_COMPARED];
    for (size_t i = 0; i < count; i++)
        fcl_point_config(t->space, points[i], &configs[i]);
    return fcl_trials_compare(t->trials, configs, count, timings);
}

static enum fcl_status make_evaluator(struct tuning *t)
{
    if (t->options.evaluator) {
        t->evaluator = *t->options.evaluator;
        return FCL_OK;
    }
    t->evaluator =
        (struct fcl_evaluator){.user = t, .evaluate = evaluate_here, .compare = compare_here};
    return fcl_trials_create(t->device, &t->problem, t->options.implementation, &t->trials);
}

// ---- progress

// What crashed or hung is remembered, in the file at the end; what passed in spite of it is
// forgiven.
static void learn(struct tuning *t, const struct fcl_config *config, const char *config_text,
                  const struct fcl_evaluation *evaluation)
{
    fcl_device *device = t->device;
    char text[384], kind[40], was[128];
    const int forgiven =
        !evaluation->status && t->options.retry_bad && is_bad(t, config, was, sizeof was);
    if (!t->options.store || (!evaluation->bad[0] && !forgiven))
        return;
    fcl_select_class_of(t->problem_class, config, text, sizeof text);
    snprintf(kind, sizeof kind, "bad %s", evaluation->bad);
    const struct fcl_wisdom_row row = {.device = device->caps.name,
                                       .driver = device->caps.driver,
                                       .problem_class = text,
                                       .config = forgiven ? config_text : kind,
                                       .median_ms = evaluation->timing.median_ms,
                                       .spread = evaluation->timing.spread,
                                       .clock = fcl_clock_text(evaluation->timing.clock),
                                       .version = FCL_VERSION};
    if (!fcl_device_learn(device, &row))
        t->learnt = 1;
}

static void report_step(void *user, const struct fcl_tuner_step *step)
{
    struct tuning *t = user;
    struct fcl_config config;
    char text[96];
    fcl_point_config(t->space, step->point, &config);
    fcl_config_format(&config, text, sizeof text);
    learn(t, &config, text, step->evaluation);
    if (!t->options.progress)
        return;
    const struct fcl_trial trial = {.config = text,
                                    .status = step->evaluation->status,
                                    .reason = step->evaluation->reason,
                                    .bad = step->evaluation->bad,
                                    .ratio = step->evaluation->ratio,
                                    .build_ms = step->evaluation->build_ms,
                                    .timing = step->evaluation->timing,
                                    .number = step->number,
                                    .total = step->total,
                                    .best_ms = step->best_ms,
                                    .default_ms = step->first_ms};
    t->options.progress(t->options.user, &trial);
}

// ---- the result

static enum fcl_status store_winner(struct tuning *t, const struct fcl_config *winner,
                                    const struct fcl_wisdom_row *row)
{
    enum fcl_status status = fcl_device_learn(t->device, row);
    if (!status)
        status = fcl_device_save_wisdom(t->device);
    if (status)
        return status;
    t->learnt = 0;
    t->result->stored = 1;
    return t->trials ? fcl_trials_store(t->trials, winner) : FCL_OK;
}

static enum fcl_status conclude(struct tuning *t, const struct fcl_tuner_result *tuned)
{
    struct fcl_tune_result *result = t->result;
    struct fcl_config winner;
    fcl_point_config(t->space, tuned->winner, &winner);
    fcl_config_format(&winner, result->config, sizeof result->config);
    result->timing = tuned->timing;
    result->default_timing = tuned->default_timing;
    const struct fcl_wisdom_row row = {.device = t->device->caps.name,
                                       .driver = t->device->caps.driver,
                                       .problem_class = t->problem_class,
                                       .config = result->config,
                                       .median_ms = tuned->timing.median_ms,
                                       .spread = tuned->timing.spread,
                                       .clock = fcl_clock_text(tuned->timing.clock),
                                       .version = FCL_VERSION};
    fcl_wisdom_format(&row, result->row, sizeof result->row);
    return t->options.store && tuned->better ? store_winner(t, &winner, &row) : FCL_OK;
}

static enum fcl_status tune(struct tuning *t)
{
    struct fcl_tuner_result tuned = {.winner = FCL_NO_POINT};
    fcl_problem_class(&t->problem, t->options.implementation, t->problem_class,
                      sizeof t->problem_class);
    enum fcl_status status = make_space(t);
    if (!status)
        status = make_evaluator(t);
    if (status)
        return status;
    const struct fcl_tuner_options options = {
        .struct_size = sizeof options,
        .search = {.struct_size = sizeof options.search,
                   .strategy = t->options.strategy,
                   .seed = t->options.seed,
                   .seed_points = t->seeds,
                   .seed_point_count = t->seed_count,
                   .evaluations = t->options.evaluations},
        .seconds = t->options.seconds,
        .ahead = t->options.ahead,
        .progress = report_step,
        .user = t,
    };
    status = fcl_tuner_run(t->space, &t->evaluator, &options, &tuned, t->reason, sizeof t->reason);
    t->result->tried = tuned.tried;
    t->result->failed = tuned.failed;
    enum fcl_status end = tuned.winner == FCL_NO_POINT ? FCL_OK : conclude(t, &tuned);
    if (t->learnt && !end)
        end = fcl_device_save_wisdom(t->device);
    return end ? end : status;
}

enum fcl_status fcl_attention_tune(fcl_device *device, const struct fcl_problem *problem,
                                   const struct fcl_tune_options *options,
                                   struct fcl_tune_result *result)
{
    if (!device || !problem || !result)
        return device ? fcl_device_fail(device, FCL_INVALID_ARGUMENT, "%s is NULL",
                                        problem ? "result" : "problem")
                      : FCL_INVALID_ARGUMENT;
    *result = (struct fcl_tune_result){0};
    struct tuning t = {.device = device, .result = result};
    if (options && !fcl_struct_read(&t.options, sizeof t.options, options))
        return fcl_device_fail(device, FCL_INVALID_ARGUMENT,
                               "options.struct_size is %zu, allowed are 8 to %zu",
                               options->struct_size, sizeof t.options);
    enum fcl_status status = fcl_problem_complete(problem, &t.problem, t.reason, sizeof t.reason);
    if (!status)
        status = tune(&t);
    if (status && *t.reason)
        fcl_device_fail(device, status, "%s", t.reason);
    fcl_trials_destroy(&t.trials);
    fcl_space_destroy(&t.space);
    return status;
}
