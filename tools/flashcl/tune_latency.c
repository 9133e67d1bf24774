// Lives through the events in which a kernel may be compiled, and prints a row for each.
#include "tune_latency.h"

#include "clock.h"
#include "isolation.h"
#include "latency.h"
#include "message.h"
#include "process.h"
#include "status.h"
#include "stopping.h"

#include <stdlib.h>
#include <string.h>

static const struct report_column columns[] = {
    {"event", REPORT_WORD, 0, 0},      {"problem", REPORT_WORD, 0, 0},
    {"device", REPORT_WORD, 0, 1},     {"driver", REPORT_WORD, 0, 1},
    {"impl", REPORT_WORD, 0, 0},       {"config", REPORT_WORD, 0, 0},
    {"origin", REPORT_WORD, 0, 0},     {"builds", REPORT_INTEGER, 0, 0},
    {"plan_ms", REPORT_FIXED, 3, 0},   {"first_launch_ms", REPORT_FIXED, 3, 0},
    {"steady_ms", REPORT_FIXED, 3, 0}, {"what", REPORT_WORD, 0, 0}};

struct events {
    struct options options; // the command's, with a cache and no wisdom
    const struct problem_entry *entry;
    enum fcl_implementation implementation;
    int in_process;
    double seconds;
    char *folder;
    struct session session;
    struct report report;
    int64_t builds; // up to the last row
};

// What a row shows of its latency.
enum part { PART_PLAN = 1, PART_FIRST = 2, PART_STEADY = 4 };

static int count_entry(void *user, const struct fcl_cache_entry *entry)
{
    (void)entry;
    ++*(int64_t *)user;
    return 0;
}

// Kernels that the event compiled: the folder was empty at first and nobody else's, so each is an
// entry more.
static int64_t count_builds(struct events *events)
{
    int64_t entries = 0;
    fcl_cache_list(events->folder, count_entry, &entries);
    int64_t builds = entries - events->builds;
    events->builds = entries;
    return builds;
}

static void add_row(struct events *events, const char *event, const struct fcl_problem *problem,
                    const struct latency *latency, int parts, const char *what)
{
    struct report *report = &events->report;
    char text[PROBLEM_TEXT_SIZE];
    fcl_problem_format(problem, text, sizeof(text));
    report_row(report);
    report_set_text(report, "event", event);
    report_set_text(report, "problem", text);
    report_set_text(report, "device", events->session.entry->name);
    report_set_text(report, "driver", events->session.caps->driver);
    report_set_text(report, "impl", implementation_text(events->implementation));
    report_set_text(report, "config", latency->config);
    report_set_text(report, "origin",
                    !(parts & PART_PLAN)  ? "plan kept"
                    : latency->from_cache ? "cache"
                                          : "built");
    report_set_integer(report, "builds", count_builds(events));
    if (parts & PART_PLAN) {
        report_set_real(report, "plan_ms", latency->plan_ms);
    }
    if (parts & PART_FIRST) {
        report_set_real(report, "first_launch_ms", latency->first_launch_ms);
    }
    if (parts & PART_STEADY) {
        report_set_real(report, "steady_ms", latency->steady_ms);
    }
    report_set_text(report, "what", what);
    report_row_end(report);
}

static int fail(const struct events *events, const char *event, enum fcl_status status)
{
    message_error("%s: %s: %s", events->entry->text, event,
                  session_sentence(&events->session, status));
    return status_exit(status);
}

// ---- the events

static int first_call(struct events *events, struct latency_use *use, struct latency *latency)
{
    enum fcl_status status = latency_begin(use, &events->session, &events->entry->problem,
                                           events->implementation, latency);
    if (status == FCL_OK) {
        status = latency_first(use, latency);
    }
    if (status != FCL_OK) {
        return fail(events, "first call", status);
    }
    add_row(events, "first call", &events->entry->problem, latency, PART_PLAN | PART_FIRST,
            "an empty cache folder");
    return EXIT_OK;
}

static int steady_state(struct events *events, struct latency_use *use, struct latency *latency)
{
    enum fcl_status status = latency_steady(use, latency);
    if (status != FCL_OK) {
        return fail(events, "steady state", status);
    }
    add_row(events, "steady state", &events->entry->problem, latency, PART_STEADY,
            "the same launch again");
    return EXIT_OK;
}

static int new_key(struct events *events)
{
    struct fcl_problem problem = events->entry->problem;
    struct latency latency;
    const int masked = problem.mask != FCL_MASK_NONE;
    problem.mask = masked ? FCL_MASK_NONE : FCL_MASK_CAUSAL_TOP_LEFT;
    problem.window = 0;
    problem.alibi = FCL_ALIBI_NONE;
    enum fcl_status status =
        latency_measure(&events->session, &problem, events->implementation, &latency);
    if (status != FCL_OK) {
        return fail(events, "new key", status);
    }
    add_row(events, "new key", &problem, &latency, PART_PLAN | PART_FIRST | PART_STEADY,
            masked ? "no mask" : "a causal mask");
    return EXIT_OK;
}

static void set_strides(struct fcl_tensor *tensor, enum fcl_layout layout, int64_t heads,
                        int64_t length, int64_t dim)
{
    const int sequence_first = layout == FCL_LAYOUT_BSHD;
    const int64_t strides[4] = {heads * length * dim, sequence_first ? dim : length * dim,
                                sequence_first ? heads * dim : dim, 1};
    if (tensor->buffer != NULL) {
        memcpy(tensor->strides, strides, sizeof(strides));
    }
}

