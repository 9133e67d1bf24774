// Values and arithmetic on them, with Python's meaning.
#ifndef FCL_CORE_VALUE_H
#define FCL_CORE_VALUE_H

#include <flashcl/search.h>

#include "common.h"
#include "text.h"

enum fcl_operation {
    FCL_NEGATE,
    FCL_PLUS,
    FCL_INVERT, // of one operand up to here
    FCL_ADD,
    FCL_SUBTRACT,
    FCL_MULTIPLY,
    FCL_DIVIDE,
    FCL_FLOOR_DIVIDE,
    FCL_REMAINDER,
    FCL_POWER,
    FCL_BIT_AND,
    FCL_BIT_OR,
    FCL_BIT_XOR,
    FCL_SHIFT_LEFT,
    FCL_SHIFT_RIGHT
};

enum fcl_function {
    FCL_ABS,
    FCL_ROUND,
    FCL_CEIL,
    FCL_FLOOR,
    FCL_LOG2,
    FCL_SQRT,
    FCL_INT,
    FCL_FLOAT,
    FCL_BOOL
};

// These compute *result and return NULL, or say what is wrong: static text.
const char *fcl_value_unary(enum fcl_operation operation, const struct fcl_value *a,
                            struct fcl_value *result);
const char *fcl_value_binary(enum fcl_operation operation, const struct fcl_value *a,
                             const struct fcl_value *b, struct fcl_value *result);
const char *fcl_value_call(enum fcl_function function, const struct fcl_value *a,
                           struct fcl_value *result);

// *order becomes negative, 0 or positive; what is wrong where a text meets a number.
const char *fcl_value_compare(const struct fcl_value *a, const struct fcl_value *b, int *order);

void fcl_value_add(struct fcl_text *text, const struct fcl_value *value);

#endif
