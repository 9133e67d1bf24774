// Fields of JSON objects.
#include "json_fields.h"

#include "memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int json_refuse(const struct json_reader *reader, const char *where, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    snprintf(reader->reason, reader->size, "%s: %s%s%s", reader->path, where,
             where[0] != '\0' ? ": " : "", text);
    return 0;
}

int json_known(const struct json_reader *reader, const json_t *object, const char *where,
               const char *const *keys)
{
    if (!json_is_object(object)) {
        return json_refuse(reader, where, "an object is needed");
    }
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        size_t i = 0;
        while (keys[i] != NULL && strcmp(keys[i], key) != 0) {
            i++;
        }
        if (keys[i] == NULL) {
            return json_refuse(reader, where, "the field '%s' is not supported", key);
        }
    }
    return 1;
}

int json_get_text(const struct json_reader *reader, const json_t *object, const char *where,
                  const char *key, int needed, const char **text)
{
    const json_t *value = json_object_get(object, key);
    *text = json_string_value(value);
    if (value == NULL && needed) {
        return json_refuse(reader, where, "the field '%s' is missing", key);
    }
    return value == NULL || *text != NULL ? 1 : json_refuse(reader, where, "%s is no text", key);
}

char *json_expression(const struct json_reader *reader, const json_t *value)
{
    char number[64];
    struct fcl_value real = fcl_value_real(json_real_value(value));
    if (json_is_string(value)) {
        return kernel_job_text(reader->job, json_string_value(value));
    }
    if (json_is_integer(value)) {
        real = fcl_value_integer(json_integer_value(value));
    } else if (json_is_boolean(value)) {
        real = fcl_value_bool(json_is_true(value));
    } else if (!json_is_real(value)) {
        return NULL;
    }
    fcl_value_format(&real, number, sizeof(number));
    return kernel_job_text(reader->job, number);
}

int json_get_expression(const struct json_reader *reader, const json_t *object, const char *where,
                        const char *key, const char **expression)
{
    const json_t *value = json_object_get(object, key);
    *expression = json_expression(reader, value);
    return value == NULL || *expression != NULL
               ? 1
               : json_refuse(reader, where, "%s is neither a number nor a text", key);
}

int json_get_number(const struct json_reader *reader, const json_t *object, const char *where,
                    const char *key, double *number)
{
    const json_t *value = json_object_get(object, key);
    if (value != NULL && !json_is_number(value)) {
        return json_refuse(reader, where, "%s is no number", key);
    }
    *number = value != NULL ? json_number_value(value) : *number;
    return 1;
}

size_t json_find_word(const char *text, const char *const *words, size_t count)
{
    size_t i = 0;
    while (i < count && strcmp(words[i], text) != 0) {
        i++;
    }
    return i;
}

char *json_path(const struct json_reader *reader, const char *name)
{
    const char *slash = strrchr(reader->path, '/');
    int folder = name[0] != '/' && slash != NULL ? (int)(slash + 1 - reader->path) : 0;
    return kernel_job_own(reader->job, memory_print("%.*s%s", folder, reader->path, name));
}
