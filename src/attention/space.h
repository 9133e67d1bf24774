// The values that tunables may take, what makes a configuration valid (space.c), and the defaults
// (defaults.c).
#ifndef FCL_ATTENTION_SPACE_H
#define FCL_ATTENTION_SPACE_H

#include <flashcl/tune.h>

#include "core/common.h"

// Where the generic tile's arrays stand in local memory, in floats; the held rows come first. Baked
// into the kernel.
struct fcl_local_layout {
    int right;  // two buffers, each for a chunk of keys (d x block_n) or of values (keys x columns)
    int scores; // block_n x block_m probabilities; forward only
    int parts;  // one number a row and column group
    int values; // nvidia tiles: block_n x columns; keys stand at `right`
    int ones;   // nvidia_wgmma: 16 rows of 64, from which sums of rows come; 0: there are none
    int total;
    int right_floats; // size of such a buffer
    int value_keys;   // keys of a chunk of values: as many as fit where a chunk of keys does
};

// All zero for families that use no local memory.
struct fcl_local_layout fcl_local_layout(const struct fcl_config *config,
                                         const struct fcl_problem *problem);

// Whether the tunables fit each other and a completed problem, whatever the device: OK, or
// UNSUPPORTED with the reason. What the sizes of a configuration are, is defined where this is OK.
enum fcl_status fcl_config_shape(const struct fcl_config *config, const struct fcl_problem *problem,
                                 char *reason, size_t size);

// Whether the kernel of a configuration splits keys and joins the parts itself.
int fcl_config_joins(const struct fcl_config *config);

// Whether the unfused kernels can use a valid configuration.
enum fcl_status fcl_config_unfused(const struct fcl_config *config, char *reason, size_t size);

#define FCL_FEW_ROWS 64 // packed, of an NVIDIA GPU: up to which reading keys is what takes time

// Whether a family's configurations for a completed problem pack grouped heads: where few queries
// would leave most rows of a block empty.
int fcl_rows_packed(enum fcl_family family, const struct fcl_problem *problem);

// Work-items of a work-group.
size_t fcl_config_group_size(const struct fcl_config *config);

// Whether a family is chosen for a completed problem without being named: nvidia_wgmma is not for a
// handful of rows.
int fcl_family_suits(enum fcl_family family, const struct fcl_problem *problem);

// The default of one family for a completed problem, whether or not it is the most able one.
enum fcl_status fcl_family_default(enum fcl_family family, const struct fcl_problem *problem,
                                   const struct fcl_caps *caps, struct fcl_config *config,
                                   char *reason, size_t size);

// Registers that an item of the nvidia_mma family may have (budget.c).
int fcl_config_registers(const struct fcl_config *config);

#endif
