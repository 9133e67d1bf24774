// Worker processes: started, asked, watched, replaced.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // sigaction and poll next to C11
#endif

#include "workers.h"

#include "clock.h"
#include "exchange.h"
#include "memory.h"
#include "process.h"
#include "status.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START_SECONDS 60.0
#define START_LIMIT 3 // starts in a row that fail before any candidate
#define HELPERS_LIMIT 256

// What is asked of a worker, and what came of it.
struct request {
    json_t *message;
    const char *candidate; // NULL: not one alone, nothing for the journal
    const char *doing;     // "building", "running"
    double seconds;        // limit
    json_t *answer;        // NULL: `failure` says why
    char failure[128];
    char bad[32];
};

// A worker process and what it is doing.
struct helper {
    struct process process;
    int opened;
    struct request *request; // NULL: none
    double deadline;         // of its start or of the request
};

// A candidate that was built and not yet evaluated.
struct built {
    char *candidate;
    struct fcl_evaluation evaluation;
};

struct workers {
    struct workers_options options;
    struct fcl_evaluator evaluator;
    const fcl_space *space;
    struct helper *builders, runner;
    struct built *built;
    size_t built_count, built_capacity;
    int failed_starts;
    char *failure;
    int keep;   // 1: the driver has no cache of its own: builders pass binaries on
    int finals; // 1: a signal no longer ends what is asked
    struct sigaction pipe, interrupt, terminate; // as they were before
};

// ---- signals

static volatile sig_atomic_t stopped;

static void note_stop(int signal)
{
    (void)signal;
    stopped = 1;
}

int workers_stopped(void)
{
    return stopped;
}

static int is_over(const struct workers *workers)
{
    return workers->failure != NULL || (stopped && !workers->finals);
}

// ---- one helper

// A request that gets no answer.
static void fail_request(struct request *request, const char *bad, const char *failure)
{
    snprintf(request->failure, sizeof(request->failure), "%s", failure);
    snprintf(request->bad, sizeof(request->bad), "%s", bad);
}

// A helper that came to nothing before it was ready.
static void count_failed_start(struct workers *workers, const char *how)
{
    workers->failed_starts++;
    if (workers->failed_starts >= START_LIMIT && workers->failure == NULL) {
        workers->failure =
            memory_print("%d worker processes in a row failed before any candidate; the last one "
                         "%s (--verbose shows what they print, --in-process does without them)",
                         START_LIMIT, how);
    }
}

static void start(struct workers *workers, struct helper *helper)
{
    int evaluates = helper == &workers->runner;
    int error = process_start(&helper->process, process_program(), workers->options.arguments,
                              workers->options.quiet);
    if (error != 0) {
        count_failed_start(workers, strerror(error));
        return;
    }
    json_t *message = json_copy((json_t *)(uintptr_t)workers->options.open);
    json_object_set_new(message, "do", json_string("open"));
    json_object_set_new(message, "evaluates", json_boolean(evaluates));
    process_send(&helper->process, message);
    json_decref(message);
    helper->opened = 0;
    helper->request = NULL;
    helper->deadline = clock_now() + START_SECONDS;
}

static void give(struct workers *workers, struct helper *helper, struct request *request)
{
    helper->request = request;
    helper->deadline = clock_now() + request->seconds;
    if (request->candidate != NULL) {
        journal_start(workers->options.journal, request->candidate);
    }
    process_send(&helper->process, request->message);
}

// The process ended, said nonsense or was too slow.
static void lose(struct workers *workers, struct helper *helper, enum process_state state)
{
    struct request *request = helper->request;
    char how[64];
    process_stop(&helper->process, state == PROCESS_ENDED, how, sizeof(how));
    if (request == NULL) {
        const char *slow = state == PROCESS_NONSENSE ? "answered nonsense" : "did not get ready";
        count_failed_start(workers, how[0] != '\0' ? how : slow);
    } else if (how[0] != '\0') {
        fail_request(request, strncmp(how, "crashed", 7) == 0 ? "crash" : "exit", how);
    } else if (state == PROCESS_PENDING) {
        snprintf(how, sizeof(how), "timeout while %s", request->doing);
        fail_request(request, "timeout", how);
    } else {
        fail_request(request, "nonsense", "answered nonsense");
    }
    helper->request = NULL;
}

