// A user's kernel on a real device: each kind of failure is found and told, the right point wins,
// nothing enters the cache.
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "files.h"
#include "opencl.h"
#include "spaces.h"

#define COUNT 1001

struct fixture {
    struct test_opencl opencl;
    char folder[TEST_PATH_SIZE];
    char *source;
    fcl_space *space;
    struct fcl_kernel_argument arguments[4];
    struct fcl_kernel_reference reference;
    struct fcl_kernel_spec spec;
};

static const char *const faulty_parameters[] = {
    "FAULT", "none,wrong,build,before,behind,unwritten,input", "LANES", "1,4", "LOCAL", "8,1048576",
    NULL};

static const struct fcl_kernel_argument faulty_arguments[] = {
    {.name = "y",
     .kind = FCL_KERNEL_VECTOR,
     .type = {FCL_SCALAR_FLOAT, 0},
     .count = "1001",
     .access = FCL_KERNEL_WRITE},
    {.name = "x",
     .kind = FCL_KERNEL_VECTOR,
     .type = {FCL_SCALAR_FLOAT, 0},
     .count = "1001",
     .fill = FCL_KERNEL_RANDOM,
     .low = 1,
     .high = 2,
     .seed = 5},
    {.name = "count", .kind = FCL_KERNEL_SCALAR, .type = {FCL_SCALAR_INT32, 0}, .value = "1001"},
    {.name = "factor", .kind = FCL_KERNEL_SCALAR, .type = {FCL_SCALAR_FLOAT, 0}, .value = "3"}};

static char *read_source(void)
{
    char path[TEST_PATH_SIZE], folder[TEST_PATH_SIZE];
    size_t size;
    assert_non_null(getenv("FCL_TEST_DATA"));
    test_path(folder, getenv("FCL_TEST_DATA"), "data");
    test_path(path, folder, "faulty.cl");
    unsigned char *bytes = test_file_read(path, &size);
    char *text = realloc(bytes, size + 1);
    assert_non_null(text);
    text[size] = 0;
    return text;
}

static int set_up(void **state)
{
    static struct fixture f;
    *state = NULL;
    memset(&f, 0, sizeof f);
    test_folder_create(f.folder);
    const struct fcl_device_options options = {.cache_folder = f.folder};
    if (!test_opencl_open(&f.opencl, &options))
        return 0;
    f.source = read_source();
    f.space = test_space(faulty_parameters, NULL);
    memcpy(f.arguments, faulty_arguments, sizeof f.arguments);
    f.reference = (struct fcl_kernel_reference){.name = "scale_reference", .global = {"1001"}};
    f.spec = (struct fcl_kernel_spec){.struct_size = sizeof f.spec,
                                      .source = f.source,
                                      .file = "faulty.cl",
                                      .name = "scale",
                                      .space = f.space,
                                      .global = {"(1001 + LANES * LOCAL - 1) // (LANES * LOCAL)"},
                                      .local = {"LOCAL"},
                                      .global_groups = 1,
                                      .arguments = f.arguments,
                                      .argument_count = 4,
                                      .reference = &f.reference};
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    if (f) {
        test_opencl_close(&f->opencl);
        fcl_space_destroy(&f->space);
        free(f->source);
        test_folder_remove(f->folder);
    }
    return 0;
}

static struct fixture *fixture_of(void **state)
{
    if (!*state)
        skip();
    return *state;
}

static fcl_kernel_trials *trials_of(struct fixture *f)
{
    fcl_kernel_trials *trials;
    if (fcl_kernel_trials_create(f->opencl.device, &f->spec, &trials) != FCL_OK)
        fail_msg("%s", f->opencl.capture.text);
    return trials;
}

