// A user's kernel as a value: what is refused and how that is said, launch sizes, defines,
// elements.
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>

#include "core/kernel_data.h"
#include "core/kernel_spec.h"
#include "spaces.h"

struct fixture {
    fcl_space *space;
    struct fcl_kernel_argument arguments[3];
    struct fcl_kernel_spec spec;
    float bytes[4];
};

static int set_up(void **state)
{
    static struct fixture f;
    f = (struct fixture){
        .space = test_space((const char *const[]){"BM", "16,32", "ORDER", "row,column", "UNROLL",
                                                  "True,False", "PART", "0.5", NULL},
                            NULL),
        .arguments = {
            {.name = "x", .kind = FCL_KERNEL_VECTOR, .type = {FCL_SCALAR_FLOAT, 0}, .count = "4"},
            {.kind = FCL_KERNEL_SCALAR, .type = {FCL_SCALAR_INT8, 0}, .value = "BM"},
            {.kind = FCL_KERNEL_LOCAL, .type = {FCL_SCALAR_FLOAT, 4}, .count = "BM"}}};
    f.spec = (struct fcl_kernel_spec){.struct_size = sizeof f.spec,
                                      .source = "source",
                                      .name = "k",
                                      .space = f.space,
                                      .global = {"96"},
                                      .local = {"BM"},
                                      .arguments = f.arguments,
                                      .argument_count = 3};
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    fcl_space_destroy(&f->space);
    return 0;
}

static void refused(struct fixture *f, const char *reason)
{
    char found[256] = "";
    assert_int_equal(fcl_kernel_validate(&f->spec, found, sizeof found), FCL_INVALID_ARGUMENT);
    if (strstr(found, reason) == NULL)
        fail_msg("'%s' does not say '%s'", found, reason);
}

static void a_right_spec_passes(void **state)
{
    struct fixture *f = *state;
    char reason[256] = "";
    if (fcl_kernel_validate(&f->spec, reason, sizeof reason) != FCL_OK)
        fail_msg("%s", reason);
}

// Each field wrong in turn.
static void the_kernel_is_checked(void **state)
{
    struct fixture *f = *state;
    const struct fcl_kernel_spec right = f->spec;
    assert_int_equal(fcl_kernel_validate(NULL, NULL, 0), FCL_INVALID_ARGUMENT);
#define WRONG(change, reason) \
    do {                      \
        f->spec = right;      \
        f->spec.change;       \
        refused(f, reason);   \
    } while (0)
    WRONG(struct_size = 3, "spec.struct_size is 3");
    WRONG(source = NULL, "source is NULL");
    WRONG(file = "a\"b", "file 'a\"b'");
    WRONG(name = "two words", "name is 'two words'");
    WRONG(space = NULL, "space is NULL");
    WRONG(global[0] = NULL, "global: one to three");
    WRONG(global[2] = "1", "global: one to three expressions without gaps");
    WRONG(global[0] = "BX", "global: ");
    WRONG(local[1] = "1", "local has 2 dimensions, global 1");
    WRONG(arguments = NULL, "arguments is NULL");
    WRONG(argument_count = 1000, "1000 arguments");
    f->spec = right;
    f->spec.local[0] = NULL;
    assert_int_equal(fcl_kernel_validate(&f->spec, NULL, 0), FCL_OK);
    f->spec.global_groups = 1;
    refused(f, "local is missing");
    const struct fcl_kernel_reference reference = {.name = "", .global = {"1"}};
    WRONG(reference = &reference, "reference.name is ''");
}

static void arguments_are_checked(void **state)
{
    struct fixture *f = *state;
    const struct fcl_kernel_argument x = f->arguments[0];
#define WRONG_X(change, reason) \
    do {                        \
        f->arguments[0] = x;    \
        f->arguments[0].change; \
        refused(f, reason);     \
    } while (0)
    WRONG_X(type.lanes = 3, "argument x: type 9 with 3 lanes");
    WRONG_X(type.scalar = FCL_SCALAR_COUNT, "argument x: type 11");
    WRONG_X(count = NULL, "argument x: count is missing");
    WRONG_X(count = "0", "argument x: count, 0, is 0");
    WRONG_X(count = "4.5", "argument x: count, 4.5: 4.5 is no whole number");
    WRONG_X(count = "BM", "argument x: count, BM, is 16 or 32");
    WRONG_X(value = "BM", "argument x: value, BM, depends on parameters");
    WRONG_X(value = "'a'", "argument x: value a is a text");
    WRONG_X(fill = (enum fcl_kernel_fill)7, "argument x: fill is 7");
    WRONG_X(access = (enum fcl_kernel_access)7, "argument x: access is 7");
    WRONG_X(kind = (enum fcl_kernel_kind)7, "argument x: kind is 7");
    WRONG_X(expected = f->bytes, "argument x: expected is given, but the kernel only reads it");
    WRONG_X(absolute = -1, "argument x: tolerance -1");
}

