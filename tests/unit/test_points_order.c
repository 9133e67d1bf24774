// Points of a space: their text form, neighbours, random orders.
#include "cmocka_all.h"

#include "core/common.h"
#include "core/random.h"
#include "spaces.h"

// ---- text form

static void points_have_a_text_form(void **state)
{
    (void)state;
    static const char *const parameters[] = {
        "BM",  "[16, 32]",      "X", "[0.5, 1.0]",
        "F",   "[True, False]", "W", "['a', '', 'b c', \"don't\"]",
        "ONE", "[7]",           NULL};
    fcl_space *space = test_space(parameters, NULL);
    char text[100];
    for (uint64_t point = 0; point < fcl_space_size(space); point++) {
        assert_true(fcl_point_format(space, point, text, sizeof text) < sizeof text);
        assert_int_equal(test_point(space, text), point);
    }
    assert_string_equal(text, "BM=32 X=1.0 F=False W=\"don't\" ONE=7");
    assert_int_equal(fcl_point_format(space, 0, text, 6), strlen("BM=16 X=0.5 F=True W=a ONE=7"));
    assert_string_equal(text, "BM=16");
    assert_int_equal(fcl_point_format(space, 1000, text, sizeof text), 0);
    assert_int_equal(test_point(space, "  W='b c'  F=True X=1.0 BM=16 "),
                     test_point(space, "BM=16 X=1.0 F=True W=\"b c\" ONE=7"));
    static const struct {
        const char *text, *reason;
    } wrong[] = {
        {"BM=16", "parameter X is not set"},
        {"", "parameter BM is not set"},
        {"BM=17", "BM is `17`; allowed are 16 32"},
        {"BM=", "BM is ``; allowed"},
        {"BM", "`BM` is no parameter; allowed are BM= X= F= W= ONE="},
        {"BN=16", "`BN` is no parameter"},
        {"=16", "`` is no parameter"},
        {"BM=16 BM=16", "BM is set twice"},
        {"W='a", "W is `'a`; allowed are a '' 'b c' \"don't\""},
        {"W='a'x", "W is `'a'`"},
        {"W=b c", "W is `b`"},
        {"X=1", "X is `1`; allowed are 0.5 1.0"},
    };
    for (size_t i = 0; i < FCL_COUNT(wrong); i++) {
        uint64_t point = 3;
        char reason[200] = "";
        test_refused(fcl_point_parse(space, wrong[i].text, &point, reason, sizeof reason), reason,
                     wrong[i].reason);
        assert_int_equal(point, 3);
    }
    fcl_space_destroy(&space);
}

// ---- neighbours

static int contains(const uint64_t *points, size_t count, uint64_t point)
{
    for (size_t i = 0; i < count; i++)
        if (points[i] == point)
            return 1;
    return 0;
}

static void neighbours_differ_in_one_parameter(void **state)
{
    (void)state;
    fcl_space *space = test_convolution();
    static uint64_t all[100], next[100];
    for (size_t i = 0; i < fcl_space_count(space); i += 7) {
        const uint64_t point = fcl_space_point(space, i);
        const size_t count = fcl_point_neighbours(space, point, FCL_NEIGHBOURS_ALL, all, 100);
        size_t expected = 0;
        for (size_t p = 0; p < fcl_space_parameters(space); p++)
            for (size_t v = 0; v < fcl_space_value_count(space, p); v++)
                if (v != fcl_point_place(space, point, p) &&
                    fcl_point_validate(space, fcl_point_move(space, point, p, v), NULL, 0) ==
                        FCL_OK)
                    assert_int_equal(all[expected++], fcl_point_move(space, point, p, v));
        assert_int_equal(count, expected);
        const size_t few = fcl_point_neighbours(space, point, FCL_NEIGHBOURS_NEXT, next, 100);
        assert_true(few <= count && few > 0);
        for (size_t k = 0; k < few; k++) // the relation holds both ways
            assert_true(contains(
                all, fcl_point_neighbours(space, next[k], FCL_NEIGHBOURS_NEXT, all, 100), point));
    }
    fcl_space_destroy(&space);
}

