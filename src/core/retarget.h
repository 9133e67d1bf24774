// NVIDIA's OpenCL compiles for sm_90 and then refuses what only sm_90a has, such as wgmma, although
// its assembler knows it. The PTX that the failed build leaves behind gets two edits and is built
// as a binary.
#ifndef FCL_CORE_RETARGET_H
#define FCL_CORE_RETARGET_H

#include "text.h"

// Appends the PTX with `.target sm_90` made sm_90a, and `.minnctapersm 1` before each `.reqntid`,
// without which the assembler ignores setmaxnreg. `size` bytes, a 0 ends them sooner. Errors:
// UNSUPPORTED with the reason, where it is no such text or was edited before; OUT_OF_MEMORY.
enum fcl_status fcl_retarget(const void *ptx, size_t size, struct fcl_text *edited, char *reason,
                             size_t reason_size);

// Whether a verbose build log says that matrix products were put one after the other or that
// registers were spilled, which makes such a kernel slower than one without these instructions.
// Copies that line, cut at `size`.
int fcl_retarget_warning(const char *log, char *line, size_t size);

#endif
