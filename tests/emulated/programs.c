// Programs and kernels of the emulated OpenCL library: clang compiles them for the CPU after
// translate.py has made calls of inline PTX. Where a program does not compile or a kernel goes
// wrong, stderr says why. EMULATED_FOLDER: where translate.py and prelude.cl are; EMULATED_CLANG:
// the compiler.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "items.h"
#include "opencl.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // items run for one kernel at a time

// ---- programs

cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char **texts,
                                     const size_t *lengths, cl_int *code)
{
    cl_program program = object_make(sizeof *program, code);
    (void)context, (void)count, (void)lengths;
    if (program)
        program->source = strdup(texts[0]);
    return program;
}

// A binary is text that looks like PTX as far as core/retarget.c reads it, and has the source in
// comments.
static char *make_binary(const char *source)
{
    static const char head[] = ".target sm_90, emulated\n.reqntid 1\n//";
    char *binary = malloc(sizeof head + 3 * strlen(source) + 1), *to = binary;
    if (!binary)
        return NULL;
    memcpy(to, head, sizeof head - 1);
    to += sizeof head - 1;
    for (const char *c = source; *c; c++) {
        *to++ = *c;
        if (*c == '\n') {
            *to++ = '/';
            *to++ = '/';
        }
    }
    *to = 0;
    return binary;
}

cl_program clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id *ids,
                                     const size_t *sizes, const unsigned char **binaries,
                                     cl_int *status, cl_int *code)
{
    cl_program program = object_make(sizeof *program, code);
    (void)context, (void)count, (void)ids;
    if (!program)
        return NULL;
    char *text = strndup((const char *)binaries[0], sizes[0]), *rest = text, *to;
    program->source = to = calloc(1, sizes[0] + 1);
    for (char *line; text && to && (line = strsep(&rest, "\n"));)
        if (!strncmp(line, "//", 2))
            to += sprintf(to, "%s\n", line + 2);
    free(text);
    if (status)
        *status = CL_SUCCESS;
    return program;
}

cl_int clReleaseProgram(cl_program program)
{
    if (object_release(program)) {
        if (program->library)
            dlclose(program->library);
        free(program->source);
        free(program->log);
        free(program);
    }
    return CL_SUCCESS;
}

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    if (f && text && !fread(text, 1, (1 << 20) - 1, f))
        text[0] = 0;
    if (f)
        fclose(f);
    return text;
}

// FOLDER/a.cl, preprocessed and without PTX, as the shared library FOLDER/b.so; what went wrong is
// in FOLDER/log.
static int compile(const char *folder)
{
    static const char language[] = "-x cl -cl-std=CL1.2 -Dcl_khr_fp16=1 -w";
    const char *clang = getenv("EMULATED_CLANG"), *own = getenv("EMULATED_FOLDER");
    char command[4096];
    snprintf(command, sizeof command,
             "cd '%s' && { '%s' %s -E -P -D__NV_CL_C_VERSION=120 a.cl | python3 '%s/translate.py' "
             "'%s/prelude.cl' >b.cl && "
             "'%s' %s -O0 -fPIC -c -o b.o b.cl && '%s' -shared -o "
             "b.so b.o; } >log 2>&1",
             folder, clang, language, own, own, clang, language, clang);
    return clang && own ? system(command) : -1;
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    if (f) {
        fputs(text, f);
        fclose(f);
    }
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                      const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                      void *user)
{
    const char *temporary = getenv("TMPDIR");
    char folder[512], path[600];
    (void)count, (void)devices, (void)options, (void)notify, (void)user;
    snprintf(folder, sizeof folder, "%s/emulated-XXXXXX", temporary ? temporary : "/tmp");
    if (!mkdtemp(folder))
        return CL_OUT_OF_HOST_MEMORY;
    snprintf(path, sizeof path, "%s/a.cl", folder);
    write_file(path, program->source);
    const int failed = compile(folder);
    snprintf(path, sizeof path, "%s/log", folder);
    free(program->log);
    program->log = read_file(path);
    snprintf(path, sizeof path, "%s/b.so", folder);
    if (!failed)
        program->library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!program->library)
        fprintf(stderr, "emulated: a program does not compile\n%.2000s\n", program->log);
    snprintf(path, sizeof path, "rm -rf '%s'", folder);
    if (system(path))
        fprintf(stderr, "emulated: %s stays\n", folder);
    return program->library ? CL_SUCCESS : CL_BUILD_PROGRAM_FAILURE;
}

