// Values and arithmetic on them. What Python computes with integers of any size is an error here
// where it leaves 64 bits.
#include "value.h"

#include <math.h>
#include <string.h>

#include "number.h"

#define BEYOND "the result is beyond 64-bit integers"
#define NOT_FINITE "the result is not a finite number"
#define BY_ZERO "division by zero"
#define TEXT_OPERAND "a text is no number"
#define WHOLE_ONLY "whole numbers are needed"

// 2^63: every double below it, and not below its negative, fits a 64-bit integer when truncated.
#define INTEGER_END 9223372036854775808.0

struct fcl_value fcl_value_integer(int64_t integer)
{
    return (struct fcl_value){.kind = FCL_VALUE_INTEGER, .integer = integer};
}

struct fcl_value fcl_value_real(double real)
{
    return (struct fcl_value){.kind = FCL_VALUE_REAL, .real = real};
}

struct fcl_value fcl_value_bool(int truth)
{
    return (struct fcl_value){.kind = FCL_VALUE_BOOL, .integer = truth != 0};
}

struct fcl_value fcl_value_text(const char *text)
{
    return (struct fcl_value){.kind = FCL_VALUE_TEXT, .text = text};
}

// ---- what values are

static int is_whole(const struct fcl_value *value)
{
    return value->kind == FCL_VALUE_INTEGER || value->kind == FCL_VALUE_BOOL;
}

static double real_of(const struct fcl_value *value)
{
    return value->kind == FCL_VALUE_REAL ? value->real : (double)value->integer;
}

int fcl_value_is_true(const struct fcl_value *value)
{
    switch (value->kind) {
    case FCL_VALUE_REAL:
        return value->real != 0.0;
    case FCL_VALUE_TEXT:
        return value->text[0] != 0;
    default:
        return value->integer != 0;
    }
}

// Exact also where a double cannot hold the integer.
static int compare_mixed(int64_t integer, double real)
{
    if (real >= INTEGER_END)
        return -1;
    if (real < -INTEGER_END)
        return 1;
    const int64_t whole = (int64_t)real;
    if (integer != whole)
        return integer < whole ? -1 : 1;
    const double rest = real - (double)whole;
    return (rest < 0.0) - (rest > 0.0);
}

const char *fcl_value_compare(const struct fcl_value *a, const struct fcl_value *b, int *order)
{
    if ((a->kind == FCL_VALUE_TEXT) != (b->kind == FCL_VALUE_TEXT))
        return "a text and a number have no order";
    if (a->kind == FCL_VALUE_TEXT)
        *order = strcmp(a->text, b->text);
    else if (is_whole(a) && is_whole(b))
        *order = (a->integer > b->integer) - (a->integer < b->integer);
    else if (is_whole(a))
        *order = compare_mixed(a->integer, b->real);
    else if (is_whole(b))
        *order = -compare_mixed(b->integer, a->real);
    else
        *order = (a->real > b->real) - (a->real < b->real);
    return NULL;
}

int fcl_value_equal(const struct fcl_value *a, const struct fcl_value *b)
{
    int order = 1;
    return fcl_value_compare(a, b, &order) == NULL && order == 0;
}

// The fewest digits that give the number back, and at least one behind the point.
static void add_real(struct fcl_text *text, double real)
{
    char digits[FCL_REAL_SIZE];
    for (int count = 6; count <= 17; count++) {
        fcl_real_write(real, count, digits);
        double again;
        const char *start = digits + (digits[0] == '-');
        if (fcl_real_read(start, digits + strlen(digits), &again) && again == fabs(real))
            break;
    }
    fcl_text_add(text, "%s%s", digits, strpbrk(digits, ".einf") == NULL ? ".0" : "");
}

void fcl_value_add(struct fcl_text *text, const struct fcl_value *value)
{
    switch (value->kind) {
    case FCL_VALUE_INTEGER:
        fcl_text_add(text, "%lld", (long long)value->integer);
        break;
    case FCL_VALUE_REAL:
        add_real(text, value->real);
        break;
    case FCL_VALUE_BOOL:
        fcl_text_add(text, value->integer ? "True" : "False");
        break;
    case FCL_VALUE_TEXT:
        fcl_text_add(text, "%s", value->text);
        break;
    }
}