static void expect(struct fixture *f, fcl_kernel_trials *trials, const char *point,
                   enum fcl_status status, const char *reason)
{
    struct fcl_evaluation e;
    const struct fcl_evaluator evaluator = fcl_kernel_trials_evaluator(trials);
    evaluator.evaluate(evaluator.user, test_point(f->space, point), INFINITY, &e);
    if (e.status != status || strstr(e.reason, reason) == NULL)
        fail_msg("%s: status %d, '%s'; expected %d, '%s'", point, (int)e.status, e.reason,
                 (int)status, reason);
    if (status == FCL_OK) {
        assert_string_equal(e.reason, "");
        assert_true(e.timing.median_ms > 0 && e.ratio <= 1);
    }
}

// In this order, so that each failure comes before a right point that must not suffer from it.
static void each_failure_is_found(void **state)
{
    struct fixture *f = fixture_of(state);
    fcl_kernel_trials *trials = trials_of(f);
    expect(f, trials, "FAULT=none LANES=1 LOCAL=8", FCL_OK, "");
    expect(f, trials, "FAULT=wrong LANES=1 LOCAL=8", FCL_WRONG_RESULT,
           "argument y: 1 of 1001 numbers are wrong; number 70 is ");
    expect(f, trials, "FAULT=build LANES=1 LOCAL=8", FCL_BUILD_FAILED, "does not build");
    expect(f, trials, "FAULT=before LANES=4 LOCAL=8", FCL_WRONG_RESULT,
           "argument y: the kernel wrote before it");
    expect(f, trials, "FAULT=behind LANES=4 LOCAL=8", FCL_WRONG_RESULT,
           "argument y: the kernel wrote behind it");
    expect(f, trials, "FAULT=unwritten LANES=1 LOCAL=8", FCL_WRONG_RESULT,
           "argument y: 1 of 1001 numbers are wrong; number 71 is nan, expected ");
    expect(f, trials, "FAULT=none LANES=1 LOCAL=1048576", FCL_UNSUPPORTED,
           "a work-group of 1048576");
    expect(f, trials, "FAULT=input LANES=1 LOCAL=8", FCL_WRONG_RESULT, "number 0 is 0, expected ");
    expect(f, trials, "FAULT=none LANES=4 LOCAL=8", FCL_OK, "");
    fcl_kernel_trials_destroy(&trials);
    assert_int_equal(test_folder_count(f->folder, "", NULL), 2); // . and ..
}

static void the_build_log_names_file_and_line(void **state)
{
    struct fixture *f = fixture_of(state);
    fcl_kernel_trials *trials = trials_of(f);
    expect(f, trials, "FAULT=build LANES=1 LOCAL=8", FCL_BUILD_FAILED, "");
    if (strstr(f->opencl.capture.text, "around line 13 of faulty.cl") == NULL)
        fail_msg("%s", f->opencl.capture.text);
    fcl_kernel_trials_destroy(&trials);
}

static void bad_calls_are_refused(void **state)
{
    struct fixture *f = fixture_of(state);
    fcl_kernel_trials *trials;
    struct fcl_kernel_result result;
    assert_int_equal(fcl_kernel_trials_create(NULL, &f->spec, &trials), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_kernel_trials_create(f->opencl.device, &f->spec, NULL),
                     FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_kernel_trials_create(f->opencl.device, NULL, &trials),
                     FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_kernel_tune(f->opencl.device, &f->spec, NULL, NULL), FCL_INVALID_ARGUMENT);
    f->reference.name = "no_such_kernel";
    assert_int_equal(fcl_kernel_tune(f->opencl.device, &f->spec, NULL, &result), FCL_BUILD_FAILED);
    assert_non_null(strstr(f->opencl.capture.text, "reference kernel no_such_kernel: "));
    f->spec.reference = NULL;
    f->spec.argument_count = 3;
    trials = trials_of(f);
    expect(f, trials, "FAULT=none LANES=1 LOCAL=8", FCL_INVALID_ARGUMENT,
           "kernel scale takes 4 arguments, 3 are given");
    fcl_kernel_trials_destroy(&trials);
    f->spec.argument_count = 4;
    f->arguments[2].type.scalar = FCL_SCALAR_INT64;
    trials = trials_of(f);
    expect(f, trials, "FAULT=none LANES=1 LOCAL=8", FCL_DEVICE_ERROR,
           "clSetKernelArg of argument count failed: CL_INVALID_ARG_SIZE");
    fcl_kernel_trials_destroy(&trials);
}

