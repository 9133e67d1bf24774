// The family for NVIDIA's matrix units, without a device: where it is usable, what it is for, its
// defaults.
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include <flashcl/flashcl.h>

#include "attention/problem.h"
#include "attention/select.h"
#include "attention/space.h"
#include "choices.h"
#include "devices.h"

static struct fcl_caps nvidia(uint64_t capability, uint64_t local_bytes)
{
    struct fcl_caps caps = test_gpu(local_bytes, 1024);
    caps.nvidia_capability = capability;
    caps.compute_units = 132;
    return caps;
}

static void it_needs_compute_capability_8(void **state)
{
    (void)state;
    const struct fcl_caps old = nvidia(75, 64512), none = test_gpu(231424, 1024),
                          ampere = nvidia(80, 165888);
    char reason[256] = "";
    assert_int_equal(fcl_family_usable(FCL_FAMILY_NVIDIA_MMA, &ampere, reason, sizeof reason),
                     FCL_OK);
    assert_int_equal(fcl_family_usable(FCL_FAMILY_NVIDIA_MMA, &old, reason, sizeof reason),
                     FCL_UNSUPPORTED);
    assert_non_null(strstr(reason, "capability 8.0 or later; the device has 7.5"));
    assert_int_equal(fcl_family_usable(FCL_FAMILY_NVIDIA_MMA, &none, reason, sizeof reason),
                     FCL_UNSUPPORTED);
    assert_non_null(strstr(reason, "NVIDIA GPUs of compute capability 8.0 or later; this device"));
}

static void defaults_follow_head_dim_rows_and_local_memory(void **state)
{
    (void)state;
    static const struct {
        const char *problem;
        uint64_t local_bytes;
        const char *config;
    } rows[] = {
        {"fwd b4 h32 q4096 d64 f16", 231424, "nvidia_mma_m128n64w128t3u3"},
        {"fwd b4 h32 q4096 k4097 d64 f16", 231424, "nvidia_mma_m128n128w128t3u2"},
        {"fwd b4 h32 q4096 d64 f16", 166912, "nvidia_mma_m128n64w128t3u3"},
        {"fwd b4 h32 q4096 d64 f16", 101376, "nvidia_mma_m128n64w128t3u2"},
        {"fwd b4 h32 q4096 d64 bf16", 49152, "nvidia_mma_m128n128w128"},
        {"fwd b16 h32 q1024 d64 f16 causal-br", 231424, "nvidia_mma_m128n64w128t3u3"},
        {"lse b16 h32 q1024 d64 f16", 231424, "nvidia_mma_m128n128w128"},
        {"fwd b4 h32 q4096 d64 f16 softcap=30", 231424, "nvidia_mma_m128n64w128"},
        {"fwd b4 h32 q4096 d64 f16 sink", 231424, "nvidia_mma_m128n64w128t3u3"},
        {"fwd b4 h32 q4096 d80 f16", 231424, "nvidia_mma_m128n64w128t3u2"},
        {"fwd b4 h32 q4096 d128 f16 causal-br", 231424, "nvidia_mma_m128n64w128t2u2"},
        {"fwd b4 h32 q4096 d128 f16 causal-br", 49152, "nvidia_mma_m128n32w128"},
        {"fwd b4 h32 q4096 d192/128 f16", 231424, "nvidia_mma_m128n64w128"},
        {"fwd b4 h32 q4096 d256 f16", 231424, "nvidia_mma_m128n64w256"},
        {"fwd b4 h32 q4096 d256 f16", 49152, "nvidia_mma_m64n16w128"},
        {"fwd b4 h32 q4096 d512 f16", 231424, "nvidia_mma_m128n64w256p2"},
        {"fwd b64 h32/8 q1 k8192 d128 f16 causal-br", 231424, "nvidia_mma_m16n64w32g1"},
        {"fwd b1 h32/8 q1 k8192 d128 f16 causal-br", 231424, "nvidia_mma_m16n64w32t2g1s33"},
        {"fwd b1 h32/8 q1 k8192 d256 f16 used page=16", 231424, "nvidia_mma_m16n32w32t2g1s33"},
        {"fwd b1 h32/8 q8 k8192 d256 f16", 101376, "nvidia_mma_m64n64w128g1s16"},
        {"fwd b64 h32 q16 k8192 d128 f16", 231424, "nvidia_mma_m16n64w32"},
        {"lse b4 h32 q4096 d64 f16", 231424, "nvidia_mma_m128n128w128"},
        {"fwd b4 h32 q4096 d128 f16 varlen", 231424, "nvidia_mma_m128n64w128t2u2"},
        {"fwd b4 h32 q4096 d128 f16 page=16", 231424, "nvidia_mma_m128n32w128"},
        {"fwd b4 h32 q4096 d64", 231424, "generic_m128n64w128r8d64"}, // fp32
    };
    for (size_t i = 0; i < FCL_COUNT(rows); i++) {
        const struct fcl_caps caps = nvidia(80, rows[i].local_bytes);
        const struct fcl_problem problem = test_problem(rows[i].problem);
        struct fcl_config config;
        char reason[256] = "";
        if (fcl_config_default(&problem, &caps, &config, reason, sizeof reason))
            fail_msg("%s: %s", rows[i].problem, reason);
        test_is_config(&config, rows[i].config, rows[i].problem);
        assert_int_equal(fcl_config_validate(&config, &problem, &caps, reason, sizeof reason),
                         FCL_OK);
    }
}

