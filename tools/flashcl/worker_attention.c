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

static void build(void *user, const char *candidate, int keep, struct fcl_evaluation *evaluation)
{
    struct work *work = user;
    struct fcl_config config;
    evaluation->status =
        fcl_config_parse(candidate, &config, evaluation->reason, sizeof(evaluation->reason));
    if (evaluation->status == FCL_OK) {
        fcl_attention_build(work->session->device, &work->problem, work->implementation, &config,
                            keep, evaluation);
    }
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
