// A device that is only described: the file that `flashcl info --caps` writes.
#ifndef FLASHCL_TOOL_CAPS_FILE_H
#define FLASHCL_TOOL_CAPS_FILE_H

#include "options.h"

#include <flashcl/tune.h>

// Reads the file and applies --caps-mask. Returns EXIT_OK, or the exit code after the error was
// reported.
int caps_file_read(const char *path, const struct options *options, const struct verb *verb,
                   struct fcl_caps *caps);

// The row of a verb's table for --caps; `path` is the caller's to free.
#define OPTION_CAPS(path)                                                                   \
    {                                                                                       \
        "caps", '\0', POPT_ARG_STRING, (path), 0,                                           \
            "for the device that this file describes, instead of one that is there", "FILE" \
    }

#endif
