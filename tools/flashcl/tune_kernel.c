// `flashcl tune-kernel`: the fastest right point of a user's own kernel.
#include "clock.h"
#include "failures.h"
#include "isolation.h"
#include "kernel_command.h"
#include "kernel_metric.h"
#include "memory.h"
#include "message.h"
#include "output.h"
#include "results.h"
#include "session.h"
#include "status.h"
#include "stopping.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int run_tune_kernel(int argc, const char **argv);

const struct verb verb_tune_kernel = {
    .name = "tune-kernel",
    .arguments = "KERNEL.cl|SPEC.json",
    .summary = "find the fastest right parameters of your own kernel",
    .details =
        "Builds, runs, compares and times points of the kernel's parameters, all where they are\n"
        "few, else those that a search proposes; then the best ones in turn. Parameters reach the\n"
        "kernel as #define lines. A point counts only when its results are right, and nothing was\n"
        "written outside of a buffer.\n\n"
        "KERNEL.cl is described by options. SPEC.json is in the autotuning community's format T1\n"
        "with three fields of our own: ReferenceKernel in KernelSpecification, AbsoluteTolerance\n"
        "and RelativeTolerance in Arguments; whatever else is unknown is refused. --output writes\n"
        "results in the format T4, times in milliseconds whatever TimeUnit says. \n\n"
        "Points are built in as many worker processes as there are cores, then run in one more,\n"
        "alone. One that crashes or hangs costs its process and counts as failed; wisdom "
        "remembers\n"
        "it, and it is not tried again. Interrupted (SIGINT, SIGTERM), the best so far counts, "
        "and\n"
        "--resume goes on later.\n\n"
        "Each #include \"file\" is replaced by that file, from beside the one that includes it or "
        "a\n"
        "folder of -I in --options, so that all of it is part of the kernel.\n\n"
        "The winner goes into the wisdom file, under the kernel's name, a digest of its source, "
        "and\n"
        "its sizes: parameters of one value, launch sizes, lengths of arguments. Tuned again, it "
        "is\n"
        "the default, which a winner must beat beyond the spread to take its place; at other "
        "sizes\n"
        "and on other devices the search starts from it.\n\n"
        "The exit code is 6 when no point passed, 7 when the budget ended the "
        "search.\n\n" KERNEL_ARGS_HELP
        "\n  flashcl tune-kernel add.cl --kernel add --param LOCAL=32,64,128 --global 4096 \\\n"
        "      --local LOCAL --arg 'c:float[4096] write' --arg 'a:float[4096]' --arg "
        "'b:float[4096]'\n"
        "  flashcl tune-kernel gemm.json --metric 'gflops=2 * M * N * K / time_ms / 1e6'",
    .run = run_tune_kernel,
};

#define METRIC_COLUMN 9

static const struct report_column columns[] = {
    {"kernel", REPORT_WORD, 0, 0},     {"device", REPORT_WORD, 0, 1},
    {"driver", REPORT_WORD, 0, 1},     {"winner", REPORT_WORD, 0, 0},
    {"default", REPORT_WORD, 0, 0},    {"status", REPORT_WORD, 0, 0},
    {"median_ms", REPORT_FIXED, 4, 0}, {"default_ms", REPORT_FIXED, 4, 0},
    {"speedup", REPORT_FIXED, 3, 0},   {NULL, REPORT_SIGNIFICANT, 6, 0}, // the metric
    {"spread", REPORT_FIXED, 3, 0},    {"clock", REPORT_WORD, 0, 0},
    {"points", REPORT_INTEGER, 0, 0},  {"excluded", REPORT_INTEGER, 0, 0},
    {"tried", REPORT_INTEGER, 0, 0},   {"failed", REPORT_INTEGER, 0, 0},
    {"stored", REPORT_INTEGER, 0, 0}};

#define COLUMN_COUNT (sizeof(columns) / sizeof(columns[0]))

struct tuning {
    struct kernel_command command;
    // Under way.
    const char *const *arguments; // of the command line, ended by NULL
    struct session session;
    struct kernel_metric metric;
    struct isolation isolation;
    fcl_kernel_trials *trials;  // NULL: in worker processes
    struct fcl_evaluator inner; // of the trials or the workers
    struct results_writer results;
    int unwritten;     // 1: writing results failed
    int finished;      // 1: nothing is left to resume
    double end_ms;     // of the last evaluation
    uint64_t standard; // what a winner must beat; FCL_NO_POINT: nothing
    int store;         // 1: wisdom is written
    struct failures failures;
};

