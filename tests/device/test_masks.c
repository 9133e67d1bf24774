// Biases and masks from memory on every usable family against the double-precision reference.
// Numbers in comments are rows of the list of inputs that broke other implementations.
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>

#include "attention.h"

static struct test_opencl opencl;

// 4, 5, 28: biases of each type, with keys that they hide, also all of a row or the first 64, with
// packed heads, split keys, tails and what else meets a score.
static void biases(void **state)
{
    (void)state;
    TEST_PROBLEMS(&opencl, "fwd b2 h4/2 q70 k133 d20 causal-br bias=f32 lse",
                  "fwd b2 h2 q133 k70 d24 bf16 bias=bf16", "fwd b2 h6/2 q3 k200 d16 bias=f16 lse",
                  "fwd h6/2 q5 k0 d16 bias=f32 lse", "lse h4/2 q70 k133 d20 bias=f16",
                  "fwd h3 q70 k133 d20 br win=30,9 softcap=4 bias=f32 alibi sink lse");
}

// 2: a row of the lowest finite numbers is a plain softmax of equal logits; a few of them weigh
// nothing; a NaN stays in its row, and does not come out of a hidden place.
static void biases_at_the_limits(void **state)
{
    (void)state;
    static const char *const problems[] = {"fwd h4/2 q5 k77 d16 bias=f32 lse",
                                           "fwd h4/2 q40 k77 d16 causal-br bias=f32 sink lse"};
    for (size_t n = 0; n < 2; n++) {
        struct test_attention a;
        test_attention_init(&a, problems[n]);
        for (int64_t j = 0; j < 77; j++) {
            test_tensor_set(&a.bias, 0, 0, 1, j, -3.402823466e38f);
            test_tensor_set(&a.bias, 0, 1, 2, j, j < 70 ? -INFINITY : -3.402823466e38f);
            test_tensor_set(&a.bias, 0, 2, 0, j, j % 5 ? -3.402823466e38f : 0.5f);
            test_tensor_set(&a.bias, 0, 3, 4, j, j == 76 ? NAN : -1e30f);
        }
        for (int64_t i = 0; i < a.problem.q_len; i++)
            test_tensor_set(&a.bias, 0, 1, i, 9, -INFINITY);
        for (int64_t i = 0; i < a.problem.q_len; i++)
            test_tensor_set(&a.bias, 0, 0, i, 9, -INFINITY);
        test_tensor_set(&a.k, 0, 0, 9, 3, NAN);
        test_attention_everywhere(&opencl, &a);
        test_attention_free(&a);
    }
}

// The first 14 rows of one of the batch by the bias, the last of another by the mask.
static void hide_rows(struct test_attention *a, int64_t biased, int64_t masked)
{
    for (int64_t h = 0; h < 2; h++)
        for (int64_t j = 0; j < 40; j++) {
            for (int64_t i = 0; i < 14; i++)
                test_tensor_set(&a->bias, biased, h, i, j, -INFINITY);
            *test_visible(a, masked, h, 19, j) = 0;
        }
}

// 1, 6: rows that see nothing get O = 0, also with sinks, and leave the others alone, whichever of
// the batch they are of.
static void rows_that_see_nothing(void **state)
{
    (void)state;
    char configs[TEST_CONFIGS][96];
    struct test_attention a;
    struct fcl_problem problem;
    static const char text[] = "fwd b3 h2 q20 k40 d16 bias=f32 mask=u8 sink lse";
    assert_int_equal(fcl_problem_parse(text, &problem, NULL, 0), FCL_OK);
    const int count = test_configs(&opencl, &problem, configs);
    for (int c = 0; c < count; c++) {
        fcl_plan *plan = test_plan(&opencl, &problem, FCL_FUSED, configs[c]);
        for (int64_t b = 0; b < 3; b++) {
            test_attention_init(&a, text);
            hide_rows(&a, b, (b + 1) % 3);
            test_attention_judge(&opencl, &a, plan, 0);
            test_attention_free(&a);
        }
        fcl_plan_destroy(&plan);
    }
}

// 28: two keys of 512 are left, by a bias and a mask together; caps come first.
static void two_keys_are_left(void **state)
{
    (void)state;
    struct test_attention a;
    test_attention_init(&a, "fwd h2 q9 k512 d16 br softcap=5 bias=f16 alibi mask=u8 lse");
    for (int64_t h = 0; h < 2; h++)
        for (int64_t i = 0; i < 9; i++)
            for (int64_t j = 0; j < 512; j++) {
                test_tensor_set(&a.bias, 0, h, i, j, j % 3 ? -INFINITY : 0.5f);
                *test_visible(&a, 0, h, i, j) = j == 33 + i * 3 || j == 501 || j == 502;
            }
    test_attention_everywhere(&opencl, &a);
    test_attention_free(&a);
}

