// A kernel to tune, as read from a file or from the command line: everything that the library's
// spec points at, owned in one place.
#ifndef FLASHCL_TOOL_KERNEL_JOB_H
#define FLASHCL_TOOL_KERNEL_JOB_H

#include <flashcl/kernel.h>

struct kernel_job {
    fcl_space *space; // closed by kernel_job_close
    struct fcl_kernel_spec spec;
    struct fcl_kernel_argument *arguments;
    size_t argument_count, argument_capacity;
    struct fcl_kernel_reference reference;
    int has_reference;
    char *standard; // the point that a winner must beat, text form; NULL: none
    // A budget that the file asks for; 0 and NULL where it says nothing.
    double seconds, fraction;
    long long evaluations, seed;
    char *strategy;
    // The module's own.
    void **owned;
    size_t owned_count, owned_capacity;
};

void kernel_job_init(struct kernel_job *job);
void kernel_job_free(struct kernel_job *job);

// Keeps memory from malloc until the job is freed; returns it.
void *kernel_job_own(struct kernel_job *job, void *memory);

// A copy of a text that lives as long as the job.
char *kernel_job_text(struct kernel_job *job, const char *text);

// A new argument, zeroed; earlier ones may move.
struct fcl_kernel_argument *kernel_job_argument(struct kernel_job *job);

// The argument of this name; NULL where there is none.
struct fcl_kernel_argument *kernel_job_find(const struct kernel_job *job, const char *name);

// Reads a file that is a text. Returns 1, or 0 with a reason.
int kernel_job_read_text(struct kernel_job *job, const char *path, const char **text, char *reason,
                         size_t size);

// Reads a kernel source and what it includes, as fcl_kernel_source_read does.
int kernel_job_read_source(struct kernel_job *job, const char *path, const char *file,
                           const char *options, const char **source, char *reason, size_t size);

// Reads the bytes of a vector: a .npy file whose element type is the argument's, or a raw file.
int kernel_job_read_bytes(struct kernel_job *job, const char *path, struct fcl_element_type type,
                          const void **bytes, size_t *count, char *reason, size_t size);

// Ends the reading: closes the space and completes and checks the spec. Returns 1, or 0 with a
// reason.
int kernel_job_close(struct kernel_job *job, char *reason, size_t size);

#endif
