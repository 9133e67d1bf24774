// Writes T4 line by line; reads it with jansson.
#include "results.h"

#include "json_text.h"
#include "memory.h"
#include "message.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 9
#define TAIL "\n]}\n" // behind the last entry

// ---- Writing ----------------------------------------------------------------------------------

static const char *invalidity_text(enum fcl_status status)
{
    switch (status) {
    case FCL_OK:
        return "correct";
    case FCL_BUILD_FAILED:
        return "compile";
    case FCL_WRONG_RESULT:
        return "correctness";
    case FCL_UNSUPPORTED:
    case FCL_NO_CONFIGURATION:
        return "constraints";
    case FCL_BUDGET_REACHED:
        return "timeout";
    default:
        return "runtime";
    }
}

enum fcl_status results_status(enum fcl_status status, const char *bad)
{
    return strcmp(bad, "timeout") == 0 ? FCL_BUDGET_REACHED : status;
}

static json_t *value_json(const struct fcl_value *value)
{
    switch (value->kind) {
    case FCL_VALUE_INTEGER:
        return json_integer(value->integer);
    case FCL_VALUE_REAL:
        return json_real(value->real);
    case FCL_VALUE_BOOL:
        return json_boolean(value->integer != 0);
    case FCL_VALUE_TEXT:
        return json_text(value->text);
    }
    return json_null();
}

static json_t *settings_json(struct results_settings settings)
{
    json_t *object = json_object();
    for (size_t i = 0; i < settings.count; i++) {
        json_object_set_new(object, settings.items[i].name, value_json(&settings.items[i].value));
    }
    return object;
}

static json_t *times_json(const struct results_entry *entry)
{
    json_t *times = json_object(), *runtimes = json_array();
    if (isfinite(entry->compilation_ms)) {
        json_object_set_new(times, "compilation_time", json_real(entry->compilation_ms));
    }
    for (size_t i = 0; i < entry->time_count; i++) {
        json_object_set_new(times, entry->times[i].name, json_real(entry->times[i].value));
    }
    for (size_t i = 0; i < entry->runtime_count; i++) {
        json_array_append_new(runtimes, json_real(entry->runtimes_ms[i]));
    }
    json_object_set_new(times, "runtimes", runtimes);
    return times;
}

static json_t *measurements_json(const struct results_entry *entry)
{
    json_t *list = json_array();
    for (size_t i = 0; i < entry->measurement_count; i++) {
        const struct results_measurement *one = &entry->measurements[i];
        if (isfinite(one->value)) {
            json_t *object = json_object();
            json_object_set_new(object, "name", json_text(one->name));
            json_object_set_new(object, "value", json_real(one->value));
            json_object_set_new(object, "unit", json_text(one->unit));
            json_array_append_new(list, object);
        }
    }
    return list;
}

static json_t *entry_json(const struct results_entry *entry)
{
    json_t *object = json_object();
    json_object_set_new(object, "configuration", settings_json(entry->configuration));
    json_object_set_new(object, "times", times_json(entry));
    json_object_set_new(object, "invalidity", json_string(invalidity_text(entry->status)));
    json_object_set_new(object, "correctness", json_integer(entry->status == FCL_OK));
    json_object_set_new(object, "measurements", measurements_json(entry));
    json_object_set_new(object, "objectives", json_pack("[s]", "time"));
    if (entry->timestamp != NULL) {
        json_object_set_new(object, "timestamp", json_string(entry->timestamp));
    }
    if (entry->reason != NULL) {
        json_object_set_new(object, "reason", json_text(entry->reason));
    }
    return object;
}

// Takes the object's place; the text is the caller's to free.
static char *take_text(json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
    json_decref(object);
    return text;
}

// Ends the writing of a file that failed.
static int fail(struct results_writer *writer)
{
    message_error("%s: cannot be written: %s", writer->path, strerror(errno));
    if (writer->file != NULL) {
        fclose(writer->file);
        writer->file = NULL;
    }
    return 0;
}

static void write_metadata(FILE *file, struct results_settings metadata,
                           struct results_settings standard)
{
    json_t *object = settings_json(metadata);
    if (standard.count > 0) {
        json_object_set_new(object, "default", settings_json(standard));
    }
    char *text = take_text(object);
    fprintf(file, "\"metadata\":%s,", text);
    free(text);
}

int results_begin(struct results_writer *writer, const char *path, struct results_settings metadata,
                  struct results_settings standard)
{
    *writer = (struct results_writer){.path = path, .file = fopen(path, "wb")};
    if (writer->file == NULL) {
        return fail(writer);
    }
    fputs("{\"schema_version\":\"1.0.0\",", writer->file);
    if (metadata.count + standard.count > 0) {
        write_metadata(writer->file, metadata, standard);
    }
    fputs("\"results\":[" TAIL, writer->file);
    return fflush(writer->file) == 0 ? 1 : fail(writer);
}

int results_add(struct results_writer *writer, const struct results_entry *entry)
{
    if (writer->file == NULL) {
        return 0;
    }
    char *text = take_text(entry_json(entry));
    int sought = fseek(writer->file, -(long)strlen(TAIL), SEEK_CUR);
    int written =
        sought == 0 ? fprintf(writer->file, "%s\n%s" TAIL, writer->count > 0 ? "," : "", text) : -1;
    free(text);
    writer->count++;
    return written >= 0 && fflush(writer->file) == 0 ? 1 : fail(writer);
}

