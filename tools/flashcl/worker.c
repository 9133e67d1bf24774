// `flashcl worker`: builds and evaluates candidates for another flashcl, which asks in lines of
// JSON on standard input and reads the answers from standard output. Whatever a candidate does to
// its process, it does it to this one.
//
//     {"do":"open","kind":K,"evaluates":B,...}      {"ready":true}
//     {"do":"build","candidate":TEXT,"keep":B}      {"evaluation":{...}}
//     {"do":"launch","candidate":TEXT}              {"evaluation":{...}}
//     {"do":"evaluate","candidate":TEXT,"best_ms":T}  {"evaluation":{...}}
//     {"do":"compare","candidates":[TEXT,...]}      {"status":WORD,"timings":[{...},...]}
//     {"do":"latency","problem":TEXT,...}           {"latency":{...}}
//
// The answer to anything else is {"error":SENTENCE}.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // F_DUPFD_CLOEXEC and poll next to C11
#endif

#include "worker.h"

#include "exchange.h"
#include "latency.h"
#include "memory.h"
#include "status.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int run_worker(int argc, const char **argv);

const struct verb verb_worker = {
    .name = "worker",
    .arguments = "",
    .summary = "builds and evaluates candidates for flashcl tune and tune-kernel",
    .details = "Started by flashcl tune and tune-kernel, which speak to it in lines of JSON.",
    .run = run_worker,
};

static const struct worker_kind *const kinds[] = {&worker_attention, &worker_kernel};

struct worker {
    int input;
    FILE *in, *out;
    struct session session;
    const struct worker_kind *kind;
    void *work;
};

// ---- the line to the parent

// Takes standard input and output away from everything else in this process: a driver or compiler
// that prints must not break in.
static int take_streams(struct worker *worker)
{
    int output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    worker->input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (worker->input < 0 || output < 0 || nothing < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ||
        dup2(nothing, STDIN_FILENO) < 0) {
        return 0;
    }
    worker->in = fdopen(worker->input, "r");
    worker->out = fdopen(output, "w");
    return worker->in != NULL && worker->out != NULL;
}

// Ends the process when the parent is gone, even while a candidate hangs.
static void *watch(void *user)
{
    const struct worker *worker = user;
    struct pollfd parent = {.fd = worker->input};
    while (poll(&parent, 1, -1) <= 0 || (parent.revents & (POLLHUP | POLLERR)) == 0) {
    }
    _exit(EXIT_OK);
}

static void answer(struct worker *worker, json_t *message)
{
    json_dumpf(message, worker->out, JSON_COMPACT);
    fputc('\n', worker->out);
    fflush(worker->out);
    json_decref(message);
}

static void refuse(struct worker *worker, const char *sentence)
{
    json_t *text = json_string(sentence);
    answer(worker, json_pack("{s:o}", "error",
                             text != NULL ? text : json_string("a reason that is no UTF-8")));
}

// ---- requests

static void do_open(struct worker *worker, const json_t *message)
{
    const char *kind = json_string_value(json_object_get(message, "kind"));
    char reason[1024] = "";
    for (size_t i = 0; kind != NULL && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i]->name, kind) == 0) {
            worker->kind = kinds[i];
        }
    }
    if (worker->kind == NULL || worker->work != NULL) {
        refuse(worker, "open: unknown kind, or the second one");
        return;
    }
    worker->work = worker->kind->open(&worker->session, message,
                                      json_is_true(json_object_get(message, "evaluates")), reason,
                                      sizeof(reason));
    if (worker->work == NULL) {
        refuse(worker, reason);
        return;
    }
    answer(worker, json_pack("{s:b}", "ready", 1));
}

static void do_build(struct worker *worker, const json_t *message)
{
    struct fcl_evaluation evaluation = {.reason = ""};
    worker->kind->build(worker->work, json_string_value(json_object_get(message, "candidate")),
                        json_is_true(json_object_get(message, "keep")), &evaluation);
    answer(worker, json_pack("{s:o}", "evaluation", exchange_evaluation(&evaluation)));
}

