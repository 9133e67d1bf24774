// Planted faults: each file of tests/faults patches a copy of the kernels, and a compact set of
// problems must then go wrong in a way that the library or the comparison notices. The copy as it
// is must pass them all. With --apply it only patches, for the checks of oclgrind.sh. An emulated
// NVIDIA GPU has problems and faults of its own, some of which would hang a real one.
#include "cmocka_all.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>

#include "attention.h"
#include "attention/plan.h"
#include "attention/problem.h"
#include "faults.h"
#include "merge.h"
#include "sequences.h"

#define FAULTS_LIMIT 200

static const struct row {
    const char *problem, *config; // config NULL: the vector tile at the device's width
    enum fcl_implementation implementation;
} rows[] = {
    {"fwd b2 h4/2 q37 k45 d20/22 f32 causal-br lse guard-v", NULL, FCL_FUSED},
    {"fwd h2 q45 k21 d20/22 f32 causal-br lse guard-v", NULL, FCL_FUSED},
    {"fwd q37 k70 d20/22 f32 causal-tl lse guard-v", NULL, FCL_FUSED},
    {"fwd b2 h4/2 q37 k45 d20/24 f32 causal-br lse guard-v", "generic_m16n16w64r4d16", FCL_FUSED},
    {"fwd h2 q45 k21 d20/24 f32 causal-br lse guard-v", "generic_m16n16w64r4d16", FCL_FUSED},
    {"fwd q37 k70 d20/24 f32 causal-tl lse guard-v", "generic_m16n16w64r4d16", FCL_FUSED},
    {"fwd q5 k1 d20/12 q:f32 k:f32 v:f32 o:bf16 none", "generic_m16n16w64r4d16", FCL_FUSED},
    {"fwd q5 k1 d20/12 q:f32 k:f32 v:f32 o:f16 none", "generic_m16n16w64r4d16", FCL_FUSED},
    {"fwd b2 h4/2 q6 k70 d20/12 f32 causal-br lse guard-v", "row_m4n16l8k2c2g1s3", FCL_FUSED},
    {"fwd b2 h4/2 q9 k45 d20/12 f32 causal-tl lse guard-v", "generic_m16n16w64r4d16g1s3",
     FCL_FUSED},
    {"fwd h2 q40 k21 d20/12 f16 none strided", NULL, FCL_FUSED},
    {"fwd b2 h2 q21 k21 d20/12 f16 none strided", "generic_m16n16w16r4d20p2", FCL_FUSED},
    {"fwd q37 k45 d24/20 f16 causal-br lse", "generic_m16n16w32r8d24h8", FCL_FUSED},
    {"fwd h2 q37 k70 d20/12 f32 causal-br softcap=3 lse", NULL, FCL_FUSED},
    {"fwd h2 q37 k70 d20/12 f32 causal-br softcap=3 lse", "generic_m16n16w64r4d16", FCL_FUSED},
    {"fwd b2 h4/2 q6 k70 d20/12 f32 causal-br sink lse", "row_m4n16l8k2c2g1s3", FCL_FUSED},
    {"fwd b2 h6/2 q37 k45 d20/22 f32 br alibi lse", NULL, FCL_FUSED},
    {"fwd b2 h6/2 q6 k70 d20/12 f32 causal-br alibi lse", "row_m4n16l8k2c2g1s3", FCL_FUSED},
    {"fwd b2 h4/2 q37 k45 d20/22 f32 softcap=3 bias=f32 lse", NULL, FCL_FUSED},
    {"fwd b2 h4/2 q6 k70 d20/12 f32 bias=f16 lse", "row_m4n16l8k2c2g1s3", FCL_FUSED},
    {"fwd b2 h4/2 q37 k45 d20/24 f32 bias=f32 lse", "generic_m16n16w64r4d16", FCL_FUSED},
    {"fwd b2 h4/2 q37 k133 d20/22 f32 mask=u8 lse", NULL, FCL_FUSED},
    {"fwd b2 h4/2 q6 k170 d20/12 f32 mask=u8 lse", "row_m4n16l8k2c2g1s3", FCL_FUSED},
    {"fwd b2 h4/2 q37 k133 d20/24 f32 mask=u8 lse", "generic_m16n16w64r4d16", FCL_FUSED},
    {"fwd h2 q70 k130 d20/12 f32 br win=9,4 lse guard-v", NULL, FCL_FUSED},
    {"fwd h2 q45 k80 d20/12 f32 br win=40,4 lse guard-v", "generic_m16n16w64r4d16", FCL_FUSED},
    {"fwd h2 q6 k170 d20/12 f32 br win=100,4 lse guard-v", "generic_m16n16w64r4d16g1s3", FCL_FUSED},
    {"fwd b3 h4/2 q19 k45 d20/12 f32 causal-br varlen lse", NULL, FCL_FUSED},
    {"fwd b3 h4/2 q6 k70 d20/12 f32 causal-br varlen lse", "row_m4n16l8k2c2g1s3", FCL_FUSED},
    {"fwd b3 h4/2 q19 k70 d20/12 f32 causal-br page=8 lse", NULL, FCL_FUSED},
    {"fwd b3 h4/2 q19 k70 d20/12 f32 causal-br page=8 lse", "generic_m16n16w64r4d16", FCL_FUSED},
    {"fwd b3 h4/2 q6 k70 d20/12 f32 causal-br page=8 lse", "row_m4n16l8k2c2g1s3", FCL_FUSED},
    {"fwd q45 k21 d20/24 f32 causal-br lse", NULL, FCL_UNFUSED},
    {"fwd q37 k45 d20/24 f32 causal-br lse", "generic_m16n16w64r4d16", FCL_UNFUSED},
};