static void next_neighbours_skip_invalid_values(void **state)
{
    (void)state;
    static const char *const parameters[] = {"A", "range(9)", "B", "[0, 1]", NULL};
    static const char *const constraints[] = {"A not in [2, 3, 5]", "A != 4 or B == 1", NULL};
    fcl_space *space = test_space(parameters, constraints);
    uint64_t points[4];
    assert_int_equal(
        fcl_point_neighbours(space, test_point(space, "A=4 B=1"), FCL_NEIGHBOURS_NEXT, points, 4),
        2);
    assert_int_equal(points[0], test_point(space, "A=1 B=1"));
    assert_int_equal(points[1], test_point(space, "A=6 B=1"));
    assert_int_equal(
        fcl_point_neighbours(space, test_point(space, "A=6 B=0"), FCL_NEIGHBOURS_NEXT, points, 2),
        3);
    assert_int_equal(points[0], test_point(space, "A=1 B=0"));
    assert_int_equal(points[1], test_point(space, "A=7 B=0"));
    fcl_space_destroy(&space);
}

// ---- random orders

static void random_numbers_are_fixed(void **state)
{
    (void)state;
    // The first numbers of splitmix64 with seed 1234567, as published with it.
    static const uint64_t expected[] = {UINT64_C(6457827717110365317),
                                        UINT64_C(3203168211198807973),
                                        UINT64_C(9817491932198370423)};
    uint64_t a = 1234567, b = 1234567;
    for (size_t i = 0; i < FCL_COUNT(expected); i++) {
        assert_true(fcl_random_mix(1234567 + i * UINT64_C(0x9e3779b97f4a7c15)) == expected[i]);
        assert_true(fcl_random_below(&a, UINT64_MAX) == expected[i]);
        assert_true(fcl_random_below(&b, 10) == expected[i] % 10);
    }
}

static void a_random_order_holds_each_place_once(void **state)
{
    (void)state;
    static unsigned char seen[70000];
    static const uint64_t counts[] = {1, 2, 3, 4, 5, 16, 17, 100, 255, 256, 257, 4362, 65537};
    for (size_t c = 0; c < FCL_COUNT(counts); c++)
        for (uint64_t seed = 0; seed < 4; seed++) {
            memset(seen, 0, sizeof seen);
            for (uint64_t i = 0; i < counts[c]; i++) {
                const uint64_t place = fcl_random_place(seed, counts[c], i);
                assert_true(place < counts[c]);
                assert_int_equal(seen[place]++, 0);
            }
        }
}

// Every place is the first about as often; and neighbours of the order are no neighbours in it.
static void a_random_order_is_even(void **state)
{
    (void)state;
    int first[7] = {0}, ascending = 0;
    for (uint64_t seed = 0; seed < 7000; seed++) {
        first[fcl_random_place(seed, 7, 0)]++;
        ascending += fcl_random_place(seed, 1000, 500) < fcl_random_place(seed, 1000, 501);
    }
    for (size_t i = 0; i < FCL_COUNT(first); i++)
        assert_in_range(first[i], 880, 1120);
    assert_in_range(ascending, 3300, 3700);
}

static void samples_are_fixed(void **state)
{
    (void)state;
    static const char *const parameters[] = {"A", "range(10)", "B", "range(10)", NULL};
    static const char *const constraints[] = {"A != B", NULL};
    static const uint64_t expected[] = {41, 31, 23, 30, 53, 60, 5, 39};
    fcl_space *space = test_space(parameters, constraints);
    uint64_t points[100];
    unsigned char seen[100] = {0};
    assert_int_equal(fcl_space_sample(space, 42, points, FCL_COUNT(expected)), FCL_COUNT(expected));
    for (size_t i = 0; i < FCL_COUNT(expected); i++)
        assert_int_equal(points[i], expected[i]);
    assert_int_equal(fcl_space_sample(space, 7, points, 100), 90);
    for (size_t i = 0; i < 90; i++) {
        assert_int_equal(seen[points[i]]++, 0);
        assert_int_equal(fcl_point_validate(space, points[i], NULL, 0), FCL_OK);
    }
    fcl_space_destroy(&space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_have_a_text_form),
        cmocka_unit_test(neighbours_differ_in_one_parameter),
        cmocka_unit_test(next_neighbours_skip_invalid_values),
        cmocka_unit_test(random_numbers_are_fixed),
        cmocka_unit_test(a_random_order_holds_each_place_once),
        cmocka_unit_test(a_random_order_is_even),
        cmocka_unit_test(samples_are_fixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
