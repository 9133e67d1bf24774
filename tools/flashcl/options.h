// The command line of a verb: its own options, the ones that all verbs share, generated help.
#ifndef FLASHCL_TOOL_OPTIONS_H
#define FLASHCL_TOOL_OPTIONS_H

#include "report.h"

#include <popt.h>
#include <stddef.h>

// What a verb is, for the table of verbs and for help.
struct verb {
    const char *name;
    const char *arguments;                   // how its arguments look, "[PROBLEM...]"
    const char *summary;                     // half a line
    const char *details;                     // the rest of its help
    int (*run)(int argc, const char **argv); // returns the exit code
};

extern const struct verb verb_info, verb_run, verb_check, verb_bench, verb_peak, verb_tune,
    verb_tune_kernel, verb_explain, verb_dump, verb_cache, verb_wisdom, verb_worker;

#define OPTIONS_SHARED_LIMIT 16

// What the command line said. Texts are NULL where an option was not given.
struct options {
    char *device, *kernel_folder, *cache_folder, *wisdom, *caps_mask, *config;
    int json, no_cache, no_wisdom, verbose;
    enum report_format format;
    const char **arguments; // what is not an option
    size_t argument_count;
    // The parser's own.
    char *format_text, *name, *title, *usage;
    poptContext context;
    const char **named_arguments;
    struct poptOption shared[OPTIONS_SHARED_LIMIT], none[1], table[3];
};

// The row of a verb's table for --config, which only some verbs have.
#define OPTION_CONFIG(options)                                                       \
    {                                                                                \
        "config", '\0', POPT_ARG_STRING, &(options)->config, 0,                      \
            "use exactly this configuration, such as generic_m32n32w64r4d64", "TEXT" \
    }

#define OPTIONS_PROCEED (-1)

// Reads the arguments of a verb; `own` is its table, ended by POPT_TABLEEND (NULL: none). Returns
// OPTIONS_PROCEED, or the exit code after help was printed or an error was reported. The options
// are to be freed in every case.
int options_parse(struct options *options, const struct verb *verb, struct poptOption *own,
                  int argc, const char **argv);
void options_free(struct options *options);

// Reports an error in what the user gave, with a pointer to the verb's help. Returns EXIT_USAGE.
int options_usage(const struct verb *verb, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Prints help on the whole command: `usage` behind its name, then the options of every verb.
void options_print_overview(FILE *out, const char *usage);

#endif
