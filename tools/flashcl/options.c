// Option tables and generated help by popt.
#include "options.h"

#include "memory.h"
#include "message.h"
#include "status.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define OPTION_HELP 1

static void fill_shared(struct options *o)
{
    const struct poptOption rows[] = {
        {"device", '\0', POPT_ARG_STRING, &o->device, 0,
         "INDEX in `flashcl info`, SUBSTRING of the name, or PLATFORM:SUBSTRING with a part of the "
         "platform's name, too (default: the first GPU, else accelerator, else CPU)",
         "DEVICE"},
        {"format", '\0', POPT_ARG_STRING, &o->format_text, 0,
         "form of the output: JSON is an array with an object for each row (default: text)",
         "text|json|csv"},
        {"json", '\0', POPT_ARG_NONE, &o->json, 0, "short for --format json", NULL},
        {"kernel-dir", '\0', POPT_ARG_STRING, &o->kernel_folder, 0,
         "read kernel sources from this folder instead of the embedded ones", "DIR"},
        {"cache-dir", '\0', POPT_ARG_STRING, &o->cache_folder, 0,
         "keep built kernels and the device's peak here (default: $XDG_CACHE_HOME/flashcl, else "
         "$HOME/.cache/flashcl)",
         "DIR"},
        {"no-cache", '\0', POPT_ARG_NONE, &o->no_cache, 0, "keep them in memory only", NULL},
        {"wisdom", '\0', POPT_ARG_STRING, &o->wisdom, 0,
         "file of tuned configurations (default: wisdom.txt in $XDG_CONFIG_HOME/flashcl, else "
         "$HOME/.config/flashcl)",
         "FILE"},
        {"no-wisdom", '\0', POPT_ARG_NONE, &o->no_wisdom, 0, "use no tuned configurations of yours",
         NULL},
        {"caps-mask", '\0', POPT_ARG_STRING, &o->caps_mask, 0,
         "pretend that the device can do less, such as \"fp16=0 local_bytes=16384\"", "TEXT"},
        {"verbose", 'v', POPT_ARG_NONE, &o->verbose, 0, "say on stderr what is chosen and built",
         NULL},
        {"help", 'h', POPT_ARG_NONE, NULL, OPTION_HELP, "show this help", NULL},
        POPT_TABLEEND,
    };
    _Static_assert(sizeof(rows) <= sizeof(o->shared), "OPTIONS_SHARED_LIMIT is too small");
    memcpy(o->shared, rows, sizeof(rows));
}

// A popt context whose name in help is options->name. popt keeps pointers to all that it is given,
// so everything lives in the options.
static void open_context(struct options *options, struct poptOption *own, int argc,
                         const char **argv)
{
    const struct poptOption end = POPT_TABLEEND;
    const struct poptOption table[] = {
        {NULL, '\0', POPT_ARG_INCLUDE_TABLE, own != NULL ? own : options->none, 0,
         own != NULL ? options->title : NULL, NULL},
        {NULL, '\0', POPT_ARG_INCLUDE_TABLE, options->shared, 0, "Options of every verb:", NULL},
        POPT_TABLEEND,
    };
    _Static_assert(sizeof(table) == sizeof(options->table), "the table has another size");
    options->none[0] = end;
    memcpy(options->table, table, sizeof(table));
    fill_shared(options);
    options->named_arguments = memory_get((size_t)argc + 1, sizeof(*argv));
    memcpy(options->named_arguments, argv, (size_t)argc * sizeof(*argv));
    options->named_arguments[0] = options->name;
    options->context =
        poptGetContext(options->name, argc, options->named_arguments, options->table, 0);
}

static int read_format(struct options *options, const struct verb *verb)
{
    static const char *const names[] = {
        [REPORT_TEXT] = "text", [REPORT_JSON] = "json", [REPORT_CSV] = "csv"};
    if (options->format_text == NULL) {
        options->format = options->json ? REPORT_JSON : REPORT_TEXT;
        return OPTIONS_PROCEED;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(options->format_text, names[i]) == 0) {
            options->format = (enum report_format)i;
            return OPTIONS_PROCEED;
        }
    }
    return options_usage(verb, "--format %s: text, json and csv are allowed", options->format_text);
}

static int check_pairs(const struct options *options, const struct verb *verb)
{
    if (options->json && options->format != REPORT_JSON) {
        return options_usage(verb, "--format %s and --json exclude each other",
                             options->format_text);
    }
    if (options->no_cache && options->cache_folder != NULL) {
        return options_usage(verb, "--cache-dir and --no-cache exclude each other");
    }
    if (options->no_wisdom && options->wisdom != NULL) {
        return options_usage(verb, "--wisdom and --no-wisdom exclude each other");
    }
    return OPTIONS_PROCEED;
}

static int print_help(const struct options *options, const struct verb *verb)
{
    poptPrintHelp(options->context, stdout, 0);
    printf("\n%s\n", verb->details);
    return EXIT_OK;
}

// popt names the word at fault, which may be the value of an option before it.
static int refuse_option(const struct options *options, const struct verb *verb, int error)
{
    const char *word = poptBadOption(options->context, POPT_BADOPTION_NOALIAS);
    const char *before = "";
    for (size_t i = 2; word[0] != '-' && options->named_arguments[i] != NULL; i++) {
        if (strcmp(options->named_arguments[i], word) == 0 &&
            options->named_arguments[i - 1][0] == '-') {
            before = options->named_arguments[i - 1];
        }
    }
    return options_usage(verb, "%s%s%s: %s", before, before[0] != '\0' ? " " : "", word,
                         poptStrerror(error));
}

static int read_all(struct options *options, const struct verb *verb)
{
    int option = poptGetNextOpt(options->context);
    if (option == OPTION_HELP) {
        return print_help(options, verb);
    }
    if (option < -1) {
        return refuse_option(options, verb, option);
    }
    options->arguments = poptGetArgs(options->context);
    while (options->arguments != NULL && options->arguments[options->argument_count] != NULL) {
        options->argument_count++;
    }
    int code = read_format(options, verb);
    return code == OPTIONS_PROCEED ? check_pairs(options, verb) : code;
}

int options_parse(struct options *options, const struct verb *verb, struct poptOption *own,
                  int argc, const char **argv)
{
    options->name = memory_print("flashcl %s", verb->name);
    options->title = memory_print("Options of %s:", verb->name);
    open_context(options, own, argc, argv);
    options->usage = memory_print("[OPTION...] %s", verb->arguments);
    poptSetOtherOptionHelp(options->context, options->usage);
    return read_all(options, verb);
}

void options_free(struct options *options)
{
    char *const texts[] = {options->device,      options->kernel_folder, options->cache_folder,
                           options->wisdom,      options->caps_mask,     options->config,
                           options->format_text, options->name,          options->title,
                           options->usage};
    poptFreeContext(options->context);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        free(texts[i]);
    }
    free(options->named_arguments);
    *options = (struct options){.context = NULL};
}

int options_usage(const struct verb *verb, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    message_error("%s (see flashcl %s --help)", text, verb->name);
    return EXIT_USAGE;
}

void options_print_overview(FILE *out, const char *usage)
{
    struct options options = {.name = memory_print("flashcl")};
    const char *argv[] = {"flashcl", NULL};
    open_context(&options, NULL, 1, argv);
    poptSetOtherOptionHelp(options.context, usage);
    poptPrintHelp(options.context, out, 0);
    options_free(&options);
}