static void what_it_is_not_for_is_refused_with_a_reason(void **state)
{
    (void)state;
    static const struct test_refusal rows[] = {
        {"fwd h8 q64 d64", "nvidia_mma_m128n64w128", "q, k and v are f32, f32 and f32"},
        {"fwd h8 q64 d64 q:f16 k:bf16 v:f16 o:f16", "nvidia_mma_m128n64w128", "f16, bf16 and f16"},
        {"fwd h8 q64 d20 f16", "nvidia_mma_m128n64w128", "alignment 8"},
        {"fwd h8 q64 d64 f16 align=8", "nvidia_mma_m128n64w128", "alignment 8"},
        {"fwd h8 q64 d64 f16 strided", "nvidia_mma_m128n64w128", "innermost strides of 1"},
        {"fwd h8 q64 d64 f16 guard-v", "nvidia_mma_m128n64w128", "guard-v"},
        {"fwd h8 q64 d64 f16", "nvidia_mma_m128n64w96", "items 96"},
        {"fwd h8 q64 d64 f16", "nvidia_mma_m128n64w16", "items 16"},
        {"fwd h8 q64 d64 f16", "nvidia_mma_m96n64w128", "block_m 96"},
        {"fwd h8 q64 d64 f16", "nvidia_mma_m128n40w128", "block_n 40"},
        {"fwd h8 q64 d64 f16", "nvidia_mma_m128n64w128q2", "held 2"},
        {"fwd h8 q64 d64 f16", "nvidia_mma_m128n64w128t4", "stages 4"},
        {"lse h8 q64 d64 f16", "nvidia_mma_m128n64w128t3", "stages 3: the statistics"},
        {"fwd h8 q64 d64 f16", "nvidia_mma_m128n64w128u17", "resident 17"},
        {"fwd h8 q64 d64 f16", "nvidia_mma_m128n64w128u16", "more than 0"},
        {"fwd h8 q64 d64 f16", "nvidia_mma_m128n128w128t3u3", "more than 128"},
        {"fwd h8 q64 d128 f16", "nvidia_mma_m64n64w128t2u3", "resident 3: 199680 bytes"},
        {"fwd h8 q64 d64 f16", "nvidia_mma_m128n64w128p3", "dv_split 3"},
        {"fwd h8 q64 d72 f16", "nvidia_mma_m128n128w128q1", "218 registers"},
        {"fwd h8 q64 d128 f16 page=16", "nvidia_mma_m128n64w128", "222 registers"},
        {"fwd h8 q64 d512 f16", "nvidia_mma_m16n16w32p8", "items 32 are fewer"},
        {"fwd h8 q64 d64 f16", "nvidia_mma_m256n32w512t2", "512 work-items"},
        {"fwd h8 q64 d128 f16", "nvidia_mma_m256n64w256", "98304 bytes of local memory needed"},
    };
    struct fcl_caps caps = nvidia(86, 65536);
    caps.group_size = 256;
    test_refusals(&caps, rows, FCL_COUNT(rows));
}

