// The search space: validity with reasons, defaults for every kind of device and head dim,
// enumeration.
#include "cmocka_all.h"

#include <stdio.h>

#include "attention/problem.h"
#include "attention/space.h"
#include "choices.h"
#include "devices.h"

// Every device gets a default for every head dim, and the default is valid.
static void every_device_has_a_default(void **state)
{
    (void)state;
    static const int dims[] = {1, 5, 40, 64, 72, 80, 100, 128, 192, 256, 320, 512, 576, 1021, 1024};
    const struct fcl_caps devices[] = {
        test_cpu(16),          test_cpu(8),          test_cpu(4),          test_cpu(1),
        test_gpu(49152, 1024), test_gpu(32768, 256), test_gpu(16384, 128), test_gpu(32768, 64),
        test_gpu(8192, 16),    test_gpu(6144, 8)};
    for (size_t n = 0; n < sizeof devices / sizeof *devices; n++)
        for (size_t d = 0; d < sizeof dims / sizeof *dims; d++) {
            char text[64], reason[256] = "";
            struct fcl_config config;
            snprintf(text, sizeof text, "fwd h8 q1000 d%d f16 causal-br", dims[d]);
            const struct fcl_problem problem = test_problem(text);
            if (fcl_config_default(&problem, &devices[n], &config, reason, sizeof reason))
                fail_msg("device %d, %s: %s", (int)n, text, reason);
            assert_int_equal(
                fcl_config_validate(&config, &problem, &devices[n], reason, sizeof reason), FCL_OK);
            assert_int_equal(config.family,
                             devices[n].cpu ? FCL_FAMILY_VECTOR : FCL_FAMILY_GENERIC);
            assert_true(fcl_config_local_bytes(&config, &problem) <= devices[n].local_bytes);
            assert_true(fcl_config_group_size(&config) <= devices[n].group_size);
        }
}

