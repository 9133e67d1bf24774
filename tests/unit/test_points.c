// Spaces: what may be built, which points are valid and why others are not.
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>

#include "core/common.h"
#include "core/random.h"
#include "spaces.h"

// ---- building

static void names_and_values_are_checked(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",      "1x",   "a b", "a-b", "a[",   "a[]", "a[x]",
                                        "a[1]x", "[1]",  "and", "in",  "True", "for", "a.b",
                                        "a[1",   "\xc3", "if",  "not", "else", "or",  "a[1][2]"};
    static const char *const right[] = {"a", "_", "A1", "size[0]", "size[12]", "android"};
    const struct fcl_value one = fcl_value_integer(1);
    char reason[200];
    fcl_space *space = fcl_space_create();
    for (size_t i = 0; i < FCL_COUNT(wrong); i++)
        test_refused(fcl_space_add_parameter(space, wrong[i], &one, 1, reason, sizeof reason),
                     reason, "allowed are letters");
    for (size_t i = 0; i < FCL_COUNT(right); i++)
        assert_int_equal(fcl_space_add_parameter(space, right[i], &one, 1, NULL, 0), FCL_OK);
    test_refused(fcl_space_add_parameter(space, "A1", &one, 1, reason, sizeof reason), reason,
                 "there already");
    test_refused(fcl_space_add_derived(space, "A1", "1", reason, sizeof reason), reason,
                 "there already");
    test_refused(fcl_space_add_parameter(space, "x", &one, 0, reason, sizeof reason), reason,
                 "no values");
    const struct fcl_value bad[] = {fcl_value_real(NAN),      fcl_value_real(INFINITY),
                                    fcl_value_text(NULL),     fcl_value_text("a\nb"),
                                    fcl_value_text("a'b\"c"), {(enum fcl_value_kind)9, {0}}};
    for (size_t i = 0; i < FCL_COUNT(bad); i++)
        test_refused(fcl_space_add_parameter(space, "x", &bad[i], 1, reason, sizeof reason), reason,
                     "value 1 of parameter `x`");
    const struct fcl_value twice[] = {fcl_value_integer(16), one, fcl_value_text("16")};
    test_refused(fcl_space_add_parameter(space, "x", twice, 3, reason, sizeof reason), reason,
                 "the value 16 twice");
    assert_int_equal(fcl_space_parameters(space), FCL_COUNT(right));
    fcl_space_destroy(&space);
    assert_null(space);
    fcl_space_destroy(&space);
    fcl_space_destroy(NULL);
}

static void sizes_are_limited(void **state)
{
    (void)state;
    char reason[200], name[16];
    const struct fcl_value bits[] = {fcl_value_bool(0), fcl_value_bool(1)};
    fcl_space *space = fcl_space_create();
    for (int i = 0; i < 62; i++) {
        snprintf(name, sizeof name, "p%d", i);
        assert_int_equal(fcl_space_add_parameter(space, name, bits, 2, NULL, 0), FCL_OK);
    }
    assert_true(fcl_space_size(space) == UINT64_C(1) << 62);
    test_refused(fcl_space_add_parameter(space, "more", bits, 2, reason, sizeof reason), reason,
                 "more than 2^62");
    for (int i = 62; i < FCL_SPACE_NAMES; i++) {
        snprintf(name, sizeof name, "d%d", i);
        assert_int_equal(fcl_space_add_derived(space, name, "p61 + 1", NULL, 0), FCL_OK);
    }
    test_refused(fcl_space_add_derived(space, "more", "1", reason, sizeof reason), reason,
                 "one too many: 128");
    fcl_space_destroy(&space);

    space = fcl_space_create(); // 2^25 valid points
    for (int i = 0; i < 25; i++) {
        snprintf(name, sizeof name, "p%d", i);
        assert_int_equal(fcl_space_add_parameter(space, name, bits, 2, NULL, 0), FCL_OK);
    }
    test_refused(fcl_space_enumerate(space, reason, sizeof reason), reason,
                 "more than 16777216 points are valid");
    assert_int_equal(fcl_space_count(space), 0);
    assert_int_equal(fcl_space_add_constraint(space, "p3 and p9", NULL, NULL, 0), FCL_OK);
    assert_int_equal(fcl_space_enumerate(space, NULL, 0), FCL_OK);
    assert_int_equal(fcl_space_count(space), 1 << 23);
    fcl_space_destroy(&space);
}

