// The family for Hopper's matrix units, without a device: where it is usable, what it is for, its
// defaults, what a launch keeps in workspace.
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "attention/launch.h"
#include "attention/problem.h"
#include "attention/select.h"
#include "attention/space.h"
#include "attention/spec.h"
#include "choices.h"
#include "devices.h"

#define X128 "nvidia_wgmma_m128n128w384t2a1"

static struct fcl_caps nvidia(uint64_t capability)
{
    struct fcl_caps caps = test_gpu(231424, 1024);
    caps.nvidia_capability = capability;
    caps.compute_units = 132;
    return caps;
}

static void it_needs_compute_capability_9_0(void **state)
{
    (void)state;
    static const uint64_t others[] = {0, 80, 89, 100, 120};
    struct fcl_caps caps = nvidia(90);
    char reason[256] = "";
    assert_int_equal(fcl_family_usable(FCL_FAMILY_NVIDIA_WGMMA, &caps, reason, sizeof reason),
                     FCL_OK);
    for (size_t i = 0; i < FCL_COUNT(others); i++) {
        caps = nvidia(others[i]);
        assert_int_equal(fcl_family_usable(FCL_FAMILY_NVIDIA_WGMMA, &caps, reason, sizeof reason),
                         FCL_UNSUPPORTED);
        assert_non_null(strstr(reason, others[i] ? "capability 9.0 exactly; the device has"
                                                 : "9.0 exactly; this device is none"));
    }
}

static void defaults_follow_the_head_dims(void **state)
{
    (void)state;
    static const struct {
        const char *problem, *config;
    } rows[] = {
        {"fwd b4 h32 q4096 d64 f16", "nvidia_wgmma_m192n128w512t3a1"},
        {"fwd b4 h32 q4096 d64 bf16 causal-br lse", "nvidia_wgmma_m192n128w512t3a1"},
        {"fwd b4 h32 q512 d64 f16", "nvidia_wgmma_m192n128w512t3a1"},
        {"fwd b4 h32 q512 d64 f16 causal-br", "nvidia_wgmma_m128n128w384t3a1"},
        {"fwd b4 h32 q4096 d80 f16", X128},
        {"fwd b4 h32 q4096 d96 f16", X128},
        {"fwd b4 h32/8 q4096 d128 f16 causal-br", X128},
        {"fwd b4 h32 q4096 d192/128 bf16", "nvidia_wgmma_m128n96w384t2a1"},
        {"fwd b4 h32 q4096 d192 f16", "nvidia_wgmma_m128n80w384t2a1"},
        {"fwd b4 h32 q4096 d256 f16", "nvidia_wgmma_m128n64w384t2a2"},
        {"fwd b1 h4 q128 k16384 d128 f16", "nvidia_wgmma_m128n128w384t2a1s32"},
    };
    const struct fcl_caps caps = nvidia(90);
    for (size_t i = 0; i < FCL_COUNT(rows); i++) {
        const struct fcl_problem problem = test_problem(rows[i].problem);
        struct fcl_config config;
        char reason[256] = "";
        if (fcl_family_default(FCL_FAMILY_NVIDIA_WGMMA, &problem, &caps, &config, reason,
                               sizeof reason))
            fail_msg("%s: %s", rows[i].problem, reason);
        test_is_config(&config, rows[i].config, rows[i].problem);
    }
}

// For a handful of rows the tile of one warp a group comes first, and this one not at all.
static void it_is_chosen_for_more_than_a_few_rows(void **state)
{
    (void)state;
    static const struct {
        const char *problem;
        enum fcl_family family;
    } rows[] = {
        {"fwd b4 h32 q4096 d128 f16", FCL_FAMILY_NVIDIA_WGMMA},
        {"fwd b4 h32 q65 k4096 d128 f16", FCL_FAMILY_NVIDIA_WGMMA},
        {"fwd b4 h32/8 q17 k4096 d128 f16", FCL_FAMILY_NVIDIA_WGMMA},
        {"fwd b4 h32 q64 k4096 d128 f16", FCL_FAMILY_NVIDIA_MMA},
        {"fwd b4 h32/8 q16 k4096 d128 f16", FCL_FAMILY_NVIDIA_MMA},
        {"fwd b4 h32/8 q1 k4096 d128 f16", FCL_FAMILY_NVIDIA_MMA},
        {"fwd b4 h32 q4096 d128 f16 softcap=30", FCL_FAMILY_NVIDIA_MMA},
    };
    const struct fcl_caps caps = nvidia(90);
    for (size_t i = 0; i < FCL_COUNT(rows); i++) {
        const struct fcl_problem problem = test_problem(rows[i].problem);
        struct fcl_choice choices[FCL_CHOICES];
        struct fcl_config config;
        const size_t count = fcl_select(&problem, FCL_FUSED, &caps, NULL, choices, NULL, 0);
        assert_true(count > 1);
        assert_int_equal(choices[0].config.family, rows[i].family);
        for (size_t n = 1; n < count; n++)
            assert_int_not_equal(choices[n].config.family, FCL_FAMILY_NVIDIA_WGMMA);
        assert_int_equal(fcl_config_default(&problem, &caps, &config, NULL, 0), FCL_OK);
        assert_int_equal(config.family, rows[i].family);
    }
}

