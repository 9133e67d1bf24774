// Trials of configurations, for fcl_attention_tune.
#ifndef FCL_ATTENTION_TRIALS_H
#define FCL_ATTENTION_TRIALS_H

#include "plan.h"

// Puts the binary of a configuration into the cache.
enum fcl_status fcl_trials_store(fcl_trials *trials, const struct fcl_config *config);

#endif
