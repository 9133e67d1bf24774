// The few helpers that every layer uses: sizes, rounding, failing with a reason, logging.
#ifndef FCL_CORE_COMMON_H
#define FCL_CORE_COMMON_H

#include <flashcl/types.h>

#define FCL_COUNT(array) (sizeof(array) / sizeof *(array))

#if defined(__GNUC__) || defined(__clang__)
#define FCL_PRINTF(at, first) __attribute__((format(printf, at, first)))
#else
#define FCL_PRINTF(at, first)
#endif

static inline int64_t fcl_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t fcl_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t fcl_div_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

// Writes the reason (cut at size; reason may be NULL) and returns the status: `return
// fcl_fail(...)`.
enum fcl_status fcl_fail(char *reason, size_t size, enum fcl_status status, const char *format, ...)
    FCL_PRINTF(4, 5);

// Sends one message to the log, if its level is wanted.
void fcl_log_write(const struct fcl_log *log, enum fcl_log_level level, const char *format, ...)
    FCL_PRINTF(3, 4);

// Copies a versioned public struct: what the caller's older version lacks becomes 0, and
// struct_size (the first field) today's. Returns 0 when it is less than a size_t or beyond today's.
int fcl_struct_read(void *today, size_t today_size, const void *given);

// Milliseconds of a clock that never goes back.
double fcl_now_ms(void);

#endif
