// Which configuration a plan gets: fcl_select of tune.h.
#ifndef FCL_ATTENTION_SELECT_H
#define FCL_ATTENTION_SELECT_H

#include <flashcl/tune.h>

#include "core/common.h"

#define FCL_ORIGIN_OTHER_DRIVER "wisdom of another driver"

#endif
