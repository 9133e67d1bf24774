// Reads T1's KernelSpecification.
#include "kernel_json.h"

#include "memory.h"

#include <stdio.h>
#include <string.h>

int kernel_json_read_problem_size(const struct json_reader *reader, const json_t *list)
{
    char name[64], why[256];
    if (list != NULL && !json_is_array(list)) {
        return json_refuse(reader, "KernelSpecification", "ProblemSize is no list");
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *size = json_expression(reader, json_array_get(list, i));
        snprintf(name, sizeof(name), "ProblemSize[%zu]", i);
        if (size == NULL ||
            fcl_space_add_derived(reader->job->space, name, size, why, sizeof(why)) != FCL_OK) {
            return json_refuse(reader, "KernelSpecification", "%s: %s", name,
                               size == NULL ? "neither a number nor a text" : why);
        }
    }
    return 1;
}

// ---- KernelSpecification.Arguments ------------------------------------------------------------

static int read_fill(const struct json_reader *reader, const json_t *object, const char *where,
                     struct fcl_kernel_argument *argument)
{
    static const char *const words[] = {"Constant", "Random", "BinaryRaw"};
    const char *fill, *source;
    if (!json_get_text(reader, object, where, "FillType", 0, &fill) ||
        !json_get_text(reader, object, where, "DataSource", 0, &source)) {
        return 0;
    }
    size_t word = json_find_word(fill != NULL ? fill : words[0], words, 3);
    if (word == 3) {
        return json_refuse(
            reader, where,
            "FillType '%s' is not supported; Constant, Random and BinaryRaw are allowed", fill);
    }
    argument->fill = (enum fcl_kernel_fill)word;
    if (argument->fill == FCL_KERNEL_CONSTANT) {
        return json_get_expression(reader, object, where, "FillValue", &argument->value);
    }
    if (argument->fill == FCL_KERNEL_BYTES) {
        char why[256];
        return source == NULL ? json_refuse(reader, where, "DataSource is missing")
               : kernel_job_read_bytes(reader->job, json_path(reader, source), argument->type,
                                       &argument->bytes, &argument->byte_count, why, sizeof(why))
                   ? 1
                   : json_refuse(reader, where, "DataSource: %s", why);
    }
    double seed = (double)reader->job->argument_count;
    argument->high = 1;
    if (!json_get_number(reader, object, where, "FillValue", &argument->high) ||
        !json_get_number(reader, object, where, "RandomSeed", &seed)) {
        return 0;
    }
    argument->seed = (uint64_t)(int64_t)seed;
    return 1;
}

static int read_access(const struct json_reader *reader, const json_t *object, const char *where,
                       struct fcl_kernel_argument *argument)
{
    static const char *const words[] = {"ReadOnly", "WriteOnly", "ReadWrite"};
    const char *access;
    if (!json_get_text(reader, object, where, "AccessType", 0, &access)) {
        return 0;
    }
    size_t word = json_find_word(access != NULL ? access : words[2], words, 3);
    argument->access = (enum fcl_kernel_access)word;
    return word < 3 ? 1
                    : json_refuse(reader, where,
                                  "AccessType '%s': ReadOnly, WriteOnly and ReadWrite are allowed",
                                  access);
}

static int read_memory_type(const struct json_reader *reader, const json_t *object,
                            const char *where, struct fcl_kernel_argument *argument)
{
    static const char *const words[] = {"Scalar", "Vector", "Local"};
    const char *memory;
    if (!json_get_text(reader, object, where, "MemoryType", 1, &memory)) {
        return 0;
    }
    size_t word = json_find_word(memory, words, 3);
    argument->kind = (enum fcl_kernel_kind)word;
    return word < 3 ? 1
                    : json_refuse(
                          reader, where,
                          "MemoryType '%s' is not supported; Scalar, Vector and Local are allowed",
                          memory);
}

static const char *const argument_keys[] = {"Name",
                                            "Type",
                                            "MemoryType",
                                            "AccessType",
                                            "Size",
                                            "FillType",
                                            "FillValue",
                                            "DataSource",
                                            "RandomSeed",
                                            "Output",
                                            "MemType",
                                            "AbsoluteTolerance",
                                            "RelativeTolerance",
                                            NULL};

