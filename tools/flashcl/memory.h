// Memory for the command, which cannot go on without it: every function here ends the process with
// exit code 5 when there is none left.
#ifndef FLASHCL_TOOL_MEMORY_H
#define FLASHCL_TOOL_MEMORY_H

#include <stddef.h>

// Zeroed memory; count 0 gives one that may be freed.
void *memory_get(size_t count, size_t size);

// Makes room for one more item in a list of `count`, doubling the capacity. Returns the list.
void *memory_grow(void *list, size_t count, size_t *capacity, size_t size);

// A formatted text of its own.
char *memory_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Puts a formatted text behind `*text` (NULL: empty).
void memory_append(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