static void what_it_is_not_for_is_refused_with_a_reason(void **state)
{
    (void)state;
    static const struct test_refusal rows[] = {
        {"fwd h8 q64 d64", X128, "f32, f32 and f32; nvidia_wgmma is for one of"},
        {"fwd h8 q64 d20 f16", X128, "alignment 8: nvidia_wgmma"},
        {"fwd h8 q64 d64 f16 strided", X128, "nvidia_wgmma needs innermost strides of 1"},
        {"fwd h8 q64 d64 f16 guard-v", X128, "guard-v"},
        {"fwd h8 q64 d264 f16", X128, "head dims 264 and 264"},
        {"lse h8 q64 d64 f16", X128, "no statistics pass"},
        {"fwd h8 q64 d64 f16 softcap=30", X128, "no softcap"},
        {"fwd h8 q64 d64 f16 sink", X128, "no sinks"},
        {"fwd h8 q64 d64 f16 used", X128, "sequences of one length only"},
        {"fwd h8 q64 d64 f16 varlen", X128, "sequences of one length only"},
        {"fwd h8 q64 d64 f16 causal-br alibi", X128, "no alibi"},
        {"fwd h8 q64 d64 f16 bias=f16", X128, "no bias"},
        {"fwd h8 q64 d64 f16 mask=u8", X128, "no mask tensor"},
        {"fwd h8 q64 d64 f16", "nvidia_wgmma_m64n128w256t2", "block_m 64"},
        {"fwd h8 q64 d64 f16", "nvidia_wgmma_m128n128w512t2", "items 512"},
        {"fwd h8 q64 d64 f16", "nvidia_wgmma_m128n40w384t2", "block_n 40"},
        {"fwd h8 q64 d64 f16", "nvidia_wgmma_m128n272w384t2", "block_n 272"},
        {"fwd h8 q64 d64 f16", "nvidia_wgmma_m128n128w384t1", "stages 1"},
        {"fwd h8 q64 d64 f16", "nvidia_wgmma_m128n128w384t5", "stages 5"},
        {"fwd h8 q64 d64 f16", "nvidia_wgmma_m128n128w384t2a3", "ahead 3"},
        {"fwd h8 q64 d64 f16", "nvidia_wgmma_m128n128w384t2p2", "dv_split 2"},
        {"fwd h8/2 q64 d64 f16", "nvidia_wgmma_m128n128w384t2g1", "packed 1"},
        {"fwd h8 q64 d128 f16", "nvidia_wgmma_m192n96w512t2", "136 registers"},
        {"fwd h8 q64 d128 f16", "nvidia_wgmma_m128n192w384t2", "208 registers"},
        {"fwd h8 q64 d256 f16", "nvidia_wgmma_m128n64w384t2a1", "262400 bytes of local memory"},
    };
    const struct fcl_caps caps = nvidia(90);
    test_refusals(&caps, rows, FCL_COUNT(rows));
}

