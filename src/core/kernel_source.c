// A user's kernel file and what it includes, as one text. The search for files is C's; which
// includes count is left to the preprocessor, so that no #if need be understood.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // realpath
#endif
#include "directive.h"

#include <flashcl/kernel.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NESTING_LIMIT 32
#define SIZE_LIMIT ((size_t)16 << 20)

struct reading {
    const char *options;
    struct fcl_text out;
    struct fcl_text once; // paths of files that say `#pragma once`, each ended by a 0
    char *reason;
    size_t size;
};

// A file being read, and who includes it.
struct place {
    const struct place *includer;
    char *path; // without links; tells files apart
    char *name; // for the compiler's messages
    struct fcl_text text;
};

static enum fcl_status out_of_memory(const struct reading *reading)
{
    return fcl_fail(reading->reason, reading->size, FCL_OUT_OF_MEMORY,
                    "no memory for the kernel source");
}

static void close_place(struct place *place)
{
    free(place->path);
    free(place->name);
    fcl_text_free(&place->text);
}

// ---- the search

// The name in the folder, unless it needs none; from malloc, or NULL.
static char *join(const char *folder, size_t length, const char *name)
{
    struct fcl_text path = {0};
    if (name[0] != '/')
        fcl_text_add_bytes(&path, folder, length);
    if (path.length > 0 && path.data[path.length - 1] != '/')
        fcl_text_add(&path, "/");
    fcl_text_add(&path, "%s", name);
    if (path.failed)
        fcl_text_free(&path);
    return path.data;
}

static size_t folder_length(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash != NULL ? (size_t)(slash + 1 - file) : 0;
}

// Takes over both texts. 1: *place is the file.
static int open_place(struct place *place, char *path, char *name)
{
    place->path = path != NULL ? realpath(path, NULL) : NULL;
    place->name = name;
    const int good =
        name != NULL && place->path != NULL && fcl_text_read_file(&place->text, place->path) == 0;
    free(path);
    if (!good) {
        close_place(place);
        *place = (struct place){.includer = place->includer};
    }
    return good;
}

// Reads the next word of the compiler's options; 0 behind the last one. Quotes keep blanks.
static int next_word(const char **at, struct fcl_text *word)
{
    int quoted = 0;
    word->length = 0;
    *at += strspn(*at, " \t\n");
    if (**at == 0)
        return 0;
    fcl_text_add_bytes(word, "", 0);
    for (; **at != 0 && (quoted || strchr(" \t\n", **at) == NULL); (*at)++)
        if (**at == '"')
            quoted = !quoted;
        else
            fcl_text_add_bytes(word, *at, 1);
    return !word->failed;
}

// In the folders of -I.
static int search_folders(const struct reading *reading, const char *name, struct place *place)
{
    const char *at = reading->options;
    struct fcl_text word = {0};
    int found = 0;
    while (!found && next_word(&at, &word)) {
        if (strncmp(word.data, "-I", 2) != 0)
            continue;
        const int apart = word.length == 2;
        if (apart && !next_word(&at, &word))
            break;
        const char *folder = apart ? word.data : word.data + 2;
        found = open_place(place, join(folder, strlen(folder), name),
                           join(folder, strlen(folder), name));
    }
    fcl_text_free(&word);
    return found;
}

// Beside the including file; in the folders of -I; in the current folder, as some compilers do.
static int search(const struct reading *reading, const char *name, struct place *place)
{
    const struct place *by = place->includer;
    return open_place(place, join(by->path, folder_length(by->path), name),
                      join(by->name, folder_length(by->name), name)) ||
           search_folders(reading, name, place) ||
           open_place(place, join("", 0, name), join("", 0, name));
}

// ---- the text

static int is_within_itself(const struct place *place)
{
    for (const struct place *by = place->includer; by != NULL; by = by->includer)
        if (strcmp(by->path, place->path) == 0)
            return 1;
    return 0;
}

static int says_once(struct fcl_piece directive)
{
    return fcl_piece_take(&directive, "pragma") && fcl_piece_take(&directive, "once");
}

// The number of a file that is to count once; -1: of another one.
static int once_number(struct reading *reading, const struct place *place)
{
    struct fcl_line line = {0};
    struct fcl_scan scan = {0};
    struct fcl_piece directive;
    int number = 0, once = 0;
    while (!once && fcl_line_next(&line, place->text.data))
        once = fcl_scan_line(&scan, &line, &directive) && says_once(directive);
    if (!once)
        return -1;
    const char *at = reading->once.data;
    const char *end = at != NULL ? at + reading->once.length : NULL;
    for (; at != end; at += strlen(at) + 1, number++)
        if (strcmp(at, place->path) == 0)
            return number;
    fcl_text_add_bytes(&reading->once, place->path, strlen(place->path) + 1);
    return number;
}

static enum fcl_status add_lines(struct reading *reading, const struct place *place);

