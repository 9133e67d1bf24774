// What tuning in worker processes needs: a temporary cache folder for their candidates,
// a journal, the processes.
#ifndef FLASHCL_TOOL_ISOLATION_H
#define FLASHCL_TOOL_ISOLATION_H

#include "isolation_settings.h"
#include "session.h"
#include "workers.h"

struct isolation_options {
    const struct options *options;
    const struct session *session; // open
    const struct isolation_settings *settings;
    json_t *open;             // first message to a worker, without `do` and `evaluates`; shared
    const json_t *about;      // texts that say what is tuned, for the journal
    const char *journal_name; // of its file, where the settings name none
    int launches;             // as for workers
    void (*name)(const fcl_space *space, uint64_t point, char *text, size_t size); // as for workers
};

// The command line of a worker process.
struct worker_command {
    const char *arguments[16];
    char device[24];
};

struct isolation {
    char *folder;
    struct journal *journal; // NULL: none
    struct workers *workers;
    json_t *open;
    struct worker_command command;
    size_t builders;
};

// Makes all of it. Returns EXIT_OK, or the exit code after the error was reported; `isolation` is
// to be ended in every case.
int isolation_begin(struct isolation *isolation, const struct isolation_options *options);

// Ends the processes and removes the folder; `finished` 1: the journal too.
void isolation_end(struct isolation *isolation, int finished);

// Makes an empty temporary folder for a cache. Returns its path, of its own memory, or NULL after
// the error was reported.
char *isolation_make_folder(void);

// Removes the cache's own files and the folder, if it is one of ours.
void isolation_remove_folder(const char *folder);

// Fills in the command line of a worker for the session's device, with the cache in `folder` and no
// wisdom. The texts of `options` and `folder` must outlive it, and it must stay where it is.
void isolation_worker_command(struct worker_command *command, const struct session *session,
                              const struct options *options, const char *folder);

#endif
