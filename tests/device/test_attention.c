// Attention on every usable family against the double-precision reference. Numbers in comments are
// rows of the list of inputs that broke other implementations: each test covers the kind, not only
// the row.
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>

#include "attention.h"

static int open_device(void **state)
{
    static struct test_opencl opencl;
    *state = test_opencl_open(&opencl, NULL) ? &opencl : NULL;
    return 0;
}

static int close_device(void **state)
{
    if (*state)
        test_opencl_close(*state);
    return 0;
}

static struct test_opencl *device_of(void **state)
{
    if (!*state)
        skip();
    return *state;
}

#define CHECK_PROBLEMS(...) TEST_PROBLEMS(device_of(state), __VA_ARGS__)

// ---- shapes

// 24: any head dim, also where keys and values differ.
static void head_dims(void **state)
{
    CHECK_PROBLEMS("fwd h2 q20 k37 d1", "fwd h2 q20 k37 d5 causal-br", "fwd h2 q20 k37 d40",
                   "fwd h2 q20 k37 d64 lse", "fwd h2 q20 k37 d72 causal-tl", "fwd h2 q20 k37 d80",
                   "fwd h2 q20 k37 d96", "fwd h2 q20 k37 d100 causal-br", "fwd h2 q20 k37 d112",
                   "fwd h2 q20 k37 d128", "fwd h2 q20 k37 d160", "fwd h2 q20 k37 d192",
                   "fwd h2 q20 k37 d256 causal-tl", "fwd h2 q20 k37 d320", "fwd q20 k37 d512",
                   "fwd q20 k37 d576", "fwd q9 k37 d1024 causal-br", "fwd h2 q20 k37 d192/128",
                   "fwd q20 k37 d576/512 causal-br", "fwd h2 q20 k37 d128/64",
                   "fwd h2 q20 k37 d24/40 lse");
}

// All four tensors in one type, and mixed.
static void element_types(void **state)
{
    CHECK_PROBLEMS("fwd h2 q33 k65 d64 f16 lse", "fwd h2 q33 k65 d80 f16 causal-br",
                   "fwd h2 q33 k65 d64 bf16 lse", "fwd h2 q33 k65 d80 bf16 causal-tl",
                   "fwd h2 q33 k65 d40 q:f32 k:f16 v:f16 o:f32 causal-br",
                   "fwd h2 q33 k65 d40 q:f16 k:bf16 v:f32 o:bf16", "lse h2 q33 k65 d40 f16");
}

// 26: groups that differ in count and size.
static void grouped_heads(void **state)
{
    CHECK_PROBLEMS("fwd b2 h6/2 q17 k33 d16 causal-br lse", "fwd h28/4 q17 k33 d16",
                   "fwd h48/2 q17 k33 d16", "fwd h12/1 q17 k33 d16", "fwd h20/1 q17 k33 d16",
                   "fwd h7/7 q17 k33 d16", "fwd b3 h6/2 q17 k33 d16 layout=bshd causal-br lse");
}

static const int64_t lengths[] = {0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 65, 127, 129, 1000};
#define LENGTHS (sizeof lengths / sizeof *lengths)

// One plan serves every pair of lengths: nothing is compiled for a new one.
static void check_lengths(struct test_opencl *opencl, const char *mask, const char *config)
{
    struct test_attention a;
    struct fcl_problem problem;
    char text[64];
    snprintf(text, sizeof text, "fwd q1 d8 lse %s", mask);
    assert_int_equal(fcl_problem_parse(text, &problem, NULL, 0), FCL_OK);
    fcl_plan *plan = test_plan(opencl, &problem, FCL_FUSED, config);
    for (size_t n = 0; n < LENGTHS; n++)
        for (size_t m = 0; m < LENGTHS; m++) {
            char sized[256];
            snprintf(sized, sizeof sized, "fwd q%d k%d d8 lse %s", (int)lengths[n], (int)lengths[m],
                     mask);
            test_attention_init(&a, sized);
            test_attention_judge(opencl, &a, plan, 0);
            test_attention_free(&a);
        }
    fcl_plan_destroy(&plan);
}

