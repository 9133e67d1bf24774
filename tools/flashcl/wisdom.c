// `flashcl wisdom`: files of tuned configurations.
#include "caps_file.h"
#include "folders.h"
#include "memory.h"
#include "message.h"
#include "options.h"
#include "status.h"
#include "wisdom_diff.h"

#include <flashcl/tune.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int run_wisdom(int argc, const char **argv);

const struct verb verb_wisdom = {
    .name = "wisdom",
    .arguments = "show | merge FILE... | diff A B",
    .summary = "files of tuned configurations",
    .details =
        "  show        the rows of the wisdom file\n"
        "  merge FILE  put the rows of the files into the wisdom file; later ones win\n"
        "  diff A B    rows that only one of two files has, and rows whose configuration differs,\n"
        "              on the same device or, for one class, on two; `why` says which winner does\n"
        "              not fit on the other's device, and in which figures they differ: "
        "registers,\n"
        "              local memory, vector width, or parameters of a user's kernel\n\n"
        "The wisdom file is that of --wisdom or the default. A malformed file is refused whole;\n"
        "rows with configurations that this version does not know are skipped with a warning.\n\n"
        "  flashcl wisdom merge other-machine.txt\n"
        "  flashcl wisdom diff a.txt b.txt --caps a.caps --caps b.caps",
    .run = run_wisdom,
};

struct wisdom_verb {
    const struct options *options;
    char **caps_paths; // NULL: none
    char *path;        // the wisdom file
    struct fcl_caps *caps;
    size_t caps_count, caps_capacity;
};

// A file's rows; NULL after the error was reported.
static fcl_wisdom *load(const char *path)
{
    char reason[512] = "";
    size_t skipped = 0;
    fcl_wisdom *wisdom = fcl_wisdom_create();
    enum fcl_status status = wisdom != NULL
                                 ? fcl_wisdom_load(wisdom, path, &skipped, reason, sizeof(reason))
                                 : FCL_OUT_OF_MEMORY;
    if (status != FCL_OK) {
        message_error("%s: %s", path, reason[0] != '\0' ? reason : fcl_status_text(status));
        fcl_wisdom_destroy(&wisdom);
    } else if (skipped > 0) {
        message_warning("%s: %zu rows of configurations that are not known here were skipped", path,
                        skipped);
    }
    return wisdom;
}

static int find_path(struct wisdom_verb *verb)
{
    char *reason = NULL;
    if (verb->options->no_wisdom) {
        return options_usage(&verb_wisdom, "--no-wisdom leaves nothing to work on");
    }
    verb->path = folders_wisdom(verb->options, &reason);
    int code = verb->path != NULL ? EXIT_OK
                                  : options_usage(&verb_wisdom, "%s: --wisdom is needed", reason);
    free(reason);
    return code;
}

// ---- show -------------------------------------------------------------------------------------

static int show(struct wisdom_verb *verb)
{
    static const struct report_column columns[] = {
        {"device", REPORT_WORD, 0, 0},     {"driver", REPORT_WORD, 0, 0},
        {"class", REPORT_WORD, 0, 0},      {"config", REPORT_WORD, 0, 0},
        {"median_ms", REPORT_FIXED, 4, 0}, {"spread", REPORT_FIXED, 3, 0},
        {"clock", REPORT_WORD, 0, 0},      {"version", REPORT_WORD, 0, 0}};
    int code = find_path(verb);
    if (code != EXIT_OK) {
        return code;
    }
    // A file that nobody has written yet has no rows.
    int missing = access(verb->path, F_OK) != 0;
    fcl_wisdom *wisdom = missing ? fcl_wisdom_create() : load(verb->path);
    if (wisdom == NULL) {
        return EXIT_INTERNAL;
    }
    struct report report;
    report_init(&report, stdout, verb->options->format, REPORT_TABLE, columns,
                sizeof(columns) / sizeof(columns[0]));
    if (verb->options->format == REPORT_TEXT) {
        printf("file: %s%s\n", verb->path, missing ? " (not there yet)" : "");
    }
    for (size_t i = 0; i < fcl_wisdom_count(wisdom); i++) {
        const struct fcl_wisdom_row row = fcl_wisdom_at(wisdom, i);
        report_row(&report);
        report_set_text(&report, "device", row.device);
        report_set_text(&report, "driver", row.driver);
        report_set_text(&report, "class", row.problem_class);
        report_set_text(&report, "config", row.config);
        report_set_real(&report, "median_ms", row.median_ms);
        report_set_real(&report, "spread", row.spread);
        report_set_text(&report, "clock", row.clock);
        report_set_text(&report, "version", row.version);
        report_row_end(&report);
    }
    report_finish(&report);
    fcl_wisdom_destroy(&wisdom);
    return EXIT_OK;
}

// ---- merge ------------------------------------------------------------------------------------

// Adds the rows of a file to `all`. Returns the exit code.
static int add_file(fcl_wisdom *all, const char *path)
{
    fcl_wisdom *one = load(path);
    if (one == NULL) {
        return EXIT_USAGE;
    }
    enum fcl_status status = FCL_OK;
    for (size_t i = 0; i < fcl_wisdom_count(one) && status == FCL_OK; i++) {
        const struct fcl_wisdom_row row = fcl_wisdom_at(one, i);
        status = fcl_wisdom_add(all, &row);
    }
    fcl_wisdom_destroy(&one);
    if (status != FCL_OK) {
        message_error("%s: %s", path, fcl_status_text(status));
    }
    return status_exit(status);
}

