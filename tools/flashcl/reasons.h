// Reasons that differ only in their numbers, counted together.
#ifndef FLASHCL_TOOL_REASONS_H
#define FLASHCL_TOOL_REASONS_H

#include <stddef.h>

struct reason_group;

struct reasons {
    struct reason_group *groups;
    size_t count, capacity;
};

void reasons_add(struct reasons *reasons, const char *text);

// Puts the most frequent first; those of one count stay in their order.
void reasons_sort(struct reasons *reasons);

// How often group `index` was added, and its text, of its own memory: a number that was not always
// the same is `low..high`.
size_t reasons_times(const struct reasons *reasons, size_t index);
char *reasons_text(const struct reasons *reasons, size_t index);

// Frees the groups. A zeroed list is fine.
void reasons_free(struct reasons *reasons);

#endif
