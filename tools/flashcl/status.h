// How the command ends: the exit codes, and the library's statuses as exit codes and as the words
// of a row.
#ifndef FLASHCL_TOOL_STATUS_H
#define FLASHCL_TOOL_STATUS_H

#include <flashcl/types.h>

enum exit_code {
    EXIT_OK = 0,
    EXIT_CHECK_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_NO_DEVICE = 3,
    EXIT_UNSUPPORTED = 4,
    EXIT_INTERNAL = 5,
    EXIT_NO_CONFIGURATION = 6,
    EXIT_BUDGET = 7
};

// The exit code that stands for a status.
int status_exit(enum fcl_status status);

// One word for the `status` column: ok, oom, unsupported, wrong, ...
const char *status_word(enum fcl_status status);

// The status that a word stands for. Returns 0 where there is none.
int status_read(const char *word, enum fcl_status *status);

// The exit code of a run with several rows: the graver of the two (wrong results first, then
// internal errors, no configuration, budget, unsupported).
int status_graver(int a, int b);

#endif
