// Reading JSON strictly: every field is known, has its type, or is refused with the file, the
// place, what was found and what is allowed.
#ifndef FLASHCL_TOOL_JSON_FIELDS_H
#define FLASHCL_TOOL_JSON_FIELDS_H

#include "kernel_job.h"

#include <jansson.h>

#define WHERE_SIZE 128

// A file being read. All functions but json_find_word return 0 or NULL where something is wrong,
// with the reason written.
struct json_reader {
    const char *path;
    struct kernel_job *job; // owns what is read
    char *reason;
    size_t size;
};

// Writes the reason; `where` is a place in the file, "" the whole. Returns 0.
int json_refuse(const struct json_reader *reader, const char *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Whether an object has no other fields than these; `keys` ends with NULL.
int json_known(const struct json_reader *reader, const json_t *object, const char *where,
               const char *const *keys);

// A text field; *text is NULL where it is missing and may be.
int json_get_text(const struct json_reader *reader, const json_t *object, const char *where,
                  const char *key, int needed, const char **text);

// A text, number or truth value as an expression; NULL, without a reason, for anything else.
char *json_expression(const struct json_reader *reader, const json_t *value);

// The same of a field; *expression is NULL where it is missing.
int json_get_expression(const struct json_reader *reader, const json_t *object, const char *where,
                        const char *key, const char **expression);

// A number; untouched where the field is missing.
int json_get_number(const struct json_reader *reader, const json_t *object, const char *where,
                    const char *key, double *number);

// Which of the words a text is; the number of words where it is none.
size_t json_find_word(const char *text, const char *const *words, size_t count);

// The path that a name in the file stands for: relative ones start at the file's folder.
char *json_path(const struct json_reader *reader, const char *name);

#endif
