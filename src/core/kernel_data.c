// Elements of a kernel's arguments on the host.
#include "kernel_data.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "element.h"
#include "number.h"
#include "random.h"

static const char *const texts[] = {
#define FCL_X(name, text, bytes) text,
    FCL_SCALAR_LIST(FCL_X)
#undef FCL_X
};

// 0 for an unknown type.
static size_t bytes_of(enum fcl_scalar scalar)
{
    switch (scalar) {
#define FCL_X(name, text, bytes) \
    case FCL_SCALAR_##name:      \
        return bytes;
        FCL_SCALAR_LIST(FCL_X)
#undef FCL_X
    case FCL_SCALAR_COUNT:
        break;
    }
    return 0;
}

// ---- types

size_t fcl_element_size(struct fcl_element_type type)
{
    const int lanes = type.lanes == 0 ? 1 : type.lanes;
    if (lanes < 1 || lanes > 16 || (lanes & (lanes - 1)) != 0)
        return 0;
    return bytes_of(type.scalar) * (size_t)lanes;
}

// What follows the scalar's name: nothing, or a number of lanes. 0 for anything else.
static int read_lanes(const char *text)
{
    static const char *const lanes[] = {"", "2", "4", "8", "16"};
    for (size_t i = 0; i < FCL_COUNT(lanes); i++)
        if (strcmp(text, lanes[i]) == 0)
            return 1 << i;
    return 0;
}

enum fcl_status fcl_element_parse(const char *text, struct fcl_element_type *type, char *reason,
                                  size_t size)
{
    if (text == NULL || type == NULL)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%s is NULL",
                        text == NULL ? "text" : "type");
    for (int i = 0; i < FCL_SCALAR_COUNT; i++) {
        const size_t length = strlen(texts[i]);
        const int lanes = strncmp(text, texts[i], length) == 0 ? read_lanes(text + length) : 0;
        if (lanes == 0 || (lanes > 1 && !fcl_scalar_is_real((enum fcl_scalar)i)))
            continue;
        *type = (struct fcl_element_type){(enum fcl_scalar)i, lanes};
        return FCL_OK;
    }
    return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                    "element type '%s': int8, uint8, int16, uint16, int32, uint32, int64, uint64, "
                    "half, float and double are allowed, the last three also with 2, 4, 8 or 16 "
                    "lanes, such as float4",
                    text);
}

int fcl_scalar_is_real(enum fcl_scalar scalar)
{
    return scalar >= FCL_SCALAR_HALF;
}

const char *fcl_scalar_text(enum fcl_scalar scalar)
{
    return texts[scalar];
}

// ---- one scalar

static int is_signed(enum fcl_scalar scalar)
{
    return scalar == FCL_SCALAR_INT8 || scalar == FCL_SCALAR_INT16 || scalar == FCL_SCALAR_INT32 ||
           scalar == FCL_SCALAR_INT64;
}

static uint64_t load_unsigned(const void *at, enum fcl_scalar scalar)
{
    union {
        uint8_t b1;
        uint16_t b2;
        uint32_t b4;
        uint64_t b8;
    } bits = {.b8 = 0};
    memcpy(&bits, at, bytes_of(scalar));
    switch (bytes_of(scalar)) {
    case 1:
        return bits.b1;
    case 2:
        return bits.b2;
    case 4:
        return bits.b4;
    default:
        return bits.b8;
    }
}

static int64_t load_signed(const void *at, enum fcl_scalar scalar)
{
    const uint64_t bits = load_unsigned(at, scalar);
    const unsigned unused = 64 - 8 * (unsigned)bytes_of(scalar);
    const uint64_t sign = UINT64_C(1) << (63 - unused);
    return (int64_t)((bits ^ sign) - sign);
}

double fcl_scalar_load(const void *at, enum fcl_scalar scalar)
{
    double wide;
    switch (scalar) {
    case FCL_SCALAR_HALF:
        return fcl_element_load(at, FCL_F16, 0);
    case FCL_SCALAR_FLOAT:
        return fcl_element_load(at, FCL_F32, 0);
    case FCL_SCALAR_DOUBLE:
        memcpy(&wide, at, sizeof wide);
        return wide;
    default:
        return is_signed(scalar) ? (double)load_signed(at, scalar)
                                 : (double)load_unsigned(at, scalar);
    }
}

static void store_whole(void *at, enum fcl_scalar scalar, uint64_t bits)
{
    const uint8_t b1 = (uint8_t)bits;
    const uint16_t b2 = (uint16_t)bits;
    const uint32_t b4 = (uint32_t)bits;
    const void *const parts[] = {&b1, &b2, &b4, &bits};
    const size_t bytes = bytes_of(scalar);
    memcpy(at, parts[bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3], bytes);
}

static void store_real(void *at, enum fcl_scalar scalar, double real)
{
    if (scalar == FCL_SCALAR_DOUBLE)
        memcpy(at, &real, sizeof real);
    else
        fcl_element_store(at, scalar == FCL_SCALAR_HALF ? FCL_F16 : FCL_F32, 0, (float)real);
}

