// What a launch comes to, without a device: strides, offsets, grids, limits, 64-bit arithmetic.
#include "cmocka_all.h"

#include "attention/launch.h"
#include "attention/problem.h"
#include "choices.h"

static struct fcl_launch launch;
static struct fcl_caps caps; // of the device
static char reason[256];

// Prepares with contiguous tensors unless `args` has strides; buffers are only tested for NULL.
static enum fcl_status prepare(const struct fcl_problem *problem, const char *config,
                               struct fcl_attention_args args)
{
    struct fcl_config parsed;
    static char anything;
    cl_mem buffer = (cl_mem)(void *)&anything;
    assert_int_equal(fcl_config_parse(config, &parsed, NULL, 0), FCL_OK);
    args.shape = (struct fcl_shape){problem->batch, problem->heads_q, problem->heads_kv,
                                    problem->q_len, problem->k_len};
    args.q.buffer = args.k.buffer = args.v.buffer = args.o.buffer = args.lse = buffer;
    return fcl_launch_prepare(problem, &parsed, &caps, &args, &launch, reason, sizeof reason);
}

static const struct fcl_attention_args plain = {.struct_size = sizeof plain};

static void contiguous_strides_follow_the_layout(void **state)
{
    (void)state;
    const struct fcl_problem bhsd = test_problem("fwd b2 h6/2 q10 k20 d16/8"),
                             bshd = test_problem("fwd b2 h6/2 q10 k20 d16/8 layout=bshd");
    const int64_t q[4] = {960, 160, 16, 1}, v[4] = {320, 160, 8, 1}, q_bshd[4] = {960, 16, 96, 1},
                  v_bshd[4] = {320, 8, 16, 1};
    assert_int_equal(prepare(&bhsd, "vector_m8n32l4k4c4", plain), FCL_OK);
    assert_memory_equal(launch.args.q_strides, q, sizeof q);
    assert_memory_equal(launch.args.v_strides, v, sizeof v);
    assert_int_equal(launch.args.group, 3);
    assert_int_equal(launch.q_end, 2 * 960 * 4);
    assert_int_equal(launch.v_end, 2 * 320 * 4);
    assert_int_equal(prepare(&bshd, "vector_m8n32l4k4c4", plain), FCL_OK);
    assert_memory_equal(launch.args.q_strides, q_bshd, sizeof q);
    assert_memory_equal(launch.args.v_strides, v_bshd, sizeof v);
}

static void causal_heads_go_together_as_the_cache_allows(void **state)
{
    (void)state;
    static const struct {
        const char *problem;
        uint64_t gpu, cache_bytes;
        int all_heads, together;
    } rows[] = {
        {"fwd b2 h8 q1024 d64 f16 causal-br", 1, 3 << 20, 16, 4}, // 256 KiB a head
        {"fwd b2 h8 q1024 d64 f16 causal-tl", 1, 3 << 20, 16, 4},
        {"fwd b2 h8/4 q1024 d64 f16 causal-br", 1, 3 << 20, 16, 8},
        {"fwd b2 h8 q1024 d64 f16 causal-br", 1, 300 << 20, 16, 8}, // no more than these
        {"fwd b2 h8 q1024 d64 f16 causal-br", 1, 1, 16, 1},
        {"fwd b2 h8 q1024 d64 f16 causal-br", 1, 0, 16, 1}, // not told
        {"fwd b2 h8 q1024 d64 f16 causal-br", 0, 3 << 20, 16, 1},
        {"fwd b2 h8 q1024 d64 f16", 1, 3 << 20, 16, 1},
        {"fwd b1 h3 q1024 d64 f16 causal-br", 1, 300 << 20, 3, 3}, // all
        {"fwd b2 h8 q1024 k0 d64 f16 causal-br", 1, 3 << 20, 16, 8},
    };
    for (size_t i = 0; i < FCL_COUNT(rows); i++) {
        const struct fcl_problem problem = test_problem(rows[i].problem);
        caps = (struct fcl_caps){.gpu = rows[i].gpu, .cache_bytes = rows[i].cache_bytes};
        assert_int_equal(prepare(&problem, "generic_m32n32w64r4d64s4", plain), FCL_OK);
        assert_int_equal(launch.args.all_heads, rows[i].all_heads);
        assert_int_equal(launch.args.together, rows[i].together);
        assert_int_equal(launch.part_args.all_heads, rows[i].all_heads);
        assert_int_equal(launch.part_args.together, rows[i].together);
    }
    caps = (struct fcl_caps){0};
}

