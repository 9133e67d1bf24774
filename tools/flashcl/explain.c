// `flashcl explain`: why a problem runs as it does on a device, without running it.
#include "caps_file.h"
#include "choices.h"
#include "explanation.h"
#include "memory.h"
#include "message.h"
#include "problems.h"
#include "reasons.h"
#include "session.h"
#include "status.h"

#include <stdlib.h>
#include <string.h>

static int run_explain(int argc, const char **argv);

const struct verb verb_explain = {
    .name = "explain",
    .arguments = "PROBLEM",
    .summary = "what limits a problem, and which configurations fit",
    .details =
        "Says what a problem costs fused and unfused, what the device could do at best, which of\n"
        "arithmetic, memory and launches limits it, from which length on the score matrix is too\n"
        "large, which configuration a plan would take and from where, what that keeps in "
        "registers\n"
        "and local memory, and why others are not valid. Nothing is built or run, but the "
        "device's\n"
        "peak is measured where it is not known yet (`flashcl peak`; --no-peak goes without). "
        "With\n"
        "--caps the device is only described, by a file that `flashcl info --caps` has written,\n"
        "and need not be there.\n\n"
        "Rows are configurations: `use` is the one that a plan takes, `next` are those that it\n"
        "falls back to, `valid` and `pruned` are the rest of the search space, counted by reason\n"
        "or, with --all, one by one. Numbers of the problem and the device stand in each row.\n\n"
        "  flashcl explain 'fwd h8 q1024 d64 f16'",
    .run = run_explain,
};

#define NUMBER(name)                   \
    {                                  \
        name, REPORT_SIGNIFICANT, 4, 1 \
    }
#define INTEGER(name, hidden)           \
    {                                   \
        name, REPORT_INTEGER, 0, hidden \
    }
#define WORD(name, hidden)           \
    {                                \
        name, REPORT_WORD, 0, hidden \
    }

static const struct report_column columns[] = {
    WORD("problem", 1), WORD("device", 1), WORD("status", 0), INTEGER("count", 0),
    WORD("config", 0), WORD("origin", 0), INTEGER("group_size", 0), INTEGER("lanes", 1),
    INTEGER("accumulators", 0), INTEGER("left", 0), INTEGER("scores", 0), INTEGER("registers", 0),
    INTEGER("left_bytes", 1), INTEGER("right_bytes", 1), INTEGER("scores_bytes", 1),
    INTEGER("out_bytes", 1), INTEGER("row_bytes", 1), INTEGER("local_bytes", 0),
    INTEGER("private_bytes", 0), WORD("reason", 0),
    // Of the problem and the device.
    NUMBER("operations"), NUMBER("fused_bytes"), NUMBER("unfused_bytes"), NUMBER("fused_intensity"),
    NUMBER("unfused_intensity"), NUMBER("score_bytes"), INTEGER("cache_n", 1),
    INTEGER("buffer_n", 1), INTEGER("memory_n", 1), NUMBER("ridge"), NUMBER("compute_ms"),
    NUMBER("fused_memory_ms"), NUMBER("unfused_memory_ms"), NUMBER("fused_launch_ms"),
    NUMBER("unfused_launch_ms"), WORD("fused_limiter", 1), WORD("unfused_limiter", 1)};

struct explain {
    // From the command line.
    const struct options *options;
    char *caps_path;
    int all, no_peak;
    struct problem_list problems;
    struct fcl_config config;
    const struct fcl_config *chosen;
    // Under way.
    struct session session;
    struct fcl_caps caps;
    const struct problem_entry *entry;
    struct explanation explanation;
    struct fcl_choice choices[FCL_CHOICES];
    size_t choice_count;
    struct report report;
    struct reasons pruned;
    size_t valid; // beside the choices
};

static int read_own(struct explain *explain)
{
    if (explain->options->argument_count != 1) {
        return options_usage(&verb_explain, "%zu problems are given; 1 is allowed",
                             explain->options->argument_count);
    }
    int code = config_read(explain->options, &verb_explain, &explain->config, &explain->chosen);
    return code == EXIT_OK
               ? problems_read(&explain->problems, &verb_explain, explain->options, 0, NULL, 0)
               : code;
}

// ---- The device -------------------------------------------------------------------------------

static void find_peak(struct explain *explain)
{
    message_progress("explain: the device's peak");
    session_forget(&explain->session);
    enum fcl_status status =
        fcl_device_peak(explain->session.device, 0, &explain->explanation.peak);
    message_progress_end();
    if (status != FCL_OK) {
        message_warning("the device's peak is not known: %s",
                        session_sentence(&explain->session, status));
    }
}

