// Failing with a reason, logging, versioned structs and the clock; and the few public functions
// that need nothing else.
#include "common.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOG_STACK_SIZE 512

const char *fcl_version(void)
{
    return FCL_VERSION;
}

const char *fcl_status_text(enum fcl_status status)
{
    switch (status) {
#define FCL_X(name, number, sentence) \
    case FCL_##name:                  \
        return sentence;
        FCL_STATUS_LIST(FCL_X)
#undef FCL_X
    }
    return "unknown status";
}

size_t fcl_dtype_size(enum fcl_dtype dtype)
{
    switch (dtype) {
    case FCL_F32:
        return 4;
    case FCL_F16:
    case FCL_BF16:
        return 2;
    }
    return 0;
}

enum fcl_status fcl_fail(char *reason, size_t size, enum fcl_status status, const char *format, ...)
{
    if (reason != NULL && size > 0) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(reason, size, format, arguments);
        va_end(arguments);
    }
    return status;
}

void fcl_log_write(const struct fcl_log *log, enum fcl_log_level level, const char *format, ...)
{
    if (log == NULL || log->function == NULL || level > log->level || level == FCL_LOG_NONE)
        return;
    char stack[LOG_STACK_SIZE];
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int length = vsnprintf(stack, sizeof stack, format, arguments);
    va_end(arguments);
    // Compiler logs are long; where memory is out, their beginning is still worth having.
    char *heap = length >= LOG_STACK_SIZE ? malloc((size_t)length + 1) : NULL;
    if (heap != NULL)
        vsnprintf(heap, (size_t)length + 1, format, again);
    va_end(again);
    if (length >= 0)
        log->function(log->user, level, heap != NULL ? heap : stack);
    free(heap);
}

int fcl_struct_read(void *today, size_t today_size, const void *given)
{
    size_t given_size;
    memcpy(&given_size, given, sizeof given_size);
    if (given_size < sizeof given_size || given_size > today_size)
        return 0;
    memset(today, 0, today_size);
    memcpy(today, given, given_size);
    memcpy(today, &today_size, sizeof today_size);
    return 1;
}

double fcl_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}
