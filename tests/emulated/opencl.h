// Objects of the emulated OpenCL library, and what its files share.
#ifndef FCL_TESTS_EMULATED_OPENCL_H
#define FCL_TESTS_EMULATED_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <CL/cl.h>

#define ARGUMENTS_LIMIT 32

// Every object begins alike, so that one function counts for all.
struct object {
    int references;
};

struct _cl_platform_id {
    char nothing;
};

struct _cl_device_id {
    const char *name;
    cl_uint major, minor; // compute capability
    size_t local_limit;   // bytes that a group may have; the driver tells of 48 KiB
};

struct _cl_context {
    struct object object;
    cl_device_id device;
};

struct _cl_command_queue {
    struct object object;
    cl_context context;
    cl_device_id device;
    cl_command_queue_properties properties;
};

struct _cl_mem {
    struct object object;
    cl_context context;
    size_t size;
    unsigned char *data;
};

struct _cl_program {
    struct object object;
    char *source, *log;
    void *library; // of dlopen
};

struct _cl_kernel {
    struct object object;
    cl_program program;
    char name[256];
    const char *kinds; // a letter an argument: p buffer, v value
    void (*call)(void **arguments);
    void *values[ARGUMENTS_LIMIT];
};

struct _cl_event {
    struct object object;
    cl_int status;
    cl_ulong start, end;
};

// A zeroed object that has one reference, or NULL; tells so in *code, which may be NULL.
void *object_make(size_t size, cl_int *code);
cl_int object_retain(void *object);

// 1 when that was the last reference; the caller frees.
int object_release(void *object);

// An answer as clGet...Info gives it.
cl_int tell(const void *value, size_t have, size_t size, void *out, size_t *told);
cl_int tell_text(const char *text, size_t size, void *out, size_t *told);
cl_int tell_size(size_t value, size_t size, void *out, size_t *told);
cl_int tell_uint(cl_uint value, size_t size, void *out, size_t *told);
cl_int tell_ulong(cl_ulong value, size_t size, void *out, size_t *told);

// Nanoseconds, and the event of a command that began then and has just ended; `event` may be NULL.
cl_ulong now(void);
cl_int done(cl_event *event, cl_ulong start);

#endif
