// The device handle: made of the caller's context and device, what the device can do, the cache and
// the wisdom.
#include "device.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "device_info.h"

#define REASON_SIZE 512

enum fcl_status fcl_device_fail(const struct fcl_device *device, enum fcl_status status,
                                const char *format, ...)
{
    struct fcl_text text = {0};
    va_list arguments;
    va_start(arguments, format);
    fcl_text_add_list(&text, format, arguments);
    va_end(arguments);
    fcl_log_write(&device->log, FCL_LOG_ERROR, "%s",
                  text.failed ? fcl_status_text(status) : text.data);
    fcl_text_free(&text);
    return status;
}

void fcl_device_add_identity(const struct fcl_device *device, struct fcl_text *text)
{
    const struct fcl_caps *caps = &device->caps;
    const struct {
        const char *name, *value;
    } facts[] = {
        {"library", fcl_version()},     {"device", caps->name},   {"vendor", caps->vendor},
        {"version", caps->version},     {"driver", caps->driver}, {"platform", caps->platform},
        {"on", caps->platform_version},
    };
    for (size_t i = 0; i < FCL_COUNT(facts); i++)
        fcl_text_add(text, "%s %s\n", facts[i].name, facts[i].value);
    fcl_text_add(text, "address bits %llu\n", (unsigned long long)caps->address_bits);
}

enum fcl_status fcl_device_learn(fcl_device *device, const struct fcl_wisdom_row *row)
{
    pthread_mutex_lock(&device->wisdom_lock);
    const enum fcl_status status = fcl_wisdom_add(device->wisdom, row);
    pthread_mutex_unlock(&device->wisdom_lock);
    return status;
}

enum fcl_status fcl_device_save_wisdom(fcl_device *device)
{
    char reason[REASON_SIZE] = "";
    if (device->wisdom_file == NULL)
        return FCL_OK;
    pthread_mutex_lock(&device->wisdom_lock);
    const enum fcl_status status =
        fcl_wisdom_save(device->wisdom, device->wisdom_file, reason, sizeof reason);
    pthread_mutex_unlock(&device->wisdom_lock);
    return status == FCL_OK ? FCL_OK
                            : fcl_device_fail(device, status, "wisdom was not written: %s", reason);
}

cl_command_queue fcl_device_queue(const struct fcl_device *device, cl_int *code)
{
    cl_command_queue queue =
        clCreateCommandQueue(device->context, device->id, CL_QUEUE_PROFILING_ENABLE, code);
    if (queue == NULL)
        queue = clCreateCommandQueue(device->context, device->id, 0, code);
    return queue;
}

// Whether the context has the device.
static enum fcl_status check_context(const struct fcl_device *device, cl_context context,
                                     cl_device_id id)
{
    size_t size = 0;
    cl_int code = clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &size);
    if (code == CL_INVALID_CONTEXT)
        return fcl_device_fail(device, FCL_INVALID_ARGUMENT, "context is not a valid context");
    if (code != CL_SUCCESS)
        return fcl_cl_fail(device, code, "clGetContextInfo(CL_CONTEXT_DEVICES)");
    cl_device_id *devices = malloc(size > 0 ? size : 1);
    if (devices == NULL)
        return fcl_device_fail(device, FCL_OUT_OF_MEMORY, "no memory for a list of devices");
    code = clGetContextInfo(context, CL_CONTEXT_DEVICES, size, devices, NULL);
    const size_t count = size / sizeof *devices;
    int found = 0;
    for (size_t i = 0; code == CL_SUCCESS && i < count; i++)
        found = found || devices[i] == id;
    free(devices);
    if (code != CL_SUCCESS)
        return fcl_cl_fail(device, code, "clGetContextInfo(CL_CONTEXT_DEVICES)");
    if (!found)
        return fcl_device_fail(device, FCL_INVALID_ARGUMENT,
                               "device is none of the %zu devices of the context; allowed is one "
                               "that the context was created with",
                               count);
    return FCL_OK;
}

static enum fcl_status retain(struct fcl_device *device, cl_context context, cl_device_id id)
{
    cl_int code = clRetainContext(context);
    if (code != CL_SUCCESS)
        return fcl_cl_fail(device, code, "clRetainContext");
    device->context = context;
    code = clRetainDevice(id);
    if (code != CL_SUCCESS)
        return fcl_cl_fail(device, code, "clRetainDevice");
    device->id = id;
    return FCL_OK;
}

static enum fcl_status read_caps(struct fcl_device *device, const char *mask)
{
    char reason[REASON_SIZE] = "";
    const cl_int code = fcl_device_info_read(device->id, &device->caps);
    if (code != CL_SUCCESS)
        return fcl_cl_fail(device, code, "clGetDeviceInfo(CL_DEVICE_TYPE)");
    if (mask == NULL)
        return FCL_OK;
    const enum fcl_status status = fcl_caps_mask(&device->caps, mask, reason, sizeof reason);
    return status == FCL_OK ? FCL_OK : fcl_device_fail(device, status, "%s", reason);
}