// Without a reference only what lies around the outputs is judged.
static void without_a_reference_guards_remain(void **state)
{
    struct fixture *f = fixture_of(state);
    f->spec.reference = NULL;
    fcl_kernel_trials *trials = trials_of(f);
    expect(f, trials, "FAULT=wrong LANES=1 LOCAL=8", FCL_OK, "");
    expect(f, trials, "FAULT=behind LANES=1 LOCAL=8", FCL_WRONG_RESULT, "wrote behind it");
    fcl_kernel_trials_destroy(&trials);
}

static void local_memory_is_limited(void **state)
{
    struct fixture *f = fixture_of(state);
    static const char source[] = "__kernel void k(__global int *y, __local int *scratch)\n"
                                 "{\n"
                                 "    scratch[get_local_id(0)] = (int)get_global_id(0);\n"
                                 "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                                 "    y[get_global_id(0)] = scratch[get_local_id(0)];\n"
                                 "}\n";
    int expected[16];
    for (int i = 0; i < 16; i++)
        expected[i] = i;
    const struct fcl_kernel_argument arguments[] = {
        {.kind = FCL_KERNEL_VECTOR,
         .type = {FCL_SCALAR_INT32, 0},
         .count = "16",
         .access = FCL_KERNEL_WRITE,
         .expected = expected,
         .expected_count = sizeof expected},
        {.kind = FCL_KERNEL_LOCAL, .type = {FCL_SCALAR_INT32, 0}, .count = "SIZE"}};
    fcl_space_destroy(&f->space);
    f->space = test_space((const char *const[]){"SIZE", "4,1073741824", NULL}, NULL);
    f->spec = (struct fcl_kernel_spec){.struct_size = sizeof f->spec,
                                       .source = source,
                                       .name = "k",
                                       .space = f->space,
                                       .global = {"16"},
                                       .local = {"4"},
                                       .arguments = arguments,
                                       .argument_count = 2};
    fcl_kernel_trials *trials = trials_of(f);
    expect(f, trials, "SIZE=4", FCL_OK, "");
    expect(f, trials, "SIZE=1073741824", FCL_UNSUPPORTED, "4294967296 bytes of local memory");
    fcl_kernel_trials_destroy(&trials);
}

// Each dimension is allowed, all of them together are not.
static void groups_are_limited_as_a_whole(void **state)
{
    struct fixture *f = fixture_of(state);
    for (int i = 0; i < 3; i++)
        f->spec.global[i] = f->spec.local[i] = "64";
    f->spec.reference = NULL;
    f->spec.global_groups = 0;
    fcl_kernel_trials *trials = trials_of(f);
    expect(f, trials, "FAULT=none LANES=1 LOCAL=8", FCL_UNSUPPORTED,
           "a work-group of 262144 work-items: the device allows ");
    fcl_kernel_trials_destroy(&trials);
}

static const char accumulating[] = "__kernel void k(__global uint *y)\n"
                                   "{\n"
                                   "    const size_t i = get_global_id(0);\n"
                                   "    uint x = y[i];\n"
                                   "    for (int n = 0; n < SLOW; n++)\n"
                                   "        x = x * 1664525u + 1013904223u;\n"
                                   "    y[i] += 1 + (SLOW > 1 && x == y[i] ? 2 : 0);\n"
                                   "}\n";

