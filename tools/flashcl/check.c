// `flashcl check`: kernels against the reference on the host.
#include "buffers.h"
#include "check_grid.h"
#include "memory.h"
#include "message.h"
#include "pairs.h"
#include "problems.h"
#include "session.h"
#include "status.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int run_check(int argc, const char **argv);

const struct verb verb_check = {
    .name = "check",
    .arguments = "[PROBLEM...]",
    .summary = "kernels against the reference",
    .details =
        "Runs each problem on seeded inputs, with outputs poisoned and between guard bands, and\n"
        "compares with attention by definition in double precision. Without problems: a grid\n"
        "of head dims, element types, masks, grouped heads, ragged lengths and layouts; or with\n"
        "--pairwise problems in which any two features that go together do so once.\n\n"
        "ratio is the worst error over the allowed one, which is made from the error of a host\n"
        "model in the same precision: at most 1 is right. error and lse_error are the worst\n"
        "absolute differences. The exit code is 1 when any result is wrong, else that of the\n"
        "gravest error, else 4 when a case is unsupported.\n\n"
        "  flashcl check\n"
        "  flashcl check --pairwise --family all\n"
        "  flashcl check --family all 'fwd h8/2 q100 k1000 d80 f16 causal-br'",
    .run = run_check,
};

static const struct report_column columns[] = {{"problem", REPORT_WORD, 0, 0},
                                               {"device", REPORT_WORD, 0, 1},
                                               {"impl", REPORT_WORD, 0, 0},
                                               {"config", REPORT_WORD, 0, 0},
                                               {"status", REPORT_WORD, 0, 0},
                                               {"rows", REPORT_INTEGER, 0, 0},
                                               {"ratio", REPORT_SIGNIFICANT, 3, 0},
                                               {"error", REPORT_SIGNIFICANT, 3, 0},
                                               {"lse_error", REPORT_SIGNIFICANT, 3, 0}};

struct check {
    // From the command line.
    char *impl_text, *family_text, *fill_text;
    long long rows, seed;
    struct problem_list problems;
    struct implementation_list implementations;
    int families[FCL_FAMILY_COUNT]; // which are asked for
    int by_family;                  // 0: the configuration that a plan chooses
    int pairwise;
    enum fcl_fill fill;
    struct fcl_config config;
    const struct fcl_config *chosen;
    // Under way.
    const struct options *options;
    struct session session;
    struct report report;
    size_t cases, failed;
    double worst;
    int code;
};

// ---- Options ----------------------------------------------------------------------------------

static int take_family(void *user, const char *part)
{
    struct check *check = user;
    int found = 0;
    for (int f = 0; f < FCL_FAMILY_COUNT; f++) {
        int named =
            strcmp(part, "all") == 0 || strcmp(part, fcl_family_text((enum fcl_family)f)) == 0;
        check->families[f] |= named;
        found |= named;
    }
    check->by_family = 1;
    return found ? EXIT_OK
                 : options_usage(&verb_check,
                                 "--family %s: all, or the families that `flashcl "
                                 "info` lists are allowed",
                                 part);
}

static int read_numbers(struct check *check)
{
    if (check->rows < 0) {
        return options_usage(&verb_check, "--rows %lld: 0 (all) or more is allowed", check->rows);
    }
    if (check->fill_text != NULL && strcmp(check->fill_text, "unbalanced") != 0) {
        if (strcmp(check->fill_text, "plain") != 0) {
            return options_usage(&verb_check, "--fill %s: unbalanced and plain are allowed",
                                 check->fill_text);
        }
        check->fill = FCL_FILL_PLAIN;
    }
    if (check->by_family && check->options->config != NULL) {
        return options_usage(&verb_check, "--family and --config exclude each other");
    }
    return EXIT_OK;
}

static int read_pairs(struct check *check)
{
    size_t count;
    if (check->options->argument_count > 0) {
        return options_usage(&verb_check, "--pairwise and problems exclude each other");
    }
    char **texts = pairs_texts(&count);
    int code = EXIT_OK;
    for (size_t i = 0; i < count; i++) {
        code = code == EXIT_OK ? problems_add(&check->problems, &verb_check, texts[i]) : code;
        free(texts[i]);
    }
    free(texts);
    return code;
}

