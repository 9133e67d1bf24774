// The pool of workers, with this program as the worker: it does what its candidate is called.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // kill next to C11
#endif

#include "cmocka_all.h"

#include "exchange.h"
#include "process.h"
#include "stopping.h"
#include "workers.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- the worker

// Fates of a candidate: in which request it fails, and how.
static const char *const names[] = {"good",        "crash-run",  "hang-run",       "exit-run",
                                    "crash-build", "hang-build", "nonsense-build", "wrong-build"};
#define POINTS (sizeof names / sizeof names[0])

static void answer(json_t *message)
{
    json_dumpf(message, stdout, JSON_COMPACT);
    putchar('\n');
    fflush(stdout);
    json_decref(message);
}

static void suffer(const char *fate, struct fcl_evaluation *evaluation)
{
    if (strncmp(fate, "crash", 5) == 0) {
        raise(SIGKILL);
    } else if (strncmp(fate, "hang", 4) == 0) {
        pause();
    } else if (strncmp(fate, "exit", 4) == 0) {
        exit(3);
    } else if (strncmp(fate, "nonsense", 8) == 0) {
        printf("Segmentation fault, core dumped\n");
    } else {
        evaluation->status = FCL_WRONG_RESULT;
    }
}

static void serve(const char *role, const json_t *message)
{
    const char *what = json_string_value(json_object_get(message, "do"));
    const char *candidate = json_string_value(json_object_get(message, "candidate"));
    struct fcl_evaluation e = {.build_ms = 1, .timing = {.median_ms = 2}};
    if (strcmp(what, "open") == 0 && strcmp(role, "refuse") == 0) {
        answer(json_pack("{s:s}", "error", "no room"));
    } else if (strcmp(what, "open") == 0) {
        answer(json_pack("{s:b}", "ready", 1));
    } else if (strcmp(what, "compare") == 0) {
        answer(json_pack("{s:s,s:[o]}", "status", "ok", "timings", exchange_timing(&e.timing)));
    } else {
        const char *end = strchr(candidate, '-');
        const char *fails = strcmp(what, "build") == 0 ? "-build" : "-run";
        if (end != NULL && strcmp(end, fails) == 0) {
            suffer(candidate, &e);
        }
        answer(json_pack("{s:o}", "evaluation", exchange_evaluation(&e)));
    }
}

static int be_worker(const char *role)
{
    char line[4096];
    if (strcmp(role, "die") == 0) {
        return 3;
    }
    while (fgets(line, sizeof line, stdin) != NULL) {
        json_t *message = json_loads(line, 0, NULL);
        serve(role, message);
        json_decref(message);
    }
    return 0;
}

// ---- the tests

struct fixture {
    json_t *open;
    const char *arguments[4];
    struct workers *workers;
    const struct fcl_evaluator *evaluator;
};

static void name_point(const fcl_space *space, uint64_t point, char *text, size_t size)
{
    (void)space;
    snprintf(text, size, "%s", names[point]);
}

static void start(struct fixture *f, const char *role)
{
    f->arguments[0] = "test";
    f->arguments[1] = "worker";
    f->arguments[2] = role;
    const struct workers_options options = {.arguments = f->arguments,
                                            .open = f->open,
                                            .builders = 3,
                                            .build_seconds = 1,
                                            .run_seconds = 1,
                                            .quiet = 1,
                                            .name = name_point};
    f->workers = workers_create(&options);
    f->evaluator = workers_evaluator(f->workers);
    f->evaluator->begin(f->evaluator->user, NULL);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->open = json_pack("{s:s}", "kind", "test");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    workers_destroy(&f->workers);
    json_decref(f->open);
    free(f);
    return 0;
}

static uint64_t point_of(const char *name)
{
    uint64_t point = 0;
    while (strcmp(names[point], name) != 0) {
        point++;
    }
    return point;
}

static void expect(struct fixture *f, const char *name, enum fcl_status status, const char *bad,
                   const char *reason)
{
    struct fcl_evaluation e;
    f->evaluator->evaluate(f->evaluator->user, point_of(name), INFINITY, &e);
    assert_string_equal(e.reason, reason);
    assert_string_equal(e.bad, bad);
    assert_int_equal(e.status, status);
}

