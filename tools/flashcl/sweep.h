// A sweep: one number of a problem through a range, as in q=512:16384:x2 or d=16:128:+16.
#ifndef FLASHCL_TOOL_SWEEP_H
#define FLASHCL_TOOL_SWEEP_H

#include <stddef.h>
#include <stdint.h>

struct sweep {
    char field; // q, k, b, h or d
    int64_t from, to, step;
    int multiply; // 1: times step, 0: plus step
};

// Reads the text form. Returns 1, or 0 with the reason.
int sweep_parse(const char *text, struct sweep *sweep, char *reason, size_t size);

// Goes on from *value. Returns 0 behind the end.
int sweep_next(const struct sweep *sweep, int64_t *value);

// The text of a problem with the swept number in place of its own, of its own memory. What stands
// behind a slash stays (h8/2, d192/128), and what the text leaves out still follows (k as q).
char *sweep_apply(const struct sweep *sweep, int64_t value, const char *text);

#endif