// ---- What was asked for -----------------------------------------------------------------------

static int find_standard(struct tuning *tuning)
{
    char reason[256];
    const fcl_space *space = tuning->command.job.space;
    const char *text = tuning->command.job.standard;
    tuning->standard = FCL_NO_POINT;
    if (text == NULL) {
        return EXIT_OK;
    }
    if (fcl_point_parse(space, text, &tuning->standard, reason, sizeof(reason)) != FCL_OK) {
        return options_usage(&verb_tune_kernel, "default %s: %s", text, reason);
    }
    if (fcl_point_validate(space, tuning->standard, reason, sizeof(reason)) != FCL_OK) {
        return options_usage(&verb_tune_kernel, "default %s is not valid: %s", text, reason);
    }
    return EXIT_OK;
}

// A stored winner goes before the default that was asked for.
static void consult_wisdom(struct tuning *tuning)
{
    uint64_t stored;
    tuning->store =
        session_keeps_wisdom(&tuning->session, &tuning->command.options, tuning->command.no_store);
    if (fcl_kernel_winner(tuning->session.device, &tuning->command.job.spec, &stored) == FCL_OK) {
        tuning->standard = stored;
    }
}

// ---- Evaluating -------------------------------------------------------------------------------

// UTC, as ISO 8601 has it.
static void write_now(char text[32])
{
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

// The parameters of a point, as a list whose items are `settings`.
static struct results_settings list_settings(const fcl_space *space, uint64_t point,
                                             struct results_setting settings[FCL_SPACE_NAMES])
{
    size_t count = fcl_space_parameters(space);
    for (size_t i = 0; i < count && point != FCL_NO_POINT; i++) {
        settings[i] =
            (struct results_setting){fcl_space_parameter_name(space, i),
                                     fcl_space_value(space, i, fcl_point_place(space, point, i))};
    }
    return (struct results_settings){settings, point != FCL_NO_POINT ? count : 0};
}

static void record(struct tuning *tuning, uint64_t point, const struct fcl_evaluation *e,
                   double start_ms)
{
    char timestamp[32];
    struct results_setting settings[FCL_SPACE_NAMES];
    const struct results_measurement times[] = {
        {"framework", "ms", fmax(0, clock_now_ms() - start_ms - e->build_ms - e->verify_ms)},
        {"search_algorithm", "ms", start_ms - tuning->end_ms},
        {"validation", "ms", e->verify_ms}};
    const struct results_measurement measurements[] = {
        {"time", "ms", e->timing.median_ms},
        {"time_min", "ms", e->timing.min_ms},
        {"spread", "", e->timing.spread},
        {"error_ratio", "", e->ratio},
        {tuning->metric.name, "",
         kernel_metric_compute(&tuning->metric, tuning->command.job.space, point,
                               e->timing.median_ms)}};
    const size_t measured = tuning->metric.name != NULL ? 5 : 4;
    const struct results_entry entry = {
        .configuration = list_settings(tuning->command.job.space, point, settings),
        .status = results_status(e->status, e->bad),
        .timestamp = timestamp,
        .reason = e->status != FCL_OK ? e->reason : NULL,
        .compilation_ms = e->build_ms,
        .times = times,
        .time_count = sizeof(times) / sizeof(times[0]),
        .runtimes_ms = e->timing.times_ms,
        .runtime_count = e->status == FCL_OK ? (size_t)e->timing.kept : 0,
        .measurements = measurements,
        .measurement_count = e->status == FCL_OK ? measured : 0,
    };
    write_now(timestamp);
    if (tuning->command.output != NULL && !results_add(&tuning->results, &entry)) {
        tuning->unwritten = 1;
    }
}

// Whether processes no longer evaluate.
static int is_over(const struct tuning *tuning)
{
    return tuning->inner.stop != NULL && tuning->inner.stop(tuning->inner.user);
}

static void begin(void *user, const fcl_space *space)
{
    const struct tuning *tuning = user;
    if (tuning->inner.begin != NULL) {
        tuning->inner.begin(tuning->inner.user, space);
    }
}

static void prepare(void *user, const uint64_t *points, size_t count)
{
    struct tuning *tuning = user;
    if (tuning->inner.prepare != NULL) {
        tuning->inner.prepare(tuning->inner.user, points, count);
    }
    tuning->end_ms = clock_now_ms();
}

static void evaluate(void *user, uint64_t point, double best_ms, struct fcl_evaluation *evaluation)
{
    struct tuning *tuning = user;
    double start_ms = clock_now_ms();
    tuning->inner.evaluate(tuning->inner.user, point, best_ms, evaluation);
    if (evaluation->status != FCL_OK && is_over(tuning)) {
        return; // cut off: no outcome
    }
    failures_add(&tuning->failures, evaluation->status, evaluation->bad, evaluation->reason);
    record(tuning, point, evaluation, start_ms);
    tuning->end_ms = clock_now_ms();
}

static enum fcl_status compare(void *user, const uint64_t *points, size_t count,
                               struct fcl_timing *timings)
{
    const struct tuning *tuning = user;
    return tuning->inner.compare(tuning->inner.user, points, count, timings);
}

static int stop(void *user)
{
    const struct tuning *tuning = user;
    return tuning->unwritten || is_over(tuning);
}

static void show_step(void *user, const struct fcl_tuner_step *step)
{
    const struct tuning *tuning = user;
    char text[512];
    fcl_point_format(tuning->command.job.space, step->point, text, sizeof(text));
    if (tuning->command.options.verbose) {
        message_note("%s: %s%s%s", text, status_word(step->evaluation->status),
                     step->evaluation->reason[0] != '\0' ? ": " : "", step->evaluation->reason);
    }
    message_progress("%zu/%zu best %.4f ms, %s", step->number, step->total, step->best_ms, text);
}

static enum fcl_status run_tuner(struct tuning *tuning, struct fcl_kernel_result *result)
{
    const struct kernel_command *command = &tuning->command;
    const struct fcl_evaluator evaluator = {.user = tuning,
                                            .begin = begin,
                                            .prepare = prepare,
                                            .evaluate = evaluate,
                                            .compare = compare,
                                            .stop = stop};
    const struct fcl_kernel_tune_options options = {
        .struct_size = sizeof(options),
        .tuner = {.search = {.strategy = command->budget.strategy,
                             .seed = (uint64_t)command->budget.seed,
                             .seed_points = &tuning->standard,
                             .seed_point_count = 1,
                             .evaluations = (size_t)command->budget.evaluations},
                  .seconds = command->budget.seconds,
                  .ahead = tuning->isolation.builders,
                  .progress = show_step,
                  .user = tuning},
        .store = tuning->store,
        .retry_bad = command->retry_bad,
        .evaluator = &evaluator,
    };
    tuning->inner = tuning->trials != NULL ? fcl_kernel_trials_evaluator(tuning->trials)
                                           : *workers_evaluator(tuning->isolation.workers);
    tuning->end_ms = clock_now_ms();
    session_forget(&tuning->session);
    return fcl_kernel_tune(tuning->session.device, &command->job.spec, &options, result);
}

// ---- Output -----------------------------------------------------------------------------------

static void set_point(const struct tuning *tuning, struct report *report, const char *column,
                      uint64_t point)
{
    char text[512];
    if (point != FCL_NO_POINT) {
        fcl_point_format(tuning->command.job.space, point, text, sizeof(text));
        report_set_text(report, column, text);
    }
}

static void set_winner(const struct tuning *tuning, const struct fcl_tuner_result *result,
                       struct report *report)
{
    double ms = result->timing.median_ms;
    set_point(tuning, report, "winner", result->winner);
    report_set_real(report, "median_ms", ms);
    report_set_real(report, "spread", result->timing.spread);
    report_set_text(report, "clock", fcl_clock_text(result->timing.clock));
    if (tuning->metric.name != NULL) {
        report_set_real(
            report, tuning->metric.name,
            kernel_metric_compute(&tuning->metric, tuning->command.job.space, result->winner, ms));
    }
    if (result->default_timing.median_ms > 0) {
        report_set_real(report, "default_ms", result->default_timing.median_ms);
        report_set_real(report, "speedup", result->default_timing.median_ms / ms);
    }
}

static void begin_report(const struct tuning *tuning, struct report *report,
                         struct report_column own[COLUMN_COUNT])
{
    size_t count = 0;
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        own[count] = columns[i];
        if (i == METRIC_COLUMN) {
            own[count].name = tuning->metric.name;
        }
        count += own[count].name != NULL;
    }
    report_init(report, stdout, tuning->command.options.format, REPORT_TABLE, own, count);
}