// Looks whether a helper has said something.
static void attend(struct workers *workers, struct helper *helper)
{
    json_t *answer;
    struct request *request = helper->request;
    enum process_state state = process_receive(&helper->process, &answer);
    if (state == PROCESS_PENDING && clock_now() < helper->deadline) {
        return;
    }
    if (state != PROCESS_ANSWERED) {
        lose(workers, helper, state);
    } else if (request != NULL) {
        request->answer = answer;
        helper->request = NULL;
    } else {
        const char *error = json_string_value(json_object_get(answer, "error"));
        helper->opened = 1;
        workers->failed_starts = 0;
        if (error != NULL && workers->failure == NULL) {
            workers->failure = memory_print("a worker process cannot work: %s", error);
        }
        json_decref(answer);
    }
}

// ---- many helpers

static int is_busy(const struct helper *helper)
{
    return helper->process.pid != 0 && (!helper->opened || helper->request != NULL);
}

static int any_busy(const struct helper *helpers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_busy(&helpers[i])) {
            return 1;
        }
    }
    return 0;
}

// Sleeps until a helper may have something to say or is too slow.
static void wait_for_any(const struct helper *helpers, size_t count)
{
    struct pollfd polled[HELPERS_LIMIT];
    nfds_t used = 0;
    double deadline = INFINITY;
    for (size_t i = 0; i < count; i++) {
        if (is_busy(&helpers[i])) {
            polled[used++] = (struct pollfd){.fd = helpers[i].process.from, .events = POLLIN};
            deadline = fmin(deadline, helpers[i].deadline);
        }
    }
    double left = fmin(fmax(deadline - clock_now(), 0), 1); // signals are seen within a second
    poll(polled, used, (int)ceil(left * 1000));
}

// A request that was cut off by a signal is no longer in flight and has no outcome.
static void withdraw(struct workers *workers, struct helper *helpers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_busy(&helpers[i])) {
            process_stop(&helpers[i].process, 0, NULL, 0);
            if (helpers[i].request != NULL && helpers[i].request->candidate != NULL) {
                journal_end(workers->options.journal, helpers[i].request->candidate);
            }
            helpers[i].request = NULL;
        }
    }
}

// Has requests answered by as many helpers as are given, side by side.
static void serve(struct workers *workers, struct helper *helpers, size_t helper_count,
                  struct request *requests, size_t count)
{
    size_t given = 0;
    while ((given < count || any_busy(helpers, helper_count)) && !is_over(workers)) {
        for (size_t i = 0; i < helper_count && given < count && !is_over(workers); i++) {
            if (helpers[i].process.pid == 0) {
                start(workers, &helpers[i]);
            } else if (!is_busy(&helpers[i])) {
                give(workers, &helpers[i], &requests[given++]);
            }
        }
        wait_for_any(helpers, helper_count);
        for (size_t i = 0; i < helper_count; i++) {
            if (is_busy(&helpers[i])) {
                attend(workers, &helpers[i]);
            }
        }
    }
    withdraw(workers, helpers, helper_count);
    for (size_t i = 0; i < count; i++) {
        if (requests[i].answer == NULL && requests[i].failure[0] == '\0') {
            fail_request(&requests[i], "",
                         workers->failure != NULL ? workers->failure : "tuning was stopped");
        }
    }
}

// What a request about one candidate brought.
static void conclude(struct request *request, enum fcl_status failed,
                     struct fcl_evaluation *evaluation)
{
    *evaluation = (struct fcl_evaluation){.status = failed};
    if (request->answer == NULL) {
        snprintf(evaluation->reason, sizeof(evaluation->reason), "%s", request->failure);
        snprintf(evaluation->bad, sizeof(evaluation->bad), "%s", request->bad);
    } else if (!exchange_read_evaluation(json_object_get(request->answer, "evaluation"),
                                         evaluation)) {
        *evaluation = (struct fcl_evaluation){.status = failed, .reason = "answered nonsense"};
    }
    json_decref(request->answer);
    json_decref(request->message);
}

// ---- building

static struct built *find_built(const struct workers *workers, const char *candidate)
{
    for (size_t i = 0; i < workers->built_count; i++) {
        if (strcmp(workers->built[i].candidate, candidate) == 0) {
            return &workers->built[i];
        }
    }
    return NULL;
}

static void add_built(struct workers *workers, const char *candidate)
{
    workers->built = memory_grow(workers->built, workers->built_count, &workers->built_capacity,
                                 sizeof(*workers->built));
    workers->built[workers->built_count++] =
        (struct built){.candidate = memory_print("%s", candidate)};
}

