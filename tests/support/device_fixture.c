// The cache's fixture with an OpenCL device.
#include "device_fixture.h"

#include "cmocka_all.h"

struct test_opencl fixture_opencl;

int fixture_device_set_up(void **state)
{
    if (fixture_opencl.id == NULL)
        test_opencl_open(&fixture_opencl, NULL);
    return fixture_set_up(state);
}

fcl_device *fixture_device(struct fixture *fixture, const char *folder)
{
    fcl_device *device = NULL;
    if (fixture_opencl.id == NULL)
        skip();
    fixture->capture = (struct test_capture){0};
    assert_int_equal(
        fcl_device_create(fixture_opencl.context, fixture_opencl.id,
                          fcl_device_options(.log = fixture->log, .cache_folder = folder), &device),
        FCL_OK);
    return device;
}
