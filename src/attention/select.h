// Which configuration a plan gets.
#ifndef FCL_ATTENTION_SELECT_H
#define FCL_ATTENTION_SELECT_H

#include <flashcl/tune.h>

#include "core/common.h"

struct fcl_choice {
    struct fcl_config config;
    const char *origin; // as fcl_plan_info.origin
};

#define FCL_ORIGIN_OTHER_DRIVER "wisdom of another driver"

#define FCL_CHOICES 8

// Fills `choices` (room for FCL_CHOICES) with what to try, best first: the user's wisdom, wisdom of
// the same device under another driver, the built-in table, the nearest problem in wisdom or table,
// the default of each usable family from the most able down. Only valid configurations, none twice.
// wisdom NULL: none. Returns how many; 0 with the reason when none is valid.
size_t fcl_select(const struct fcl_problem *problem, enum fcl_implementation implementation,
                  const struct fcl_caps *caps, const fcl_wisdom *wisdom, struct fcl_choice *choices,
                  char *reason, size_t size);

#endif
