// Kernels to tune from the command line: a source file and options.
#ifndef FLASHCL_TOOL_KERNEL_ARGS_H
#define FLASHCL_TOOL_KERNEL_ARGS_H

#include "kernel_job.h"

#include <popt.h>

// What the command line says; texts and lists (ended by NULL) are NULL where an option was not
// given.
struct kernel_args {
    char *kernel, *compiler_options, *standard;
    char **parameters, **constraints, **global, **local, **arguments;
    int groups;
    char *reference, *reference_file;
    char **reference_global, **reference_local;
    struct poptOption table[14];
};

// Fills the table, which points at the struct.
void kernel_args_init(struct kernel_args *args);

// The row of a verb's table for all of these options.
#define OPTION_KERNEL(args)                                              \
    {                                                                    \
        NULL, '\0', POPT_ARG_INCLUDE_TABLE, (args)->table, 0, NULL, NULL \
    }

// The first of the options that was given, as it is written; NULL: none.
const char *kernel_args_given(const struct kernel_args *args);

// Reads source and options into a fresh job. Returns 1, or 0 with a reason.
int kernel_args_read(const struct kernel_args *args, const char *path, struct kernel_job *job,
                     char *reason, size_t size);

void kernel_args_free(struct kernel_args *args);

// How --arg is written, for help.
#define KERNEL_ARGS_HELP                                                                          \
    "An argument of the kernel, in order:\n"                                                      \
    "  --arg 'NAME:TYPE=VALUE'            a scalar; VALUE is an expression\n"                     \
    "  --arg 'NAME:TYPE[COUNT] WORD...'   a buffer of COUNT elements\n"                           \
    "  --arg 'NAME:TYPE[COUNT] local'     local memory\n"                                         \
    "TYPE is int8 to int64, uint8 to uint64, half, float, double, or float4 and the like. WORDs " \
    "are\n"                                                                                       \
    "  read, write, read-write            what the kernel does (read)\n"                          \
    "  constant=VALUE                     what it holds before (random=0..1, 1 the seed)\n"       \
    "  random=LOW..HIGH or random=LOW..HIGH,SEED\n"                                               \
    "  file=FILE                          raw bytes, or a .npy file\n"                            \
    "  expect=FILE                        the right result\n"                                     \
    "  absolute=T relative=T              right is |x - expected| <= absolute + relative "        \
    "|expected|\n"                                                                                \
    "  scratch                            written, but not compared\n"

#endif
