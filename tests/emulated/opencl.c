// An OpenCL library with one device: an NVIDIA GPU of compute capability 8.0, emulated item by item
// (items.c). It has what this project calls; commands run when they are enqueued.
#define _GNU_SOURCE
#include "opencl.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "items.h"

static struct _cl_platform_id the_platform;
static struct _cl_device_id devices[] = {{"Emulated sm_80", 8, 0, 162 << 10},
                                         {"Emulated sm_90", 9, 0, 226 << 10}};
#define DEVICES (sizeof devices / sizeof *devices)

void *object_make(size_t size, cl_int *code)
{
    struct object *x = calloc(1, size);
    if (x)
        x->references = 1;
    if (code)
        *code = x ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    return x;
}

cl_int object_retain(void *object)
{
    __atomic_add_fetch(&((struct object *)object)->references, 1, __ATOMIC_SEQ_CST);
    return CL_SUCCESS;
}

int object_release(void *object)
{
    return __atomic_sub_fetch(&((struct object *)object)->references, 1, __ATOMIC_SEQ_CST) == 0;
}

cl_int tell(const void *value, size_t have, size_t size, void *out, size_t *told)
{
    if (told)
        *told = have;
    if (out && size < have)
        return CL_INVALID_VALUE;
    if (out)
        memcpy(out, value, have);
    return CL_SUCCESS;
}

cl_int tell_text(const char *text, size_t size, void *out, size_t *told)
{
    return tell(text, strlen(text) + 1, size, out, told);
}

cl_int tell_size(size_t value, size_t size, void *out, size_t *told)
{
    return tell(&value, sizeof value, size, out, told);
}

cl_int tell_uint(cl_uint value, size_t size, void *out, size_t *told)
{
    return tell(&value, sizeof value, size, out, told);
}

cl_int tell_ulong(cl_ulong value, size_t size, void *out, size_t *told)
{
    return tell(&value, sizeof value, size, out, told);
}

cl_ulong now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (cl_ulong)t.tv_sec * 1000000000 + (cl_ulong)t.tv_nsec;
}

// ---- platform and device

cl_int clGetPlatformIDs(cl_uint limit, cl_platform_id *platforms, cl_uint *count)
{
    if (platforms && limit)
        platforms[0] = &the_platform;
    if (count)
        *count = 1;
    return CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t size, void *out,
                         size_t *told)
{
    (void)platform;
    switch (what) {
    case CL_PLATFORM_NAME:
        return tell_text("Emulated", size, out, told);
    case CL_PLATFORM_VERSION:
        return tell_text("OpenCL 1.2 emulated", size, out, told);
    default:
        return CL_INVALID_VALUE;
    }
}

cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint limit,
                      cl_device_id *ids, cl_uint *count)
{
    (void)platform;
    if (!(type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT)))
        return CL_DEVICE_NOT_FOUND;
    for (cl_uint i = 0; ids && i < limit && i < DEVICES; i++)
        ids[i] = &devices[i];
    if (count)
        *count = DEVICES;
    return CL_SUCCESS;
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void *out,
                       size_t *told)
{
    static const size_t sizes[3] = {ITEMS_LIMIT, ITEMS_LIMIT, 64};
    const cl_device_type type = CL_DEVICE_TYPE_GPU;
    const cl_platform_id platform = &the_platform;
    switch (what) {
    case CL_DEVICE_TYPE:
        return tell(&type, sizeof type, size, out, told);
    case CL_DEVICE_PLATFORM:
        return tell(&platform, sizeof platform, size, out, told);
    case CL_DEVICE_NAME:
        return tell_text(device->name, size, out, told);
    case CL_DEVICE_VENDOR:
        return tell_text("NVIDIA Corporation", size, out, told);
    case CL_DEVICE_VERSION:
        return tell_text("OpenCL 1.2 emulated", size, out, told);
    case CL_DRIVER_VERSION:
        return tell_text("1", size, out, told);
    case CL_DEVICE_OPENCL_C_VERSION:
        return tell_text("OpenCL C 1.2", size, out, told);
    case CL_DEVICE_EXTENSIONS:
        return tell_text("cl_nv_device_attribute_query", size, out, told);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
        return tell(sizes, sizeof sizes, size, out, told);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        return tell_size(ITEMS_LIMIT, size, out, told);
    case CL_DEVICE_PROFILING_TIMER_RESOLUTION:
        return tell_size(1000, size, out, told);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
        return tell_uint(16, size, out, told);
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT:
        return tell_uint(1, size, out, told);
    case CL_DEVICE_ADDRESS_BITS:
        return tell_uint(64, size, out, told);
    case CL_DEVICE_LOCAL_MEM_TYPE:
        return tell_uint(CL_LOCAL, size, out, told);
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
        return tell_uint(2048, size, out, told);
    case CL_DEVICE_IMAGE_SUPPORT:
        return tell_uint(CL_FALSE, size, out, told);
    case 0x4000:
        return tell_uint(device->major, size, out, told); // cl_nv_device_attribute_query
    case 0x4001:
        return tell_uint(device->minor, size, out, told);
    case CL_DEVICE_LOCAL_MEM_SIZE:
        return tell_ulong(48 << 10, size, out, told);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
        return tell_ulong((cl_ulong)8 << 30, size, out, told);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        return tell_ulong((cl_ulong)4 << 30, size, out, told);
    case CL_DEVICE_GLOBAL_MEM_CACHE_SIZE:
        return tell_ulong(1 << 20, size, out, told);
    default:
        return CL_INVALID_VALUE;
    }
}

