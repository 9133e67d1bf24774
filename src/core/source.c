// Expands a kernel file and everything that it includes into one text, so that the whole of it can
// be hashed, dumped and built without a search path.
#include "source.h"

#include "directive.h"

#include <stdlib.h>
#include <string.h>

#define NESTING_LIMIT 16

// One expansion under way. `seen` holds the names taken so far, each ended by a 0.
struct expansion {
    const char *folder;
    const char *const *macros;
    struct fcl_text *out;
    struct fcl_text seen;
    char *reason;
    size_t size;
};

// A file being read, and who includes it.
struct place {
    const struct place *includer;
    const char *name;
    size_t line;
    int depth;
};

const struct fcl_embedded_file *fcl_embedded_find(const char *name)
{
    for (size_t i = 0; i < fcl_embedded_count; i++)
        if (strcmp(fcl_embedded_files[i].name, name) == 0)
            return &fcl_embedded_files[i];
    return NULL;
}

static enum fcl_status out_of_memory(struct expansion *expansion)
{
    return fcl_fail(expansion->reason, expansion->size, FCL_OUT_OF_MEMORY,
                    "no memory for the kernel source");
}

// "what" about the file, and who includes it.
static enum fcl_status fail_file(struct expansion *expansion, const struct place *place,
                                 const char *what)
{
    const struct place *from = place->includer;
    if (from == NULL)
        return fcl_fail(expansion->reason, expansion->size, FCL_IO_ERROR, "kernel file %s %s",
                        place->name, what);
    return fcl_fail(expansion->reason, expansion->size, FCL_IO_ERROR,
                    "kernel file %s, included by %s line %zu, %s", place->name, from->name,
                    from->line, what);
}

static int was_seen(const struct expansion *expansion, const char *name)
{
    const char *at = expansion->seen.data;
    const char *end = at + expansion->seen.length;
    for (; at != NULL && at < end; at += strlen(at) + 1)
        if (strcmp(at, name) == 0)
            return 1;
    return 0;
}

static enum fcl_status read_folder(struct expansion *expansion, const struct place *place,
                                   struct fcl_text *text)
{
    struct fcl_text path = {0};
    fcl_text_add(&path, "%s/%s", expansion->folder, place->name);
    if (path.failed) {
        fcl_text_free(&path);
        return out_of_memory(expansion);
    }
    const int error = fcl_text_read_file(text, path.data);
    fcl_text_free(&path);
    if (error == 0)
        return FCL_OK;
    struct fcl_text what = {0};
    fcl_text_add(&what, "cannot be read from %s: %s", expansion->folder, strerror(error));
    const enum fcl_status status =
        what.failed ? out_of_memory(expansion) : fail_file(expansion, place, what.data);
    fcl_text_free(&what);
    return status;
}

static enum fcl_status read_file(struct expansion *expansion, const struct place *place,
                                 struct fcl_text *text)
{
    // What the build writes is in no folder; it has no folder in its name.
    const int built = strchr(place->name, '/') == NULL && fcl_embedded_find(place->name) != NULL;
    if (expansion->folder != NULL && !built) {
        const enum fcl_status status = read_folder(expansion, place, text);
        if (status != FCL_OK)
            return status;
    } else {
        const struct fcl_embedded_file *file = fcl_embedded_find(place->name);
        if (file == NULL)
            return fail_file(expansion, place, "is not among the embedded files");
        fcl_text_add_bytes(text, file->data, file->size);
    }
    fcl_text_add_bytes(text, "", 0);
    if (text->failed)
        return out_of_memory(expansion);
    // The compiler would see a shorter text than the one that was hashed.
    if (strlen(text->data) != text->length)
        return fail_file(expansion, place, "holds a 0 byte: it is no source text");
    return FCL_OK;
}

static const char *macro_file(const struct expansion *expansion, const struct fcl_piece *word)
{
    const size_t length = (size_t)(word->end - word->start);
    for (const char *const *pair = expansion->macros; pair != NULL && *pair != NULL; pair += 2)
        if (strlen(pair[0]) == length && memcmp(pair[0], word->start, length) == 0)
            return pair[1];
    return NULL;
}