size_t fcl_value_format(const struct fcl_value *value, char *text, size_t size)
{
    struct fcl_text out = {0};
    if (value != NULL)
        fcl_value_add(&out, value);
    return fcl_text_emit(&out, text, size);
}

// ---- results

static const char *give_integer(int64_t integer, struct fcl_value *result)
{
    *result = fcl_value_integer(integer);
    return NULL;
}

static const char *give_real(double real, struct fcl_value *result)
{
    if (!isfinite(real))
        return NOT_FINITE;
    *result = fcl_value_real(real);
    return NULL;
}

// A real without fraction, as an integer.
static const char *give_whole(double real, struct fcl_value *result)
{
    if (!(real >= -INTEGER_END && real < INTEGER_END))
        return BEYOND;
    return give_integer((int64_t)real, result);
}

// ---- whole numbers

static const char *add(int64_t a, int64_t b, struct fcl_value *result)
{
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b)
        return BEYOND;
    return give_integer(a + b, result);
}

static const char *subtract(int64_t a, int64_t b, struct fcl_value *result)
{
    if (b > 0 ? a < INT64_MIN + b : a > INT64_MAX + b)
        return BEYOND;
    return give_integer(a - b, result);
}

static int product_fits(int64_t a, int64_t b)
{
    if (a == 0 || b == 0)
        return 1;
    if (a > 0)
        return b > 0 ? a <= INT64_MAX / b : b >= INT64_MIN / a;
    return b > 0 ? a >= INT64_MIN / b : b >= INT64_MAX / a;
}

static const char *multiply(int64_t a, int64_t b, struct fcl_value *result)
{
    return product_fits(a, b) ? give_integer(a * b, result) : BEYOND;
}

// Rounded down, not toward zero.
static const char *floor_divide(int64_t a, int64_t b, struct fcl_value *result)
{
    if (b == 0)
        return BY_ZERO;
    if (a == INT64_MIN && b == -1)
        return BEYOND;
    return give_integer(a / b - (a % b != 0 && (a < 0) != (b < 0)), result);
}

// Of the divisor's sign.
static const char *remainder_of(int64_t a, int64_t b, struct fcl_value *result)
{
    if (b == 0)
        return BY_ZERO;
    const int64_t rest = b == -1 ? 0 : a % b;
    return give_integer(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest, result);
}

static const char *power(int64_t a, int64_t exponent, struct fcl_value *result)
{
    int64_t product = 1;
    for (int64_t left = exponent; left > 0; left /= 2) {
        if (left % 2 == 1) {
            if (!product_fits(product, a))
                return BEYOND;
            product *= a;
        }
        if (left > 1) {
            if (!product_fits(a, a))
                return BEYOND;
            a *= a;
        }
    }
    return give_integer(product, result);
}

static const char *shift(enum fcl_operation operation, int64_t a, int64_t by,
                         struct fcl_value *result)
{
    if (by < 0)
        return "the shift is negative";
    if (by < 63)
        return operation == FCL_SHIFT_LEFT ? multiply(a, INT64_C(1) << by, result)
                                           : floor_divide(a, INT64_C(1) << by, result);
    if (operation == FCL_SHIFT_LEFT && a != 0)
        return BEYOND;
    return give_integer(a < 0 ? -1 : 0, result);
}

static const char *compute_whole(enum fcl_operation operation, int64_t a, int64_t b,
                                 struct fcl_value *result)
{
    switch (operation) {
    case FCL_ADD:
        return add(a, b, result);
    case FCL_SUBTRACT:
        return subtract(a, b, result);
    case FCL_MULTIPLY:
        return multiply(a, b, result);
    case FCL_FLOOR_DIVIDE:
        return floor_divide(a, b, result);
    case FCL_REMAINDER:
        return remainder_of(a, b, result);
    case FCL_POWER:
        return power(a, b, result);
    case FCL_BIT_AND:
        return give_integer(a & b, result);
    case FCL_BIT_OR:
        return give_integer(a | b, result);
    case FCL_BIT_XOR:
        return give_integer(a ^ b, result);
    default:
        return shift(operation, a, b, result);
    }
}

// ---- reals