// 10, 11, 14, 17: every pair of lengths under every mask.
static void all_lengths(void **state)
{
    struct test_opencl *opencl = device_of(state);
    static const char *const masks[] = {"none", "causal-tl", "causal-br"};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        char configs[TEST_CONFIGS][96];
        struct fcl_problem problem = fcl_problem(.head_dim_qk = 8, .head_dim_v = 8);
        const int count = test_configs(opencl, &problem, configs);
        for (int c = 0; c < count; c++)
            check_lengths(opencl, masks[i], configs[c]);
    }
}

// 9, 17, 19: many keys, many heads.
static void large_counts(void **state)
{
    CHECK_PROBLEMS("fwd q3 k17776 d16 causal-br lse", "fwd q2 k100000 d16 f16 lse",
                   "fwd b8300 h16 q1 k1 d8");
}

// 19: more elements than 32 bits can count, where the device can hold them.
static void more_than_2_31_elements(void **state)
{
    struct test_opencl *opencl = device_of(state);
    const int64_t batch_stride = INT64_C(2200000000);
    if (fcl_device_caps(opencl->device)->allocation_bytes < (uint64_t)batch_stride * 2 + 4096) {
        print_message("skipped: the device allocates at most %llu bytes at once, 4.4e9 needed\n",
                      (unsigned long long)fcl_device_caps(opencl->device)->allocation_bytes);
        skip();
    }
    struct test_attention a;
    test_attention_init(&a, "fwd b2 h1 q5 k9 d16 f16");
    const int64_t strides[4] = {batch_stride, 0, 16, 1};
    test_tensor_lay(&a.k, strides, 0);
    test_attention_everywhere(opencl, &a);
    test_attention_free(&a);
}

// 18: nothing to do is a success and still an event; no keys give empty rows.
static void empty_problems(void **state)
{
    CHECK_PROBLEMS("fwd b0 h2 q4 k4 d8 lse", "fwd h2 q0 k4 d8 lse", "fwd h2 q4 k0 d8 lse",
                   "fwd h2 q4 k0 d8 causal-br lse", "lse h2 q4 k0 d8");
    struct test_opencl *opencl = device_of(state);
    struct test_attention a;
    test_attention_init(&a, "fwd h2 q4 k0 d8 lse");
    fcl_plan *plan = test_plan(opencl, &a.problem, FCL_FUSED, NULL);
    assert_int_equal(test_attention_run(opencl, &a, plan), FCL_OK);
    for (int i = 0; i < 4; i++) {
        assert_true(test_tensor_get(&a.o, 0, 1, i, 3) == 0.0f);
        assert_true(a.lse[i] == -INFINITY);
    }
    fcl_plan_destroy(&plan);
    test_attention_free(&a);
}

// ---- masks

// 1, 11: rows without keys, in every position and batch.
static void rows_without_keys(void **state)
{
    struct test_opencl *opencl = device_of(state);
    char configs[TEST_CONFIGS][96];
    struct test_attention a;
    CHECK_PROBLEMS("fwd b2 h2 q9 k4 d16 causal-br lse", "fwd h2 q200 k40 d16 causal-br lse",
                   "lse h2 q200 k40 d16 causal-br");
    test_attention_init(&a, "fwd b2 h2 q9 k4 d16 causal-br lse");
    const int count = test_configs(opencl, &a.problem, configs);
    for (int c = 0; c < count; c++) {
        fcl_plan *plan = test_plan(opencl, &a.problem, FCL_FUSED, configs[c]);
        assert_int_equal(test_attention_run(opencl, &a, plan), FCL_OK);
        for (int i = 0; i < 5; i++) {
            assert_true(test_tensor_get(&a.o, 1, 1, i, 7) == 0.0f);
            assert_true(a.lse[(1 * 2 + 1) * 9 + i] == -INFINITY);
        }
        assert_true(isfinite(a.lse[(1 * 2 + 1) * 9 + 5]));
        fcl_plan_destroy(&plan);
    }
    test_attention_free(&a);
}