// The compiler would not know that it is in a file of its own: `#pragma once` becomes a guard.
static enum fcl_status add_file(struct reading *reading, const struct place *place)
{
    const int number = once_number(reading, place);
    if (number >= 0)
        fcl_text_add(&reading->out, "#ifndef FCL_ONCE_%d\n#define FCL_ONCE_%d\n", number, number);
    fcl_text_add(&reading->out, "#line 1 \"%s\"\n", place->name);
    const enum fcl_status status = add_lines(reading, place);
    if (number >= 0)
        fcl_text_add(&reading->out, "#endif\n");
    return status;
}

static enum fcl_status check_place(const struct reading *reading, const struct place *place)
{
    int depth = 0;
    for (const struct place *by = place->includer; by != NULL; by = by->includer)
        depth++;
    if (strlen(place->text.data) != place->text.length)
        return fcl_fail(reading->reason, reading->size, FCL_IO_ERROR,
                        "%s holds a 0 byte: it is no source text", place->name);
    if (depth > NESTING_LIMIT)
        return fcl_fail(reading->reason, reading->size, FCL_INVALID_ARGUMENT,
                        "%s, included by %s, is nested more than %d deep", place->name,
                        place->includer->name, NESTING_LIMIT);
    if (depth > 0 && reading->out.length + place->text.length > SIZE_LIMIT)
        return fcl_fail(reading->reason, reading->size, FCL_INVALID_ARGUMENT,
                        "with %s, included by %s, the kernel source is larger than %zu bytes",
                        place->name, place->includer->name, SIZE_LIMIT);
    return FCL_OK;
}

static void add_line(struct reading *reading, const struct place *place,
                     const struct fcl_line *line)
{
    fcl_text_add_bytes(&reading->out, line->start, line->length);
    if (line->start[line->length] == '\n' || place->includer != NULL)
        fcl_text_add(&reading->out, "\n");
}

// The file `quoted` in place of the line; `rest` is what stands behind its name.
static enum fcl_status add_include(struct reading *reading, const struct place *by,
                                   const struct fcl_line *line, struct fcl_piece quoted,
                                   struct fcl_piece rest)
{
    struct place place = {.includer = by};
    struct fcl_text name = {0};
    enum fcl_status status = FCL_OK;
    fcl_text_add_bytes(&name, quoted.start, (size_t)(quoted.end - quoted.start));
    if (name.failed)
        status = out_of_memory(reading);
    else if (!search(reading, name.data, &place))
        add_line(reading, by, line);
    else {
        status = check_place(reading, &place);
        if (status == FCL_OK)
            status = add_file(reading, &place);
        fcl_text_add(&reading->out, "#line %zu \"%.*s\"\n%.*s\n", line->number,
                     line->file != NULL ? (int)line->file_length : (int)strlen(by->name),
                     line->file != NULL ? line->file : by->name, (int)(rest.end - rest.start),
                     rest.start);
    }
    close_place(&place);
    fcl_text_free(&name);
    return status;
}

// A file within itself keeps its includes: where it ends at all, its guard hides them, and all of
// them have been searched for in the first copy.
static enum fcl_status add_lines(struct reading *reading, const struct place *place)
{
    const int again = is_within_itself(place);
    struct fcl_line line = {0};
    struct fcl_scan scan = {0};
    while (fcl_line_next(&line, place->text.data)) {
        struct fcl_piece rest, quoted;
        enum fcl_status status = FCL_OK;
        const int directive = fcl_scan_line(&scan, &line, &rest);
        if (directive && place->includer != NULL && says_once(rest))
            fcl_text_add(&reading->out, "\n");
        else if (directive && !again && fcl_piece_take(&rest, "include") &&
                 fcl_piece_take_quoted(&rest, &quoted))
            status = add_include(reading, place, &line, quoted, rest);
        else
            add_line(reading, place, &line);
        if (status != FCL_OK)
            return status;
    }
    return FCL_OK;
}

static enum fcl_status read_source(struct reading *reading, const char *path, struct place *place)
{
    errno = 0;
    if (place->name == NULL)
        return out_of_memory(reading);
    place->path = realpath(path, NULL);
    const int error = place->path != NULL ? fcl_text_read_file(&place->text, place->path) : errno;
    if (error != 0)
        return fcl_fail(reading->reason, reading->size, FCL_IO_ERROR, "%s: cannot be read: %s",
                        path, strerror(error));
    const enum fcl_status status = check_place(reading, place);
    return status == FCL_OK ? add_lines(reading, place) : status;
}

enum fcl_status fcl_kernel_source_read(const char *path, const char *file, const char *options,
                                       char **source, char *reason, size_t size)
{
    if (source == NULL)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "source is NULL");
    *source = NULL;
    if (path == NULL || file == NULL)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%s is NULL",
                        path == NULL ? "path" : "file");
    struct reading reading = {
        .options = options != NULL ? options : "", .reason = reason, .size = size};
    struct place place = {.name = fcl_text_copy(file)};
    fcl_text_add(&reading.out, "%s", "");
    enum fcl_status status = read_source(&reading, path, &place);
    if (status == FCL_OK && (reading.out.failed || reading.once.failed))
        status = out_of_memory(&reading);
    if (status == FCL_OK)
        *source = reading.out.data;
    else
        fcl_text_free(&reading.out);
    fcl_text_free(&reading.once);
    close_place(&place);
    return status;
}
