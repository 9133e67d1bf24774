// Tuning on a real device: candidates are pruned with reasons, verified, timed; winners are stored
// and used.
#include "cmocka_all.h"

#include <stdio.h>

#include "attention.h"
#include "files.h"

struct fixture {
    struct test_opencl opencl;
    char folder[TEST_PATH_SIZE], wisdom[TEST_PATH_SIZE];
    struct fcl_problem problem;
};

static int set_up(void **state)
{
    static struct fixture f;
    *state = NULL;
    memset(&f, 0, sizeof f);
    test_folder_create(f.folder);
    test_path(f.wisdom, f.folder, "wisdom.txt");
    const struct fcl_device_options options = {.wisdom_file = f.wisdom};
    assert_int_equal(fcl_problem_parse("fwd h2 q100 k100 d16", &f.problem, NULL, 0), FCL_OK);
    if (test_opencl_open(&f.opencl, &options))
        *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    if (f) {
        test_opencl_close(&f->opencl);
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

struct tally {
    size_t pruned, timed, failed, reasons;
    double worst_ratio;
    size_t total;
};

static void count(void *user, const struct fcl_trial *trial)
{
    struct tally *tally = user;
    tally->pruned += trial->status == FCL_UNSUPPORTED;
    tally->timed += trial->status == FCL_OK && trial->timing.median_ms > 0.0;
    tally->failed += trial->status != FCL_OK && trial->status != FCL_UNSUPPORTED;
    tally->reasons += trial->reason[0] != 0;
    if (trial->ratio > tally->worst_ratio)
        tally->worst_ratio = trial->ratio;
    tally->total = trial->total;
}

// A few candidates: each is verified and timed, the rest of the space is left and said to be.
static void candidates_are_verified_and_timed(void **state)
{
    struct fixture *f = fixture_of(state);
    struct tally tally = {0};
    struct fcl_tune_result result;
    const struct fcl_tune_options options = {
        .struct_size = sizeof options, .evaluations = 4, .progress = count, .user = &tally};
    assert_int_equal(fcl_attention_tune(f->opencl.device, &f->problem, &options, &result),
                     FCL_BUDGET_REACHED);
    assert_int_equal(result.tried, 4);
    assert_int_equal(tally.timed + tally.failed, 4);
    assert_int_equal(tally.failed, 0);
    assert_true(tally.pruned > 0 && tally.pruned == tally.reasons && tally.pruned == result.pruned);
    assert_true(tally.worst_ratio > 0.0 && tally.worst_ratio <= 1.0);
    assert_int_equal(tally.total, 4);
    assert_true(result.timing.median_ms > 0.0 && result.default_timing.median_ms > 0.0);
    assert_true(result.config[0] && result.default_config[0]);
    assert_false(result.stored);
    assert_false(test_file_exists(f->wisdom));
}

// Rows of tiny numbers, which f16 holds in whole steps only, do not make candidates disagree.
static void tiny_numbers_agree(void **state)
{
    struct fixture *f = fixture_of(state);
    struct fcl_problem problem;
    struct fcl_tune_result result;
    const struct fcl_tune_options options = {
        .struct_size = sizeof options, .evaluations = 3, .strategy = "exhaustive"};
    assert_int_equal(fcl_problem_parse("fwd h2 q256 d128 f16", &problem, NULL, 0), FCL_OK);
    assert_int_equal(fcl_attention_tune(f->opencl.device, &problem, &options, &result),
                     FCL_BUDGET_REACHED);
    assert_int_equal(result.failed, 0);
}

// Writes a wisdom file that says the problem's first test configuration is best under `driver`, and
// opens the device with it, as another process would.
static void know(struct fixture *f, const char *driver)
{
    char problem_class[256], configs[TEST_CONFIGS][96];
    fcl_wisdom *wisdom = fcl_wisdom_create();
    test_configs(&f->opencl, &f->problem, configs);
    fcl_problem_class(&f->problem, FCL_FUSED, problem_class, sizeof problem_class);
    const struct fcl_wisdom_row row = {.device = fcl_device_caps(f->opencl.device)->name,
                                       .driver = driver,
                                       .problem_class = problem_class,
                                       .config = configs[0],
                                       .median_ms = 1.0,
                                       .clock = "event",
                                       .version = FCL_VERSION};
    assert_int_equal(fcl_wisdom_add(wisdom, &row), FCL_OK);
    assert_int_equal(fcl_wisdom_save(wisdom, f->wisdom, NULL, 0), FCL_OK);
    fcl_wisdom_destroy(&wisdom);
    test_opencl_reopen(&f->opencl, &(const struct fcl_device_options){.wisdom_file = f->wisdom});
}

// What was stored is what the next plan uses.
static void wisdom_is_used(void **state)
{
    struct fixture *f = fixture_of(state);
    char driver[FCL_CAPS_TEXT_SIZE];
    strcpy(driver, fcl_device_caps(f->opencl.device)->driver);
    know(f, driver);
    struct fcl_plan_info info;
    fcl_plan *plan = test_plan(&f->opencl, &f->problem, FCL_FUSED, NULL);
    fcl_plan_describe(plan, &info);
    assert_string_equal(info.origin, "wisdom");
    assert_non_null(strstr(info.label, "generic_m16n16w64r4d16"));
    fcl_plan_destroy(&plan);
    const struct fcl_plan_options table = {.struct_size = sizeof table, .effort = FCL_EFFORT_TABLE};
    assert_int_equal(fcl_plan_create(f->opencl.device, &f->problem, &table, &plan), FCL_OK);
    fcl_plan_describe(plan, &info);
    assert_string_not_equal(info.origin, "wisdom");
    fcl_plan_destroy(&plan);
}

// Wisdom of another driver passes the self-check and is rewritten for this one.
static void another_drivers_wisdom_is_adopted(void **state)
{
    struct fixture *f = fixture_of(state);
    know(f, "an older driver");
    struct fcl_plan_info info;
    fcl_plan *plan = test_plan(&f->opencl, &f->problem, FCL_FUSED, NULL);
    fcl_plan_describe(plan, &info);
    assert_string_equal(info.origin, "wisdom of another driver");
    fcl_plan_destroy(&plan);
    fcl_wisdom *wisdom = fcl_wisdom_create();
    assert_int_equal(fcl_wisdom_load(wisdom, f->wisdom, NULL, NULL, 0), FCL_OK);
    assert_int_equal(fcl_wisdom_count(wisdom), 2);
    fcl_wisdom_destroy(&wisdom);
    plan = test_plan(&f->opencl, &f->problem, FCL_FUSED, NULL);
    fcl_plan_describe(plan, &info);
    assert_string_equal(info.origin, "wisdom");
    fcl_plan_destroy(&plan);
}

// A kernel that gives wrong results is never timed: nothing wins.
static void wrong_results_never_win(void **state)
{
    struct fixture *f = fixture_of(state);
    struct tally tally = {0};
    struct fcl_tune_result result;
    const struct fcl_tune_options options = {.struct_size = sizeof options,
                                             .evaluations = 2,
                                             .progress = count,
                                             .user = &tally,
                                             .store = 1};
    const char *kernels = getenv("FCL_TEST_KERNELS");
    if (!kernels)
        skip();
    char folder[TEST_PATH_SIZE], command[3 * TEST_PATH_SIZE];
    test_path(folder, f->folder, "kernels");
    snprintf(command, sizeof command,
             "cp -r '%s' '%s' && sed 's/x->l.r\\[i\\] \\*= shrink.r\\[i\\];//' '%s/lib/steps.clh' "
             "> '%s/lib/steps.clh'",
             kernels, folder, kernels, folder);
    assert_int_equal(system(command), 0);
    test_opencl_reopen(&f->opencl, &(const struct fcl_device_options){.wisdom_file = f->wisdom,
                                                                      .kernel_folder = folder});
    assert_int_equal(fcl_attention_tune(f->opencl.device, &f->problem, &options, &result),
                     FCL_BUDGET_REACHED);
    assert_string_equal(result.config, "");
    assert_int_equal(tally.timed, 0);
    assert_int_equal(tally.failed, 2);
    assert_false(test_file_exists(f->wisdom));
}

static void bad_calls_are_refused(void **state)
{
    struct fixture *f = fixture_of(state);
    struct fcl_tune_result result;
    struct fcl_tune_options options = {.struct_size = 0};
    struct fcl_problem empty = f->problem;
    empty.q_len = 0;
    assert_int_equal(fcl_attention_tune(NULL, &f->problem, NULL, &result), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_attention_tune(f->opencl.device, NULL, NULL, &result),
                     FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_attention_tune(f->opencl.device, &f->problem, NULL, NULL),
                     FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_attention_tune(f->opencl.device, &f->problem, &options, &result),
                     FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_attention_tune(f->opencl.device, &empty, NULL, &result),
                     FCL_INVALID_ARGUMENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(candidates_are_verified_and_timed),
        TEST(tiny_numbers_agree),
        TEST(wisdom_is_used),
        TEST(another_drivers_wisdom_is_adopted),
        TEST(wrong_results_never_win),
        TEST(bad_calls_are_refused),
    };
    return cmocka_run_group_tests_name("tune", tests, NULL, NULL);
}