static int read_own(struct check *check)
{
    int code =
        check->family_text != NULL ? list_split(check->family_text, take_family, check) : EXIT_OK;
    if (code == EXIT_OK) {
        code = read_numbers(check);
    }
    if (code == EXIT_OK) {
        code = implementations_read(&check->implementations, &verb_check, check->impl_text);
    }
    if (code == EXIT_OK) {
        code = config_read(check->options, &verb_check, &check->config, &check->chosen);
    }
    if (code == EXIT_OK && check->pairwise) {
        code = read_pairs(check);
    } else if (code == EXIT_OK) {
        code = problems_read(&check->problems, &verb_check, check->options, 0, check_grid,
                             check_grid_count);
    }
    return code;
}

// ---- Configurations of a family ---------------------------------------------------------------

struct family_search {
    enum fcl_family family;
    struct fcl_config *config;
    int found;
};

static int take_first_valid(void *user, const struct fcl_config *config, enum fcl_status status,
                            const char *reason)
{
    struct family_search *search = user;
    (void)reason;
    if (status == FCL_OK && config->family == search->family) {
        *search->config = *config;
        search->found = 1;
    }
    return search->found;
}

// The device's default where it is of the family, else the family's first valid configuration.
static int find_config(const struct check *check, const struct fcl_problem *problem,
                       enum fcl_family family, struct fcl_config *config)
{
    if (fcl_config_default(problem, check->session.caps, config, NULL, 0) == FCL_OK &&
        config->family == family) {
        return 1;
    }
    struct family_search search = {.family = family, .config = config};
    fcl_config_space(problem, check->session.caps, take_first_valid, &search);
    return search.found;
}

// ---- Cases ------------------------------------------------------------------------------------

static void add_row(struct check *check, const struct problem_entry *entry,
                    enum fcl_implementation implementation, const char *config,
                    enum fcl_status status, const struct fcl_comparison *comparison)
{
    struct report *report = &check->report;
    report_row(report);
    report_set_text(report, "problem", entry->text);
    report_set_text(report, "device", check->session.entry->name);
    report_set_text(report, "impl", implementation_text(implementation));
    report_set_text(report, "config", config);
    report_set_text(report, "status", status_word(status));
    if (status == FCL_OK || status == FCL_WRONG_RESULT) {
        report_set_integer(report, "rows", comparison->rows);
        report_set_real(report, "ratio", comparison->ratio);
        if (entry->problem.pass != FCL_PASS_STATISTICS) {
            report_set_real(report, "error", comparison->error);
        }
        if (entry->problem.pass == FCL_PASS_STATISTICS || entry->problem.lse) {
            report_set_real(report, "lse_error", comparison->lse_error);
        }
        check->worst = fmax(check->worst, comparison->ratio);
    }
    report_row_end(report);
    check->cases++;
    check->failed += status != FCL_OK && status != FCL_UNSUPPORTED;
}

// Says why a case failed; where memory ran out, also how much there is and how much the tensors
// take, which the library's sentence may leave open.
static void note_failure(const struct check *check, const struct problem_entry *entry,
                         enum fcl_implementation implementation, enum fcl_status status)
{
    char *text = memory_print("%s (%s): %s", entry->text, implementation_text(implementation),
                              session_sentence(&check->session, status));
    if (status == FCL_OUT_OF_MEMORY) {
        size_t bytes = 0;
        struct fcl_sequences sequences;
        fcl_sequences_create(&entry->problem, 1, &sequences);
        for (int role = 0; role < BUFFER_COUNT; role++) {
            bytes += buffers_bytes(&entry->problem, &sequences, (enum buffer_role)role);
        }
        fcl_sequences_free(&sequences);
        memory_append(&text, "; its tensors take %zu bytes, the device has %" PRIu64, bytes,
                      check->session.caps->global_bytes);
    }
    message_note("%s", text);
    free(text);
}