cl_int clRetainDevice(cl_device_id device)
{
    (void)device;
    return CL_SUCCESS;
}

cl_int clReleaseDevice(cl_device_id device)
{
    (void)device;
    return CL_SUCCESS;
}

// ---- contexts, queues, events

cl_context clCreateContext(const cl_context_properties *properties, cl_uint count,
                           const cl_device_id *ids,
                           void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                           void *user, cl_int *code)
{
    cl_context context = object_make(sizeof *context, code);
    (void)properties, (void)count, (void)notify, (void)user;
    if (context)
        context->device = ids[0];
    return context;
}

cl_int clRetainContext(cl_context context)
{
    return object_retain(context);
}

cl_int clReleaseContext(cl_context context)
{
    if (object_release(context))
        free(context);
    return CL_SUCCESS;
}

cl_int clGetContextInfo(cl_context context, cl_context_info what, size_t size, void *out,
                        size_t *told)
{
    return what == CL_CONTEXT_DEVICES
               ? tell(&context->device, sizeof context->device, size, out, told)
               : CL_INVALID_VALUE;
}

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device,
                                      cl_command_queue_properties properties, cl_int *code)
{
    cl_command_queue queue = object_make(sizeof *queue, code);
    if (queue) {
        queue->context = context;
        queue->device = device;
        queue->properties = properties;
    }
    return queue;
}

cl_int clReleaseCommandQueue(cl_command_queue queue)
{
    if (object_release(queue))
        free(queue);
    return CL_SUCCESS;
}

cl_int clGetCommandQueueInfo(cl_command_queue queue, cl_command_queue_info what, size_t size,
                             void *out, size_t *told)
{
    switch (what) {
    case CL_QUEUE_CONTEXT:
        return tell(&queue->context, sizeof queue->context, size, out, told);
    case CL_QUEUE_DEVICE:
        return tell(&queue->device, sizeof queue->device, size, out, told);
    case CL_QUEUE_PROPERTIES:
        return tell(&queue->properties, sizeof queue->properties, size, out, told);
    default:
        return CL_INVALID_VALUE;
    }
}

cl_int clFlush(cl_command_queue queue)
{
    (void)queue;
    return CL_SUCCESS;
}

cl_int clFinish(cl_command_queue queue)
{
    (void)queue;
    return CL_SUCCESS;
}

cl_int done(cl_event *event, cl_ulong start)
{
    if (!event)
        return CL_SUCCESS;
    cl_int code;
    *event = object_make(sizeof **event, &code);
    if (*event)
        **event =
            (struct _cl_event){.object = {1}, .status = CL_COMPLETE, .start = start, .end = now()};
    return code;
}

cl_int clRetainEvent(cl_event event)
{
    return object_retain(event);
}

