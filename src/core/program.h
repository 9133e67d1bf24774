// From source text to kernels: cache, build, limits, proof.
#ifndef FCL_CORE_PROGRAM_H
#define FCL_CORE_PROGRAM_H

#include "device.h"

#define FCL_PROGRAM_KERNELS 3

struct fcl_program {
    cl_program program;
    cl_kernel kernels[FCL_PROGRAM_KERNELS];
    int kernel_count;
    int from_cache;
    double build_ms;        // source or binary to kernels, and the proof
    size_t group_limit;     // smallest CL_KERNEL_WORK_GROUP_SIZE of its kernels
    uint64_t local_bytes;   // largest CL_KERNEL_LOCAL_MEM_SIZE
    uint64_t private_bytes; // largest CL_KERNEL_PRIVATE_MEM_SIZE
};

// Launches the kernels on something tiny and judges the result. Called before a new binary is
// cached (some compilers generate code only at the first launch) and after a cached one was loaded.
typedef enum fcl_status (*fcl_program_proof)(void *user, const struct fcl_program *program);

struct fcl_program_request {
    const char *label;                        // for messages and the cache
    const char *source;                       // complete
    const char *flags;                        // options for the compiler
    const char *kernels[FCL_PROGRAM_KERNELS]; // names, NULL after the last
    fcl_program_proof proof;                  // NULL: none
    void *user;
    char *reason; // receives a sentence when the program cannot be made; NULL: none
    size_t reason_size;
    int quiet;     // 1: log failures as debug messages: a candidate among many
    int retarget;  // 1: the kernels need sm_90a (retarget.h); flags must ask for a verbose log
    int read_only; // 1: take what the cache has, put nothing there: a candidate that may lose
};

// Makes the program. -cl-std=CL1.2 is tried first and left out where the driver rejects it. A
// failing build logs the compiler's messages with the numbered source around each, whatever the
// error code, and says so when the driver gives no log. A cached binary that the driver or the
// proof rejects is dropped and the source is built. Errors: BUILD_FAILED, DEVICE_ERROR,
// OUT_OF_MEMORY and those of the proof; *program is then zeroed.
enum fcl_status fcl_program_create(struct fcl_device *device,
                                   const struct fcl_program_request *request,
                                   struct fcl_program *program);

void fcl_program_destroy(struct fcl_program *program);

// Puts the binary of a finished program into the cache (a winner that was built read_only).
void fcl_program_store(struct fcl_device *device, const struct fcl_program_request *request,
                       const struct fcl_program *program);

#endif
