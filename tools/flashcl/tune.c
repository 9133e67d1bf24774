// `flashcl tune`: the fastest verified configuration of each problem, kept as wisdom.
#include "budget.h"
#include "folders.h"
#include "memory.h"
#include "message.h"
#include "problems.h"
#include "record.h"
#include "session.h"
#include "status.h"
#include "tune_replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int run_tune(int argc, const char **argv);

const struct verb verb_tune = {
    .name = "tune",
    .arguments = "[PROBLEM...]",
    .summary = "find and keep the fastest configurations",
    .details =
        "Builds, verifies and times valid configurations of each problem, all where they are few,\n"
        "else those that a search proposes; then the best ones in turn with the default. A winner\n"
        "that beats the default beyond the spread goes into the wisdom file, from which every "
        "later\n"
        "plan of that class of problems on this device takes it. The rows that are printed have "
        "the\n"
        "form of that file. Without problems: a few small ones.\n\n"
        "--record writes what was tried in the form T4 of the autotuning community, of which\n"
        "--replay needs no device: it runs a strategy on recorded results, of FlashCL or of "
        "another\n"
        "tuner, and prints which part of the best configuration's speed it reaches after so many\n"
        "evaluations, in the median and the quartiles of many seeds, beside random.\n\n"
        "The exit code is 6 when a problem has no valid configuration, 7 when the budget ended\n"
        "the search before its end: then the best so far counts.\n\n"
        "  flashcl tune --budget 300 'fwd h8 q4096 d128 f16 causal-tl'\n"
        "  flashcl tune --strategy exhaustive --record all.json 'fwd h2 q256 d64'\n"
        "  flashcl tune --replay all.json --strategy seeded",
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
    {"failed", REPORT_INTEGER, 0, 0},   {"stored", REPORT_INTEGER, 0, 0},
    {"row", REPORT_WORD, 0, 1}};

#define SEEDS 50 // of a replay
#define SEEDS_LIMIT 10000

static const char *const default_problems[] = {
    "fwd h8 q1024 d64 f32",
    "fwd h8 q1024 d64 f16 causal-tl",
    "fwd h8 q1024 d128 f16",
};

struct tune {
    // From the command line.
    char *impl_text;
    struct budget budget;
    char *record_path, *replay_path;
    long long seeds;
    int no_store;
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
    int code;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int read_own(struct tune *tune)
{
    int code = budget_check(&tune->budget, &verb_tune);
    if (code != EXIT_OK) {
        return code;
    }
    code = implementations_read(&tune->implementations, &verb_tune, tune->impl_text);
    return code == EXIT_OK
               ? problems_read(&tune->problems, &verb_tune, tune->options, 0, default_problems,
                               sizeof(default_problems) / sizeof(default_problems[0]))
               : code;
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

// Whether winners can be kept, after one warning where they cannot though they should.
static int prepare_wisdom(const struct tune *tune)
{
    if (tune->no_store || tune->options->no_wisdom) {
        return 0;
    }
    if (tune->session.wisdom == NULL) {
        char *reason;
        free(folders_wisdom(tune->options, &reason));
        message_warning("%s: winners are not stored (--wisdom, --no-store)", reason);
        free(reason);
        return 0;
    }
    folders_make_parents(tune->session.wisdom);
    return 1;
}

static void show_trial(void *user, const struct fcl_trial *trial)
{
    struct tune *tune = user;
    if (tune->options->verbose) {
        message_note("%s: %s%s%s", trial->config, status_word(trial->status),
                     trial->reason[0] != '\0' ? ": " : "", trial->reason);
    }
    if (tune->record_path != NULL) {
        record_trial(&tune->record, trial);
    }
    if (trial->status != FCL_UNSUPPORTED) { // pruned ones take no time
        message_progress("%zu/%zu best %.4f ms, %.2f of the default's speed, %s", trial->number,
                         trial->total, trial->best_ms, trial->default_ms / trial->best_ms,
                         trial->config);
    }
}

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
    tune->code = status_graver(tune->code, status_exit(status));
}

static void tune_problem(struct tune *tune, const struct problem_entry *entry,
                         enum fcl_implementation implementation, int store)
{
    struct fcl_tune_result result = {.stored = 0};
    double left = tune->budget.seconds > 0 ? tune->end - now() : 0;
    enum fcl_status status = FCL_BUDGET_REACHED;
    session_forget(&tune->session);
    if (tune->budget.seconds == 0 || left > 0) {
        const struct fcl_tune_options options = {
            .struct_size = sizeof(options),
            .implementation = implementation,
            .seconds = left,
            .evaluations = (size_t)tune->budget.evaluations,
            .strategy = tune->budget.strategy,
            .seed = (uint64_t)tune->budget.seed,
            .progress = show_trial,
            .user = tune,
            .store = store,
        };
        status = fcl_attention_tune(tune->session.device, &entry->problem, &options, &result);
    }
    if (status != FCL_OK) {
        message_note("%s (%s): %s", entry->text, implementation_text(implementation),
                     session_sentence(&tune->session, status));
    }
    add_row(tune, entry, implementation, status, &result);
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
    }
    if (code != EXIT_OK) {
        return code;
    }
    int store = prepare_wisdom(tune);
    session_print_device(&tune->session, tune->options);
    report_init(&tune->report, stdout, tune->options->format, REPORT_TABLE, columns,
                sizeof(columns) / sizeof(columns[0]));
    tune->rows =
        memory_get(tune->problems.count * tune->implementations.count, sizeof(*tune->rows));
    tune->end = now() + tune->budget.seconds;
    for (size_t i = 0; i < tune->problems.count; i++) {
        for (size_t j = 0; j < tune->implementations.count; j++) {
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
    code = tune->replay_path != NULL ? read_replay(tune) : read_record(tune);
    if (code != EXIT_OK) {
        return code;
    }
    return tune->replay_path != NULL
               ? tune_replay(tune->options, tune->replay_path, tune->budget.strategy,
                             (uint64_t)tune->budget.seed, (size_t)tune->seeds)
               : tune_all(tune);
}

static int run_tune(int argc, const char **argv)
{
    struct options options = {.context = NULL};
    struct tune tune = {.options = &options, .seeds = SEEDS};
    budget_init(&tune.budget);
    struct poptOption table[] = {
        {"impl", '\0', POPT_ARG_STRING, &tune.impl_text, 0,
         "fused: one kernel; unfused: three kernels over a score matrix (default: fused)",
         "fused,unfused"},
        OPTION_BUDGET(&tune.budget),
        {"record", '\0', POPT_ARG_STRING, &tune.record_path, 0,
         "write each configuration that is tried to this file, as T4 results", "FILE"},
        {"replay", '\0', POPT_ARG_STRING, &tune.replay_path, 0,
         "run the strategy on the results in this file instead of a device", "FILE"},
        {"seeds", '\0', POPT_ARG_LONGLONG, &tune.seeds, 0,
         "replay with so many seeds, from --seed on (default: 50)", "N"},
        {"no-store", '\0', POPT_ARG_NONE, &tune.no_store, 0, "leave the wisdom file as it is",
         NULL},
        POPT_TABLEEND,
    };
    int code = options_parse(&options, &verb_tune, table, argc, argv);
    if (code == OPTIONS_PROCEED) {
        code = run_parsed(&tune);
    }
    session_close(&tune.session);
    problems_free(&tune.problems);
    options_free(&options);
    free(tune.impl_text);
    free(tune.record_path);
    free(tune.replay_path);
    budget_free(&tune.budget);
    free(tune.rows);
    return code;
}