static void alignment_decides_the_shift(void **state)
{
    (void)state;
    const struct fcl_problem none = test_problem("fwd q10 k25 d16"),
                             top = test_problem("fwd q10 k25 d16 causal-tl"),
                             bottom = test_problem("fwd q10 k25 d16 causal-br"),
                             longer = test_problem("fwd q25 k10 d16 causal-br");
    prepare(&none, "vector_m8n32l4k4c4", plain);
    assert_int_equal(launch.args.shift, 0);
    prepare(&top, "vector_m8n32l4k4c4", plain);
    assert_int_equal(launch.args.shift, 0);
    prepare(&bottom, "vector_m8n32l4k4c4", plain);
    assert_int_equal(launch.args.shift, 15);
    prepare(&longer, "vector_m8n32l4k4c4", plain);
    assert_int_equal(launch.args.shift, -15);
}

static void grid_covers_every_row_and_slice(void **state)
{
    (void)state;
    const struct fcl_problem problem = test_problem("fwd b3 h4 q17 k40 d16");
    assert_int_equal(prepare(&problem, "vector_m8n32l4k4c4p2", plain), FCL_OK);
    assert_int_equal(launch.groups, 3 * 4 * 3 * 2);
    assert_int_equal(launch.row_groups, 3 * 4 * 3);
    assert_int_equal(launch.score_groups, 3 * 4 * 3 * 2);
    assert_int_equal(launch.args.score_pitch, 24);
    assert_int_equal(launch.score_bytes, 3 * 4 * 40 * 24 * 4);
}

// Grids beyond 65,535 groups are one-dimensional and fine; beyond 32 bits they are refused.
// So are tensors beyond 64 bits, before their sizes are multiplied.
static void grid_limits(void **state)
{
    (void)state;
    const struct fcl_problem many = test_problem("fwd b8300 h16 q1 k1 d128"),
                             most = test_problem("fwd b2000000 h1000 q17 k1 d128");
    struct fcl_problem beyond = most;
    beyond.batch = 1 << 20;
    beyond.q_len = 1 << 30;
    assert_int_equal(prepare(&many, "vector_m8n32l4k4c4", plain), FCL_OK);
    assert_int_equal(launch.groups, 132800);
    assert_int_equal(prepare(&most, "vector_m8n32l4k4c4", plain), FCL_UNSUPPORTED);
    assert_non_null(strstr(reason, "6000000000"));
    assert_int_equal(prepare(&beyond, "vector_m8n32l4k4c4", plain), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(reason, "q reaches beyond 2^59 elements"));
}

// Offsets and sizes beyond 32 bits.
static void arithmetic_is_64_bit(void **state)
{
    (void)state;
    const struct fcl_problem problem = test_problem("fwd b2 h1 q5 k9 d16 f16");
    struct fcl_attention_args args = plain;
    const int64_t strides[4] = {INT64_C(3) << 32, 0, 16, 1};
    memcpy(args.k.strides, strides, sizeof strides);
    args.k.offset = (size_t)1 << 33;
    assert_int_equal(prepare(&problem, "vector_m8n32l4k4c4", args), FCL_OK);
    assert_true(launch.args.k_strides[0] == INT64_C(3) << 32);
    assert_true(launch.args.k_start == INT64_C(1) << 32);
    assert_true(launch.k_end == (UINT64_C(1) << 33) + ((UINT64_C(3) << 32) + 9 * 16) * 2);
    const struct fcl_problem huge = test_problem("fwd b1000 h1000 q1073741824 k1073741824 d16");
    struct fcl_config config;
    const struct fcl_shape shape = {1000, 1000, 1000, 1 << 30, 1 << 30};
    assert_int_equal(fcl_config_parse("vector_m8n32l4k4c4", &config, NULL, 0), FCL_OK);
    assert_true(fcl_score_bytes(&huge, &config, &shape) == UINT64_MAX);
}

