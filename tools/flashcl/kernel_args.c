// Options that describe a kernel.
#include "kernel_args.h"

#include "memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct kernel_job *job;
    char *reason;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static int refuse(const struct reader *reader,
                                                        const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reader->reason, reader->size, format, arguments);
    va_end(arguments);
    return 0;
}

// ---- Options ----------------------------------------------------------------------------------

void kernel_args_init(struct kernel_args *args)
{
    const struct poptOption rows[] = {
        {"kernel", '\0', POPT_ARG_STRING, &args->kernel, 0, "name of the __kernel function",
         "NAME"},
        {"param", '\0', POPT_ARG_ARGV, &args->parameters, 0,
         "a parameter and its values, such as BM=16,32 or ORDER=row,column or 'N=range(1, 9)'; "
         "repeat for more",
         "NAME=VALUES"},
        {"constraint", '\0', POPT_ARG_ARGV, &args->constraints, 0,
         "what valid points fulfil, such as 'BM * BN <= 1024'", "EXPRESSION"},
        {"global", '\0', POPT_ARG_ARGV, &args->global, 0,
         "global size, once for each dimension, such as 'M // BM * 32'", "EXPRESSION"},
        {"local", '\0', POPT_ARG_ARGV, &args->local, 0,
         "work-group size, likewise (default: the driver chooses)", "EXPRESSION"},
        {"groups", '\0', POPT_ARG_NONE, &args->groups, 0,
         "global sizes count work-groups, not work-items", NULL},
        {"arg", '\0', POPT_ARG_ARGV, &args->arguments, 0, "an argument of the kernel, see below",
         "TEXT"},
        {"options", '\0', POPT_ARG_STRING, &args->compiler_options, 0, "for the OpenCL compiler",
         "TEXT"},
        {"default", '\0', POPT_ARG_STRING, &args->standard, 0,
         "the point that a winner must beat where wisdom has none, such as 'BM=16 BN=32'", "POINT"},
        {"reference", '\0', POPT_ARG_STRING, &args->reference, 0,
         "a kernel with the same arguments that computes the right results", "NAME"},
        {"reference-file", '\0', POPT_ARG_STRING, &args->reference_file, 0,
         "where it is (default: in the same file)", "FILE"},
        {"reference-global", '\0', POPT_ARG_ARGV, &args->reference_global, 0,
         "its global size in work-items", "EXPRESSION"},
        {"reference-local", '\0', POPT_ARG_ARGV, &args->reference_local, 0,
         "its work-group size (default: the driver chooses)", "EXPRESSION"},
        POPT_TABLEEND,
    };
    _Static_assert(sizeof(rows) == sizeof(args->table), "the table has another size");
    memcpy(args->table, rows, sizeof(rows));
}

const char *kernel_args_given(const struct kernel_args *args)
{
    for (const struct poptOption *row = args->table; row->longName != NULL; row++) {
        if (row->argInfo == POPT_ARG_NONE ? *(const int *)row->arg != 0
                                          : *(const void *const *)row->arg != NULL) {
            return row->longName;
        }
    }
    return NULL;
}

static void free_list(char **list)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++) {
        free(list[i]);
    }
    free(list);
}

void kernel_args_free(struct kernel_args *args)
{
    char *const texts[] = {args->kernel, args->compiler_options, args->standard, args->reference,
                           args->reference_file};
    char **const lists[] = {args->parameters,     args->constraints, args->global,
                            args->local,          args->arguments,   args->reference_global,
                            args->reference_local};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        free(texts[i]);
    }
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        free_list(lists[i]);
    }
    *args = (struct kernel_args){.kernel = NULL};
}

// ---- The space --------------------------------------------------------------------------------

static int read_parameter(const struct reader *reader, const char *text)
{
    const char *equals = strchr(text, '=');
    char why[256];
    struct fcl_value *values;
    size_t count;
    if (equals == NULL) {
        return refuse(reader, "--param %s: NAME=VALUES is allowed", text);
    }
    if (fcl_values_parse(equals + 1, &values, &count, why, sizeof(why)) != FCL_OK) {
        return refuse(reader, "--param %s: %s", text, why);
    }
    char *name = memory_print("%.*s", (int)(equals - text), text);
    enum fcl_status status =
        fcl_space_add_parameter(reader->job->space, name, values, count, why, sizeof(why));
    free(name);
    free(values);
    return status == FCL_OK ? 1 : refuse(reader, "--param %s: %s", text, why);
}