static void local_memory_holds_q_k_and_v(void **state)
{
    (void)state;
    static const struct {
        const char *problem, *config;
        size_t bytes;
    } rows[] = {
        {"fwd h8 q64 d128 f16", "nvidia_mma_m128n64w128", (128 + 64 + 64) * 256},
        {"fwd h8 q64 d128 f16", "nvidia_mma_m128n64w128t2", (128 + 2 * 64 + 64) * 256},
        {"fwd h8 q64 d128 f16", "nvidia_mma_m128n64w128t3", (128 + 2 * 64 + 2 * 64) * 256},
        {"fwd h8 q64 d64 f16", "nvidia_mma_m128n96w128q1", (128 + 2 * 96) * 128},
        {"fwd h8 q64 d72/40 f16", "nvidia_mma_m64n32w128", (64 + 32) * 160 + 32 * 96},
        {"fwd h8 q64 d16/256 f16", "nvidia_mma_m64n16w128q1", 4 * 16 * 512}, // O on its way out
        {"lse h8 q64 d64 f16", "nvidia_mma_m128n64w128", (128 + 64) * 128},
    };
    for (size_t i = 0; i < FCL_COUNT(rows); i++) {
        const struct fcl_problem problem = test_problem(rows[i].problem);
        const struct fcl_config config = test_config(rows[i].config);
        if (fcl_config_local_bytes(&config, &problem) != rows[i].bytes)
            fail_msg("%s with %s: %zu bytes", rows[i].problem, rows[i].config,
                     fcl_config_local_bytes(&config, &problem));
        assert_int_equal(fcl_config_group_size(&config), 128);
    }
}

// The baseline has no kernels of this family: another one is chosen.
static void unfused_kernels_are_of_another_family(void **state)
{
    (void)state;
    const struct fcl_caps caps = nvidia(90, 231424);
    const struct fcl_problem problem = test_problem("fwd h8 q64 d64 f16");
    struct fcl_choice choices[FCL_CHOICES];
    const size_t count = fcl_select(&problem, FCL_UNFUSED, &caps, NULL, choices, NULL, 0);
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(choices[i].config.family, FCL_FAMILY_GENERIC);
    assert_true(fcl_select(&problem, FCL_FUSED, &caps, NULL, choices, NULL, 0) > 1);
    assert_int_equal(choices[0].config.family, FCL_FAMILY_NVIDIA_MMA);
}

// It tells what this launch wrote from what its workspace held, which may be nothing but zeros.
static void a_generated_kernel_has_a_mark(void **state)
{
    (void)state;
    static const unsigned char zeros[8];
    const struct fcl_caps caps = nvidia(90, 231424);
    const struct fcl_problem problem = test_problem("fwd b1 h8/2 q1 k4096 d64 f16");
    const struct fcl_config config = test_config("nvidia_mma_m16n64w32g1s8");
    struct fcl_generated generated;
    assert_int_equal(fcl_attention_generate(&problem, &caps, &config, NULL, &generated, NULL, 0),
                     FCL_OK);
    assert_int_equal(generated.argument_count, 10);
    assert_string_equal(generated.arguments[9].name, "mark");
    assert_int_equal(generated.arguments[9].size, sizeof zeros);
    assert_memory_not_equal(generated.arguments[9].bytes, zeros, sizeof zeros);
    fcl_generated_free(&generated);
}

