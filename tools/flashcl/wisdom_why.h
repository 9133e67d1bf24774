// Why the winners of two devices differ.
#ifndef FLASHCL_TOOL_WISDOM_WHY_H
#define FLASHCL_TOOL_WISDOM_WHY_H

#include <flashcl/tune.h>

// A winner of one side of a comparison.
struct wisdom_side {
    const char *name; // for messages: A, B
    struct fcl_wisdom_row row;
    const struct fcl_caps *caps; // of its device; NULL: not known
};

// Says what keeps each winner from the other side's device, where that is known, or that nothing
// does, and then the figures in which the two differ, in the order of the sides. Both rows are of
// one class. The text is of its own; NULL where nothing can be said.
char *wisdom_why(const struct wisdom_side *a, const struct wisdom_side *b);

#endif
