// A log that tests can look into.
#include "capture.h"

#include <string.h>

static void keep(void *user, enum fcl_log_level level, const char *text)
{
    struct test_capture *capture = user;
    capture->counts[level]++;
    const size_t size = strlen(text);
    if (size + 2 > sizeof capture->text - capture->length)
        return;
    memcpy(capture->text + capture->length, text, size);
    capture->length += size;
    capture->text[capture->length++] = '\n';
    capture->text[capture->length] = 0;
}

struct fcl_log test_capture_log(struct test_capture *capture)
{
    return (struct fcl_log){keep, capture, FCL_LOG_DEBUG};
}
