// Tunes a user's kernel: trials, what wisdom knows, the tuner's loop, the winner into wisdom.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "kernel_wisdom.h"

struct tuning {
    fcl_device *device;
    struct fcl_kernel_form form;
    struct fcl_kernel_tune_options options;
    struct fcl_kernel_known known;
    struct fcl_kernel_result *result;
    fcl_kernel_trials *trials; // NULL where the caller evaluates
    uint64_t *seeds;
    int learnt; // 1: wisdom knows more than its file
    char reason[256];
};

// ---- what wisdom knows

static enum fcl_status know(fcl_device *device, const struct fcl_kernel_form *form,
                            struct fcl_kernel_known *known)
{
    pthread_mutex_lock(&device->wisdom_lock);
    const enum fcl_status status = fcl_kernel_know(form, &device->caps, device->wisdom, known);
    pthread_mutex_unlock(&device->wisdom_lock);
    return status;
}

// Seeds of wisdom, of the caller, and at the end the default: wisdom's before the caller's.
static enum fcl_status gather_seeds(struct tuning *t)
{
    struct fcl_search_options *search = &t->options.tuner.search;
    const size_t known = t->known.seed_count, given = search->seed_point_count;
    if (given > 0 && search->seed_points == NULL)
        return FCL_OK; // the search says so
    t->seeds = calloc(known + given + 1, sizeof *t->seeds);
    if (t->seeds == NULL)
        return FCL_OUT_OF_MEMORY;
    memcpy(t->seeds, t->known.seeds, known * sizeof *t->seeds);
    if (given > 0)
        memcpy(t->seeds + known, search->seed_points, given * sizeof *t->seeds);
    search->seed_points = t->seeds;
    search->seed_point_count = known + given;
    if (given == 0 || t->known.winner != FCL_NO_POINT)
        t->seeds[search->seed_point_count++] = t->known.winner;
    return FCL_OK;
}

static enum fcl_status avoid_bad(struct tuning *t)
{
    if (t->options.retry_bad || t->known.bad_count == 0)
        return FCL_OK;
    t->options.tuner.avoid = t->known.bad;
    t->options.tuner.avoid_count = t->result->pruned = t->known.bad_count;
    return t->known.bad_count < fcl_space_count(t->form.spec.space)
               ? FCL_OK
               : fcl_fail(t->reason, sizeof t->reason, FCL_NO_CONFIGURATION,
                          "by wisdom, every point crashed or hung on this driver");
}

// ---- what wisdom learns

static enum fcl_status learn(struct tuning *t, const char *problem_class, const char *config,
                             const struct fcl_timing *timing)
{
    const struct fcl_wisdom_row row = {.device = t->device->caps.name,
                                       .driver = t->device->caps.driver,
                                       .problem_class = problem_class,
                                       .config = config,
                                       .median_ms = timing->median_ms,
                                       .spread = timing->spread,
                                       .clock = fcl_clock_text(timing->clock),
                                       .version = FCL_VERSION};
    const enum fcl_status status = fcl_device_learn(t->device, &row);
    t->learnt = t->learnt || status == FCL_OK;
    return status;
}

// What crashed or hung is remembered, what passed in spite of wisdom is forgiven.
static void learn_fate(struct tuning *t, uint64_t point, const struct fcl_evaluation *evaluation)
{
    struct fcl_text config = {0}, own = {0};
    char kind[40];
    const int forgiven = evaluation->status == FCL_OK && fcl_kernel_is_bad(&t->known, point);
    if (!t->options.store || (evaluation->bad[0] == 0 && !forgiven))
        return;
    fcl_kernel_add_point(t->form.spec.space, point, &config);
    fcl_text_add(&own, "%s %s", t->known.problem_class.data, config.failed ? "" : config.data);
    snprintf(kind, sizeof kind, "bad %s", evaluation->bad);
    if (!config.failed && !own.failed)
        learn(t, own.data, forgiven ? config.data : kind, &evaluation->timing);
    fcl_text_free(&config);
    fcl_text_free(&own);
}

static void report_step(void *user, const struct fcl_tuner_step *step)
{
    struct tuning *t = user;
    learn_fate(t, step->point, step->evaluation);
    if (t->options.tuner.progress != NULL)
        t->options.tuner.progress(t->options.tuner.user, step);
}