static void local_memory_holds_slots_of_q_stages_and_barriers(void **state)
{
    (void)state;
    static const struct {
        const char *problem, *config;
        size_t bytes;
    } rows[] = {
        {"fwd h8 q64 d128 f16", X128, (2 * 128 + 4 * 128) * 256 + 256},
        {"fwd h8 q64 d96 f16", X128, (2 * 128 + 4 * 128) * 256 + 256}, // whole chunks
        {"fwd h8 q64 d64 f16", "nvidia_wgmma_m192n128w512t2a1",        // ones
         (2 * 192 + 4 * 128) * 128 + 2048 + 256},
        {"fwd h8 q64 d64 f16 lse", "nvidia_wgmma_m192n128w512t2a1",
         (2 * 192 + 4 * 128) * 128 + 256},
        {"fwd h8 q64 d64 f16", "nvidia_wgmma_m192n128w512t2a1s2", (2 * 192 + 4 * 128) * 128 + 256},
        {"fwd h8 q64 d64 f16", "nvidia_wgmma_m128n128w384t2a1", (2 * 128 + 4 * 128) * 128 + 256},
        {"fwd h8 q64 d256 f16", "nvidia_wgmma_m128n64w384t2", (128 + 4 * 64) * 512 + 256},
        {"fwd h8 q64 d256 f16", "nvidia_wgmma_m128n64w384t2a2", // 128 columns of O leave at a time
         (128 + 4 * 64) * 512 + 128 * 256 + 256},
        {"fwd h8 q64 d192/64 f16", "nvidia_wgmma_m192n64w512t2a2",
         (192 + 2 * 64) * 384 + (192 + 2 * 64) * 128 + 2048 + 256},
        {"fwd h8 q64 d192/128 f16", "nvidia_wgmma_m128n96w384t2a1",
         (2 * 128 + 2 * 96) * 384 + 2 * 96 * 256 + 256},
        {"fwd h8 q64 d64/128 f16", "nvidia_wgmma_m128n64w384t3", // O leaves through Q
         128 * 256 + 3 * 64 * (128 + 256) + 256},
    };
    for (size_t i = 0; i < FCL_COUNT(rows); i++) {
        const struct fcl_problem problem = test_problem(rows[i].problem);
        struct fcl_config config;
        struct fcl_budget budget;
        assert_int_equal(fcl_config_parse(rows[i].config, &config, NULL, 0), FCL_OK);
        if (fcl_config_local_bytes(&config, &problem) != rows[i].bytes)
            fail_msg("%s with %s: %zu bytes", rows[i].problem, rows[i].config,
                     fcl_config_local_bytes(&config, &problem));
        assert_int_equal(fcl_config_budget(&config, &problem, &budget, NULL, 0), FCL_OK);
        assert_int_equal(budget.local_bytes, rows[i].bytes);
        const int columns = problem.head_dim_v < 128 ? problem.head_dim_v : 128;
        assert_int_equal(budget.out_bytes, config.ahead == 2 ? 2 * config.block_m * columns : 0);
        assert_int_equal(budget.group_size, config.items);
        // What the kernel takes for granted of the places of its chunks.
        const struct fcl_local_layout at = fcl_local_layout(&config, &problem);
        assert_int_equal(at.right * 4 / (config.ahead == 1 ? 2 : 1) % 1024, 0);
        assert_int_equal(at.values * 4 % 1024, 0);
    }
}

// The launch of a problem whose buffers all stand at `place`.
static struct fcl_launch launch_of(const struct fcl_problem *problem, const char *text,
                                   struct fcl_config *config)
{
    static char place;
    const cl_mem buffer = (cl_mem)(void *)&place;
    const struct fcl_caps caps = nvidia(90);
    const struct fcl_attention_args args = {.struct_size = sizeof args,
                                            .shape = {problem->batch, problem->heads_q,
                                                      problem->heads_kv, problem->q_len,
                                                      problem->k_len},
                                            .q = {.buffer = buffer},
                                            .k = {.buffer = buffer},
                                            .v = {.buffer = buffer},
                                            .o = {.buffer = buffer},
                                            .lse = buffer};
    struct fcl_launch launch;
    char reason[256] = "";
    assert_int_equal(fcl_config_parse(text, config, reason, sizeof reason), FCL_OK);
    if (fcl_launch_prepare(problem, config, &caps, &args, &launch, reason, sizeof reason))
        fail_msg("%s: %s", text, reason);
    assert_int_equal(fcl_workspace_bytes(problem, config, &caps, &args.shape),
                     launch.state_bytes ? launch.state_start + launch.state_bytes
                                        : launch.part_bytes);
    return launch;
}

