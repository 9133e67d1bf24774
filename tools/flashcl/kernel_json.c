// Reads T1. What it describes beyond one OpenCL kernel - scripts, generators, HDF files - is
// refused by name.
#include "kernel_json.h"

#include "budget.h"
#include "memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- ConfigurationSpace -----------------------------------------------------------------------

// The values of a JSON list as a list of the expression language.
static char *list_text(const struct json_reader *reader, const json_t *list)
{
    char *text = NULL;
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)list, i, item)
    {
        const char *word = json_string_value(item);
        const char *value = word != NULL ? word : json_expression(reader, item);
        if (value == NULL || (word != NULL && strpbrk(word, "'\\\n") != NULL)) {
            free(text);
            return NULL;
        }
        memory_append(&text, word != NULL ? "%s'%s'" : "%s%s", i > 0 ? ", " : "[", value);
    }
    memory_append(&text, "%s]", text == NULL ? "[" : "");
    return text;
}

// Makes values what the parameter's type says.
static int conform(struct fcl_value *values, size_t count, const char *type)
{
    static const char *const types[] = {"int", "uint",        "float",  "bool", "string",
                                        "Int", "UnsignedInt", "Double", "Bool", "String"};
    static const enum fcl_value_kind kinds[] = {FCL_VALUE_INTEGER, FCL_VALUE_INTEGER,
                                                FCL_VALUE_REAL, FCL_VALUE_BOOL, FCL_VALUE_TEXT};
    size_t word = json_find_word(type, types, sizeof(types) / sizeof(types[0]));
    if (word == sizeof(types) / sizeof(types[0])) {
        return 0;
    }
    enum fcl_value_kind kind = kinds[word % 5];
    for (size_t i = 0; i < count; i++) {
        struct fcl_value *v = &values[i];
        if (kind == FCL_VALUE_REAL && v->kind == FCL_VALUE_INTEGER) {
            *v = fcl_value_real((double)v->integer);
        } else if (kind == FCL_VALUE_BOOL && v->kind == FCL_VALUE_INTEGER &&
                   (v->integer == 0 || v->integer == 1)) {
            v->kind = FCL_VALUE_BOOL;
        }
        if (v->kind != kind || (word % 5 == 1 && v->integer < 0)) {
            return 0;
        }
    }
    return 1;
}

static int add_values(const struct json_reader *reader, const char *where, const char *name,
                      const char *type, const char *list)
{
    char why[256];
    struct fcl_value *values;
    size_t count;
    if (fcl_values_parse(list, &values, &count, why, sizeof(why)) != FCL_OK) {
        return json_refuse(reader, where, "Values: %s", why);
    }
    int good = conform(values, count, type);
    if (!good) {
        json_refuse(
            reader, where,
            "Type is '%s': int, uint, float, bool and string are allowed, and Values of that "
            "type",
            type);
    } else if (fcl_space_add_parameter(reader->job->space, name, values, count, why, sizeof(why)) !=
               FCL_OK) {
        good = json_refuse(reader, where, "%s", why);
    }
    free(values);
    return good;
}

// Adds a parameter's default, where it has one, to the text of the default point.
static int add_default(const struct json_reader *reader, const json_t *object, const char *name,
                       char **standard)
{
    const json_t *value = json_object_get(object, "Default");
    const char *text = json_expression(reader, value);
    if (text != NULL) {
        memory_append(standard, json_is_string(value) ? "%s%s='%s'" : "%s%s=%s",
                      *standard != NULL ? " " : "", name, text);
    }
    return value == NULL || text != NULL;
}

static int read_parameter(const struct json_reader *reader, const json_t *object, size_t number,
                          char **standard)
{
    static const char *const keys[] = {"Name", "Type", "Values", "Default", NULL};
    char where[WHERE_SIZE];
    const char *name, *type;
    snprintf(where, sizeof(where), "ConfigurationSpace.TuningParameters[%zu]", number);
    if (!json_known(reader, object, where, keys) ||
        !json_get_text(reader, object, where, "Name", 1, &name) ||
        !json_get_text(reader, object, where, "Type", 1, &type)) {
        return 0;
    }
    const json_t *values = json_object_get(object, "Values");
    char *list = json_is_string(values)  ? memory_print("%s", json_string_value(values))
                 : json_is_array(values) ? list_text(reader, values)
                                         : NULL;
    int good = list != NULL ? add_values(reader, where, name, type, list)
                            : json_refuse(reader, where,
                                          "Values is neither a text nor a list of "
                                          "numbers and words");
    free(list);
    return good && (add_default(reader, object, name, standard) ||
                    json_refuse(reader, where, "Default is no value"));
}

