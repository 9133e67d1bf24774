// A clock that only goes forward.
#ifndef FLASHCL_TOOL_CLOCK_H
#define FLASHCL_TOOL_CLOCK_H

#include <time.h>

static inline double clock_now(void) // seconds
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static inline double clock_now_ms(void)
{
    return 1e3 * clock_now();
}

#endif