static void what_arguments_hold_is_checked(void **state)
{
    struct fixture *f = *state;
    const struct fcl_kernel_argument x = f->arguments[0], scalar = f->arguments[1];
    f->arguments[0].fill = FCL_KERNEL_BYTES;
    refused(f, "argument x: bytes is NULL");
    f->arguments[0].bytes = f->bytes;
    f->arguments[0].byte_count = 12;
    refused(f, "argument x: bytes holds 12 bytes, the vector needs 16");
    f->arguments[0] = x;
    f->arguments[0].access = FCL_KERNEL_WRITE;
    f->arguments[0].expected = f->bytes;
    refused(f, "argument x: expected holds 0 bytes, the vector needs 16");
    f->arguments[0] = x;
    f->arguments[0].fill = FCL_KERNEL_RANDOM;
    f->arguments[0].low = 2;
    refused(f, "argument x: random from 2 to 0");
    f->arguments[0].type.scalar = FCL_SCALAR_UINT8;
    f->arguments[0].high = 256;
    refused(f, "argument x: random from 2 to 256: 256 is out of the type's range (uint8)");
    f->arguments[0] = x;
    f->arguments[1].value = "300";
    refused(f, "argument 2: value 300 is out of the type's range (int8)");
    f->arguments[1] = scalar;
    f->arguments[1].type.scalar = FCL_SCALAR_UINT8;
    f->arguments[1].value = "-1";
    refused(f, "argument 2: value -1 is negative");
}

static void parameters_must_be_words(void **state)
{
    struct fixture *f = *state;
    fcl_space *space = test_space((const char *const[]){"size[0]", "1", NULL}, NULL);
    f->spec.space = space;
    refused(f, "parameter size[0] cannot be #defined");
    fcl_space_destroy(&space);
}

static void defines_stand_before_the_source(void **state)
{
    struct fixture *f = *state;
    struct fcl_text text = {0};
    const uint64_t point = test_point(f->space, "BM=32 ORDER=column UNROLL=False");
    f->spec.file = "a.cl";
    fcl_kernel_add_source(&f->spec, "source", point, &text);
    assert_string_equal(text.data, "#define BM 32\n#define ORDER column\n#define UNROLL 0\n"
                                   "#define PART 0.5\n#line 1 \"a.cl\"\nsource");
    fcl_text_free(&text);
    char cut[8];
    assert_int_equal(fcl_kernel_defines(f->space, point, cut, sizeof cut), 69);
    assert_string_equal(cut, "#define");
}

static void launch_sizes_follow_the_point(void **state)
{
    struct fixture *f = *state;
    struct fcl_kernel_form form;
    struct fcl_grid grid;
    char reason[256] = "";
    f->spec.global[1] = "BM * 2 / 4"; // a real number, but a whole one
    f->spec.local[1] = "2";
    assert_int_equal(fcl_kernel_form_create(&f->spec, &form, NULL, 0), FCL_OK);
    const uint64_t point = test_point(f->space, "BM=32 ORDER=row UNROLL=True");
    assert_int_equal(fcl_kernel_grid(&form, &form.grid, point, &grid, reason, sizeof reason),
                     FCL_OK);
    assert_int_equal(grid.dimensions, 2);
    assert_int_equal(grid.global[0], 96);
    assert_int_equal(grid.global[1], 16);
    assert_int_equal(grid.group, 64);
    form.grid.groups = 1;
    assert_int_equal(fcl_kernel_grid(&form, &form.grid, point, &grid, reason, sizeof reason),
                     FCL_OK);
    assert_int_equal(grid.global[0], 96 * 32);
    size_t bytes;
    assert_int_equal(fcl_kernel_local(&form, 2, point, &bytes, reason, sizeof reason), FCL_OK);
    assert_int_equal(bytes, 32 * 16);
    fcl_kernel_form_free(&form);
}