// Timed launches add up what a read-write buffer holds; the next point begins anew. SLOW repeats
// the work without changing the result: the quick point wins.
static void accumulating_kernels_are_restored(void **state)
{
    struct fixture *f = fixture_of(state);
    uint32_t expected[4096];
    for (int i = 0; i < 4096; i++)
        expected[i] = 8;
    const struct fcl_kernel_argument argument = {.kind = FCL_KERNEL_VECTOR,
                                                 .type = {FCL_SCALAR_UINT32, 0},
                                                 .count = "4096",
                                                 .value = "7",
                                                 .access = FCL_KERNEL_READ_WRITE,
                                                 .expected = expected,
                                                 .expected_count = sizeof expected};
    fcl_space_destroy(&f->space);
    f->space = test_space((const char *const[]){"SLOW", "60001,1,6001", NULL}, NULL);
    f->spec = (struct fcl_kernel_spec){.struct_size = sizeof f->spec,
                                       .source = accumulating,
                                       .name = "k",
                                       .space = f->space,
                                       .global = {"4096"},
                                       .local = {"64"},
                                       .arguments = &argument,
                                       .argument_count = 1};
    const uint64_t standard = test_point(f->space, "SLOW=6001");
    const struct fcl_kernel_tune_options options = {
        .struct_size = sizeof options,
        .tuner = {.search = {.seed_points = &standard, .seed_point_count = 1}}};
    struct fcl_kernel_result result;
    assert_int_equal(fcl_kernel_tune(f->opencl.device, &f->spec, &options, &result), FCL_OK);
    assert_string_equal(result.winner, "SLOW=1");
    assert_int_equal(result.tuner.tried, 3);
    assert_int_equal(result.tuner.failed, 0);
    assert_true(result.tuner.better);
}

static void expect_built(struct fixture *f, const char *point, int keep, enum fcl_status status,
                         const char *reason)
{
    struct fcl_evaluation e;
    fcl_kernel_build(f->opencl.device, &f->spec, test_point(f->space, point), keep, &e);
    if (e.status != status || strstr(e.reason, reason) == NULL)
        fail_msg("%s: status %d, '%s'", point, (int)e.status, e.reason);
    assert_true(e.timing.median_ms == 0 && (status != FCL_OK || e.build_ms > 0));
}

static void points_are_built_alone(void **state)
{
    struct fixture *f = fixture_of(state);
    struct fcl_evaluation e;
    expect_built(f, "FAULT=wrong LANES=1 LOCAL=8", 0, FCL_OK, "");
    assert_int_equal(test_folder_count(f->folder, "", NULL), 2); // . and ..
    expect_built(f, "FAULT=wrong LANES=1 LOCAL=8", 1, FCL_OK, "");
    assert_true(test_folder_count(f->folder, "", NULL) > 2);
    expect_built(f, "FAULT=build LANES=1 LOCAL=8", 0, FCL_BUILD_FAILED, "does not build");
    expect_built(f, "FAULT=none LANES=1 LOCAL=1048576", 0, FCL_UNSUPPORTED, "1048576");
    fcl_kernel_build(NULL, &f->spec, 0, 0, &e);
    assert_int_equal(e.status, FCL_INVALID_ARGUMENT);
    fcl_kernel_build(f->opencl.device, NULL, 0, 0, &e);
    assert_int_equal(e.status, FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(e.reason, "spec is NULL"));
    fcl_kernel_build(f->opencl.device, &f->spec, 0, 0, NULL);
}

static void expect_launched(struct fixture *f, fcl_kernel_trials *trials, const char *point,
                            enum fcl_status status, const char *reason)
{
    struct fcl_evaluation e;
    fcl_kernel_launch(trials, test_point(f->space, point), &e);
    if (e.status != status || strstr(e.reason, reason) == NULL)
        fail_msg("%s: status %d, '%s'", point, (int)e.status, e.reason);
    assert_true(e.timing.median_ms == 0 && (status != FCL_OK || e.build_ms > 0));
}

