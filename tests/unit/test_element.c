// Conversions between element types: every 16-bit pattern, every tie, and the special values.
#include "cmocka_all.h"

#include <math.h>

#include "core/element.h"

#define F16_PATTERNS 0x7c00 // finite ones of one sign, from 0 up
#define BF16_PATTERNS 0x7f80

static float load_bits(enum fcl_dtype dtype, uint32_t bits)
{
    const uint16_t half = (uint16_t)bits;
    return fcl_element_load(&half, dtype, 0);
}

static uint32_t store_bits(enum fcl_dtype dtype, float value)
{
    uint16_t half = 0xdead;
    fcl_element_store(&half, dtype, 0, value);
    return half;
}

static void every_pattern_round_trips(void **state)
{
    (void)state;
    const enum fcl_dtype types[] = {FCL_F16, FCL_BF16};
    for (size_t t = 0; t < FCL_COUNT(types); t++)
        for (uint32_t bits = 0; bits < 0x10000; bits++) {
            const float value = load_bits(types[t], bits);
            const uint32_t infinity = types[t] == FCL_F16 ? F16_PATTERNS : BF16_PATTERNS;
            if ((bits & 0x7fff) > infinity) {
                assert_true(isnan(value));
                assert_true(isnan(load_bits(types[t], store_bits(types[t], value))));
            } else {
                assert_int_equal(store_bits(types[t], value), bits);
            }
        }
}

static void patterns_have_their_ieee_values(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < F16_PATTERNS; bits++) {
        const int exponent = (int)(bits >> 10), mantissa = (int)(bits & 0x3ff);
        const double expected =
            exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024 + mantissa, exponent - 25);
        assert_true((double)load_bits(FCL_F16, bits) == expected);
        assert_true((double)load_bits(FCL_F16, bits | 0x8000) == -expected);
    }
    assert_true(load_bits(FCL_F16, 0x3555) == 0.333251953125f);
    assert_true(load_bits(FCL_BF16, 0x3fc0) == 1.5f);
    assert_true(load_bits(FCL_BF16, 0xc2f7) == -123.5f);
    assert_true(load_bits(FCL_BF16, 0x0001) == 0x1p-133f);
    assert_true(isinf(load_bits(FCL_F16, 0x7c00)) && isinf(load_bits(FCL_BF16, 0xff80)));
    assert_true(signbit(load_bits(FCL_F16, 0x8000)) && signbit(load_bits(FCL_BF16, 0x8000)));
}

// Between each pattern and the next: below the middle, the middle (to even), above the middle.
static void ties_go_to_even(void **state)
{
    (void)state;
    static const struct {
        enum fcl_dtype dtype;
        uint32_t patterns;
    } cases[] = {{FCL_F16, F16_PATTERNS}, {FCL_BF16, BF16_PATTERNS}};
    for (size_t c = 0; c < FCL_COUNT(cases); c++)
        for (uint32_t bits = 0; bits + 1 < cases[c].patterns; bits++) {
            const enum fcl_dtype dtype = cases[c].dtype;
            const double low = (double)load_bits(dtype, bits);
            const double high = (double)load_bits(dtype, bits + 1);
            const float middle = (float)((low + high) / 2);
            assert_int_equal(store_bits(dtype, middle), bits + (bits & 1));
            assert_int_equal(store_bits(dtype, nextafterf(middle, 0)), bits);
            assert_int_equal(store_bits(dtype, nextafterf(middle, INFINITY)), bits + 1);
            assert_int_equal(store_bits(dtype, -middle), (bits + (bits & 1)) | 0x8000);
        }
}

static void large_values_become_infinite(void **state)
{
    (void)state;
    assert_int_equal(store_bits(FCL_F16, nextafterf(65520.0f, 0)), 0x7bff);
    assert_int_equal(store_bits(FCL_F16, 65520.0f), 0x7c00);
    assert_int_equal(store_bits(FCL_F16, 65536.0f), 0x7c00);
    assert_int_equal(store_bits(FCL_F16, -3e38f), 0xfc00);
    assert_int_equal(store_bits(FCL_F16, -INFINITY), 0xfc00);
    assert_int_equal(store_bits(FCL_BF16, nextafterf(0x1.ffp127f, 0)), 0x7f7f);
    assert_int_equal(store_bits(FCL_BF16, 0x1.ffp127f), 0x7f80);
    assert_int_equal(store_bits(FCL_BF16, INFINITY), 0x7f80);
}