// Offsets so large that the end of the tensor wraps around are refused, not taken for small ends.
static void offsets_cannot_wrap(void **state)
{
    (void)state;
    const struct fcl_problem problem = test_problem("fwd q10 k20 d16 lse");
    struct fcl_attention_args args = plain;
    args.o.offset = (size_t)0 - 64;
    assert_int_equal(prepare(&problem, "vector_m8n32l4k4c4", args), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(reason, "o.offset"));
    args = plain;
    args.lse_offset = (size_t)0 - 8;
    assert_int_equal(prepare(&problem, "vector_m8n32l4k4c4", args), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(reason, "lse_offset"));
}

// Keys are cut into at most as many parts as there are blocks; partial results are as large as they
// say.
static void splits_follow_the_shape(void **state)
{
    (void)state;
    const struct fcl_problem problem = test_problem("fwd b2 h4/2 q3 k100 d16/8");
    assert_int_equal(prepare(&problem, "row_m2n32l4k4c4g1s3", plain), FCL_OK);
    assert_int_equal(launch.args.splits, 3);
    assert_int_equal(launch.groups, 2 * 2 * 3 * 3); // batch, key heads, 6 packed rows by 2, splits
    assert_int_equal(launch.part_bytes, 3 * (2 * 4 * 3) * (8 + 1) * 4);
    assert_int_equal(launch.part_args.lse_start, 3 * (2 * 4 * 3) * 8);
    assert_int_equal(launch.combine_groups, (2 * 4 * 3 * 8 + 63) / 64);
    const struct fcl_problem few = test_problem("fwd b2 h4/2 q3 k33 d16/8"),
                             none = test_problem("fwd q3 k0 d16");
    assert_int_equal(prepare(&few, "row_m2n32l4k4c4g1s3", plain), FCL_OK);
    assert_int_equal(launch.args.splits, 2);
    assert_int_equal(prepare(&none, "row_m2n32l4k4c4s3", plain), FCL_OK);
    assert_int_equal(launch.args.splits, 1);
    assert_int_equal(prepare(&problem, "row_m2n32l4k4c4g1", plain), FCL_OK);
    assert_int_equal(launch.part_bytes, 0);
    assert_int_equal(launch.combine_groups, 0);
}

// A kernel that joins its parts needs no second one, and a mark for each work-group behind the
// parts.
static void marks_follow_the_parts(void **state)
{
    (void)state;
    static const char *const texts[] = {"fwd b2 h6/2 q7 k300 d24 f16",
                                        "fwd b2 h6/2 q7 k300 d24 f16 used",
                                        "fwd b2 h6/2 q7 k300 d24 f16 varlen"};
    static const struct fcl_shape shape = {2, 6, 2, 7, 300};
    for (size_t i = 0; i < FCL_COUNT(texts); i++) {
        const struct fcl_problem problem = test_problem(texts[i]);
        const struct fcl_config config = test_config("nvidia_mma_m16n32w32g1s3");
        const uint64_t groups = (uint64_t)2 * 2 * (2 + problem.varlen) * 3;
        assert_int_equal(fcl_part_bytes(&problem, &config, &shape),
                         3 * (2 * 6 * 7) * (24 + 1) * 4 + groups * 8);
    }
    const struct fcl_problem problem = test_problem(texts[0]);
    assert_int_equal(prepare(&problem, "nvidia_mma_m16n32w32g1s3", plain), FCL_OK);
    assert_int_equal(launch.part_bytes, 3 * (2 * 6 * 7) * (24 + 1) * 4 + 2 * 2 * 2 * 3 * 8);
    assert_int_equal(launch.combine_groups, 0);
    assert_int_equal(launch.split, 1);
}

// An alignment that the data does not keep is named; with a smaller promise the same data is fine.
static void broken_promises_are_named(void **state)
{
    (void)state;
    const struct fcl_problem promise = test_problem("fwd q10 k20 d16"),
                             modest = test_problem("fwd q10 k20 d16 align=4");
    struct fcl_attention_args args = plain;
    args.v.offset = 4;
    assert_int_equal(prepare(&promise, "vector_m8n32l4k4c4", args), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(reason, "v.offset is 4"));
    assert_non_null(strstr(reason, "align=4"));
    assert_int_equal(prepare(&modest, "vector_m8n32l4k4c4", args), FCL_OK);
    assert_int_equal(launch.args.v_start, 1);
    const int64_t strides[4] = {1000, 500, 17, 1};
    args = plain;
    memcpy(args.q.strides, strides, sizeof strides);
    assert_int_equal(prepare(&promise, "vector_m8n32l4k4c4", args), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(reason, "q.strides[2]"));
    assert_int_equal(prepare(&modest, "vector_m8n32l4k4c4", args), FCL_OK);
}

