// Device handles on a real OpenCL device: caps, options, bad arguments, error texts.
#include "cmocka_all.h"

#include "core/device.h"
#include "device_fixture.h"

static void devices_know_what_they_can(void **state)
{
    struct fcl_device *device = fixture_device(*state, NULL);
    const struct fcl_caps *caps = fcl_device_caps(device);
    cl_device_type type;
    char name[1024];
    clGetDeviceInfo(fixture_opencl.id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    clGetDeviceInfo(fixture_opencl.id, CL_DEVICE_NAME, sizeof name, name, NULL);
    cl_ulong cache = 0;
    clGetDeviceInfo(fixture_opencl.id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, sizeof cache, &cache, NULL);
    assert_true(caps->cache_bytes == cache ||
                caps->nvidia_capability > 0); // the first level's there
    assert_int_equal(caps->cpu, (type & CL_DEVICE_TYPE_CPU) != 0);
    assert_int_equal(caps->gpu, (type & CL_DEVICE_TYPE_GPU) != 0);
    assert_non_null(strstr(name, caps->name));
    assert_true(caps->name[0] != ' ' && caps->name[0] != 0);
    assert_true(caps->vendor[0] && caps->version[0] && caps->driver[0] && caps->platform[0] &&
                caps->platform_version[0]);
    assert_true(caps->c_version >= 120);
    assert_true(caps->compute_units >= 1 && caps->group_size >= 1 && caps->float_width >= 1);
    assert_true(caps->local_bytes >= 16384 && caps->global_bytes >= caps->allocation_bytes);
    assert_true(caps->address_bits == 64 || caps->address_bits == 32);
    assert_true(caps->timer_ns >= 1);
    fcl_device_destroy(&device);
    assert_null(device);
    fcl_device_destroy(&device);
    fcl_device_destroy(NULL);
    assert_null(fcl_device_caps(NULL));
}

static void masks_are_applied(void **state)
{
    struct fixture *fixture = *state;
    fcl_device *device = fixture_device(fixture, NULL);
    const uint64_t group_size = fcl_device_caps(device)->group_size;
    fcl_device_destroy(&device);
    assert_int_equal(fcl_device_create(fixture_opencl.context, fixture_opencl.id,
                                       fcl_device_options(.log = fixture->log,
                                                          .caps_mask = "local_bytes=1024 cpu=0"),
                                       &device),
                     FCL_OK);
    assert_int_equal(fcl_device_caps(device)->local_bytes, 1024);
    assert_int_equal(fcl_device_caps(device)->cpu, 0);
    assert_int_equal(fcl_device_caps(device)->group_size, group_size);
    fcl_device_destroy(&device);
}

// Creation must fail with this status and a log that holds the word.
static void must_fail(struct fixture *fixture, cl_context context, cl_device_id id,
                      struct fcl_device_options *options, enum fcl_status status, const char *word)
{
    fcl_device *device = (fcl_device *)fixture;
    options->struct_size = sizeof *options;
    options->log = fixture->log;
    memset(&fixture->capture, 0, sizeof fixture->capture);
    assert_int_equal(fcl_device_create(context, id, options, &device), status);
    assert_null(device);
    assert_non_null(strstr(fixture->capture.text, word));
    assert_int_equal(fixture->capture.counts[FCL_LOG_ERROR], 1);
}

static void bad_arguments_are_named(void **state)
{
    struct fixture *fixture = *state;
    struct fcl_device_options none = {0};
    struct fcl_device_options mask = {.caps_mask = "fp17=0"};
    fcl_device *device = fixture_device(fixture, NULL);
    fcl_device_destroy(&device);
    must_fail(fixture, NULL, fixture_opencl.id, &none, FCL_INVALID_ARGUMENT, "context is NULL");
    must_fail(fixture, fixture_opencl.context, NULL, &none, FCL_INVALID_ARGUMENT, "device is NULL");
    must_fail(fixture, fixture_opencl.context, fixture_opencl.id, &mask, FCL_INVALID_ARGUMENT,
              "fp17");
    assert_int_equal(fcl_device_create(fixture_opencl.context, fixture_opencl.id, NULL, NULL),
                     FCL_INVALID_ARGUMENT);
    none.struct_size = sizeof none + 8;
    assert_int_equal(fcl_device_create(fixture_opencl.context, fixture_opencl.id, &none, &device),
                     FCL_INVALID_ARGUMENT);
    none.struct_size = 0;
    assert_int_equal(fcl_device_create(fixture_opencl.context, fixture_opencl.id, &none, &device),
                     FCL_INVALID_ARGUMENT);
    assert_null(device);
    assert_int_equal(fcl_device_create(fixture_opencl.context, fixture_opencl.id, NULL, &device),
                     FCL_OK);
    fcl_device_destroy(&device);
}

static void wisdom_files(void **state)
{
    struct fixture *fixture = *state;
    char path[TEST_PATH_SIZE];
    fcl_device *device = fixture_device(fixture, NULL);
    fcl_device_destroy(&device);
    test_path(path, fixture->base, "wisdom");
    struct fcl_device_options options = {
        .struct_size = sizeof options, .log = fixture->log, .wisdom_file = path};
    assert_int_equal(
        fcl_device_create(fixture_opencl.context, fixture_opencl.id, &options, &device), FCL_OK);
    fcl_device_destroy(&device);
    test_file_write(path, "flashcl-wisdom 1\n", 17);
    assert_int_equal(
        fcl_device_create(fixture_opencl.context, fixture_opencl.id, &options, &device), FCL_OK);
    fcl_device_destroy(&device);
    test_file_write(path, "no wisdom\n", 10);
    must_fail(fixture, fixture_opencl.context, fixture_opencl.id, &options, FCL_IO_ERROR, path);
}

static void count_destruction(void *client)
{
    ++*(int *)client;
}

static void the_client_is_destroyed_with_the_device(void **state)
{
    int destroyed = 0;
    struct fcl_device *device = fixture_device(*state, NULL);
    device->client = &destroyed;
    device->client_destroy = count_destruction;
    fcl_device_destroy(&device);
    assert_int_equal(destroyed, 1);
}

// Errors are shown by name; OpenCL's three ways of being out of memory are one status.
static void errors_have_names(void **state)
{
    struct fixture *fixture = *state;
    struct fcl_device *device = fixture_device(fixture, NULL);
    assert_string_equal(fcl_cl_error_text(CL_OUT_OF_RESOURCES), "CL_OUT_OF_RESOURCES (-5)");
    assert_string_equal(fcl_cl_error_text(CL_INVALID_VALUE), "CL_INVALID_VALUE (-30)");
    assert_string_equal(fcl_cl_error_text(CL_SUCCESS), "CL_SUCCESS (0)");
    assert_int_equal(fcl_cl_fail(device, -4, "clSomething"), FCL_OUT_OF_MEMORY);
    assert_int_equal(fcl_cl_fail(device, -5, "clSomething"), FCL_OUT_OF_MEMORY);
    assert_int_equal(fcl_cl_fail(device, -6, "clSomething"), FCL_OUT_OF_MEMORY);
    assert_int_equal(fcl_cl_fail(device, -48, "clOther"), FCL_DEVICE_ERROR);
    assert_int_equal(fcl_cl_fail(device, -4711, "clStrange"), FCL_DEVICE_ERROR);
    assert_non_null(strstr(fixture->capture.text, "clOther failed: CL_INVALID_KERNEL (-48)"));
    assert_non_null(strstr(fixture->capture.text, "clStrange failed: OpenCL error -4711"));
    fcl_device_destroy(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(devices_know_what_they_can),
        DEVICE_TEST(masks_are_applied),
        DEVICE_TEST(bad_arguments_are_named),
        DEVICE_TEST(wisdom_files),
        DEVICE_TEST(the_client_is_destroyed_with_the_device),
        DEVICE_TEST(errors_have_names),
    };
    const int failed = cmocka_run_group_tests_name("device", tests, NULL, NULL);
    test_opencl_close(&fixture_opencl);
    return failed;
}
