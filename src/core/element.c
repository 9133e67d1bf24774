// Conversion between element types, by bit operations so that every host gives the same bits:
// round to nearest even, subnormals kept, NaN stays NaN.
#include "element.h"

#include <string.h>

#define F32_INFINITY 0x7f800000u
#define F16_INFINITY 0x7c00u

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// Drops the lowest `count` (1 to 31) bits, rounding to nearest even. The carry may run into the
// exponent: that is the right result there, up to infinity.
static uint32_t round_off(uint32_t bits, uint32_t count)
{
    const uint32_t kept = bits >> count;
    return (bits + (1u << (count - 1)) - 1 + (kept & 1)) >> count;
}

static float f16_to_float(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    const uint32_t exponent = half >> 10 & 0x1fu;
    const uint32_t mantissa = half & 0x3ffu;
    if (exponent == 0) {
        const float magnitude = (float)mantissa * 0x1p-24f;
        return sign != 0 ? -magnitude : magnitude;
    }
    if (exponent == 0x1f)
        return float_of(sign | F32_INFINITY | mantissa << 13);
    return float_of(sign | (exponent + 112) << 23 | mantissa << 13);
}

static uint16_t f16_from_float(float value)
{
    const uint32_t bits = bits_of(value);
    const uint32_t sign = bits >> 16 & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t half;
    if (magnitude > F32_INFINITY)
        half = F16_INFINITY | 0x200u | (magnitude >> 13 & 0x3ffu);
    else if (magnitude >= 0x47800000u) // 65536 and up
        half = F16_INFINITY;
    else if (magnitude >= 0x38800000u) // 2^-14 and up: normal; 65520 and up carries to infinity
        half = round_off(magnitude - 0x38000000u, 13);
    else if (magnitude >= 0x33000000u) // 2^-25 and up: subnormal, or 0 by the tie
        half = round_off((magnitude & 0x7fffffu) | 0x800000u, 126 - (magnitude >> 23));
    else
        half = 0;
    return (uint16_t)(sign | half);
}

static float bf16_to_float(uint16_t upper)
{
    return float_of((uint32_t)upper << 16);
}

static uint16_t bf16_from_float(float value)
{
    const uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffffu) > F32_INFINITY)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)round_off(bits, 16);
}

float fcl_element_load(const void *data, enum fcl_dtype dtype, int64_t index)
{
    float value;
    fcl_element_load_row(data, dtype, index, 1, 1, &value);
    return value;
}

void fcl_element_store(void *data, enum fcl_dtype dtype, int64_t index, float value)
{
    char *at = (char *)data + index * (int64_t)fcl_dtype_size(dtype);
    if (dtype == FCL_F32) {
        memcpy(at, &value, sizeof value);
        return;
    }
    const uint16_t half = dtype == FCL_F16 ? f16_from_float(value) : bf16_from_float(value);
    memcpy(at, &half, sizeof half);
}

void fcl_element_load_row(const void *data, enum fcl_dtype dtype, int64_t first, int64_t stride,
                          int count, float *row)
{
    const int64_t element = (int64_t)fcl_dtype_size(dtype);
    const char *at = (const char *)data + first * element;
    const int64_t step = stride * element;
    if (dtype == FCL_F32) {
        for (int i = 0; i < count; i++)
            memcpy(&row[i], at + i * step, sizeof row[i]);
        return;
    }
    for (int i = 0; i < count; i++) {
        uint16_t half;
        memcpy(&half, at + i * step, sizeof half);
        row[i] = dtype == FCL_F16 ? f16_to_float(half) : bf16_to_float(half);
    }
}

float fcl_element_round(enum fcl_dtype dtype, float value)
{
    float stored = 0;
    fcl_element_store(&stored, dtype, 0, value);
    return fcl_element_load(&stored, dtype, 0);
}

double fcl_element_roundoff(enum fcl_dtype dtype)
{
    return dtype == FCL_F32 ? 0x1p-24 : dtype == FCL_F16 ? 0x1p-11 : 0x1p-8;
}

double fcl_element_half_smallest(enum fcl_dtype dtype)
{
    return dtype == FCL_F32 ? 0x1p-150 : dtype == FCL_F16 ? 0x1p-25 : 0x1p-134;
}

double fcl_element_overflow(enum fcl_dtype dtype)
{
    return dtype == FCL_F32 ? 0x1.ffffffp127 : dtype == FCL_F16 ? 65520.0 : 0x1.ffp127;
}
