// `flashcl tune`: the fastest verified configuration of each problem, kept as wisdom.
#include "budget.h"
#include "clock.h"
#include "failures.h"
#include "isolation.h"
#include "memory.h"
#include "message.h"
#include "problems.h"
#include "record.h"
#include "session.h"
#include "status.h"
#include "stopping.h"
#include "tune_latency.h"
#include "tune_replay.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int run_tune(int argc, const char **argv);

const struct verb verb_tune = {
    .name = "tune",
    .arguments = "[PROBLEM...]",
    .summary = "find and keep the fastest configurations",
    .details =
        "Builds, verifies and times valid configurations of each problem, all where they are few,\n"
        "else those that a search proposes; then the best ones in turn with the default. A winner\n"
        "that beats the default beyond the spread goes into the wisdom file, from which every\n"
        "later plan of that class of problems on this device takes it. The rows that are printed\n"
        "have the form of that file. Without problems: a few small ones.\n\n"
        "Configurations are built in as many worker processes as there are cores, then run in one\n"
        "more, alone. One that crashes or hangs costs its process; wisdom remembers it, and it is\n"
        "not tried again. Interrupted (SIGINT, SIGTERM), the best so far counts, and --resume "
        "goes\n"
        "on later; after a kill it does, too, and what was under way then counts as failed.\n\n"
        "--report-latency tunes nothing and shows instead what is compiled when, on one problem: "
        "a\n"
        "first call, the steady state, a new key (another mask is compiled), other arguments\n"
        "(lengths, strides and scale are not), and a cached restart in a new process. builds\n"
        "counts the kernels compiled from source into a temporary cache folder. A cache that the\n"
        "driver itself keeps is not emptied, so that a first call may be faster than on a new\n"
        "system. No wisdom is used.\n\n"
        "The exit code is 6 when a problem has no valid configuration, 7 when the budget ended\n"
        "the search before its end: then the best so far counts.\n\n"
        "  flashcl tune --budget 300 'fwd h8 q4096 d128 f16 causal-tl'\n"
        "  flashcl tune --report-latency 'lse h8 q1024 d64 f16'",
    .run = run_tune,
};

static const struct report_column columns[] = {
    {"problem", REPORT_WORD, 0, 0},     {"device", REPORT_WORD, 0, 1},
    {"driver", REPORT_WORD, 0, 1},      {"impl", REPORT_WORD, 0, 0},
    {"config", REPORT_WORD, 0, 0},      {"default_config", REPORT_WORD, 0, 0},
    {"status", REPORT_WORD, 0, 0},      {"median_ms", REPORT_FIXED, 4, 0},
    {"default_ms", REPORT_FIXED, 4, 0}, {"speedup", REPORT_FIXED, 3, 0},
    {"spread", REPORT_FIXED, 3, 0},     {"clock", REPORT_WORD, 0, 0},
    {"pruned", REPORT_INTEGER, 0, 0},   {"tried", REPORT_INTEGER, 0, 0},
    {"failed", REPORT_INTEGER, 0, 0},   {"failures", REPORT_WORD, 0, 0},
    {"stored", REPORT_INTEGER, 0, 0},   {"row", REPORT_WORD, 0, 1}};

#define SEEDS 50 // of a replay
#define SEEDS_LIMIT 10000

static const char *const default_problems[] = {
    "fwd h8 q1024 d64 f32",
    "fwd h8 q1024 d64 f16 causal-tl",
    "fwd h8 q1024 d128 f16",
};

static const char *const latency_problem[] = {"lse h4 q256 d64 f32"};

// Limits of --effort quick, for each problem.
#define QUICK_SECONDS 30
#define QUICK_EVALUATIONS 30