cl_int clReleaseEvent(cl_event event)
{
    if (object_release(event))
        free(event);
    return CL_SUCCESS;
}

cl_int clWaitForEvents(cl_uint count, const cl_event *events)
{
    (void)count, (void)events;
    return CL_SUCCESS;
}

cl_int clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *out, size_t *told)
{
    return what == CL_EVENT_COMMAND_EXECUTION_STATUS
               ? tell(&event->status, sizeof event->status, size, out, told)
               : CL_INVALID_VALUE;
}

cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info what, size_t size, void *out,
                               size_t *told)
{
    return tell_ulong(what == CL_PROFILING_COMMAND_END ? event->end : event->start, size, out,
                      told);
}

// Nothing waits for one: commands have been run before it is set.
cl_event clCreateUserEvent(cl_context context, cl_int *code)
{
    cl_event event = object_make(sizeof *event, code);
    (void)context;
    if (event)
        event->status = CL_SUBMITTED;
    return event;
}

cl_int clSetUserEventStatus(cl_event event, cl_int status)
{
    event->status = status;
    return CL_SUCCESS;
}

cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *events,
                                   cl_event *event)
{
    (void)queue, (void)count, (void)events;
    return done(event, now());
}

// ---- memory

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code)
{
    cl_mem memory = object_make(sizeof *memory, code);
    if (!memory)
        return NULL;
    memory->context = context;
    memory->size = size;
    memory->data = aligned_alloc(256, (size + 255) / 256 * 256);
    if (!memory->data) {
        free(memory);
        if (code)
            *code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
        return NULL;
    }
    if (flags & CL_MEM_COPY_HOST_PTR)
        memcpy(memory->data, host, size);
    return memory;
}

cl_int clRetainMemObject(cl_mem memory)
{
    return object_retain(memory);
}

cl_int clReleaseMemObject(cl_mem memory)
{
    if (object_release(memory)) {
        free(memory->data);
        free(memory);
    }
    return CL_SUCCESS;
}

cl_int clGetMemObjectInfo(cl_mem memory, cl_mem_info what, size_t size, void *out, size_t *told)
{
    switch (what) {
    case CL_MEM_SIZE:
        return tell_size(memory->size, size, out, told);
    case CL_MEM_CONTEXT:
        return tell(&memory->context, sizeof memory->context, size, out, told);
    default:
        return CL_INVALID_VALUE;
    }
}

static int outside(cl_mem memory, size_t offset, size_t size)
{
    return offset > memory->size || size > memory->size - offset;
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset,
                           size_t size, void *out, cl_uint count, const cl_event *events,
                           cl_event *event)
{
    const cl_ulong start = now();
    (void)queue, (void)blocking, (void)count, (void)events;
    if (outside(memory, offset, size))
        return CL_INVALID_VALUE;
    memcpy(out, memory->data + offset, size);
    return done(event, start);
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset,
                            size_t size, const void *from, cl_uint count, const cl_event *events,
                            cl_event *event)
{
    const cl_ulong start = now();
    (void)queue, (void)blocking, (void)count, (void)events;
    if (outside(memory, offset, size))
        return CL_INVALID_VALUE;
    memcpy(memory->data + offset, from, size);
    return done(event, start);
}

cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
                           size_t to_offset, size_t size, cl_uint count, const cl_event *events,
                           cl_event *event)
{
    const cl_ulong start = now();
    (void)queue, (void)count, (void)events;
    if (outside(from, from_offset, size) || outside(to, to_offset, size))
        return CL_INVALID_VALUE;
    memmove(to->data + to_offset, from->data + from_offset, size);
    return done(event, start);
}

cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem memory, const void *pattern,
                           size_t pattern_size, size_t offset, size_t size, cl_uint count,
                           const cl_event *events, cl_event *event)
{
    const cl_ulong start = now();
    (void)queue, (void)count, (void)events;
    if (outside(memory, offset, size) || !pattern_size || size % pattern_size)
        return CL_INVALID_VALUE;
    for (size_t at = 0; at < size; at += pattern_size)
        memcpy(memory->data + offset + at, pattern, pattern_size);
    return done(event, start);
}
