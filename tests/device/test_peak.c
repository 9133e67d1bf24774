// A device's peak: its multiply-adds agree with plain C, and it is kept where it should be.
#include "cmocka_all.h"

#include <math.h>

#include "core/peak.h"
#include "device_fixture.h"
#include "fma.h"

// Whether the library has said since the device was opened that it measured.
static int was_measured(const struct fixture *fixture)
{
    return strstr(fixture->capture.text, "peak was measured") != NULL;
}

// The peak as a process of its own finds it in the folder; *measured: whether it had to.
static struct fcl_peak ask(struct fixture *fixture, int again, int *measured)
{
    struct fcl_peak peak;
    fcl_device *device = fixture_device(fixture, fixture->folder);
    assert_int_equal(fcl_device_peak(device, again, &peak), FCL_OK);
    fcl_device_destroy(&device);
    *measured = was_measured(fixture);
    return peak;
}

// ---- The figures ------------------------------------------------------------------------------

#define ROUNDS 20
#define LONGEST_MS 120000 // for all rounds
#define RUNS 20           // of the C loop in a round
#define AGREEMENT 0.03
#define QUIET_PART 0.1 // of the runs: with less, a quiet moment for the device is mere luck

// In turn, each with short and with long runs, until both have had a quiet moment: then the best of
// each agree.
static void multiply_adds_agree_with_plain_c(void **state)
{
    fcl_device *device = fixture_device(*state, NULL);
    const struct fcl_caps caps = *fcl_device_caps(device);
    const double end = fcl_now_ms() + LONGEST_MS;
    double ours = 0, plain = 0;
    int quiet = 0, agreed = 0, round = 0;
    for (; round < ROUNDS && fcl_now_ms() < end && caps.cpu && !agreed; round++) {
        double gflops;
        assert_int_equal(fcl_peak_measure_fma(device, &gflops), FCL_OK);
        ours = fmax(ours, gflops);
        for (int i = 0; i < RUNS; i++) {
            const struct test_fma run =
                test_fma_run((int)caps.compute_units, i % 2 ? 1000000 : 8000000);
            plain = fmax(plain, run.gflops);
            quiet += run.quiet;
        }
        agreed = quiet > 0 && fabs(ours / plain - 1) <= AGREEMENT;
        print_message("round %d: best %.1f GFLOP/s, plain C %.1f\n", round + 1, ours, plain);
    }
    fcl_device_destroy(&device);
    if (!caps.cpu) {
        print_message("skipped: %s is no CPU device\n", caps.name);
        skip();
    }
    if (!agreed && quiet < QUIET_PART * RUNS * round) {
        print_message("skipped: other programs kept the machine busy\n");
        skip();
    }
    if (!agreed)
        fail_msg("%.1f GFLOP/s, but plain C reaches %.1f", ours, plain);
}

static void every_figure_is_there(void **state)
{
    int measured;
    const struct fcl_peak peak = ask(*state, 0, &measured);
    assert_true(measured);
    assert_true(peak.gflops > 0 && peak.read_gbs > 0 && peak.copy_gbs > 0);
    assert_true(peak.launch_us > 0 && peak.queued_us > 0 && peak.timer_ns >= 0);
}

// ---- What is kept -----------------------------------------------------------------------------

// Copies the key of the folder's only entry into a text.
static int copy_key(void *user, const struct fcl_cache_entry *entry)
{
    assert_false(entry->damaged);
    assert_string_equal(entry->label, "peak");
    fcl_text_add(user, "%s", entry->key);
    return 0;
}

static void the_folder_keeps_it(void **state)
{
    struct fixture *fixture = *state;
    struct fcl_text key = {0};
    int measured;
    struct fcl_peak first = ask(fixture, 0, &measured);
    assert_true(measured);
    assert_int_equal(test_folder_count(fixture->folder, ".fclbin", NULL), 1);
    struct fcl_peak second = ask(fixture, 0, &measured);
    assert_false(measured);
    assert_memory_equal(&first, &second, sizeof first);
    // What stands there is what is given.
    assert_int_equal(fcl_cache_list(fixture->folder, copy_key, &key), FCL_OK);
    fixture_put(fixture, key.data,
                "gflops 1\nread_gbs 2\ncopy_gbs 3\nlaunch_us 4\nqueued_us 5\ntimer_ns 6\n");
    second = ask(fixture, 0, &measured);
    assert_false(measured);
    assert_true(second.gflops == 1 && second.read_gbs == 2 && second.copy_gbs == 3);
    assert_true(second.launch_us == 4 && second.queued_us == 5 && second.timer_ns == 6);
    // Until it is measured again.
    first = ask(fixture, 1, &measured);
    assert_true(measured);
    assert_true(first.gflops != 1 && first.timer_ns != 6);
    second = ask(fixture, 0, &measured);
    assert_false(measured);
    assert_memory_equal(&first, &second, sizeof first);
    assert_int_equal(test_folder_count(fixture->folder, ".fclbin", NULL), 1);
    fcl_text_free(&key);
}

// A file cut short, and a sound entry with another text: both are misses, and are replaced.
static void damage_is_a_miss(void **state)
{
    struct fixture *fixture = *state;
    struct fcl_text key = {0};
    int measured;
    ask(fixture, 0, &measured);
    assert_int_equal(fcl_cache_list(fixture->folder, copy_key, &key), FCL_OK);
    char path[TEST_PATH_SIZE];
    fixture_path(fixture, key.data, path);
    size_t size;
    unsigned char *bytes = test_file_read(path, &size);
    test_file_write(path, bytes, size / 2);
    free(bytes);
    ask(fixture, 0, &measured);
    assert_true(measured);
    fixture_put(fixture, key.data, "gflops 1\n");
    ask(fixture, 0, &measured);
    assert_true(measured);
    ask(fixture, 0, &measured);
    assert_false(measured);
    fcl_text_free(&key);
}

static void without_a_folder_memory_keeps_it(void **state)
{
    struct fixture *fixture = *state;
    struct fcl_peak first, second;
    fcl_device *device = fixture_device(fixture, NULL);
    assert_int_equal(fcl_device_peak(device, 0, &first), FCL_OK);
    assert_true(was_measured(fixture));
    fixture->capture = (struct test_capture){0};
    assert_int_equal(fcl_device_peak(device, 0, &second), FCL_OK);
    assert_false(was_measured(fixture));
    assert_memory_equal(&first, &second, sizeof first);
    fcl_device_destroy(&device);
}

static void missing_arguments_are_refused(void **state)
{
    struct fixture *fixture = *state;
    struct fcl_peak peak = {.gflops = 77};
    fcl_device *device = fixture_device(fixture, NULL);
    assert_int_equal(fcl_device_peak(NULL, 0, &peak), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_device_peak(device, 0, NULL), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(fixture->capture.text, "peak is NULL"));
    assert_true(peak.gflops == 77);
    assert_false(was_measured(fixture));
    fcl_device_destroy(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(multiply_adds_agree_with_plain_c),
        DEVICE_TEST(every_figure_is_there),
        DEVICE_TEST(the_folder_keeps_it),
        DEVICE_TEST(damage_is_a_miss),
        DEVICE_TEST(without_a_folder_memory_keeps_it),
        DEVICE_TEST(missing_arguments_are_refused),
    };
    const int failed = cmocka_run_group_tests_name("peak", tests, NULL, NULL);
    test_opencl_close(&fixture_opencl);
    return failed;
}
