// What wisdom knows of a user's kernel: the class that names it, and rows as points of its space.
#include "cmocka_all.h"

#include <stdio.h>

#include "core/kernel_wisdom.h"
#include "devices.h"
#include "spaces.h"

struct fixture {
    struct fcl_kernel_argument arguments[2];
    struct fcl_kernel_spec spec;
};

static fcl_space *make_space(const char *n, const char *bm)
{
    return test_space((const char *const[]){"N", n, "BM", bm, "ORDER", "row,'two words'", NULL},
                      NULL);
}

static int set_up(void **state)
{
    static struct fixture f;
    f = (struct fixture){
        .arguments = {
            {.name = "x", .kind = FCL_KERNEL_VECTOR, .type = {FCL_SCALAR_FLOAT, 0}, .count = "N"},
            {.kind = FCL_KERNEL_SCALAR, .type = {FCL_SCALAR_INT32, 0}, .value = "N"}}};
    f.spec = (struct fcl_kernel_spec){.struct_size = sizeof f.spec,
                                      .source = "source",
                                      .name = "k",
                                      .space = make_space("64", "16,32"),
                                      .global = {"N"},
                                      .local = {"BM"},
                                      .arguments = f.arguments,
                                      .argument_count = 2};
    *state = &f;
    return 0;
}

static void free_space(struct fixture *f)
{
    fcl_space *space = (fcl_space *)(uintptr_t)f->spec.space;
    fcl_space_destroy(&space);
}

static int tear_down(void **state)
{
    free_space(*state);
    return 0;
}

static void set_space(struct fixture *f, fcl_space *space)
{
    free_space(f);
    f->spec.space = space;
}

#define CLASS_SIZE 128

static void class_of(const struct fixture *f, char text[CLASS_SIZE])
{
    const size_t length = fcl_kernel_class(&f->spec, text, CLASS_SIZE);
    assert_true(length > 0 && length < CLASS_SIZE);
}

// Wisdom that is on disk must be found again: digests never change.
static void classes_are_fixed(void **state)
{
    struct fixture *f = *state;
    char text[CLASS_SIZE], cut[8];
    class_of(f, text);
    assert_string_equal(text, "kernel k fc818ac652979feb N=64 #8714f5cb3c5f74d3");
    assert_int_equal(fcl_kernel_class(&f->spec, cut, sizeof cut), strlen(text));
    assert_string_equal(cut, "kernel ");
    f->spec.name = "";
    assert_int_equal(fcl_kernel_class(&f->spec, text, sizeof text), 0);
    assert_string_equal(text, "");
    assert_int_equal(fcl_kernel_class(NULL, text, sizeof text), 0);
}

// Which part of the class differs from `old`: its kernel, its sizes, its launch.
static void differs(const struct fixture *f, const char *old, const char *parts)
{
    char text[CLASS_SIZE], found[4] = "";
    class_of(f, text);
    const char *const ends[] = {strstr(text, " N="), strchr(text, '#')};
    const char *const old_ends[] = {strstr(old, " N="), strchr(old, '#')};
    const int kernel =
        ends[0] - text != old_ends[0] - old || strncmp(text, old, (size_t)(ends[0] - text)) != 0;
    const int sizes = ends[1] - ends[0] != old_ends[1] - old_ends[0] ||
                      strncmp(ends[0], old_ends[0], (size_t)(ends[1] - ends[0])) != 0;
    snprintf(found, sizeof found, "%s%s%s", kernel ? "k" : "", sizes ? "s" : "",
             strcmp(ends[1], old_ends[1]) != 0 ? "l" : "");
    if (strcmp(found, parts) != 0)
        fail_msg("'%s' differs from '%s' in '%s', not '%s'", text, old, found, parts);
}

