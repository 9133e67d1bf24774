// The space of points that attention is tuned over.
#ifndef FCL_ATTENTION_TUNING_SPACE_H
#define FCL_ATTENTION_TUNING_SPACE_H

#include "space.h"

// The valid configurations of the family of `standard`, and that one, as a closed space. `visit`
// (NULL: not wanted) sees the others with the reason, as in fcl_config_space, and before they are
// taken the valid ones, with OK: those for which it returns 1 are left out.
enum fcl_status fcl_config_points(const struct fcl_problem *problem,
                                  enum fcl_implementation implementation,
                                  const struct fcl_caps *caps, const struct fcl_config *standard,
                                  fcl_config_visit visit, void *user, fcl_space **space,
                                  char *reason, size_t size);

// The point of a configuration; INVALID_ARGUMENT where a value is not in the space.
enum fcl_status fcl_config_point(const fcl_space *space, const struct fcl_config *config,
                                 uint64_t *point);

#endif