// 10, 15: alignment is what was asked for and causality is never inferred. With one-hot values the
// output says which keys were seen.
static void alignment_is_explicit(void **state)
{
    static const struct {
        const char *problem;
        int seen; // keys that query 0 sees
    } rows[] = {{"fwd q1 k16 d16 causal-tl", 1},
                {"fwd q1 k16 d16 causal-br", 16},
                {"fwd q16 k16 d16", 16},
                {"fwd q16 k16 d16 causal-br", 1}};
    struct test_opencl *opencl = device_of(state);
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        char configs[TEST_CONFIGS][96];
        struct test_attention a;
        test_attention_init(&a, rows[n].problem);
        for (int64_t j = 0; j < 16; j++)
            for (int64_t d = 0; d < 16; d++)
                test_tensor_set(&a.v, 0, 0, j, d, j == d ? 1.0f : 0.0f);
        const int count = test_configs(opencl, &a.problem, configs);
        for (int c = 0; c < count; c++) {
            fcl_plan *plan = test_plan(opencl, &a.problem, FCL_FUSED, configs[c]);
            assert_int_equal(test_attention_run(opencl, &a, plan), FCL_OK);
            int seen = 0;
            for (int d = 0; d < 16; d++)
                seen += test_tensor_get(&a.o, 0, 0, 0, d) > 0.0f;
            assert_int_equal(seen, rows[n].seen);
            fcl_plan_destroy(&plan);
        }
        test_attention_free(&a);
    }
}

// 14: block edges at -1, 0, +1, under the three ways to mask.
static void ways_to_mask(void **state)
{
    struct test_opencl *opencl = device_of(state);
    static const char *const problems[] = {
        "fwd q47 k80 d16 causal-br lse", "fwd q80 k48 d16 causal-tl lse",
        "fwd q49 k33 d16 causal-br lse", "fwd q49 k97 d16 br win=15,32 lse"};
    for (size_t n = 0; n < sizeof problems / sizeof *problems; n++)
        for (int visit = 1; visit <= 2; visit++) {
            char configs[TEST_CONFIGS][96], config[512];
            struct test_attention a;
            test_attention_init(&a, problems[n]);
            const int count = test_configs(opencl, &a.problem, configs);
            for (int c = 0; c < count; c++) {
                snprintf(config, sizeof config, "%sx%d", configs[c], visit);
                test_attention_with(opencl, &a, FCL_FUSED, config);
            }
            test_attention_free(&a);
        }
}

// ---- values

// 3: NaN and Inf at a hidden key never reach the output through K.
static void hidden_keys_are_harmless(void **state)
{
    struct test_opencl *opencl = device_of(state);
    static const float poisons[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        struct test_attention a;
        test_attention_init(&a, "fwd q2 k2 d4 causal-tl lse");
        test_tensor_set(&a.k, 0, 0, 1, 2, poisons[i]); // seen by query 1 only
        test_attention_everywhere(opencl, &a);
        test_attention_free(&a);
    }
}

// 3: what lies behind the last key of a longer buffer is never read into the result. Tensors are
// laid with gaps of NaN behind each head's rows.
static void beyond_the_length_is_harmless(void **state)
{
    struct test_opencl *opencl = device_of(state);
    static const char *const problems[] = {"fwd b2 h2 q5 k19 d16 causal-br lse",
                                           "fwd b2 h2 q5 k19 d20 f16 lse"};
    for (size_t n = 0; n < 2; n++) {
        struct test_attention a;
        test_attention_init(&a, problems[n]);
        const int64_t dim = a.problem.head_dim_qk;
        const int64_t strides[4] = {80 * 2 * dim, 80 * dim, dim, 1};
        test_tensor_lay(&a.k, strides, 0);
        test_tensor_lay(&a.v, strides, 0);
        test_attention_everywhere(opencl, &a);
        test_attention_free(&a);
    }
}