static int save(const struct wisdom_verb *verb, const fcl_wisdom *all)
{
    char reason[512] = "";
    folders_make_parents(verb->path);
    enum fcl_status status = fcl_wisdom_save(all, verb->path, reason, sizeof(reason));
    if (status != FCL_OK) {
        message_error("%s: %s", verb->path, reason[0] != '\0' ? reason : fcl_status_text(status));
        return status_exit(status);
    }
    static const struct report_column columns[] = {{"file", REPORT_WORD, 0, 0},
                                                   {"merged", REPORT_INTEGER, 0, 0}};
    struct report report;
    report_init(&report, stdout, verb->options->format, REPORT_TABLE, columns, 2);
    report_row(&report);
    report_set_text(&report, "file", verb->path);
    report_set_integer(&report, "merged", (int64_t)fcl_wisdom_count(all));
    report_row_end(&report);
    report_finish(&report);
    return EXIT_OK;
}

static int merge(struct wisdom_verb *verb)
{
    const struct options *options = verb->options;
    if (options->argument_count < 2) {
        return options_usage(&verb_wisdom, "wisdom merge needs at least one file");
    }
    int code = find_path(verb);
    fcl_wisdom *all = fcl_wisdom_create();
    if (code == EXIT_OK && all == NULL) {
        message_error("out of memory");
        code = EXIT_INTERNAL;
    }
    // Every file is read before anything is written.
    for (size_t i = 1; i < options->argument_count && code == EXIT_OK; i++) {
        code = add_file(all, options->arguments[i]);
    }
    if (code == EXIT_OK) {
        code = save(verb, all);
    }
    fcl_wisdom_destroy(&all);
    return code;
}

// ---- diff -------------------------------------------------------------------------------------

// Reads the files of --caps. Returns the exit code.
static int read_caps(struct wisdom_verb *verb)
{
    int code = EXIT_OK;
    for (size_t i = 0; verb->caps_paths != NULL && verb->caps_paths[i] != NULL && code == EXIT_OK;
         i++) {
        verb->caps =
            memory_grow(verb->caps, verb->caps_count, &verb->caps_capacity, sizeof(*verb->caps));
        code = caps_file_read(verb->caps_paths[i], verb->options, &verb_wisdom,
                              &verb->caps[verb->caps_count++]);
    }
    return code;
}

static int has_device(const fcl_wisdom *wisdom, const char *name)
{
    for (size_t i = 0; i < fcl_wisdom_count(wisdom); i++) {
        if (strcmp(fcl_wisdom_at(wisdom, i).device, name) == 0) {
            return 1;
        }
    }
    return 0;
}

static void warn_of_strangers(const struct wisdom_verb *verb, const fcl_wisdom *a,
                              const fcl_wisdom *b)
{
    for (size_t i = 0; i < verb->caps_count; i++) {
        if (!has_device(a, verb->caps[i].name) && !has_device(b, verb->caps[i].name)) {
            message_warning("%s: no row is of %s", verb->caps_paths[i], verb->caps[i].name);
        }
    }
}

static int diff(struct wisdom_verb *verb)
{
    const struct options *options = verb->options;
    if (options->argument_count != 3) {
        return options_usage(&verb_wisdom, "wisdom diff needs two files");
    }
    int code = read_caps(verb);
    if (code != EXIT_OK) {
        return code;
    }
    fcl_wisdom *a = load(options->arguments[1]);
    fcl_wisdom *b = a != NULL ? load(options->arguments[2]) : NULL;
    if (b != NULL) {
        warn_of_strangers(verb, a, b);
        wisdom_diff(a, b, verb->caps, verb->caps_count, options->format);
    }
    code = b != NULL ? EXIT_OK : EXIT_USAGE;
    fcl_wisdom_destroy(&a);
    fcl_wisdom_destroy(&b);
    return code;
}

// ---- The verb ---------------------------------------------------------------------------------

static int run_action(struct wisdom_verb *verb)
{
    const struct options *options = verb->options;
    const char *name = options->argument_count > 0 ? options->arguments[0] : "";
    if (strcmp(name, "show") == 0 && options->argument_count == 1) {
        return show(verb);
    }
    if (strcmp(name, "merge") == 0) {
        return merge(verb);
    }
    if (strcmp(name, "diff") == 0) {
        return diff(verb);
    }
    return options_usage(&verb_wisdom, "'wisdom %s': show, merge FILE... and diff A B are allowed",
                         name);
}

static int run_wisdom(int argc, const char **argv)
{
    struct options options = {.context = NULL};
    struct wisdom_verb verb = {.options = &options};
    struct poptOption table[] = {
        {"caps", '\0', POPT_ARG_ARGV, &verb.caps_paths, 0,
         "diff: what a device of the rows can do, as `flashcl info --caps` writes it; repeat for "
         "more",
         "FILE"},
        POPT_TABLEEND,
    };
    int code = options_parse(&options, &verb_wisdom, table, argc, argv);
    if (code == OPTIONS_PROCEED) {
        code = run_action(&verb);
    }
    options_free(&options);
    for (size_t i = 0; verb.caps_paths != NULL && verb.caps_paths[i] != NULL; i++) {
        free(verb.caps_paths[i]);
    }
    free(verb.caps_paths);
    free(verb.caps);
    free(verb.path);
    return code;
}
