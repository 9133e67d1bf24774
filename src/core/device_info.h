// What a driver tells about a device, as caps.
#ifndef FCL_CORE_DEVICE_INFO_H
#define FCL_CORE_DEVICE_INFO_H

#include <flashcl/flashcl.h>
#include <flashcl/tune.h>

// Fills *caps; facts that the driver does not tell are 0 or "". Returns the driver's error when it
// does not even tell the kind of device, or CL_OUT_OF_HOST_MEMORY.
cl_int fcl_device_info_read(cl_device_id device, struct fcl_caps *caps);

#endif