static void a_space_is_closed_once(void **state)
{
    (void)state;
    char reason[200];
    const struct fcl_value one = fcl_value_integer(1);
    fcl_space *space = fcl_space_create();
    test_refused(fcl_space_enumerate(space, reason, sizeof reason), reason, "no parameter");
    assert_int_equal(fcl_space_add_parameter(space, "A", &one, 1, NULL, 0), FCL_OK);
    uint64_t point;
    test_refused(fcl_point_parse(space, "A=1", &point, reason, sizeof reason), reason,
                 "not enumerated");
    assert_int_equal(fcl_space_enumerate(space, NULL, 0), FCL_OK);
    test_refused(fcl_space_enumerate(space, reason, sizeof reason), reason, "closed already");
    test_refused(fcl_space_add_parameter(space, "B", &one, 1, reason, sizeof reason), reason,
                 "the space is closed");
    test_refused(fcl_space_add_constraint(space, "A", NULL, reason, sizeof reason), reason,
                 "the space is closed");
    test_refused(fcl_space_set_prune(space, NULL, NULL, reason, sizeof reason), reason,
                 "the space is closed");
    test_refused(fcl_space_enumerate(NULL, reason, sizeof reason), reason, "the space is NULL");
    test_refused(fcl_space_add_derived(NULL, "B", "1", reason, sizeof reason), reason,
                 "space is NULL");
    test_refused(fcl_space_compile(space, "B", &(fcl_expression *){NULL}, reason, sizeof reason),
                 reason, "no such name; known are A");
    fcl_space_destroy(&space);
}

// ---- valid points

static const char *const gemm[] = {"MWG",   "[16, 32, 64, 128]",
                                   "NWG",   "[16, 32, 64, 128]",
                                   "KWG",   "[16, 32]",
                                   "MDIMC", "[8, 16, 32]",
                                   "NDIMC", "[8, 16, 32]",
                                   "MDIMA", "[8, 16, 32]",
                                   "NDIMB", "[8, 16, 32]",
                                   "VWM",   "[1, 2, 4, 8]",
                                   "VWN",   "[1, 2, 4, 8]",
                                   "STRM",  "[0, 1]",
                                   "STRN",  "[0, 1]",
                                   "SA",    "[0, 1]",
                                   "SB",    "[0, 1]",
                                   NULL};
static const char *const gemm_constraints[] = {
    "MWG % (MDIMC * VWM) == 0",
    "NWG % (NDIMC * VWN) == 0",
    "MWG % (MDIMA * VWM) == 0",
    "NWG % (NDIMB * VWN) == 0",
    "KWG % ((MDIMC * NDIMC)/MDIMA) == 0",
    "KWG % ((MDIMC * NDIMC)/NDIMB) == 0",
    "not (MWG == 128 and NWG == 128 and MDIMC == 8 and NDIMC == 8)",
    NULL};

// Sizes as brute force finds them; the first is also the published size of the community's space.
static void spaces_of_the_community_have_their_sizes(void **state)
{
    (void)state;
    fcl_space *space = test_convolution();
    assert_int_equal(fcl_space_size(space), 10240);
    assert_int_equal(fcl_space_count(space), 4362);
    fcl_space_destroy(&space);
    space = test_space(gemm, gemm_constraints);
    assert_int_equal(fcl_space_size(space), 663552);
    assert_int_equal(fcl_space_count(space), 116928);
    fcl_space_destroy(&space);
}

// A, B, C with constraints whose reasons and counts are computed by hand below.
static fcl_space *small_space(void)
{
    fcl_space *space = fcl_space_create();
    test_add_parameter(space, "A", "[1, 2, 3, 4]");
    test_add_parameter(space, "B", "[0, 1, 2]");
    test_add_parameter(space, "C", "['row', 'column major']");
    assert_int_equal(fcl_space_add_constraint(space, "A * B != 6", "a product of 6", NULL, 0),
                     FCL_OK);
    assert_int_equal(fcl_space_add_constraint(space, "B > 0", NULL, NULL, 0), FCL_OK);
    assert_int_equal(fcl_space_add_derived(space, "rest", "A % B", NULL, 0), FCL_OK);
    assert_int_equal(fcl_space_add_derived(space, "twice", "2 * rest", NULL, 0), FCL_OK);
    assert_int_equal(
        fcl_space_add_constraint(space, "C == 'row' or twice == 0", "odd columns", NULL, 0),
        FCL_OK);
    return space;
}

static uint64_t points_of(const fcl_space *space, const char *text)
{
    uint64_t points = 0;
    for (size_t i = 0; i < fcl_space_reasons(space); i++)
        if (strcmp(fcl_space_reason(space, i, &points), text) == 0)
            return points;
    fail_msg("no reason \"%s\"", text);
    return 0;
}

