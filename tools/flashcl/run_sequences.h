// The metadata of sequences for `flashcl run`: .npy files of int32.
#ifndef FLASHCL_TOOL_RUN_SEQUENCES_H
#define FLASHCL_TOOL_RUN_SEQUENCES_H

#include "npy.h"

#include <flashcl/tune.h>

enum sequence_file {
    SEQUENCE_CU_Q,
    SEQUENCE_CU_K,
    SEQUENCE_USED_Q,
    SEQUENCE_USED_K,
    SEQUENCE_TABLE,
    SEQUENCE_COUNT
};

struct sequence_files {
    char *paths[SEQUENCE_COUNT]; // NULL: not given
    struct npy_array arrays[SEQUENCE_COUNT];
    struct fcl_sequences sequences; // its numbers are those of the arrays
};

// A row of a table of options that names a file.
#define SEQUENCE_OPTION(files, name, which, text)                                \
    {                                                                            \
        name, '\0', POPT_ARG_STRING, &(files)->paths[which], 0, text, "FILE.npy" \
    }

// Which words of a problem the files stand for.
int sequence_files_varlen(const struct sequence_files *files);
int sequence_files_paged(const struct sequence_files *files);

// Reads the files and completes a problem that has the shapes of q, k and v: q_len is the rows of a
// packed q, k_len those of a packed k, or of a page, of which there are `pages`. Then the problem's
// lengths are the longest ones. Returns 1, or 0 with the reason.
int sequence_files_read(struct sequence_files *files, int64_t pages, struct fcl_problem *problem,
                        char *reason, size_t size);
void sequence_files_free(struct sequence_files *files);

#endif
