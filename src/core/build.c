// Calls the driver's compiler and fetches what it says and makes.
#include "build.h"

#include <stdlib.h>
#include <string.h>

#include "text.h"

#define INVALID_COMPILER_OPTIONS (-66) // of later headers

// Whether the driver objects to the options, not to the program. Some say so only in the log.
static int rejects_options(cl_program program, cl_device_id device, cl_int code)
{
    if (code == CL_INVALID_BUILD_OPTIONS || code == INVALID_COMPILER_OPTIONS)
        return 1;
    if (code == CL_SUCCESS)
        return 0;
    char *log = fcl_build_log(program, device);
    const int named = log != NULL && strstr(log, "cl-std") != NULL;
    free(log);
    return named;
}

cl_int fcl_build_program(cl_program program, cl_device_id device, const char *const *standards,
                         const char *flags)
{
    cl_int code = CL_SUCCESS;
    for (; *standards != NULL; standards++) {
        struct fcl_text options = {0};
        fcl_text_add(&options, "%s%s", *standards, flags);
        code = options.failed ? CL_OUT_OF_HOST_MEMORY
                              : clBuildProgram(program, 1, &device, options.data, NULL, NULL);
        fcl_text_free(&options);
        if (!rejects_options(program, device, code))
            break;
    }
    return code;
}

char *fcl_build_log(cl_program program, cl_device_id device)
{
    size_t size = 0;
    if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) !=
            CL_SUCCESS ||
        size == 0)
        return NULL;
    char *log = calloc(size + 1, 1); // some drivers forget the final 0
    if (log != NULL && clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log,
                                             NULL) != CL_SUCCESS) {
        free(log);
        return NULL;
    }
    return log;
}

// An array from malloc that a program holds for each of its devices.
static void *device_array(cl_program program, cl_program_info what, cl_uint count, size_t item)
{
    void *array = calloc(count, item);
    if (array != NULL && clGetProgramInfo(program, what, count * item, array, NULL) != CL_SUCCESS) {
        free(array);
        return NULL;
    }
    return array;
}

// Fetches one of `count` binaries; drivers skip the slots whose pointer is NULL.
static unsigned char *fetch_binary(cl_program program, cl_uint count, cl_uint slot, size_t size)
{
    unsigned char *binary = malloc(size);
    unsigned char **slots = calloc(count, sizeof *slots);
    if (binary != NULL && slots != NULL) {
        slots[slot] = binary;
        if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof *slots, slots, NULL) ==
            CL_SUCCESS) {
            free(slots);
            return binary;
        }
    }
    free(binary);
    free(slots);
    return NULL;
}

unsigned char *fcl_build_binary(cl_program program, cl_device_id device, size_t *size)
{
    cl_uint count = 0;
    if (clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof count, &count, NULL) !=
            CL_SUCCESS ||
        count == 0)
        return NULL;
    cl_device_id *devices = device_array(program, CL_PROGRAM_DEVICES, count, sizeof *devices);
    size_t *sizes = device_array(program, CL_PROGRAM_BINARY_SIZES, count, sizeof *sizes);
    unsigned char *binary = NULL;
    for (cl_uint i = 0; devices != NULL && sizes != NULL && i < count; i++) {
        if (devices[i] != device || sizes[i] == 0)
            continue;
        *size = sizes[i];
        binary = fetch_binary(program, count, i, sizes[i]);
        break;
    }
    free(devices);
    free(sizes);
    return binary;
}