static void points_are_launched_unjudged(void **state)
{
    struct fixture *f = fixture_of(state);
    struct fcl_evaluation e;
    fcl_kernel_trials *trials = NULL;
    f->spec.reference = NULL;
    assert_int_equal(fcl_kernel_trials_create(f->opencl.device, &f->spec, &trials), FCL_OK);
    expect_launched(f, trials, "FAULT=wrong LANES=1 LOCAL=8", FCL_OK, "");
    expect_launched(f, trials, "FAULT=build LANES=1 LOCAL=8", FCL_BUILD_FAILED, "does not build");
    expect_launched(f, trials, "FAULT=none LANES=1 LOCAL=1048576", FCL_UNSUPPORTED, "1048576");
    expect_launched(f, trials, "FAULT=none LANES=1 LOCAL=8", FCL_OK, "");
    fcl_kernel_trials_destroy(&trials);
    fcl_kernel_launch(NULL, 0, &e);
    assert_int_equal(e.status, FCL_INVALID_ARGUMENT);
    fcl_kernel_launch(trials, 0, NULL);
}

static void tuning_finds_a_right_point_among_faults(void **state)
{
    struct fixture *f = fixture_of(state);
    struct fcl_kernel_result result;
    assert_int_equal(fcl_kernel_tune(f->opencl.device, &f->spec, NULL, &result), FCL_OK);
    assert_int_equal(strncmp(result.winner, "FAULT=none ", 11), 0);
    assert_non_null(strstr(result.winner, "LOCAL=8"));
    assert_int_equal(result.tuner.tried, 28);
    assert_int_equal(result.tuner.failed, 26);
    assert_true(result.stored == 0 && result.pruned == 0);
    const struct fcl_kernel_tune_options options = {.struct_size = sizeof options,
                                                    .tuner = {.seconds = 1e-9}};
    assert_int_equal(fcl_kernel_tune(f->opencl.device, &f->spec, &options, &result),
                     FCL_BUDGET_REACHED);
    assert_non_null(strstr(f->opencl.capture.text, "0 of 28 points were tried"));
}

// ---- wisdom

struct invented {
    const fcl_space *space;
    const char *bad; // text form of a point that crashes
    double ms;       // of the others
    size_t asked;
};

static void invent(void *user, uint64_t point, double best_ms, struct fcl_evaluation *e)
{
    struct invented *i = user;
    (void)best_ms;
    i->asked++;
    *e = (struct fcl_evaluation){.timing = {.median_ms = i->ms + (double)point}};
    if (i->bad && point == test_point(i->space, i->bad)) {
        e->status = FCL_DEVICE_ERROR;
        strcpy(e->bad, "crash");
    }
}

static enum fcl_status compare_invented(void *user, const uint64_t *points, size_t count,
                                        struct fcl_timing *timings)
{
    const struct invented *i = user;
    for (size_t n = 0; n < count; n++)
        timings[n] = (struct fcl_timing){.median_ms = i->ms + (double)points[n]};
    return FCL_OK;
}

static struct fcl_kernel_result tune_invented(struct fixture *f, struct invented *invented,
                                              int store, int retry_bad)
{
    struct fcl_kernel_result result;
    const struct fcl_evaluator evaluator = {
        .user = invented, .evaluate = invent, .compare = compare_invented};
    const struct fcl_kernel_tune_options options = {.struct_size = sizeof options,
                                                    .store = store,
                                                    .retry_bad = retry_bad,
                                                    .evaluator = &evaluator};
    invented->space = f->space;
    invented->asked = 0;
    if (fcl_kernel_tune(f->opencl.device, &f->spec, &options, &result) != FCL_OK)
        fail_msg("%s", f->opencl.capture.text);
    return result;
}

// As another process would have it.
static void reopen(struct fixture *f)
{
    char wisdom[TEST_PATH_SIZE];
    test_path(wisdom, f->folder, "wisdom.txt");
    test_opencl_reopen(&f->opencl, &(const struct fcl_device_options){.wisdom_file = wisdom});
}

#define FIRST "FAULT=none LANES=1 LOCAL=8"

