// A device ready for work: chosen, opened with cache and wisdom, with a queue and the last error
// sentence of the library.
#ifndef FLASHCL_TOOL_SESSION_H
#define FLASHCL_TOOL_SESSION_H

#include "device_select.h"
#include "options.h"

#include <flashcl/flashcl.h>
#include <flashcl/tune.h>

struct session {
    struct device_list list;
    const struct device_entry *entry; // the device in use
    cl_context context;
    cl_command_queue queue;
    fcl_device *device;
    const struct fcl_caps *caps;
    char *wisdom; // file in use; NULL: none
    int verbose;
    char error[1024]; // the library's last error; "" where there was none
};

// Chooses and opens the device. Returns EXIT_OK, or the exit code after the error was reported; the
// session is to be closed in every case.
int session_open(struct session *session, const struct options *options);

// Opens one device of a list that the caller owns, with neither cache nor wisdom: for `info`.
// Returns the library's status; session->error says why.
enum fcl_status session_open_plain(struct session *session, const struct options *options,
                                   const struct device_entry *entry);

void session_close(struct session *session);

// Whether winners can be kept in the wisdom file, after one warning where they cannot though they
// should; `no_store` 1: they should not. Makes the folders above the file.
int session_keeps_wisdom(const struct session *session, const struct options *options,
                         int no_store);

// Prints `device: NAME (PLATFORM)`: the first line of every text output.
void session_print_device(const struct session *session, const struct options *options);

// The sentence for a status that a library call has just returned.
const char *session_sentence(const struct session *session, enum fcl_status status);

// Forgets the last error, before a call whose sentence matters.
void session_forget(struct session *session);

#endif
