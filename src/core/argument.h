// Checks of what a caller passes to a launch beside numbers.
#ifndef FCL_CORE_ARGUMENT_H
#define FCL_CORE_ARGUMENT_H

#include "device.h"

// Whether a queue belongs to the device and its context. Some drivers crash where OpenCL asks for
// CL_INVALID_CONTEXT. INVALID_ARGUMENT is logged.
enum fcl_status fcl_queue_check(const struct fcl_device *device, cl_command_queue queue);

// Whether a buffer of the device's context holds the first `end` bytes, all that a launch touches;
// 0: it is not used and may be NULL. INVALID_ARGUMENT is logged with the name.
enum fcl_status fcl_buffer_check(const struct fcl_device *device, const char *name, cl_mem buffer,
                                 uint64_t end);

#endif
