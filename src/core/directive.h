// Finds the lines of a source text that are for the preprocessor.
#ifndef FCL_CORE_DIRECTIVE_H
#define FCL_CORE_DIRECTIVE_H

#include "text.h"

// A piece of a line.
struct fcl_piece {
    const char *start, *end;
};

// What the lines so far leave open. Zero-initialise.
struct fcl_scan {
    char inside;   // '*' and '/': a comment of this kind; a quote: a string; 0: none
    int continued; // 1: the last line ended with a backslash
};

// Steps over a line, all lines in order. Returns 1 where it is a directive, which stands in no
// comment, string or continued line; *rest is then what follows the #.
int fcl_scan_line(struct fcl_scan *scan, const struct fcl_line *line, struct fcl_piece *rest);

// Whether the piece starts with this word; then it starts with what follows it, blanks and comments
// left out.
int fcl_piece_take(struct fcl_piece *piece, const char *word);

// Whether the piece starts with a name in double quotes; then *name is what stands between them,
// and the piece starts behind.
int fcl_piece_take_quoted(struct fcl_piece *piece, struct fcl_piece *name);

// Whether this may be part of a word.
int fcl_is_word(char c);

#endif