struct tune {
    // From the command line.
    char *impl_text, *effort, *record_path, *replay_path;
    struct budget budget;
    struct isolation_settings isolation;
    long long seeds;
    int no_store, retry_bad, report_latency;
    struct problem_list problems;
    struct implementation_list implementations;
    // Under way.
    const struct options *options;
    struct session session;
    struct report report;
    struct results_writer record;
    double end; // seconds of the clock at which the budget is used up
    char (*rows)[sizeof(((struct fcl_tune_result *)0)->row)]; // wisdom rows of the winners
    size_t row_count;
    struct failures failures; // of the problem under way
    double started;           // likewise
    int code;
};

static int read_limits(struct tune *tune)
{
    const char *effort = tune->effort != NULL ? tune->effort : "full";
    int quick = strcmp(effort, "quick") == 0;
    if (!quick && strcmp(effort, "full") != 0) {
        return options_usage(&verb_tune, "--effort %s: quick and full are allowed", effort);
    }
    const size_t tunings = tune->problems.count * tune->implementations.count;
    budget_complete(&tune->budget, quick ? QUICK_SECONDS * (double)tunings : 0,
                    quick ? QUICK_EVALUATIONS : 0);
    if (tune->isolation.journal != NULL && tunings > 1) {
        return options_usage(&verb_tune, "--journal names one file, for one problem; without it, "
                                         "each has a file of its own");
    }
    return EXIT_OK;
}

static int read_own(struct tune *tune)
{
    int code = budget_check(&tune->budget, &verb_tune);
    if (code == EXIT_OK) {
        code = isolation_settings_check(&tune->isolation, &verb_tune);
    }
    if (code == EXIT_OK) {
        code = implementations_read(&tune->implementations, &verb_tune, tune->impl_text);
    }
    if (code == EXIT_OK) {
        code = problems_read(
            &tune->problems, &verb_tune, tune->options, 0,
            tune->report_latency ? latency_problem : default_problems,
            tune->report_latency ? 1 : sizeof(default_problems) / sizeof(default_problems[0]));
    }
    return code == EXIT_OK ? read_limits(tune) : code;
}

// A record holds one space.
static int read_record(const struct tune *tune)
{
    if (tune->record_path != NULL &&
        (tune->options->argument_count != 1 || tune->implementations.count != 1)) {
        return options_usage(&verb_tune,
                             "--record %s: exactly one problem and one --impl are allowed",
                             tune->record_path);
    }
    return EXIT_OK;
}

// What belongs to --replay, which knows no device and no problem.
static int read_replay(const struct tune *tune)
{
    if (tune->options->argument_count > 0 || tune->record_path != NULL) {
        return options_usage(&verb_tune, "--replay and %s exclude each other",
                             tune->record_path != NULL ? "--record" : "problems");
    }
    if (tune->seeds < 1 || tune->seeds > SEEDS_LIMIT) {
        return options_usage(&verb_tune, "--seeds %lld: 1 to %d are allowed", tune->seeds,
                             SEEDS_LIMIT);
    }
    return EXIT_OK;
}

// What belongs to --report-latency, which searches nothing.
static int read_latency(const struct tune *tune)
{
    const struct options *options = tune->options;
    const struct {
        int given;
        const char *name;
    } others[] = {
        {tune->replay_path != NULL, "--replay"},        {tune->record_path != NULL, "--record"},
        {tune->isolation.journal != NULL, "--journal"}, {tune->isolation.resume, "--resume"},
        {options->cache_folder != NULL, "--cache-dir"}, {options->no_cache, "--no-cache"},
        {options->wisdom != NULL, "--wisdom"}};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (others[i].given) {
            return options_usage(&verb_tune, "--report-latency and %s exclude each other",
                                 others[i].name);
        }
    }
    if (tune->problems.count != 1 || tune->implementations.count != 1) {
        return options_usage(&verb_tune,
                             "--report-latency: exactly one problem and one --impl are allowed");
    }
    return EXIT_OK;
}

// ---- progress

// Until all are tried or the budget is used up.
static double estimate_left(const struct tune *tune, const struct fcl_trial *trial)
{
    double spent = clock_now() - tune->started;
    double left = spent / (double)trial->number * (double)(trial->total - trial->number);
    return tune->budget.seconds > 0 ? fmin(left, fmax(tune->end - clock_now(), 0)) : left;
}