// The first half of each tensor where it lies, so that strides are no longer those of the lengths.
static int other_arguments(struct events *events, struct latency_use *use, struct latency *latency)
{
    struct fcl_problem shorter = use->problem;
    struct fcl_attention_args *args = &use->args;
    const int64_t q_heads = shorter.heads_q, k_heads = shorter.heads_kv;
    set_strides(&args->q, shorter.layout, q_heads, shorter.q_len, shorter.head_dim_qk);
    set_strides(&args->k, shorter.layout, k_heads, shorter.k_len, shorter.head_dim_qk);
    set_strides(&args->v, shorter.layout, k_heads, shorter.k_len, shorter.head_dim_v);
    set_strides(&args->o, shorter.layout, q_heads, shorter.q_len, shorter.head_dim_v);
    args->shape.q_len = shorter.q_len = (shorter.q_len + 1) / 2;
    args->shape.k_len = shorter.k_len = (shorter.k_len + 1) / 2;
    args->scale = 0.5f;
    enum fcl_status status = latency_first(use, latency);
    if (status == FCL_OK) {
        status = latency_steady(use, latency);
    }
    if (status != FCL_OK) {
        return fail(events, "other arguments", status);
    }
    add_row(events, "other arguments", &shorter, latency, PART_FIRST | PART_STEADY,
            "half the lengths, strides of the whole, scale 0.5");
    return EXIT_OK;
}

// ---- the restart

// Waits for the worker's answer. Returns NULL after the error was reported.
static json_t *await_answer(const struct events *events, struct process *process)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    const double end = clock_now() + events->seconds;
    char how[128] = "no answer in time (--build-timeout, --run-timeout)";
    json_t *answer = NULL;
    enum process_state state = process_receive(process, &answer);
    while (state == PROCESS_PENDING && clock_now() < end && !stopping_asked()) {
        nanosleep(&pause, NULL);
        state = process_receive(process, &answer);
    }
    process_stop(process, state == PROCESS_ENDED, how, state == PROCESS_ENDED ? sizeof(how) : 0);
    if (answer == NULL && !stopping_asked()) {
        message_error("%s: cached restart: the new process: %s", events->entry->text, how);
    }
    return answer;
}

static int restart_process(const struct events *events, struct latency *latency)
{
    struct worker_command command;
    struct process process;
    isolation_worker_command(&command, &events->session, &events->options, events->folder);
    int error =
        process_start(&process, process_program(), command.arguments, !events->options.verbose);
    if (error != 0) {
        message_error("a new process cannot be started: %s", strerror(error));
        return EXIT_INTERNAL;
    }
    json_t *request = latency_request(events->entry->text, events->implementation);
    process_send(&process, request);
    json_decref(request);
    json_t *answer = await_answer(events, &process);
    const char *refusal = json_string_value(json_object_get(answer, "error"));
    int good = latency_read(json_object_get(answer, "latency"), latency);
    if (answer != NULL && !good) {
        message_error("%s: cached restart: %s", events->entry->text,
                      refusal != NULL ? refusal : "the new process gave no figures");
    }
    json_decref(answer);
    return good ? EXIT_OK : EXIT_INTERNAL;
}

static int restart_here(const struct events *events, struct latency *latency)
{
    struct session session;
    int code = session_open(&session, &events->options);
    if (code == EXIT_OK) {
        enum fcl_status status =
            latency_measure(&session, &events->entry->problem, events->implementation, latency);
        if (status != FCL_OK) {
            message_error("%s: cached restart: %s", events->entry->text,
                          session_sentence(&session, status));
        }
        code = status_exit(status);
    }
    session_close(&session);
    return code;
}

static int cached_restart(struct events *events)
{
    struct latency latency;
    const int here = events->in_process || process_program() == NULL;
    int code = here ? restart_here(events, &latency) : restart_process(events, &latency);
    if (code == EXIT_OK) {
        add_row(events, "cached restart", &events->entry->problem, &latency,
                PART_PLAN | PART_FIRST | PART_STEADY,
                here ? "a new device handle on the same cache folder"
                     : "a new process on the same cache folder");
    }
    return code;
}

// ---- all of it

static int live_on(struct events *events, struct latency_use *use, struct latency *latency)
{
    int code = first_call(events, use, latency);
    if (code == EXIT_OK && !stopping_asked()) {
        code = steady_state(events, use, latency);
    }
    if (code == EXIT_OK && !stopping_asked()) {
        code = new_key(events);
    }
    if (code == EXIT_OK && !stopping_asked()) {
        code = other_arguments(events, use, latency);
    }
    return code;
}

static int live_through(struct events *events)
{
    struct latency_use use;
    struct latency latency;
    int code = live_on(events, &use, &latency);
    latency_end(&use);
    if (code == EXIT_OK && !stopping_asked()) {
        code = cached_restart(events);
    }
    return stopping_asked() ? EXIT_BUDGET : code;
}

int tune_latency(const struct options *options, const struct problem_entry *entry,
                 enum fcl_implementation implementation, int in_process, double seconds)
{
    struct events events = {.options = *options,
                            .entry = entry,
                            .implementation = implementation,
                            .in_process = in_process,
                            .seconds = seconds};
    stopping_begin();
    events.folder = isolation_make_folder();
    if (events.folder == NULL) {
        stopping_end();
        return EXIT_INTERNAL;
    }
    events.options.cache_folder = events.folder;
    events.options.no_wisdom = 1;
    int code = session_open(&events.session, &events.options);
    if (code == EXIT_OK) {
        session_print_device(&events.session, options);
        report_init(&events.report, stdout, options->format, REPORT_TABLE, columns,
                    sizeof(columns) / sizeof(columns[0]));
        code = live_through(&events);
        report_finish(&events.report);
    }
    session_close(&events.session);
    isolation_remove_folder(events.folder);
    free(events.folder);
    stopping_end();
    return code;
}