static void excluded_points_are_counted_by_reason(void **state)
{
    (void)state;
    fcl_space *space = small_space();
    assert_int_equal(fcl_space_enumerate(space, NULL, 0), FCL_OK);
    assert_int_equal(fcl_space_size(space), 24);
    assert_int_equal(fcl_space_reasons(space), 3);
    assert_int_equal(points_of(space, "a product of 6"), 2); // A=3 B=2
    assert_int_equal(points_of(space, "B > 0"), 8);
    assert_int_equal(points_of(space, "odd columns"), 1); // A=1 B=2
    assert_int_equal(fcl_space_count(space), 24 - 2 - 8 - 1);
    for (size_t i = 0; i < fcl_space_count(space); i++) {
        assert_int_equal(fcl_space_index(space, fcl_space_point(space, i)), i);
        if (i > 0)
            assert_true(fcl_space_point(space, i) > fcl_space_point(space, i - 1));
    }
    assert_int_equal(fcl_space_index(space, test_point(space, "A=1 B=0 C=row")), 13);
    assert_int_equal(fcl_space_index(space, FCL_NO_POINT), 13);
    // Point by point.
    size_t valid = 0;
    for (uint64_t point = 0; point < fcl_space_size(space); point++) {
        char reason[100] = "";
        const enum fcl_status status = fcl_point_validate(space, point, reason, sizeof reason);
        const int found = fcl_space_index(space, point) < fcl_space_count(space);
        assert_int_equal(status, found ? FCL_OK : FCL_UNSUPPORTED);
        assert_true(found == (reason[0] == 0));
        valid += status == FCL_OK;
    }
    assert_int_equal(valid, 13);
    char reason[100];
    assert_int_equal(fcl_point_validate(space, test_point(space, "A=1 B=2 C='column major'"),
                                        reason, sizeof reason),
                     FCL_UNSUPPORTED);
    assert_string_equal(reason, "odd columns");
    fcl_space_destroy(&space);
}

static void values_of_a_point_are_told(void **state)
{
    (void)state;
    fcl_space *space = small_space();
    char reason[200];
    assert_int_equal(fcl_space_enumerate(space, NULL, 0), FCL_OK);
    const uint64_t point = test_point(space, "A=3 B=1 C=row");
    assert_int_equal(point, (2 * 3 + 1) * 2 + 0);
    struct fcl_value value;
    assert_int_equal(fcl_point_value(space, point, "A", &value, NULL, 0), FCL_OK);
    assert_int_equal(value.integer, 3);
    assert_int_equal(fcl_point_value(space, point, "C", &value, NULL, 0), FCL_OK);
    assert_string_equal(value.text, "row");
    assert_int_equal(
        fcl_point_value(space, test_point(space, "A=3 B=2 C=row"), "twice", &value, NULL, 0),
        FCL_OK);
    assert_int_equal(value.integer, 2);
    test_refused(fcl_point_value(space, point, "D", &value, reason, sizeof reason), reason,
                 "name `D` is none of the space");
    test_refused(fcl_point_value(space, test_point(space, "A=3 B=0 C=row"), "twice", &value, reason,
                                 sizeof reason),
                 reason, "division by zero");
    test_refused(fcl_point_value(space, 24, "A", &value, reason, sizeof reason), reason,
                 "points are below 24");
    fcl_expression *expression = NULL;
    assert_int_equal(fcl_space_compile(space, "A * 64 // B + twice", &expression, NULL, 0), FCL_OK);
    assert_int_equal(fcl_point_evaluate(space, point, expression, &value, NULL, 0), FCL_OK);
    assert_int_equal(value.integer, 192);
    fcl_expression_destroy(&expression);
    assert_int_equal(fcl_space_parameters(space), 3);
    assert_string_equal(fcl_space_parameter_name(space, 2), "C");
    assert_int_equal(fcl_space_value_count(space, 1), 3);
    assert_string_equal(fcl_space_value(space, 2, 1).text, "column major");
    assert_int_equal(fcl_point_place(space, point, 0), 2);
    assert_int_equal(fcl_point_move(space, point, 0, 0), test_point(space, "A=1 B=1 C=row"));
    fcl_space_destroy(&space);
}

