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

// ---- Spaces -----------------------------------------------------------------------------------

// A space: parameters with their values, constraints with their reasons, and the points that
// remain. A point is the number of a setting of all parameters, counted with the first parameter
// slowest: (i0 * n1 + i1) * n2 + i2 ..., where i is the place of a value and n the number of
// values. Built step by step, then closed by fcl_space_enumerate or fcl_space_enumerate_points.
// Thread-safety: one thread until it is closed; immutable and shared afterwards, except for
// fcl_space_keep_cheapest.
typedef struct fcl_space fcl_space;

#define FCL_SPACE_NAMES 128        // parameters and derived names at most
#define FCL_SPACE_POINTS (1 << 24) // valid points at most
#define FCL_NO_POINT UINT64_MAX

// An empty space; NULL when memory is out.
FCL_API fcl_space *fcl_space_create(void);
FCL_API void fcl_space_destroy(fcl_space **space);

// The functions that build return INVALID_ARGUMENT (also for a closed space) or OUT_OF_MEMORY, with
// a reason in `size` bytes (NULL: none), and then leave the space as it was.

// A parameter and its values in the order that makes neighbours similar. All texts are copied. A
// name is a word, or a word with a number such as size[0]; values differ in their text forms.
FCL_API enum fcl_status fcl_space_add_parameter(fcl_space *space, const char *name,
                                                const struct fcl_value *values, size_t count,
                                                char *reason, size_t size);

// A name for an expression over the names that were added before: for constraints, launch sizes,
// and constants.
FCL_API enum fcl_status fcl_space_add_derived(fcl_space *space, const char *name,
                                              const char *expression, char *reason, size_t size);

// A condition that valid points fulfil; `explanation` is the reason told for others (NULL: the
// expression). A constraint is tested as soon as all that it mentions is known, and in the order of
// adding; so put `B > 0` before `A % B == 0`.
FCL_API enum fcl_status fcl_space_add_constraint(fcl_space *space, const char *expression,
                                                 const char *explanation, char *reason,
                                                 size_t size);

// The caller's own constraint, asked for each point that passes all others: why it is not valid, or
// NULL. The text is copied. It must answer the same each time.
typedef const char *(*fcl_space_prune)(void *user, const fcl_space *space, uint64_t point);
FCL_API enum fcl_status fcl_space_set_prune(fcl_space *space, fcl_space_prune prune, void *user,
                                            char *reason, size_t size);

// Finds the valid points and closes the space. A constraint that cannot be computed (division by
// 0) is an error that names the point. Errors besides: more than FCL_SPACE_POINTS valid points, or
// 2^28 partial settings tried; a space without a valid point is none.
FCL_API enum fcl_status fcl_space_enumerate(fcl_space *space, char *reason, size_t size);

// Closes the space with given points, as recorded elsewhere, in place of constraints: those that
// there are, are not tested. Points may come in any order, each once.
FCL_API enum fcl_status fcl_space_enumerate_points(fcl_space *space, const uint64_t *points,
                                                   size_t count, char *reason, size_t size);

// Of a closed space keeps the `count` points of least cost (ties: the lower point).
typedef double (*fcl_space_cost)(void *user, const fcl_space *space, uint64_t point);
FCL_API enum fcl_status fcl_space_keep_cheapest(fcl_space *space, fcl_space_cost cost, void *user,
                                                size_t count, char *reason, size_t size);

// ---- what a space holds. Thread-safety: safe, as the space is.

FCL_API size_t fcl_space_parameters(const fcl_space *space);
FCL_API const char *fcl_space_parameter_name(const fcl_space *space, size_t parameter);
FCL_API size_t fcl_space_value_count(const fcl_space *space, size_t parameter);
FCL_API struct fcl_value fcl_space_value(const fcl_space *space, size_t parameter, size_t place);

// Settings with and without those that constraints exclude; 0 valid ones before it is closed.
FCL_API uint64_t fcl_space_size(const fcl_space *space);
FCL_API size_t fcl_space_count(const fcl_space *space);

// The valid points, ascending; and the index of one of them, or fcl_space_count for another point.
FCL_API uint64_t fcl_space_point(const fcl_space *space, size_t index);
FCL_API size_t fcl_space_index(const fcl_space *space, uint64_t point);

// Why points were excluded: constraints in order of adding, then what the prune function said (the
// first 64 texts; "other reasons" after them), then the cost. A point counts once, for the first.
FCL_API size_t fcl_space_reasons(const fcl_space *space);
FCL_API const char *fcl_space_reason(const fcl_space *space, size_t number, uint64_t *points);

// ---- what a point is. Points are below fcl_space_size. Thread-safety: safe, as the space is.

// The place of a parameter's value, and the point with another one.
FCL_API size_t fcl_point_place(const fcl_space *space, uint64_t point, size_t parameter);
FCL_API uint64_t fcl_point_move(const fcl_space *space, uint64_t point, size_t parameter,
                                size_t place);