// 3: with guard-v, a V row that only some queries see may be NaN.
static void guarded_values(void **state)
{
    struct test_opencl *opencl = device_of(state);
    struct test_attention a;
    test_attention_init(&a, "fwd h2 q40 k40 d20 causal-tl guard-v lse");
    for (int64_t d = 0; d < 20; d++)
        test_tensor_set(&a.v, 0, 1, 37, d, d % 2 ? NAN : INFINITY);
    test_attention_everywhere(opencl, &a);
    test_attention_free(&a);
}

// Visible NaN and Inf propagate as in the reference, to the rows that see them and no others.
static void visible_values_propagate(void **state)
{
    struct test_opencl *opencl = device_of(state);
    struct test_attention a;
    test_attention_init(&a, "fwd h2 q24 k40 d16 causal-br guard-v lse");
    test_tensor_set(&a.v, 0, 0, 20, 3, NAN);
    test_tensor_set(&a.q, 0, 1, 7, 2, NAN);
    test_tensor_set(&a.k, 0, 1, 39, 2, NAN);
    test_attention_everywhere(opencl, &a);
    test_attention_free(&a);
}

// 8: logits of 6e4 from f16 inputs are finite in fp32 and exact enough.
static void large_logits(void **state)
{
    struct test_opencl *opencl = device_of(state);
    struct test_attention a;
    test_attention_init(&a, "fwd h2 q17 k50 d64 f16 lse");
    a.scale = 1.0f;
    for (int64_t i = 0; i < 17; i++)
        for (int64_t d = 0; d < 64; d++)
            test_tensor_set(&a.q, 0, 1, i, d, 30.0f + 0.01f * (float)(i + d));
    for (int64_t j = 0; j < 50; j++)
        for (int64_t d = 0; d < 64; d++)
            test_tensor_set(&a.k, 0, 1, j, d, 31.0f - 0.02f * (float)(j % 7));
    test_attention_everywhere(opencl, &a);
    test_attention_free(&a);
}

// Scales that are negative, tiny or large.
static void unusual_scales(void **state)
{
    struct test_opencl *opencl = device_of(state);
    static const float scales[] = {-0.25f, 1e-6f, 3.0f};
    for (int i = 0; i < 3; i++) {
        struct test_attention a;
        test_attention_init(&a, "fwd h2 q17 k50 d16 causal-br lse");
        a.scale = scales[i];
        test_attention_everywhere(opencl, &a);
        test_attention_free(&a);
    }
}

// ---- strides

// 21: stride 0 broadcasts K and V over batch and heads.
static void broadcast_keys(void **state)
{
    struct test_opencl *opencl = device_of(state);
    struct test_attention a;
    test_attention_init(&a, "fwd b2 h3 q17 k33 d16 causal-br lse");
    const int64_t strides[4] = {0, 0, 16, 1};
    test_tensor_lay(&a.k, strides, 0);
    test_tensor_lay(&a.v, strides, 0);
    test_attention_everywhere(opencl, &a);
    test_attention_free(&a);
}

// 22: views into a packed [batch, row, q|k|v, head, dim] buffer, with an offset of an odd number of
// elements.
static void packed_views(void **state)
{
    struct test_opencl *opencl = device_of(state);
    static const char *const problems[] = {"fwd b2 h3 q17 k33 d20 align=4 causal-br lse",
                                           "fwd b2 h3 q17 k33 d20 f16 align=2 lse",
                                           "fwd b2 h3 q17 k33 d20 bf16 align=2"};
    for (size_t n = 0; n < 3; n++) {
        struct test_attention a;
        test_attention_init(&a, problems[n]);
        const size_t element = fcl_dtype_size(a.problem.dtype_q);
        const int64_t row = 3 * 3 * 20, strides[4] = {40 * row, 20, row, 1};
        test_tensor_lay(&a.q, strides, element);
        test_tensor_lay(&a.k, strides, 3 * element);
        test_tensor_lay(&a.v, strides, (2 * 60 + 1) * element);
        test_tensor_lay(&a.o, strides, element);
        test_attention_everywhere(opencl, &a);
        test_attention_free(&a);
    }
}