// Copies an optional text of the options. 0 when memory is out.
static int copy_option(char **copy, const char *text)
{
    *copy = text != NULL ? fcl_text_copy(text) : NULL;
    return text == NULL || *copy != NULL;
}

static enum fcl_status load_wisdom(struct fcl_device *device)
{
    char reason[REASON_SIZE] = "";
    size_t skipped = 0;
    if (device->wisdom_file == NULL || (access(device->wisdom_file, F_OK) != 0 && errno == ENOENT))
        return FCL_OK;
    const enum fcl_status status =
        fcl_wisdom_load(device->wisdom, device->wisdom_file, &skipped, reason, sizeof reason);
    if (status != FCL_OK)
        return fcl_device_fail(device, status, "wisdom file %s: %s", device->wisdom_file, reason);
    if (skipped > 0)
        fcl_log_write(&device->log, FCL_LOG_INFO,
                      "wisdom file %s: %zu rows skipped, whose configurations are not known here",
                      device->wisdom_file, skipped);
    return FCL_OK;
}

static enum fcl_status fill(struct fcl_device *device, cl_context context, cl_device_id id,
                            const struct fcl_device_options *options)
{
    if (context == NULL || id == NULL)
        return fcl_device_fail(device, FCL_INVALID_ARGUMENT, "%s is NULL; allowed is a valid one",
                               context == NULL ? "context" : "device");
    enum fcl_status status = check_context(device, context, id);
    if (status == FCL_OK)
        status = retain(device, context, id);
    if (status == FCL_OK)
        status = read_caps(device, options->caps_mask);
    if (status != FCL_OK)
        return status;
    device->cache = fcl_cache_create(options->cache_folder, options->cache_limit, &options->cache,
                                     &device->log);
    device->wisdom = fcl_wisdom_create();
    if (device->cache == NULL || device->wisdom == NULL ||
        !copy_option(&device->wisdom_file, options->wisdom_file) ||
        !copy_option(&device->kernel_folder, options->kernel_folder))
        return fcl_device_fail(device, FCL_OUT_OF_MEMORY, "no memory for a device handle");
    return load_wisdom(device);
}

// Where marks begin: what differs between any two devices, hashed.
static uint64_t first_mark(const struct fcl_device *device)
{
    struct timespec now = {0};
    timespec_get(&now, TIME_UTC);
    const uint64_t facts[] = {(uint64_t)now.tv_sec, (uint64_t)now.tv_nsec,
                              (uint64_t)(uintptr_t)device};
    return XXH64(facts, sizeof facts, 0);
}

uint64_t fcl_device_mark(fcl_device *device, uint64_t count)
{
    pthread_mutex_lock(&device->lock);
    const uint64_t mark = device->mark;
    device->mark += count;
    pthread_mutex_unlock(&device->lock);
    return mark;
}

enum fcl_status fcl_device_create(cl_context context, cl_device_id device,
                                  const struct fcl_device_options *options, fcl_device **created)
{
    struct fcl_device_options today = {0};
    if (created == NULL)
        return FCL_INVALID_ARGUMENT;
    *created = NULL;
    // Of another size, not even the log in it could be trusted.
    if (options != NULL && !fcl_struct_read(&today, sizeof today, options))
        return FCL_INVALID_ARGUMENT;
    struct fcl_device *made = calloc(1, sizeof *made);
    if (made == NULL || pthread_mutex_init(&made->lock, NULL) != 0 ||
        pthread_mutex_init(&made->wisdom_lock, NULL) != 0) {
        free(made);
        return FCL_OUT_OF_MEMORY;
    }
    made->log = today.log;
    made->mark = first_mark(made);
    const enum fcl_status status = fill(made, context, device, &today);
    if (status != FCL_OK)
        fcl_device_destroy(&made);
    *created = made;
    return status;
}

void fcl_device_destroy(fcl_device **device)
{
    if (device == NULL || *device == NULL)
        return;
    struct fcl_device *old = *device;
    *device = NULL;
    if (old->client != NULL && old->client_destroy != NULL)
        old->client_destroy(old->client);
    fcl_cache_destroy(old->cache);
    fcl_wisdom_destroy(&old->wisdom);
    free(old->wisdom_file);
    free(old->kernel_folder);
    if (old->id != NULL)
        clReleaseDevice(old->id);
    if (old->context != NULL)
        clReleaseContext(old->context);
    pthread_mutex_destroy(&old->lock);
    pthread_mutex_destroy(&old->wisdom_lock);
    free(old);
}

const struct fcl_caps *fcl_device_caps(const fcl_device *device)
{
    return device != NULL ? &device->caps : NULL;
}