static void show_trial(void *user, const struct fcl_trial *trial)
{
    struct tune *tune = user;
    int pruned = trial->number == 0 || trial->total == 0;
    if (tune->options->verbose) {
        message_note("%s: %s%s%s", trial->config, status_word(trial->status),
                     trial->reason[0] != '\0' ? ": " : "", trial->reason);
    }
    if (pruned) {
        return; // takes no time
    }
    if (tune->record_path != NULL) {
        record_trial(&tune->record, trial);
    }
    failures_add(&tune->failures, trial->status, trial->bad, trial->reason);
    char *failures = failures_list(&tune->failures);
    message_progress("%zu/%zu, %.0f s left, best %.4f ms, %.2fx the default%s%s", trial->number,
                     trial->total, estimate_left(tune, trial), trial->best_ms,
                     trial->default_ms / trial->best_ms, failures != NULL ? ", failed: " : "",
                     failures != NULL ? failures : "");
    free(failures);
}

// ---- one problem

static void add_row(struct tune *tune, const struct problem_entry *entry,
                    enum fcl_implementation implementation, enum fcl_status status,
                    const struct fcl_tune_result *result)
{
    struct report *report = &tune->report;
    int won = (status == FCL_OK || status == FCL_BUDGET_REACHED) && result->config[0] != '\0';
    report_row(report);
    report_set_text(report, "problem", entry->text);
    report_set_text(report, "device", tune->session.entry->name);
    report_set_text(report, "driver", tune->session.caps->driver);
    report_set_text(report, "impl", implementation_text(implementation));
    report_set_text(report, "status", status_word(status));
    report_set_integer(report, "pruned", (int64_t)result->pruned);
    report_set_integer(report, "tried", (int64_t)result->tried);
    report_set_integer(report, "failed", (int64_t)result->failed);
    char *failures = failures_list(&tune->failures);
    report_set_text(report, "failures", failures);
    free(failures);
    report_set_integer(report, "stored", result->stored);
    if (won) {
        report_set_text(report, "config", result->config);
        report_set_text(report, "default_config", result->default_config);
        report_set_real(report, "median_ms", result->timing.median_ms);
        report_set_real(report, "spread", result->timing.spread);
        report_set_text(report, "clock", fcl_clock_text(result->timing.clock));
        report_set_text(report, "row", result->row);
        memcpy(tune->rows[tune->row_count++], result->row, sizeof(result->row));
    }
    if (won && result->default_timing.median_ms > 0) {
        report_set_real(report, "default_ms", result->default_timing.median_ms);
        report_set_real(report, "speedup",
                        result->default_timing.median_ms / result->timing.median_ms);
    }
    report_row_end(report);
}

// Puts the winner that workers found into the cache that plans use.
static void keep_binary(struct tune *tune, const struct problem_entry *entry,
                        enum fcl_implementation implementation, const char *config_text)
{
    struct fcl_config config;
    fcl_plan *plan = NULL;
    if (fcl_config_parse(config_text, &config, NULL, 0) == FCL_OK) {
        fcl_plan_create(tune->session.device, &entry->problem,
                        fcl_plan_options(.implementation = implementation, .config = &config),
                        &plan);
    }
    fcl_plan_destroy(&plan);
}