static const struct row nvidia_rows[] = {
    {"fwd b2 h4/2 q70 k133 d128 f16 causal-br lse", "nvidia_mma_m128n64w128", FCL_FUSED},
    {"fwd h4 q333 k150 d128 bf16 causal-br lse", "nvidia_mma_m128n64w128", FCL_FUSED},
    {"fwd b2 h2 q70 k133 d24/40 bf16 lse", "nvidia_mma_m32n32w32t2", FCL_FUSED},
    {"fwd b2 h6/2 q5 k300 d64 f16 causal-br lse", "nvidia_mma_m16n32w32g1s4", FCL_FUSED},
    {"fwd b2 h4/2 q70 k133 d64 bf16 causal-br lse", "nvidia_mma_m64n32w128t3", FCL_FUSED},
    {"fwd b2 h2 q150 k200 d64 f16 causal-br lse", "nvidia_wgmma_m128n64w384t2a1", FCL_FUSED},
    {"fwd b30 h2 q150 k200 d256 f16 causal-br lse", "nvidia_wgmma_m128n64w384t2a2", FCL_FUSED},
    {"fwd b2 h2 q170 k97 d40/72 bf16 lse", "nvidia_wgmma_m192n64w512t3a1", FCL_FUSED},
    {"fwd h2 q150 k200 d64 f16 causal-tl", "nvidia_wgmma_m192n64w512t2", FCL_FUSED},
};

static struct test_opencl opencl;
static const char *kernel_folder;
static int is_emulated;

// The rows of the device, as many; NULL behind the last.
static const struct row *row_at(size_t i)
{
    if (is_emulated)
        return i < sizeof nvidia_rows / sizeof *nvidia_rows ? &nvidia_rows[i] : NULL;
    return i < sizeof rows / sizeof *rows ? &rows[i] : NULL;
}

// ---- one problem

// Every second element, rows and heads apart, not from the first element on.
static void spread(struct test_tensor *t)
{
    const int64_t row = 2 * t->extents[3] + 8, head = (t->extents[2] + 1) * row;
    const int64_t strides[4] = {t->extents[1] * head, head, row, 2};
    test_tensor_lay(t, strides, 16);
}

// Rows apart, keys too where their count is odd; the lowest numbers in one row.
static void prepare_bias(struct test_tensor *bias)
{
    const int64_t col = bias->extents[3] % 2 ? 2 : 1, row = col * bias->extents[3] + 3;
    const int64_t head = bias->extents[2] * row;
    const int64_t strides[4] = {bias->extents[1] * head, head, row, col};
    for (int64_t j = 0; j < bias->extents[3] && bias->dtype == FCL_F32; j++)
        test_tensor_set(bias, 0, 0, 1, j, -3.402823466e38f);
    test_tensor_lay(bias, strides, 8);
}