static void check_case(struct check *check, const struct problem_entry *entry,
                       enum fcl_implementation implementation, const struct fcl_config *config)
{
    struct session *session = &check->session;
    struct fcl_comparison comparison = {.rows = 0};
    struct fcl_plan_info info = {.config = NULL};
    fcl_plan *plan = NULL;
    message_progress("check %zu: %s (%s)", check->cases + 1, entry->text,
                     implementation_text(implementation));
    session_forget(session);
    enum fcl_status status = fcl_plan_create(
        session->device, &entry->problem,
        fcl_plan_options(.implementation = implementation, .config = config), &plan);
    if (status == FCL_OK) {
        fcl_plan_describe(plan, &info);
        status = fcl_attention_check(plan, &entry->problem, check->fill, (uint64_t)check->seed,
                                     check->rows, &comparison);
    }
    if (status != FCL_OK) {
        note_failure(check, entry, implementation, status);
    }
    add_row(check, entry, implementation, info.config, status, &comparison);
    fcl_plan_destroy(&plan);
    check->code = status_graver(check->code, status_exit(status));
}

// The grid holds the statistics pass for the fused kernel: the unfused form has none.
static int is_skipped(const struct check *check, const struct problem_entry *entry,
                      enum fcl_implementation implementation)
{
    return check->options->argument_count == 0 && implementation == FCL_UNFUSED &&
           entry->problem.pass == FCL_PASS_STATISTICS;
}

static void check_problem(struct check *check, const struct problem_entry *entry,
                          enum fcl_implementation implementation)
{
    if (is_skipped(check, entry, implementation)) {
        return;
    }
    if (!check->by_family) {
        check_case(check, entry, implementation, check->chosen);
        return;
    }
    for (int f = 0; f < FCL_FAMILY_COUNT; f++) {
        struct fcl_config config;
        if (check->families[f] &&
            fcl_family_usable((enum fcl_family)f, check->session.caps, NULL, 0) == FCL_OK &&
            find_config(check, &entry->problem, (enum fcl_family)f, &config)) {
            check_case(check, entry, implementation, &config);
        }
    }
}

static void print_summary(const struct check *check)
{
    if (check->options->format == REPORT_TEXT) {
        printf("%zu cases, %zu failed, worst ratio %.3g\n", check->cases, check->failed,
               check->worst);
    }
}

static int check_all(struct check *check)
{
    int code = session_open(&check->session, check->options);
    if (code != EXIT_OK) {
        return code;
    }
    session_print_device(&check->session, check->options);
    report_init(&check->report, stdout, check->options->format, REPORT_TABLE, columns,
                sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < check->problems.count; i++) {
        for (size_t j = 0; j < check->implementations.count; j++) {
            check_problem(check, &check->problems.entries[i], check->implementations.entries[j]);
        }
    }
    message_progress_end();
    report_finish(&check->report);
    print_summary(check);
    if (check->cases == 0) {
        message_error("--family %s: none of them is usable here; `flashcl info` says why",
                      check->family_text);
        return EXIT_UNSUPPORTED;
    }
    return check->code;
}

static int run_check(int argc, const char **argv)
{
    struct options options = {.context = NULL};
    struct check check = {.options = &options, .seed = 1};
    struct poptOption table[] = {
        {"impl", '\0', POPT_ARG_STRING, &check.impl_text, 0,
         "fused: one kernel; unfused: three kernels over a score matrix (default: fused)",
         "fused,unfused"},
        {"family", '\0', POPT_ARG_STRING, &check.family_text, 0,
         "check each usable kernel family of these with a configuration of its own (default: the "
         "configuration that a plan chooses)",
         "all|FAMILY,..."},
        {"fill", '\0', POPT_ARG_STRING, &check.fill_text, 0,
         "inputs whose magnitudes grow and shrink along the keys, or plain ones (default: "
         "unbalanced)",
         "unbalanced|plain"},
        {"rows", '\0', POPT_ARG_LONGLONG, &check.rows, 0,
         "rows to compare in each problem, 0: all (default: 0)", "N"},
        {"seed", '\0', POPT_ARG_LONGLONG, &check.seed, 0, "seed of the inputs (default: 1)", "N"},
        {"pairwise", '\0', POPT_ARG_NONE, &check.pairwise, 0, "all pairs of features", NULL},
        OPTION_CONFIG(&options),
        POPT_TABLEEND,
    };
    int code = options_parse(&options, &verb_check, table, argc, argv);
    if (code == OPTIONS_PROCEED) {
        code = read_own(&check);
        code = code == EXIT_OK ? check_all(&check) : code;
    }
    session_close(&check.session);
    problems_free(&check.problems);
    options_free(&options);
    free(check.impl_text);
    free(check.family_text);
    free(check.fill_text);
    return code;
}
