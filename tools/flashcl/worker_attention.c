// Attention as a worker's work: candidates are configurations.
#include "memory.h"
#include "problems.h"
#include "worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct work {
    struct session *session;
    struct fcl_problem problem;
    enum fcl_implementation implementation;
    fcl_trials *trials; // NULL: only builds
};

static void close_work(void *user)
{
    struct work *work = user;
    fcl_trials_destroy(&work->trials);
    free(work);
}

static void *open_work(struct session *session, const json_t *message, int evaluates, char *reason,
                       size_t size)
{
    const char *problem = json_string_value(json_object_get(message, "problem"));
    const char *implementation = json_string_value(json_object_get(message, "implementation"));
    struct work *work = memory_get(1, sizeof(*work));
    work->session = session;
    enum fcl_status status =
        fcl_problem_parse(problem != NULL ? problem : "", &work->problem, reason, size);
    if (implementation != NULL && strcmp(implementation, implementation_text(FCL_UNFUSED)) == 0) {
        work->implementation = FCL_UNFUSED;
    }
    if (status == FCL_OK && evaluates) {
        status =
            fcl_trials_create(session->device, &work->problem, work->implementation, &work->trials);
        snprintf(reason, size, "%s", session_sentence(session, status));
    }
    if (status != FCL_OK) {
        close_work(work);
        return NULL;
    }
    return work;
}

// The library's sentence up to its first line's end: a compiler's log may follow.
static void say_why(const struct session *session, struct fcl_evaluation *evaluation)
{
    const char *sentence = session_sentence(session, evaluation->status);
    snprintf(evaluation->reason, sizeof(evaluation->reason), "%.*s", (int)strcspn(sentence, "\r\n"),
             sentence);
}

static void build(void *user, const char *candidate, struct fcl_evaluation *evaluation)
{
    struct work *work = user;
    struct fcl_config config;
    struct fcl_plan_info info;
    fcl_plan *plan = NULL;
    session_forget(work->session);
    evaluation->status =
        fcl_config_parse(candidate, &config, evaluation->reason, sizeof(evaluation->reason));
    if (evaluation->status != FCL_OK) {
        return;
    }
    evaluation->status = fcl_plan_create(
        work->session->device, &work->problem,
        fcl_plan_options(.implementation = work->implementation, .config = &config), &plan);
    if (evaluation->status != FCL_OK) {
        say_why(work->session, evaluation);
        return;
    }
    fcl_plan_describe(plan, &info);
    evaluation->build_ms = info.plan_ms;
    fcl_plan_destroy(&plan);
}

static void evaluate(void *user, const char *candidate, double best_ms,
                     struct fcl_evaluation *evaluation)
{
    struct work *work = user;
    struct fcl_config config;
    evaluation->status =
        fcl_config_parse(candidate, &config, evaluation->reason, sizeof(evaluation->reason));
    if (evaluation->status == FCL_OK) {
        fcl_trials_evaluate(work->trials, &config, best_ms, evaluation);
    }
}

static enum fcl_status compare(void *user, const char *const *candidates, size_t count,
                               struct fcl_timing *timings)
{
    struct work *work = user;
    struct fcl_config configs[FCL_TRIALS_COMPARED];
    if (count > FCL_TRIALS_COMPARED) {
        return FCL_INVALID_ARGUMENT;
    }
    for (size_t i = 0; i < count; i++) {
        enum fcl_status status = fcl_config_parse(candidates[i], &configs[i], NULL, 0);
        if (status != FCL_OK) {
            return status;
        }
    }
    return fcl_trials_compare(work->trials, configs, count, timings);
}

const struct worker_kind worker_attention = {.name = "attention",
                                             .open = open_work,
                                             .close = close_work,
                                             .build = build,
                                             .evaluate = evaluate,
                                             .compare = compare};
