// Kernels to tune from JSON files: T1, the autotuning community's input format.
#ifndef FLASHCL_TOOL_KERNEL_JSON_H
#define FLASHCL_TOOL_KERNEL_JSON_H

#include "json_fields.h"

// Reads a file into a fresh job. File names in it start at its folder. Returns 1, or 0 with a
// reason that names the file, the field, what was found and what is allowed: whatever is not
// understood is refused.
int kernel_json_read(const char *path, struct kernel_job *job, char *reason, size_t size);

// Its parts about the kernel, for kernel_json_read: names such as ProblemSize[0] into the space,
// and KernelSpecification.
int kernel_json_read_problem_size(const struct json_reader *reader, const json_t *list);
int kernel_json_read_kernel(const struct json_reader *reader, const json_t *object);

#endif