static enum fcl_status store_winner(struct tuning *t)
{
    const struct fcl_tuner_result *tuned = &t->result->tuner;
    struct fcl_text config = {0};
    if (!t->options.store || (!tuned->better && t->known.winner != FCL_NO_POINT))
        return FCL_OK;
    fcl_kernel_add_point(t->form.spec.space, tuned->winner, &config);
    const enum fcl_status status =
        config.failed ? FCL_OUT_OF_MEMORY
                      : learn(t, t->known.problem_class.data, config.data, &tuned->timing);
    fcl_text_free(&config);
    t->result->stored = status == FCL_OK;
    return status == FCL_OK
               ? FCL_OK
               : fcl_fail(t->reason, sizeof t->reason, status,
                          "the winner cannot be a row of wisdom: %s", fcl_status_text(status));
}

// ---- all of it

static enum fcl_status run(struct tuning *t)
{
    struct fcl_tuner_options options = t->options.tuner;
    const fcl_space *space = t->form.spec.space;
    struct fcl_kernel_result *result = t->result;
    options.progress = report_step;
    options.user = t;
    const struct fcl_evaluator evaluator = t->options.evaluator != NULL
                                               ? *t->options.evaluator
                                               : fcl_kernel_trials_evaluator(t->trials);
    const enum fcl_status status =
        fcl_tuner_run(space, &evaluator, &options, &result->tuner, t->reason, sizeof t->reason);
    enum fcl_status end = FCL_OK;
    if (result->tuner.winner != FCL_NO_POINT) {
        fcl_point_format(space, result->tuner.winner, result->winner, sizeof result->winner);
        end = store_winner(t);
    }
    if (t->learnt && end == FCL_OK) {
        end = fcl_device_save_wisdom(t->device);
        t->result->stored = t->result->stored && end == FCL_OK;
        if (end != FCL_OK)
            t->reason[0] = 0; // the log has another
    }
    return end != FCL_OK ? end : status;
}

static enum fcl_status tune(struct tuning *t, const struct fcl_kernel_spec *spec)
{
    enum fcl_status status = fcl_kernel_form_create(spec, &t->form, t->reason, sizeof t->reason);
    if (status != FCL_OK)
        return status;
    status = know(t->device, &t->form, &t->known);
    if (status == FCL_OK)
        status = gather_seeds(t);
    if (status == FCL_OK)
        status = avoid_bad(t);
    if (status == FCL_OK && t->options.evaluator == NULL)
        status = fcl_kernel_trials_create(t->device, spec, &t->trials);
    if (status == FCL_OK)
        status = run(t);
    fcl_kernel_trials_destroy(&t->trials);
    fcl_kernel_known_free(&t->known);
    fcl_kernel_form_free(&t->form);
    free(t->seeds);
    return status;
}

enum fcl_status fcl_kernel_tune(fcl_device *device, const struct fcl_kernel_spec *spec,
                                const struct fcl_kernel_tune_options *options,
                                struct fcl_kernel_result *result)
{
    if (device == NULL || result == NULL)
        return device == NULL ? FCL_INVALID_ARGUMENT
                              : fcl_device_fail(device, FCL_INVALID_ARGUMENT, "result is NULL");
    *result = (struct fcl_kernel_result){.tuner.winner = FCL_NO_POINT};
    struct tuning t = {.device = device, .result = result};
    if (options != NULL && !fcl_struct_read(&t.options, sizeof t.options, options))
        return fcl_device_fail(device, FCL_INVALID_ARGUMENT,
                               "options.struct_size is %zu, allowed are 8 to %zu",
                               options->struct_size, sizeof t.options);
    t.options.tuner.struct_size = sizeof t.options.tuner;
    const enum fcl_status status = tune(&t, spec);
    return status != FCL_OK && t.reason[0] != 0 ? fcl_device_fail(device, status, "%s", t.reason)
                                                : status;
}

enum fcl_status fcl_kernel_winner(fcl_device *device, const struct fcl_kernel_spec *spec,
                                  uint64_t *point)
{
    struct fcl_kernel_form form;
    struct fcl_kernel_known known;
    char reason[256] = "";
    if (device == NULL || point == NULL)
        return device == NULL ? FCL_INVALID_ARGUMENT
                              : fcl_device_fail(device, FCL_INVALID_ARGUMENT, "point is NULL");
    *point = FCL_NO_POINT;
    enum fcl_status status = fcl_kernel_form_create(spec, &form, reason, sizeof reason);
    if (status != FCL_OK)
        return fcl_device_fail(device, status, "%s", reason);
    status = know(device, &form, &known);
    *point = known.winner;
    fcl_kernel_known_free(&known);
    fcl_kernel_form_free(&form);
    return status == FCL_OK && *point == FCL_NO_POINT ? FCL_NO_CONFIGURATION : status;
}
