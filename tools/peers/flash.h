// Attention on the host as fast CPU libraries do it: blocks of queries and keys, the products by
// sgemm, softmax online.
#ifndef FLASHCL_PEERS_FLASH_H
#define FLASHCL_PEERS_FLASH_H

#include <flashcl/types.h>

#include "pool.h"

// How the work is cut. `fold`: query heads that share keys stand below each other as rows of one
// product, which few queries need (decoding).
struct flash_blocks {
    int queries, keys;
    int fold;
};

// One problem on contiguous fp32 tensors in its layout. `lse` NULL: not wanted.
struct flash_tensors {
    const float *q, *k, *v;
    float *o, *lse;
};

struct flash;

// Whether this implementation can do the problem.
int flash_supports(const struct fcl_problem *problem);

// Whether folding heads changes anything for this problem and number of rows.
int flash_can_fold(const struct fcl_problem *problem, int queries);

// NULL where memory is out. The problem has its defaults filled in; everything passed is used until
// flash_destroy.
struct flash *flash_create(const struct fcl_problem *problem, const struct flash_tensors *tensors,
                           struct flash_blocks blocks, struct pool *pool, int threads);

// The whole problem once. Blocks.
void flash_run(struct flash *flash);

void flash_destroy(struct flash *flash);

#endif
