// A user's kernel as a worker's work: candidates are numbers of points.
#include "kernel_command.h"
#include "memory.h"
#include "worker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct work {
    struct session *session;
    const char **arguments; // of the tuner's command line
    json_t *texts;          // that they point into
    struct kernel_command command;
    fcl_kernel_trials *trials; // of a builder made with the first launch
    struct fcl_evaluator evaluator;
};

static void close_work(void *user)
{
    struct work *work = user;
    fcl_kernel_trials_destroy(&work->trials);
    kernel_command_free(&work->command);
    json_decref(work->texts);
    free(work->arguments);
    free(work);
}

// Reads the tuner's command line again, and the files that it names; they may have changed.
static int read_command(struct work *work, const json_t *message, char *reason, size_t size)
{
    char digest[KERNEL_DIGEST_SIZE] = "";
    const char *wanted = json_string_value(json_object_get(message, "digest"));
    size_t count = json_array_size(work->texts);
    work->arguments = memory_get(count + 1, sizeof(*work->arguments));
    for (size_t i = 0; i < count; i++) {
        const char *text = json_string_value(json_array_get(work->texts, i));
        work->arguments[i] = text != NULL ? text : "";
    }
    if (kernel_command_read(&work->command, (int)count, work->arguments) == OPTIONS_PROCEED) {
        kernel_command_digest(&work->command, digest);
    }
    if (digest[0] == '\0' || wanted == NULL || strcmp(digest, wanted) != 0) {
        snprintf(reason, size, "the kernel or a file that belongs to it changed under way");
        return 0;
    }
    return 1;
}

static void *open_work(struct session *session, const json_t *message, int evaluates, char *reason,
                       size_t size)
{
    struct work *work = memory_get(1, sizeof(*work));
    enum fcl_status status = FCL_OK;
    work->session = session;
    work->texts = json_incref(json_object_get(message, "arguments"));
    int good = read_command(work, message, reason, size);
    if (good && evaluates) {
        status = fcl_kernel_trials_create(session->device, &work->command.job.spec, &work->trials);
    }
    if (status != FCL_OK) {
        snprintf(reason, size, "%s", session_sentence(session, status));
    }
    if (!good || status != FCL_OK) {
        close_work(work);
        return NULL;
    }
    if (evaluates) {
        work->evaluator = fcl_kernel_trials_evaluator(work->trials);
    }
    return work;
}

// Returns OK with the point, else the reason.
static enum fcl_status read_point(const struct work *work, const char *candidate, uint64_t *point,
                                  char *reason, size_t size)
{
    char *end;
    *point = strtoumax(candidate, &end, 10);
    if (end == candidate || *end != '\0' || *point >= fcl_space_size(work->command.job.space)) {
        snprintf(reason, size, "'%s' is no point", candidate);
        return FCL_INVALID_ARGUMENT;
    }
    return fcl_point_validate(work->command.job.space, *point, reason, size);
}

static void build(void *user, const char *candidate, int keep, struct fcl_evaluation *evaluation)
{
    const struct work *work = user;
    uint64_t point;
    evaluation->status =
        read_point(work, candidate, &point, evaluation->reason, sizeof(evaluation->reason));
    if (evaluation->status == FCL_OK) {
        fcl_kernel_build(work->session->device, &work->command.job.spec, point, keep, evaluation);
    }
}

// A builder judges nothing, so it needs no reference.
static void launch(void *user, const char *candidate, struct fcl_evaluation *evaluation)
{
    struct work *work = user;
    struct fcl_kernel_spec spec = work->command.job.spec;
    uint64_t point;
    spec.reference = NULL;
    evaluation->status =
        read_point(work, candidate, &point, evaluation->reason, sizeof(evaluation->reason));
    if (evaluation->status == FCL_OK && work->trials == NULL) {
        evaluation->status = fcl_kernel_trials_create(work->session->device, &spec, &work->trials);
        snprintf(evaluation->reason, sizeof(evaluation->reason), "%s",
                 session_sentence(work->session, evaluation->status));
    }
    if (evaluation->status == FCL_OK) {
        fcl_kernel_launch(work->trials, point, evaluation);
    }
}

static void evaluate(void *user, const char *candidate, double best_ms,
                     struct fcl_evaluation *evaluation)
{
    struct work *work = user;
    uint64_t point;
    evaluation->status =
        read_point(work, candidate, &point, evaluation->reason, sizeof(evaluation->reason));
    if (evaluation->status == FCL_OK) {
        work->evaluator.evaluate(work->evaluator.user, point, best_ms, evaluation);
    }
}

static enum fcl_status compare(void *user, const char *const *candidates, size_t count,
                               struct fcl_timing *timings)
{
    struct work *work = user;
    uint64_t *points = memory_get(count, sizeof(*points));
    enum fcl_status status = FCL_OK;
    for (size_t i = 0; i < count && status == FCL_OK; i++) {
        status = read_point(work, candidates[i], &points[i], NULL, 0);
    }
    if (status == FCL_OK) {
        status = work->evaluator.compare(work->evaluator.user, points, count, timings);
    }
    free(points);
    return status;
}

const struct worker_kind worker_kernel = {.name = "kernel",
                                          .open = open_work,
                                          .close = close_work,
                                          .build = build,
                                          .launch = launch,
                                          .evaluate = evaluate,
                                          .compare = compare};