static int read_condition(const struct json_reader *reader, const json_t *object, size_t number)
{
    static const char *const keys[] = {"Parameters", "Expression", NULL};
    char where[WHERE_SIZE], why[256];
    const char *expression;
    snprintf(where, sizeof(where), "ConfigurationSpace.Conditions[%zu]", number);
    if (!json_known(reader, object, where, keys) ||
        !json_get_text(reader, object, where, "Expression", 1, &expression)) {
        return 0;
    }
    return fcl_space_add_constraint(reader->job->space, expression, NULL, why, sizeof(why)) ==
                   FCL_OK
               ? 1
               : json_refuse(reader, where, "Expression: %s", why);
}

// Whether the defaults make up a point.
static int has_all_defaults(const fcl_space *space, const json_t *parameters)
{
    for (size_t i = 0; i < json_array_size(parameters); i++) {
        if (fcl_space_value_count(space, i) > 1 &&
            json_object_get(json_array_get(parameters, i), "Default") == NULL) {
            return 0;
        }
    }
    return 1;
}

static int read_space(const struct json_reader *reader, const json_t *object)
{
    static const char *const keys[] = {"TuningParameters", "Conditions", NULL};
    const json_t *parameters = json_object_get(object, "TuningParameters");
    const json_t *conditions = json_object_get(object, "Conditions");
    char *standard = NULL;
    int good = json_known(reader, object, "ConfigurationSpace", keys);
    if (good &&
        (!json_is_array(parameters) || (conditions != NULL && !json_is_array(conditions)))) {
        good = json_refuse(reader, "ConfigurationSpace",
                           "TuningParameters and Conditions are lists; the first is needed");
    }
    for (size_t i = 0; good && i < json_array_size(parameters); i++) {
        good = read_parameter(reader, json_array_get(parameters, i), i, &standard);
    }
    for (size_t i = 0; good && i < json_array_size(conditions); i++) {
        good = read_condition(reader, json_array_get(conditions, i), i);
    }
    if (standard != NULL) {
        kernel_job_own(reader->job, standard);
    }
    if (good && has_all_defaults(reader->job->space, parameters)) {
        reader->job->standard = standard;
    }
    return good;
}

// ---- Search, Budget, General ------------------------------------------------------------------

static int read_search(const struct json_reader *reader, const json_t *object)
{
    static const char *const keys[] = {"Name", "Attributes", NULL};
    const char *name, *seed;
    if (!json_known(reader, object, "Search", keys) ||
        !json_get_text(reader, object, "Search", "Name", 0, &name)) {
        return 0;
    }
    if (name != NULL) {
        char *strategy = kernel_job_text(reader->job, name);
        strategy[0] = (char)(strategy[0] >= 'A' && strategy[0] <= 'Z' ? strategy[0] + 'a' - 'A'
                                                                      : strategy[0]);
        if (!budget_knows_strategy(strategy)) {
            return json_refuse(
                reader, "Search",
                "Name '%s' is not supported; exhaustive, random, greedy and seeded are "
                "allowed",
                name);
        }
        reader->job->strategy = strategy;
    }
    const json_t *attributes = json_object_get(object, "Attributes");
    for (size_t i = 0; i < json_array_size(attributes); i++) {
        const json_t *attribute = json_array_get(attributes, i);
        if (!json_get_text(reader, attribute, "Search.Attributes", "Name", 1, &name) ||
            !json_get_text(reader, attribute, "Search.Attributes", "Value", 1, &seed)) {
            return 0;
        }
        char *end;
        reader->job->seed = strtoll(seed, &end, 10);
        if (strcmp(name, "Seed") != 0 || *end != '\0') {
            return json_refuse(reader, "Search.Attributes",
                               "%s = '%s' is not supported; Seed with a whole number is allowed",
                               name, seed);
        }
    }
    return 1;
}