static void each_fate_has_its_kind(void **state)
{
    struct fixture *f = *state;
    uint64_t all[POINTS];
    start(f, "work");
    for (size_t i = 0; i < POINTS; i++) {
        all[i] = i;
    }
    f->evaluator->prepare(f->evaluator->user, all, POINTS);
    expect(f, "good", FCL_OK, "", "");
    expect(f, "crash-run", FCL_DEVICE_ERROR, "crash", "crashed: signal 9");
    expect(f, "hang-run", FCL_DEVICE_ERROR, "timeout", "timeout while running");
    expect(f, "exit-run", FCL_DEVICE_ERROR, "exit", "ended by itself: exit code 3");
    expect(f, "crash-build", FCL_BUILD_FAILED, "crash", "crashed: signal 9");
    expect(f, "hang-build", FCL_BUILD_FAILED, "timeout", "timeout while building");
    expect(f, "nonsense-build", FCL_BUILD_FAILED, "nonsense", "answered nonsense");
    expect(f, "wrong-build", FCL_WRONG_RESULT, "", "");
    expect(f, "good", FCL_OK, "", "");
    assert_null(workers_failure(f->workers));
    assert_false(f->evaluator->stop(f->evaluator->user));
}

static void candidates_are_compared(void **state)
{
    struct fixture *f = *state;
    struct fcl_timing timing;
    const uint64_t good = 0;
    start(f, "work");
    assert_int_equal(f->evaluator->compare(f->evaluator->user, &good, 1, &timing), FCL_OK);
    assert_true(timing.median_ms == 2);
}

// No endless loop where nothing can be started.
static void workers_that_only_die_end_the_tuning(void **state)
{
    struct fixture *f = *state;
    struct fcl_evaluation e;
    start(f, "die");
    f->evaluator->evaluate(f->evaluator->user, 0, INFINITY, &e);
    assert_int_equal(e.status, FCL_BUILD_FAILED);
    assert_string_equal(e.bad, "");
    assert_true(f->evaluator->stop(f->evaluator->user));
    assert_non_null(strstr(workers_failure(f->workers), "3 worker processes in a row"));
    assert_non_null(strstr(workers_failure(f->workers), "exit code 3"));
}

static void a_worker_that_cannot_work_ends_the_tuning(void **state)
{
    struct fixture *f = *state;
    struct fcl_timing timing;
    const uint64_t good = 0;
    start(f, "refuse");
    f->evaluator->prepare(f->evaluator->user, &good, 1);
    assert_true(f->evaluator->stop(f->evaluator->user));
    assert_non_null(strstr(workers_failure(f->workers), "no room"));
    assert_int_equal(f->evaluator->compare(f->evaluator->user, &good, 1, &timing),
                     FCL_DEVICE_ERROR);
}

// The last test, as nothing takes the signal back.
static void a_signal_ends_what_is_under_way(void **state)
{
    struct fixture *f = *state;
    struct fcl_timing timing;
    struct fcl_evaluation e;
    const uint64_t good = 0;
    start(f, "work");
    f->evaluator->prepare(f->evaluator->user, &good, 1);
    raise(SIGTERM);
    assert_true(stopping_asked());
    assert_true(f->evaluator->stop(f->evaluator->user));
    f->evaluator->evaluate(f->evaluator->user, point_of("hang-run"), INFINITY, &e);
    assert_string_equal(e.reason, "tuning was stopped");
    assert_string_equal(e.bad, "");
    assert_int_equal(f->evaluator->compare(f->evaluator->user, &good, 1, &timing), FCL_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int count, char **arguments)
{
    if (count > 2 && strcmp(arguments[1], "worker") == 0) {
        return be_worker(arguments[2]);
    }
    process_set_program(arguments[0]);
    const struct CMUnitTest tests[] = {
        TEST(each_fate_has_its_kind),
        TEST(candidates_are_compared),
        TEST(workers_that_only_die_end_the_tuning),
        TEST(a_worker_that_cannot_work_ends_the_tuning),
        TEST(a_signal_ends_what_is_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
