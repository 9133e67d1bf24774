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

// What a program holds for each of its devices, from malloc; *count is how many the driver gives.
static void *device_array(cl_program program, cl_program_info what, size_t item, size_t *count)
{
    size_t size = 0;
    if (clGetProgramInfo(program, what, 0, NULL, &size) != CL_SUCCESS || size < item)
        return NULL;
    void *array = calloc(size, 1);
    if (array != NULL && clGetProgramInfo(program, what, size, array, NULL) != CL_SUCCESS) {
        free(array);
        return NULL;
    }
    *count = size / item;
    return array;
}

// Which binary belongs to the device: `count` where there is none. Some drivers list only the
// devices that were built for, and the whole device for a part of it; a single one is ours.
static size_t find_slot(cl_program program, cl_device_id device, size_t count)
{
    if (count == 1)
        return 0;
    size_t devices_count = 0, slot = 0;
    cl_device_id *devices =
        device_array(program, CL_PROGRAM_DEVICES, sizeof *devices, &devices_count);
    while (slot < count && (slot >= devices_count || devices[slot] != device))
        slot++;
    free(devices);
    return slot;
}

// Fetches all binaries, because some drivers do not skip slots that are NULL; returns a copy of
// one.
static unsigned char *fetch_binary(cl_program program, const size_t *sizes, size_t count,
                                   size_t slot)
{
    size_t total = 1;
    for (size_t i = 0; i < count; i++)
        total += sizes[i];
    unsigned char *all = malloc(total);
    unsigned char *binary = malloc(sizes[slot]);
    unsigned char **slots = malloc(count * sizeof *slots);
    int good = all != NULL && binary != NULL && slots != NULL;
    if (good) {
        unsigned char *at = all;
        for (size_t i = 0; i < count; at += sizes[i++])
            slots[i] = at;
        good = clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof *slots, slots, NULL) ==
               CL_SUCCESS;
    }
    if (good)
        memcpy(binary, slots[slot], sizes[slot]);
    free(all);
    free(slots);
    if (good)
        return binary;
    free(binary);
    return NULL;
}

unsigned char *fcl_build_binary(cl_program program, cl_device_id device, size_t *size)
{
    size_t count = 0;
    unsigned char *binary = NULL;
    size_t *sizes = device_array(program, CL_PROGRAM_BINARY_SIZES, sizeof *sizes, &count);
    if (sizes == NULL)
        return NULL;
    const size_t slot = find_slot(program, device, count);
    if (slot < count && sizes[slot] > 0) {
        *size = sizes[slot];
        binary = fetch_binary(program, sizes, count, slot);
    }
    free(sizes);
    return binary;
}
