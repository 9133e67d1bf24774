// Tokens of expressions: words, values and symbols, one ahead.
#ifndef FCL_CORE_EXPRESSION_SCAN_H
#define FCL_CORE_EXPRESSION_SCAN_H

#include <flashcl/search.h>

#include "common.h"

#define FCL_DIGITS "0123456789"
#define FCL_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define FCL_WORD_CHARACTERS FCL_LETTERS FCL_DIGITS

enum fcl_token_kind { FCL_TOKEN_END, FCL_TOKEN_VALUE, FCL_TOKEN_WORD, FCL_TOKEN_SYMBOL };

struct fcl_token {
#define FCL_DIGITS "0123456789"
#define FCL_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define FCL_WORD_CHARACTERS FCL_LETTERS FCL_DIGITS

    enum fcl_token_kind kind;
    size_t at, length;      // in the text
    struct fcl_value value; // of a FCL_TOKEN_VALUE
};

// Set the texts, reason and size, zero the rest, and call fcl_scan_next.
struct fcl_scanner {
    const char *text;
    char *texts; // a copy of `text`; literals end in it, so that values can point to them
    struct fcl_token token; // the next one
    size_t behind;          // where the one after it begins
    enum fcl_status status; // of the first failure
    char *reason;
    size_t size;
};

// Moves on; to the end after a failure, so that every loop ends.
void fcl_scan_next(struct fcl_scanner *scanner);

// Whether the next token is this word or symbol.
int fcl_scan_is(const struct fcl_scanner *scanner, const char *word);

// The same, and moves on if so.
int fcl_scan_accept(struct fcl_scanner *scanner, const char *word);

// Fails at a place of the text, where `length` characters were found (0: the end). The first
// failure counts.
void fcl_scan_fail(struct fcl_scanner *scanner, size_t at, size_t length, const char *allowed);

#endif
