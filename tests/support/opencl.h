// An OpenCL device for tests: the one named by FCL_TEST_DEVICE (part of a platform's or device's
// name), else the first of any platform.
#ifndef FCL_TESTS_OPENCL_H
#define FCL_TESTS_OPENCL_H

#include <flashcl/flashcl.h>
#include <flashcl/tune.h>

#include "capture.h"

struct test_opencl {
    cl_context context;
    cl_device_id id;
    cl_command_queue queue;
    fcl_device *device;
    struct test_capture capture;
};

// Opens it; `options` (may be NULL) is completed by a log into the capture. Returns 0 and prints
// why when there is no device: the test is then to be skipped. Any other failure ends the test.
int test_opencl_open(struct test_opencl *opencl, const struct fcl_device_options *options);
void test_opencl_close(struct test_opencl *opencl);

// The same device again with other options.
void test_opencl_reopen(struct test_opencl *opencl, const struct fcl_device_options *options);

// A buffer of so many zeros; the caller releases it.
cl_mem test_opencl_zeros(const struct test_opencl *opencl, size_t bytes);

#endif
