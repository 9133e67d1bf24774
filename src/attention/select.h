// Which configuration a plan gets: fcl_select of tune.h.
#ifndef FCL_ATTENTION_SELECT_H
#define FCL_ATTENTION_SELECT_H

#include <flashcl/tune.h>

#include "core/common.h"

#define FCL_ORIGIN_OTHER_DRIVER "wisdom of another driver"

// The class text of a row that speaks of one configuration. Cut at `size`.
void fcl_select_class_of(const char *problem_class, const struct fcl_config *config, char *text,
                         size_t size);

// The row that says that a configuration crashed or hung on this device and driver, or NULL.
const struct fcl_wisdom_row *fcl_select_bad(const fcl_wisdom *wisdom, const struct fcl_caps *caps,
                                            const char *problem_class,
                                            const struct fcl_config *config);

#endif