static int has_sequences(const struct fcl_problem *problem)
{
    return problem->varlen || problem->used;
}

// What no sequence has is NaN. Of a table, rows lie further apart than they are long, and three
// pages are outside of the pool: in place of page 0, too, which then is all NaN.
static void prepare_sequences(struct test_attention *a)
{
    struct fcl_sequences *s = &a->sequences;
    const int64_t batch = a->problem.batch, stride = s->table_entries + 1;
    int32_t *table = calloc((size_t)(batch * stride), sizeof *table);
    assert_non_null(table);
    for (int64_t i = 0; s->table && i < batch * s->table_entries; i++)
        table[i / s->table_entries * stride + i % s->table_entries] =
            s->table[i] ? s->table[i] : -1;
    if (s->table) {
        table[1] = (int32_t)s->page_count;
        table[stride] = -1;
        s->table_stride = stride;
        free(s->table);
        s->table = table;
    } else {
        free(table);
    }
    test_sequences_spoil(a);
}

// Layout and values that the problem's features are about: a query that is NaN, with guard_v a
// value that is NaN and hidden from most rows, and where every row sees the last value an infinite
// one, which copies of it would turn into NaN.
static void prepare(struct test_attention *a, const char *problem)
{
    test_attention_init(a, problem);
    const struct fcl_problem *p = &a->problem;
    test_tensor_set(&a->q, 0, 0, p->q_len - 1, 3, NAN);
    if (has_sequences(p))
        prepare_sequences(a);
    else if (p->guard_v)
        test_tensor_set(&a->v, 0, 0, p->k_len - 1, 5, NAN);
    else if (p->mask == FCL_MASK_NONE && !p->bias && !p->visible && p->k_len > 1)
        test_tensor_set(&a->v, 0, 0, p->k_len - 1, 5, INFINITY);
    if (p->bias)
        prepare_bias(&a->bias);
    if (p->strided) {
        spread(&a->q);
        spread(&a->k);
        spread(&a->v);
        spread(&a->o);
    }
}

// With a single key the output is that key's value, rounded once: 0 unless it is exactly that.
static int is_copy(const struct test_attention *a)
{
    const struct fcl_problem *p = &a->problem;
    for (int64_t i = 0; i + 1 < p->q_len; i++)
        for (int64_t d = 0; d < p->head_dim_v; d++) {
            const float value = test_tensor_get(&a->v, 0, 0, 0, d);
            float rounded;
            fcl_element_store(&rounded, p->dtype_o, 0, value);
            rounded = fcl_element_load(&rounded, p->dtype_o, 0);
            if (test_tensor_get(&a->o, 0, 0, i, d) != rounded)
                return 0;
        }
    return 1;
}

// 1 and how it was noticed that the results are not right.
static int judge(struct test_attention *a, const struct row *row, const fcl_plan *plan, char *how,
                 size_t size)
{
    int outside;
    const enum fcl_status status = test_attention_try(&opencl, a, plan, &outside);
    if (is_emulated && status) { // so does a hang end there
        snprintf(how, size, "%s", fcl_status_text(status));
        return 1;
    }
    assert_int_equal(status, FCL_OK);
    const struct fcl_comparison c = test_attention_compare(a, row->implementation == FCL_UNFUSED);
    *how = 0;
    if (outside)
        snprintf(how, size, "a guard band was touched");
    else if (!(c.ratio <= 1.0))
        snprintf(how, size, "%.3g of the tolerance", c.ratio);
    else if (a->problem.k_len == 1 && !is_copy(a))
        snprintf(how, size, "one key's value is not rounded to the nearest");
    return *how != 0;
}

// The row's configuration; 0 where the device does not allow it.
static int configure(const struct row *row, const struct fcl_problem *problem,
                     struct fcl_config *config)
{
    const struct fcl_caps *caps = fcl_device_caps(opencl.device);
    const int lanes = caps->float_width >= 16 ? 16 : caps->float_width >= 8 ? 8 : 4;
    char text[96], reason[256];
    snprintf(text, sizeof text, "vector_m%dn32l%dk4c4", 2 * lanes, lanes);
    assert_int_equal(
        fcl_config_parse(row->config ? row->config : text, config, reason, sizeof reason), FCL_OK);
    return fcl_config_validate(config, problem, caps, reason, sizeof reason) == FCL_OK;
}