// The whole number in a value; 0 where it is none of 64 bits.
static int whole_of(const struct fcl_value *value, int64_t *whole)
{
    if (value->kind == FCL_VALUE_INTEGER || value->kind == FCL_VALUE_BOOL)
        *whole = value->integer;
    else if (value->kind == FCL_VALUE_REAL && value->real == floor(value->real) &&
             fabs(value->real) < 0x1p63)
        *whole = (int64_t)value->real;
    else
        return 0;
    return 1;
}

const char *fcl_scalar_store(void *at, enum fcl_scalar scalar, const struct fcl_value *value)
{
    int64_t whole;
    if (value->kind == FCL_VALUE_TEXT)
        return "is a text, not a number";
    if (fcl_scalar_is_real(scalar)) {
        store_real(at, scalar,
                   value->kind == FCL_VALUE_REAL ? value->real : (double)value->integer);
        return NULL;
    }
    if (!whole_of(value, &whole))
        return "is no whole number";
    if (!is_signed(scalar) && whole < 0)
        return "is negative";
    store_whole(at, scalar, (uint64_t)whole);
    const int same = is_signed(scalar) ? load_signed(at, scalar) == whole
                                       : load_unsigned(at, scalar) == (uint64_t)whole;
    return same ? NULL : "is out of the type's range";
}

void fcl_scalar_format(const void *at, enum fcl_scalar scalar, char text[FCL_SCALAR_SIZE])
{
    const double real = fcl_scalar_load(at, scalar);
    if (is_signed(scalar))
        snprintf(text, FCL_SCALAR_SIZE, "%" PRId64, load_signed(at, scalar));
    else if (!fcl_scalar_is_real(scalar))
        snprintf(text, FCL_SCALAR_SIZE, "%" PRIu64, load_unsigned(at, scalar));
    else if (isnan(real))
        snprintf(text, FCL_SCALAR_SIZE, "nan");
    else
        fcl_real_write(real, 9, text);
}

// ---- arrays

void fcl_data_fill_random(void *data, enum fcl_scalar scalar, size_t count, double low, double high,
                          uint64_t seed)
{
    const size_t bytes = bytes_of(scalar);
    char *at = data;
    for (size_t i = 0; i < count; i++, at += bytes) {
        const uint64_t random = fcl_random_mix(seed ^ fcl_random_mix(i));
        const double part = (double)(random >> 11) * 0x1p-53;
        if (fcl_scalar_is_real(scalar))
            store_real(at, scalar, low + (high - low) * part);
        else
            store_whole(at, scalar,
                        (uint64_t)(int64_t)fmin(high, floor(low + (high - low + 1) * part)));
    }
}

struct fcl_tolerance fcl_data_tolerance(const struct fcl_kernel_argument *argument,
                                        const void *expected, size_t count)
{
    const enum fcl_scalar scalar = argument->type.scalar;
    const struct fcl_tolerance given = {argument->absolute, argument->relative};
    const char *at = expected;
    double largest = 0;
    if (given.absolute > 0 || given.relative > 0 || !fcl_scalar_is_real(scalar))
        return given;
    for (size_t i = 0; i < count; i++, at += bytes_of(scalar)) {
        const double magnitude = fabs(fcl_scalar_load(at, scalar));
        if (isfinite(magnitude))
            largest = fmax(largest, magnitude);
    }
    const double part = scalar == FCL_SCALAR_HALF ? 1e-2 : scalar == FCL_SCALAR_FLOAT ? 1e-4 : 1e-8;
    return (struct fcl_tolerance){part * largest, 0};
}

// |a - b|, exactly also where a double cannot hold a and b.
static double distance(const void *a, const void *b, enum fcl_scalar scalar)
{
    if (fcl_scalar_is_real(scalar))
        return fabs(fcl_scalar_load(a, scalar) - fcl_scalar_load(b, scalar));
    if (is_signed(scalar)) {
        const int64_t x = load_signed(a, scalar), y = load_signed(b, scalar);
        return (double)(x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x);
    }
    const uint64_t x = load_unsigned(a, scalar), y = load_unsigned(b, scalar);
    return (double)(x > y ? x - y : y - x);
}

// The error as a part of what is allowed.
static double ratio_of(const void *got, const void *expected, enum fcl_scalar scalar,
                       struct fcl_tolerance tolerance)
{
    const double a = fcl_scalar_load(got, scalar), b = fcl_scalar_load(expected, scalar);
    const double error = distance(got, expected, scalar);
    const double allowed = tolerance.absolute + tolerance.relative * fabs(b);
    if (error == 0 || (isnan(a) && isnan(b)) || (isinf(a) && a == b))
        return 0;
    if (!isfinite(a) || !isfinite(b) || allowed == 0)
        return INFINITY;
    return error / allowed;
}

struct fcl_data_comparison fcl_data_compare(const void *data, const void *expected,
                                            enum fcl_scalar scalar, size_t count,
                                            struct fcl_tolerance tolerance)
{
    struct fcl_data_comparison comparison = {0};
    const size_t bytes = bytes_of(scalar);
    const char *a = data, *b = expected;
    if (memcmp(data, expected, count * bytes) == 0)
        return comparison;
    for (size_t i = 0; i < count; i++, a += bytes, b += bytes) {
        const double ratio = ratio_of(a, b, scalar, tolerance);
        comparison.ratio = fmax(comparison.ratio, ratio);
        if (ratio > 1 && comparison.wrong++ == 0)
            comparison.first = i;
    }
    return comparison;
}