static void print_row(const struct tuning *tuning, enum fcl_status status,
                      const struct fcl_kernel_result *result)
{
    struct report_column own[COLUMN_COUNT];
    const fcl_space *space = tuning->command.job.space;
    struct report report;
    begin_report(tuning, &report, own);
    report_row(&report);
    report_set_text(&report, "kernel", tuning->command.job.spec.name);
    report_set_text(&report, "device", tuning->session.entry->name);
    report_set_text(&report, "driver", tuning->session.caps->driver);
    report_set_text(&report, "status", status_word(status));
    report_set_integer(&report, "points", (int64_t)fcl_space_count(space));
    report_set_integer(&report, "excluded",
                       (int64_t)(fcl_space_size(space) - fcl_space_count(space)) +
                           (int64_t)result->pruned);
    report_set_integer(&report, "tried", (int64_t)result->tuner.tried);
    report_set_integer(&report, "failed", (int64_t)result->tuner.failed);
    report_set_integer(&report, "stored", result->stored);
    set_point(tuning, &report, "default", tuning->standard);
    if (result->tuner.winner != FCL_NO_POINT) {
        set_winner(tuning, &result->tuner, &report);
    }
    report_row_end(&report);
    report_finish(&report);
}

// Why points did not count: what the text form ends with.
static void print_failures(const struct tuning *tuning, const struct fcl_kernel_result *result)
{
    const fcl_space *space = tuning->command.job.space;
    if (tuning->command.options.format != REPORT_TEXT) {
        return;
    }
    for (size_t i = 0; i < fcl_space_reasons(space); i++) {
        uint64_t points;
        const char *reason = fcl_space_reason(space, i, &points);
        if (points > 0) {
            printf("%llu excluded: %s\n", (unsigned long long)points, reason);
        }
    }
    if (result->pruned > 0) {
        printf("%zu excluded: wisdom says that they crash or hang\n", result->pruned);
    }
    for (size_t i = 0; i < tuning->failures.count; i++) {
        const struct failure_kind *kind = &tuning->failures.kinds[i];
        printf("%zu %s, the first: %s\n", kind->count, kind->name, kind->first);
    }
}

