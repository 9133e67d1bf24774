// Decoding and short queries on every usable family: grouped heads as rows of one block, keys split
// over groups. Numbers in comments are rows of the list of inputs that broke other implementations.
#include "cmocka_all.h"

#include <stdio.h>

#include "attention.h"

static struct test_opencl opencl;

// Configurations that pack heads and split keys, one a usable family. Returns how many.
static int packed_configs(const struct fcl_problem *problem, int splits,
                          char configs[TEST_CONFIGS][96])
{
    const struct fcl_caps *caps = fcl_device_caps(opencl.device);
    const int lanes = caps->float_width >= 16 ? 16 : caps->float_width >= 8 ? 8 : 4;
    char all[TEST_CONFIGS][96];
    snprintf(all[0], 96, "generic_m16n16w64r4d16g1s%d", splits);
    snprintf(all[1], 96, "vector_m%dn32l%dk4c4g1s%d", lanes, lanes, splits);
    snprintf(all[2], 96, "row_m4n32l%dk2c2g1s%d", lanes, splits);
    snprintf(all[3], 96, "nvidia_mma_m16n64w32g1s%d", splits);
    int count = 0;
    for (int i = 0; i < TEST_CONFIGS; i++) {
        struct fcl_config config;
        assert_int_equal(fcl_config_parse(all[i], &config, NULL, 0), FCL_OK);
        if (!fcl_config_validate(&config, problem, caps, NULL, 0))
            memcpy(configs[count++], all[i], sizeof all[i]);
    }
    assert_true(count > 0);
    return count;
}

// One plan serves every ratio of heads, every number of queries and every length.
static void check_ratios(const char *features, const char *config)
{
    static const char *const ratios[] = {"h6/2", "h28/4", "h48/2", "h12/1", "h20/1", "h7/7"};
    static const int q_lens[] = {1, 2, 3, 5, 16}, k_lens[] = {70, 21, 3};
    fcl_plan *plan = NULL;
    for (size_t r = 0; r < sizeof ratios / sizeof *ratios; r++)
        for (size_t q = 0; q < sizeof q_lens / sizeof *q_lens; q++) {
            char text[128];
            struct test_attention a;
            snprintf(text, sizeof text, "fwd %s q%d k%d d16 %s", ratios[r], q_lens[q],
                     k_lens[(r + q) % 3], features);
            test_attention_init(&a, text);
            if (!plan)
                plan = test_plan(&opencl, &a.problem, FCL_FUSED, config);
            test_attention_judge(&opencl, &a, plan, 0);
            test_attention_free(&a);
        }
    fcl_plan_destroy(&plan);
}

static void check_everywhere(const char *features)
{
    char configs[TEST_CONFIGS][96], text[128];
    struct fcl_problem problem;
    snprintf(text, sizeof text, "fwd q1 d16 %s", features);
    assert_int_equal(fcl_problem_parse(text, &problem, NULL, 0), FCL_OK);
    const int count = packed_configs(&problem, 3, configs);
    for (int c = 0; c < count; c++)
        check_ratios(features, configs[c]);
}

// 26, 35, 37: heads map to the right ones, splits without keys weigh nothing, LSE is that of the
// whole. Several queries, aligned at the end, are a speculative step.
static void every_ratio_of_heads(void **state)
{
    (void)state;
    check_everywhere("causal-br lse");
}

static void every_ratio_of_heads_in_halves(void **state)
{
    (void)state;
    check_everywhere("f16 lse");
}

// More parts than are joined at once, the last ones fewer: what was added up shrinks. The block in
// which a window begins is any part's, and the part that takes the sink may have none.
static void many_parts(void **state)
{
    (void)state;
    static const char *const problems[] = {
        "fwd b2 h6/2 q3 k1400 d16 causal-br lse",
        "fwd b2 h6/2 q3 k1400 d16 f16 causal-br lse",
        "fwd h6/2 q3 k1400 d16 br win=1000,1 bias=f32 lse",
        "fwd b2 h6/2 q3 k1400 d16 f16 causal-br win=50,0 sink lse",
        "fwd h6/2 q3 k1400 d16 f16 br alibi mask=u8 lse",
    };
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        char configs[TEST_CONFIGS][96];
        struct test_attention a;
        test_attention_init(&a, problems[i]);
        const int count = packed_configs(&a.problem, 21, configs);
        for (int c = 0; c < count; c++)
            test_attention_with(&opencl, &a, FCL_FUSED, configs[c]);
        test_attention_free(&a);
    }
}

// What the library chooses for one to sixteen queries over keys that are worth splitting.
static void choices_are_right(void **state)
{
    (void)state;
    static const char *const problems[] = {
        "fwd h6/2 q1 k2100 d64 causal-br lse",      "fwd h12/1 q3 k2100 d64 causal-br lse",
        "fwd h4/4 q5 k1100 d32 f16 causal-br",      "fwd h20/1 q16 k1100 d32 causal-br lse",
        "fwd b2 h28/4 q2 k1100 d32 bf16 causal-br",
    };
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        struct test_attention a;
        test_attention_init(&a, problems[i]);
        test_attention_with(&opencl, &a, FCL_FUSED, NULL);
        test_attention_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_ratio_of_heads),
        cmocka_unit_test(every_ratio_of_heads_in_halves),
        cmocka_unit_test(many_parts),
        cmocka_unit_test(choices_are_right),
    };
    if (!test_opencl_open(&opencl, NULL))
        return 77;
    const int failed = cmocka_run_group_tests_name("decode", tests, NULL, NULL);
    test_opencl_close(&opencl);
    return failed;
}
