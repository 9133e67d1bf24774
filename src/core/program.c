// From source text to kernels that were seen to work. The warm path (a cached binary) and the cold
// one (the compiler) differ only in how the program object is made; a failing warm path becomes a
// cold one.
#include "program.h"

#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "build_report.h"
#include "retarget.h"

#define KEY_FORMAT 1

static const char *const standards[] = {"-cl-std=CL1.2 ", "", NULL};

// One program being made.
struct making {
    struct fcl_device *device;
    const struct fcl_program_request *request;
    struct fcl_program *program;
    enum fcl_log_level level; // of messages about failures
};

// Logs `what` under the program's label, and the OpenCL error.
static enum fcl_status fail(const struct making *making, enum fcl_status status, cl_int code,
                            const char *what, const char *which)
{
    struct fcl_text text = {0};
    fcl_text_add(&text, "%s: %s%s failed: ", making->request->label, what, which);
    fcl_cl_error_add(&text, code);
    const char *sentence = text.failed ? what : text.data;
    fcl_log_write(&making->device->log, making->level, "%s", sentence);
    fcl_fail(making->request->reason, making->request->reason_size, status, "%s", sentence);
    fcl_text_free(&text);
    return status;
}

// ---- The cache key ----------------------------------------------------------------------------

// Everything that a binary depends on, as text; NULL when memory is out. The caller frees it.
static char *make_key(const struct fcl_device *device, const struct fcl_program_request *request)
{
    struct fcl_text key = {0};
    fcl_text_add(&key, "flashcl program %d\n", KEY_FORMAT);
    fcl_device_add_identity(device, &key);
    fcl_text_add(&key, "flags %s\nkernels", request->flags);
    for (int i = 0; i < FCL_PROGRAM_KERNELS && request->kernels[i] != NULL; i++)
        fcl_text_add(&key, " %s", request->kernels[i]);
    fcl_text_add(&key, "\n\n%s", request->source);
    if (key.failed)
        fcl_text_free(&key);
    return key.data;
}

// ---- From a built program to proven kernels ---------------------------------------------------

static enum fcl_status create_kernels(const struct making *making)
{
    struct fcl_program *program = making->program;
    const char *const *names = making->request->kernels;
    for (int i = 0; i < FCL_PROGRAM_KERNELS && names[i] != NULL; i++) {
        cl_int code;
        program->kernels[i] = clCreateKernel(program->program, names[i], &code);
        if (program->kernels[i] == NULL)
            return fail(making,
                        code == CL_INVALID_KERNEL_NAME ? FCL_BUILD_FAILED : fcl_cl_status(code),
                        code, "clCreateKernel of ", names[i]);
        program->kernel_count = i + 1;
    }
    return FCL_OK;
}

// A number about a kernel; 0 where the driver does not tell.
static uint64_t kernel_number(const struct making *making, cl_kernel kernel,
                              cl_kernel_work_group_info what)
{
    union {
        uint64_t wide;
        uint32_t narrow;
    } value = {0};
    size_t size = 0;
    if (clGetKernelWorkGroupInfo(kernel, making->device->id, what, sizeof value, &value, &size) !=
        CL_SUCCESS)
        return 0;
    return size == sizeof value.wide ? value.wide : value.narrow;
}

static void read_limits(const struct making *making)
{
    struct fcl_program *program = making->program;
    program->group_limit = (size_t)making->device->caps.group_size;
    for (int i = 0; i < program->kernel_count; i++) {
        const cl_kernel kernel = program->kernels[i];
        const uint64_t group = kernel_number(making, kernel, CL_KERNEL_WORK_GROUP_SIZE);
        const uint64_t local = kernel_number(making, kernel, CL_KERNEL_LOCAL_MEM_SIZE);
        const uint64_t private = kernel_number(making, kernel, CL_KERNEL_PRIVATE_MEM_SIZE);
        if (group > 0 && group < program->group_limit)
            program->group_limit = (size_t)group;
        if (local > program->local_bytes)
            program->local_bytes = local;
        if (private > program->private_bytes)
            program->private_bytes = private;
    }
}