// The winner as a header.
static int emit(const struct tuning *tuning, const struct fcl_tuner_result *result)
{
    struct output output;
    const fcl_space *space = tuning->command.job.space;
    if (tuning->command.emit == NULL || result->winner == FCL_NO_POINT) {
        return EXIT_OK;
    }
    size_t size = fcl_kernel_defines(space, result->winner, NULL, 0) + 1;
    char *defines = memory_get(size, 1);
    fcl_kernel_defines(space, result->winner, defines, size);
    int good = output_begin(&output, tuning->command.emit);
    if (good) {
        fprintf(output.file, "// %s on %s (driver %s): %.4f ms, by FlashCL %s\n%s",
                tuning->command.job.spec.name, tuning->session.entry->name,
                tuning->session.caps->driver, result->timing.median_ms, fcl_version(), defines);
        good = output_close(&output) && output_commit(&output);
        output_discard(&output);
    }
    free(defines);
    return good ? EXIT_OK : EXIT_INTERNAL;
}

// ---- The verb ---------------------------------------------------------------------------------

static int open_results(struct tuning *tuning)
{
    char timestamp[32];
    struct results_setting standard[FCL_SPACE_NAMES];
    const struct results_setting metadata[] = {
        {"compute_api", fcl_value_text("OpenCL")},
        {"platform", fcl_value_text(tuning->session.entry->platform_name)},
        {"device", fcl_value_text(tuning->session.entry->name)},
        {"driver", fcl_value_text(tuning->session.caps->driver)},
        {"kernel", fcl_value_text(tuning->command.job.spec.name)},
        {"autotuner", fcl_value_text("FlashCL")},
        {"autotuner_version", fcl_value_text(fcl_version())},
        {"timestamp", fcl_value_text(timestamp)},
        {"timeunit", fcl_value_text("milliseconds")}};
    write_now(timestamp);
    return tuning->command.output == NULL ||
                   results_begin(
                       &tuning->results, tuning->command.output,
                       (struct results_settings){metadata, sizeof(metadata) / sizeof(metadata[0])},
                       list_settings(tuning->command.job.space, tuning->standard, standard))
               ? EXIT_OK
               : EXIT_INTERNAL;
}

