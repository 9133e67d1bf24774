#include "argument.h"

enum fcl_status fcl_queue_check(const struct fcl_device *device, cl_command_queue queue)
{
    cl_context context = NULL;
    cl_device_id id = NULL;
    cl_int code =
        clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, (void *)&context, NULL);
    if (!code)
        code = clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof id, (void *)&id, NULL);
    if (code)
        return fcl_device_fail(device, FCL_INVALID_ARGUMENT, "queue is no queue: %s",
                               fcl_cl_error_text(code));
    if (context != device->context || id != device->id)
        return fcl_device_fail(device, FCL_INVALID_ARGUMENT,
                               "queue belongs to another %s than the one launched on",
                               id != device->id ? "device" : "context");
    return FCL_OK;
}

enum fcl_status fcl_buffer_check(const struct fcl_device *device, const char *name, cl_mem buffer,
                                 uint64_t end)
{
    size_t bytes = 0;
    cl_context context = NULL;
    if (!end)
        return FCL_OK;
    if (!buffer)
        return fcl_device_fail(device, FCL_INVALID_ARGUMENT,
                               "%s is NULL, the launch needs %llu bytes", name,
                               (unsigned long long)end);
    cl_int code = clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    if (!code)
        code = clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof context, (void *)&context, NULL);
    if (!code && context != device->context)
        code = CL_INVALID_CONTEXT;
    if (code)
        return fcl_device_fail(device, FCL_INVALID_ARGUMENT,
                               "%s is not a buffer of the queue's context: %s", name,
                               fcl_cl_error_text(code));
    if (end > bytes)
        return fcl_device_fail(device, FCL_INVALID_ARGUMENT,
                               "%s holds %zu bytes, the launch needs %llu", name, bytes,
                               (unsigned long long)end);
    return FCL_OK;
}
