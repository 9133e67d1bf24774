// The command line of `flashcl tune-kernel`, which its worker processes read once more.
#ifndef FLASHCL_TOOL_KERNEL_COMMAND_H
#define FLASHCL_TOOL_KERNEL_COMMAND_H

#include "budget.h"
#include "isolation_settings.h"
#include "kernel_args.h"

struct kernel_command {
    struct options options;
    struct kernel_args args;
    struct budget budget;
    struct isolation_settings isolation;
    char *metric, *output, *emit;
    int no_store, retry_bad;
    struct kernel_job job;
    const char *description; // text of SPEC.json; NULL: the options describe the kernel
    struct poptOption table[10];
};

// Reads the command line, which must outlive the command, and the files that it names. Returns
// OPTIONS_PROCEED, or the exit code after help was printed or an error was reported. The command is
// to be freed in every case.
int kernel_command_read(struct kernel_command *command, int argc, const char **argv);

#define KERNEL_DIGEST_SIZE 17

// A number, as text, of all that says what is tuned: description, sources, bytes of arguments.
void kernel_command_digest(const struct kernel_command *command, char digest[KERNEL_DIGEST_SIZE]);

void kernel_command_free(struct kernel_command *command);

#endif
