// `flashcl tune --record`: each configuration that is tried, as tuning results.
#ifndef FLASHCL_TOOL_RECORD_H
#define FLASHCL_TOOL_RECORD_H

#include "problems.h"
#include "results.h"
#include "session.h"

// Starts the file, with the problem and the device as its metadata. Returns EXIT_OK, or the exit
// code after the error was reported.
int record_begin(struct results_writer *writer, const char *path, const struct options *options,
                 const struct session *session, const struct problem_entry *entry,
                 enum fcl_implementation implementation);

// Appends a trial; one that was pruned before its build is left out.
void record_trial(struct results_writer *writer, const struct fcl_trial *trial);

#endif
