// Configurations of the families for matrix units against the double-precision reference.
#include "cmocka_all.h"

#include <stdio.h>

#include "attention.h"

static struct test_opencl opencl;

// Each way to compute that has a text of its own, with tails of rows, keys and columns, parts of
// the keys that are empty, packed heads, negative scales, and what each problem adds.
static const struct {
    const char *problem, *config;
    float scale;
} matrix_units[] = {
    {"fwd b2 h4/2 q150 k333 d64 f16 causal-br lse", "nvidia_mma_m128n64w128", 0},
    {"fwd b2 h4/2 q150 k333 d64 f16 causal-br lse", "nvidia_mma_m128n64w128q1t2", -0.3f},
    {"fwd b2 h4/2 q150 k333 d64 f16 causal-br lse", "nvidia_mma_m16n32w32s4", 0},
    {"fwd b2 h4/2 q150 k333 d64 f16 causal-br lse", "nvidia_mma_m64n96w128q1s3", 0},
    {"fwd b2 h4/2 q150 k333 d64 f16 causal-br lse", "nvidia_mma_m256n112w256t2", -0.3f},
    {"fwd b1 h4 q333 k150 d128 bf16 causal-br lse", "nvidia_mma_m128n64w128", 0},
    {"fwd b1 h4 q333 k150 d128 bf16 causal-tl", "nvidia_mma_m128n32w128t2", 0},
    {"fwd b1 h2 q100 k97 d72/40 f16 lse layout=bshd", "nvidia_mma_m128n48w128q1", 0},
    {"fwd b1 h2 q100 k97 d80/96 bf16 causal-br", "nvidia_mma_m64n16w64t2p2", 0},
    {"fwd b1 h2 q100 k97 d8/24 q:f16 k:f16 v:f16 o:f32 causal-br", "nvidia_mma_m32n32w32", 0},
    {"fwd b1 h2 q70 k97 d256 f16 causal-br lse", "nvidia_mma_m128n64w256", 0},
    {"fwd b1 h2 q70 k97 d512/576 f16", "nvidia_mma_m64n32w128p3", 0},
    {"fwd b1 h2 q70 k97 d1024/64 bf16 causal-br", "nvidia_mma_m64n16w128", 0},
    {"fwd b2 h12/2 q5 k999 d128 f16 causal-br lse", "nvidia_mma_m16n64w32g1s16", 0},
    {"fwd b2 h12/2 q3 k999 d128 f16 causal-br lse", "nvidia_mma_m64n64w128g1", 0},
    {"fwd b1 h2 q40 k0 d64 f16 lse", "nvidia_mma_m128n64w128t2", 0},
    {"lse b1 h4 q333 k150 d128 bf16 causal-br", "nvidia_mma_m128n64w128t2", 0},
    {"fwd b1 h1 q128 k128 d128 f16", "nvidia_wgmma_m128n128w384t2", 0},
    {"fwd b1 h1 q128 k384 d128 f16", "nvidia_wgmma_m128n128w384t2", 0},
    {"fwd b1 h1 q128 k384 d128 f16", "nvidia_wgmma_m128n128w384t2a1", 0},
    {"fwd b2 h4/2 q150 k333 d64 f16 causal-br lse", "nvidia_wgmma_m192n128w512t2a1", 0},
    {"fwd b2 h4/2 q150 k333 d64 f16 causal-br lse", "nvidia_wgmma_m128n64w384t3a1", -0.3f},
    {"fwd b2 h100/50 q150 k333 d64 bf16 lse", "nvidia_wgmma_m192n112w512t3", 0},
    {"fwd b2 h100/50 q150 k433 d64 bf16", "nvidia_wgmma_m192n128w512t3a1", 0},
    {"fwd b2 h4/2 q333 k450 d64/40 f16 causal-br", "nvidia_wgmma_m192n64w512t3a1", -0.3f},
    {"fwd b1 h2 q400 k200 d128/64 f16 causal-br layout=bshd", "nvidia_wgmma_m192n48w512t2", 0},
    {"fwd b2 h2 q200 k150 d64 bf16 br win=70,9", "nvidia_wgmma_m192n64w512t3a2", 0},
    {"fwd b2 h100/50 q140 k200 d128 bf16 causal-br lse", "nvidia_wgmma_m128n128w384t2a1", 0},
    {"fwd b1 h4 q333 k150 d128 f16 causal-br lse", "nvidia_wgmma_m192n80w512t2a1", 0},
    {"fwd b1 h4 q333 k150 d128 f16 causal-tl", "nvidia_wgmma_m128n144w384t2", 0},
    {"fwd b1 h2 q100 k97 d72/40 f16 lse layout=bshd", "nvidia_wgmma_m128n48w384t2a1", 0},
    {"fwd b1 h2 q100 k297 d80/96 bf16 causal-br", "nvidia_wgmma_m128n96w384t2", 0},
    {"fwd b1 h2 q100 k97 d40/24 q:f16 k:f16 v:f16 o:f32", "nvidia_wgmma_m128n32w384t4", 0},
    {"fwd b1 h2 q170 k297 d192/128 f16 causal-br lse", "nvidia_wgmma_m128n96w384t2a1", 0},
    {"fwd b1 h2 q170 k297 d192 bf16", "nvidia_wgmma_m128n80w384t2a1", 0},
    {"fwd b1 h2 q170 k297 d256 f16 causal-br lse", "nvidia_wgmma_m128n64w384t2", 0},
    {"fwd b1 h2 q170 k297 d256 f16 causal-br lse", "nvidia_wgmma_m128n64w384t2a2", 0},
    {"fwd b2 h70/35 q140 k99 d256 bf16", "nvidia_wgmma_m128n64w384t2a2", -0.1f},
    {"fwd b2 h4/2 q150 k333 d64 f16 causal-br lse", "nvidia_wgmma_m192n64w512t3a2", 0},
    {"fwd b1 h2 q100 k97 d72/200 f16 lse layout=bshd", "nvidia_wgmma_m128n48w384t2a2", 0},
    {"fwd b1 h2 q170 k297 d256 f16", "nvidia_wgmma_m128n80w384t2", -0.1f},
    {"fwd b2 h12/2 q5 k999 d128 f16 causal-br lse", "nvidia_wgmma_m128n64w384t2a1s16", 0},
    {"fwd b2 h2 q333 k450 d64 f16 causal-br lse", "nvidia_wgmma_m128n64w384t2s7", 0},
    {"fwd b1 h2 q40 k0 d64 f16 lse", "nvidia_wgmma_m128n64w384t2a1", 0},
    {"fwd b1 h2 q400 k20 d64 f16 lse causal-br", "nvidia_wgmma_m128n64w384t2a1", 0},
    {"fwd b2 h4/2 q150 k333 d128 f16 causal-br lse", "nvidia_mma_m128n64w128", -0.3f},
    {"fwd b2 h4/2 q150 k333 d128 f16 causal-br mask=u8 lse", "nvidia_mma_m128n64w128", -0.1f},
    {"fwd b2 h4/2 q150 k333 d128 bf16 br win=70,20 lse", "nvidia_mma_m128n64w128", 0},
    {"fwd b2 h4/2 q150 k333 d128 f16 causal-br bias=f16 alibi lse", "nvidia_mma_m128n64w128t2", 0},
    {"fwd b2 h4/2 q150 k333 d128 f16 varlen page=16 lse", "nvidia_mma_m128n32w128", 0},
    {"fwd b1 h2 q100 k333 d128 f16 lse", "nvidia_mma_m128n64w128s3", 0},
    {"fwd b1 h2 q150 k97 d256 f16 lse", "nvidia_mma_m128n64w128p2", 0},
    {"fwd b2 h4/2 q150 k333 d64 f16 causal-br win=70,0 lse", "nvidia_mma_m128n64w128", 0},
    {"fwd b2 h4/2 q333 k150 d64 f16 tl win=20,33 lse", "nvidia_mma_m128n64w128q1t2", -0.3f},
    {"fwd b2 h4/2 q150 k333 d64 f16 causal-br softcap=4 lse", "nvidia_mma_m128n64w128", 0},
    {"fwd b2 h4/2 q150 k333 d64 bf16 softcap=2 lse", "nvidia_mma_m128n64w128q1t2", -0.3f},
    {"fwd b2 h12/2 q5 k999 d128 f16 causal-br sink lse", "nvidia_mma_m16n64w32g1s16", 0},
    {"fwd b1 h4 q333 k150 d128 bf16 causal-br sink lse", "nvidia_mma_m128n64w128", 0},
    {"fwd b2 h12/2 q3 k999 d128 f16 br win=300,-1 lse", "nvidia_mma_m16n64w32g1s16", 0},
    {"fwd b2 h6/2 q150 k333 d64 f16 causal-br alibi lse", "nvidia_mma_m128n64w128", -0.3f},
    {"fwd b2 h12/2 q5 k999 d128 bf16 br alibi=given lse", "nvidia_mma_m16n64w32g1s16", 0},
    {"fwd b2 h6/2 q150 k333 d64 f16 causal-br bias=f16 lse", "nvidia_mma_m128n64w128", -0.3f},
    {"fwd b2 h12/2 q5 k999 d128 bf16 br bias=f32 alibi lse", "nvidia_mma_m16n64w32g1s16", 0},
    {"fwd b2 h6/2 q150 k333 d64 f16 causal-br mask=u8 lse", "nvidia_mma_m128n32w128", -0.3f},
    {"fwd b2 h6/2 q150 k333 d64 f16 mask=u8 lse", "nvidia_mma_m64n32w128q1t2", 0},
    {"fwd b2 h12/2 q5 k999 d128 bf16 bias=f32 mask=u8 lse", "nvidia_mma_m16n32w32g1s16", 0},
    {"fwd b2 h4/2 q150 k333 d64 f16 causal-br lse", "nvidia_mma_m128n128w128t3", 0},
    {"fwd b2 h4/2 q150 k333 d128 bf16 lse", "nvidia_mma_m128n64w128t3", -0.3f},
    {"fwd b1 h2 q100 k297 d128/40 f16 causal-br mask=u8 alibi lse", "nvidia_mma_m64n32w128t3", 0},
    {"fwd b2 h4/2 q150 k333 d64 f16 varlen page=16 lse", "nvidia_mma_m64n64w128t3", 0},
    {"fwd b2 h12/2 q5 k999 d80/96 f16 causal-br lse", "nvidia_mma_m16n64w32g1s16t3", 0},
    {"fwd b2 h12/2 q5 k999 d128 f16 causal-br page=16 lse", "nvidia_mma_m16n64w32g1s4t2", 0},
    {"fwd b2 h12/2 q5 k999 d64 bf16 br win=300,2 page=64 lse", "nvidia_mma_m16n32w32g1s7t3", 0},
};

static void configurations_of_matrix_units(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof matrix_units / sizeof *matrix_units; i++) {
        struct test_attention a;
        struct fcl_config config;
        char reason[256];
        test_attention_init(&a, matrix_units[i].problem);
        if (matrix_units[i].scale != 0)
            a.scale = matrix_units[i].scale;
        assert_int_equal(fcl_config_parse(matrix_units[i].config, &config, reason, sizeof reason),
                         FCL_OK);
        if (fcl_config_validate(&config, &a.problem, fcl_device_caps(opencl.device), reason,
                                sizeof reason)) {
            print_message("not on this device: %s: %s\n", matrix_units[i].config, reason);
        } else {
            test_attention_with(&opencl, &a, FCL_FUSED, matrix_units[i].config);
        }
        test_attention_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(configurations_of_matrix_units)};
    if (!test_opencl_open(&opencl, NULL))
        return 77;
    const int failed = cmocka_run_group_tests_name("matrix_units", tests, NULL, NULL);
    test_opencl_close(&opencl);
    return failed;
}
