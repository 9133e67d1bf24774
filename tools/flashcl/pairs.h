// A covering array of the features of attention: problems such that any two settings that go
// together at all stand together in at least one of them. A fraction of the full product finds
// whatever goes wrong where two features meet.
#ifndef FLASHCL_TOOL_PAIRS_H
#define FLASHCL_TOOL_PAIRS_H

#include <stddef.h>

// The texts of the problems, always the same ones, and their number. All are the caller's to free.
char **pairs_texts(size_t *count);

#endif