static double remainder_real(double a, double b)
{
    const double rest = fmod(a, b);
    return rest != 0.0 && (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}

static double floor_divide_real(double a, double b)
{
    const double quotient = (a - remainder_real(a, b)) / b, whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1.0 : whole;
}

static const char *power_real(double a, double b, struct fcl_value *result)
{
    if (a == 0.0 && b < 0.0)
        return BY_ZERO;
    if (a < 0.0 && b != floor(b))
        return "a root of a negative number";
    return give_real(pow(a, b), result);
}

static const char *compute_real(enum fcl_operation operation, double a, double b,
                                struct fcl_value *result)
{
    switch (operation) {
    case FCL_ADD:
        return give_real(a + b, result);
    case FCL_SUBTRACT:
        return give_real(a - b, result);
    case FCL_MULTIPLY:
        return give_real(a * b, result);
    case FCL_POWER:
        return power_real(a, b, result);
    case FCL_DIVIDE:
        return b == 0.0 ? BY_ZERO : give_real(a / b, result);
    case FCL_FLOOR_DIVIDE:
        return b == 0.0 ? BY_ZERO : give_real(floor_divide_real(a, b), result);
    case FCL_REMAINDER:
        return b == 0.0 ? BY_ZERO : give_real(remainder_real(a, b), result);
    default:
        return WHOLE_ONLY;
    }
}

// ---- operations and functions

const char *fcl_value_binary(enum fcl_operation operation, const struct fcl_value *a,
                             const struct fcl_value *b, struct fcl_value *result)
{
    if (a->kind == FCL_VALUE_TEXT || b->kind == FCL_VALUE_TEXT)
        return TEXT_OPERAND;
    const int is_root = operation == FCL_POWER && is_whole(b) && b->integer < 0;
    if (!is_whole(a) || !is_whole(b) || operation == FCL_DIVIDE || is_root)
        return compute_real(operation, real_of(a), real_of(b), result);
    const int of_bools = a->kind == FCL_VALUE_BOOL && b->kind == FCL_VALUE_BOOL;
    const char *problem = compute_whole(operation, a->integer, b->integer, result);
    if (problem == NULL && of_bools && operation >= FCL_BIT_AND && operation <= FCL_BIT_XOR)
        result->kind = FCL_VALUE_BOOL;
    return problem;
}

const char *fcl_value_unary(enum fcl_operation operation, const struct fcl_value *a,
                            struct fcl_value *result)
{
    if (a->kind == FCL_VALUE_TEXT)
        return TEXT_OPERAND;
    if (a->kind == FCL_VALUE_REAL) {
        if (operation == FCL_INVERT)
            return WHOLE_ONLY;
        return give_real(operation == FCL_NEGATE ? -a->real : a->real, result);
    }
    switch (operation) {
    case FCL_NEGATE:
        return subtract(0, a->integer, result);
    case FCL_INVERT:
        return give_integer(~a->integer, result);
    default:
        return give_integer(a->integer, result);
    }
}

static const char *root_or_log(enum fcl_function function, double a, struct fcl_value *result)
{
    if (function == FCL_LOG2)
        return a > 0.0 ? give_real(log2(a), result) : "log2 needs a positive number";
    return a >= 0.0 ? give_real(sqrt(a), result) : "sqrt needs a number that is not negative";
}

const char *fcl_value_call(enum fcl_function function, const struct fcl_value *a,
                           struct fcl_value *result)
{
    if (function == FCL_BOOL) {
        *result = fcl_value_bool(fcl_value_is_true(a));
        return NULL;
    }
    if (a->kind == FCL_VALUE_TEXT)
        return TEXT_OPERAND;
    if (function == FCL_LOG2 || function == FCL_SQRT)
        return root_or_log(function, real_of(a), result);
    if (function == FCL_FLOAT)
        return give_real(real_of(a), result);
    if (is_whole(a))
        return function == FCL_ABS && a->integer < 0 ? subtract(0, a->integer, result)
                                                     : give_integer(a->integer, result);
    switch (function) {
    case FCL_ABS:
        return give_real(fabs(a->real), result);
    case FCL_ROUND:
        return give_whole(nearbyint(a->real), result);
    case FCL_CEIL:
        return give_whole(ceil(a->real), result);
    case FCL_FLOOR:
        return give_whole(floor(a->real), result);
    default:
        return give_whole(trunc(a->real), result);
    }
}