// Any order of dimensions is a valid output as long as no two elements meet.
static void outputs_may_be_permuted_but_not_overlap(void **state)
{
    (void)state;
    const struct fcl_problem problem = test_problem("fwd b2 h3 q4 k4 d16 strided align=4");
    static const struct {
        int64_t strides[4];
        enum fcl_status status;
    } rows[] = {{{192, 64, 16, 1}, FCL_OK},
                {{16, 32, 96, 1}, FCL_OK},
                {{1, 2, 6, 24}, FCL_OK},
                {{0, 64, 16, 1}, FCL_INVALID_ARGUMENT},
                {{192, 64, 16, 0}, FCL_INVALID_ARGUMENT},
                {{192, 63, 16, 1}, FCL_INVALID_ARGUMENT},
                {{1, 1, 6, 24}, FCL_INVALID_ARGUMENT}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fcl_attention_args args = plain;
        memcpy(args.o.strides, rows[i].strides, sizeof rows[i].strides);
        assert_int_equal(prepare(&problem, "vector_m8n32l4k4c4", args), rows[i].status);
    }
}

static void scale_defaults_to_the_root_of_the_head_dim(void **state)
{
    (void)state;
    const struct fcl_problem problem = test_problem("fwd q10 k20 d64/16");
    struct fcl_attention_args args = plain;
    prepare(&problem, "vector_m8n32l4k4c4", args);
    assert_true(launch.args.unit > 0.18033f && launch.args.unit < 0.18034f); // log2(e) / 8
    args.scale = -2.0f;
    prepare(&problem, "vector_m8n32l4k4c4", args);
    assert_true(launch.args.unit > -2.88540f && launch.args.unit < -2.88538f);
}

// The window of the call where it has one, else of the problem; sides stay what they are baked to
// be.
static void windows_become_first_and_last_keys(void **state)
{
    (void)state;
    static const struct {
        const char *problem;
        int window;
        int64_t left, right;
        int first, shift;
    } rows[] = {
        {"fwd q10 k30 d64 br win=5,3", 0, 0, 0, 15, 23},
        {"fwd q10 k30 d64 br win=5,3", 1, 7, 0, 13, 20},
        {"fwd q10 k30 d64 tl win=5,3", 0, 0, 0, -5, 3},
        {"fwd q10 k30 d64 causal-br win=5,3", 0, 0, 0, 15, 20},
        {"fwd q10 k30 d64 causal-tl win=5,-1", 1, 6, -1, -6, 0},
        {"fwd q10 k30 d64 causal-br win=5,-1", 1, 7, 2, 13, 20}, // as causal as before
        {"fwd q10 k30 d64 causal-br win=5,2", 1, 7, -1, 13, 20},
        {"fwd q10 k30 d64 causal-br", 1, -1, 2, 0, 20},
        {"fwd q10 k30 d64 br win=1073741824,1073741824", 0, 0, 0, -10, 30},
        {"fwd q30 k10 d64 br win=0,-1", 0, 0, 0, -20, 0},
    };
    for (size_t i = 0; i < FCL_COUNT(rows); i++) {
        const struct fcl_problem problem = test_problem(rows[i].problem);
        struct fcl_attention_args args = plain;
        args.window = rows[i].window;
        args.window_left = rows[i].left;
        args.window_right = rows[i].right;
        assert_int_equal(prepare(&problem, "generic_m32n32w64r4d64", args), FCL_OK);
        assert_int_equal(launch.args.first, rows[i].first);
        assert_int_equal(launch.args.shift, rows[i].shift);
    }
    const struct fcl_problem left = test_problem("fwd q10 k30 d64 br win=5,-1");
    struct fcl_attention_args args = {
        .struct_size = sizeof args, .window = 1, .window_left = -1, .window_right = -1};
    assert_int_equal(prepare(&left, "generic_m32n32w64r4d64", args), FCL_INVALID_ARGUMENT);
    assert_non_null(
        strstr(reason, "window_left is -1, allowed by the plan's problem are 0 to 1073741824"));
    args.window_left = 4;
    args.window_right = 4;
    assert_int_equal(prepare(&left, "generic_m32n32w64r4d64", args), FCL_INVALID_ARGUMENT);
    assert_non_null(
        strstr(reason, "window_right is 4, allowed by the plan's problem are -1 to -1 (no bound)"));
}

