// What a configuration keeps on the chip: hand-computed cases of each family, and the whole space.
#include "cmocka_all.h"

#include <stdio.h>

#include "attention/space.h"
#include "devices.h"

static struct fcl_problem problem_of(const char *text)
{
    struct fcl_problem problem;
    char reason[256];
    if (fcl_problem_parse(text, &problem, reason, sizeof reason))
        fail_msg("%s: %s", text, reason);
    return problem;
}

static const struct {
    const char *problem, *config;
    struct fcl_budget budget;
} rows[] = {
    // 8 row groups x 8 column groups; rows in local memory are 4 longer than the block.
    {"fwd q128 d64",
     "generic_m32n32w64r4d64",
     {.group_size = 64,
      .lanes = 1,
      .accumulators = 4 * 8,
      .left = 4,
      .scores = 4 * 4,
      .registers = 53,
      .left_bytes = 64 * 36 * 4,
      .right_bytes = 2 * 64 * 36 * 4, // keys, in turns; the values are 32 x 64
      .scores_bytes = 32 * 36 * 4,
      .row_bytes = 8 * 32 * 4,
      .local_bytes = 33280}},
    // Chunks of 16 head dims; 2 slices of 35 columns are 18; 4 column groups own 5 each.
    {"fwd q128 d40/35 f16",
     "generic_m16n16w16r4d16p2",
     {.group_size = 16,
      .lanes = 1,
      .accumulators = 4 * 5,
      .left = 4,
      .scores = 4 * 4,
      .registers = 41,
      .left_bytes = 16 * 20 * 4,
      .right_bytes = 2 * 16 * 20 * 4, // keys, as many as the values, 16 x 20
      .scores_bytes = 16 * 20 * 4,
      .row_bytes = 4 * 16 * 4,
      .local_bytes = 5376}},
    // No output, so no values, probabilities or accumulators.
    {"lse q128 d16",
     "generic_m8n16w16r4d8",
     {.group_size = 16,
      .lanes = 1,
      .accumulators = 0,
      .left = 4,
      .scores = 4 * 2,
      .registers = 13,
      .left_bytes = 8 * 12 * 4,
      .right_bytes = 2 * 8 * 20 * 4,
      .scores_bytes = 0,
      .row_bytes = 8 * 8 * 4,
      .local_bytes = 1920}},
    {"fwd q128 d64",
     "vector_m64n64l16k4c4",
     {.group_size = 1,
      .lanes = 16,
      .accumulators = 4 * 4,
      .left = 4,
      .scores = 4 * 4,
      .registers = 21,
      .left_bytes = 64 * 64 * 4,
      .right_bytes = 0,
      .scores_bytes = 64 * 64 * 4,
      .out_bytes = 64 * 64 * 4,
      .row_bytes = 64 * 4 * 4,
      .private_bytes = 50176}},
    // Halves are copied: 32 values of 20 columns; 20 columns make 7 register tiles of 3.
    {"fwd q128 d80/40 f16",
     "vector_m16n32l8k4c3p2",
     {.group_size = 1,
      .lanes = 8,
      .accumulators = 2 * 3,
      .left = 2,
      .scores = 2 * 4,
      .registers = 11,
      .left_bytes = 16 * 80 * 4,
      .right_bytes = 32 * 20 * 4,
      .scores_bytes = 16 * 32 * 4,
      .out_bytes = 16 * 21 * 4,
      .row_bytes = 16 * 4 * 4,
      .private_bytes = 11328}},
    // A register tile of 8 keys x 512 head dims is more than 8 values x 16 columns; fp32 is copied
    // only where columns may be apart.
    {"fwd q128 d512/16 strided",
     "vector_m4n8l4k8c2",
     {.group_size = 1,
      .lanes = 4,
      .accumulators = 2,
      .left = 1,
      .scores = 8,
      .registers = 10,
      .left_bytes = 4 * 512 * 4,
      .right_bytes = 8 * 512 * 4,
      .scores_bytes = 4 * 8 * 4,
      .out_bytes = 4 * 16 * 4,
      .row_bytes = 4 * 4 * 4,
      .private_bytes = 25024}},
    // Rows are whole vectors: 20 head dims fill 3, 36 fill 5.
    {"fwd q4 k128 d20/36 bf16",
     "row_m4n128l8k2c3",
     {.group_size = 1,
      .lanes = 8,
      .accumulators = 4 * 3,
      .left = 4,
      .scores = 4 * 2,
      .registers = 17,
      .left_bytes = 4 * 24 * 4,
      .right_bytes = 0,
      .scores_bytes = 4 * 128 * 4,
      .out_bytes = 4 * 40 * 4,
      .row_bytes = 4 * 4 * 4,
      .private_bytes = 3136}},
    {"lse q4 k128 d20",
     "row_m4n128l8k2c3",
     {.group_size = 1,
      .lanes = 8,
      .accumulators = 0,
      .left = 4,
      .scores = 4 * 2,
      .registers = 13,
      .left_bytes = 4 * 24 * 4,
      .right_bytes = 0,
      .scores_bytes = 4 * 128 * 4,
      .out_bytes = 0,
      .row_bytes = 4 * 4 * 4,
      .private_bytes = 2496}},
};