static void classes_tell_kernels_and_sizes_apart(void **state)
{
    struct fixture *f = *state;
    const struct fcl_kernel_spec right = f->spec;
    char old[CLASS_SIZE];
    class_of(f, old);
#define CHANGE(change, parts)   \
    do {                        \
        f->spec = right;        \
        f->spec.change;         \
        differs(f, old, parts); \
    } while (0)
    CHANGE(source = "source ", "k");
    CHANGE(options = "-cl-mad-enable", "k");
    CHANGE(name = "kk", "k");
    CHANGE(file = "other.cl", "");
    CHANGE(global[0] = "N * 1", "l");
    CHANGE(local[0] = NULL, "l");
    CHANGE(global_groups = 1, "l");
    CHANGE(argument_count = 1, "l");
    f->spec = right;
    f->arguments[0].count = "N + 1";
    differs(f, old, "l");
    f->arguments[0].count = "N";
    f->arguments[1].value = "N + 1";
    differs(f, old, "l");
    f->arguments[1].value = "N";
    f->arguments[0].value = "7"; // contents
    differs(f, old, "");
    set_space(f, make_space("128", "16,32"));
    differs(f, old, "s");
    set_space(f, make_space("64", "16,32,64")); // more values of the same parameters
    differs(f, old, "");
}

// Names that are derived without a parameter are sizes, as a problem's size is.
static void derived_names_are_sizes(void **state)
{
    struct fixture *f = *state;
    char text[CLASS_SIZE], other[CLASS_SIZE];
    for (int i = 0; i < 2; i++) {
        fcl_space *space = fcl_space_create();
        test_add_parameter(space, "BM", "16,32");
        assert_int_equal(fcl_space_add_derived(space, "N", i ? "64" : "128", NULL, 0), FCL_OK);
        assert_int_equal(fcl_space_add_derived(space, "ROWS", "N // BM", NULL, 0), FCL_OK);
        assert_int_equal(fcl_space_enumerate(space, NULL, 0), FCL_OK);
        set_space(f, space);
        class_of(f, i ? text : other);
    }
    assert_non_null(strstr(text, " N=64 #"));
    assert_non_null(strstr(other, " N=128 #"));
    assert_null(strstr(text, "ROWS"));
}

// ---- rows

#define OWN "Invented GPU"

static void add(fcl_wisdom *wisdom, const char *device, const char *driver, const char *class_text,
                const char *point, const char *config)
{
    char whole[2 * CLASS_SIZE];
    snprintf(whole, sizeof whole, "%s%s%s", class_text, point[0] ? " " : "", point);
    const struct fcl_wisdom_row row = {device, driver, whole, config, 1, 0, "event", "0.1.0"};
    assert_int_equal(fcl_wisdom_add(wisdom, &row), FCL_OK);
}

static void know(const struct fixture *f, const fcl_wisdom *wisdom, struct fcl_kernel_known *known)
{
    const struct fcl_caps caps = test_gpu(49152, 1024);
    struct fcl_kernel_form form;
    assert_int_equal(fcl_kernel_form_create(&f->spec, &form, NULL, 0), FCL_OK);
    assert_int_equal(fcl_kernel_know(&form, &caps, wisdom, known), FCL_OK);
    fcl_kernel_form_free(&form);
}

static void nothing_is_known_without_wisdom(void **state)
{
    struct fixture *f = *state;
    struct fcl_kernel_known known;
    know(f, NULL, &known);
    assert_true(known.winner == FCL_NO_POINT && known.seed_count == 0 && known.bad_count == 0);
    fcl_kernel_known_free(&known);
}