static enum fcl_status finish(const struct making *making)
{
    const enum fcl_status status = create_kernels(making);
    if (status != FCL_OK)
        return status;
    read_limits(making);
    if (making->request->proof == NULL)
        return FCL_OK;
    return making->request->proof(making->request->user, making->program);
}

// ---- Warm and cold ----------------------------------------------------------------------------

static cl_int build(const struct making *making)
{
    return fcl_build_program(making->program->program, making->device->id, standards,
                             making->request->flags);
}

// The log of a failed build with the source around each error; of a good one, its warnings.
static void report_build(const struct making *making, cl_int code)
{
    const struct fcl_log *log = &making->device->log;
    const enum fcl_log_level level = code == CL_SUCCESS ? FCL_LOG_DEBUG : making->level;
    if (log->function == NULL || log->level < level)
        return;
    char *text = fcl_build_log(making->program->program, making->device->id);
    if (code == CL_SUCCESS && (text == NULL || text[strspn(text, " \t\r\n")] == 0)) {
        free(text);
        return;
    }
    struct fcl_text report = {0};
    fcl_text_add(&report, "%s: clBuildProgram: ", making->request->label);
    fcl_cl_error_add(&report, code);
    fcl_text_add(&report, "\n");
    fcl_build_report(&report, text, making->request->source);
    free(text);
    if (!report.failed) {
        report.data[report.length - 1] = 0; // messages end without a newline
        fcl_log_write(log, level, "%s", report.data);
    }
    fcl_text_free(&report);
}

// Whether the log of a built program that was retargeted speaks against it.
static enum fcl_status judge_retargeted(const struct making *making)
{
    char *log = fcl_build_log(making->program->program, making->device->id), line[256];
    const int bad = fcl_retarget_warning(log, line, sizeof line);
    free(log);
    if (!bad)
        return FCL_OK;
    fcl_log_write(&making->device->log, making->level, "%s: %s", making->request->label, line);
    return fcl_fail(making->request->reason, making->request->reason_size, FCL_BUILD_FAILED, "%s",
                    line);
}

static enum fcl_status from_binary(const struct making *making, const unsigned char *binary,
                                   size_t size)
{
    const struct fcl_device *device = making->device;
    cl_int code, slot = CL_SUCCESS;
    making->program->program =
        clCreateProgramWithBinary(device->context, 1, &device->id, &size, &binary, &slot, &code);
    if (code == CL_SUCCESS && slot != CL_SUCCESS)
        code = slot;
    if (code != CL_SUCCESS)
        return fail(making, fcl_cl_status(code), code, "clCreateProgramWithBinary", "");
    code = build(making);
    if (making->request->retarget)
        report_build(making, code);
    if (code != CL_SUCCESS)
        return fail(making, FCL_BUILD_FAILED, code, "clBuildProgram from a binary", "");
    const enum fcl_status status = making->request->retarget ? judge_retargeted(making) : FCL_OK;
    return status != FCL_OK ? status : finish(making);
}

// What the compiler complains of first, as the reason.
static void tell_error(const struct making *making)
{
    const struct fcl_program_request *request = making->request;
    if (request->reason == NULL)
        return;
    char *log = fcl_build_log(making->program->program, making->device->id);
    fcl_build_first_error(log, request->reason, request->reason_size);
    free(log);
}

// Goes on from the PTX that a build for sm_90 left, as a rule a failed one. Frees `ptx`. The edited
// text is given with its final 0.
static enum fcl_status retarget(const struct making *making, unsigned char *ptx, size_t size)
{
    const struct fcl_program_request *request = making->request;
    struct fcl_text edited = {0};
    char reason[256] = "no memory for PTX";
    enum fcl_status status = fcl_retarget(ptx, size, &edited, reason, sizeof reason);
    free(ptx);
    clReleaseProgram(making->program->program);
    making->program->program = NULL;
    if (status == FCL_OK) {
        status = from_binary(making, (const unsigned char *)edited.data, edited.length + 1);
    } else {
        fcl_log_write(&making->device->log, making->level, "%s: %s", request->label, reason);
        fcl_fail(request->reason, request->reason_size, status, "%s", reason);
        status = FCL_BUILD_FAILED;
    }
    fcl_text_free(&edited);
    return status;
}

