// Caps as a value: text form, mask, families. Devices here are invented.
#include "cmocka_all.h"

#include "core/caps.h"
#include "core/common.h"

#define CAPS_TEXT_SIZE 2048

static struct fcl_caps invented(void)
{
    struct fcl_caps caps = {
        .gpu = 1,
        .compute_units = 132,
        .group_size = 1024,
        .local_bytes = 231424,
        .local_dedicated = 1,
        .global_bytes = UINT64_MAX,
        .float_width = 1,
        .timer_ns = 1000,
        .fp16 = 1,
        .address_bits = 64,
        .c_version = 120,
        .name = "Fictional 9000",
        .vendor = "No One",
        .driver = "1.2.3 (beta)",
    };
    return caps;
}

static struct fcl_caps processor(void)
{
    const struct fcl_caps caps = {.cpu = 1, .group_size = 4096, .c_version = 300, .float_width = 8};
    return caps;
}

static void text_form_gives_the_same_caps(void **state)
{
    (void)state;
    char text[CAPS_TEXT_SIZE], again[CAPS_TEXT_SIZE];
    const struct fcl_caps caps = invented();
    struct fcl_caps read;
    assert_true(fcl_caps_format(&caps, text, sizeof text) < sizeof text);
    assert_non_null(strstr(text, "compute_units 132\n"));
    assert_non_null(strstr(text, "name Fictional 9000\n"));
    assert_non_null(strstr(text, "\nplatform\n")); // an empty text has no trailing blank
    assert_int_equal(fcl_caps_parse(text, &read, NULL, 0), FCL_OK);
    assert_memory_equal(&read, &caps, sizeof caps);
    fcl_caps_format(&read, again, sizeof again);
    assert_string_equal(text, again);
}

static void text_form_is_cut(void **state)
{
    (void)state;
    char text[8];
    const struct fcl_caps caps = invented();
    const size_t length = fcl_caps_format(&caps, NULL, 0);
    assert_true(length > 100);
    assert_int_equal(fcl_caps_format(&caps, text, sizeof text), length);
    assert_string_equal(text, "cpu 0\ng");
}

static void control_characters_cannot_break_the_form(void **state)
{
    (void)state;
    char text[CAPS_TEXT_SIZE];
    struct fcl_caps caps = invented(), read;
    strcpy(caps.name, "two\nlines\tlong");
    memset(caps.vendor, 'v', sizeof caps.vendor); // no final 0
    fcl_caps_format(&caps, text, sizeof text);
    assert_int_equal(fcl_caps_parse(text, &read, NULL, 0), FCL_OK);
    assert_string_equal(read.name, "two lines long");
    assert_int_equal(strlen(read.vendor), FCL_CAPS_TEXT_SIZE - 1);
}

static void texts_of_drivers_are_cleaned(void **state)
{
    (void)state;
    const char *const texts[][2] = {{" \t Some  Device \r\n ", "Some  Device"},
                                    {"two\nlines", "two lines"},
                                    {"", ""},
                                    {" \n", ""},
                                    {"M\xc3\xa4lzel", "M\xc3\xa4lzel"}};
    char out[FCL_CAPS_TEXT_SIZE];
    for (size_t i = 0; i < FCL_COUNT(texts); i++) {
        memset(out, '#', sizeof out);
        fcl_caps_text_clean(out, texts[i][0]);
        assert_string_equal(out, texts[i][1]);
    }
    char long_text[300];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;
    long_text[126] = ' '; // the cut must not leave a blank at the end
    fcl_caps_text_clean(out, long_text);
    assert_int_equal(strlen(out), 126);
}

static void parsing_is_tolerant_of_layout(void **state)
{
    (void)state;
    struct fcl_caps caps;
    assert_int_equal(
        fcl_caps_parse("# a note\n\n  group_size   64 \r\nname \t A  B \nfp16 1", &caps, NULL, 0),
        FCL_OK);
    assert_int_equal(caps.group_size, 64);
    assert_int_equal(caps.fp16, 1);
    assert_string_equal(caps.name, "A  B");
    assert_int_equal(caps.gpu, 0);
    assert_string_equal(caps.driver, "");
    assert_int_equal(fcl_caps_parse("", &caps, NULL, 0), FCL_OK);
    assert_int_equal(caps.group_size, 0);
}

static void bad_texts_are_refused_and_change_nothing(void **state)
{
    (void)state;
    static char long_text[FCL_CAPS_TEXT_SIZE + 16];
    memset(long_text, 'x', sizeof long_text - 1);
    memcpy(long_text, "name ", 5);
    const char *const bad[] = {
        "fp17 1",           "group_size",      "group_size -1", "group_size 1.5",
        "group_size 64 64", "group_size 0x40", "fp16=1",        "group_size 18446744073709551616",
        "Group_size 1",     "group_sizes 1",   "group_siz 1",   "group_size +1",
        long_text,
    };
    for (size_t i = 0; i < FCL_COUNT(bad); i++) {
        char text[512] = "fp16 1\n", reason[512] = "";
        struct fcl_caps caps = invented();
        const struct fcl_caps before = caps;
        strcat(text, bad[i]);
        assert_int_equal(fcl_caps_parse(text, &caps, reason, sizeof reason), FCL_INVALID_ARGUMENT);
        assert_memory_equal(&caps, &before, sizeof caps);
        assert_non_null(strstr(reason, "line 2"));
    }
    struct fcl_caps caps;
    assert_int_equal(fcl_caps_parse(NULL, &caps, NULL, 0), FCL_INVALID_ARGUMENT);
}

