// Device memory of a kernel's vector arguments.
#include "kernel_buffer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GUARD_BYTES 4096
#define GUARD_BYTE 0xa5
#define POISON_BYTE 0xff // NaN in every real type

// Bytes of a guard band: what stands behind it is aligned as the device wants.
static size_t guard_bytes(const struct fcl_device *device)
{
    cl_uint bits = 0;
    if (clGetDeviceInfo(device->id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL) !=
        CL_SUCCESS)
        bits = 0;
    return (size_t)fcl_max(GUARD_BYTES, bits / 8);
}

static enum fcl_status fill(const struct fcl_kernel_form *form, size_t argument,
                            struct fcl_kernel_buffer *buffer, char *reason, size_t size)
{
    const struct fcl_kernel_argument *a = &form->spec.arguments[argument];
    unsigned char *data = buffer->image + (buffer->written ? buffer->guard : 0);
    unsigned char element[128];
    const size_t step = fcl_element_size(a->type);
    if (buffer->poisoned)
        memset(data, POISON_BYTE, buffer->bytes);
    else if (a->fill == FCL_KERNEL_RANDOM)
        fcl_data_fill_random(data, a->type.scalar, buffer->scalars, a->low, a->high, a->seed);
    else if (a->fill == FCL_KERNEL_BYTES)
        memcpy(data, a->bytes, buffer->bytes);
    else {
        const enum fcl_status status = fcl_kernel_element(
            form, argument, fcl_space_point(form->spec.space, 0), element, reason, size);
        if (status != FCL_OK)
            return status;
        for (size_t at = 0; at < buffer->bytes; at += step)
            memcpy(data + at, element, step);
    }
    return FCL_OK;
}

static cl_int create_memory(const struct fcl_device *device, struct fcl_kernel_buffer *buffer)
{
    cl_int code;
    const cl_buffer_region region = {buffer->guard, buffer->bytes};
    buffer->whole = clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                   buffer->size, buffer->image, &code);
    if (code != CL_SUCCESS)
        return code;
    if (buffer->written)
        buffer->part = clCreateSubBuffer(buffer->whole, CL_MEM_READ_WRITE,
                                         CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    else {
        buffer->part = buffer->whole;
        code = clRetainMemObject(buffer->whole);
    }
    return code;
}

enum fcl_status fcl_kernel_buffer_create(struct fcl_device *device,
                                         const struct fcl_kernel_form *form, size_t argument,
                                         struct fcl_kernel_buffer *buffer)
{
    const struct fcl_kernel_argument *a = &form->spec.arguments[argument];
    char name[FCL_ARGUMENT_NAME_SIZE], reason[256];
    fcl_kernel_argument_name(&form->spec, argument, name);
    *buffer = (struct fcl_kernel_buffer){.bytes = form->arguments[argument].bytes,
                                         .guard = guard_bytes(device),
                                         .written = a->access != FCL_KERNEL_READ,
                                         .poisoned = a->access == FCL_KERNEL_WRITE,
                                         .scalar = a->type.scalar};
    buffer->scalars =
        form->arguments[argument].count_all * (size_t)(a->type.lanes > 1 ? a->type.lanes : 1);
    buffer->size = buffer->bytes + buffer->guard * (buffer->written ? 2 : 1);
    if (buffer->size > device->caps.allocation_bytes)
        return fcl_device_fail(
            device, FCL_OUT_OF_MEMORY,
            "%s needs %zu bytes with its guard bands; a buffer of %llu is allowed", name,
            buffer->size, (unsigned long long)device->caps.allocation_bytes);
    buffer->image = malloc(buffer->size);
    if (buffer->image == NULL)
        return fcl_device_fail(device, FCL_OUT_OF_MEMORY, "%s: no memory for %zu bytes", name,
                               buffer->size);
    memset(buffer->image, GUARD_BYTE, buffer->size);
    if (!buffer->written) // reading too far shows
        memset(buffer->image + buffer->bytes, POISON_BYTE, buffer->guard);
    const enum fcl_status status = fill(form, argument, buffer, reason, sizeof reason);
    if (status != FCL_OK)
        return fcl_device_fail(device, status, "%s", reason);
    const cl_int code = create_memory(device, buffer);
    return code == CL_SUCCESS ? FCL_OK : fcl_cl_fail(device, code, "clCreateBuffer");
}