// Large shapes are for GPUs that have room for two of their groups; chunks of K divide the head
// dim.
static void defaults_grow_with_local_memory(void **state)
{
    (void)state;
    static const struct {
        const char *problem;
        uint64_t local_bytes;
        const char *config;
    } rows[] = {
        {"fwd h8 q1000 d64 f16", 232447, "generic_m128n64w128r8d64"},
        {"fwd h8 q1000 d128 f16", 232447, "generic_m64n64w128r8d128h32"},
        {"fwd h8 q1000 d72 f16", 232447, "generic_m128n64w128r8d72"},
        {"fwd h8 q1000 d96 f16", 232447, "generic_m128n64w128r8d96h32"},
        {"fwd h8 q1000 d64 f16", 2 * 89088, "generic_m128n64w128r8d64h32"},
        {"fwd h8 q1000 d64 f16", 2 * 89088 - 1, "generic_m64n64w128r8d64h32"},
        {"fwd h8 q1000 d64 f16", 65536, "generic_m64n32w128r8d64h32"},
        {"fwd h8 q1000 d37 f16", 49152, "generic_m64n32w128r8d37"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct fcl_problem problem = test_problem(rows[i].problem);
        const struct fcl_caps gpu = test_gpu(rows[i].local_bytes, 1024);
        struct fcl_config config;
        char text[128];
        assert_int_equal(fcl_config_default(&problem, &gpu, &config, NULL, 0), FCL_OK);
        config.splits = 1; // may be more on few heads
        fcl_config_format(&config, text, sizeof text);
        assert_string_equal(text, rows[i].config);
    }
}

// Few queries: heads that share a key head become rows of one block, blocks are no larger than the
// rows there are, and where heads are too few for the device, keys are split.
static void few_queries_are_packed_and_split(void **state)
{
    (void)state;
    struct fcl_caps nvidia = test_gpu(232447, 1024);
    nvidia.nvidia_capability = 90;
    nvidia.compute_units = 132;
    const struct fcl_caps wide = test_cpu(16), narrow = test_cpu(8), gpu = test_gpu(49152, 256),
                          small = test_gpu(16384, 128);
    const struct {
        const char *problem;
        const struct fcl_caps *caps; // CPUs have 8 compute units, GPUs 40 or 132
        const char *config;
    } rows[] = {
        {"fwd h6/2 q1 k4096 d64", &wide, "row_m3n256l16k1c4g1s8"},
        {"fwd b16 h6/2 q1 k4096 d64", &wide, "row_m3n256l16k1c4g1"},
        {"fwd h7/7 q3 k4096 d64", &wide, "row_m3n256l16k1c4s4"},
        {"fwd h12/1 q1 k4096 d64", &wide, "vector_m16n64l16k8c8g1s8"},
        {"fwd h20/1 q1 k4096 d64", &wide, "vector_m32n64l16k8c8g1s8"},
        {"fwd h28/4 q5 k4096 d64", &wide, "vector_m48n64l16k4c4g1s4"},
        {"fwd h48/2 q5 k4096 d64", &wide, "vector_m64n64l16k4c4g1s4"},
        {"fwd h6/2 q16 k4096 d64", &wide, "vector_m16n64l16k8c8s4"},
        {"fwd h5/1 q1 k4096 d128", &wide, "row_m5n256l16k1c4g1s8"},
        {"fwd h5/1 q1 k4096 d128", &narrow, "row_m5n256l8k1c2g1s8"},
        {"fwd h2/2 q1 k4096 d128/72", &narrow, "row_m1n256l8k1c8s8"},
        {"fwd h12/1 q1 k4096 d64", &narrow, "vector_m16n64l8k4c4g1s8"},
        {"fwd h6/2 q1 k4096 d64", &gpu, "generic_m16n64w64r4d64h32g1s32"},
        {"fwd h6/2 q1 k600 d64", &gpu, "generic_m16n64w64r4d64h32g1s4"},
        {"fwd h48/2 q2 k4096 d64", &gpu, "generic_m64n32w128r8d64h32g1s8"},
        {"fwd h7/7 q16 k4096 d64", &gpu, "generic_m16n64w64r4d64h32s11"},
        {"fwd h6/2 q1 k4096 d576/512", &gpu, "generic_m16n32w64r4d32g1s40"},
        {"fwd h6/2 q1 k4096 d64", &small, "generic_m16n32w64r4d32g1s40"},
        {"fwd h6/2 q5 k4096 d64 f16", &nvidia, "nvidia_mma_m16n64w32t2g1s32"},
        {"fwd h20/1 q1 k65536 d64 f16", &nvidia, "nvidia_mma_m64n64w128t2g1s128"},
        {"lse h6/2 q1 k4096 d64", &wide, "row_m3n256l16k1c4g1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct fcl_problem problem = test_problem(rows[i].problem);
        struct fcl_config config;
        assert_int_equal(fcl_config_default(&problem, rows[i].caps, &config, NULL, 0), FCL_OK);
        test_is_config(&config, rows[i].config, rows[i].problem);
    }
}

// A device that nothing fits says which number is too small.
static void hopeless_devices_are_refused_with_a_reason(void **state)
{
    (void)state;
    const struct fcl_problem problem = test_problem("fwd q16 d64");
    const struct fcl_caps tiny = test_gpu(512, 1024), narrow = test_gpu(49152, 4);
    struct fcl_config config;
    char reason[256] = "";
    assert_int_equal(fcl_config_default(&problem, &tiny, &config, reason, sizeof reason),
                     FCL_UNSUPPORTED);
    assert_non_null(strstr(reason, "512"));
    assert_int_equal(fcl_config_default(&problem, &narrow, &config, reason, sizeof reason),
                     FCL_UNSUPPORTED);
    assert_non_null(strstr(reason, "the device allows 4"));
}

static void bad_configurations_are_refused_with_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *config, *words;
    } rows[] = {
        {"generic_m30n32w60r4d16", "block_m 30"},
        {"generic_m32n32w64r6d16", "item_rows 6"},
        {"generic_m32n32w44r4d16", "items 44"},
        {"generic_m32n30w64r4d16", "block_n 30"},
        {"generic_m32n32w64r4d65", "d_chunk 65"},
        {"generic_m32n32w64r4d64h24", "k_chunk 24"},
        {"generic_m32n32w64r4d32h16", "k_chunk 16"},
        {"generic_m32n32w64r4d16p65", "dv_split 65"},
        {"generic_m32n32w64r4d16x3", "visit 3"},
        {"generic_m1024n1024w1024r4d64", "floats in an item's register tiles"},
        {"generic_m64n64w256r8d64", "bytes of local memory needed"},
        {"vector_m16n64l16k4c4", "for CPU devices"},
    };
    const struct fcl_problem problem = test_problem("fwd q128 d64");
    const struct fcl_caps gpu = test_gpu(49152, 1024);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char reason[256] = "";
        const struct fcl_config config = test_config(rows[i].config);
        assert_int_equal(fcl_config_validate(&config, &problem, &gpu, reason, sizeof reason),
                         FCL_UNSUPPORTED);
        if (!strstr(reason, rows[i].words))
            fail_msg("%s: %s", rows[i].config, reason);
    }
    static const struct {
        const char *config, *words;
    } vector_rows[] = {
        {"vector_m16n64l5k4c4", "width 5"},     {"vector_m32n64l16k4c4", "width 16 is above"},
        {"vector_m12n64l8k4c4", "block_m 12"},  {"vector_m8n62l8k4c4", "block_n 62"},
        {"vector_m32n64l8k8c4", "would spill"}, {"vector_m8n64l8k4c0", "micro_cols 0"},
    };
    const struct fcl_caps cpu = test_cpu(8);
    for (size_t i = 0; i < sizeof vector_rows / sizeof *vector_rows; i++) {
        char reason[256] = "";
        struct fcl_config config = {0};
        if (fcl_config_parse(vector_rows[i].config, &config, reason, sizeof reason))
            continue; // the parser has refused it already
        assert_int_equal(fcl_config_validate(&config, &problem, &cpu, reason, sizeof reason),
                         FCL_UNSUPPORTED);
        if (!strstr(reason, vector_rows[i].words))
            fail_msg("%s: %s", vector_rows[i].config, reason);
    }
}