static int read_space(const struct reader *reader, const struct kernel_args *args)
{
    char why[256];
    for (size_t i = 0; args->parameters != NULL && args->parameters[i] != NULL; i++) {
        if (!read_parameter(reader, args->parameters[i])) {
            return 0;
        }
    }
    for (size_t i = 0; args->constraints != NULL && args->constraints[i] != NULL; i++) {
        if (fcl_space_add_constraint(reader->job->space, args->constraints[i], NULL, why,
                                     sizeof(why)) != FCL_OK) {
            return refuse(reader, "--constraint %s: %s", args->constraints[i], why);
        }
    }
    return 1;
}

static int read_sizes(const struct reader *reader, const char *option, char *const *list,
                      const char *sizes[3])
{
    for (int i = 0; list != NULL && list[i] != NULL; i++) {
        if (i == 3) {
            return refuse(reader, "--%s %s: up to 3 dimensions are allowed", option, list[i]);
        }
        sizes[i] = kernel_job_text(reader->job, list[i]);
    }
    return 1;
}

// ---- Arguments --------------------------------------------------------------------------------

static int read_number(const char *text, double *number)
{
    struct fcl_value *values = NULL;
    size_t count = 0;
    int good = fcl_values_parse(text, &values, &count, NULL, 0) == FCL_OK && count == 1 &&
               values[0].kind != FCL_VALUE_TEXT;
    if (good) {
        *number = values[0].kind == FCL_VALUE_REAL ? values[0].real : (double)values[0].integer;
    }
    free(values);
    return good;
}

// LOW..HIGH or LOW..HIGH,SEED
static int read_random(const char *text, struct fcl_kernel_argument *argument)
{
    const char *dots = strstr(text, "..");
    const char *comma = strchr(text, ',');
    if (dots == NULL || (comma != NULL && comma < dots)) {
        return 0;
    }
    double seed = 1;
    char *low = memory_print("%.*s", (int)(dots - text), text);
    char *high = comma != NULL ? memory_print("%.*s", (int)(comma - dots - 2), dots + 2)
                               : memory_print("%s", dots + 2);
    int good = read_number(low, &argument->low) && read_number(high, &argument->high) &&
               (comma == NULL || read_number(comma + 1, &seed));
    argument->fill = FCL_KERNEL_RANDOM;
    argument->seed = (uint64_t)(int64_t)seed;
    free(low);
    free(high);
    return good;
}

// What stands behind `NAME=` in a word; NULL where it is another word.
static const char *after(const char *word, const char *name)
{
    size_t length = strlen(name);
    return strncmp(word, name, length) == 0 ? word + length : NULL;
}

// A word with a value. Returns 1; 0 where it is none or its value makes no sense; -1 with a reason.
static int read_valued(const struct reader *reader, const char *word,
                       struct fcl_kernel_argument *argument)
{
    const char *value;
    if ((value = after(word, "constant=")) != NULL) {
        argument->fill = FCL_KERNEL_CONSTANT;
        argument->value = kernel_job_text(reader->job, value);
        return 1;
    }
    if ((value = after(word, "random=")) != NULL) {
        return read_random(value, argument);
    }
    if ((value = after(word, "absolute=")) != NULL) {
        return read_number(value, &argument->absolute);
    }
    if ((value = after(word, "relative=")) != NULL) {
        return read_number(value, &argument->relative);
    }
    if ((value = after(word, "file=")) != NULL) {
        argument->fill = FCL_KERNEL_BYTES;
        return kernel_job_read_bytes(reader->job, value, argument->type, &argument->bytes,
                                     &argument->byte_count, reader->reason, reader->size)
                   ? 1
                   : -1;
    }
    value = after(word, "expect=");
    return value == NULL ? 0
           : kernel_job_read_bytes(reader->job, value, argument->type, &argument->expected,
                                   &argument->expected_count, reader->reason, reader->size)
               ? 1
               : -1;
}

static int read_word(const struct reader *reader, const char *text, const char *word,
                     struct fcl_kernel_argument *argument)
{
    static const char *const accesses[] = {"read", "write", "read-write"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(word, accesses[i]) == 0) {
            argument->access = (enum fcl_kernel_access)i;
            return 1;
        }
    }
    if (strcmp(word, "local") == 0) {
        argument->kind = FCL_KERNEL_LOCAL;
        return 1;
    }
    if (strcmp(word, "scratch") == 0) {
        argument->ignored = 1;
        return 1;
    }
    int read = read_valued(reader, word, argument);
    return read == 0 ? refuse(reader,
                              "--arg %s: '%s' is no word of a buffer (see flashcl "
                              "tune-kernel --help)",
                              text, word)
                     : read > 0;
}