static void the_winner_is_of_this_device_driver_and_size(void **state)
{
    struct fixture *f = *state;
    struct fcl_kernel_known known;
    fcl_wisdom *wisdom = fcl_wisdom_create();
    char own[CLASS_SIZE], other[CLASS_SIZE];
    class_of(f, own);
    set_space(f, make_space("128", "16,32"));
    class_of(f, other);
    set_space(f, make_space("64", "16,32"));
    add(wisdom, OWN, "0.9", own, "", "BM=32 ORDER='two words'");
    add(wisdom, "Other GPU", "1.0", other, "", "BM=16 ORDER=row");
    add(wisdom, OWN, "1.0", other, "", "BM=16 ORDER='two words'");
    add(wisdom, "Other GPU", "1.0", own, "", "BM=32 ORDER=row");
    add(wisdom, OWN, "1.0", "kernel k 0123456789abcdef N=64 #0123456789abcdef", "",
        "BM=16 ORDER=row"); // of another source
    know(f, wisdom, &known);
    assert_true(known.winner == FCL_NO_POINT);
    // This device before others, the same size before others.
    const char *const order[] = {"BM=32 ORDER='two words'", "BM=16 ORDER='two words'",
                                 "BM=32 ORDER=row", "BM=16 ORDER=row"};
    assert_int_equal(known.seed_count, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(known.seeds[i], test_point(f->spec.space, order[i]));
    fcl_kernel_known_free(&known);
    add(wisdom, OWN, "1.0", own, "", "BM=16 ORDER=row");
    know(f, wisdom, &known);
    assert_int_equal(known.winner, test_point(f->spec.space, "BM=16 ORDER=row"));
    fcl_kernel_known_free(&known);
    add(wisdom, OWN, "1.0", own, "", "BM=64 ORDER=row"); // no point of this space
    know(f, wisdom, &known);
    assert_true(known.winner == FCL_NO_POINT);
    fcl_kernel_known_free(&known);
    fcl_wisdom_destroy(&wisdom);
}

static void bad_points_are_of_this_device_driver_and_size(void **state)
{
    struct fixture *f = *state;
    struct fcl_kernel_known known;
    fcl_wisdom *wisdom = fcl_wisdom_create();
    char own[CLASS_SIZE];
    class_of(f, own);
    const uint64_t bad = test_point(f->spec.space, "BM=32 ORDER='two words'");
    add(wisdom, OWN, "1.0", own, "BM=32 ORDER='two words'", "bad crash");
    add(wisdom, OWN, "0.9", own, "BM=16 ORDER=row", "bad timeout");
    add(wisdom, "Other GPU", "1.0", own, "BM=16 ORDER=row", "bad timeout");
    add(wisdom, OWN, "1.0", own, "BM=16 ORDER='two words'", "BM=16 ORDER='two words'"); // forgiven
    add(wisdom, OWN, "1.0", own, "", "BM=32 ORDER='two words'"); // a winner that crashed later
    know(f, wisdom, &known);
    assert_int_equal(known.bad_count, 1);
    assert_int_equal(known.bad[0], bad);
    assert_true(fcl_kernel_is_bad(&known, bad) && !fcl_kernel_is_bad(&known, bad + 1));
    assert_true(known.winner == FCL_NO_POINT);
    assert_int_equal(known.seed_count, 0);
    fcl_kernel_known_free(&known);
    fcl_wisdom_destroy(&wisdom);
}

// Rows hold what can be tuned, so that they are of use at other sizes.
static void points_are_written_without_sizes(void **state)
{
    struct fixture *f = *state;
    struct fcl_text text = {0};
    fcl_kernel_add_point(f->spec.space, test_point(f->spec.space, "BM=32 ORDER='two words'"),
                         &text);
    assert_string_equal(text.data, "BM=32 ORDER='two words'");
    fcl_text_free(&text);
    set_space(f, test_space((const char *const[]){"N", "64", "BM", "16", NULL}, NULL));
    fcl_kernel_add_point(f->spec.space, 0, &text);
    assert_string_equal(text.data, "N=64 BM=16");
    fcl_text_free(&text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(classes_are_fixed),
        TEST(classes_tell_kernels_and_sizes_apart),
        TEST(derived_names_are_sizes),
        TEST(nothing_is_known_without_wisdom),
        TEST(the_winner_is_of_this_device_driver_and_size),
        TEST(bad_points_are_of_this_device_driver_and_size),
        TEST(points_are_written_without_sizes),
    };
    return cmocka_run_group_tests_name("kernel wisdom", tests, NULL, NULL);
}