// Appends the name of the file that an #include asks for, ended by a 0; 0 when it makes no sense.
static int include_name(const struct expansion *expansion, struct fcl_piece rest,
                        struct fcl_text *name)
{
    struct fcl_piece quoted;
    if (fcl_piece_take_quoted(&rest, &quoted)) {
        fcl_text_add_bytes(name, quoted.start, (size_t)(quoted.end - quoted.start));
        return 1;
    }
    struct fcl_piece word = {rest.start, rest.start};
    while (word.end < rest.end && fcl_is_word(*word.end))
        word.end++;
    const char *file = macro_file(expansion, &word);
    if (file == NULL)
        return 0;
    fcl_text_add_bytes(name, file, strlen(file));
    return 1;
}

static enum fcl_status expand_file(struct expansion *expansion, struct place place);

static enum fcl_status expand_include(struct expansion *expansion, const struct place *place,
                                      struct fcl_piece rest)
{
    struct fcl_text name = {0};
    enum fcl_status status = FCL_OK;
    if (!include_name(expansion, rest, &name))
        status = fcl_fail(expansion->reason, expansion->size, FCL_IO_ERROR,
                          "%s line %zu includes %.*s: allowed are \"file\" and a macro that stands "
                          "for a file",
                          place->name, place->line, (int)(rest.end - rest.start), rest.start);
    else if (name.failed)
        status = out_of_memory(expansion);
    else if (was_seen(expansion, name.data))
        fcl_text_add(expansion->out, "\n"); // in its place, so that line numbers hold
    else if (place->depth == NESTING_LIMIT)
        status = fcl_fail(expansion->reason, expansion->size, FCL_INVALID_ARGUMENT,
                          "%s, included by %s line %zu, is nested more than %d deep", name.data,
                          place->name, place->line, NESTING_LIMIT);
    else {
        status = expand_file(expansion, (struct place){place, name.data, 0, place->depth + 1});
        fcl_text_add(expansion->out, "#line %zu \"%s\"\n", place->line + 1, place->name);
    }
    fcl_text_free(&name);
    return status;
}

static enum fcl_status expand_lines(struct expansion *expansion, struct place *place,
                                    const char *text)
{
    struct fcl_line line = {0};
    struct fcl_scan scan = {0};
    while (fcl_line_next(&line, text)) {
        struct fcl_piece rest;
        place->line = line.place;
        if (fcl_scan_line(&scan, &line, &rest) && fcl_piece_take(&rest, "include")) {
            const enum fcl_status status = expand_include(expansion, place, rest);
            if (status != FCL_OK)
                return status;
        } else {
            fcl_text_add_bytes(expansion->out, line.start, line.length);
            fcl_text_add_bytes(expansion->out, "\n", 1);
        }
    }
    return FCL_OK;
}

static enum fcl_status expand_file(struct expansion *expansion, struct place place)
{
    struct fcl_text text = {0};
    enum fcl_status status = read_file(expansion, &place, &text);
    if (status == FCL_OK) {
        fcl_text_add_bytes(&expansion->seen, place.name, strlen(place.name) + 1);
        fcl_text_add(expansion->out, "#line 1 \"%s\"\n", place.name);
        status = expand_lines(expansion, &place, text.data);
    }
    fcl_text_free(&text);
    return status;
}

enum fcl_status fcl_source_expand(const char *name, const char *folder, const char *const *macros,
                                  struct fcl_text *out, char *reason, size_t size)
{
    struct expansion expansion = {
        .folder = folder, .macros = macros, .out = out, .reason = reason, .size = size};
    enum fcl_status status = expand_file(&expansion, (struct place){.name = name});
    if (status == FCL_OK && (out->failed || expansion.seen.failed))
        status = out_of_memory(&expansion);
    fcl_text_free(&expansion.seen);
    return status;
}
