// FlashCL's search: values, expressions over parameters, spaces of parameter settings, and the
// strategies that choose what to try next. Nothing here knows of kernels, devices or clocks: no
// OpenCL, compiles alone as C11 and C++17. Like tune.h, which includes it, it may still change
// between minor versions.
#ifndef FLASHCL_SEARCH_H
#define FLASHCL_SEARCH_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Values -----------------------------------------------------------------------------------

enum fcl_value_kind {
    FCL_VALUE_INTEGER = 0,
    FCL_VALUE_REAL, // always finite
    FCL_VALUE_BOOL, // in `integer`, 0 or 1
    FCL_VALUE_TEXT  // 0-terminated, never NULL; whoever hands the value out says how long it lives
};

struct fcl_value {
    enum fcl_value_kind kind;
    union {
        int64_t integer;
        double real;
        const char *text;
    };
};

FCL_API struct fcl_value fcl_value_integer(int64_t integer); // Thread-safety: safe
FCL_API struct fcl_value fcl_value_real(double real);        // Thread-safety: safe
FCL_API struct fcl_value fcl_value_bool(int truth);          // Thread-safety: safe
FCL_API struct fcl_value fcl_value_text(const char *text);   // Keeps the pointer. Likewise safe

// 0 for 0, 0.0, False and an empty text; 1 otherwise. Thread-safety: safe.
FCL_API int fcl_value_is_true(const struct fcl_value *value);

// As Python's ==: numbers and bools by value, exactly; a text never equals a number. Thread-safety:
// safe.
FCL_API int fcl_value_equal(const struct fcl_value *a, const struct fcl_value *b);

// Text form: 16, 0.5, 2.0, True, and texts without quotes. Cut at `size`; returns the whole length.
// Thread-safety: safe.
FCL_API size_t fcl_value_format(const struct fcl_value *value, char *text, size_t size);

// ---- Expressions ------------------------------------------------------------------------------

// An expression over named values, in Python's words and with Python's meaning, because the files
// of the autotuning community (T1) hold such texts:
//     block_x * block_y <= 1024 and (use_padding == 0 or block_x % 32 != 0)
//
//     or and not            short-circuit; `a or b` is one of the operands. || && ! too
//     == != < <= > >= in    chains such as 32 <= x <= 1024; `not in`; a list, or a text, behind in
//     | ^ & << >> ~         whole numbers only
//     + - * / // % **       / gives a real, // and % round down, ** binds from the right
//     a if c else b         evaluates one of a and b
//     min max sum any all   of several values or of a list; len of a list or a text
//     abs round ceil floor log2 sqrt int float bool       of one number; math.ceil too
//     12 0x1f 1_000 1.5 2e3 'text' "text" True False
//     [1, 2] (1, 2) [2**i for i in range(6) if i != 3] range(1, 9) list(range(9)), lists joined
//     by +: only where a list is allowed
//
// A name is a word, or a word with a number such as size[0]. Whole numbers have 64 bits: a result
// beyond is an error, as are division by 0, a result that is not finite, and texts in arithmetic.
// At most 100 levels of nesting; at most 1,000,000 steps in one evaluation.
// Thread-safety: immutable; shared by any number of threads.
typedef struct fcl_expression fcl_expression;

// Reads an expression that may use `names`. The texts are copied. Errors, all with a reason
// (`size` bytes, may be NULL) that says at which character, what was found and what is allowed:
// INVALID_ARGUMENT, OUT_OF_MEMORY. Thread-safety: safe.
FCL_API enum fcl_status fcl_expression_compile(const char *text, const char *const *names,
                                               size_t name_count, fcl_expression **expression,
                                               char *reason, size_t size);
FCL_API void fcl_expression_destroy(fcl_expression **expression);

// The text that it was compiled from; lives as long as the expression. Thread-safety: safe.
FCL_API const char *fcl_expression_text(const fcl_expression *expression);

// 1: the expression mentions name number `name`. Thread-safety: safe.
FCL_API int fcl_expression_uses(const fcl_expression *expression, size_t name);

// Computes the expression; `values` holds one value for each name. Allocates nothing. A text in
// *result is one of `values` or lives as long as the expression. Errors: INVALID_ARGUMENT with a
// reason that says where and with which operands. Thread-safety: safe.
FCL_API enum fcl_status fcl_expression_evaluate(const fcl_expression *expression,
                                                const struct fcl_value *values,
                                                struct fcl_value *result, char *reason,
                                                size_t size);

// The values of a parameter, from a list in the language above, `[16, 32] + list(range(64, 257,
// 64))`, or as typed in a shell, `16,32,row,column`: items with commas between, where words that
// stand alone are texts. The result is one block from malloc, texts included: the caller frees
// *values. At most 65,536 values. Errors: INVALID_ARGUMENT with a reason, OUT_OF_MEMORY.
// Thread-safety: safe.
FCL_API enum fcl_status fcl_values_parse(const char *text, struct fcl_value **values, size_t *count,
                                         char *reason, size_t size);

#ifdef __cplusplus
}
#endif
#endif