static void what_cannot_be_computed_is_an_error(void **state)
{
    (void)state;
    char reason[200];
    fcl_space *space = fcl_space_create();
    test_add_parameter(space, "A", "[4, 8]");
    test_add_parameter(space, "B", "[2, 0]");
    assert_int_equal(fcl_space_add_constraint(space, "A % B == 0", NULL, NULL, 0), FCL_OK);
    test_refused(fcl_space_enumerate(space, reason, sizeof reason), reason,
                 "at 3: division by zero (4, 0); in `A % B == 0`; for A=4 B=0;");
    // The space is as it was, and a constraint can still be added; but it comes too late.
    assert_int_equal(fcl_space_count(space), 0);
    assert_int_equal(fcl_space_add_constraint(space, "B > 0", NULL, NULL, 0), FCL_OK);
    test_refused(fcl_space_enumerate(space, reason, sizeof reason), reason, "division by zero");
    fcl_space_destroy(&space);
    space = fcl_space_create();
    test_add_parameter(space, "A", "[4, 8]");
    assert_int_equal(fcl_space_add_constraint(space, "1 // 0", NULL, NULL, 0), FCL_OK);
    test_refused(fcl_space_enumerate(space, reason, sizeof reason), reason, "for every point");
    fcl_space_destroy(&space);
}

static void a_space_may_have_no_valid_point(void **state)
{
    (void)state;
    static const char *const parameters[] = {"A", "[1, 2]", "B", "[1, 2, 3]", NULL};
    static const char *const constraints[] = {"2 > 3", NULL};
    fcl_space *space = test_space(parameters, constraints);
    assert_int_equal(fcl_space_count(space), 0);
    assert_int_equal(points_of(space, "2 > 3"), 6);
    uint64_t point;
    assert_int_equal(fcl_space_sample(space, 1, &point, 1), 0);
    assert_int_equal(fcl_point_neighbours(space, 0, FCL_NEIGHBOURS_ALL, &point, 1), 0);
    fcl_space_destroy(&space);
}

// ---- the caller's own pruning

static int prune_calls;

static const char *prune_large(void *user, const fcl_space *space, uint64_t point)
{
    static char text[40];
    struct fcl_value a, b;
    prune_calls++;
    assert_int_equal(fcl_point_value(space, point, "A", &a, NULL, 0), FCL_OK);
    assert_int_equal(fcl_point_value(space, point, "B", &b, NULL, 0), FCL_OK);
    if (a.integer * b.integer <= *(const int *)user)
        return NULL;
    snprintf(text, sizeof text, "product %lld", (long long)(a.integer * b.integer));
    return text;
}

static void the_caller_prunes(void **state)
{
    (void)state;
    int limit = 9;
    fcl_space *space = fcl_space_create();
    test_add_parameter(space, "A", "range(1, 5)");
    test_add_parameter(space, "B", "range(1, 5)");
    assert_int_equal(fcl_space_add_constraint(space, "A != 1", NULL, NULL, 0), FCL_OK);
    assert_int_equal(fcl_space_set_prune(space, prune_large, &limit, NULL, 0), FCL_OK);
    prune_calls = 0;
    assert_int_equal(fcl_space_enumerate(space, NULL, 0), FCL_OK);
    assert_int_equal(prune_calls, 12);
    assert_int_equal(fcl_space_count(space), 9);
    assert_int_equal(fcl_space_reasons(space), 3);
    assert_int_equal(points_of(space, "A != 1"), 4);
    assert_int_equal(points_of(space, "product 12"), 2);
    assert_int_equal(points_of(space, "product 16"), 1);
    char reason[100];
    assert_int_equal(fcl_point_validate(space, test_point(space, "B=3 A=4"), reason, sizeof reason),
                     FCL_UNSUPPORTED);
    assert_string_equal(reason, "product 12");
    fcl_space_destroy(&space);

    space = fcl_space_create(); // more texts than are kept apart
    test_add_parameter(space, "A", "range(1, 101)");
    test_add_parameter(space, "B", "[1]");
    limit = 10;
    assert_int_equal(fcl_space_set_prune(space, prune_large, &limit, NULL, 0), FCL_OK);
    assert_int_equal(fcl_space_enumerate(space, NULL, 0), FCL_OK);
    assert_int_equal(fcl_space_count(space), 10);
    assert_int_equal(fcl_space_reasons(space), 65);
    assert_int_equal(points_of(space, "product 74"), 1);
    assert_int_equal(points_of(space, "other reasons"), 26);
    fcl_space_destroy(&space);
}

// ---- given points, cheapest points