static int read_argument(const struct json_reader *reader, const json_t *object, size_t number)
{
    char where[WHERE_SIZE], why[256];
    const char *name, *type;
    double output = 1;
    struct fcl_kernel_argument *argument = kernel_job_argument(reader->job);
    snprintf(where, sizeof(where), "KernelSpecification.Arguments[%zu]", number);
    if (!json_known(reader, object, where, argument_keys) ||
        !json_get_text(reader, object, where, "Name", 0, &name) ||
        !json_get_text(reader, object, where, "Type", 1, &type) ||
        !read_memory_type(reader, object, where, argument)) {
        return 0;
    }
    argument->name = name != NULL ? kernel_job_text(reader->job, name) : NULL;
    if (fcl_element_parse(type, &argument->type, why, sizeof(why)) != FCL_OK) {
        return json_refuse(reader, where, "Type: %s", why);
    }
    if (!json_get_expression(reader, object, where, "Size", &argument->count) ||
        !json_get_number(reader, object, where, "Output", &output) ||
        !json_get_number(reader, object, where, "AbsoluteTolerance", &argument->absolute) ||
        !json_get_number(reader, object, where, "RelativeTolerance", &argument->relative)) {
        return 0;
    }
    argument->ignored = output == 0;
    return argument->kind == FCL_KERNEL_LOCAL ||
           (read_fill(reader, object, where, argument) &&
            (argument->kind == FCL_KERNEL_SCALAR || read_access(reader, object, where, argument)));
}

static int read_method(const struct json_reader *reader, const json_t *object, const char *where,
                       struct fcl_kernel_argument *argument)
{
    const char *method;
    if (!json_get_text(reader, object, where, "ValidationMethod", 0, &method)) {
        return 0;
    }
    if (method == NULL || strcmp(method, "SideBySideComparison") == 0) {
        return json_get_number(reader, object, where, "ValidationThreshold", &argument->absolute);
    }
    if (strcmp(method, "SideBySideRelativeComparison") == 0) {
        return json_get_number(reader, object, where, "ValidationThreshold", &argument->relative);
    }
    return json_refuse(reader, where,
                       "ValidationMethod '%s' is not supported; SideBySideComparison and "
                       "SideBySideRelativeComparison are allowed",
                       method);
}

static int read_expected(const struct json_reader *reader, const json_t *object, size_t number)
{
    static const char *const keys[] = {"Name",       "TargetName",       "FillType",
                                       "DataSource", "ValidationMethod", "ValidationThreshold",
                                       NULL};
    char where[WHERE_SIZE], why[256];
    const char *target, *fill, *source;
    snprintf(where, sizeof(where), "KernelSpecification.ReferenceArguments[%zu]", number);
    if (!json_known(reader, object, where, keys) ||
        !json_get_text(reader, object, where, "TargetName", 1, &target) ||
        !json_get_text(reader, object, where, "FillType", 1, &fill) ||
        !json_get_text(reader, object, where, "DataSource", 1, &source)) {
        return 0;
    }
    struct fcl_kernel_argument *argument = kernel_job_find(reader->job, target);
    if (argument == NULL) {
        return json_refuse(reader, where, "TargetName '%s' is no argument", target);
    }
    if (strcmp(fill, "BinaryRaw") != 0) {
        return json_refuse(reader, where, "FillType '%s' is not supported; BinaryRaw is allowed",
                           fill);
    }
    if (!kernel_job_read_bytes(reader->job, json_path(reader, source), argument->type,
                               &argument->expected, &argument->expected_count, why, sizeof(why))) {
        return json_refuse(reader, where, "DataSource: %s", why);
    }
    return read_method(reader, object, where, argument);
}

// ---- KernelSpecification ----------------------------------------------------------------------

static int read_sizes(const struct json_reader *reader, const json_t *object, const char *where,
                      const char *key, const char *sizes[3])
{
    static const char *const keys[] = {"X", "Y", "Z", NULL};
    char place[WHERE_SIZE];
    const json_t *list = json_object_get(object, key);
    snprintf(place, sizeof(place), "%s.%s", where, key);
    if (list == NULL || !json_known(reader, list, place, keys)) {
        return list != NULL ? 0 : json_refuse(reader, where, "the field '%s' is missing", key);
    }
    for (int i = 0; i < 3; i++) {
        if (!json_get_expression(reader, list, place, keys[i], &sizes[i])) {
            return 0;
        }
    }
    return 1;
}

static int read_size_type(const struct json_reader *reader, const json_t *object, const char *where,
                          int *groups)
{
    static const char *const words[] = {"OpenCL", "CUDA", "Vulkan"};
    const char *type;
    if (!json_get_text(reader, object, where, "GlobalSizeType", 0, &type)) {
        return 0;
    }
    size_t word = json_find_word(type != NULL ? type : words[0], words, 3);
    *groups = word > 0;
    return word < 3
               ? 1
               : json_refuse(reader, where,
                             "GlobalSizeType '%s': OpenCL (work-items), CUDA and Vulkan (groups) "
                             "are allowed",
                             type);
}

static int read_compiler_options(const struct json_reader *reader, const json_t *object,
                                 const char *where, const char **options)
{
    const json_t *list = json_object_get(object, "CompilerOptions");
    char *text = memory_print("%s", json_is_string(list) ? json_string_value(list) : "");
    int good = list == NULL || json_is_string(list) || json_is_array(list);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *word = json_string_value(json_array_get(list, i));
        good = good && word != NULL;
        memory_append(&text, "%s%s", i > 0 ? " " : "", word != NULL ? word : "");
    }
    *options = kernel_job_own(reader->job, text);
    return good ? 1
                : json_refuse(reader, where,
                              "CompilerOptions is neither a text nor a list of texts");
}