static void sizes_that_do_not_divide_are_told(void **state)
{
    struct fixture *f = *state;
    struct fcl_kernel_form form;
    struct fcl_grid grid;
    char reason[256] = "";
    f->spec.global[0] = "100";
    assert_int_equal(fcl_kernel_form_create(&f->spec, &form, NULL, 0), FCL_OK);
    assert_int_equal(fcl_kernel_grid(&form, &form.grid, fcl_space_point(f->space, 0), &grid, reason,
                                     sizeof reason),
                     FCL_UNSUPPORTED);
    assert_string_equal(reason,
                        "the global size 100 is no multiple of the local size 16 (dimension 0)");
    fcl_kernel_form_free(&form);
}

static void scalars_fill_all_lanes(void **state)
{
    struct fixture *f = *state;
    struct fcl_kernel_form form;
    float lanes[4] = {0};
    f->arguments[1].type = (struct fcl_element_type){FCL_SCALAR_FLOAT, 4};
    f->arguments[1].value = "BM / 4";
    assert_int_equal(fcl_kernel_form_create(&f->spec, &form, NULL, 0), FCL_OK);
    assert_int_equal(fcl_kernel_element(&form, 1, fcl_space_point(f->space, 0), lanes, NULL, 0),
                     FCL_OK);
    for (int i = 0; i < 4; i++)
        assert_true(lanes[i] == 4.0f);
    fcl_kernel_form_free(&form);
}

// ---- elements

static void element_types_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t bytes;
    } types[] = {{"int8", 1},  {"uint64", 8},   {"half", 2},    {"half4", 8},
                 {"float", 4}, {"float16", 64}, {"double2", 16}};
    struct fcl_element_type type;
    for (size_t i = 0; i < FCL_COUNT(types); i++) {
        assert_int_equal(fcl_element_parse(types[i].text, &type, NULL, 0), FCL_OK);
        assert_int_equal(fcl_element_size(type), types[i].bytes);
    }
    static const char *const others[] = {"", "bool", "int", "float3", "float32", "int82", "custom"};
    char reason[256];
    for (size_t i = 0; i < FCL_COUNT(others); i++) {
        assert_int_equal(fcl_element_parse(others[i], &type, reason, sizeof reason),
                         FCL_INVALID_ARGUMENT);
        assert_non_null(strstr(reason, others[i]));
    }
}

static void random_numbers_stay_in_range(void **state)
{
    (void)state;
    int8_t small[1000];
    double real[1000];
    int seen[7] = {0};
    fcl_data_fill_random(small, FCL_SCALAR_INT8, 1000, -3, 3, 1);
    fcl_data_fill_random(real, FCL_SCALAR_DOUBLE, 1000, -3, 3, 1);
    for (int i = 0; i < 1000; i++) {
        assert_in_range(small[i] + 3, 0, 6);
        seen[small[i] + 3] = 1;
        assert_true(real[i] >= -3 && real[i] <= 3);
    }
    for (int i = 0; i < 7; i++)
        assert_true(seen[i]);
    int8_t again[1000];
    fcl_data_fill_random(again, FCL_SCALAR_INT8, 1000, -3, 3, 1);
    assert_memory_equal(small, again, sizeof small);
    fcl_data_fill_random(again, FCL_SCALAR_INT8, 1000, -3, 3, 2);
    assert_memory_not_equal(small, again, sizeof small);
}

static void whole_numbers_are_compared_exactly(void **state)
{
    (void)state;
    const int64_t a[] = {1, INT64_MAX, INT64_MIN, -1}, b[] = {1, INT64_MAX - 1, INT64_MIN, -1};
    struct fcl_kernel_argument argument = {.type = {FCL_SCALAR_INT64, 0}};
    struct fcl_tolerance tolerance = fcl_data_tolerance(&argument, b, 4);
    struct fcl_data_comparison c = fcl_data_compare(a, b, FCL_SCALAR_INT64, 4, tolerance);
    assert_int_equal(c.wrong, 1);
    assert_int_equal(c.first, 1);
    assert_true(isinf(c.ratio));
    argument.absolute = 2;
    tolerance = fcl_data_tolerance(&argument, b, 4);
    c = fcl_data_compare(a, b, FCL_SCALAR_INT64, 4, tolerance);
    assert_int_equal(c.wrong, 0);
    assert_true(c.ratio == 0.5);
}

