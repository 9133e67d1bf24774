// The problems that `flashcl check` tries when none are named.
#ifndef FLASHCL_TOOL_CHECK_GRID_H
#define FLASHCL_TOOL_CHECK_GRID_H

#include <stddef.h>

extern const char *const check_grid[];
extern const size_t check_grid_count;

#endif
