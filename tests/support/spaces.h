// Building spaces from texts.
#ifndef FCL_TESTS_SPACES_H
#define FCL_TESTS_SPACES_H

#include <flashcl/search.h>

// Adds a parameter whose values are a list as fcl_values_parse takes it; fails the test where that
// is not allowed.
void test_add_parameter(fcl_space *space, const char *name, const char *values);

// A closed space. `parameters`: pairs of name and values, ending with NULL; `constraints`: ending
// with NULL, may be NULL.
fcl_space *test_space(const char *const *parameters, const char *const *constraints);

// A published space of a convolution kernel: 4362 of 10240 points are valid.
fcl_space *test_convolution(void);

// Fails the test unless the status is INVALID_ARGUMENT and the reason has this part.
void test_refused(enum fcl_status status, const char *reason, const char *part);

// The point of this text form.
uint64_t test_point(const fcl_space *space, const char *text);

#endif