// 25: innermost strides other than 1 work when the problem says so, else they are refused by name.
static void innermost_strides(void **state)
{
    struct test_opencl *opencl = device_of(state);
    static const char *const problems[] = {"fwd h2 q17 k33 d20 strided align=4 causal-br lse",
                                           "fwd h2 q17 k33 d20 bf16 strided align=2"};
    for (size_t n = 0; n < 2; n++) {
        struct test_attention a;
        test_attention_init(&a, problems[n]);
        const int64_t strides[4] = {40 * 80, 40 * 40, 40, 2},
                      columns[4] = {2 * 20 * 64, 20 * 64, 1, 64};
        test_tensor_lay(&a.q, strides, 0);
        test_tensor_lay(&a.k, columns, 0);
        test_tensor_lay(&a.v, strides, 0);
        test_tensor_lay(&a.o, columns, 0);
        test_attention_everywhere(opencl, &a);
        test_attention_free(&a);
    }
    struct test_attention a;
    test_attention_init(&a, "fwd h2 q17 k33 d20");
    const int64_t strides[4] = {40 * 80, 40 * 40, 40, 2};
    test_tensor_lay(&a.k, strides, 0);
    fcl_plan *plan = test_plan(opencl, &a.problem, FCL_FUSED, NULL);
    memset(&opencl->capture, 0, sizeof opencl->capture);
    assert_int_equal(test_attention_run(opencl, &a, plan), FCL_UNSUPPORTED);
    assert_non_null(strstr(opencl->capture.text, "k.strides[3]"));
    fcl_plan_destroy(&plan);
    test_attention_free(&a);
}

// ---- other forms

// The unfused baseline gives the same, also where the grid has ragged edges.
static void unfused_baseline(void **state)
{
    struct test_opencl *opencl = device_of(state);
    static const char *const problems[] = {"fwd b2 h4/2 q47 k80 d20 causal-br lse",
                                           "fwd h2 q80 k33 d20/12 causal-tl lse",
                                           "fwd h2 q47 k80 d20 f16 lse",
                                           "fwd h2 q47 k80 d20 bf16 causal-br",
                                           "fwd h2 q5 k0 d16 lse",
                                           "fwd h2 q80 k133 d20 br win=20,9 lse",
                                           "fwd h2 q47 k80 d20 causal-br softcap=3 lse",
                                           "fwd h4/2 q80 k47 d20 causal-br sink lse",
                                           "fwd h3 q47 k80 d20 br alibi bias=f16 mask=u8 lse"};
    for (size_t n = 0; n < sizeof problems / sizeof *problems; n++) {
        char configs[TEST_CONFIGS][96];
        struct test_attention a;
        test_attention_init(&a, problems[n]);
        const int count = test_configs(opencl, &a.problem, configs);
        for (int c = 0; c < count; c++) {
            char *packed = strstr(configs[c], "g1");
            if (packed)
                *packed = 0; // the unfused kernels have neither packed rows nor splits
            test_attention_with(opencl, &a, FCL_UNFUSED, configs[c]);
        }
        test_attention_free(&a);
    }
}

// Same inputs, plan and device: same bits.
static void repeats_are_identical(void **state)
{
    struct test_opencl *opencl = device_of(state);
    char configs[TEST_CONFIGS][96];
    struct test_attention a;
    test_attention_init(&a, "fwd b2 h4/2 q65 k129 d40 causal-br");
    unsigned char *first = malloc(a.o.bytes);
    const int count = test_configs(opencl, &a.problem, configs);
    for (int c = 0; c < count; c++) {
        fcl_plan *plan = test_plan(opencl, &a.problem, FCL_FUSED, configs[c]);
        for (int repeat = 0; repeat < 5; repeat++) {
            assert_int_equal(test_attention_run(opencl, &a, plan), FCL_OK);
            if (repeat == 0)
                memcpy(first, a.o.data, a.o.bytes);
            assert_memory_equal(first, a.o.data, a.o.bytes);
        }
        fcl_plan_destroy(&plan);
    }
    free(first);
    test_attention_free(&a);
}

