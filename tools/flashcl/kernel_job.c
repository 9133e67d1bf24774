// Memory of a kernel to tune, and the files that belong to it.
#include "kernel_job.h"

#include "memory.h"
#include "npy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void kernel_job_init(struct kernel_job *job)
{
    *job = (struct kernel_job){.space = fcl_space_create(), .spec.struct_size = sizeof(job->spec)};
    if (job->space == NULL) {
        memory_get(SIZE_MAX, 1); // says so and ends the process
    }
}

void kernel_job_free(struct kernel_job *job)
{
    fcl_space_destroy(&job->space);
    for (size_t i = 0; i < job->owned_count; i++) {
        free(job->owned[i]);
    }
    free(job->owned);
    free(job->arguments);
    *job = (struct kernel_job){.space = NULL};
}

void *kernel_job_own(struct kernel_job *job, void *memory)
{
    job->owned =
        memory_grow(job->owned, job->owned_count, &job->owned_capacity, sizeof(*job->owned));
    job->owned[job->owned_count++] = memory;
    return memory;
}

char *kernel_job_text(struct kernel_job *job, const char *text)
{
    return kernel_job_own(job, memory_print("%s", text));
}

struct fcl_kernel_argument *kernel_job_argument(struct kernel_job *job)
{
    job->arguments = memory_grow(job->arguments, job->argument_count, &job->argument_capacity,
                                 sizeof(*job->arguments));
    struct fcl_kernel_argument *argument = &job->arguments[job->argument_count++];
    *argument = (struct fcl_kernel_argument){.name = NULL};
    return argument;
}

struct fcl_kernel_argument *kernel_job_find(const struct kernel_job *job, const char *name)
{
    for (size_t i = 0; i < job->argument_count; i++) {
        if (job->arguments[i].name != NULL && strcmp(job->arguments[i].name, name) == 0) {
            return &job->arguments[i];
        }
    }
    return NULL;
}

// ---- Files ------------------------------------------------------------------------------------

// The whole file with a 0 behind it, owned by the job; NULL with a reason.
static char *read_file(struct kernel_job *job, const char *path, size_t *length, char *reason,
                       size_t size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    size_t capacity = 0, got = 1;
    *length = 0;
    while (file != NULL && got > 0) {
        bytes = memory_grow(bytes, *length, &capacity, 1);
        got = fread(bytes + *length, 1, capacity - *length, file);
        *length += got;
    }
    if (file == NULL || ferror(file)) {
        snprintf(reason, size, "%s: cannot be read: %s", path, strerror(errno));
        free(bytes);
        bytes = NULL;
    }
    if (file != NULL) {
        fclose(file);
    }
    if (bytes != NULL) {
        bytes[*length] = '\0'; // grown before the read that found the end
        kernel_job_own(job, bytes);
    }
    return bytes;
}

int kernel_job_read_text(struct kernel_job *job, const char *path, const char **text, char *reason,
                         size_t size)
{
    size_t length;
    *text = read_file(job, path, &length, reason, size);
    return *text != NULL;
}

int kernel_job_read_source(struct kernel_job *job, const char *path, const char *file,
                           const char *options, const char **source, char *reason, size_t size)
{
    char *text;
    if (fcl_kernel_source_read(path, file, options, &text, reason, size) != FCL_OK) {
        return 0;
    }
    *source = kernel_job_own(job, text);
    return 1;
}

static int fits_type(enum npy_type type, enum fcl_scalar scalar)
{
    return (type == NPY_F4 && scalar == FCL_SCALAR_FLOAT) ||
           (type == NPY_F2 && scalar == FCL_SCALAR_HALF) ||
           (type == NPY_U2 && scalar == FCL_SCALAR_UINT16);
}

static int read_npy(struct kernel_job *job, const char *path, struct fcl_element_type type,
                    const void **bytes, size_t *count, char *reason, size_t size)
{
    struct npy_array array;
    if (!npy_read(path, &array, reason, size)) {
        return 0;
    }
    *bytes = kernel_job_own(job, array.data);
    *count = array.header.data_size;
    if (!fits_type(array.header.type, type.scalar)) {
        snprintf(reason, size,
                 "%s holds %s: float is read from f4, half from f2 and uint16 from u2; other types "
                 "from raw files",
                 path, npy_type_text(array.header.type));
        return 0;
    }
    return 1;
}

int kernel_job_read_bytes(struct kernel_job *job, const char *path, struct fcl_element_type type,
                          const void **bytes, size_t *count, char *reason, size_t size)
{
    size_t length = strlen(path);
    if (length > 4 && strcmp(path + length - 4, ".npy") == 0) {
        return read_npy(job, path, type, bytes, count, reason, size);
    }
    *bytes = read_file(job, path, count, reason, size);
    return *bytes != NULL;
}

// ---- The end ----------------------------------------------------------------------------------

int kernel_job_close(struct kernel_job *job, char *reason, size_t size)
{
    if (fcl_space_enumerate(job->space, reason, size) != FCL_OK) {
        return 0;
    }
    if (fcl_space_count(job->space) == 0) {
        snprintf(reason, size, "no point of the space fulfils all constraints");
        return 0;
    }
    job->spec.space = job->space;
    job->spec.arguments = job->arguments;
    job->spec.argument_count = job->argument_count;
    job->spec.reference = job->has_reference ? &job->reference : NULL;
    return fcl_kernel_validate(&job->spec, reason, size) == FCL_OK;
}