static void points_can_be_given(void **state)
{
    (void)state;
    static const uint64_t points[] = {17, 3, 20, 0};
    static const uint64_t twice[] = {3, 5, 3}, outside[] = {24, 1};
    char reason[200];
    fcl_space *space = small_space();
    test_refused(fcl_space_enumerate_points(space, twice, 3, reason, sizeof reason), reason,
                 "point 3 is there twice");
    test_refused(fcl_space_enumerate_points(space, outside, 2, reason, sizeof reason), reason,
                 "point 24 does not exist; points are below 24");
    test_refused(fcl_space_enumerate_points(space, points, 0, reason, sizeof reason), reason,
                 "0 points");
    assert_int_equal(fcl_space_enumerate_points(space, points, 4, NULL, 0), FCL_OK);
    assert_int_equal(fcl_space_count(space), 4);
    assert_int_equal(fcl_space_point(space, 0), 0);
    assert_int_equal(fcl_space_point(space, 3), 20);
    assert_int_equal(fcl_space_index(space, 4), 4);
    fcl_space_destroy(&space);
}

static double cost_of(void *user, const fcl_space *space, uint64_t point)
{
    (void)user;
    (void)space;
    return point == 9 ? (double)NAN : (double)(point * 7 % 10 / 2);
}

static void the_cheapest_are_kept(void **state)
{
    (void)state;
    static const char *const parameters[] = {"A", "range(10)", NULL};
    char reason[200];
    fcl_space *space = fcl_space_create();
    test_add_parameter(space, "A", "range(10)");
    test_refused(fcl_space_keep_cheapest(space, cost_of, NULL, 3, reason, sizeof reason), reason,
                 "no points yet");
    fcl_space_destroy(&space);
    space = test_space(parameters, NULL);
    test_refused(fcl_space_keep_cheapest(space, cost_of, NULL, 0, reason, sizeof reason), reason,
                 "count is 0");
    test_refused(fcl_space_keep_cheapest(space, NULL, NULL, 3, reason, sizeof reason), reason,
                 "cost is NULL");
    assert_int_equal(fcl_space_keep_cheapest(space, cost_of, NULL, 10, NULL, 0), FCL_OK);
    assert_int_equal(fcl_space_count(space), 10);
    // Costs of 0 to 9: 0 3 2 0 4 2 1 4 3 -.
    assert_int_equal(fcl_space_keep_cheapest(space, cost_of, NULL, 8, NULL, 0), FCL_OK);
    assert_int_equal(fcl_space_index(space, 9), 8);
    assert_int_equal(fcl_space_index(space, 7), 8); // as dear as 4, but later
    assert_int_equal(fcl_space_keep_cheapest(space, cost_of, NULL, 3, NULL, 0), FCL_OK);
    assert_int_equal(fcl_space_count(space), 3);
    assert_int_equal(fcl_space_point(space, 0), 0);
    assert_int_equal(fcl_space_point(space, 1), 3);
    assert_int_equal(fcl_space_point(space, 2), 6);
    assert_int_equal(points_of(space, "costs more than those kept"), 2);
    fcl_space_destroy(&space);
}

static double random_cost(void *user, const fcl_space *space, uint64_t point)
{
    (void)user;
    (void)space;
    return (double)(fcl_random_mix(point) % 50);
}

static void those_kept_cost_no_more_than_others(void **state)
{
    (void)state;
    static const char *const parameters[] = {"A", "range(500)", NULL};
    fcl_space *space = test_space(parameters, NULL);
    assert_int_equal(fcl_space_keep_cheapest(space, random_cost, NULL, 123, NULL, 0), FCL_OK);
    double dearest = 0.0;
    uint64_t last = 0; // of those as dear as the dearest
    for (size_t i = 0; i < fcl_space_count(space); i++) {
        const uint64_t point = fcl_space_point(space, i);
        if (random_cost(NULL, space, point) >= dearest) {
            dearest = random_cost(NULL, space, point);
            last = point;
        }
    }
    for (uint64_t point = 0; point < 500; point++)
        if (fcl_space_index(space, point) == fcl_space_count(space)) {
            const double cost = random_cost(NULL, space, point);
            assert_true(cost > dearest || (cost == dearest && point > last));
        }
    fcl_space_destroy(&space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_values_are_checked),
        cmocka_unit_test(sizes_are_limited),
        cmocka_unit_test(a_space_is_closed_once),
        cmocka_unit_test(spaces_of_the_community_have_their_sizes),
        cmocka_unit_test(excluded_points_are_counted_by_reason),
        cmocka_unit_test(values_of_a_point_are_told),
        cmocka_unit_test(what_cannot_be_computed_is_an_error),
        cmocka_unit_test(a_space_may_have_no_valid_point),
        cmocka_unit_test(the_caller_prunes),
        cmocka_unit_test(points_can_be_given),
        cmocka_unit_test(the_cheapest_are_kept),
        cmocka_unit_test(those_kept_cost_no_more_than_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