static enum fcl_status search(struct tune *tune, const struct problem_entry *entry,
                              enum fcl_implementation implementation, int store,
                              const struct isolation *isolation, struct fcl_tune_result *result)
{
    struct fcl_tune_options options = {.struct_size = sizeof(options),
                                       .implementation = implementation,
                                       .seconds =
                                           tune->budget.seconds > 0 ? tune->end - clock_now() : 0,
                                       .evaluations = (size_t)tune->budget.evaluations,
                                       .strategy = tune->budget.strategy,
                                       .seed = (uint64_t)tune->budget.seed,
                                       .progress = show_trial,
                                       .user = tune,
                                       .store = store,
                                       .retry_bad = tune->retry_bad};
    session_forget(&tune->session);
    if (tune->budget.seconds > 0 && !(options.seconds > 0)) {
        return FCL_BUDGET_REACHED;
    }
    if (isolation->workers != NULL) {
        options.evaluator = workers_evaluator(isolation->workers);
        options.ahead = isolation->builders;
    }
    enum fcl_status status =
        fcl_attention_tune(tune->session.device, &entry->problem, &options, result);
    const char *failure = isolation->workers != NULL ? workers_failure(isolation->workers) : NULL;
    if (failure != NULL) {
        message_error("%s", failure);
        return FCL_DEVICE_ERROR;
    }
    if (isolation->workers != NULL && result->stored) {
        keep_binary(tune, entry, implementation, result->config);
    }
    return status;
}

static void name_config(const fcl_space *space, uint64_t point, char *text, size_t size)
{
    struct fcl_config config;
    fcl_point_config(space, point, &config);
    fcl_config_format(&config, text, size);
}

static int begin_isolation(const struct tune *tune, const struct problem_entry *entry,
                           enum fcl_implementation implementation, struct isolation *isolation)
{
    char problem_class[256];
    json_t *job = json_pack("{s:s,s:s}", "problem", entry->text, "implementation",
                            implementation_text(implementation));
    json_t *open = json_copy(job);
    json_object_set_new(open, "kind", json_string("attention"));
    fcl_problem_class(&entry->problem, implementation, problem_class, sizeof(problem_class));
    const struct isolation_options options = {.options = tune->options,
                                              .session = &tune->session,
                                              .settings = &tune->isolation,
                                              .open = open,
                                              .about = job,
                                              .journal_name = problem_class,
                                              .name = name_config};
    int code = isolation_begin(isolation, &options);
    json_decref(open);
    json_decref(job);
    return code;
}

static void tune_problem(struct tune *tune, const struct problem_entry *entry,
                         enum fcl_implementation implementation, int store)
{
    struct fcl_tune_result result = {.stored = 0};
    struct isolation isolation = {.folder = NULL};
    int code = tune->isolation.in_process
                   ? EXIT_OK
                   : begin_isolation(tune, entry, implementation, &isolation);
    tune->failures.count = 0;
    tune->started = clock_now();
    if (code == EXIT_OK) {
        enum fcl_status status = search(tune, entry, implementation, store, &isolation, &result);
        if (status != FCL_OK) {
            message_note("%s (%s): %s", entry->text, implementation_text(implementation),
                         session_sentence(&tune->session, status));
        }
        add_row(tune, entry, implementation, status, &result);
        code = status_exit(status);
    }
    tune->code = status_graver(tune->code, code);
    isolation_end(&isolation, code != EXIT_INTERNAL && !stopping_asked());
}

// The winners as a wisdom file: what the text form ends with.
static void print_wisdom(const struct tune *tune)
{
    if (tune->options->format != REPORT_TEXT || tune->row_count == 0) {
        return;
    }
    printf("\nflashcl-wisdom 1\n");
    for (size_t i = 0; i < tune->row_count; i++) {
        printf("%s\n", tune->rows[i]);
    }
}

static int tune_all(struct tune *tune)
{
    int code = session_open(&tune->session, tune->options);
    if (code != EXIT_OK) {
        return code;
    }
    if (tune->record_path != NULL) {
        code = record_begin(&tune->record, tune->record_path, tune->options, &tune->session,
                            &tune->problems.entries[0], tune->implementations.entries[0]);
        if (code != EXIT_OK) {
            return code;
        }
    }
    int store = session_keeps_wisdom(&tune->session, tune->options, tune->no_store);
    isolation_settings_complete(&tune->isolation);
    session_print_device(&tune->session, tune->options);
    report_init(&tune->report, stdout, tune->options->format, REPORT_TABLE, columns,
                sizeof(columns) / sizeof(columns[0]));
    tune->rows =
        memory_get(tune->problems.count * tune->implementations.count, sizeof(*tune->rows));
    tune->end = clock_now() + tune->budget.seconds;
    for (size_t i = 0; i < tune->problems.count; i++) {
        for (size_t j = 0; j < tune->implementations.count && !stopping_asked(); j++) {
            tune_problem(tune, &tune->problems.entries[i], tune->implementations.entries[j], store);
        }
    }
    message_progress_end();
    report_finish(&tune->report);
    print_wisdom(tune);
    return results_end(&tune->record) ? tune->code : status_graver(tune->code, EXIT_INTERNAL);
}

