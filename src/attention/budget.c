// What a configuration keeps on the chip, from the sizes that the kernels declare (kernels/tile/).
#include <string.h>

#include "problem.h"
#include "space.h"

// Output columns of a work-group.
static int64_t columns(const struct fcl_config *c, const struct fcl_problem *p)
{
    return p->pass == FCL_PASS_FORWARD ? fcl_div_up(p->head_dim_v, c->dv_split) : 0;
}

// Scores and out stay in registers side by side; Q, K or V, and P pass through local memory.
static void budget_generic(const struct fcl_config *c, const struct fcl_problem *p,
                           struct fcl_budget *b)
{
    const struct fcl_local_layout at = fcl_local_layout(c, p);
    const int64_t groups = c->items / (c->block_m / c->item_rows);
    const int64_t item = sizeof(float);
    b->lanes = 1;
    b->accumulators = c->item_rows * fcl_div_up(columns(c, p), groups);
    b->left = c->item_rows;
    b->scores = c->item_rows * (c->block_n / groups);
    b->registers = b->accumulators + b->scores + b->left + 1;
    b->left_bytes = item * at.right;
    b->right_bytes = item * (at.scores - at.right);
    b->scores_bytes = item * (at.parts - at.scores);
    b->row_bytes = item * (at.total - at.parts);
    b->local_bytes = item * at.total;
}

// Scores, then out: register tiles of one or the other, in front of private arrays. `rows`
// registers hold the rows of the block.
static void budget_registers(const struct fcl_config *c, const struct fcl_problem *p, int64_t rows,
                             struct fcl_budget *b)
{
    b->lanes = c->width;
    b->scores = rows * c->micro_keys;
    b->left = rows;
    b->accumulators = columns(c, p) > 0 ? rows * c->micro_cols : 0;
    b->registers = fcl_max(b->scores, b->accumulators) + b->left + 1;
    b->scores_bytes = (int64_t)sizeof(float) * c->block_m * c->block_n;
    b->row_bytes =
        (int64_t)sizeof(float) * c->block_m * 4; // two maxima, sum, factor that O is owed
    b->private_bytes =
        b->left_bytes + b->right_bytes + b->scores_bytes + b->out_bytes + b->row_bytes;
}

static void budget_vector(const struct fcl_config *c, const struct fcl_problem *p,
                          struct fcl_budget *b)
{
    const int in_place = !p->strided && p->dtype_k == FCL_F32 && p->dtype_v == FCL_F32;
    const int64_t keys = (int64_t)c->micro_keys * p->head_dim_qk;
    const int64_t values = c->block_n * fcl_div_up(p->head_dim_v, c->dv_split);
    const int64_t row = (int64_t)sizeof(float) * c->block_m;
    b->left_bytes = row * p->head_dim_qk;
    b->right_bytes = in_place ? 0 : (int64_t)sizeof(float) * fcl_max(keys, values);
    b->out_bytes = row * fcl_div_up(columns(c, p), c->micro_cols) * c->micro_cols;
    budget_registers(c, p, c->block_m / c->width, b);
}

// Head dims are in the lanes: rows are as long as whole vectors.
static void budget_row(const struct fcl_config *c, const struct fcl_problem *p,
                       struct fcl_budget *b)
{
    const int64_t vector = (int64_t)sizeof(float) * c->width * c->block_m;
    b->left_bytes = vector * fcl_div_up(p->head_dim_qk, c->width);
    b->out_bytes = vector * fcl_div_up(columns(c, p), c->width);
    budget_registers(c, p, c->block_m, b);
}

// A warp's products: 32-bit registers of each of its items.
static void budget_mma(const struct fcl_config *c, const struct fcl_problem *p,
                       struct fcl_budget *b)
{
    const struct fcl_local_layout at = fcl_local_layout(c, p);
    const int64_t row_tiles = c->block_m / (c->items / 2), item = sizeof(float);
    b->lanes = 1;
    b->accumulators = row_tiles * fcl_div_up(columns(c, p), 16) * 8;
    b->left = row_tiles * 4 * (c->held ? fcl_div_up(p->head_dim_qk, 16) : 1);
    b->scores = row_tiles * c->block_n / 2;
    b->registers = b->accumulators + b->scores + b->left + 4;
    b->left_bytes = item * at.right;
    b->right_bytes = item * (at.total - at.right);
    b->local_bytes = item * at.total;
}

// Of a worker's items; the loader gives its registers to them.
static void budget_wgmma(const struct fcl_config *c, const struct fcl_problem *p,
                         struct fcl_budget *b)
{
    const struct fcl_local_layout at = fcl_local_layout(c, p);
    const int64_t item = sizeof(float), out = fcl_div_up(p->head_dim_v, 64) * 32;
    b->lanes = 1;
    b->accumulators = out + (at.ones ? 4 : 0); // and sums of rows
    b->left = c->block_n / 4;                  // P; Q is read from local memory
    b->scores = c->block_n / 2;
    b->registers = b->accumulators + b->scores + b->left;
    if (c->ahead == 2)
        b->out_bytes = item * c->block_m * fcl_min(out, 64);
    b->left_bytes = item * at.right - b->out_bytes;
    b->right_bytes = item * (at.total - at.right);
    b->local_bytes = item * at.total;
}

enum fcl_status fcl_config_budget(const struct fcl_config *config,
                                  const struct fcl_problem *problem, struct fcl_budget *budget,
                                  char *reason, size_t size)
{
    struct fcl_problem full;
    if (!budget)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "budget is NULL");
    *budget = (struct fcl_budget){0};
    if (!config || !fcl_family_text(config->family))
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "config is %s",
                        config ? "of an unknown family" : "NULL");
    enum fcl_status status = fcl_problem_complete(problem, &full, reason, size);
    if (!status)
        status = fcl_config_shape(config, &full, reason, size);
    if (status)
        return status;
    budget->group_size = (int64_t)fcl_config_group_size(config);
    switch (config->family) {
    case FCL_FAMILY_VECTOR:
        budget_vector(config, &full, budget);
        break;
    case FCL_FAMILY_ROW:
        budget_row(config, &full, budget);
        break;
    case FCL_FAMILY_NVIDIA_MMA:
        budget_mma(config, &full, budget);
        break;
    case FCL_FAMILY_NVIDIA_WGMMA:
        budget_wgmma(config, &full, budget);
        break;
    default:
        budget_generic(config, &full, budget);
    }
    return FCL_OK;
}

#define UNIT_REGISTERS 65536 // of a compute unit, on all NVIDIA GPUs since Ampere

int fcl_config_registers(const struct fcl_config *config)
{
    const int share = UNIT_REGISTERS / (config->items * (int)fcl_max(config->resident, 1));
    return (int)fcl_min(share / 8 * 8, 255);
}