static void winners_are_stored_and_found(void **state)
{
    struct fixture *f = fixture_of(state);
    struct invented invented = {.ms = 10};
    uint64_t point = 0;
    reopen(f);
    assert_int_equal(tune_invented(f, &invented, 0, 0).stored, 0);
    reopen(f);
    assert_int_equal(fcl_kernel_winner(f->opencl.device, &f->spec, &point), FCL_NO_CONFIGURATION);
    assert_true(point == FCL_NO_POINT && f->opencl.capture.length == 0);
    struct fcl_kernel_result result = tune_invented(f, &invented, 1, 0);
    assert_true(result.stored && result.tuner.better);
    reopen(f);
    assert_int_equal(fcl_kernel_winner(f->opencl.device, &f->spec, &point), FCL_OK);
    assert_int_equal(point, test_point(f->space, FIRST));
    // Now it is the default, which stays.
    result = tune_invented(f, &invented, 1, 0);
    assert_true(!result.stored && !result.tuner.better && invented.asked == 28);
    assert_true(result.tuner.default_timing.median_ms == 10);
    f->spec.source = "another";
    assert_int_equal(fcl_kernel_winner(f->opencl.device, &f->spec, &point), FCL_NO_CONFIGURATION);
    f->spec.source = NULL;
    assert_int_equal(fcl_kernel_winner(f->opencl.device, &f->spec, &point), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(f->opencl.capture.text, "source is NULL"));
    assert_int_equal(fcl_kernel_winner(f->opencl.device, &f->spec, NULL), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_kernel_winner(NULL, &f->spec, &point), FCL_INVALID_ARGUMENT);
}

static void crashes_are_remembered_and_forgiven(void **state)
{
    struct fixture *f = fixture_of(state);
    struct invented invented = {.ms = 10, .bad = FIRST};
    reopen(f);
    struct fcl_kernel_result result = tune_invented(f, &invented, 1, 0);
    assert_true(result.stored && result.pruned == 0 && result.tuner.failed == 1);
    reopen(f);
    invented.bad = NULL;
    result = tune_invented(f, &invented, 1, 0);
    assert_true(result.pruned == 1 && invented.asked == 27 && result.tuner.failed == 0);
    assert_string_not_equal(result.winner, FIRST);
    result = tune_invented(f, &invented, 1, 1);
    assert_true(result.pruned == 0 && invented.asked == 28 && result.stored);
    assert_string_equal(result.winner, FIRST);
    reopen(f);
    assert_int_equal(tune_invented(f, &invented, 1, 0).pruned, 0);
}

// The first of the seeds is what won at another size.
static void other_sizes_are_seeds(void **state)
{
    struct fixture *f = fixture_of(state);
    struct invented invented = {.ms = 10, .bad = FIRST};
    reopen(f);
    tune_invented(f, &invented, 1, 0);
    f->arguments[2].value = "1000";
    struct fcl_kernel_result result;
    const struct fcl_evaluator evaluator = {
        .user = &invented, .evaluate = invent, .compare = compare_invented};
    const struct fcl_kernel_tune_options options = {
        .struct_size = sizeof options,
        .tuner = {.search = {.strategy = "seeded", .evaluations = 1}},
        .evaluator = &evaluator};
    assert_int_equal(fcl_kernel_tune(f->opencl.device, &f->spec, &options, &result),
                     FCL_BUDGET_REACHED);
    assert_string_equal(result.winner, "FAULT=none LANES=1 LOCAL=1048576");
    assert_true(result.pruned == 0 && result.tuner.default_timing.median_ms == 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_failure_is_found),
        TEST(the_build_log_names_file_and_line),
        TEST(bad_calls_are_refused),
        TEST(without_a_reference_guards_remain),
        TEST(local_memory_is_limited),
        TEST(groups_are_limited_as_a_whole),
        TEST(accumulating_kernels_are_restored),
        TEST(points_are_built_alone),
        TEST(points_are_launched_unjudged),
        TEST(tuning_finds_a_right_point_among_faults),
        TEST(winners_are_stored_and_found),
        TEST(crashes_are_remembered_and_forgiven),
        TEST(other_sizes_are_seeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