// test_configs, and one of items that own two neighbouring keys.
static int configs_with_pairs(const struct fcl_problem *problem, char configs[TEST_CONFIGS][96])
{
    const int count = test_configs(&opencl, problem, configs);
    assert_true(count < TEST_CONFIGS);
    snprintf(configs[count], 96, "generic_m16n32w64r4d16");
    return count + 1;
}

// What tells keys, rows and heads apart, in memory of any shape.
static void fill_bias(struct test_tensor *bias)
{
    const int64_t *n = bias->extents;
    for (int64_t b = 0; b < n[0]; b++)
        for (int64_t h = 0; h < n[1]; h++)
            for (int64_t i = 0; i < n[2]; i++)
                for (int64_t j = 0; j < n[3]; j++) {
                    const int64_t x = (b * 3 + h * 5 + i * 7 + j) % 11;
                    test_tensor_set(bias, b, h, i, j, x == 4 ? -INFINITY : 0.5f * (float)x - 2.0f);
                }
}

// 20, 23: every axis may be broadcast, alone, with others, or all; offsets and strides are any. Of
// the last three, all pairs of keys are aligned, none, and those of some heads.
static void biases_of_any_shape(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {
        {0, 0, 0, 0},         {0, 0, 0, 1},        {0, 0, 77, 1},
        {21 * 77, 0, 77, 1},  {77, 0, 0, 1},       {0, 5, 10, 0},
        {3 * 2000, 2, 79, 3}, {0, 1, 2, 40},       {5 * 21 * 77, 77, 385, 1},
        {0, 21 * 78, 78, 1},  {0, 21 * 78, 78, 1}, {0, 77, 4 * 78, 1}};
    static const char *const problems[] = {"fwd b2 h4/2 q21 k77 d16 bias=f16 causal-br lse",
                                           "fwd b2 h4/2 q3 k77 d16 bias=f32 lse"};
    for (size_t n = 0; n < 2; n++) {
        char configs[TEST_CONFIGS][96];
        struct test_attention a;
        test_attention_init(&a, problems[n]);
        const int count = configs_with_pairs(&a.problem, configs);
        for (int c = 0; c < count; c++) {
            fcl_plan *plan = test_plan(&opencl, &a.problem, FCL_FUSED, configs[c]);
            for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
                const size_t element = fcl_dtype_size(a.bias.dtype);
                test_tensor_lay(&a.bias, shapes[s], s % 3 * element);
                fill_bias(&a.bias);
                test_attention_judge(&opencl, &a, plan, 0);
            }
            fcl_plan_destroy(&plan);
        }
        test_attention_free(&a);
    }
}

// 1, 4, 6, 28: masks from memory, with blocks that they hide wholly, in part and not at all, rows
// that see nothing, packed heads, split keys, tails and what else meets a score.
static void masks(void **state)
{
    (void)state;
    TEST_PROBLEMS(&opencl, "fwd b2 h4/2 q70 k133 d20 causal-br mask=u8 lse",
                  "fwd h2 q133 k270 d24 f16 mask=u8 lse",
                  "fwd b2 h6/2 q3 k300 d16 mask=u8 sink lse",
                  "fwd h6/2 q21 k200 d16 bias=f16 mask=u8 lse", "fwd h6/2 q5 k0 d16 mask=u8 lse",
                  "fwd q6 k10 d16 mask=u8 lse", "lse h4/2 q70 k133 d20 mask=u8",
                  "fwd h2 q70 k133 d20 softcap=5 mask=u8 lse",
                  "fwd h3 q70 k133 d20 br win=50,9 bias=f32 alibi mask=u8 sink");
}

// In the keys [64, 128) query 1 sees the last but one, or nobody sees any.
static void hide_blocks(struct test_attention *a, int one)
{
    for (int64_t h = 0; h < a->problem.heads_q; h++)
        for (int64_t i = 0; i < a->problem.q_len; i++)
            for (int64_t j = 64; j < 128; j++)
                *test_visible(a, 0, h, i, j) = one && j == 126 && i == 1;
    for (int64_t j = 64; j < 128; j++)
        for (int64_t d = 0; d < 16; d++) {
            test_tensor_set(&a->k, 0, 0, j, d, one ? 0.5f : NAN);
            test_tensor_set(&a->v, 0, 0, j, d, one ? (float)d : j % 2 ? NAN : INFINITY);
        }
}

