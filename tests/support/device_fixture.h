// The cache's fixture with an OpenCL device beside it, opened once for all tests of a program.
#ifndef FCL_TESTS_DEVICE_FIXTURE_H
#define FCL_TESTS_DEVICE_FIXTURE_H

#include "cache_fixture.h"
#include "opencl.h"

// Its id is NULL where there is no device.
extern struct test_opencl fixture_opencl;

int fixture_device_set_up(void **state);

// A test that gets a fresh fixture.
#define DEVICE_TEST(name) \
    cmocka_unit_test_setup_teardown(name, fixture_device_set_up, fixture_tear_down)

// A new handle with the fixture's log, emptied, and a cache folder (NULL: none). Skips the test
// where there is no device.
fcl_device *fixture_device(struct fixture *fixture, const char *folder);

#endif