static int read_budget(const struct json_reader *reader, const json_t *list)
{
    static const char *const keys[] = {"Type", "BudgetValue", NULL};
    static const char *const types[] = {"TuningDuration", "ConfigurationCount",
                                        "ConfigurationFraction"};
    if (!json_is_array(list)) {
        return json_refuse(reader, "Budget", "a list is needed");
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *object = json_array_get(list, i);
        const char *type;
        double value = 0;
        if (!json_known(reader, object, "Budget", keys) ||
            !json_get_text(reader, object, "Budget", "Type", 1, &type) ||
            !json_get_number(reader, object, "Budget", "BudgetValue", &value)) {
            return 0;
        }
        size_t word = json_find_word(type, types, 3);
        if (word == 3 || !(value > 0) || value > 1e15 || (word == 2 && value > 1)) {
            return json_refuse(
                reader, "Budget",
                "%s of %g: TuningDuration (seconds) and ConfigurationCount above 0, and "
                "ConfigurationFraction up to 1, are allowed",
                type, value);
        }
        if (word == 0) {
            reader->job->seconds = value;
        } else if (word == 1) {
            reader->job->evaluations = (long long)ceil(value);
        } else {
            reader->job->fraction = value;
        }
    }
    return 1;
}

static int read_general(const struct json_reader *reader, const json_t *object)
{
    static const char *const keys[] = {"BenchmarkName",
                                       "FormatVersion",
                                       "LoggingLevel",
                                       "TimeUnit",
                                       "OutputFile",
                                       "OutputFormat",
                                       NULL};
    static const char *const units[] = {"Nanoseconds", "Microseconds", "Milliseconds", "Seconds"};
    const char *unit, *format;
    if (!json_known(reader, object, "General", keys) ||
        !json_get_text(reader, object, "General", "TimeUnit", 0, &unit) ||
        !json_get_text(reader, object, "General", "OutputFormat", 0, &format)) {
        return 0;
    }
    if (format != NULL && strcmp(format, "JSON") != 0) {
        return json_refuse(reader, "General", "OutputFormat '%s' is not supported; JSON is allowed",
                           format);
    }
    return unit == NULL || json_find_word(unit, units, 4) < 4
               ? 1
               : json_refuse(reader, "General",
                             "TimeUnit '%s': Nanoseconds, Microseconds, Milliseconds and "
                             "Seconds are allowed",
                             unit);
}

// ---- The whole --------------------------------------------------------------------------------

static int read_root(const struct json_reader *reader, const json_t *root)
{
    static const char *const keys[] = {
        "ConfigurationSpace", "KernelSpecification", "Search", "Budget", "General", NULL};
    const json_t *kernel = json_object_get(root, "KernelSpecification");
    const json_t *search = json_object_get(root, "Search");
    const json_t *budget = json_object_get(root, "Budget");
    const json_t *general = json_object_get(root, "General");
    char why[512];
    if (!json_known(reader, root, "", keys) ||
        !kernel_json_read_problem_size(reader, json_object_get(kernel, "ProblemSize")) ||
        !read_space(reader, json_object_get(root, "ConfigurationSpace")) ||
        !kernel_json_read_kernel(reader, kernel) ||
        (search != NULL && !read_search(reader, search)) ||
        (budget != NULL && !read_budget(reader, budget)) ||
        (general != NULL && !read_general(reader, general))) {
        return 0;
    }
    return kernel_job_close(reader->job, why, sizeof(why)) ? 1 : json_refuse(reader, "", "%s", why);
}

int kernel_json_read(const char *path, struct kernel_job *job, char *reason, size_t size)
{
    struct json_reader reader = {.path = path, .job = job, .reason = reason, .size = size};
    json_error_t error;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL) {
        return error.line > 0 ? json_refuse(&reader, "", "line %d: %s", error.line, error.text)
                              : json_refuse(&reader, "", "%s", error.text);
    }
    int good = read_root(&reader, root);
    json_decref(root);
    return good;
}