// Has builders do one thing with what was built last, from `first` on, unless it failed before.
static void have_done(struct workers *workers, size_t first, const struct request *model,
                      const char *what, enum fcl_status failed)
{
    size_t count = workers->built_count - first, used = 0;
    int alone = 0;
    struct request *requests = memory_get(count, sizeof(*requests));
    struct built **asked = memory_get(count, sizeof(*asked));
    for (size_t i = first; i < workers->built_count; i++) {
        struct built *built = &workers->built[i];
        if (built->evaluation.status == FCL_OK) {
            asked[used] = built;
            alone = alone || journal_suspects(workers->options.journal, built->candidate);
            requests[used] = *model;
            requests[used].candidate = built->candidate;
            requests[used++].message = json_pack("{s:s,s:s,s:b}", "do", what, "candidate",
                                                 built->candidate, "keep", workers->keep);
        }
    }
    size_t helpers = alone                              ? 1
                     : workers->options.builders < used ? workers->options.builders
                                                        : used;
    serve(workers, workers->builders, helpers, requests, used);
    for (size_t i = 0; i < used; i++) {
        double build_ms = asked[i]->evaluation.build_ms;
        conclude(&requests[i], failed, &asked[i]->evaluation);
        if (asked[i]->evaluation.status == FCL_OK) {
            asked[i]->evaluation.build_ms = build_ms > 0 ? build_ms : asked[i]->evaluation.build_ms;
            journal_end(workers->options.journal, asked[i]->candidate);
        } else if (!is_over(workers)) {
            journal_record(workers->options.journal, asked[i]->candidate, &asked[i]->evaluation);
        }
    }
    free(asked);
    free(requests);
}

// Builds what was not built and has no outcome yet.
static void build(struct workers *workers, char *const *candidates, size_t count)
{
    const struct request building = {.doing = "building",
                                     .seconds = workers->options.build_seconds};
    const struct request running = {.doing = "running", .seconds = workers->options.run_seconds};
    struct fcl_evaluation evaluation;
    size_t first = workers->built_count;
    for (size_t i = 0; i < count; i++) {
        if (!find_built(workers, candidates[i]) &&
            !journal_find(workers->options.journal, candidates[i], &evaluation)) {
            add_built(workers, candidates[i]);
        }
    }
    have_done(workers, first, &building, "build", FCL_BUILD_FAILED);
    if (workers->options.launches) {
        have_done(workers, first, &running, "launch", FCL_DEVICE_ERROR);
    }
}

// The outcome of a build, which then counts as taken.
static void take_built(struct workers *workers, char *candidate, struct fcl_evaluation *evaluation)
{
    build(workers, &candidate, 1);
    struct built *built = find_built(workers, candidate);
    *evaluation = built->evaluation;
    free(built->candidate);
    *built = workers->built[--workers->built_count];
}

// ---- the evaluator

static void begin(void *user, const fcl_space *space)
{
    struct workers *workers = user;
    workers->space = space;
}

static char *name_point(const struct workers *workers, uint64_t point)
{
    char text[WORKERS_NAME_SIZE];
    workers->options.name(workers->space, point, text, sizeof(text));
    return memory_print("%s", text);
}

static void prepare(void *user, const uint64_t *points, size_t count)
{
    struct workers *workers = user;
    char **candidates = memory_get(count, sizeof(*candidates));
    for (size_t i = 0; i < count; i++) {
        candidates[i] = name_point(workers, points[i]);
    }
    build(workers, candidates, count);
    for (size_t i = 0; i < count; i++) {
        free(candidates[i]);
    }
    free(candidates);
}

// Whether the process that evaluates had to build again what a builder had built; a driver with a
// cache of its own may still need half of the time.
static int built_again(double first_ms, double second_ms)
{
    return first_ms > 50 && second_ms > 0.8 * first_ms;
}

// Verifies and times what was built in evaluation->build_ms.
static void run(struct workers *workers, const char *candidate, double best_ms,
                struct fcl_evaluation *evaluation)
{
    double build_ms = evaluation->build_ms;
    struct request request = {.message = json_pack("{s:s,s:s,s:o}", "do", "evaluate", "candidate",
                                                   candidate, "best_ms", exchange_real(best_ms)),
                              .candidate = candidate,
                              .doing = "running",
                              .seconds = workers->options.run_seconds + build_ms / 1000};
    serve(workers, &workers->runner, 1, &request, 1);
    conclude(&request, FCL_DEVICE_ERROR, evaluation);
    workers->keep = workers->keep || built_again(build_ms, evaluation->build_ms);
    evaluation->build_ms = build_ms;
    if (!is_over(workers)) {
        journal_record(workers->options.journal, candidate, evaluation);
    }
}