static void caps_are_arguments(void **state)
{
    (void)state;
    const struct fcl_problem capped = test_problem("fwd q10 d64 softcap=30"),
                             none = test_problem("fwd q10 d64");
    struct fcl_attention_args args = plain;
    assert_int_equal(prepare(&capped, "generic_m32n32w64r4d64", args), FCL_OK);
    assert_true(launch.args.cap > 43.2808f && launch.args.cap < 43.2809f);
    assert_true(launch.args.cap_inverse * launch.args.cap > 0.9999f);
    args.softcap = 1.5f;
    assert_int_equal(prepare(&capped, "generic_m32n32w64r4d64", args), FCL_OK);
    assert_true(launch.args.cap > 2.16404f && launch.args.cap < 2.16405f);
    assert_int_equal(prepare(&none, "generic_m32n32w64r4d64", args), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(reason, "softcap is 1.5, allowed is 0"));
    args.softcap = -1.0f;
    assert_int_equal(prepare(&capped, "generic_m32n32w64r4d64", args), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(reason, "softcap is -1, allowed are"));
}

static void sinks_are_checked(void **state)
{
    (void)state;
    const struct fcl_problem problem = test_problem("fwd h6/2 q10 d64 sink");
    struct fcl_attention_args args = plain;
    static char anything;
    assert_int_equal(prepare(&problem, "generic_m32n32w64r4d64", args), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(reason, "sinks is NULL"));
    args.sinks = (cl_mem)(void *)&anything;
    args.sinks_offset = 20;
    assert_int_equal(prepare(&problem, "generic_m32n32w64r4d64", args), FCL_OK);
    assert_int_equal(launch.args.sinks_start, 5);
    assert_int_equal(launch.sinks_end, 44);
    args.sinks_offset = 6;
    assert_int_equal(prepare(&problem, "generic_m32n32w64r4d64", args), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(reason, "sinks_offset is 6"));
}

// Slopes are an argument where the problem says so; the standard ones and the place of query 0
// follow from the shape.
static void slopes_follow_the_shape(void **state)
{
    (void)state;
    static const struct {
        const char *problem;
        int place, heads;
        float step;
    } rows[] = {
        {"fwd h1 q10 k30 d64 tl alibi", 0, 1, 8.0f},
        {"fwd h3 q10 k30 d64 br alibi", 20, 2, 4.0f},
        {"fwd h12 q30 k10 d64 causal-br alibi", -20, 8, 1.0f},
        {"fwd h16 q30 k10 d64 causal-tl alibi", 0, 16, 0.5f},
        {"fwd h40 q30 k10 d64 causal-tl alibi", 0, 32, 0.25f},
    };
    for (size_t i = 0; i < FCL_COUNT(rows); i++) {
        const struct fcl_problem problem = test_problem(rows[i].problem);
        assert_int_equal(prepare(&problem, "generic_m32n32w64r4d64", plain), FCL_OK);
        assert_int_equal(launch.args.place, rows[i].place);
        assert_int_equal(launch.args.slope_heads, rows[i].heads);
        assert_true(launch.args.slope_step == rows[i].step);
    }
    const struct fcl_problem given = test_problem("fwd h6/2 q10 d64 br alibi=given");
    struct fcl_attention_args args = plain;
    static char anything;
    assert_int_equal(prepare(&given, "generic_m32n32w64r4d64", args), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(reason, "slopes is NULL"));
    args.slopes = (cl_mem)(void *)&anything;
    args.slopes_offset = 8;
    assert_int_equal(prepare(&given, "generic_m32n32w64r4d64", args), FCL_OK);
    assert_int_equal(launch.args.slopes_start, 2);
    assert_int_equal(launch.slopes_end, 32);
    args.slopes_offset = 2;
    assert_int_equal(prepare(&given, "generic_m32n32w64r4d64", args), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(reason, "slopes_offset is 2"));
    struct fcl_problem far = test_problem("fwd q1073741824 k1073741824 d64 tl alibi");
    assert_int_equal(prepare(&far, "generic_m32n32w64r4d64", plain), FCL_UNSUPPORTED);
    assert_non_null(strstr(reason, "with alibi at most"));
}

