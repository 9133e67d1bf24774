// Finds an OpenCL device for tests.
#include "cmocka_all.h"

#include <stdio.h>

#include "opencl.h"

#define MANY 16

static int matches(const char *wanted, cl_platform_id platform, cl_device_id id)
{
    char name[256] = "", platform_name[256] = "";
    clGetDeviceInfo(id, CL_DEVICE_NAME, sizeof name, name, NULL);
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof platform_name, platform_name, NULL);
    return !wanted || strstr(name, wanted) || strstr(platform_name, wanted);
}

static cl_device_id find_device(const char *wanted)
{
    cl_platform_id platforms[MANY];
    cl_uint platform_count = 0;
    if (clGetPlatformIDs(MANY, platforms, &platform_count))
        return NULL;
    for (cl_uint p = 0; p < platform_count && p < MANY; p++) {
        cl_device_id ids[MANY];
        cl_uint count = 0;
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MANY, ids, &count))
            continue;
        for (cl_uint d = 0; d < count && d < MANY; d++)
            if (matches(wanted, platforms[p], ids[d]))
                return ids[d];
    }
    return NULL;
}

void test_opencl_reopen(struct test_opencl *opencl, const struct fcl_device_options *options)
{
    struct fcl_device_options with_log = {0};
    fcl_device_destroy(&opencl->device);
    if (options)
        with_log = *options;
    with_log.struct_size = sizeof with_log;
    with_log.log = test_capture_log(&opencl->capture);
    assert_int_equal(fcl_device_create(opencl->context, opencl->id, &with_log, &opencl->device),
                     FCL_OK);
}

int test_opencl_open(struct test_opencl *opencl, const struct fcl_device_options *options)
{
    const char *wanted = getenv("FCL_TEST_DEVICE");
    cl_int code;
    memset(opencl, 0, sizeof *opencl);
    opencl->id = find_device(wanted);
    if (!opencl->id) {
        print_message("skipped: no OpenCL device%s%s\n", wanted ? " named " : "",
                      wanted ? wanted : "");
        return 0;
    }
    opencl->context = clCreateContext(NULL, 1, &opencl->id, NULL, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    opencl->queue = clCreateCommandQueue(opencl->context, opencl->id, 0, &code);
    assert_int_equal(code, CL_SUCCESS);
    test_opencl_reopen(opencl, options);
    return 1;
}

void test_opencl_close(struct test_opencl *opencl)
{
    fcl_device_destroy(&opencl->device);
    if (opencl->queue)
        clReleaseCommandQueue(opencl->queue);
    if (opencl->context)
        clReleaseContext(opencl->context);
    memset(opencl, 0, sizeof *opencl);
}

cl_mem test_opencl_zeros(const struct test_opencl *opencl, size_t bytes)
{
    cl_int code;
    void *zeros = calloc(1, bytes);
    cl_mem buffer = clCreateBuffer(opencl->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes,
                                   zeros, &code);
    assert_int_equal(code, CL_SUCCESS);
    free(zeros);
    return buffer;
}