// Runs a row with the device's kernels: 1 and how where something was noticed.
static int notices(const struct row *row, char *how, size_t size)
{
    struct test_attention a;
    struct fcl_config config;
    fcl_plan *plan = NULL;
    int noticed = 0;
    prepare(&a, row->problem);
    if (configure(row, &a.problem, &config)) {
        struct fcl_problem full;
        const struct fcl_choice choice = {config, "explicit"};
        assert_int_equal(fcl_problem_complete(&a.problem, &full, NULL, 0), FCL_OK);
        const enum fcl_status status =
            fcl_plan_build(opencl.device, &full, row->implementation, &choice, 1, &plan);
        if (status == FCL_OK) {
            const int launches = is_emulated ? 4 : 1; // there, each is timed another way
            for (int i = 0; i < launches && !noticed; i++)
                noticed = judge(&a, row, plan, how, size);
        } else {
            assert_true(status == FCL_WRONG_RESULT || status == FCL_BUILD_FAILED || is_emulated);
            noticed = 1;
            snprintf(how, size, "the library's self-check: %s", fcl_status_text(status));
        }
        fcl_plan_destroy(&plan);
    }
    test_attention_free(&a);
    return noticed;
}

// ---- tests

// A fresh copy of the kernels, which the device then reads.
static void use_copy(char folder[TEST_PATH_SIZE])
{
    struct fcl_device_options options = {.kernel_folder = folder};
    test_folder_create(folder);
    test_kernel_folder_copy(kernel_folder, folder);
    memset(&opencl.capture, 0, sizeof opencl.capture);
    test_opencl_reopen(&opencl, &options);
}

static void right_kernels_pass(void **state)
{
    char folder[TEST_PATH_SIZE], how[256];
    (void)state;
    use_copy(folder);
    for (size_t i = 0; row_at(i); i++)
        if (notices(row_at(i), how, sizeof how))
            fail_msg("%s: %s\n%s", row_at(i)->problem, how, opencl.capture.text);
    if (test_merges_notice(&opencl, how, sizeof how))
        fail_msg("merge: %s\n%s", how, opencl.capture.text);
    test_folder_remove(folder);
}

// Whether a row runs any of the text that the fault changes.
static int concerns(const struct test_fault *fault, const struct row *row)
{
    if (is_emulated)
        return !strstr(fault->name, "wgmma") == !strstr(row->config, "wgmma");
    if (!strcmp(fault->file, "tile/generic.clh"))
        return row->config != NULL;
    if (!strcmp(fault->file, "tile/vector.clh"))
        return row->config == NULL;
    if (!strcmp(fault->file, "lib/alibi.clh"))
        return strstr(row->problem, "alibi") != NULL;
    if (!strcmp(fault->file, "lib/terms.clh"))
        return strstr(row->problem, "bias") || strstr(row->problem, "mask");
    if (!strcmp(fault->file, "attention/unfused.cl"))
        return row->implementation == FCL_UNFUSED;
    if (!strcmp(fault->file, "lib/sequence.clh"))
        return strstr(row->problem, "varlen") || strstr(row->problem, "page");
    return strcmp(fault->file, "attention/forward.cl") || row->implementation == FCL_FUSED;
}

// Which row noticed the fault, and how; NULL: none.
static const struct row *find_noticing(const struct test_fault *fault, int *tried, char *how,
                                       size_t size)
{
    *tried = 0;
    const struct row *row;
    for (size_t i = 0; (row = row_at(i)); i++) {
        struct fcl_problem problem;
        struct fcl_config config;
        assert_int_equal(fcl_problem_parse(row->problem, &problem, NULL, 0), FCL_OK);
        if (!concerns(fault, row) || !configure(row, &problem, &config))
            continue;
        (*tried)++;
        if (notices(row, how, size))
            return row;
    }
    return NULL;
}

// The same for what merges run.
static const struct row *find_in_merges(int *tried, char *how, size_t size)
{
    static const struct row merges = {"merges", "-", FCL_FUSED};
    (*tried)++;
    return test_merges_notice(&opencl, how, size) ? &merges : NULL;
}

