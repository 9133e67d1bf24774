// Comments, strings and continued lines are told apart as the preprocessor does, and no further.
#include "directive.h"

#include <string.h>

int fcl_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// What is open behind the text, given what was before it.
static char inside_after(struct fcl_piece text, char inside)
{
    for (const char *at = text.start; at < text.end && inside != '/'; at++) {
        const char next = at + 1 < text.end ? at[1] : 0;
        if (inside == '*') {
            if (*at == '*' && next == '/') {
                inside = 0;
                at++;
            }
        } else if (inside != 0) {
            if (*at == '\\')
                at++;
            else if (*at == inside)
                inside = 0;
        } else if (*at == '"' || *at == '\'') {
            inside = *at;
        } else if (*at == '/' && (next == '/' || next == '*')) {
            inside = next;
            at++;
        }
    }
    return inside;
}

static void skip_blanks(struct fcl_piece *piece)
{
    while (piece->start < piece->end) {
        if (*piece->start == ' ' || *piece->start == '\t') {
            piece->start++;
            continue;
        }
        const char *close = piece->start + 2;
        if (piece->end - piece->start < 4 || memcmp(piece->start, "/*", 2) != 0)
            return;
        while (close + 2 <= piece->end && memcmp(close, "*/", 2) != 0)
            close++;
        if (close + 2 > piece->end)
            return;
        piece->start = close + 2;
    }
}

int fcl_scan_line(struct fcl_scan *scan, const struct fcl_line *line, struct fcl_piece *rest)
{
    const int fresh = scan->inside == 0 && !scan->continued;
    *rest = (struct fcl_piece){line->start, line->start + line->length};
    if (rest->end > rest->start && rest->end[-1] == '\r')
        rest->end--;
    scan->inside = inside_after(*rest, scan->inside);
    scan->continued = rest->end > rest->start && rest->end[-1] == '\\';
    if (!scan->continued && scan->inside != '*')
        scan->inside = 0;
    skip_blanks(rest);
    if (!fresh || rest->start == rest->end || *rest->start != '#')
        return 0;
    rest->start++;
    skip_blanks(rest);
    return 1;
}

int fcl_piece_take(struct fcl_piece *piece, const char *word)
{
    const size_t length = strlen(word);
    const size_t left = (size_t)(piece->end - piece->start);
    if (left < length || memcmp(piece->start, word, length) != 0 ||
        (left > length && fcl_is_word(piece->start[length])))
        return 0;
    piece->start += length;
    skip_blanks(piece);
    return 1;
}

int fcl_piece_take_quoted(struct fcl_piece *piece, struct fcl_piece *name)
{
    if (piece->start == piece->end || *piece->start != '"')
        return 0;
    const char *start = piece->start + 1;
    const char *close = memchr(start, '"', (size_t)(piece->end - start));
    if (close == NULL)
        return 0;
    *name = (struct fcl_piece){start, close};
    piece->start = close + 1;
    return 1;
}
