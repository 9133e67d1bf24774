// A growable text, and files as texts.
#ifndef FCL_CORE_TEXT_H
#define FCL_CORE_TEXT_H

#include <stdarg.h>

#include "common.h"

// Zero-initialise. When memory runs out, `failed` is set and further additions do nothing, so that
// a caller checks once at the end.
struct fcl_text {
    char *data; // always 0-terminated once anything was added
    size_t length, capacity;
    int failed;
};

void fcl_text_add(struct fcl_text *text, const char *format, ...) FCL_PRINTF(2, 3);
void fcl_text_add_list(struct fcl_text *text, const char *format, va_list arguments)
    FCL_PRINTF(2, 0);
void fcl_text_add_bytes(struct fcl_text *text, const void *bytes, size_t size);
void fcl_text_free(struct fcl_text *text);

// Copies the text out under the rule of public format functions: cut at `size`, 0-terminated;
// returns the whole length and frees the text.
size_t fcl_text_emit(struct fcl_text *text, char *out, size_t size);

// A copy from malloc, or NULL.
char *fcl_text_copy(const char *text);

// Appends a whole file. Returns 0, or an errno.
int fcl_text_read_file(struct fcl_text *text, const char *path);

// One line of a source text, and what #line directives say that it is called.
struct fcl_line {
    const char *start; // without its newline
    size_t length;
    size_t place;       // 1-based position in the text
    size_t number;      // as compilers count it
    size_t next_number; // of the line after it
    const char *file;   // name given by #line, not 0-terminated; NULL before the first name
    size_t file_length;
    int directive; // 1: this line is a #line directive
};

// Steps to the next line of `source`; starts from a zeroed struct. 0 after the last line.
int fcl_line_next(struct fcl_line *line, const char *source);

// Appends the text with each line numbered, as build errors show it. `first`..`last` (1-based)
// limit the lines; #line directives are honoured in the numbers shown.
void fcl_text_add_numbered(struct fcl_text *text, const char *source, size_t first, size_t last);

#endif
