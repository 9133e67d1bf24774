// Wisdom inside the library: look-up, and the text of a whole collection.
#ifndef FCL_CORE_WISDOM_H
#define FCL_CORE_WISDOM_H

#include <flashcl/tune.h>

#include "text.h"

// The row of this device, driver and problem class, or NULL. Driver NULL: the row that was added
// last among those of any driver whose config is not `bad`. Lives until the collection changes;
// wisdom NULL has no rows.
const struct fcl_wisdom_row *fcl_wisdom_find(const fcl_wisdom *wisdom, const char *device,
                                             const char *driver, const char *problem_class);

// What the class of a user's kernel begins with. Its configurations are points, which only its
// space can read.
#define FCL_KERNEL_CLASS "kernel "

// Whether a row says that something failed (`bad KIND`) instead of naming a configuration.
int fcl_wisdom_is_bad(const struct fcl_wisdom_row *row);

// As fcl_wisdom_import; `keep_unknown` 1 also takes rows whose config today's program cannot read.
enum fcl_status fcl_wisdom_read(fcl_wisdom *wisdom, const char *text, int keep_unknown,
                                size_t *skipped, char *reason, size_t size);

// Adds every row of `from`, replacing. Returns 0, with `wisdom` as it was, when memory is out.
int fcl_wisdom_merge(fcl_wisdom *wisdom, const fcl_wisdom *from);

// Appends the whole collection: header and rows.
void fcl_wisdom_write(const fcl_wisdom *wisdom, struct fcl_text *text);

#endif