// Of sequences, whatever their form: the batch of a tensor is the sequence, queries and keys are
// counted within it, and so is the distance of ALiBi.
static void sequences(void **state)
{
    (void)state;
    TEST_PROBLEMS(&opencl, "fwd b4 h4/2 q40 k90 d16 br bias=f16 alibi mask=u8 varlen lse",
                  "fwd b3 h4/2 q5 k150 d16 causal-br bias=f32 alibi=given page=16 lse",
                  "fwd b3 h2 q40 k133 d24 f16 tl mask=u8 alibi used lse",
                  "fwd b4 h4/2 q65 k63 d33 mask=u8 varlen");
}

static void judge_hidden_blocks(struct test_attention *a, const char *config)
{
    fcl_plan *plan = test_plan(&opencl, &a->problem, FCL_FUSED, config);
    for (int one = 1; one >= 0; one--) {
        hide_blocks(a, one);
        test_attention_judge(&opencl, a, plan, 0);
    }
    fcl_plan_destroy(&plan);
}

// A few visible keys are found; and what a mask hides from all rows of whole blocks is not read: K
// and V may be anything there. The last problem is for a tile that finds the next block's address
// anew.
static void blocks_behind_masks(void **state)
{
    (void)state;
    static const struct {
        const char *problem, *config;
    } rows[] = {{"fwd h2 q40 k210 d16 mask=u8 lse", NULL},
                {"fwd h6/2 q3 k210 d16 mask=u8 lse", NULL},
                {"fwd h2 q40 k210 d16 f16 causal-br mask=u8 bias=f32", NULL},
                {"fwd h1 q150 k210 d128 f16 mask=u8", "nvidia_mma_m128n64w128"}};
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        char configs[TEST_CONFIGS][96];
        struct test_attention a;
        struct fcl_config config;
        test_attention_init(&a, rows[n].problem);
        const int count = rows[n].config ? 0 : test_configs(&opencl, &a.problem, configs);
        for (int c = 0; c < count; c++)
            judge_hidden_blocks(&a, configs[c]);
        if (rows[n].config) {
            assert_int_equal(fcl_config_parse(rows[n].config, &config, NULL, 0), FCL_OK);
            if (!fcl_config_validate(&config, &a.problem, fcl_device_caps(opencl.device), NULL, 0))
                judge_hidden_blocks(&a, rows[n].config);
        }
        test_attention_free(&a);
    }
}

// Every byte but 0 shows a key. One row does not see one of the keys [0, 64), and of the keys
// [64, 128), which are hidden, sees one or none.
static void show_but_one(struct test_attention *a, int64_t key, int one)
{
    static const unsigned char shows[] = {0x01, 0x80, 0xff};
    for (int64_t h = 0; h < a->problem.heads_q; h++)
        for (int64_t i = 0; i < a->problem.q_len; i++)
            for (int64_t j = 0; j < a->problem.k_len; j++) {
                const int own = i == 1 && j % 64 == key, hidden = j >= 64 && j < 128;
                const int seen = hidden ? own && one : j >= 64 || !own;
                *test_visible(a, 0, h, i, j) = seen ? shows[(key + j / 64 + i / 16) % 3] : 0;
            }
}

// Whether a block has anything to see or to hide is looked up in pieces of 16 bytes where rows lie
// at multiples of that, and byte by byte elsewhere; pairs of bytes are read where rows are even.
static void masks_in_pieces(void **state)
{
    (void)state;
    static const int64_t rows[] = {208, 224, 208, 201, 200};
    static const size_t offsets[] = {0, 16, 1, 0, 8}, keys[] = {0, 15, 16, 37, 63};
    static const char *const problems[] = {"fwd h2 q40 k200 d16 mask=u8 lse",
                                           "fwd h6/2 q3 k200 d16 bias=f16 mask=u8 lse"};
    static unsigned char bytes[20000];
    for (size_t n = 0; n < 2; n++) {
        char configs[TEST_CONFIGS][96];
        struct test_attention a;
        test_attention_init(&a, problems[n]);
        struct test_tensor own = a.visible;
        const int count = configs_with_pairs(&a.problem, configs);
        a.visible.data = bytes;
        a.visible.bytes = sizeof bytes;
        for (int c = 0; c < count; c++) {
            fcl_plan *plan = test_plan(&opencl, &a.problem, FCL_FUSED, configs[c]);
            for (size_t s = 0; s < 2 * 5 * 5; s++) {
                a.visible.offset = offsets[s % 5];
                a.visible.strides[1] = rows[s % 5] * a.problem.q_len;
                a.visible.strides[2] = rows[s % 5];
                hide_blocks(&a, s >= 25);
                show_but_one(&a, (int64_t)keys[s / 5 % 5], s >= 25);
                test_attention_judge(&opencl, &a, plan, 0);
            }
            fcl_plan_destroy(&plan);
        }
        a.visible = own;
        test_attention_free(&a);
    }
}