static void tiny_values_become_zero_of_their_sign(void **state)
{
    (void)state;
    assert_int_equal(store_bits(FCL_F16, 0x1p-25f), 0);
    assert_int_equal(store_bits(FCL_F16, nextafterf(0x1p-25f, 1)), 1);
    assert_int_equal(store_bits(FCL_F16, -0x1p-30f), 0x8000);
    assert_int_equal(store_bits(FCL_F16, 0x1p-149f), 0);
    assert_int_equal(store_bits(FCL_BF16, 0x1p-134f), 0);
    assert_int_equal(store_bits(FCL_BF16, -0x1p-149f), 0x8000);
}

static void nan_stays_nan(void **state)
{
    (void)state;
    const uint32_t patterns[] = {0x7f800001, 0x7fbfffff, 0x7fc00000, 0xff800001, 0xffffffff};
    for (size_t i = 0; i < FCL_COUNT(patterns); i++) {
        float value;
        memcpy(&value, &patterns[i], sizeof value);
        assert_true(isnan(load_bits(FCL_F16, store_bits(FCL_F16, value))));
        assert_true(isnan(load_bits(FCL_BF16, store_bits(FCL_BF16, value))));
        float stored;
        fcl_element_store(&stored, FCL_F32, 0, value);
        assert_true(isnan(fcl_element_load(&stored, FCL_F32, 0)));
    }
}

static void elements_are_indexed_by_their_size(void **state)
{
    (void)state;
    const enum fcl_dtype types[] = {FCL_F32, FCL_F16, FCL_BF16};
    for (size_t t = 0; t < FCL_COUNT(types); t++) {
        // Misaligned on purpose.
        unsigned char bytes[1 + 6 * sizeof(float)];
        memset(bytes, 0xff, sizeof bytes);
        for (int i = 0; i < 6; i++)
            fcl_element_store(bytes + 1, types[t], i, (float)i - 2);
        float row[6];
        fcl_element_load_row(bytes + 1, types[t], 1, 2, 3, row);
        assert_true(row[0] == -1 && row[1] == 1 && row[2] == 3);
        fcl_element_load_row(bytes + 1, types[t], 4, 0, 2, row);
        assert_true(row[0] == 2 && row[1] == 2);
        fcl_element_load_row(bytes + 1, types[t], 5, -2, 3, row);
        assert_true(row[0] == 3 && row[1] == 1 && row[2] == -1);
        assert_int_equal(bytes[0], 0xff);
    }
}

static void constants_match_the_conversions(void **state)
{
    (void)state;
    const enum fcl_dtype types[] = {FCL_F16, FCL_BF16};
    for (size_t t = 0; t < FCL_COUNT(types); t++) {
        const enum fcl_dtype dtype = types[t];
        const float u = (float)fcl_element_roundoff(dtype);
        assert_true(fcl_element_round(dtype, 1 + u) == 1);
        assert_true(fcl_element_round(dtype, 1 + 2 * u) == 1 + 2 * u);
        const float smallest = (float)(2 * fcl_element_half_smallest(dtype));
        assert_true(fcl_element_round(dtype, smallest) == smallest);
        assert_true(fcl_element_round(dtype, smallest / 2) == 0);
        const float overflow = (float)fcl_element_overflow(dtype);
        assert_true(isinf(fcl_element_round(dtype, overflow)));
        assert_false(isinf(fcl_element_round(dtype, nextafterf(overflow, 0))));
    }
    assert_true(fcl_element_roundoff(FCL_F32) == 0x1p-24);
    assert_true(fcl_element_round(FCL_F32, 0.1f) == 0.1f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pattern_round_trips),
        cmocka_unit_test(patterns_have_their_ieee_values),
        cmocka_unit_test(ties_go_to_even),
        cmocka_unit_test(large_values_become_infinite),
        cmocka_unit_test(tiny_values_become_zero_of_their_sign),
        cmocka_unit_test(nan_stays_nan),
        cmocka_unit_test(elements_are_indexed_by_their_size),
        cmocka_unit_test(constants_match_the_conversions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
