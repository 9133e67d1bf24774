// The work-items of one work-group of an emulated NVIDIA GPU, one after the other on a stack of
// their own: whoever needs others waits until they have come.
#ifndef FCL_TESTS_EMULATED_ITEMS_H
#define FCL_TESTS_EMULATED_ITEMS_H

#include <stddef.h>
#include <stdint.h>

#define WARP 32
#define ITEMS_LIMIT 1024

// Runs `entry(arguments)` as each of `items` items of work-group `group`. Returns NULL, or what
// went wrong: items that wait for others that never come, local memory that does not suffice, or an
// address outside of it.
const char *items_run(void (*entry)(void **arguments), void **arguments, size_t items, size_t group,
                      size_t local_limit);

#endif