static void the_fault_is_noticed(void **state)
{
    struct test_fault fault;
    char folder[TEST_PATH_SIZE], reason[TEST_PATH_SIZE + 128], how[256];
    int tried = 0;
    if (!test_fault_read(*state, &fault, reason, sizeof reason))
        fail_msg("%s", reason);
    use_copy(folder);
    if (!test_fault_apply(&fault, folder, reason, sizeof reason))
        fail_msg("%s", reason);
    const int is_check = fault.detector == TEST_FAULT_CHECK;
    const struct row *row = NULL;
    if (is_check && strcmp(fault.file, "attention/merge.cl"))
        row = find_noticing(&fault, &tried, how, sizeof how);
    if (is_check && !row && !is_emulated)
        row = find_in_merges(&tried, how, sizeof how);
    test_folder_remove(folder);
    if (!is_check)
        print_message("%s: left to the simulator's checks\n", fault.name);
    else if (row)
        print_message("%s: noticed with %s%s: %s\n", fault.name, row->problem,
                      row->config ? "" : ", vector tile", how);
    else if (tried)
        fail_msg("%s (%s) was not noticed by any of %d problems", fault.name, fault.why, tried);
    else
        print_message("%s: this device runs no such kernel\n", fault.name);
    const int skipped = !row && is_check;
    test_fault_free(&fault);
    if (skipped)
        skip();
}

// ---- the list of faults

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// Paths of the fault files, in order; they live until the program ends.
static size_t list_faults(const char *folder, char *paths[FAULTS_LIMIT])
{
    size_t count = 0;
    DIR *stream = opendir(folder);
    for (const struct dirent *found = stream ? readdir(stream) : NULL; found;
         found = readdir(stream)) {
        const size_t length = strlen(found->d_name);
        if (length < 6 || strcmp(found->d_name + length - 6, ".fault"))
            continue;
        if (count == FAULTS_LIMIT || !(paths[count] = malloc(TEST_PATH_SIZE)))
            break;
        test_path(paths[count++], folder, found->d_name);
    }
    if (stream)
        closedir(stream);
    qsort(paths, count, sizeof *paths, by_name);
    return count;
}

static int apply(const char *path, const char *kernels, const char *folder)
{
    struct test_fault fault;
    char reason[TEST_PATH_SIZE + 128];
    test_kernel_folder_copy(kernels, folder);
    const int good = test_fault_read(path, &fault, reason, sizeof reason) &&
                     test_fault_apply(&fault, folder, reason, sizeof reason);
    if (!good)
        fprintf(stderr, "%s\n", reason);
    test_fault_free(&fault);
    return good ? 0 : 1;
}

int main(int count, char **arguments)
{
    struct CMUnitTest tests[1 + FAULTS_LIMIT] = {cmocka_unit_test(right_kernels_pass)};
    char *paths[FAULTS_LIMIT], folder[TEST_PATH_SIZE];
    if (count == 5 && !strcmp(arguments[1], "--apply"))
        return apply(arguments[2], arguments[3], arguments[4]);
    kernel_folder = getenv("FCL_TEST_KERNELS");
    if (count != 1 || !kernel_folder || !getenv("FCL_TEST_DATA")) {
        fprintf(stderr,
                "usage: FCL_TEST_KERNELS=FOLDER FCL_TEST_DATA=FOLDER_OF_TESTS %s\n"
                "       %s --apply FAULT KERNELS FOLDER\n",
                arguments[0], arguments[0]);
        return 2;
    }
    if (!test_opencl_open(&opencl, NULL))
        return 77;
    is_emulated = !strcmp(fcl_device_caps(opencl.device)->platform, "Emulated");
    test_path(folder, getenv("FCL_TEST_DATA"), is_emulated ? "faults/nvidia" : "faults");
    const size_t faults = list_faults(folder, paths);
    if (faults < 10) {
        fprintf(stderr, "%s holds %zu faults, expected are 10 or more\n", folder, faults);
        return 1;
    }
    for (size_t i = 0; i < faults; i++)
        tests[1 + i] = (struct CMUnitTest){strrchr(paths[i], '/') + 1, the_fault_is_noticed, NULL,
                                           NULL, paths[i]};
    const int failed = cmocka_run_group_tests_name("faults", tests, NULL, NULL);
    for (size_t i = 0; i < faults; i++)
        free(paths[i]);
    test_opencl_close(&opencl);
    return failed;
}
