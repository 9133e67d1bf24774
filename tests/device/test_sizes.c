// The budget of a configuration against the sizes that its kernel has once it is built.
#include "cmocka_all.h"

#include <stdio.h>

#include "kernels.h"

static const struct test_kernels_row rows[] = {
    {"fwd h2 q37 k45 d20/10 f16", "generic_m16n16w64r4d16p2"},
    {"fwd h2 q37 k45 d64", "generic_m32n32w64r8d64"},
    {"fwd h2 q37 k45 d48 bf16", "generic_m32n32w32r8d48h16"},
    {"fwd h2 q37 k45 d64", "vector_m64n64l16k4c4"},
    {"fwd h2 q37 k45 d20/40 f16", "vector_m16n32l8k4c3p2"},
    {"fwd h2 q37 k45 d512/16 bf16", "vector_m4n8l4k8c2"},
    {"fwd h2 q4 k45 d20/36 bf16", "row_m4n128l8k2c3"},
    {"fwd h2 q4 k45 d64", "row_m1n64l16k4c2"},
    {"fwd h2 q37 k45 d64 f16", "nvidia_mma_m128n64w128"},
    {"fwd h2 q37 k45 d80 bf16", "nvidia_mma_m16n32w32q1"},
};

static struct test_opencl opencl;
static struct test_kernels cases[FCL_COUNT(rows)];
static size_t case_count;

enum { LEFT, TILE, SCORES, OUT, SOFTMAX, ROWS, SIZES };

#define PADDING 64 // less than this, for alignment

static void demand(const struct test_kernels *k, const char *what, int64_t budget, int64_t kernel)
{
    if (kernel < budget || kernel >= budget + PADDING)
        fail_msg("%s: %s is %lld in the budget, %lld in the kernel", k->name, what,
                 (long long)budget, (long long)kernel);
}

// Out and scores are registers; what is in local memory, the driver tells.
static void check_generic(const struct test_kernels *k, const struct fcl_budget *b,
                          const int *sizes)
{
    demand(k, "accumulators", 4 * b->accumulators, sizes[OUT]);
    demand(k, "scores", 4 * b->scores, sizes[SCORES] - sizes[ROWS]);
    if (k->program.local_bytes)
        demand(k, "local_bytes", b->local_bytes, (int64_t)k->program.local_bytes);
}

// Probabilities are in the registers of scores, two in one.
static void check_mma(const struct test_kernels *k, const struct fcl_budget *b, const int *sizes)
{
    demand(k, "accumulators", 4 * b->accumulators, sizes[OUT]);
    demand(k, "scores", 4 * b->scores + 2 * b->scores, sizes[SCORES]);
}

// An empty tile is an int; a factor of each row is in out, a maximum in scores, two more numbers
// are in softmax.
static void check_private(const struct test_kernels *k, const struct fcl_budget *b,
                          const int *sizes)
{
    demand(k, "left_bytes", b->left_bytes, sizes[LEFT]);
    demand(k, "right_bytes", b->right_bytes ? b->right_bytes : (int64_t)sizeof(int), sizes[TILE]);
    demand(k, "scores_bytes", b->scores_bytes, sizes[SCORES] - sizes[ROWS]);
    demand(k, "out_bytes", b->out_bytes + sizes[ROWS], sizes[OUT]);
    demand(k, "row_bytes", b->row_bytes, sizes[SOFTMAX] + 2 * sizes[ROWS]);
}

static void budgets_are_what_kernels_declare(void **state)
{
    (void)state;
    for (size_t i = 0; i < case_count; i++) {
        const struct test_kernels *k = &cases[i];
        struct fcl_budget budget;
        int sizes[SIZES] = {0};
        const struct test_argument arguments[] = {{TEST_OUTPUT, sizes, sizeof sizes}, {0}};
        test_kernels_run(k, "test_sizes", 1, test_kernels_items(k), arguments);
        assert_int_equal(fcl_config_budget(&k->config, &k->problem, &budget, NULL, 0), FCL_OK);
        demand(k, "group_size", budget.group_size, (int64_t)test_kernels_items(k));
        if (k->config.family == FCL_FAMILY_GENERIC)
            check_generic(k, &budget, sizes);
        else if (k->config.family == FCL_FAMILY_NVIDIA_MMA)
            check_mma(k, &budget, sizes);
        else
            check_private(k, &budget, sizes);
    }
}

static int set_up(void **state)
{
    (void)state;
    case_count = test_kernels_build(cases, &opencl, rows, FCL_COUNT(rows), getenv("FCL_TEST_DATA"),
                                    "device/sizes.cl");
    return case_count == 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_kernels_free(cases, case_count);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(budgets_are_what_kernels_declare)};
    if (!getenv("FCL_TEST_DATA")) {
        fprintf(stderr, "FCL_TEST_DATA is not set: the folder of all tests\n");
        return 2;
    }
    if (!test_opencl_open(&opencl, NULL))
        return 77;
    const int failed = cmocka_run_group_tests_name("sizes", tests, set_up, tear_down);
    test_opencl_close(&opencl);
    return failed;
}