static void launches_stay_and_keep_their_state_in_workspace(void **state)
{
    (void)state;
    struct fcl_config config;
    struct fcl_problem problem = test_problem("fwd b2 h8 q1000 d128 f16");
    struct fcl_launch launch = launch_of(&problem, X128, &config);
    assert_int_equal(launch.groups, 2 * 8 * 8); // fewer than compute units
    assert_int_equal(launch.marks, 1 + 128 + 128);
    assert_int_equal(launch.state_start, 0);
    assert_int_equal(launch.state_bytes, 128 + 132 * 512);
    problem = test_problem("fwd b4 h32 q4096 d128 f16");
    launch = launch_of(&problem, X128, &config);
    assert_int_equal(launch.groups, 132);
    assert_int_equal(launch.marks, 1 + 4 * 32 * 32 + 132);
    problem = test_problem("fwd b1 h3 q5 k1000 d128 f16"); // 3 x 15 rows of 129 floats in parts
    launch = launch_of(&problem, X128 "s3", &config);
    assert_int_equal(launch.part_bytes, 3 * 15 * 129 * 4);
    assert_int_equal(launch.state_start, 23296); // the next multiple of 128
    assert_int_equal(launch.groups, 9);
    launch = launch_of(&problem, "nvidia_mma_m64n64w128s3", &config);
    assert_int_equal(launch.state_bytes, 0);
    assert_int_equal(launch.groups, 9);
}

static void a_generated_kernel_names_its_workspace(void **state)
{
    (void)state;
    const struct fcl_caps caps = nvidia(90);
    const struct fcl_problem problem = test_problem("fwd b4 h32 q4096 d128 f16");
    struct fcl_generated generated;
    struct fcl_config config;
    assert_int_equal(fcl_config_parse(X128, &config, NULL, 0), FCL_OK);
    assert_int_equal(fcl_attention_generate(&problem, &caps, &config, NULL, &generated, NULL, 0),
                     FCL_OK);
    assert_int_equal(generated.argument_count, 8);
    assert_string_equal(generated.arguments[6].name, "workspace");
    assert_int_equal(generated.arguments[6].size, 128 + 132 * 512);
    assert_string_equal(generated.arguments[7].name, "mark");
    assert_int_equal(generated.arguments[7].size, 8);
    assert_int_equal(*(const uint64_t *)generated.arguments[7].bytes, 1);
    assert_int_equal(generated.group_size, 384);
    assert_int_equal(generated.groups, 132);
    fcl_generated_free(&generated);
}

// A folder of kernels has no file that the build writes; it is taken from the library.
static void a_folder_gives_the_same_source(void **state)
{
    (void)state;
    const char *folder = getenv("FCL_TEST_KERNELS");
    const struct fcl_problem problem = test_problem("fwd b1 h1 q128 d64 f16");
    struct fcl_text embedded = {0}, read = {0};
    struct fcl_config config;
    char reason[256] = "";
    assert_non_null(folder);
    assert_int_equal(fcl_config_parse(X128, &config, NULL, 0), FCL_OK);
    assert_int_equal(fcl_spec_source(&problem, &config, FCL_FUSED, NULL, &embedded, NULL, 0),
                     FCL_OK);
    if (fcl_spec_source(&problem, &config, FCL_FUSED, folder, &read, reason, sizeof reason))
        fail_msg("%s", reason);
    assert_string_equal(embedded.data, read.data);
    assert_non_null(strstr(embedded.data, "#define FCL_WGMMA_NEXT_256(c, a, b)"));
    assert_non_null(strstr(embedded.data, "m64n80k16"));
    fcl_text_free(&embedded);
    fcl_text_free(&read);
}

static void its_space_is_worth_searching(void **state)
{
    (void)state;
    static const char *const problems[] = {"fwd b4 h16 q2048 d64 f16", "fwd b4 h16 q2048 d128 bf16",
                                           "fwd b4 h16 q2048 d256 f16"};
    const struct fcl_caps caps = nvidia(90);
    for (size_t i = 0; i < FCL_COUNT(problems); i++)
        assert_in_range(test_space_valid(problems[i], &caps, FCL_FAMILY_NVIDIA_WGMMA), 4, 140);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_needs_compute_capability_9_0),
        cmocka_unit_test(defaults_follow_the_head_dims),
        cmocka_unit_test(it_is_chosen_for_more_than_a_few_rows),
        cmocka_unit_test(what_it_is_not_for_is_refused_with_a_reason),
        cmocka_unit_test(local_memory_holds_slots_of_q_stages_and_barriers),
        cmocka_unit_test(launches_stay_and_keep_their_state_in_workspace),
        cmocka_unit_test(a_generated_kernel_names_its_workspace),
        cmocka_unit_test(a_folder_gives_the_same_source),
        cmocka_unit_test(its_space_is_worth_searching),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
