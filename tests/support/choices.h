// What the tests of configurations have in common: no device is needed.
#ifndef FCL_TESTS_CHOICES_H
#define FCL_TESTS_CHOICES_H

#include <flashcl/tune.h>

// A configuration for a problem, and a part of the reason that refuses it.
struct test_refusal {
    const char *problem, *config, *reason;
};

// The completed problem or the configuration of a text; ends the test where it is wrong.
struct fcl_problem test_problem(const char *text);
struct fcl_config test_config(const char *text);

// Demands that each is refused on the device, and why.
void test_refusals(const struct fcl_caps *caps, const struct test_refusal *rows, size_t count);

// Demands that a configuration is the one of the text.
void test_is_config(const struct fcl_config *config, const char *text, const char *problem);

// The valid configurations of a family in a problem's space. Demands a reason of the others.
int test_space_valid(const char *problem, const struct fcl_caps *caps, enum fcl_family family);

#endif