static int run_parsed(struct tune *tune)
{
    int code = read_own(tune);
    if (code != EXIT_OK) {
        return code;
    }
    if (tune->report_latency) {
        code = read_latency(tune);
        return code == EXIT_OK
                   ? tune_latency(tune->options, &tune->problems.entries[0],
                                  tune->implementations.entries[0], tune->isolation.in_process,
                                  tune->isolation.build_seconds + tune->isolation.run_seconds)
                   : code;
    }
    code = tune->replay_path != NULL ? read_replay(tune) : read_record(tune);
    if (code != EXIT_OK) {
        return code;
    }
    return tune->replay_path != NULL
               ? tune_replay(tune->options, tune->replay_path, tune->budget.strategy,
                             (uint64_t)tune->budget.seed, (size_t)tune->seeds)
               : tune_all(tune);
}

#define OWN_LIMIT 24

static void fill_table(struct tune *tune, struct poptOption *table)
{
    const struct poptOption rows[] = {
        {"impl", '\0', POPT_ARG_STRING, &tune->impl_text, 0,
         "fused: one kernel; unfused: three kernels over a score matrix (default: fused)",
         "fused,unfused"},
        OPTION_BUDGET(&tune->budget),
        {"record", '\0', POPT_ARG_STRING, &tune->record_path, 0,
         "write each configuration that is tried to this file, as T4 results", "FILE"},
        {"replay", '\0', POPT_ARG_STRING, &tune->replay_path, 0,
         "run the strategy on the results in this file instead of a device", "FILE"},
        {"seeds", '\0', POPT_ARG_LONGLONG, &tune->seeds, 0,
         "replay with so many seeds, from --seed on (default: 50)", "N"},
        {"report-latency", '\0', POPT_ARG_NONE, &tune->report_latency, 0,
         "show instead what is compiled when, and the milliseconds (default problem: lse h4 q256 "
         "d64)",
         NULL},
        {"effort", '\0', POPT_ARG_STRING, &tune->effort, 0,
         "quick: for each problem 30 configurations and 30 seconds, where --max-evals and --budget "
         "do not say otherwise; full: no limits (default: full)",
         "quick|full"},
        OPTION_ISOLATION(&tune->isolation),
        OPTION_RETRY_BAD(&tune->retry_bad),
        OPTION_NO_STORE(&tune->no_store),
        POPT_TABLEEND,
    };
    _Static_assert(sizeof(rows) <= OWN_LIMIT * sizeof(rows[0]), "OWN_LIMIT is too small");
    memcpy(table, rows, sizeof(rows));
}

static int run_tune(int argc, const char **argv)
{
    struct options options = {.context = NULL};
    struct tune tune = {.options = &options, .seeds = SEEDS};
    budget_init(&tune.budget);
    isolation_settings_init(&tune.isolation);
    struct poptOption table[OWN_LIMIT];
    fill_table(&tune, table);
    int code = options_parse(&options, &verb_tune, table, argc, argv);
    if (code == OPTIONS_PROCEED) {
        code = run_parsed(&tune);
    }
    session_close(&tune.session);
    problems_free(&tune.problems);
    options_free(&options);
    free(tune.impl_text);
    budget_free(&tune.budget);
    free(tune.record_path);
    free(tune.replay_path);
    free(tune.effort);
    isolation_settings_free(&tune.isolation);
    free(tune.rows);
    return code;
}
