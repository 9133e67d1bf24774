// A log that tests can look into.
#ifndef FCL_TESTS_CAPTURE_H
#define FCL_TESTS_CAPTURE_H

#include <flashcl/types.h>

// Zero-initialise. Messages are kept one a line; what does not fit is only counted.
struct test_capture {
    char text[16384];
    size_t length;
    int counts[FCL_LOG_DEBUG + 1]; // of messages, by level
};

// A log that writes into the capture, all levels. Not for several threads at once.
struct fcl_log test_capture_log(struct test_capture *capture);

#endif