static void masks_only_lower(void **state)
{
    (void)state;
    struct fcl_caps caps = invented();
    assert_int_equal(
        fcl_caps_mask(&caps, " fp16=0  local_bytes=16384\tgroup_size=4096 \n", NULL, 0), FCL_OK);
    assert_int_equal(caps.fp16, 0);
    assert_int_equal(caps.local_bytes, 16384);
    assert_int_equal(caps.group_size, 1024);
    assert_int_equal(fcl_caps_mask(&caps, "", NULL, 0), FCL_OK);
    assert_int_equal(fcl_caps_mask(&caps, "subgroups=1", NULL, 0), FCL_OK);
    assert_int_equal(caps.subgroups, 0);
}

static void masks_turn_the_kind_of_a_device(void **state)
{
    (void)state;
    struct fcl_caps caps = processor();
    assert_int_equal(fcl_caps_mask(&caps, "gpu=0", NULL, 0), FCL_OK);
    assert_int_equal(caps.cpu, 1);
    assert_int_equal(fcl_caps_mask(&caps, "cpu=0", NULL, 0), FCL_OK);
    assert_int_equal(caps.cpu, 0);
    assert_int_equal(caps.gpu, 1);
    assert_int_equal(fcl_caps_mask(&caps, "gpu=0", NULL, 0), FCL_OK);
    assert_int_equal(caps.cpu, 1);
    assert_int_equal(caps.gpu, 0);
}

static void bad_masks_are_refused_and_change_nothing(void **state)
{
    (void)state;
    const char *const bad[] = {"name=x",  "fp16",        "fp16=",   "fp17=0",          "=0",
                               "fp16=-1", "fp16=no",     "fp16 =0", "fp16=0,images=0", "driver=0",
                               "=",       "timer_ns=1e3"};
    for (size_t i = 0; i < FCL_COUNT(bad); i++) {
        char mask[128] = "group_size=1 ", reason[256] = "";
        struct fcl_caps caps = invented();
        const struct fcl_caps before = caps;
        strcat(mask, bad[i]);
        assert_int_equal(fcl_caps_mask(&caps, mask, reason, sizeof reason), FCL_INVALID_ARGUMENT);
        assert_memory_equal(&caps, &before, sizeof caps);
        assert_non_null(strstr(reason, "caps mask"));
    }
    struct fcl_caps caps = invented();
    assert_int_equal(fcl_caps_mask(&caps, NULL, NULL, 0), FCL_INVALID_ARGUMENT);
}

static void family_names(void **state)
{
    (void)state;
    assert_string_equal(fcl_family_text(FCL_FAMILY_GENERIC), "generic");
    assert_string_equal(fcl_family_text(FCL_FAMILY_VECTOR), "vector");
    assert_null(fcl_family_text(FCL_FAMILY_COUNT));
    assert_null(fcl_family_text((enum fcl_family) - 1));
}

static void families_and_devices(void **state)
{
    (void)state;
    const struct {
        enum fcl_family family;
        int cpu;
        uint64_t c_version, group_size;
        const char *reason; // NULL: usable
    } cases[] = {
        {FCL_FAMILY_GENERIC, 0, 120, 1, NULL},
        {FCL_FAMILY_GENERIC, 1, 300, 4096, NULL},
        {FCL_FAMILY_GENERIC, 0, 0, 64, NULL},
        {FCL_FAMILY_GENERIC, 0, 110, 64, "OpenCL C 1.2"},
        {FCL_FAMILY_GENERIC, 0, 120, 0, "work-group"},
        {FCL_FAMILY_VECTOR, 1, 120, 1, NULL},
        {FCL_FAMILY_VECTOR, 1, 0, 1, NULL},
        {FCL_FAMILY_VECTOR, 0, 120, 64, "CPU"},
        {FCL_FAMILY_VECTOR, 1, 100, 64, "OpenCL C 1.2"},
        {FCL_FAMILY_VECTOR, 1, 120, 0, "work-group"},
    };
    for (size_t i = 0; i < FCL_COUNT(cases); i++) {
        char reason[256] = "";
        struct fcl_caps caps = invented();
        caps.cpu = (uint64_t)cases[i].cpu;
        caps.gpu = !caps.cpu;
        caps.c_version = cases[i].c_version;
        caps.group_size = cases[i].group_size;
        const enum fcl_status status =
            fcl_family_usable(cases[i].family, &caps, reason, sizeof reason);
        assert_int_equal(status, cases[i].reason ? FCL_UNSUPPORTED : FCL_OK);
        if (cases[i].reason) {
            assert_non_null(strstr(reason, cases[i].reason));
            assert_non_null(strstr(reason, fcl_family_text(cases[i].family)));
        }
    }
}

static void families_that_do_not_exist(void **state)
{
    (void)state;
    const struct fcl_caps caps = processor();
    assert_int_equal(fcl_family_usable(FCL_FAMILY_COUNT, &caps, NULL, 0), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_family_usable(FCL_FAMILY_GENERIC, NULL, NULL, 0), FCL_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_form_gives_the_same_caps),
        cmocka_unit_test(text_form_is_cut),
        cmocka_unit_test(control_characters_cannot_break_the_form),
        cmocka_unit_test(texts_of_drivers_are_cleaned),
        cmocka_unit_test(parsing_is_tolerant_of_layout),
        cmocka_unit_test(bad_texts_are_refused_and_change_nothing),
        cmocka_unit_test(masks_only_lower),
        cmocka_unit_test(masks_turn_the_kind_of_a_device),
        cmocka_unit_test(bad_masks_are_refused_and_change_nothing),
        cmocka_unit_test(family_names),
        cmocka_unit_test(families_and_devices),
        cmocka_unit_test(families_that_do_not_exist),
    };
    return cmocka_run_group_tests_name("caps", tests, NULL, NULL);
}