static void reals_are_compared_by_their_tolerance(void **state)
{
    (void)state;
    float a[] = {1.0f, 1000.05f, NAN, INFINITY}, b[] = {1.0f, 1000.0f, NAN, INFINITY};
    struct fcl_kernel_argument argument = {.type = {FCL_SCALAR_FLOAT, 0}};
    struct fcl_tolerance tolerance = fcl_data_tolerance(&argument, b, 4);
    assert_true(fabs(tolerance.absolute - 0.1) < 1e-9);
    struct fcl_data_comparison c = fcl_data_compare(a, b, FCL_SCALAR_FLOAT, 4, tolerance);
    assert_int_equal(c.wrong, 0);
    assert_true(c.ratio > 0.49 && c.ratio < 0.51);
    argument.relative = 1e-5;
    tolerance = fcl_data_tolerance(&argument, b, 4);
    assert_int_equal(fcl_data_compare(a, b, FCL_SCALAR_FLOAT, 4, tolerance).wrong, 1);
    a[1] = 1000.0f;
    a[2] = 0.0f;
    b[3] = 1.0f;
    c = fcl_data_compare(a, b, FCL_SCALAR_FLOAT, 4, tolerance);
    assert_int_equal(c.wrong, 2);
    assert_int_equal(c.first, 2);
    assert_true(isinf(c.ratio));
}

static void halves_are_compared_as_numbers(void **state)
{
    (void)state;
    const uint16_t a[] = {0x3c00, 0x0000, 0x7e00}, b[] = {0x3c01, 0x8000, 0x7e01}; // 1, 0, NaN
    struct fcl_kernel_argument argument = {.type = {FCL_SCALAR_HALF, 0}};
    struct fcl_tolerance tolerance = fcl_data_tolerance(&argument, b, 3);
    assert_int_equal(fcl_data_compare(a, b, FCL_SCALAR_HALF, 3, tolerance).wrong, 0);
    argument.absolute = 0x1p-11;
    tolerance = fcl_data_tolerance(&argument, b, 3);
    const struct fcl_data_comparison c = fcl_data_compare(a, b, FCL_SCALAR_HALF, 3, tolerance);
    assert_int_equal(c.wrong, 1);
    assert_true(c.ratio == 2.0);
}

static void scalars_are_written(void **state)
{
    (void)state;
    char text[FCL_SCALAR_SIZE];
    const int64_t wide = INT64_MIN;
    const uint16_t narrow = 65535;
    const float real = 0.5f, nothing = -NAN;
    fcl_scalar_format(&wide, FCL_SCALAR_INT64, text);
    assert_string_equal(text, "-9223372036854775808");
    fcl_scalar_format(&narrow, FCL_SCALAR_UINT16, text);
    assert_string_equal(text, "65535");
    fcl_scalar_format(&narrow, FCL_SCALAR_INT16, text);
    assert_string_equal(text, "-1");
    fcl_scalar_format(&real, FCL_SCALAR_FLOAT, text);
    assert_string_equal(text, "0.5");
    fcl_scalar_format(&nothing, FCL_SCALAR_FLOAT, text);
    assert_string_equal(text, "nan");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_right_spec_passes),
        TEST(the_kernel_is_checked),
        TEST(arguments_are_checked),
        TEST(what_arguments_hold_is_checked),
        TEST(parameters_must_be_words),
        TEST(defines_stand_before_the_source),
        TEST(launch_sizes_follow_the_point),
        TEST(sizes_that_do_not_divide_are_told),
        TEST(scalars_fill_all_lanes),
        cmocka_unit_test(element_types_are_read),
        cmocka_unit_test(random_numbers_stay_in_range),
        cmocka_unit_test(whole_numbers_are_compared_exactly),
        cmocka_unit_test(reals_are_compared_by_their_tolerance),
        cmocka_unit_test(halves_are_compared_as_numbers),
        cmocka_unit_test(scalars_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