static enum fcl_status from_source(const struct making *making)
{
    const char *source = making->request->source;
    cl_int code;
    making->program->program =
        clCreateProgramWithSource(making->device->context, 1, &source, NULL, &code);
    if (code != CL_SUCCESS)
        return fail(making, fcl_cl_status(code), code, "clCreateProgramWithSource", "");
    code = build(making);
    unsigned char *ptx = NULL;
    size_t size = 0;
    if (making->request->retarget)
        ptx = fcl_build_binary(making->program->program, making->device->id, &size);
    if (ptx != NULL)
        return retarget(making, ptx, size);
    report_build(making, code);
    if (code == CL_SUCCESS)
        return finish(making);
    tell_error(making);
    return FCL_BUILD_FAILED;
}

// Whether the cache has a binary that the driver and the proof accept.
static int load(struct making making, const char *key)
{
    void *binary;
    size_t size;
    if (!fcl_cache_get(making.device->cache, key, &binary, &size))
        return 0;
    making.level = FCL_LOG_DEBUG;
    const enum fcl_status status = from_binary(&making, binary, size);
    free(binary);
    if (status == FCL_OK) {
        making.program->from_cache = 1;
        return 1;
    }
    fcl_log_write(&making.device->log, FCL_LOG_INFO,
                  "%s: the cached binary was rejected (%s); it is built from source",
                  making.request->label, fcl_status_text(status));
    fcl_cache_drop(making.device->cache, key);
    fcl_program_destroy(making.program);
    return 0;
}

static void store(const struct making *making, const char *key)
{
    size_t size = 0;
    unsigned char *binary = fcl_build_binary(making->program->program, making->device->id, &size);
    struct fcl_text edited = {0};
    if (binary != NULL && making->request->retarget &&
        fcl_retarget(binary, size, &edited, NULL, 0) == FCL_OK) // it gives what it compiled from
        fcl_cache_put(making->device->cache, key, making->request->label, edited.data,
                      edited.length + 1);
    else if (binary != NULL)
        fcl_cache_put(making->device->cache, key, making->request->label, binary, size);
    else
        fcl_log_write(&making->device->log, FCL_LOG_DEBUG, "%s: the driver gives no binary",
                      making->request->label);
    fcl_text_free(&edited);
    free(binary);
}

enum fcl_status fcl_program_create(struct fcl_device *device,
                                   const struct fcl_program_request *request,
                                   struct fcl_program *program)
{
    const double start = fcl_now_ms();
    const struct making making = {device, request, program,
                                  request->quiet ? FCL_LOG_DEBUG : FCL_LOG_ERROR};
    char *key = make_key(device, request);
    enum fcl_status status = FCL_OK;
    *program = (struct fcl_program){0};
    if (key == NULL || !load(making, key))
        status = from_source(&making);
    program->build_ms = fcl_now_ms() - start;
    if (status != FCL_OK)
        fcl_program_destroy(program);
    else {
        fcl_log_write(&device->log, request->quiet ? FCL_LOG_DEBUG : FCL_LOG_INFO,
                      "%s: %s in %.1f ms", request->label,
                      program->from_cache ? "loaded from the cache" : "built from source",
                      program->build_ms);
        if (key != NULL && !program->from_cache && !request->read_only)
            store(&making, key);
    }
    free(key);
    return status;
}

void fcl_program_destroy(struct fcl_program *program)
{
    for (int i = 0; i < program->kernel_count; i++)
        clReleaseKernel(program->kernels[i]);
    if (program->program != NULL)
        clReleaseProgram(program->program);
    *program = (struct fcl_program){0};
}

void fcl_program_store(struct fcl_device *device, const struct fcl_program_request *request,
                       const struct fcl_program *program)
{
    struct fcl_program kept = *program;
    const struct making making = {device, request, &kept, FCL_LOG_DEBUG};
    char *key = make_key(device, request);
    if (key != NULL)
        store(&making, key);
    free(key);
}
