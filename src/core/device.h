// The device handle: the caller's context and device, what it can do, and what is remembered for
// it.
#ifndef FCL_CORE_DEVICE_H
#define FCL_CORE_DEVICE_H

#include <pthread.h>

#include <flashcl/flashcl.h>
#include <flashcl/tune.h>

#include "cache.h"

struct fcl_device {
    cl_context context;
    cl_device_id id;
    struct fcl_caps caps;
    struct fcl_log log;
    struct fcl_cache *cache;
    struct fcl_wisdom *wisdom;   // guarded by `wisdom_lock`
    char *wisdom_file;           // NULL: none
    char *kernel_folder;         // NULL: embedded
    pthread_mutex_t wisdom_lock; // may be held while the wisdom file is written
    pthread_mutex_t lock;        // short: guards `client`, `clock_warned` and `mark`
    int clock_warned;            // the warning about event stamps was given
    uint64_t mark;               // the next one that is given
    void *client; // what a client of the toolkit keeps with the device: plans of the simple call
    void (*client_destroy)(void *client); // set together with `client`
};

// Text of an OpenCL error code such as "CL_OUT_OF_RESOURCES (-5)". Static or thread-safe.
const char *fcl_cl_error_text(cl_int code);

// Appends that text, or the bare number of a code that has no name.
void fcl_cl_error_add(struct fcl_text *text, cl_int code);

// OK, OUT_OF_MEMORY for the three codes that mean it, else DEVICE_ERROR.
enum fcl_status fcl_cl_status(cl_int code);

// Logs "`what` failed: CL_..." and returns the matching status.
enum fcl_status fcl_cl_fail(const struct fcl_device *device, cl_int code, const char *what);

// Logs an error sentence and returns `status`.
enum fcl_status fcl_device_fail(const struct fcl_device *device, enum fcl_status status,
                                const char *format, ...) FCL_PRINTF(3, 4);

// Adds a row to the device's wisdom. Errors: INVALID_ARGUMENT for a text that no row can hold,
// OUT_OF_MEMORY.
enum fcl_status fcl_device_learn(fcl_device *device, const struct fcl_wisdom_row *row);

// Merges the device's wisdom into its file, if it has one; a failure is logged.
enum fcl_status fcl_device_save_wisdom(fcl_device *device);

// The first of `count` numbers in a row for a launch. That memory holds one of them has a chance of
// about count 2^-64, whoever wrote to it: neither an earlier launch nor another device has it.
// Thread-safe.
uint64_t fcl_device_mark(fcl_device *device, uint64_t count);

// Appends what device and driver are, a line a fact, for keys of the cache.
void fcl_device_add_identity(const struct fcl_device *device, struct fcl_text *text);

// A queue on the device with profiling, or without where the driver refuses it. NULL and *code on
// failure.
cl_command_queue fcl_device_queue(const struct fcl_device *device, cl_int *code);

#endif
