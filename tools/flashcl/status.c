// Statuses as exit codes and as words, in one table.
#include "status.h"

#include <stddef.h>
#include <string.h>

static const struct {
    enum fcl_status status;
    int code;
    const char *word;
} rows[] = {
    {FCL_OK, EXIT_OK, "ok"},
    {FCL_INVALID_ARGUMENT, EXIT_USAGE, "invalid"},
    {FCL_UNSUPPORTED, EXIT_UNSUPPORTED, "unsupported"},
    {FCL_OUT_OF_MEMORY, EXIT_INTERNAL, "oom"},
    {FCL_BUILD_FAILED, EXIT_INTERNAL, "build-failed"},
    {FCL_DEVICE_ERROR, EXIT_INTERNAL, "device-error"},
    {FCL_WRONG_RESULT, EXIT_CHECK_FAILED, "wrong"},
    {FCL_NO_CONFIGURATION, EXIT_NO_CONFIGURATION, "no-config"},
    {FCL_BUDGET_REACHED, EXIT_BUDGET, "budget"},
    {FCL_IO_ERROR, EXIT_INTERNAL, "io-error"},
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

int status_exit(enum fcl_status status)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (rows[i].status == status) {
            return rows[i].code;
        }
    }
    return EXIT_INTERNAL;
}

const char *status_word(enum fcl_status status)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (rows[i].status == status) {
            return rows[i].word;
        }
    }
    return "unknown";
}

int status_read(const char *word, enum fcl_status *status)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (strcmp(rows[i].word, word) == 0) {
            *status = rows[i].status;
            return 1;
        }
    }
    return 0;
}

int status_graver(int a, int b)
{
    static const int gravest_first[] = {EXIT_CHECK_FAILED,     EXIT_INTERNAL, EXIT_USAGE,
                                        EXIT_NO_CONFIGURATION, EXIT_BUDGET,   EXIT_UNSUPPORTED};
    for (size_t i = 0; i < sizeof(gravest_first) / sizeof(gravest_first[0]); i++) {
        if (a == gravest_first[i] || b == gravest_first[i]) {
            return gravest_first[i];
        }
    }
    return EXIT_OK;
}