// Numbers whose products overflow are refused before they are multiplied; nonsense needs no local
// memory.
static void absurd_numbers_are_refused(void **state)
{
    (void)state;
    static const char *const configs[] = {"vector_m64n64l16k4c1073741824",
                                          "vector_m64n64l16k4c536870912",
                                          "vector_m2147483647n64l16k4c4",
                                          "generic_m2147483644n32w2147483644r4d16",
                                          "generic_m4n4w1r8d1",
                                          "row_m4n64l16k1073741824c4",
                                          "vector_m64n64l16k4c4s2000000000",
                                          "generic_m16n16w64r2147483644d16"};
    const struct fcl_problem problem = test_problem("fwd q128 d64");
    const struct fcl_caps cpu = test_cpu(16);
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        const struct fcl_config config = test_config(configs[i]);
        if (!fcl_config_validate(&config, &problem, &cpu, NULL, 0))
            fail_msg("%s is taken for valid", configs[i]);
        fcl_config_local_bytes(&config, &problem);
    }
    assert_int_equal(fcl_config_validate(NULL, &problem, &cpu, NULL, 0), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_config_local_bytes(NULL, &problem), 0);
}

// The layout's arrays follow each other without overlap and start at multiples of 16 bytes.
static void local_layout_has_room_for_everything(void **state)
{
    (void)state;
    const struct fcl_problem problem = test_problem("fwd q128 d80/48");
    const struct fcl_config config = test_config("generic_m32n16w128r4d32p2");
    const struct fcl_local_layout l = fcl_local_layout(&config, &problem);
    assert_int_equal(l.right, 32 * (32 + 4));
    const int keys = 32 * (16 + 4), columns = 16 * 2,
              values = 16 * columns; // 24 columns over 16 groups
    assert_int_equal(l.right_floats, keys > values ? keys : values);
    assert_int_equal(l.scores - l.right, 2 * l.right_floats);
    assert_int_equal(l.value_keys, 16);
    assert_int_equal(l.parts - l.scores, 16 * (32 + 4));
    assert_int_equal(l.total - l.parts, 16 * 32);
    assert_int_equal(l.right % 4 | l.scores % 4 | l.parts % 4 | l.total % 4, 0);
    const struct fcl_config vector = test_config("vector_m16n64l16k4c4");
    assert_int_equal(fcl_config_local_bytes(&vector, &problem), 0);
}

struct tally {
    size_t valid, pruned, silent, twice;
    struct fcl_config seen[8192];
    size_t count;
};

static int count_config(void *user, const struct fcl_config *config, enum fcl_status status,
                        const char *reason)
{
    struct tally *tally = user;
    tally->valid += status == FCL_OK;
    tally->pruned += status != FCL_OK;
    tally->silent += status != FCL_OK && !reason[0];
    for (size_t i = 0; i < tally->count; i++)
        tally->twice += !memcmp(&tally->seen[i], config, sizeof *config);
    if (tally->count < sizeof tally->seen / sizeof *tally->seen)
        tally->seen[tally->count++] = *config;
    return 0;
}

// No point twice, every pruned one with a reason, the default among the valid ones.
static void space_is_enumerated(void **state)
{
    (void)state;
    static struct tally tally;
    static const char *const problems[] = {"fwd q1024 h8 d64", "fwd q1024 h8 d16",
                                           "fwd q64 h8 d192/128 f16", "fwd q1 h8/2 d64"};
    const struct fcl_caps devices[] = {test_gpu(49152, 256), test_cpu(16)};
    for (size_t n = 0; n < 2; n++)
        for (size_t i = 0; i < 4; i++) {
            memset(&tally, 0, sizeof tally);
            const struct fcl_problem problem = test_problem(problems[i]);
            const size_t valid = fcl_config_space(&problem, &devices[n], count_config, &tally);
            assert_int_equal(valid, tally.valid);
            assert_true(valid > 20);
            assert_true(tally.pruned > 0);
            assert_int_equal(tally.silent, 0);
            assert_int_equal(tally.twice, 0);
        }
}

static int stop_at_once(void *user, const struct fcl_config *config, enum fcl_status status,
                        const char *reason)
{
    (void)config, (void)status, (void)reason;
    ++*(int *)user;
    return 1;
}

static void enumeration_can_be_stopped(void **state)
{
    (void)state;
    int visits = 0;
    const struct fcl_problem problem = test_problem("fwd q64 d64");
    const struct fcl_caps cpu = test_cpu(8);
    fcl_config_space(&problem, &cpu, stop_at_once, &visits);
    assert_int_equal(visits, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_device_has_a_default),
        cmocka_unit_test(defaults_grow_with_local_memory),
        cmocka_unit_test(few_queries_are_packed_and_split),
        cmocka_unit_test(hopeless_devices_are_refused_with_a_reason),
        cmocka_unit_test(bad_configurations_are_refused_with_a_reason),
        cmocka_unit_test(absurd_numbers_are_refused),
        cmocka_unit_test(local_layout_has_room_for_everything),
        cmocka_unit_test(space_is_enumerated),
        cmocka_unit_test(enumeration_can_be_stopped),
    };
    return cmocka_run_group_tests_name("space", tests, NULL, NULL);
}
