// `flashcl dump`: the complete kernel of a problem, for reading or for another runtime.
#include "caps_file.h"
#include "memory.h"
#include "message.h"
#include "output.h"
#include "problems.h"
#include "session.h"
#include "status.h"

#include <stdlib.h>

static int run_dump(int argc, const char **argv);

const struct verb verb_dump = {
    .name = "dump",
    .arguments = "PROBLEM",
    .summary = "the complete kernel source of a problem",
    .details =
        "Writes the fused kernel of the problem as one self-contained OpenCL C 1.2 text, behind\n"
        "comment lines that say how to build and launch it. With --caps the device is only\n"
        "described, by a file that `flashcl info --caps` has written, and need not be there.\n\n"
        "  flashcl dump -o forward.cl 'fwd h8 q1024 d64 f16'",
    .run = run_dump,
};

static const struct report_column columns[] = {
    {"problem", REPORT_WORD, 0, 0},   {"device", REPORT_WORD, 0, 0},
    {"label", REPORT_WORD, 0, 0},     {"kernel", REPORT_WORD, 0, 0},
    {"flags", REPORT_WORD, 0, 0},     {"group_size", REPORT_INTEGER, 0, 0},
    {"groups", REPORT_INTEGER, 0, 0}, {"local_bytes", REPORT_INTEGER, 0, 0},
    {"arguments", REPORT_WORD, 0, 0}, {"source", REPORT_WORD, 0, 0}};

struct dump {
    char *caps_path, *output_path;
    struct problem_list problems;
    struct fcl_config config;
    const struct fcl_config *chosen;
    struct fcl_caps caps;
    const struct options *options;
};

static int read_own(struct dump *dump)
{
    if (dump->options->argument_count != 1) {
        return options_usage(&verb_dump, "%zu problems are given; 1 is allowed",
                             dump->options->argument_count);
    }
    int code = config_read(dump->options, &verb_dump, &dump->config, &dump->chosen);
    return code == EXIT_OK ? problems_read(&dump->problems, &verb_dump, dump->options, 0, NULL, 0)
                           : code;
}

// ---- Capabilities -----------------------------------------------------------------------------

static int read_caps(struct dump *dump)
{
    if (dump->caps_path != NULL) {
        return caps_file_read(dump->caps_path, dump->options, &verb_dump, &dump->caps);
    }
    struct session session;
    int code = session_open(&session, dump->options);
    if (code == EXIT_OK) {
        dump->caps = *session.caps;
    }
    session_close(&session);
    return code;
}

// ---- Output -----------------------------------------------------------------------------------

// `q:buffer k:buffer .. args:bytes[184]`, in order.
static char *list_arguments(const struct fcl_generated *kernel)
{
    char *list = NULL;
    for (size_t i = 0; i < kernel->argument_count; i++) {
        const struct fcl_argument *argument = &kernel->arguments[i];
        memory_append(&list, "%s%s", i > 0 ? " " : "", argument->name);
        if (argument->kind == FCL_ARGUMENT_BYTES) {
            memory_append(&list, ":bytes[%zu]", argument->size);
        } else {
            memory_append(&list, ":buffer");
        }
    }
    return list;
}

static void print_text(const struct dump *dump, const struct fcl_generated *kernel,
                       const char *arguments, FILE *out)
{
    fprintf(out, "// device: %s (%s)\n", dump->caps.name, dump->caps.platform);
    fprintf(out, "// problem: %s\n", dump->problems.entries[0].text);
    fprintf(out, "// label: %s\n", kernel->label);
    fprintf(out, "// flags: %s\n", kernel->flags);
    fprintf(out, "// kernel: %s\n", kernel->label);
    fprintf(out, "// arguments: %s\n", arguments);
    fprintf(out, "// local size: %zu, groups: %zu, local memory: %zu bytes\n", kernel->group_size,
            kernel->groups, kernel->local_bytes);
    fputs(kernel->source, out);
}

static void print_row(const struct dump *dump, const struct fcl_generated *kernel,
                      const char *arguments, FILE *out)
{
    struct report report;
    report_init(&report, out, dump->options->format, REPORT_BLOCKS, columns,
                sizeof(columns) / sizeof(columns[0]));
    report_row(&report);
    report_set_text(&report, "problem", dump->problems.entries[0].text);
    report_set_text(&report, "device", dump->caps.name);
    report_set_text(&report, "label", kernel->label);
    report_set_text(&report, "kernel", kernel->label);
    report_set_text(&report, "flags", kernel->flags);
    report_set_integer(&report, "group_size", (int64_t)kernel->group_size);
    report_set_integer(&report, "groups", (int64_t)kernel->groups);
    report_set_integer(&report, "local_bytes", (int64_t)kernel->local_bytes);
    report_set_text(&report, "arguments", arguments);
    report_set_text(&report, "source", kernel->source);
    report_row_end(&report);
    report_finish(&report);
}

static void print_kernel(const struct dump *dump, const struct fcl_generated *kernel, FILE *out)
{
    char *arguments = list_arguments(kernel);
    if (dump->options->format == REPORT_TEXT) {
        print_text(dump, kernel, arguments, out);
    } else {
        print_row(dump, kernel, arguments, out);
    }
    free(arguments);
}

static int write_kernel(const struct dump *dump, const struct fcl_generated *kernel)
{
    if (dump->output_path == NULL) {
        print_kernel(dump, kernel, stdout);
        return EXIT_OK;
    }
    struct output output;
    if (!output_begin(&output, dump->output_path)) {
        return EXIT_INTERNAL;
    }
    print_kernel(dump, kernel, output.file);
    return output_close(&output) && output_commit(&output) ? EXIT_OK : EXIT_INTERNAL;
}

static int dump_problem(struct dump *dump)
{
    struct fcl_generated kernel = {.source = NULL};
    char reason[1024] = "";
    int code = read_caps(dump);
    if (code != EXIT_OK) {
        return code;
    }
    enum fcl_status status =
        fcl_attention_generate(&dump->problems.entries[0].problem, &dump->caps, dump->chosen,
                               dump->options->kernel_folder, &kernel, reason, sizeof(reason));
    if (status == FCL_OK) {
        code = write_kernel(dump, &kernel);
    } else {
        message_error("%s", reason[0] != '\0' ? reason : fcl_status_text(status));
        code = status_exit(status);
    }
    fcl_generated_free(&kernel);
    return code;
}

static int run_dump(int argc, const char **argv)
{
    struct options options = {.context = NULL};
    struct dump dump = {.options = &options};
    struct poptOption table[] = {
        OPTION_CAPS(&dump.caps_path),
        {"output", 'o', POPT_ARG_STRING, &dump.output_path, 0,
         "write here instead of the standard output", "FILE"},
        OPTION_CONFIG(&options),
        POPT_TABLEEND,
    };
    int code = options_parse(&options, &verb_dump, table, argc, argv);
    if (code == OPTIONS_PROCEED) {
        code = read_own(&dump);
        code = code == EXIT_OK ? dump_problem(&dump) : code;
    }
    problems_free(&dump.problems);
    options_free(&options);
    free(dump.caps_path);
    free(dump.output_path);
    return code;
}