// Value of a parameter or a derived name. Errors: INVALID_ARGUMENT for another name, or for what
// cannot be computed. Texts live as long as the space.
FCL_API enum fcl_status fcl_point_value(const fcl_space *space, uint64_t point, const char *name,
                                        struct fcl_value *value, char *reason, size_t size);

// An expression over all names of the space, and its value at a point.
FCL_API enum fcl_status fcl_space_compile(const fcl_space *space, const char *text,
                                          fcl_expression **expression, char *reason, size_t size);
FCL_API enum fcl_status fcl_point_evaluate(const fcl_space *space, uint64_t point,
                                           const fcl_expression *expression,
                                           struct fcl_value *result, char *reason, size_t size);

// OK, or UNSUPPORTED with the reason for which a constraint or the prune function excludes it.
FCL_API enum fcl_status fcl_point_validate(const fcl_space *space, uint64_t point, char *reason,
                                           size_t size);

// Text form: BM=16 BN=32 ORDER='row major'. Cut at `size`; returns the whole length.
FCL_API size_t fcl_point_format(const fcl_space *space, uint64_t point, char *text, size_t size);

// Reads it, parameters in any order; those with one value may be left out. Errors:
// INVALID_ARGUMENT. A point that is read need not be valid.
FCL_API enum fcl_status fcl_point_parse(const fcl_space *space, const char *text, uint64_t *point,
                                        char *reason, size_t size);

// Valid points that differ in one parameter: from its next valid value on each side, or from all
// others. By parameter, then by place. Writes at most `capacity`; returns how many there are.
enum fcl_neighbours { FCL_NEIGHBOURS_NEXT = 0, FCL_NEIGHBOURS_ALL };
FCL_API size_t fcl_point_neighbours(const fcl_space *space, uint64_t point,
                                    enum fcl_neighbours kind, uint64_t *points, size_t capacity);

// The first `count` valid points of a random order, which depends on nothing but the seed and the
// number of valid points; returns how many were written (all, where there are fewer).
FCL_API size_t fcl_space_sample(const fcl_space *space, uint64_t seed, uint64_t *points,
                                size_t count);

// ---- Search -----------------------------------------------------------------------------------

// A search proposes points of a space one after the other and is told what each is worth; it never
// proposes a point twice. It knows neither kernels nor clocks: the same search tunes a kernel and
// replays a recorded space. Thread-safety: one thread at a time for one object; the space must
// outlive it.
typedef struct fcl_search fcl_search;

struct fcl_search_options {
    size_t struct_size;
    const char *strategy; // NULL: fcl_search_default of the space
    uint64_t seed;        // the same seed and the same answers give the same proposals everywhere
    const uint64_t *seed_points; // for `seeded`: winners of near problems, best first, then the
                                 // default. Those that are not valid here are left out
    size_t seed_point_count;
    size_t evaluations; // proposals at most; 0: no limit
};

// Name of strategy `number`, and a sentence about it (may be NULL); NULL behind the last. Static
// texts. Thread-safety: safe.
FCL_API const char *fcl_search_strategy(size_t number, const char **description);

// The strategy for a space of so many valid points: exhaustive for fewer than 300, else seeded.
// Thread-safety: safe.
FCL_API const char *fcl_search_default(size_t points);

// Begins a search of a closed space. Options are copied; NULL: defaults. Errors: INVALID_ARGUMENT
// with a reason that names what is allowed, OUT_OF_MEMORY. Thread-safety: safe.
FCL_API enum fcl_status fcl_search_create(const fcl_space *space,
                                          const struct fcl_search_options *options,
                                          fcl_search **search, char *reason, size_t size);
FCL_API void fcl_search_destroy(fcl_search **search);

enum fcl_answer {
    FCL_ASK_LATER = -1, // tell of a point that was asked for first; some are outstanding
    FCL_ASK_DONE = 0,   // nothing is left to propose, now and later
    FCL_ASK_POINT = 1   // *point is the next one
};

// Asks for a point. Several may be outstanding, because builds run side by side.
FCL_API enum fcl_answer fcl_search_ask(fcl_search *search, uint64_t *point);

// Tells what a point is worth: a time, positive, lower is better; INFINITY: it failed. Points that
// were not asked for may be told too, such as results of an earlier run; they are then never
// proposed. A point told again has its new value. Errors: INVALID_ARGUMENT for a point that is not
// valid and for other values.
FCL_API enum fcl_status fcl_search_tell(fcl_search *search, uint64_t point, double value);

struct fcl_search_progress {
    size_t asked;        // points that were proposed
    size_t outstanding;  // of these, not told yet
    size_t told, failed; // points with a value; of these, INFINITY
    uint64_t best;       // FCL_NO_POINT where none has a finite value
    double best_value;   // INFINITY likewise
};

FCL_API void fcl_search_get_progress(const fcl_search *search,
                                     struct fcl_search_progress *progress);

#ifdef __cplusplus
}
#endif
#endif
