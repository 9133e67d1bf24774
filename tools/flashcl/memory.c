// Memory that either is there or ends the command.
#include "memory.h"

#include "message.h"
#include "status.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *memory)
{
    if (memory == NULL) {
        message_error("out of memory");
        exit(EXIT_INTERNAL);
    }
    return memory;
}

void *memory_get(size_t count, size_t size)
{
    return checked(calloc(count > 0 ? count : 1, size));
}

void *memory_grow(void *list, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity) {
        return list;
    }
    size_t wanted = *capacity > 0 ? *capacity * 2 : 8;
    void *grown = checked(wanted <= SIZE_MAX / size ? realloc(list, wanted * size) : NULL);
    *capacity = wanted;
    return grown;
}

__attribute__((nonnull(1))) static char *print_list(const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    size_t size = length < 0 ? 1 : (size_t)length + 1;
    char *text = memory_get(size, 1);
    vsnprintf(text, size, format, arguments);
    return text;
}

char *memory_print(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = print_list(format, arguments);
    va_end(arguments);
    return text;
}

void memory_append(char **text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *tail = print_list(format, arguments);
    va_end(arguments);
    char *whole = memory_print("%s%s", *text != NULL ? *text : "", tail);
    free(*text);
    free(tail);
    *text = whole;
}