// 23: every axis may be broadcast; a mask that hides everything; and one that hides nothing.
static void masks_of_any_shape(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {{0, 0, 0, 0},  {0, 0, 0, 1},       {0, 0, 77, 1},
                                        {77, 0, 0, 1}, {4 * 21, 21, 1, 0}, {0, 5, 10, 0},
                                        {0, 2, 79, 3}, {0, 1, 2, 40}};
    static const char *const problems[] = {"fwd b2 h4/2 q21 k77 d16 mask=u8 causal-br lse",
                                           "fwd b2 h4/2 q3 k77 d16 bias=f32 mask=u8 lse"};
    for (size_t n = 0; n < 2; n++) {
        char configs[TEST_CONFIGS][96];
        struct test_attention a;
        test_attention_init(&a, problems[n]);
        unsigned char bytes[4096];
        struct test_tensor own = a.visible;
        const int count = test_configs(&opencl, &a.problem, configs);
        for (int c = 0; c < count; c++) {
            fcl_plan *plan = test_plan(&opencl, &a.problem, FCL_FUSED, configs[c]);
            for (size_t s = 0; s < 2 * sizeof shapes / sizeof *shapes; s++) {
                for (size_t i = 0; i < sizeof bytes; i++)
                    bytes[i] = s < 8 ? i * 7 % 5 < 3 : s % 2;
                memcpy(a.visible.strides, shapes[s % 8], sizeof shapes[0]);
                a.visible.data = bytes;
                a.visible.offset = s % 3;
                a.visible.bytes = sizeof bytes;
                test_attention_judge(&opencl, &a, plan, 0);
            }
            fcl_plan_destroy(&plan);
        }
        a.visible = own;
        test_attention_free(&a);
    }
}

// 20: elements of the second batch lie beyond 2^31.
static void masks_beyond_2_31_elements(void **state)
{
    (void)state;
    const int64_t batch_stride = INT64_C(2200000000);
    const uint64_t limit = fcl_device_caps(opencl.device)->allocation_bytes;
    if (limit < (uint64_t)batch_stride * 3 / 2) {
        print_message("skipped: the device allocates at most %llu bytes at once\n",
                      (unsigned long long)limit);
        skip();
    }
    struct test_attention a;
    test_attention_init(&a, "fwd b2 h1 q5 k9 d16 mask=u8 lse");
    struct test_tensor own = a.visible;
    a.visible.strides[0] = batch_stride;
    a.visible.bytes = (size_t)batch_stride + 45;
    a.visible.data = malloc(a.visible.bytes);
    assert_non_null(a.visible.data);
    memcpy(a.visible.data, own.data, 45);
    memcpy(a.visible.data + batch_stride, own.data + 45, 45);
    test_attention_with(&opencl, &a, FCL_FUSED, NULL);
    free(a.visible.data);
    a.visible = own;
    test_attention_free(&a);
}

// Without skipping, and without looking for wholly visible blocks, the result is the same.
static void ways_to_visit(void **state)
{
    (void)state;
    static const char *const configs[] = {"generic_m16n16w64r4d16x1", "generic_m16n16w64r4d16x2",
                                          "vector_m8n32l4k4c4x1", "vector_m8n32l4k4c4x2"};
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        struct test_attention a;
        struct fcl_config config;
        test_attention_init(&a, "fwd h2 q70 k133 d20 causal-br mask=u8 lse");
        assert_int_equal(fcl_config_parse(configs[i], &config, NULL, 0), FCL_OK);
        if (!fcl_config_validate(&config, &a.problem, fcl_device_caps(opencl.device), NULL, 0))
            test_attention_with(&opencl, &a, FCL_FUSED, configs[i]);
        test_attention_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(biases),
        cmocka_unit_test(biases_at_the_limits),
        cmocka_unit_test(rows_that_see_nothing),
        cmocka_unit_test(two_keys_are_left),
        cmocka_unit_test(biases_of_any_shape),
        cmocka_unit_test(masks),
        cmocka_unit_test(sequences),
        cmocka_unit_test(blocks_behind_masks),
        cmocka_unit_test(masks_in_pieces),
        cmocka_unit_test(masks_of_any_shape),
        cmocka_unit_test(masks_beyond_2_31_elements),
        cmocka_unit_test(ways_to_visit),
    };
    if (!test_opencl_open(&opencl, NULL))
        return 77;
    const int failed = cmocka_run_group_tests_name("masks", tests, NULL, NULL);
    test_opencl_close(&opencl);
    return failed;
}