static void budgets_are_those_computed_by_hand(void **state)
{
    (void)state;
    for (size_t i = 0; i < FCL_COUNT(rows); i++) {
        const struct fcl_problem problem = problem_of(rows[i].problem);
        struct fcl_config config;
        struct fcl_budget budget;
        char reason[256] = "";
        assert_int_equal(fcl_config_parse(rows[i].config, &config, reason, sizeof reason), FCL_OK);
        if (fcl_config_budget(&config, &problem, &budget, reason, sizeof reason))
            fail_msg("%s: %s", rows[i].config, reason);
#define FCL_X(name, meaning)                                                                     \
    if (budget.name != rows[i].budget.name)                                                      \
        fail_msg("%s, %s: " #name " is %lld, expected is %lld", rows[i].problem, rows[i].config, \
                 (long long)budget.name, (long long)rows[i].budget.name);
        FCL_BUDGET_FIELDS(FCL_X)
#undef FCL_X
    }
}

// Sums are sums, local memory is what the kernel declares, and every valid point has a budget.
static int visit(void *user, const struct fcl_config *config, enum fcl_status status,
                 const char *reason)
{
    const struct fcl_problem *problem = user;
    struct fcl_budget b;
    char why[256] = "";
    const enum fcl_status found = fcl_config_budget(config, problem, &b, why, sizeof why);
    if (!status)
        assert_int_equal(found, FCL_OK);
    if (found)
        assert_string_equal(why, reason);
    assert_int_equal(b.local_bytes + b.private_bytes,
                     b.left_bytes + b.right_bytes + b.scores_bytes + b.out_bytes + b.row_bytes);
    if (!found)
        assert_int_equal(b.local_bytes, fcl_config_local_bytes(config, problem));
    return 0;
}

static void every_valid_point_has_a_budget(void **state)
{
    (void)state;
    static const char *const problems[] = {"fwd h2 q256 d64", "fwd h8/2 q4 k999 d33/7 f16",
                                           "lse q100 d80 bf16", "fwd q64 d1024 strided"};
    const struct fcl_caps devices[] = {test_cpu(16), test_gpu(49152, 256)};
    for (size_t i = 0; i < FCL_COUNT(problems); i++)
        for (size_t j = 0; j < FCL_COUNT(devices); j++) {
            struct fcl_problem problem = problem_of(problems[i]);
            fcl_config_space(&problem, &devices[j], visit, &problem);
        }
}

static void nonsense_has_none(void **state)
{
    (void)state;
    const struct fcl_problem problem = problem_of("fwd q128 d64");
    const struct fcl_budget zero = {0};
    struct fcl_config config = {.family = FCL_FAMILY_COUNT};
    struct fcl_budget budget;
    char reason[256] = "";
    assert_int_equal(fcl_config_budget(NULL, &problem, &budget, reason, sizeof reason),
                     FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_config_budget(&config, &problem, &budget, reason, sizeof reason),
                     FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_config_budget(&config, &problem, NULL, reason, sizeof reason),
                     FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_config_parse("generic_m32n32w44r4d64", &config, NULL, 0), FCL_OK);
    assert_int_equal(fcl_config_budget(&config, NULL, &budget, reason, sizeof reason),
                     FCL_INVALID_ARGUMENT);
    memset(&budget, 0x5a, sizeof budget);
    assert_int_equal(fcl_config_budget(&config, &problem, &budget, reason, sizeof reason),
                     FCL_UNSUPPORTED);
    assert_non_null(strstr(reason, "items 44"));
    assert_memory_equal(&budget, &zero, sizeof zero);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(budgets_are_those_computed_by_hand),
        cmocka_unit_test(every_valid_point_has_a_budget),
        cmocka_unit_test(nonsense_has_none),
    };
    return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
