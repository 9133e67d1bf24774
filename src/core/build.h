// The OpenCL side of building: flags that a driver may reject, its log, the binary of one device.
#ifndef FCL_CORE_BUILD_H
#define FCL_CORE_BUILD_H

#include <flashcl/flashcl.h>

#include "common.h"

// Builds the program for one device. Each of `standards` (ending with NULL) is put before the flags
// in turn, until the driver does not reject the options; returns the last answer.
cl_int fcl_build_program(cl_program program, cl_device_id device, const char *const *standards,
                         const char *flags);

// The driver's build log from malloc; NULL where it gives none.
char *fcl_build_log(cl_program program, cl_device_id device);

// The program's binary for this device, whatever other devices it has, from malloc; NULL where
// there is none.
unsigned char *fcl_build_binary(cl_program program, cl_device_id device, size_t *size);

#endif