// Configurations across both spaces, on a problem with tails everywhere.
static void configurations(void **state)
{
    struct test_opencl *opencl = device_of(state);
    static const char *const configs[] = {
        "generic_m8n16w8r4d5",      "generic_m16n16w16r4d16",      "generic_m32n32w64r4d33",
        "generic_m32n16w64r8d16",   "generic_m64n32w128r8d32",     "generic_m32n64w128r4d33p2",
        "generic_m16n16w8r8d33h11", "generic_m128n64w128r8d33h11", "generic_m32n64w32r16d33",
        "vector_m4n32l4k2c2",       "vector_m8n32l4k4c2",          "vector_m8n64l8k8c4",
        "vector_m16n32l8k4c4p5",    "vector_m16n128l16k8c8",       "vector_m64n32l16k4c4",
        "vector_m128n64l16k2c2",
    };
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        struct test_attention a;
        struct fcl_config config;
        char reason[256];
        test_attention_init(&a, "fwd b1 h4/2 q70 k133 d33 causal-br lse");
        assert_int_equal(fcl_config_parse(configs[i], &config, reason, sizeof reason), FCL_OK);
        if (fcl_config_validate(&config, &a.problem, fcl_device_caps(opencl->device), reason,
                                sizeof reason)) {
            print_message("not on this device: %s: %s\n", configs[i], reason);
        } else {
            test_attention_with(opencl, &a, FCL_FUSED, configs[i]);
        }
        test_attention_free(&a);
    }
}

// 39, 41: a device that can do less still gets an answer by the library's own choice.
static void masked_devices(void **state)
{
    struct test_opencl *opencl = device_of(state);
    static const char *const masks[] = {
        "cpu=0 local_bytes=32768 group_size=256", "cpu=0 local_bytes=16384 group_size=64",
        "cpu=0 local_bytes=8192 group_size=16",   "float_width=8",
        "float_width=1 fp16=0 subgroups=0",
    };
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        struct test_attention a;
        const struct fcl_device_options options = {.caps_mask = masks[i]};
        test_opencl_reopen(opencl, &options);
        test_attention_init(&a, "fwd h2 q35 k70 d64 causal-br lse");
        print_message("masked by %s\n", masks[i]);
        test_attention_with(opencl, &a, FCL_FUSED, NULL);
        test_attention_free(&a);
    }
    test_opencl_reopen(opencl, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(head_dims),
        cmocka_unit_test(element_types),
        cmocka_unit_test(grouped_heads),
        cmocka_unit_test(all_lengths),
        cmocka_unit_test(large_counts),
        cmocka_unit_test(more_than_2_31_elements),
        cmocka_unit_test(empty_problems),
        cmocka_unit_test(rows_without_keys),
        cmocka_unit_test(alignment_is_explicit),
        cmocka_unit_test(ways_to_mask),
        cmocka_unit_test(hidden_keys_are_harmless),
        cmocka_unit_test(beyond_the_length_is_harmless),
        cmocka_unit_test(guarded_values),
        cmocka_unit_test(visible_values_propagate),
        cmocka_unit_test(large_logits),
        cmocka_unit_test(unusual_scales),
        cmocka_unit_test(broadcast_keys),
        cmocka_unit_test(packed_views),
        cmocka_unit_test(innermost_strides),
        cmocka_unit_test(unfused_baseline),
        cmocka_unit_test(repeats_are_identical),
        cmocka_unit_test(configurations),
        cmocka_unit_test(masked_devices),
    };
    return cmocka_run_group_tests_name("attention", tests, open_device, close_device);
}
