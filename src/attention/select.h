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
// the default of each usable family from the most able down. Only valid configurations, none twice,
// none that wisdom says crashed or hung.
// wisdom NULL: none. Returns how many; 0 with the reason when none is valid.
size_t fcl_select(const struct fcl_problem *problem, enum fcl_implementation implementation,
                  const struct fcl_caps *caps, const fcl_wisdom *wisdom, struct fcl_choice *choices,
                  char *reason, size_t size);

// The class text of a row that speaks of one configuration. Cut at `size`.
void fcl_select_class_of(const char *problem_class, const struct fcl_config *config, char *text,
                         size_t size);

// The row that says that a configuration crashed or hung on this device and driver, or NULL.
const struct fcl_wisdom_row *fcl_select_bad(const fcl_wisdom *wisdom, const struct fcl_caps *caps,
                                            const char *problem_class,
                                            const struct fcl_config *config);

#endif