static int find_device(struct explain *explain)
{
    if (explain->caps_path != NULL) {
        return caps_file_read(explain->caps_path, explain->options, &verb_explain, &explain->caps);
    }
    int code = session_open(&explain->session, explain->options);
    if (code == EXIT_OK) {
        explain->caps = *explain->session.caps;
        if (!explain->no_peak) {
            find_peak(explain);
        }
    }
    return code;
}

// ---- The choice -------------------------------------------------------------------------------

// Fills in what a plan would try. Returns the exit code; that of nothing valid comes with a reason.
static int choose(struct explain *explain, char *reason, size_t size)
{
    const struct fcl_problem *problem = &explain->entry->problem;
    if (explain->chosen != NULL) {
        enum fcl_status status =
            fcl_config_validate(explain->chosen, problem, &explain->caps, reason, size);
        explain->choices[0] = (struct fcl_choice){*explain->chosen, "explicit"};
        explain->choice_count = status == FCL_OK;
        return status_exit(status);
    }
    return choices_list(explain->options, problem, FCL_FUSED, &explain->caps, explain->choices,
                        &explain->choice_count, reason, size);
}

// ---- Rows -------------------------------------------------------------------------------------

static void set_limits(struct report *report, const struct explanation *e)
{
    report_set_real(report, "ridge", e->ridge);
    report_set_real(report, "compute_ms", e->fused.limits.compute_ms);
    report_set_real(report, "fused_memory_ms", e->fused.limits.memory_ms);
    report_set_real(report, "unfused_memory_ms", e->unfused.limits.memory_ms);
    report_set_real(report, "fused_launch_ms", e->fused.limits.launch_ms);
    report_set_real(report, "unfused_launch_ms", e->unfused.limits.launch_ms);
    report_set_text(report, "fused_limiter", e->fused.limits.name);
    report_set_text(report, "unfused_limiter", e->unfused.limits.name);
}

static void set_length(struct report *report, const char *column, int64_t n)
{
    if (n > 0) {
        report_set_integer(report, column, n);
    }
}

// Starts a row with all that is the same in each.
static void start_row(struct explain *explain, const char *status, size_t count)
{
    struct report *report = &explain->report;
    const struct explanation *e = &explain->explanation;
    report_row(report);
    report_set_text(report, "problem", explain->entry->text);
    report_set_text(report, "device", explain->caps.name);
    report_set_text(report, "status", status);
    report_set_integer(report, "count", (int64_t)count);
    report_set_real(report, "operations", e->operations);
    report_set_real(report, "fused_bytes", e->fused.bytes);
    report_set_real(report, "unfused_bytes", e->unfused.bytes);
    report_set_real(report, "fused_intensity", e->fused.intensity);
    report_set_real(report, "unfused_intensity", e->unfused.intensity);
    report_set_real(report, "score_bytes", e->score_bytes);
    set_length(report, "cache_n", e->cache_n);
    set_length(report, "buffer_n", e->buffer_n);
    set_length(report, "memory_n", e->memory_n);
    if (e->peak_known) {
        set_limits(report, e);
    }
}

static void set_config(struct explain *explain, const struct fcl_config *config)
{
    struct report *report = &explain->report;
    struct fcl_budget budget;
    char text[128];
    fcl_config_format(config, text, sizeof(text));
    report_set_text(report, "config", text);
    if (fcl_config_budget(config, &explain->entry->problem, &budget, NULL, 0) == FCL_OK) {
#define FCL_X(name, meaning) report_set_integer(report, #name, budget.name);
        FCL_BUDGET_FIELDS(FCL_X)
#undef FCL_X
    }
}

static void add_config(struct explain *explain, const char *status, const char *origin,
                       const struct fcl_config *config, const char *reason)
{
    start_row(explain, status, 1);
    set_config(explain, config);
    report_set_text(&explain->report, "origin", origin);
    report_set_text(&explain->report, "reason", reason[0] != '\0' ? reason : NULL);
    report_row_end(&explain->report);
}

static void add_count(struct explain *explain, const char *status, size_t count, const char *reason)
{
    start_row(explain, status, count);
    report_set_text(&explain->report, "reason", reason);
    report_row_end(&explain->report);
}

static int is_choice(const struct explain *explain, const struct fcl_config *config)
{
    for (size_t i = 0; i < explain->choice_count; i++) {
        if (memcmp(&explain->choices[i].config, config, sizeof(*config)) == 0) {
            return 1;
        }
    }
    return 0;
}