// Words between blanks.
static int read_words(const struct reader *reader, const char *text, const char *words,
                      struct fcl_kernel_argument *argument)
{
    int good = 1;
    argument->fill = FCL_KERNEL_RANDOM;
    argument->high = 1;
    argument->seed = 1;
    while (good && *(words += strspn(words, " \t")) != '\0') {
        size_t length = strcspn(words, " \t");
        char *word = memory_print("%.*s", (int)length, words);
        good = read_word(reader, text, word, argument);
        words += length;
        free(word);
    }
    return good;
}

// The bracket that closes the one at `open`; NULL where there is none.
static const char *closing(const char *open)
{
    int depth = 0;
    for (const char *at = open; *at != '\0'; at++) {
        depth += (*at == '[') - (*at == ']');
        if (depth == 0) {
            return at;
        }
    }
    return NULL;
}

static int read_argument(const struct reader *reader, const char *text)
{
    char why[256];
    const char *colon = strchr(text, ':');
    const char *behind = colon != NULL ? colon + 1 + strcspn(colon + 1, "=[") : text;
    if (colon == NULL || colon == text || *behind == '\0') {
        return refuse(reader, "--arg %s: NAME:TYPE=VALUE and NAME:TYPE[COUNT] are allowed", text);
    }
    struct fcl_kernel_argument *argument = kernel_job_argument(reader->job);
    argument->name = kernel_job_own(reader->job, memory_print("%.*s", (int)(colon - text), text));
    char *type = memory_print("%.*s", (int)(behind - colon - 1), colon + 1);
    enum fcl_status status = fcl_element_parse(type, &argument->type, why, sizeof(why));
    free(type);
    if (status != FCL_OK) {
        return refuse(reader, "--arg %s: %s", text, why);
    }
    if (*behind == '=') {
        argument->value = kernel_job_text(reader->job, behind + 1);
        return 1;
    }
    const char *close = closing(behind);
    if (close == NULL) {
        return refuse(reader, "--arg %s: the bracket is not closed", text);
    }
    argument->kind = FCL_KERNEL_VECTOR;
    argument->count =
        kernel_job_own(reader->job, memory_print("%.*s", (int)(close - behind - 1), behind + 1));
    return read_words(reader, text, close + 1, argument);
}

// ---- Sources ----------------------------------------------------------------------------------

// The file without its folder, so that wisdom holds in whatever folder the command runs.
static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static int read_source(const struct reader *reader, const char *path, const char **source)
{
    return kernel_job_read_source(reader->job, path, file_name(path), reader->job->spec.options,
                                  source, reader->reason, reader->size);
}

// ---- The whole --------------------------------------------------------------------------------

static int read_reference(const struct reader *reader, const struct kernel_args *args)
{
    struct fcl_kernel_reference *reference = &reader->job->reference;
    if (args->reference == NULL) {
        return args->reference_file == NULL && args->reference_global == NULL &&
                       args->reference_local == NULL
                   ? 1
                   : refuse(reader, "--reference is missing");
    }
    reader->job->has_reference = 1;
    reference->name = kernel_job_text(reader->job, args->reference);
    reference->options = reader->job->spec.options;
    return read_sizes(reader, "reference-global", args->reference_global, reference->global) &&
           read_sizes(reader, "reference-local", args->reference_local, reference->local) &&
           (args->reference_file == NULL ||
            read_source(reader, args->reference_file, &reference->source));
}

int kernel_args_read(const struct kernel_args *args, const char *path, struct kernel_job *job,
                     char *reason, size_t size)
{
    struct reader reader = {.job = job, .reason = reason, .size = size};
    struct fcl_kernel_spec *spec = &job->spec;
    if (args->kernel == NULL) {
        return refuse(&reader, "--kernel is missing: the name of the __kernel function");
    }
    spec->name = kernel_job_text(job, args->kernel);
    spec->file = kernel_job_text(job, file_name(path));
    spec->global_groups = args->groups;
    if (args->compiler_options != NULL) {
        spec->options = kernel_job_text(job, args->compiler_options);
    }
    if (args->standard != NULL) {
        job->standard = kernel_job_text(job, args->standard);
    }
    if (!read_source(&reader, path, &spec->source) || !read_space(&reader, args) ||
        !read_sizes(&reader, "global", args->global, spec->global) ||
        !read_sizes(&reader, "local", args->local, spec->local)) {
        return 0;
    }
    for (size_t i = 0; args->arguments != NULL && args->arguments[i] != NULL; i++) {
        if (!read_argument(&reader, args->arguments[i])) {
            return 0;
        }
    }
    return read_reference(&reader, args) && kernel_job_close(job, reason, size);
}
