// What a plan would try for a problem, with the user's wisdom.
#ifndef FLASHCL_TOOL_CHOICES_H
#define FLASHCL_TOOL_CHOICES_H

#include "options.h"

#include <flashcl/tune.h>

// Fills `choices` (room for FCL_CHOICES) as fcl_select does, with the wisdom file of the options
// where there is one. Returns EXIT_OK; EXIT_NO_CONFIGURATION with the reason; or another exit code
// after the error was reported, with reason "".
int choices_list(const struct options *options, const struct fcl_problem *problem,
                 enum fcl_implementation implementation, const struct fcl_caps *caps,
                 struct fcl_choice *choices, size_t *count, char *reason, size_t size);

#endif