// One point of the search space: a row with --all, else counted.
static int visit(void *user, const struct fcl_config *config, enum fcl_status status,
                 const char *reason)
{
    struct explain *explain = user;
    if (is_choice(explain, config)) {
        return 0;
    }
    if (explain->all) {
        add_config(explain, status == FCL_OK ? "valid" : "pruned", NULL, config, reason);
    } else if (status == FCL_OK) {
        explain->valid++;
    } else {
        char *text = memory_print("%s: %s", fcl_family_text(config->family), reason);
        reasons_add(&explain->pruned, text);
        free(text);
    }
    return 0;
}

// Families that this device does not have: of their points nothing is said.
static void add_families(struct explain *explain)
{
    char reason[512];
    for (int f = 0; f < FCL_FAMILY_COUNT; f++) {
        if (fcl_family_usable((enum fcl_family)f, &explain->caps, reason, sizeof(reason)) !=
            FCL_OK) {
            start_row(explain, "pruned", 0);
            report_set_text(&explain->report, "count", NULL);
            report_set_text(&explain->report, "reason", reason);
            report_row_end(&explain->report);
        }
    }
}

static void add_space(struct explain *explain)
{
    fcl_config_space(&explain->entry->problem, &explain->caps, visit, explain);
    if (explain->valid > 0) {
        add_count(explain, "valid", explain->valid,
                  "a plan does not try them; `flashcl tune` finds out whether one is faster");
    }
    reasons_sort(&explain->pruned);
    for (size_t i = 0; i < explain->pruned.count; i++) {
        char *text = reasons_text(&explain->pruned, i);
        add_count(explain, "pruned", reasons_times(&explain->pruned, i), text);
        free(text);
    }
    add_families(explain);
}

static void add_rows(struct explain *explain, const char *refused)
{
    for (size_t i = 0; i < explain->choice_count; i++) {
        add_config(explain, i == 0 ? "use" : "next", explain->choices[i].origin,
                   &explain->choices[i].config, "");
    }
    if (explain->chosen != NULL && explain->choice_count == 0) {
        add_config(explain, "pruned", "explicit", explain->chosen, refused);
    }
    add_space(explain);
}

// ---- The verb ---------------------------------------------------------------------------------

static void print(struct explain *explain, const char *refused)
{
    struct explanation *e = &explain->explanation;
    const int text = explain->options->format == REPORT_TEXT;
    e->problem = &explain->entry->problem;
    e->caps = &explain->caps;
    if (explain->choice_count > 0) {
        e->config = explain->choices[0].config;
        e->origin = explain->choices[0].origin;
    }
    explanation_complete(e);
    if (text) {
        printf("device: %s (%s)\nproblem: %s\n", explain->caps.name, explain->caps.platform,
               explain->entry->text);
        explanation_print(e, stdout);
        printf("\nAll configurations: what a plan would try first, then the rest of the search "
               "space.\n");
    }
    report_init(&explain->report, stdout, explain->options->format, REPORT_TABLE, columns,
                sizeof(columns) / sizeof(columns[0]));
    add_rows(explain, refused);
    report_finish(&explain->report);
    reasons_free(&explain->pruned);
}

static int explain_problem(struct explain *explain)
{
    char reason[512] = "";
    explain->entry = &explain->problems.entries[0];
    int code = find_device(explain);
    if (code == EXIT_OK) {
        code = choose(explain, reason, sizeof(reason));
        if (code == EXIT_OK || reason[0] != '\0') {
            print(explain, reason);
        }
        if (reason[0] != '\0' && code != EXIT_OK) {
            message_note("%s", reason);
        }
    }
    return code;
}

static int run_explain(int argc, const char **argv)
{
    struct options options = {.context = NULL};
    struct explain explain = {.options = &options};
    struct poptOption table[] = {
        OPTION_CAPS(&explain.caps_path),
        {"all", '\0', POPT_ARG_NONE, &explain.all, 0,
         "a row for each configuration of the search space", NULL},
        {"no-peak", '\0', POPT_ARG_NONE, &explain.no_peak, 0,
         "leave out what needs the device's peak, and do not measure it", NULL},
        OPTION_CONFIG(&options),
        POPT_TABLEEND,
    };
    int code = options_parse(&options, &verb_explain, table, argc, argv);
    if (code == OPTIONS_PROCEED) {
        code = read_own(&explain);
        code = code == EXIT_OK ? explain_problem(&explain) : code;
    }
    session_close(&explain.session);
    problems_free(&explain.problems);
    options_free(&options);
    free(explain.caps_path);
    return code;
}