void fcl_kernel_buffer_free(struct fcl_kernel_buffer *buffer)
{
    if (buffer->part != NULL)
        clReleaseMemObject(buffer->part);
    if (buffer->whole != NULL)
        clReleaseMemObject(buffer->whole);
    free(buffer->image);
    free(buffer->expected);
    *buffer = (struct fcl_kernel_buffer){0};
}

cl_int fcl_kernel_buffer_restore(const struct fcl_kernel_buffer *buffer, cl_command_queue queue)
{
    return clEnqueueWriteBuffer(queue, buffer->whole, CL_TRUE, 0, buffer->size, buffer->image, 0,
                                NULL, NULL);
}

cl_int fcl_kernel_buffer_read(const struct fcl_kernel_buffer *buffer, cl_command_queue queue,
                              void *copy)
{
    return clEnqueueReadBuffer(queue, buffer->whole, CL_TRUE, 0, buffer->size, copy, 0, NULL, NULL);
}

// Whole numbers have no NaN: their poison is what each of them must not become.
static void sharpen_poison(struct fcl_kernel_buffer *buffer)
{
    unsigned char *data = buffer->image + buffer->guard;
    if (buffer->poisoned && !fcl_scalar_is_real(buffer->scalar))
        for (size_t i = 0; i < buffer->bytes; i++)
            data[i] = (unsigned char)~buffer->expected[i];
}

enum fcl_status fcl_kernel_buffer_expect(struct fcl_kernel_buffer *buffer,
                                         const struct fcl_kernel_argument *argument,
                                         const void *expected)
{
    buffer->expected = malloc(buffer->bytes);
    if (buffer->expected == NULL)
        return FCL_OUT_OF_MEMORY;
    memcpy(buffer->expected, expected, buffer->bytes);
    buffer->tolerance = fcl_data_tolerance(argument, expected, buffer->scalars);
    sharpen_poison(buffer);
    return FCL_OK;
}

static int guards_hold(const struct fcl_kernel_buffer *buffer, const unsigned char *copy,
                       int *behind)
{
    const unsigned char *bands[] = {copy, copy + buffer->guard + buffer->bytes};
    for (*behind = 0; *behind < 2; (*behind)++)
        for (size_t i = 0; i < buffer->guard; i++)
            if (bands[*behind][i] != GUARD_BYTE)
                return 0;
    return 1;
}

enum fcl_status fcl_kernel_buffer_judge(const struct fcl_kernel_buffer *buffer, const char *name,
                                        const unsigned char *copy, double *ratio, char *reason,
                                        size_t size)
{
    char got[FCL_SCALAR_SIZE], wanted[FCL_SCALAR_SIZE];
    int behind;
    if (!guards_hold(buffer, copy, &behind)) {
        *ratio = INFINITY;
        return fcl_fail(reason, size, FCL_WRONG_RESULT, "%s: the kernel wrote %s it", name,
                        behind ? "behind" : "before");
    }
    if (buffer->expected == NULL)
        return FCL_OK;
    const unsigned char *data = copy + buffer->guard;
    const struct fcl_data_comparison comparison = fcl_data_compare(
        data, buffer->expected, buffer->scalar, buffer->scalars, buffer->tolerance);
    *ratio = fmax(*ratio, comparison.ratio);
    if (comparison.wrong == 0)
        return FCL_OK;
    const size_t at = comparison.first * (buffer->bytes / buffer->scalars);
    fcl_scalar_format(data + at, buffer->scalar, got);
    fcl_scalar_format(buffer->expected + at, buffer->scalar, wanted);
    return fcl_fail(reason, size, FCL_WRONG_RESULT,
                    "%s: %zu of %zu numbers are wrong; number %zu is %s, expected %s", name,
                    comparison.wrong, buffer->scalars, comparison.first, got, wanted);
}
