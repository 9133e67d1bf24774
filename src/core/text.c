// A text that grows as it is written, whole files as texts, and walking the lines of source text.
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 256
#define READ_SIZE 16384

// Room for `size` more bytes and the final 0.
static int reserve(struct fcl_text *text, size_t size)
{
    if (text->failed)
        return 0;
    if (size >= SIZE_MAX / 2 - text->length) {
        text->failed = 1;
        return 0;
    }
    const size_t needed = text->length + size + 1;
    if (needed <= text->capacity)
        return 1;
    size_t capacity = text->capacity > 0 ? text->capacity : FIRST_CAPACITY;
    while (capacity < needed)
        capacity *= 2;
    char *data = realloc(text->data, capacity);
    if (data == NULL) {
        text->failed = 1;
        return 0;
    }
    text->data = data;
    text->capacity = capacity;
    return 1;
}

void fcl_text_add_list(struct fcl_text *text, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, format, arguments);
    if (length < 0)
        text->failed = 1;
    else if (reserve(text, (size_t)length)) {
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void fcl_text_add(struct fcl_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fcl_text_add_list(text, format, arguments);
    va_end(arguments);
}

void fcl_text_add_bytes(struct fcl_text *text, const void *bytes, size_t size)
{
    if (!reserve(text, size))
        return;
    if (size > 0)
        memcpy(text->data + text->length, bytes, size);
    text->length += size;
    text->data[text->length] = 0;
}

void fcl_text_free(struct fcl_text *text)
{
    free(text->data);
    *text = (struct fcl_text){0};
}

size_t fcl_text_emit(struct fcl_text *text, char *out, size_t size)
{
    const size_t length = text->length;
    if (out != NULL && size > 0) {
        const size_t kept = length < size ? length : size - 1;
        if (kept > 0)
            memcpy(out, text->data, kept);
        out[kept] = 0;
    }
    fcl_text_free(text);
    return length;
}

char *fcl_text_copy(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    if (copy != NULL)
        memcpy(copy, text, size);
    return copy;
}

int fcl_text_read_file(struct fcl_text *text, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return errno;
    const size_t before = text->length;
    int error = 0;
    size_t got = READ_SIZE;
    while (error == 0 && got == READ_SIZE) {
        if (!reserve(text, READ_SIZE)) {
            error = ENOMEM;
            break;
        }
        errno = 0;
        got = fread(text->data + text->length, 1, READ_SIZE, file);
        text->length += got;
        if (ferror(file))
            error = errno != 0 ? errno : EIO;
    }
    fclose(file);
    if (error != 0)
        text->length = before;
    if (text->data != NULL)
        text->data[text->length] = 0;
    return error;
}

// The name between the quotes that follow a #line number; an unnamed directive keeps the name.
static void read_line_name(struct fcl_line *line, const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    if (at == end || *at != '"')
        return;
    const char *close = memchr(at + 1, '"', (size_t)(end - at - 1));
    if (close == NULL)
        return;
    line->file = at + 1;
    line->file_length = (size_t)(close - at - 1);
}

// Where the line is `#line NUMBER "name"`: the number and name count from the next line on.
static void read_line_directive(struct fcl_line *line)
{
    const char *at = line->start;
    const char *end = line->start + line->length;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    if (end - at < 6 || memcmp(at, "#line", 5) != 0 || (at[5] != ' ' && at[5] != '\t'))
        return;
    for (at += 5; at < end && (*at == ' ' || *at == '\t'); at++)
        continue;
    size_t number = 0;
    const char *digits = at;
    for (; at < end && *at >= '0' && *at <= '9' && number < SIZE_MAX / 16; at++)
        number = number * 10 + (size_t)(*at - '0');
    if (at == digits)
        return;
    line->directive = 1;
    line->next_number = number;
    read_line_name(line, at, end);
}

int fcl_line_next(struct fcl_line *line, const char *source)
{
    const char *start = line->start != NULL ? line->start + line->length : source;
    if (line->start != NULL && *start == '\n')
        start++;
    if (*start == 0)
        return 0;
    if (line->start == NULL)
        line->next_number = 1;
    const char *end = strchr(start, '\n');
    line->start = start;
    line->length = end != NULL ? (size_t)(end - start) : strlen(start);
    line->place++;
    line->number = line->next_number;
    line->next_number++;
    line->directive = 0;
    read_line_directive(line);
    return 1;
}

void fcl_text_add_numbered(struct fcl_text *text, const char *source, size_t first, size_t last)
{
    struct fcl_line line = {0};
    while (fcl_line_next(&line, source) && line.place <= last) {
        if (line.place < first)
            continue;
        if (line.directive)
            fcl_text_add(text, "      | ");
        else
            fcl_text_add(text, "%5zu | ", line.number);
        fcl_text_add_bytes(text, line.start, line.length);
        fcl_text_add_bytes(text, "\n", 1);
    }
}