static void evaluate(void *user, uint64_t point, double best_ms, struct fcl_evaluation *evaluation)
{
    struct workers *workers = user;
    char *candidate = name_point(workers, point);
    if (!journal_find(workers->options.journal, candidate, evaluation)) {
        take_built(workers, candidate, evaluation);
        if (evaluation->status == FCL_OK) {
            run(workers, candidate, best_ms, evaluation);
        }
    }
    free(candidate);
}

static enum fcl_status read_timings(const json_t *answer, size_t count, struct fcl_timing *timings)
{
    const char *word = json_string_value(json_object_get(answer, "status"));
    enum fcl_status status = FCL_DEVICE_ERROR;
    if (word == NULL || !status_read(word, &status)) {
        return FCL_DEVICE_ERROR;
    }
    for (size_t i = 0; i < count && status == FCL_OK; i++) {
        if (!exchange_read_timing(json_array_get(json_object_get(answer, "timings"), i),
                                  &timings[i])) {
            return FCL_DEVICE_ERROR;
        }
    }
    return status;
}

static enum fcl_status compare(void *user, const uint64_t *points, size_t count,
                               struct fcl_timing *timings)
{
    struct workers *workers = user;
    json_t *candidates = json_array();
    for (size_t i = 0; i < count; i++) {
        char *candidate = name_point(workers, points[i]);
        json_array_append_new(candidates, json_string(candidate));
        free(candidate);
    }
    json_t *message = json_pack("{s:s,s:o}", "do", "compare", "candidates", candidates);
    enum fcl_status status = FCL_DEVICE_ERROR;
    workers->finals = 1;
    // All of them ran before: what fails now may pass in a new process.
    for (int attempt = 0; attempt < 2 && status != FCL_OK; attempt++) {
        struct request request = {.message = message,
                                  .doing = "comparing the best",
                                  .seconds = workers->options.run_seconds * (double)(count + 1)};
        serve(workers, &workers->runner, 1, &request, 1);
        status = request.answer != NULL ? read_timings(request.answer, count, timings)
                                        : FCL_DEVICE_ERROR;
        json_decref(request.answer);
    }
    json_decref(message);
    return status;
}

static int stop(void *user)
{
    return is_over(user);
}

// ---- beginning and end

struct workers *workers_create(const struct workers_options *options)
{
    struct workers *workers = memory_get(1, sizeof(*workers));
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    // The second signal ends the process as usual.
    const struct sigaction note = {.sa_handler = note_stop, .sa_flags = (int)SA_RESETHAND};
    workers->options = *options;
    if (workers->options.builders > HELPERS_LIMIT) {
        workers->options.builders = HELPERS_LIMIT;
    }
    workers->builders = memory_get(workers->options.builders, sizeof(*workers->builders));
    workers->evaluator = (struct fcl_evaluator){.user = workers,
                                                .begin = begin,
                                                .prepare = prepare,
                                                .evaluate = evaluate,
                                                .compare = compare,
                                                .stop = stop};
    sigaction(SIGPIPE, &ignore, &workers->pipe);
    sigaction(SIGINT, &note, &workers->interrupt);
    sigaction(SIGTERM, &note, &workers->terminate);
    return workers;
}

void workers_destroy(struct workers **workers)
{
    struct workers *w = *workers;
    if (w == NULL) {
        return;
    }
    for (size_t i = 0; i < w->options.builders; i++) {
        process_stop(&w->builders[i].process, 0, NULL, 0);
    }
    process_stop(&w->runner.process, 0, NULL, 0);
    for (size_t i = 0; i < w->built_count; i++) {
        free(w->built[i].candidate);
    }
    sigaction(SIGPIPE, &w->pipe, NULL);
    sigaction(SIGINT, &w->interrupt, NULL);
    sigaction(SIGTERM, &w->terminate, NULL);
    free(w->builders);
    free(w->built);
    free(w->failure);
    free(w);
    *workers = NULL;
}

const struct fcl_evaluator *workers_evaluator(struct workers *workers)
{
    return &workers->evaluator;
}

const char *workers_failure(const struct workers *workers)
{
    return workers->failure;
}
