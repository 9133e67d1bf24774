// Writes T4. The end of the file is written with each entry and overwritten by the next.
#include "t4.h"

#include "memory.h"
#include "message.h"

#include <jansson.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SCHEMA_VERSION "1.0.0"
#define END "\n]}\n"

const char *t4_invalidity(enum fcl_status status)
{
    switch (status) {
    case FCL_OK:
        return "correct";
    case FCL_UNSUPPORTED:
        return "constraints";
    case FCL_BUILD_FAILED:
        return "compile";
    case FCL_WRONG_RESULT:
        return "correctness";
    default:
        return "runtime";
    }
}

// A JSON value, which may be NULL for want of memory; where it is, the process ends.
static json_t *checked(json_t *json)
{
    if (json == NULL) {
        memory_get(SIZE_MAX, 1);
    }
    return json;
}

static void set(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, checked(value)) != 0) {
        checked(NULL);
    }
}

static void append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, checked(value)) != 0) {
        checked(NULL);
    }
}

// A text that may hold any bytes: what is not UTF-8 becomes a question mark.
static json_t *text_of(const char *text)
{
    json_t *json = json_string(text);
    if (json == NULL) {
        char *plain = memory_print("%s", text);
        for (char *at = plain; *at != '\0'; at++) {
            *at = (unsigned char)*at < 0x80 ? *at : '?';
        }
        json = json_string(plain);
        free(plain);
    }
    return checked(json);
}

static json_t *value_of(const struct fcl_value *value)
{
    switch (value->kind) {
    case FCL_VALUE_INTEGER:
        return json_integer(value->integer);
    case FCL_VALUE_REAL:
        return json_real(value->real);
    case FCL_VALUE_BOOL:
        return json_boolean(value->integer != 0);
    case FCL_VALUE_TEXT:
        break;
    }
    return text_of(value->text);
}

static json_t *now_text(void)
{
    char text[32];
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return json_string(text);
}

// ---- Entries ----------------------------------------------------------------------------------

static json_t *configuration(const struct t4_entry *entry)
{
    json_t *object = checked(json_object());
    for (size_t i = 0; i < fcl_space_parameters(entry->space); i++) {
        struct fcl_value value =
            fcl_space_value(entry->space, i, fcl_point_place(entry->space, entry->point, i));
        set(object, fcl_space_parameter_name(entry->space, i), value_of(&value));
    }
    return object;
}

static json_t *times(const struct t4 *t4, const struct t4_entry *entry)
{
    const struct fcl_evaluation *e = entry->evaluation;
    double unit = t4->metadata.units_per_ms;
    json_t *object = checked(json_object()), *runtimes = checked(json_array());
    if (e->status == FCL_OK) {
        append(runtimes, json_real(e->timing.median_ms * unit));
    }
    set(object, "compilation_time", json_real(e->build_ms * unit));
    set(object, "runtimes", runtimes);
    set(object, "framework", json_real(entry->framework_ms * unit));
    set(object, "search_algorithm", json_real(entry->search_ms * unit));
    set(object, "validation", json_real(e->verify_ms * unit));
    return object;
}

static void add_measurement(json_t *list, const char *name, double value, const char *unit)
{
    json_t *object = checked(json_object());
    set(object, "name", json_string(name));
    set(object, "value", json_real(value));
    set(object, "unit", json_string(unit));
    append(list, object);
}

static json_t *measurements(const struct t4 *t4, const struct t4_entry *entry)
{
    const struct fcl_evaluation *e = entry->evaluation;
    double unit = t4->metadata.units_per_ms;
    json_t *list = checked(json_array());
    if (e->status == FCL_OK) {
        add_measurement(list, "time", e->timing.median_ms * unit, t4->metadata.time_unit);
        add_measurement(list, "time_minimum", e->timing.min_ms * unit, t4->metadata.time_unit);
        add_measurement(list, "time_spread", e->timing.spread, "");
        add_measurement(list, "error_ratio", e->ratio, "");
    }
    if (e->status == FCL_OK && entry->metric != NULL && isfinite(entry->metric_value)) {
        add_measurement(list, entry->metric, entry->metric_value, "");
    }
    return list;
}

static json_t *entry_of(const struct t4 *t4, const struct t4_entry *entry)
{
    json_t *object = checked(json_object()), *objectives = checked(json_array());
    append(objectives, json_string("time"));
    set(object, "timestamp", now_text());
    set(object, "configuration", configuration(entry));
    set(object, "objectives", objectives);
    set(object, "times", times(t4, entry));
    set(object, "invalidity", json_string(t4_invalidity(entry->evaluation->status)));
    set(object, "correctness", json_integer(entry->evaluation->status == FCL_OK));
    set(object, "measurements", measurements(t4, entry));
    if (entry->evaluation->reason[0] != '\0') {
        set(object, "reason", text_of(entry->evaluation->reason));
    }
    return object;
}

// ---- The file ---------------------------------------------------------------------------------

static int fail(struct t4 *t4)
{
    message_error("%s: cannot be written: %s", t4->path, strerror(errno));
    t4_close(t4);
    return 0;
}

// Writes a text and the end of the file in one go, then goes back before the end.
static int put(struct t4 *t4, const char *text)
{
    char *all = memory_print("%s" END, text);
    size_t length = strlen(all);
    int good = fwrite(all, 1, length, t4->file) == length && fflush(t4->file) == 0 &&
               fseek(t4->file, -(long)strlen(END), SEEK_END) == 0;
    free(all);
    return good ? 1 : fail(t4);
}

static char *dump(json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(json);
    return text != NULL ? text : memory_get(SIZE_MAX, 1);
}

int t4_open(struct t4 *t4, const char *path, const struct t4_metadata *metadata)
{
    *t4 = (struct t4){.file = fopen(path, "wb"), .path = path, .metadata = *metadata};
    if (t4->file == NULL) {
        return fail(t4);
    }
    json_t *object = checked(json_object());
    set(object, "compute_api", json_string("OpenCL"));
    set(object, "platform", text_of(metadata->platform));
    set(object, "device", text_of(metadata->device));
    set(object, "autotuner", json_string("FlashCL"));
    set(object, "autotuner_version", json_string(fcl_version()));
    set(object, "timestamp", now_text());
    set(object, "timeunit", json_string(metadata->time_unit));
    char *text = dump(object);
    char *head = memory_print("{\"schema_version\": \"" SCHEMA_VERSION "\", \"metadata\": %s,\n"
                              "\"results\": [",
                              text);
    int good = put(t4, head);
    free(text);
    free(head);
    return good;
}

int t4_add(struct t4 *t4, const struct t4_entry *entry)
{
    char *text = dump(entry_of(t4, entry));
    char *line = memory_print("%s\n%s", t4->count > 0 ? "," : "", text);
    int good = put(t4, line);
    t4->count++;
    free(text);
    free(line);
    return good;
}

void t4_close(struct t4 *t4)
{
    if (t4->file != NULL) {
        fclose(t4->file);
    }
    t4->file = NULL;
}
