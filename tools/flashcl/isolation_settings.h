// How candidates are kept apart from the tuner: options that every tuning verb has.
#ifndef FLASHCL_TOOL_ISOLATION_SETTINGS_H
#define FLASHCL_TOOL_ISOLATION_SETTINGS_H

#include "options.h"

struct isolation_settings {
    double build_seconds, run_seconds; // a candidate over its limit is killed
    char *journal;                     // file; NULL: one in the state folder
    int resume, in_process;
    struct poptOption table[6];
};

// Fills the table, which points at the settings: before it becomes part of a verb's.
void isolation_settings_init(struct isolation_settings *settings);

// The row of a verb's table for all of these options.
#define OPTION_ISOLATION(settings)                                           \
    {                                                                        \
        NULL, '\0', POPT_ARG_INCLUDE_TABLE, (settings)->table, 0, NULL, NULL \
    }

// Rows about what wisdom keeps of a tuning.
#define OPTION_RETRY_BAD(flag)                                                                    \
    {                                                                                             \
        "retry-bad", '\0', POPT_ARG_NONE, (flag), 0, "also try what crashed or hung before", NULL \
    }
#define OPTION_NO_STORE(flag)                                                              \
    {                                                                                      \
        "no-store", '\0', POPT_ARG_NONE, (flag), 0, "leave the wisdom file as it is", NULL \
    }

// Checks what the command line said. Returns EXIT_OK, or EXIT_USAGE after the error was reported.
int isolation_settings_check(const struct isolation_settings *settings, const struct verb *verb);

// Works in this process, after a warning, where the command cannot find itself to start others.
void isolation_settings_complete(struct isolation_settings *settings);

void isolation_settings_free(struct isolation_settings *settings);

#endif