static int read_file(const struct json_reader *reader, const char *where, const char *file,
                     const char *options, const char **source)
{
    char why[256];
    return kernel_job_read_source(reader->job, json_path(reader, file), file, options, source, why,
                                  sizeof(why))
               ? 1
               : json_refuse(reader, where, "KernelFile: %s", why);
}

// Not of T1: a kernel that computes the right results.
static int read_reference(const struct json_reader *reader, const json_t *object)
{
    static const char *const keys[] = {
        "KernelName", "KernelFile", "CompilerOptions", "GlobalSizeType", "GlobalSize",
        "LocalSize",  NULL};
    static const char where[] = "KernelSpecification.ReferenceKernel";
    struct fcl_kernel_reference *reference = &reader->job->reference;
    const char *name, *file;
    if (!json_known(reader, object, where, keys) ||
        !json_get_text(reader, object, where, "KernelName", 1, &name) ||
        !json_get_text(reader, object, where, "KernelFile", 0, &file) ||
        !read_compiler_options(reader, object, where, &reference->options) ||
        !read_size_type(reader, object, where, &reference->global_groups) ||
        !read_sizes(reader, object, where, "GlobalSize", reference->global) ||
        (json_object_get(object, "LocalSize") != NULL &&
         !read_sizes(reader, object, where, "LocalSize", reference->local))) {
        return 0;
    }
    reference->name = kernel_job_text(reader->job, name);
    reader->job->has_reference = 1;
    // In the same file, too, its options may find other files to include.
    return read_file(reader, where, file != NULL ? file : reader->job->spec.file,
                     reference->options, &reference->source);
}

static int read_arguments(const struct json_reader *reader, const json_t *object)
{
    const json_t *arguments = json_object_get(object, "Arguments");
    const json_t *expected = json_object_get(object, "ReferenceArguments");
    const json_t *reference = json_object_get(object, "ReferenceKernel");
    if ((arguments != NULL && !json_is_array(arguments)) ||
        (expected != NULL && !json_is_array(expected))) {
        return json_refuse(reader, "KernelSpecification",
                           "Arguments and ReferenceArguments are lists");
    }
    for (size_t i = 0; i < json_array_size(arguments); i++) {
        if (!read_argument(reader, json_array_get(arguments, i), i)) {
            return 0;
        }
    }
    for (size_t i = 0; i < json_array_size(expected); i++) {
        if (!read_expected(reader, json_array_get(expected, i), i)) {
            return 0;
        }
    }
    return reference == NULL || read_reference(reader, reference);
}

int kernel_json_read_kernel(const struct json_reader *reader, const json_t *object)
{
    // The last row is of fields that say nothing more: the device is the command line's choice, and
    // the sizes say what the divisors do.
    static const char *const keys[] = {
        "Language",        "KernelName",  "KernelFile",   "CompilerOptions", "GlobalSizeType",
        "GlobalSize",      "LocalSize",   "SharedMemory", "Arguments",       "ReferenceArguments",
        "ReferenceKernel", "ProblemSize", "Device",       "Profiling",       "Stream",
        "BenchmarkName",   "GridDivX",    "GridDivY",     "GridDivZ",        NULL};
    static const char where[] = "KernelSpecification";
    struct fcl_kernel_spec *spec = &reader->job->spec;
    const char *language, *name, *file;
    double shared = 0;
    if (!json_known(reader, object, where, keys) ||
        !json_get_text(reader, object, where, "Language", 1, &language) ||
        !json_get_text(reader, object, where, "KernelName", 1, &name) ||
        !json_get_text(reader, object, where, "KernelFile", 1, &file) ||
        !json_get_number(reader, object, where, "SharedMemory", &shared)) {
        return 0;
    }
    if (strcmp(language, "OpenCL") != 0) {
        return json_refuse(reader, where, "Language '%s' is not supported; OpenCL is allowed",
                           language);
    }
    if (shared != 0) {
        return json_refuse(
            reader, where,
            "SharedMemory is not supported; an argument of MemoryType Local is allowed");
    }
    spec->name = kernel_job_text(reader->job, name);
    spec->file = kernel_job_text(reader->job, file);
    return read_compiler_options(reader, object, where, &spec->options) &&
           read_size_type(reader, object, where, &spec->global_groups) &&
           read_sizes(reader, object, where, "GlobalSize", spec->global) &&
           read_sizes(reader, object, where, "LocalSize", spec->local) &&
           read_file(reader, where, file, spec->options, &spec->source) &&
           read_arguments(reader, object);
}
