// Tokens of expressions.
#include "expression_scan.h"

#include <string.h>

#include "number.h"
#include "text.h"

#define SHOWN 60 // characters of a wrong text that a message repeats

void fcl_scan_fail(struct fcl_scanner *s, size_t at, size_t length, const char *allowed)
{
    if (s->status != FCL_OK)
        return;
    struct fcl_text found = {0};
    if (length == 0)
        fcl_text_add(&found, "the end");
    else
        fcl_text_add(&found, "`%.*s`", (int)fcl_min((int64_t)length, SHOWN), s->text + at);
    s->status =
        fcl_fail(s->reason, s->size, FCL_INVALID_ARGUMENT, "at %zu: found %s; %s; in `%.*s%s`",
                 at + 1, found.failed ? "" : found.data, allowed, SHOWN, s->text,
                 strlen(s->text) > SHOWN ? "..." : "");
    fcl_text_free(&found);
}

// ---- the scanner

static const char *const symbols[] = {"**", "//", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};

static size_t symbol_length(const char *at)
{
    for (size_t i = 0; i < FCL_COUNT(symbols); i++)
        if (strncmp(at, symbols[i], 2) == 0)
            return 2;
    size_t length = 1;
    while ((at[0] & 0x80) != 0 && (at[length] & 0x80) != 0) // a letter of another alphabet
        length++;
    return length;
}

// A word, `math.` before it left out, and a number in brackets behind it taken in.
static void scan_word(struct fcl_token *token, const char *text)
{
    if (strncmp(text + token->at, "math.", 5) == 0 && strspn(text + token->at + 5, FCL_LETTERS) > 0)
        token->at += 5;
    const char *at = text + token->at;
    size_t length = strspn(at, FCL_WORD_CHARACTERS);
    if (at[length] == '[') {
        const size_t digits = strspn(at + length + 1, FCL_DIGITS);
        if (digits > 0 && at[length + 1 + digits] == ']')
            length += digits + 2;
    }
    token->kind = FCL_TOKEN_WORD;
    token->length = length;
}

// The digits of a number without the underscores between them; 0 where they are too many.
static size_t copy_digits(char *out, size_t size, const char *digits, size_t length)
{
    size_t kept = 0;
    for (size_t i = 0; i < length; i++)
        if (digits[i] != '_' && kept < size)
            out[kept++] = digits[i];
    return kept < size ? kept : 0;
}

static int read_hexadecimal(const char *at, const char *end, int64_t *number)
{
    static const char hexadecimal[] = "0123456789abcdef0123456789ABCDEF";
    int64_t value = 0;
    if (at == end)
        return 0;
    for (; at < end; at++) {
        const char *digit = strchr(hexadecimal, *at);
        if (digit == NULL || value > INT64_MAX / 16)
            return 0;
        value = value * 16 + (digit - hexadecimal) % 16;
    }
    *number = value;
    return 1;
}

static int read_number(const char *digits, size_t length, struct fcl_value *value)
{
    char plain[64] = {0};
    const size_t kept = copy_digits(plain, sizeof plain, digits, length);
    const char *cursor = plain, *end = plain + kept;
    int64_t integer;
    double real;
    if (kept > 2 && plain[0] == '0' && (plain[1] == 'x' || plain[1] == 'X')) {
        if (!read_hexadecimal(plain + 2, end, &integer))
            return 0;
        *value = fcl_value_integer(integer);
    } else if (fcl_number_read(&cursor, end, INT64_MAX, &integer) && cursor == end) {
        *value = fcl_value_integer(integer);
    } else if (memchr(plain, '.', kept) || memchr(plain, 'e', kept)) {
        if (!fcl_real_read(plain, end, &real))
            return 0;
        *value = fcl_value_real(real);
    } else {
        return 0;
    }
    return 1;
}

static void scan_number(struct fcl_scanner *s, struct fcl_token *token)
{
    const char *at = s->text + token->at;
    size_t length = strspn(at, FCL_WORD_CHARACTERS ".");
    while ((at[length] == '-' || at[length] == '+') && at[length - 1] == 'e' && at[1] != 'x' &&
           strspn(at + length + 1, FCL_DIGITS) > 0)
        length += 1 + strspn(at + length + 1, FCL_DIGITS);
    token->kind = FCL_TOKEN_VALUE;
    token->length = length;
    if (!read_number(at, length, &token->value))
        fcl_scan_fail(s, token->at, length,
                      "numbers are such as 12, 0x1f, 0.5 or 1e3, and whole ones below 2^63");
}

static void scan_text(struct fcl_scanner *s, struct fcl_token *token)
{
    const char *at = s->text + token->at;
    const char ends[] = {at[0], '\\', 0};
    const size_t length = strcspn(at + 1, ends);
    if (at[1 + length] != at[0]) {
        fcl_scan_fail(s, token->at, 1,
                      "a text ends with the quote it begins with and has no backslash");
        return;
    }
    token->kind = FCL_TOKEN_VALUE;
    token->length = length + 2;
    s->texts[token->at + 1 + length] = 0;
    token->value = fcl_value_text(s->texts + token->at + 1);
}

void fcl_scan_next(struct fcl_scanner *s)
{
    const char *text = s->text;
    struct fcl_token token = {.kind = FCL_TOKEN_END,
                              .at = s->behind + strspn(text + s->behind, " \t\r\n")};
    const char *at = text + token.at;
    if (strspn(at, FCL_LETTERS) > 0)
        scan_word(&token, text);
    else if (strspn(at, FCL_DIGITS) > 0)
        scan_number(s, &token);
    else if (*at == '\'' || *at == '"')
        scan_text(s, &token);
    else if (*at != 0) {
        token.kind = FCL_TOKEN_SYMBOL;
        token.length = symbol_length(at);
    }
    s->behind = token.at + token.length;
    if (s->status != FCL_OK) {
        token = (struct fcl_token){.kind = FCL_TOKEN_END, .at = strlen(text)};
        s->behind = token.at;
    }
    s->token = token;
}

int fcl_scan_is(const struct fcl_scanner *s, const char *word)
{
    return (s->token.kind == FCL_TOKEN_WORD || s->token.kind == FCL_TOKEN_SYMBOL) &&
           s->token.length == strlen(word) &&
           memcmp(s->text + s->token.at, word, s->token.length) == 0;
}

int fcl_scan_accept(struct fcl_scanner *s, const char *word)
{
    if (!fcl_scan_is(s, word))
        return 0;
    fcl_scan_next(s);
    return 1;
}