cl_int clGetProgramBuildInfo(cl_program program, cl_device_id device, cl_program_build_info what,
                             size_t size, void *out, size_t *told)
{
    (void)device;
    return what == CL_PROGRAM_BUILD_LOG
               ? tell_text(program->log ? program->log : "", size, out, told)
               : CL_INVALID_VALUE;
}

cl_int clGetProgramInfo(cl_program program, cl_program_info what, size_t size, void *out,
                        size_t *told)
{
    char *binary = make_binary(program->source);
    const size_t have = binary ? strlen(binary) + 1 : 0;
    cl_int code = CL_INVALID_VALUE;
    if (what == CL_PROGRAM_BINARY_SIZES)
        code = tell_size(have, size, out, told);
    if (what == CL_PROGRAM_BINARIES && binary) {
        if (out)
            memcpy(*(unsigned char **)out, binary, have);
        code = CL_SUCCESS;
    }
    free(binary);
    return code;
}

// ---- kernels

cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *code)
{
    char symbol[300];
    cl_kernel kernel = object_make(sizeof *kernel, code);
    if (!kernel)
        return NULL;
    snprintf(kernel->name, sizeof kernel->name, "%s", name);
    snprintf(symbol, sizeof symbol, "emulate_kinds_%s", name);
    kernel->kinds = dlsym(program->library, symbol);
    snprintf(symbol, sizeof symbol, "emulate_call_%s", name);
    *(void **)&kernel->call = dlsym(program->library, symbol);
    if (!kernel->kinds || !kernel->call || strlen(kernel->kinds) > ARGUMENTS_LIMIT) {
        free(kernel);
        if (code)
            *code = CL_INVALID_KERNEL_NAME;
        return NULL;
    }
    kernel->program = program;
    object_retain(program);
    return kernel;
}

cl_int clReleaseKernel(cl_kernel kernel)
{
    if (object_release(kernel)) {
        for (int i = 0; i < ARGUMENTS_LIMIT; i++)
            free(kernel->values[i]);
        clReleaseProgram(kernel->program);
        free(kernel);
    }
    return CL_SUCCESS;
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    if (index >= strlen(kernel->kinds))
        return CL_INVALID_ARG_INDEX;
    void *copy = calloc(1, size + 8);
    if (!copy)
        return CL_OUT_OF_HOST_MEMORY;
    if (kernel->kinds[index] == 'v') {
        memcpy(copy, value, size);
    } else if (value && *(const cl_mem *)value) {
        memcpy(copy, &(*(const cl_mem *)value)->data, sizeof(void *));
    }
    free(kernel->values[index]);
    kernel->values[index] = copy;
    return CL_SUCCESS;
}

cl_int clGetKernelInfo(cl_kernel kernel, cl_kernel_info what, size_t size, void *out, size_t *told)
{
    return what == CL_KERNEL_NUM_ARGS ? tell_uint((cl_uint)strlen(kernel->kinds), size, out, told)
                                      : CL_INVALID_VALUE;
}

cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                cl_kernel_work_group_info what, size_t size, void *out,
                                size_t *told)
{
    (void)kernel, (void)device;
    switch (what) {
    case CL_KERNEL_WORK_GROUP_SIZE:
        return tell_size(ITEMS_LIMIT, size, out, told);
    case CL_KERNEL_LOCAL_MEM_SIZE:
        return tell_ulong(0, size, out, told);
    case CL_KERNEL_PRIVATE_MEM_SIZE:
        return tell_ulong(0, size, out, told);
    default:
        return CL_INVALID_VALUE;
    }
}

// Work-groups in an order that differs from launch to launch, since nothing promises one.
cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint count, const cl_event *events, cl_event *event)
{
    static size_t launches;
    const cl_ulong start = now();
    (void)count, (void)events;
    if (dimensions != 1 || offset || !local || !local[0] || global[0] % local[0])
        return CL_INVALID_WORK_GROUP_SIZE;
    for (size_t i = 0; i < strlen(kernel->kinds); i++)
        if (!kernel->values[i])
            return CL_INVALID_KERNEL_ARGS;
    const size_t groups = global[0] / local[0];
    const char *wrong = NULL;
    pthread_mutex_lock(&lock);
    launches++;
    for (size_t n = 0; n < groups && !wrong; n++) {
        const size_t turned = (n + launches * 7) % groups;
        wrong = items_run(kernel->call, kernel->values, local[0],
                          launches % 2 ? groups - 1 - turned : turned, groups,
                          queue->device->local_limit, launches % 4 < 2);
    }
    pthread_mutex_unlock(&lock);
    if (wrong)
        fprintf(stderr, "emulated: %s: %s\n", kernel->name, wrong);
    return wrong ? CL_OUT_OF_RESOURCES : done(event, start);
}
