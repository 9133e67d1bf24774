// Output files that appear whole or not at all: written under a temporary name, then renamed.
#ifndef FLASHCL_TOOL_OUTPUT_H
#define FLASHCL_TOOL_OUTPUT_H

#include <stdio.h>

// A file under way. Fields are the module's own.
struct output {
    FILE *file; // write here
    char *path, *temporary;
    const char *shown;
};

// Starts the file `path`. A device or pipe is written directly, a symbolic link is followed.
// Returns 1, or 0 after the error was reported.
int output_begin(struct output *output, const char *path);

// Ends writing: all bytes are in the file system, the name is still the temporary one. Returns 1,
// or 0 after the error was reported and the temporary file removed.
int output_close(struct output *output);

// Gives the closed file its name. Returns 1, or 0 after the error was reported.
int output_commit(struct output *output);

// Whether two paths, of files that may not be there yet, denote the same one.
int output_same(const char *first, const char *second);

// Drops a file that was begun and not committed. A zeroed or committed one is fine.
void output_discard(struct output *output);

#endif
