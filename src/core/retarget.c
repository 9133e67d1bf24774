// Edits PTX text line by line; directives stand alone at the start of a line.
#include "retarget.h"

#include <stdio.h>
#include <string.h>

#define TARGET ".target"
#define OLD "sm_90"
#define NEW "sm_90a"
#define GROUP ".reqntid"
#define RESIDENT ".minnctapersm"

// A part of the text that is not 0-terminated.
struct piece {
    const char *start;
    size_t length;
};

static int is_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

// Cuts the next line off the text, with its newline; 0 at the end.
static int next_line(struct piece *text, struct piece *line)
{
    if (text->length == 0)
        return 0;
    const char *end = memchr(text->start, '\n', text->length);
    *line =
        (struct piece){text->start, end != NULL ? (size_t)(end - text->start) + 1 : text->length};
    text->start += line->length;
    text->length -= line->length;
    return 1;
}

// Characters of a line without its end.
static int shown(struct piece line)
{
    size_t length = 0;
    while (length < line.length && line.start[length] != '\r' && line.start[length] != '\n')
        length++;
    return (int)length;
}

static struct piece skip_blanks(struct piece line)
{
    while (line.length > 0 && (*line.start == ' ' || *line.start == '\t')) {
        line.start++;
        line.length--;
    }
    return line;
}

// Whether the line begins with this word; cuts it off with the blanks around it.
static int take(struct piece *line, const char *word)
{
    struct piece rest = skip_blanks(*line);
    const size_t length = strlen(word);
    if (rest.length < length || memcmp(rest.start, word, length) != 0 ||
        (rest.length > length && is_word(rest.start[length])))
        return 0;
    rest.start += length;
    rest.length -= length;
    *line = skip_blanks(rest);
    return 1;
}

enum fcl_status fcl_retarget(const void *ptx, size_t size, struct fcl_text *edited, char *reason,
                             size_t reason_size)
{
    const char *end = ptx != NULL ? memchr(ptx, 0, size) : NULL;
    struct piece text = {ptx, end != NULL ? (size_t)(end - (const char *)ptx) : size};
    struct piece line;
    int targets = 0, groups = 0, resident = 0;
    while (ptx != NULL && next_line(&text, &line)) {
        struct piece rest = line;
        if (take(&rest, TARGET)) {
            if (!take(&rest, OLD))
                return fcl_fail(reason, reason_size, FCL_UNSUPPORTED,
                                "the driver's PTX is not for " OLD ": %.*s", shown(line),
                                line.start);
            fcl_text_add(edited, TARGET " " NEW);
            line = rest;
            targets++;
        } else if (take(&rest, GROUP)) {
            fcl_text_add(edited, RESIDENT " 1\n");
            groups++;
        } else {
            resident += take(&rest, RESIDENT);
        }
        fcl_text_add_bytes(edited, line.start, line.length);
    }
    if (edited->failed)
        return FCL_OUT_OF_MEMORY;
    if (targets != 1 || groups == 0 || resident > 0)
        return fcl_fail(reason, reason_size, FCL_UNSUPPORTED,
                        "the driver's PTX has %d " TARGET ", %d " GROUP " and %d " RESIDENT
                        "; allowed are 1, at least 1 and 0",
                        targets, groups, resident);
    return FCL_OK;
}

int fcl_retarget_warning(const char *log, char *line, size_t size)
{
    static const char *const codes[] = {"C7511", "C7512", "C7513", "C7515"};
    struct piece text = {log, log != NULL ? strlen(log) : 0}, one;
    while (next_line(&text, &one))
        for (size_t i = 0; i < FCL_COUNT(codes); i++)
            for (size_t at = 0; at + 5 <= one.length; at++)
                if (memcmp(one.start + at, codes[i], 5) == 0) {
                    snprintf(line, size, "%.*s", shown(one), one.start);
                    return 1;
                }
    return 0;
}