// Workers know a point by its number, which every reading of the job gives it.
static void name_point(const fcl_space *space, uint64_t point, char *text, size_t size)
{
    (void)space;
    snprintf(text, size, "%llu", (unsigned long long)point);
}

// The command line for workers; NULL after the error was reported.
static json_t *list_arguments(const struct tuning *tuning)
{
    json_t *list = json_array();
    for (size_t i = 0; tuning->arguments[i] != NULL; i++) {
        if (json_array_append_new(list, json_string(tuning->arguments[i])) != 0) {
            json_decref(list);
            options_usage(&verb_tune_kernel,
                          "%s is no UTF-8, as worker processes need it (--in-process)",
                          tuning->arguments[i]);
            return NULL;
        }
    }
    return list;
}

static int start_workers(struct tuning *tuning)
{
    char digest[KERNEL_DIGEST_SIZE];
    const char *name = tuning->command.job.spec.name;
    json_t *arguments = list_arguments(tuning);
    if (arguments == NULL) {
        return EXIT_USAGE;
    }
    kernel_command_digest(&tuning->command, digest);
    json_t *open =
        json_pack("{s:s,s:o,s:s}", "kind", "kernel", "arguments", arguments, "digest", digest);
    json_t *about = json_pack("{s:s,s:s}", "kernel", name, "digest", digest);
    const struct isolation_options options = {.options = &tuning->command.options,
                                              .session = &tuning->session,
                                              .settings = &tuning->command.isolation,
                                              .open = open,
                                              .about = about,
                                              .journal_name = name,
                                              .launches =
                                                  fcl_device_caps(tuning->session.device)->cpu != 0,
                                              .name = name_point};
    int code = isolation_begin(&tuning->isolation, &options);
    json_decref(open);
    json_decref(about);
    return code;
}

// Makes what evaluates.
static int start(struct tuning *tuning)
{
    isolation_settings_complete(&tuning->command.isolation);
    if (!tuning->command.isolation.in_process) {
        return start_workers(tuning);
    }
    enum fcl_status status = fcl_kernel_trials_create(tuning->session.device,
                                                      &tuning->command.job.spec, &tuning->trials);
    if (status != FCL_OK) {
        message_error("%s", session_sentence(&tuning->session, status));
    }
    return status_exit(status);
}

static int tune(struct tuning *tuning)
{
    struct fcl_kernel_result result;
    int code = session_open(&tuning->session, &tuning->command.options);
    if (code != EXIT_OK) {
        return code;
    }
    consult_wisdom(tuning);
    code = start(tuning);
    if (code != EXIT_OK) {
        return code;
    }
    code = open_results(tuning);
    if (code != EXIT_OK) {
        return code;
    }
    enum fcl_status status = run_tuner(tuning, &result);
    message_progress_end();
    tuning->finished = status != FCL_DEVICE_ERROR && !tuning->unwritten && !stopping_asked();
    if (tuning->isolation.workers != NULL && workers_failure(tuning->isolation.workers) != NULL) {
        tuning->finished = 0;
        message_error("%s", workers_failure(tuning->isolation.workers));
        return EXIT_INTERNAL;
    }
    session_print_device(&tuning->session, &tuning->command.options);
    if (status != FCL_OK) {
        message_note("%s", session_sentence(&tuning->session, status));
    }
    print_row(tuning, status, &result);
    print_failures(tuning, &result);
    if (result.stored && tuning->command.options.format == REPORT_TEXT) {
        printf("stored in %s\n", tuning->session.wisdom);
    }
    code = status_graver(status_exit(status), emit(tuning, &result.tuner));
    return results_end(&tuning->results) ? code : EXIT_INTERNAL;
}

static int read_own(struct tuning *tuning)
{
    int code =
        kernel_metric_read(&tuning->metric, tuning->command.metric, tuning->command.job.space);
    return code == EXIT_OK ? find_standard(tuning) : code;
}

static int run_tune_kernel(int argc, const char **argv)
{
    struct tuning tuning = {.arguments = argv};
    int code = kernel_command_read(&tuning.command, argc, argv);
    if (code == OPTIONS_PROCEED) {
        code = read_own(&tuning);
        code = code == EXIT_OK ? tune(&tuning) : code;
    }
    results_end(&tuning.results);
    isolation_end(&tuning.isolation, tuning.finished);
    fcl_kernel_trials_destroy(&tuning.trials);
    session_close(&tuning.session);
    kernel_metric_free(&tuning.metric);
    kernel_command_free(&tuning.command);
    return code;
}