// A bias, as a mask tensor, is contiguous where no strides are given, whatever the layout; any of
// them may broadcast; the alignment that the problem promises is not its own.
static void biases_have_strides_of_their_own(void **state)
{
    (void)state;
    const struct fcl_problem problem =
        test_problem("fwd b2 h6/2 q10 k20 d64 f16 bias=f16 layout=bshd");
    const int64_t whole[4] = {1200, 200, 20, 1}, none[4] = {0, 0, 0, 0}, odd[4] = {0, 7, 3, 5};
    struct fcl_attention_args args = plain;
    static char anything;
    assert_int_equal(prepare(&problem, "generic_m32n32w64r4d64", args), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(reason, "bias.buffer is NULL"));
    args.bias.buffer = (cl_mem)(void *)&anything;
    args.bias.offset = 6;
    assert_int_equal(prepare(&problem, "generic_m32n32w64r4d64", args), FCL_OK);
    assert_memory_equal(launch.args.bias_strides, whole, sizeof whole);
    assert_int_equal(launch.args.bias_start, 3);
    assert_int_equal(launch.bias_end, 6 + 2 * 2400);
    args.bias.strides[2] = FCL_BROADCAST;
    assert_int_equal(prepare(&problem, "generic_m32n32w64r4d64", args), FCL_OK);
    assert_memory_equal(launch.args.bias_strides, none, sizeof none);
    assert_int_equal(launch.bias_end, 8);
    memcpy(args.bias.strides, odd, sizeof odd);
    assert_int_equal(prepare(&problem, "generic_m32n32w64r4d64", args), FCL_OK);
    assert_int_equal(launch.bias_end, 6 + 2 * (5 * 7 + 9 * 3 + 19 * 5 + 1));
    args.bias.strides[1] = -2;
    assert_int_equal(prepare(&problem, "generic_m32n32w64r4d64", args), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(reason, "bias.strides[1] (head) is -2"));
    args.bias = (struct fcl_tensor){.buffer = (cl_mem)(void *)&anything, .offset = 3};
    assert_int_equal(prepare(&problem, "generic_m32n32w64r4d64", args), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(reason, "bias.offset is 3 bytes"));
    const struct fcl_problem masked = test_problem("fwd b2 h6/2 q10 k20 d64 f16 mask=u8");
    args = plain;
    assert_int_equal(prepare(&masked, "generic_m32n32w64r4d64", args), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(reason, "visible.buffer is NULL"));
    args.visible = (struct fcl_tensor){.buffer = (cl_mem)(void *)&anything, .offset = 3};
    assert_int_equal(prepare(&masked, "generic_m32n32w64r4d64", args), FCL_OK);
    assert_memory_equal(launch.args.visible_strides, whole, sizeof whole);
    assert_int_equal(launch.args.visible_start, 3);
    assert_int_equal(launch.visible_end, 3 + 2400);
    const struct fcl_problem large = test_problem("fwd q46400 d64 bias=f32");
    args.bias = (struct fcl_tensor){.buffer = (cl_mem)(void *)&anything};
    assert_int_equal(prepare(&large, "generic_m32n32w64r4d64", args), FCL_OK);
    assert_int_equal(launch.bias_end, INT64_C(4) * 46400 * 46400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contiguous_strides_follow_the_layout),
        cmocka_unit_test(causal_heads_go_together_as_the_cache_allows),
        cmocka_unit_test(alignment_decides_the_shift),
        cmocka_unit_test(windows_become_first_and_last_keys),
        cmocka_unit_test(caps_are_arguments),
        cmocka_unit_test(sinks_are_checked),
        cmocka_unit_test(slopes_follow_the_shape),
        cmocka_unit_test(biases_have_strides_of_their_own),
        cmocka_unit_test(grid_covers_every_row_and_slice),
        cmocka_unit_test(grid_limits),
        cmocka_unit_test(arithmetic_is_64_bit),
        cmocka_unit_test(offsets_cannot_wrap),
        cmocka_unit_test(splits_follow_the_shape),
        cmocka_unit_test(marks_follow_the_parts),
        cmocka_unit_test(broken_promises_are_named),
        cmocka_unit_test(outputs_may_be_permuted_but_not_overlap),
        cmocka_unit_test(scale_defaults_to_the_root_of_the_head_dim),
    };
    return cmocka_run_group_tests_name("launch", tests, NULL, NULL);
}
