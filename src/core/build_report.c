// Finds the places that a driver's build log names in the source. Drivers differ in how they write
// a place, and in whether they keep the file names of #line directives; none of it is a standard.
#include "build_report.h"

#include <string.h>

#define PLACES 3
#define LINES_AROUND 3

// A piece of the log.
struct piece {
    const char *start, *end;
};

// Where a message says that it belongs: text that ends with the file's name, and a line number.
struct location {
    struct piece file;
    size_t number;
};

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

// Reads a number at `at`; returns what follows it, or NULL where there is none.
static const char *read_number(const char *at, const char *end, size_t *number)
{
    const char *start = at;
    for (*number = 0; at < end && is_digit(*at) && at - start < 9; at++)
        *number = *number * 10 + (size_t)(*at - '0');
    return at == start ? NULL : at;
}

// Whether `text` stands at `at`, without regard to the case of its letters.
static int starts_with(const char *at, const char *end, const char *text)
{
    for (; *text != 0; at++, text++)
        if (at == end || (*at | 0x20) != (*text | 0x20))
            return 0;
    return 1;
}

static int contains(struct piece message, const char *text)
{
    for (const char *at = message.start; at < message.end; at++)
        if (starts_with(at, message.end, text))
            return 1;
    return 0;
}

// file:LINE:COLUMN and file:LINE: message
static int find_colons(struct piece message, struct location *location)
{
    for (const char *at = message.start; at < message.end; at++) {
        if (*at != ':')
            continue;
        const char *after = read_number(at + 1, message.end, &location->number);
        if (after != NULL && after < message.end && *after == ':') {
            location->file = (struct piece){message.start, at};
            return 1;
        }
    }
    return 0;
}

// file(LINE) and file(LINE,COLUMN)
static int find_parentheses(struct piece message, struct location *location)
{
    for (const char *at = message.start; at < message.end; at++) {
        if (*at != '(')
            continue;
        const char *after = read_number(at + 1, message.end, &location->number);
        if (after != NULL && after < message.end && (*after == ')' || *after == ',')) {
            location->file = (struct piece){message.start, at};
            return 1;
        }
    }
    return 0;
}

// "file", line LINE
static int find_word(struct piece message, struct location *location)
{
    for (const char *at = message.start; at < message.end; at++) {
        if (!starts_with(at, message.end, "line "))
            continue;
        if (read_number(at + 5, message.end, &location->number) == NULL)
            continue;
        const char *end = at;
        while (end > message.start && (is_blank(end[-1]) || end[-1] == ',' || end[-1] == '"'))
            end--;
        location->file = (struct piece){message.start, end};
        return 1;
    }
    return 0;
}

static int find_location(struct piece message, struct location *location)
{
    return find_colons(message, location) || find_parentheses(message, location) ||
           find_word(message, location);
}

// Whether the piece of the message ends with the line's file name, as a whole name.
static int names_file(struct piece text, const struct fcl_line *line)
{
    if (line->file == NULL || line->file_length == 0 ||
        (size_t)(text.end - text.start) < line->file_length)
        return 0;
    const char *start = text.end - line->file_length;
    if (memcmp(start, line->file, line->file_length) != 0)
        return 0;
    return start == text.start || is_blank(start[-1]) || strchr("/\\\"<'(", start[-1]) != NULL;
}

// The position in the text of the line that is meant; 0 where there is none. Best the line of that
// number in the file of that name; then in the part that has no name; then, for drivers that
// ignore #line, the line itself.
static size_t find_place(const struct location *location, const char *source)
{
    struct fcl_line line = {0};
    size_t unnamed = 0, itself = 0;
    while (fcl_line_next(&line, source)) {
        if (line.place == location->number)
            itself = line.place;
        if (line.directive || line.number != location->number)
            continue;
        if (names_file(location->file, &line))
            return line.place;
        if (line.file == NULL && unnamed == 0)
            unnamed = line.place;
    }
    return unnamed != 0 ? unnamed : itself;
}

static void show_place(struct fcl_text *report, const char *source, size_t place)
{
    struct fcl_line line = {0};
    while (fcl_line_next(&line, source) && line.place < place)
        continue;
    if (line.file != NULL)
        fcl_text_add(report, "around line %zu of %.*s:\n", line.number, (int)line.file_length,
                     line.file);
    else
        fcl_text_add(report, "around line %zu:\n", line.number);
    const size_t first = place > LINES_AROUND ? place - LINES_AROUND : 1;
    fcl_text_add_numbered(report, source, first, place + LINES_AROUND);
}

// Shows the places named by messages of one kind; returns how many.
static size_t show_places(struct fcl_text *report, struct piece log, const char *source, int errors)
{
    size_t shown[PLACES];
    size_t count = 0;
    while (log.start < log.end && count < PLACES) {
        const char *newline = memchr(log.start, '\n', (size_t)(log.end - log.start));
        const struct piece message = {log.start, newline != NULL ? newline : log.end};
        log.start = newline != NULL ? newline + 1 : log.end;
        struct location location;
        if (contains(message, "error") != errors || !find_location(message, &location))
            continue;
        const size_t place = find_place(&location, source);
        int known = place == 0;
        for (size_t i = 0; i < count; i++)
            known = known || shown[i] == place;
        if (known)
            continue;
        shown[count++] = place;
        show_place(report, source, place);
    }
    return count;
}

void fcl_build_report(struct fcl_text *report, const char *log, const char *source)
{
    struct piece text = {log, log != NULL ? log + strlen(log) : log};
    while (text.end > text.start && is_blank(text.end[-1]))
        text.end--;
    if (text.start == text.end) {
        fcl_text_add(report, "the driver gave no build log\n");
        return;
    }
    fcl_text_add_bytes(report, text.start, (size_t)(text.end - text.start));
    fcl_text_add_bytes(report, "\n", 1);
    if (show_places(report, text, source, 1) == 0)
        show_places(report, text, source, 0);
}

void fcl_build_first_error(const char *log, char *line, size_t size)
{
    struct piece first = {NULL, NULL};
    for (const char *at = log; at != NULL && *at != 0; at += strcspn(at, "\n")) {
        while (is_blank(*at))
            at++;
        const struct piece message = {at, at + strcspn(at, "\r\n")};
        const int error = contains(message, "error");
        if (message.start < message.end && (first.start == NULL || error))
            first = message;
        if (error)
            break;
    }
    fcl_fail(line, size, FCL_BUILD_FAILED, "%.*s",
             first.start != NULL ? (int)fcl_min(first.end - first.start, 4096) : 4096,
             first.start != NULL ? first.start : "the driver gave no build log");
}