// Registers are limited by an option of NVIDIA's compiler, for this family only.
static void resident_groups_limit_registers(void **state)
{
    (void)state;
    static const struct {
        const char *config;
        int resident;
        const char *flags;
    } rows[] = {{"nvidia_mma_m128n64w128t3", 0, "-cl-std=CL1.2"},
                {"nvidia_mma_m128n64w128t3", 3, "-cl-std=CL1.2 -cl-nv-maxrregcount=168"},
                {"nvidia_mma_m64n64w128", 4, "-cl-std=CL1.2 -cl-nv-maxrregcount=128"},
                {"nvidia_wgmma_m128n128w384t2", 3, "-cl-std=CL1.2"},
                {"generic_m16n16w64r4d16", 3, "-cl-std=CL1.2"}};
    const struct fcl_caps caps = nvidia(90, 231424);
    const struct fcl_problem problem = test_problem("fwd b1 h8 q4096 d64 f16");
    for (size_t i = 0; i < FCL_COUNT(rows); i++) {
        struct fcl_generated generated;
        struct fcl_config config = test_config(rows[i].config);
        config.resident = rows[i].resident;
        assert_int_equal(
            fcl_attention_generate(&problem, &caps, &config, NULL, &generated, NULL, 0), FCL_OK);
        assert_string_equal(generated.flags, rows[i].flags);
        // The option is ignored where a kernel states its group's size.
        assert_int_equal(!strstr(generated.source, "define FCL_RESIDENT 0"), rows[i].resident > 0);
        fcl_generated_free(&generated);
    }
}

// It joins the parts of split keys itself, other families need a second kernel.
static void kernels_are_counted(void **state)
{
    (void)state;
    static const struct {
        const char *config;
        enum fcl_implementation implementation;
        int kernels;
    } rows[] = {{"nvidia_mma_m16n64w32g1s4", FCL_FUSED, 1},
                {"nvidia_wgmma_m128n64w384t2s4", FCL_FUSED, 2},
                {"row_m2n32l4k4c4g1s3", FCL_FUSED, 2},
                {"row_m2n32l4k4c4g1", FCL_FUSED, 1},
                {"generic_m16n16w64r4d16", FCL_UNFUSED, 3}};
    for (size_t i = 0; i < FCL_COUNT(rows); i++) {
        const struct fcl_config config = test_config(rows[i].config);
        assert_int_equal(fcl_config_kernels(&config, rows[i].implementation), rows[i].kernels);
    }
}

static void its_space_is_worth_searching(void **state)
{
    (void)state;
    static const char *const problems[] = {"fwd b4 h16 q2048 d64 f16", "fwd b4 h16 q2048 d128 bf16",
                                           "fwd b4 h16 q2048 d256 f16"};
    const struct fcl_caps caps = nvidia(90, 231424);
    for (size_t i = 0; i < FCL_COUNT(problems); i++)
        assert_in_range(test_space_valid(problems[i], &caps, FCL_FAMILY_NVIDIA_MMA), 20, 300);
    // Keys are split in three ways only where there is too little to do otherwise.
    const size_t few =
        test_space_valid("fwd b1 h8 q64 k65536 d128 f16", &caps, FCL_FAMILY_NVIDIA_MMA);
    const size_t many =
        test_space_valid("fwd b64 h32 q64 k65536 d128 f16", &caps, FCL_FAMILY_NVIDIA_MMA);
    assert_int_equal(few, 3 * many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_needs_compute_capability_8),
        cmocka_unit_test(defaults_follow_head_dim_rows_and_local_memory),
        cmocka_unit_test(what_it_is_not_for_is_refused_with_a_reason),
        cmocka_unit_test(local_memory_holds_q_k_and_v),
        cmocka_unit_test(unfused_kernels_are_of_another_family),
        cmocka_unit_test(a_generated_kernel_has_a_mark),
        cmocka_unit_test(resident_groups_limit_registers),
        cmocka_unit_test(kernels_are_counted),
        cmocka_unit_test(its_space_is_worth_searching),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