static void do_launch(struct worker *worker, const json_t *message)
{
    struct fcl_evaluation evaluation = {.reason = ""};
    worker->kind->launch(worker->work, json_string_value(json_object_get(message, "candidate")),
                         &evaluation);
    answer(worker, json_pack("{s:o}", "evaluation", exchange_evaluation(&evaluation)));
}

static void do_evaluate(struct worker *worker, const json_t *message)
{
    struct fcl_evaluation evaluation = {.reason = ""};
    double best_ms;
    exchange_read_real(message, "best_ms", &best_ms);
    worker->kind->evaluate(worker->work, json_string_value(json_object_get(message, "candidate")),
                           best_ms, &evaluation);
    answer(worker, json_pack("{s:o}", "evaluation", exchange_evaluation(&evaluation)));
}

static void do_compare(struct worker *worker, const json_t *message)
{
    const json_t *texts = json_object_get(message, "candidates");
    size_t count = json_array_size(texts);
    const char **candidates = memory_get(count, sizeof(*candidates));
    struct fcl_timing *timings = memory_get(count, sizeof(*timings));
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        const char *text = json_string_value(json_array_get(texts, i));
        candidates[i] = text != NULL ? text : "";
    }
    enum fcl_status status = worker->kind->compare(worker->work, candidates, count, timings);
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(list, exchange_timing(&timings[i]));
    }
    answer(worker, json_pack("{s:s,s:o}", "status", status_word(status), "timings", list));
    free(candidates);
    free(timings);
}

// Needs no open.
static void do_latency(struct worker *worker, const json_t *message)
{
    struct latency latency;
    char reason[1024] = "";
    if (latency_serve(&worker->session, message, &latency, reason, sizeof(reason))) {
        answer(worker, json_pack("{s:o}", "latency", latency_write(&latency)));
    } else {
        refuse(worker, reason);
    }
}

static void serve(struct worker *worker, const json_t *message)
{
    const char *what = json_string_value(json_object_get(message, "do"));
    int named = json_is_string(json_object_get(message, "candidate"));
    what = what != NULL ? what : "";
    if (strcmp(what, "open") == 0) {
        do_open(worker, message);
    } else if (strcmp(what, "latency") == 0) {
        do_latency(worker, message);
    } else if (worker->work != NULL && named && strcmp(what, "build") == 0) {
        do_build(worker, message);
    } else if (worker->work != NULL && named && worker->kind->launch != NULL &&
               strcmp(what, "launch") == 0) {
        do_launch(worker, message);
    } else if (worker->work != NULL && named && strcmp(what, "evaluate") == 0) {
        do_evaluate(worker, message);
    } else if (worker->work != NULL && strcmp(what, "compare") == 0) {
        do_compare(worker, message);
    } else {
        refuse(worker, "open comes first, then build, launch, evaluate and compare");
    }
}

static void serve_all(struct worker *worker)
{
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, worker->in) > 0) {
        json_t *message = json_loads(line, 0, NULL);
        serve(worker, message);
        json_decref(message);
    }
    free(line);
}

static int run_worker(int argc, const char **argv)
{
    struct options options = {.context = NULL};
    struct worker worker = {.input = -1};
    const struct rlimit none = {.rlim_cur = 0};
    pthread_t watcher;
    int code = options_parse(&options, &verb_worker, NULL, argc, argv);
    if (code == OPTIONS_PROCEED) {
        setrlimit(RLIMIT_CORE, &none); // a crash is an answer, not a fault to be kept
        code = take_streams(&worker) && pthread_create(&watcher, NULL, watch, &worker) == 0
                   ? session_open(&worker.session, &options)
                   : EXIT_INTERNAL;
    }
    if (code == EXIT_OK) {
        serve_all(&worker);
    }
    if (worker.work != NULL) {
        worker.kind->close(worker.work);
    }
    session_close(&worker.session);
    options_free(&options);
    return code;
}
