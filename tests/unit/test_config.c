// Configurations as text.
#include "cmocka_all.h"

#include <stdio.h>

#include <flashcl/tune.h>

#include "core/common.h"

static const struct fcl_config vector = {.family = FCL_FAMILY_VECTOR,
                                         .block_m = 64,
                                         .block_n = 32,
                                         .width = 16,
                                         .micro_keys = 4,
                                         .micro_cols = 8,
                                         .dv_split = 1,
                                         .splits = 1};

static void assert_parses(const char *text, const struct fcl_config *expected)
{
    struct fcl_config config;
    char reason[256] = "";
    memset(&config, 0x5a, sizeof config);
    if (fcl_config_parse(text, &config, reason, sizeof reason) != FCL_OK)
        fail_msg("%s: %s", text, reason);
    assert_memory_equal(&config, expected, sizeof config);
}

static void assert_formats(const struct fcl_config *config, const char *expected)
{
    char text[96];
    assert_int_equal(fcl_config_format(config, text, sizeof text), strlen(expected));
    assert_string_equal(text, expected);
}

static void fields_are_read_in_any_order(void **state)
{
    (void)state;
    assert_parses("vector_m64n32l16k4c8p1x0", &vector);
    assert_parses("vector_c8k4l16n32m64", &vector);
    assert_parses("vector_m064n32l16k4c8", &vector);
    struct fcl_config other = vector;
    other.dv_split = 4;
    other.visit = 2;
    assert_parses("vector_x2p4m64n32l16k4c8", &other);
}

static void fields_at_their_default_are_left_out(void **state)
{
    (void)state;
    assert_formats(&vector, "vector_m64n32l16k4c8");
    struct fcl_config other = vector;
    other.dv_split = 4;
    other.visit = 1;
    assert_formats(&other, "vector_m64n32l16k4c8p4x1");
    assert_parses("vector_m64n32l16k4c8p4x1", &other);
    const struct fcl_config generic = {.family = FCL_FAMILY_GENERIC,
                                       .block_m = 1,
                                       .block_n = 2147483647,
                                       .items = 3,
                                       .item_rows = 4,
                                       .d_chunk = 5,
                                       .dv_split = 1,
                                       .splits = 1};
    assert_formats(&generic, "generic_m1n2147483647w3r4d5");
    assert_parses("generic_m1n2147483647w3r4d5", &generic);
    struct fcl_config chunked = generic;
    chunked.k_chunk = 7;
    assert_formats(&chunked, "generic_m1n2147483647w3r4d5h7");
    assert_parses("generic_m1n2147483647w3r4d5h7", &chunked);
}

static void formatting_cuts_at_the_size(void **state)
{
    (void)state;
    char text[16] = "###############";
    assert_int_equal(fcl_config_format(&vector, text, 9), strlen("vector_m64n32l16k4c8"));
    assert_string_equal(text, "vector_m");
    assert_int_equal(text[9], '#');
    const struct fcl_config unknown = {.family = (enum fcl_family)99};
    assert_int_equal(fcl_config_format(&unknown, text, sizeof text), 2);
    assert_string_equal(text, "?_");
}

// Every field of every family survives, whatever rows the tables get.
static void every_field_of_every_family_round_trips(void **state)
{
    (void)state;
    for (int family = 0; family < FCL_FAMILY_COUNT; family++) {
        struct fcl_config config = {.family = (enum fcl_family)family};
        int number = 2;
#define FCL_X(field, key, macro, families, meaning) \
    if ((families) >> family & 1u)                  \
        config.field = number++;
        FCL_CONFIG_FIELDS(FCL_X)
#undef FCL_X
        char text[96];
        assert_true(fcl_config_format(&config, text, sizeof text) < sizeof text);
        assert_parses(text, &config);
    }
}

static void wrong_parts_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part, *allowed;
    } cases[] = {
        {"", "``", "generic_ vector_"},
        {"vector", "`vector`", "vector_"},
        {"vectorm64", "`vectorm64`", "vector_"},
        {"vec_m64", "`vec_m64`", "vector_"},
        {"nvidia_dpas_m64", "`nvidia_dpas_m64`", "generic_ vector_"},
        {"nvidia_mma_m64", "lacks n", "block_n"},
        {"nvidia_mma_m64n64w64k1", "`k`", "of nvidia_mma; allowed are m n w q t u p g s x"},
        {"vector_", "lacks m", "block_m"},
        {"vector_m64n32l16k4", "lacks c", "micro_cols"},
        {"vector_m64n32l16k4c8z1", "`z`", "m n l k c p g s x"},
        {"vector_m64n32l16k4c8w1", "`w`", "of vector"},
        {"generic_m1n1w1r1d1l1", "`l`", "of generic; allowed are m n w r d h p g s x"},
        {"vector_m64n32l16k4c8 ", "` `", "allowed are m n"},
        {"vector_m64n32l16k4c8_p1", "`_`", "allowed are m n"},
        {"vector_64", "`6`", "allowed are m n"},
        {"vector_mn32", "`mn`", "allowed are m n"},
        {"vector_M64", "`M`", "allowed are m n"},
        {"vector_m", "m (rows", "1 to 2147483647"},
        {"vector_m-4", "m (rows", "1 to 2147483647"},
        {"vector_m0n32l16k4c8", "m (rows", "1 to 2147483647"},
        {"vector_m64n32l16k4c8p0", "p (groups", "1 to 2147483647"},
        {"vector_m64n32l16k4c8x", "x (masking", "0 to 2147483647"},
        {"vector_m2147483648", "m (rows", "2147483647"},
        {"vector_m99999999999999999999999", "m (rows", "2147483647"},
        {"vector_m64m64n32l16k4c8", "m (rows", "twice"},
        {"vector_m64n32l16k4c8x0x0", "x (masking", "twice"},
    };
    for (size_t i = 0; i < FCL_COUNT(cases); i++) {
        struct fcl_config config = vector;
        char reason[256] = "";
        assert_int_equal(fcl_config_parse(cases[i].text, &config, reason, sizeof reason),
                         FCL_INVALID_ARGUMENT);
        assert_memory_equal(&config, &vector, sizeof config);
        if (strstr(reason, cases[i].part) == NULL || strstr(reason, cases[i].allowed) == NULL)
            fail_msg("%s: `%s` lacks %s or %s", cases[i].text, reason, cases[i].part,
                     cases[i].allowed);
    }
}

static void null_arguments_are_refused(void **state)
{
    (void)state;
    struct fcl_config config;
    assert_int_equal(fcl_config_parse(NULL, &config, NULL, 0), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_config_parse("vector_m1", NULL, NULL, 0), FCL_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_read_in_any_order),
        cmocka_unit_test(fields_at_their_default_are_left_out),
        cmocka_unit_test(formatting_cuts_at_the_size),
        cmocka_unit_test(every_field_of_every_family_round_trips),
        cmocka_unit_test(wrong_parts_are_named),
        cmocka_unit_test(null_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
