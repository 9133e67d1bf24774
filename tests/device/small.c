// A handful of small problems against the reference, for slow devices: oclgrind.sh runs it under
// race and uninitialised checks. Kernels come from the folder FCL_TEST_KERNELS where that is set;
// an argument limits it to one family.
#include "cmocka_all.h"

#include <stdio.h>

#include "merge.h"
#include "sequences.h"

// The unfused problems are no larger than the library's self-check: Oclgrind reuses the shadow of a
// released buffer for a larger one without enlarging it, and calls what lies beyond uninitialised.
static const struct {
    const char *problem, *config;
    enum fcl_implementation implementation;
} rows[] = {
    {"fwd h2/1 q21 k26 d20/12 f32 causal-br lse", "generic_m16n16w64r4d16", FCL_FUSED},
    {"fwd h2 q11 k18 d20/12 f16 none strided", "generic_m8n16w8r4d20p2", FCL_FUSED},
    {"fwd q19 k37 d16 bf16 causal-tl guard-v", "generic_m16n16w32r8d16x1", FCL_FUSED},
    {"fwd q21 k37 d24/20 f16 causal-br", "generic_m16n16w32r8d24h8", FCL_FUSED},
    {"lse q20 k36 d20 f32 causal-br", "generic_m16n16w64r4d16", FCL_FUSED},
    {"fwd q14 k21 d20/12 f32 causal-br lse", "generic_m16n16w64r4d16", FCL_UNFUSED},
    {"fwd h2/1 q21 k38 d10/6 f32 causal-br lse", "vector_m8n32l4k4c4", FCL_FUSED},
    {"fwd q11 k38 d10/6 f16 none strided guard-v", "vector_m4n32l4k4c4p2", FCL_FUSED},
    {"fwd q21 k40 d10/6 f32 br win=3,2 lse", "generic_m16n16w64r4d10", FCL_FUSED},
    {"fwd h2/1 q21 k70 d10/6 f32 alibi bias=f16 mask=u8 br lse", "generic_m16n16w64r4d10",
     FCL_FUSED},
    {"fwd q4 k37 d10/6 f32 causal-br lse", "vector_m4n32l4k4c4", FCL_UNFUSED},
    {"fwd b3 h2/1 q9 k21 d10/6 f32 causal-br varlen used", "generic_m16n16w64r4d10", FCL_FUSED},
    {"fwd b3 h2/1 q3 k21 d10/6 f32 causal-br varlen page=4", "generic_m16n16w64r4d10", FCL_FUSED},
    {"fwd b3 h2/1 q3 k21 d10/6 f32 causal-br page=4", "row_m4n8l4k2c2g1", FCL_FUSED},
    {"fwd b3 h2/1 q3 k21 d10/6 f32 causal-br page=4 lse", "vector_m4n32l4k4c4", FCL_FUSED},
};

// Every second element, rows apart, from the second element on.
static void spread(struct test_tensor *t)
{
    const int64_t row = 2 * t->extents[3] + 8, head = (t->extents[2] + 1) * row;
    const int64_t strides[4] = {t->extents[1] * head, head, row, 2};
    test_tensor_lay(t, strides, 16);
}

// 1 when the problem is right, or has no place on this device.
static int run(struct test_opencl *opencl, size_t i)
{
    struct test_attention a;
    struct fcl_config config;
    char reason[256];
    test_attention_init(&a, rows[i].problem);
    int right = 1;
    if (fcl_config_parse(rows[i].config, &config, reason, sizeof reason) ||
        fcl_config_validate(&config, &a.problem, fcl_device_caps(opencl->device), reason,
                            sizeof reason)) {
        printf("left out: %s with %s: %s\n", rows[i].problem, rows[i].config, reason);
    } else {
        if (a.problem.strided) {
            spread(&a.q);
            spread(&a.k);
            spread(&a.v);
            spread(&a.o);
        }
        fcl_plan *plan = test_plan(opencl, &a.problem, rows[i].implementation, rows[i].config);
        const enum fcl_status status = test_attention_run(opencl, &a, plan);
        const struct fcl_comparison c =
            test_attention_compare(&a, rows[i].implementation == FCL_UNFUSED);
        right = status == FCL_OK && c.ratio <= 1.0;
        printf("%s: %s%s with %s: %s, ratio %.3f\n", right ? "right" : "WRONG", rows[i].problem,
               rows[i].implementation == FCL_UNFUSED ? " unfused" : "", rows[i].config,
               fcl_status_text(status), c.ratio);
        uint64_t random = 7; // wrong metadata: what is read outside of buffers is reported
        for (int n = 0; n < 3 && (a.problem.varlen || a.problem.used); n++) {
            test_sequences_scramble(&a, &random);
            right &= test_attention_run(opencl, &a, plan) == FCL_OK;
        }
        fcl_plan_destroy(&plan);
    }
    test_attention_free(&a);
    return right;
}

int main(int argument_count, char **arguments)
{
    const char *family = argument_count > 1 ? arguments[1] : "";
    struct test_opencl opencl;
    const struct fcl_device_options options = {.kernel_folder = getenv("FCL_TEST_KERNELS")};
    if (!test_opencl_open(&opencl, &options))
        return 77;
    printf("device: %s\n", fcl_device_caps(opencl.device)->name);
    size_t right = 0, count = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strncmp(rows[i].config, family, strlen(family))) {
            count++;
            right += (size_t)run(&opencl, i);
        }
    if (!*family) {
        char how[256] = "right";
        count++;
        right += !test_merges_notice(&opencl, how, sizeof how);
        printf("merges: %s\n", how);
    }
    test_opencl_close(&opencl);
    printf("%zu of %zu right\n", right, count);
    return count > 0 && right == count ? 0 : 1;
}