int results_end(struct results_writer *writer)
{
    FILE *file = writer->file;
    writer->file = NULL;
    if (file == NULL) {
        return writer->path == NULL;
    }
    return fclose(file) == 0 ? 1 : fail(writer);
}

// ---- Reading ----------------------------------------------------------------------------------

static int read_value(const json_t *json, struct fcl_value *value)
{
    if (json_is_integer(json)) {
        *value = fcl_value_integer(json_integer_value(json));
    } else if (json_is_real(json)) {
        *value = fcl_value_real(json_real_value(json));
    } else if (json_is_boolean(json)) {
        *value = fcl_value_bool(json_is_true(json));
    } else if (json_is_string(json)) {
        *value = fcl_value_text(json_string_value(json));
    } else {
        return 0;
    }
    return 1;
}

static int read_configuration(struct results_point *point, json_t *object, char *reason,
                              size_t size)
{
    const char *name;
    json_t *json;
    if (!json_is_object(object) || json_object_size(object) == 0) {
        snprintf(reason, size, "it has no configuration, an object with values");
        return 0;
    }
    point->configuration = memory_get(json_object_size(object), sizeof(*point->configuration));
    json_object_foreach(object, name, json)
    {
        struct results_setting *setting = &point->configuration[point->configuration_count];
        setting->name = name;
        if (!read_value(json, &setting->value)) {
            snprintf(reason, size, "`%s` in its configuration is no number, bool or text", name);
            return 0;
        }
        point->configuration_count++;
    }
    return 1;
}

// The measurement "time"; NAN where there is none. Kernel Tuner writes a text for what failed.
static double measured_time(const json_t *entry)
{
    const json_t *list = json_object_get(entry, "measurements");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i), *value = json_object_get(one, "value");
        const char *name = json_string_value(json_object_get(one, "name"));
        if (name != NULL && strcmp(name, "time") == 0 && json_is_number(value)) {
            return json_number_value(value);
        }
    }
    return NAN;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The median of the numbers of a list, the lower one of two; NAN where there are none.
static double median_of(const json_t *list)
{
    size_t count = 0;
    double *numbers = memory_get(json_array_size(list), sizeof(*numbers));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        if (json_is_number(one)) {
            numbers[count++] = json_number_value(one);
        }
    }
    qsort(numbers, count, sizeof(*numbers), ascending);
    double median = count > 0 ? numbers[(count - 1) / 2] : NAN;
    free(numbers);
    return median;
}

// The schema has times.runtimes; Kernel Tuner's own cache files have an array `times`.
static double time_of(const json_t *entry)
{
    const json_t *times = json_object_get(entry, "times");
    double time = measured_time(entry);
    if (isnan(time)) {
        time = median_of(json_is_array(times) ? times : json_object_get(times, "runtimes"));
    }
    return time;
}

static int read_time(struct results_point *point, const json_t *entry, char *reason, size_t size)
{
    const char *invalidity = json_string_value(json_object_get(entry, "invalidity"));
    point->time = time_of(entry);
    if (invalidity != NULL && strcmp(invalidity, "correct") != 0) {
        point->time = INFINITY;
        return 1;
    }
    if (!(point->time > 0) || !isfinite(point->time)) {
        snprintf(reason, size, "it is not invalid, but has no time above 0");
        return 0;
    }
    return 1;
}

static int read_point(struct results_point *point, json_t *entry, char *reason, size_t size)
{
    if (!json_is_object(entry)) {
        snprintf(reason, size, "it is no object");
        return 0;
    }
    return read_configuration(point, json_object_get(entry, "configuration"), reason, size) &&
           read_time(point, entry, reason, size);
}

static int read_points(struct results *results, char *reason, size_t size)
{
    char of_entry[384] = "";
    const json_t *list = json_object_get(results->document, "results");
    if (!json_is_array(list) || json_array_size(list) == 0) {
        snprintf(reason, size, "it has no array `results` with entries");
        return 0;
    }
    results->points = memory_get(json_array_size(list), sizeof(*results->points));
    for (; results->count < json_array_size(list); results->count++) {
        if (!read_point(&results->points[results->count], json_array_get(list, results->count),
                        of_entry, sizeof(of_entry))) {
            snprintf(reason, size, "result %zu: %s", results->count + 1, of_entry);
            results->count++;
            return 0;
        }
    }
    return 1;
}

static int read_standard(struct results *results, char *reason, size_t size)
{
    char of_default[384] = "";
    json_t *standard = json_object_get(json_object_get(results->document, "metadata"), "default");
    if (standard == NULL) {
        standard = json_object_get(json_array_get(json_object_get(results->document, "results"), 0),
                                   "configuration");
    }
    if (!read_configuration(&results->standard, standard, of_default, sizeof(of_default))) {
        snprintf(reason, size, "the default in its metadata: %s", of_default);
        return 0;
    }
    return 1;
}

int results_read(struct results *results, const char *path, char *reason, size_t size)
{
    json_error_t error;
    *results = (struct results){.document = json_load_file(path, 0, &error)};
    if (results->document == NULL) {
        if (error.line > 0) {
            snprintf(reason, size, "line %d: %s", error.line, error.text);
        } else {
            snprintf(reason, size, "%s", error.text);
        }
        return 0;
    }
    if (!read_points(results, reason, size) || !read_standard(results, reason, size)) {
        results_free(results);
        return 0;
    }
    return 1;
}

void results_free(struct results *results)
{
    for (size_t i = 0; i < results->count; i++) {
        free(results->points[i].configuration);
    }
    free(results->points);
    free(results->standard.configuration);
    json_decref(results->document);
    *results = (struct results){.count = 0};
}
