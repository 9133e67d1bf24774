// The search space: values of each tunable, and constraints with their reasons.
#include "space.h"

#include <string.h>

#include "problem.h"

#define PACKED_QUERIES 16 // fewer queries than this leave most lanes of a block without a row

// ---- sizes that the kernels derive in the same way (kernels/tile/generic.clh)

static int column_groups(const struct fcl_config *c)
{
    return c->items / (c->block_m / c->item_rows);
}

static int item_columns(const struct fcl_config *c, const struct fcl_problem *p)
{
    return (int)fcl_div_up(fcl_div_up(p->head_dim_v, c->dv_split), column_groups(c));
}

// Floats of a row of halves, padded to whole steps of 16 columns (kernels/tile/nvidia_mma.clh).
static int mma_row(int64_t columns)
{
    return (int)fcl_div_up(columns, 16) * 8;
}

// Q, then keys, then values. The output leaves through 16 rows a warp.
static struct fcl_local_layout mma_layout(const struct fcl_config *c, const struct fcl_problem *p)
{
    struct fcl_local_layout layout = {0};
    const int key = mma_row(p->head_dim_qk);
    const int value =
        p->pass == FCL_PASS_FORWARD ? mma_row(fcl_div_up(p->head_dim_v, c->dv_split)) : 0;
    layout.right = c->block_m * key;
    layout.values = layout.right + (int)fcl_min(c->stages, 2) * c->block_n * key;
    layout.total = (int)fcl_max(layout.values + (c->stages == 3 ? 2 : 1) * c->block_n * value,
                                c->items / 32 * 16 * value);
    return layout;
}

// Floats of a row of halves in chunks of 64 columns (kernels/tile/nvidia_wgmma.clh).
static int wgmma_row(int64_t columns)
{
    return (int)fcl_div_up(columns, 64) * 32;
}

enum { WGMMA_BARRIERS = 64, WGMMA_ONES = 512 }; // floats
// Slots of Q, which hold the output, too, or one of Q and up to 128 columns of the output (ahead
// 2); then keys, values, ones where they pay (three workers, one chunk of V, no LSE, which is of
// probabilities before they are rounded), barriers.
static struct fcl_local_layout wgmma_layout(const struct fcl_config *c, const struct fcl_problem *p)
{
    struct fcl_local_layout layout = {0};
    const int key = wgmma_row(p->head_dim_qk), value = wgmma_row(p->head_dim_v);
    const int slots = (1 + c->ahead) * (int)fcl_max(key, value);
    layout.right = c->block_m * (c->ahead < 2 ? slots : key + (int)fcl_min(value, 64));
    layout.values = layout.right + c->stages * c->block_n * key;
    const int end = layout.values + c->stages * c->block_n * value;
    const int sums = value == 32 && c->items > 384 && c->splits == 1 && !p->lse;
    layout.ones = sums ? end : 0;
    layout.total = end + (sums ? WGMMA_ONES : 0) + WGMMA_BARRIERS;
    return layout;
}

struct fcl_local_layout fcl_local_layout(const struct fcl_config *config,
                                         const struct fcl_problem *problem)
{
    struct fcl_local_layout layout = {0};
    if (config->family == FCL_FAMILY_NVIDIA_MMA && config->dv_split >= 1)
        return mma_layout(config, problem);
    if (config->family == FCL_FAMILY_NVIDIA_WGMMA)
        return wgmma_layout(config, problem);
    if (config->family != FCL_FAMILY_GENERIC || config->item_rows < 1 || config->dv_split < 1 ||
        config->block_m < config->item_rows || config->items < config->block_m / config->item_rows)
        return layout;
    const int groups = column_groups(config), forward = problem->pass == FCL_PASS_FORWARD;
    const int held = (int)fcl_min(config->d_chunk, problem->head_dim_qk);
    const int row_pad = config->block_m + 4, key_pad = config->block_n + 4;
    const int keys = (config->k_chunk > 0 ? config->k_chunk : held) * key_pad;
    const int columns = forward ? item_columns(config, problem) * groups : 0;
    layout.value_keys = config->block_n;
    while (layout.value_keys * columns > keys && layout.value_keys % 8 == 0)
        layout.value_keys /= 2;
    layout.right_floats = (int)fcl_max(keys, layout.value_keys * columns);
    layout.right = held * row_pad;
    layout.scores = layout.right + 2 * layout.right_floats;
    layout.parts = layout.scores + (forward ? config->block_n * row_pad : 0);
    layout.total = layout.parts + groups * config->block_m + (problem->visible ? 4 : 0); // votes
    return layout;
}

size_t fcl_config_local_bytes(const struct fcl_config *config, const struct fcl_problem *problem)
{
    struct fcl_problem full;
    if (!config || fcl_problem_complete(problem, &full, NULL, 0) ||
        fcl_config_shape(config, &full, NULL, 0))
        return 0;
    return (size_t)fcl_local_layout(config, &full).total * sizeof(float);
}

size_t fcl_config_group_size(const struct fcl_config *config)
{
    return config->items > 0 ? (size_t)config->items : 1;
}

// ---- constraints

// Returns UNSUPPORTED with a reason unless the condition holds.
#define REQUIRE(condition, ...)                                          \
    do {                                                                 \
        if (!(condition))                                                \
            return fcl_fail(reason, size, FCL_UNSUPPORTED, __VA_ARGS__); \
    } while (0)

// ---- whether the tunables fit each other and the problem

static enum fcl_status shape_generic(const struct fcl_config *c, const struct fcl_problem *p,
                                     char *reason, size_t size)
{
    REQUIRE(c->item_rows >= 4 && c->item_rows <= 64 && c->item_rows % 4 == 0,
            "item_rows %d is not a multiple of 4 in 4 to 64", c->item_rows);
    REQUIRE(c->block_m >= c->item_rows && c->block_m % c->item_rows == 0,
            "block_m %d is not a positive multiple of item_rows %d", c->block_m, c->item_rows);
    const int row_groups = c->block_m / c->item_rows;
    REQUIRE(c->items >= row_groups && c->items % row_groups == 0,
            "items %d is not a positive multiple of the %d row groups", c->items, row_groups);
    const int groups = column_groups(c);
    REQUIRE(c->block_n >= 4 && c->block_n % 4 == 0 && c->block_n % groups == 0,
            "block_n %d is not a multiple of 4 and of the %d column groups", c->block_n, groups);
    REQUIRE(c->d_chunk >= 1 && c->d_chunk <= p->head_dim_qk,
            "d_chunk %d is outside of 1 to the head dim, %d", c->d_chunk, p->head_dim_qk);
    REQUIRE(c->k_chunk == 0 || (c->k_chunk > 0 && c->d_chunk == p->head_dim_qk &&
                                p->head_dim_qk % c->k_chunk == 0),
            "k_chunk %d is not 0, and not a divisor of the head dim, %d, with d_chunk %d",
            c->k_chunk, p->head_dim_qk, c->d_chunk);
    return FCL_OK;
}

#define WIDTH_ALLOWED(width) ((width) == 4 || (width) == 8 || (width) == 16)

// What the families of CPU devices have in common.
static enum fcl_status shape_registers(const struct fcl_config *c, char *reason, size_t size)
{
    REQUIRE(WIDTH_ALLOWED(c->width), "width %d is not 4, 8 or 16", c->width);
    REQUIRE(c->micro_keys >= 1 && c->micro_keys <= 64 && c->micro_cols >= 1 && c->micro_cols <= 64,
            "micro_keys %d and micro_cols %d are not both in 1 to 64", c->micro_keys,
            c->micro_cols);
    REQUIRE(c->block_n >= 1 && c->block_n % c->micro_keys == 0,
            "block_n %d is not a positive multiple of micro_keys %d", c->block_n, c->micro_keys);
    return FCL_OK;
}

static enum fcl_status shape_vector(const struct fcl_config *c, char *reason, size_t size)
{
    const enum fcl_status status = shape_registers(c, reason, size);
    if (status)
        return status;
    REQUIRE(c->block_m >= c->width && c->block_m % c->width == 0,
            "block_m %d is not a positive multiple of width %d", c->block_m, c->width);
    return FCL_OK;
}

static enum fcl_status shape_row(const struct fcl_config *c, char *reason, size_t size)
{
    const enum fcl_status status = shape_registers(c, reason, size);
    if (status)
        return status;
    REQUIRE(c->block_m >= 1 && c->block_m <= 16, "block_m %d is outside of 1 to 16", c->block_m);
    REQUIRE(c->block_n % c->width == 0, "block_n %d is not a multiple of width %d", c->block_n,
            c->width);
    return FCL_OK;
}

static enum fcl_status mma_accepts(const char *name, const struct fcl_problem *p, char *reason,
                                   size_t size)
{
    REQUIRE((p->dtype_q == FCL_F16 || p->dtype_q == FCL_BF16) && p->dtype_k == p->dtype_q &&
                p->dtype_v == p->dtype_q,
            "q, k and v are %s, %s and %s; %s is for one of f16 and bf16",
            fcl_dtype_text(p->dtype_q), fcl_dtype_text(p->dtype_k), fcl_dtype_text(p->dtype_v),
            name);
    REQUIRE(p->alignment % 16 == 0,
            "alignment %d: %s copies 16 bytes at a time; head dims that are multiples of 8 "
            "allow for it",
            p->alignment, name);
    REQUIRE(!p->strided, "%s needs innermost strides of 1", name);
    REQUIRE(!p->guard_v, "%s multiplies hidden rows of V by 0, guard-v forbids that", name);
    return FCL_OK;
}

static enum fcl_status shape_mma(const struct fcl_config *c, const struct fcl_problem *p,
                                 char *reason, size_t size)
{
    const enum fcl_status status = mma_accepts("nvidia_mma", p, reason, size);
    if (status)
        return status;
    REQUIRE(c->items >= 32 && c->items <= 1024 && (c->items & (c->items - 1)) == 0,
            "items %d is not a power of two in 32 to 1024", c->items);
    REQUIRE(mma_row(p->head_dim_qk) / 4 <= c->items && mma_row(p->head_dim_v) / 4 <= c->items,
            "items %d are fewer than the pieces of 16 bytes of a row", c->items);
    REQUIRE(c->block_m % (c->items / 2) == 0,
            "block_m %d is not a multiple of 16 rows for each of the %d warps", c->block_m,
            c->items / 32);
    REQUIRE(c->block_n % 16 == 0, "block_n %d is not a multiple of 16", c->block_n);
    REQUIRE(c->held == 0 || c->held == 1, "held %d is not 0 or 1", c->held);
    REQUIRE(c->stages >= 1 && c->stages <= 3, "stages %d is outside of 1 to 3", c->stages);
    REQUIRE(c->stages < 3 || p->pass == FCL_PASS_FORWARD,
            "stages 3: the statistics pass has no values for a second buffer");
    REQUIRE(c->resident >= 0 && c->resident <= 16, "resident %d is outside of 0 to 16",
            c->resident);
    REQUIRE(p->head_dim_v % 8 == 0 && fcl_div_up(p->head_dim_v, c->dv_split) % 8 == 0,
            "dv_split %d cuts the value head dim, %d, at no multiple of 8", c->dv_split,
            p->head_dim_v);
    return FCL_OK;
}

static enum fcl_status shape_wgmma(const struct fcl_config *c, const struct fcl_problem *p,
                                   char *reason, size_t size)
{
    const enum fcl_status status = mma_accepts("nvidia_wgmma", p, reason, size);
    if (status)
        return status;
    REQUIRE(p->pass == FCL_PASS_FORWARD, "nvidia_wgmma has no statistics pass; nvidia_mma has one");
    REQUIRE(p->softcap <= 0 && !p->sink && !p->alibi && !p->bias && !p->visible,
            "nvidia_wgmma has no softcap, no sinks, no alibi, no bias and no mask tensor; "
            "nvidia_mma has them");
    REQUIRE(!fcl_problem_has_sequences(p),
            "nvidia_wgmma takes sequences of one length only; nvidia_mma takes others");
    REQUIRE(p->head_dim_qk <= 256 && p->head_dim_v <= 256 && p->head_dim_v % 8 == 0,
            "head dims %d and %d are not both up to 256, the second a multiple of 8",
            p->head_dim_qk, p->head_dim_v);
    REQUIRE(c->block_m == 128 || c->block_m == 192, "block_m %d is not 128 or 192", c->block_m);
    REQUIRE(c->items == 2 * c->block_m + 128,
            "items %d are not 128 for each 64 rows and 128 more, %d", c->items,
            2 * c->block_m + 128);
    REQUIRE(c->block_n % 16 == 0 && c->block_n <= 256,
            "block_n %d is not a multiple of 16 up to 256", c->block_n);
    REQUIRE(c->stages >= 2 && c->stages <= 4, "stages %d is outside of 2 to 4", c->stages);
    REQUIRE(c->ahead >= 0 && c->ahead <= 2, "ahead %d is outside of 0 to 2", c->ahead);
    REQUIRE(c->dv_split == 1, "dv_split %d: nvidia_wgmma computes all output columns at once",
            c->dv_split);
    REQUIRE(!c->packed, "packed 1: nvidia_wgmma copies rows of one head; nvidia_mma packs");
    return FCL_OK;
}

static enum fcl_status shape_common(const struct fcl_config *c, const struct fcl_problem *p,
                                    char *reason, size_t size)
{
    REQUIRE(c->block_m >= 1 && c->block_m <= 1024 && c->block_n >= 1 && c->block_n <= 1024,
            "block_m %d and block_n %d are not both in 1 to 1024", c->block_m, c->block_n);
    REQUIRE(c->dv_split >= 1 && c->dv_split <= p->head_dim_v,
            "dv_split %d is outside of 1 to the value head dim, %d", c->dv_split, p->head_dim_v);
    REQUIRE(c->dv_split == 1 || p->pass == FCL_PASS_FORWARD,
            "dv_split %d: the statistics pass has no output columns", c->dv_split);
    REQUIRE(c->packed == 0 || c->packed == 1, "packed %d is not 0 or 1", c->packed);
    REQUIRE(c->splits >= 1 && c->splits <= 1024, "splits %d is outside of 1 to 1024", c->splits);
    REQUIRE(c->splits == 1 || p->pass == FCL_PASS_FORWARD,
            "splits %d: partial results are joined for the forward pass only", c->splits);
    REQUIRE(c->visit >= 0 && c->visit <= 2, "visit %d is not 0, 1 or 2", c->visit);
    return FCL_OK;
}

enum fcl_status fcl_config_shape(const struct fcl_config *config, const struct fcl_problem *problem,
                                 char *reason, size_t size)
{
    const enum fcl_status status = shape_common(config, problem, reason, size);
    if (status)
        return status;
    switch (config->family) {
    case FCL_FAMILY_VECTOR:
        return shape_vector(config, reason, size);
    case FCL_FAMILY_ROW:
        return shape_row(config, reason, size);
    case FCL_FAMILY_NVIDIA_MMA:
        return shape_mma(config, problem, reason, size);
    case FCL_FAMILY_NVIDIA_WGMMA:
        return shape_wgmma(config, problem, reason, size);
    default:
        return shape_generic(config, problem, reason, size);
    }
}

// ---- whether the device has room

#define GENERIC_REGISTERS 192    // floats of an item's tiles beyond which every GPU spills
#define PRIVATE_BYTES (1u << 20) // of a work-item's arrays on a CPU: far below any thread's stack

static enum fcl_status limit_group(const struct fcl_config *c, const struct fcl_problem *p,
                                   const struct fcl_caps *caps, char *reason, size_t size)
{
    REQUIRE((uint64_t)c->items <= caps->group_size,
            "%d work-items in a group, the device allows %llu", c->items,
            (unsigned long long)caps->group_size);
    const size_t bytes = fcl_config_local_bytes(c, p);
    REQUIRE(bytes <= caps->local_bytes,
            "%zu bytes of local memory needed, the device has %llu for a group", bytes,
            (unsigned long long)caps->local_bytes);
    return FCL_OK;
}

static enum fcl_status limit_generic(const struct fcl_config *c, const struct fcl_problem *p,
                                     char *reason, size_t size)
{
    const int tiles = c->item_rows * (item_columns(c, p) + c->block_n / column_groups(c));
    REQUIRE(tiles <= GENERIC_REGISTERS,
            "%d floats in an item's register tiles, more than %d would spill", tiles,
            GENERIC_REGISTERS);
    return FCL_OK;
}

#define MMA_OTHERS 55     // registers of an item that its tiles may not take: the loop's
#define MMA_OTHERS_FEW 40 // where the compiler is told to do with few
#define MMA_RESERVED 1024 // bytes of a unit's local memory that the driver keeps for each group

// Finding rows in pages takes registers, too: for 32 rows of a block, with two stages for two
// blocks, and for each copy of an item. Fits what ptxas spills and does not.
static int mma_page_registers(const struct fcl_config *c, const struct fcl_problem *p)
{
    const int copies = c->block_n * (mma_row(p->head_dim_qk) / 4) / c->items;
    return (int)fcl_div_up(c->block_n, 32) * (4 + 8 * c->stages) + 3 * copies / 4;
}

// Registers of an item's tiles: 2 x 32-bit accumulators of 16 x 8 a row tile. Of rows of Q that
// stay a quarter counts: nothing else is alive when they are many (by ptxas).
static int mma_registers(const struct fcl_config *c, const struct fcl_problem *p)
{
    const int row_tiles = c->block_m / (c->items / 2);
    const int64_t out = p->pass == FCL_PASS_FORWARD ? fcl_div_up(p->head_dim_v, c->dv_split) : 0;
    const int tiles = row_tiles * (int)(c->block_n / 2 + mma_row(out) +
                                        (c->held ? mma_row(p->head_dim_qk) / 8 : 0));
    return tiles + (p->page ? mma_page_registers(c, p) : 0);
}

static enum fcl_status limit_mma(const struct fcl_config *c, const struct fcl_problem *p,
                                 const struct fcl_caps *caps, char *reason, size_t size)
{
    const int all = fcl_config_registers(c), most = all - (all < 200 ? MMA_OTHERS_FEW : MMA_OTHERS);
    REQUIRE(mma_registers(c, p) <= most,
            "%d registers in an item's tiles, more than %d would spill", mma_registers(c, p),
            (int)fcl_max(most, 0));
    const size_t unit = (size_t)c->resident * (fcl_config_local_bytes(c, p) + MMA_RESERVED);
    REQUIRE(unit <= caps->local_bytes + MMA_RESERVED,
            "resident %d: %zu bytes of local memory needed, a unit has %llu", c->resident, unit,
            (unsigned long long)caps->local_bytes + MMA_RESERVED);
    return FCL_OK;
}

// Of an item's tiles, beyond which products are serialised because of spills (measured by ptxas):
// what setmaxnreg gives to an item less what the loop needs.
static int wgmma_register_limit(const struct fcl_config *c)
{
    return c->block_m == 128 ? 196 : 130;
}

// Scores and probabilities, two of which share a register, and out; sums of rows are on top.
static int wgmma_registers(const struct fcl_config *c, const struct fcl_problem *p)
{
    return c->block_n / 2 + c->block_n / 4 + wgmma_row(p->head_dim_v);
}

static enum fcl_status limit_wgmma(const struct fcl_config *c, const struct fcl_problem *p,
                                   char *reason, size_t size)
{
    REQUIRE(wgmma_registers(c, p) <= wgmma_register_limit(c),
            "%d registers in an item's tiles, more than %d would spill", wgmma_registers(c, p),
            wgmma_register_limit(c));
    return FCL_OK;
}

// The families of CPU devices; `rows` is the number of row registers or rows that a register tile
// covers.
static enum fcl_status limit_registers(const struct fcl_config *c, const struct fcl_problem *p,
                                       const struct fcl_caps *caps, int rows, char *reason,
                                       size_t size)
{
    const int limit = (int)fcl_max((int64_t)caps->float_width, 4);
    const int registers = c->width == 16 ? 24 : 12; // accumulators that leave room for the operands
    REQUIRE(c->width <= limit, "width %d is above the device's vector width, %d", c->width, limit);
    REQUIRE(rows * c->micro_keys <= registers && rows * c->micro_cols <= registers,
            "register tiles of %d x %d and %d x %d vectors, more than %d would spill", rows,
            c->micro_keys, rows, c->micro_cols, registers);
    const int64_t floats = (int64_t)c->block_m * (p->head_dim_qk + p->head_dim_v + c->block_n) +
                           (int64_t)c->block_n * fcl_max(p->head_dim_qk, p->head_dim_v);
    REQUIRE(floats * 4 <= PRIVATE_BYTES, "%lld bytes of private arrays, more than %u",
            (long long)floats * 4, PRIVATE_BYTES);
    return FCL_OK;
}

enum fcl_status fcl_config_validate(const struct fcl_config *config,
                                    const struct fcl_problem *problem, const struct fcl_caps *caps,
                                    char *reason, size_t size)
{
    struct fcl_problem full;
    if (!config || !caps)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%s is NULL",
                        config ? "caps" : "config");
    enum fcl_status status = fcl_problem_complete(problem, &full, reason, size);
    if (!status)
        status = fcl_family_usable(config->family, caps, reason, size);
    if (!status)
        status = fcl_config_shape(config, &full, reason, size);
    if (status)
        return status;
    switch (config->family) {
    case FCL_FAMILY_VECTOR:
        return limit_registers(config, &full, caps, config->block_m / config->width, reason, size);
    case FCL_FAMILY_ROW:
        return limit_registers(config, &full, caps, config->block_m, reason, size);
    case FCL_FAMILY_NVIDIA_MMA:
        status = limit_mma(config, &full, caps, reason, size);
        break;
    case FCL_FAMILY_NVIDIA_WGMMA:
        status = limit_wgmma(config, &full, reason, size);
        break;
    default:
        status = limit_generic(config, &full, reason, size);
    }
    return status ? status : limit_group(config, &full, caps, reason, size);
}

int fcl_config_joins(const struct fcl_config *config)
{
    return config->family == FCL_FAMILY_NVIDIA_MMA && config->splits > 1;
}

int fcl_config_kernels(const struct fcl_config *config, enum fcl_implementation implementation)
{
    if (implementation == FCL_UNFUSED)
        return 3;
    return config->splits > 1 && !fcl_config_joins(config) ? 2 : 1;
}

enum fcl_status fcl_config_unfused(const struct fcl_config *config, char *reason, size_t size)
{
    REQUIRE(config->family != FCL_FAMILY_NVIDIA_MMA && config->family != FCL_FAMILY_NVIDIA_WGMMA,
            "%s has no unfused kernels", fcl_family_text(config->family));
    REQUIRE(!config->packed && config->splits == 1,
            "packed %d and splits %d: the unfused kernels have neither", config->packed,
            config->splits);
    return FCL_OK;
}

int fcl_rows_packed(enum fcl_family family, const struct fcl_problem *problem)
{
    const int64_t group = problem->heads_q / problem->heads_kv;
    if (group == 1 || family == FCL_FAMILY_NVIDIA_WGMMA)
        return 0;
    if (family == FCL_FAMILY_NVIDIA_MMA && problem->q_len * group <= FCL_FEW_ROWS)
        return 1;
    return family == FCL_FAMILY_ROW || problem->q_len < PACKED_QUERIES;
}

// ---- enumeration

#define VALUES 6         // at most, of one tunable
#define MANY_ROWS 131072 // of all heads: 1024 blocks of 128, with which no GPU is idle

// Which values a tunable takes: those listed; those below the head dim and one more, which stands
// for all of it; of those listed only the first, unless queries, or blocks of rows of all heads,
// are few; those listed and the rows that there are, if they are few.
enum kind { LISTED, BELOW_AND_HEAD_DIM, BELOW_AND_ZERO, FEW_QUERIES, FEW_BLOCKS, AND_FEW_ROWS };

struct tunable {
    size_t offset; // in struct fcl_config
    enum kind kind;
    size_t count;
    int values[VALUES];
};

#define TUNABLE(field, kind, ...)                                                          \
    {                                                                                      \
        offsetof(struct fcl_config, field), kind, FCL_COUNT(((const int[]){__VA_ARGS__})), \
        {                                                                                  \
            __VA_ARGS__                                                                    \
        }                                                                                  \
    }

static const struct tunable generic_space[] = {
    TUNABLE(block_m, LISTED, 8, 16, 32, 64, 128),
    TUNABLE(block_n, LISTED, 16, 32, 64),
    TUNABLE(items, LISTED, 8, 16, 32, 64, 128, 256),
    TUNABLE(item_rows, LISTED, 4, 8),
    TUNABLE(d_chunk, BELOW_AND_HEAD_DIM, 16, 32, 64),
    TUNABLE(k_chunk, BELOW_AND_ZERO, 16, 32),
    TUNABLE(dv_split, LISTED, 1, 2, 4),
    TUNABLE(splits, FEW_QUERIES, 1, 8, 32),
};

static const struct tunable vector_space[] = {
    TUNABLE(width, LISTED, 4, 8, 16),           TUNABLE(block_m, LISTED, 4, 8, 16, 32, 64, 128),
    TUNABLE(block_n, LISTED, 32, 64, 128, 256), TUNABLE(micro_keys, LISTED, 2, 4, 8),
    TUNABLE(micro_cols, LISTED, 2, 4, 8),       TUNABLE(dv_split, LISTED, 1, 2),
    TUNABLE(splits, FEW_QUERIES, 1, 4),
};

static const struct tunable row_space[] = {
    TUNABLE(width, LISTED, 4, 8, 16),           TUNABLE(block_m, AND_FEW_ROWS, 1, 2, 4, 8),
    TUNABLE(block_n, LISTED, 32, 64, 128, 256), TUNABLE(micro_keys, LISTED, 1, 2, 4, 8),
    TUNABLE(micro_cols, LISTED, 1, 2, 4, 8),    TUNABLE(splits, LISTED, 1, 4, 16),
};

static const struct tunable mma_space[] = {
    TUNABLE(block_m, LISTED, 16, 64, 128, 256), TUNABLE(block_n, LISTED, 32, 64, 96, 128),
    TUNABLE(items, LISTED, 32, 128, 256),       TUNABLE(held, LISTED, 0, 1),
    TUNABLE(stages, LISTED, 1, 2, 3),           TUNABLE(resident, LISTED, 0, 3),
    TUNABLE(splits, FEW_BLOCKS, 1, 8, 32),
};

static const struct tunable wgmma_space[] = {
    TUNABLE(block_m, LISTED, 128, 192),
    TUNABLE(items, LISTED, 384, 512),
    TUNABLE(block_n, LISTED, 64, 80, 96, 112, 128, 144),
    TUNABLE(stages, LISTED, 2, 3),
    TUNABLE(ahead, LISTED, 0, 1, 2),
    TUNABLE(splits, LISTED, 1, 4),
};

static const struct {
    const struct tunable *tunables;
    size_t count;
} spaces[FCL_FAMILY_COUNT] = {
    [FCL_FAMILY_GENERIC] = {generic_space, FCL_COUNT(generic_space)},
    [FCL_FAMILY_VECTOR] = {vector_space, FCL_COUNT(vector_space)},
    [FCL_FAMILY_ROW] = {row_space, FCL_COUNT(row_space)},
    [FCL_FAMILY_NVIDIA_MMA] = {mma_space, FCL_COUNT(mma_space)},
    [FCL_FAMILY_NVIDIA_WGMMA] = {wgmma_space, FCL_COUNT(wgmma_space)},
};

// Rows of a key head where the row family is for them and does not have their number anyway; 0:
// not so.
static int few_rows(const struct fcl_problem *problem)
{
    const int64_t rows = problem->q_len * (problem->heads_q / problem->heads_kv);
    return rows > 0 && rows < 8 && (rows & (rows - 1)) ? (int)rows : 0;
}

static size_t value_count(const struct tunable *tunable, const struct fcl_problem *problem)
{
    size_t count = 0;
    if (tunable->kind == LISTED)
        return tunable->count;
    if (tunable->kind == FEW_QUERIES)
        return problem->q_len > 0 && problem->q_len < PACKED_QUERIES ? tunable->count : 1;
    if (tunable->kind == FEW_BLOCKS)
        return problem->batch * problem->heads_q * problem->q_len < MANY_ROWS ? tunable->count : 1;
    if (tunable->kind == AND_FEW_ROWS)
        return tunable->count + (few_rows(problem) > 0);
    while (count < tunable->count && tunable->values[count] < problem->head_dim_qk)
        count++;
    return count + 1;
}

// Point `number` of a family's space, counted with the first tunable slowest; 0 past the end.
static int space_point(enum fcl_family family, size_t number, const struct fcl_problem *problem,
                       struct fcl_config *config)
{
    memset(config, 0, sizeof *config);
    config->family = family;
    config->dv_split = config->splits = 1;
    config->packed = fcl_rows_packed(family, problem);
    for (size_t t = spaces[family].count; t-- > 0;) {
        const struct tunable *tunable = &spaces[family].tunables[t];
        const size_t count = value_count(tunable, problem), index = number % count;
        int value = index < tunable->count ? tunable->values[index] : 0;
        if (tunable->kind == BELOW_AND_HEAD_DIM && index == count - 1)
            value = problem->head_dim_qk;
        if (tunable->kind == BELOW_AND_ZERO && index == count - 1)
            value = 0;
        if (tunable->kind == AND_FEW_ROWS && index == tunable->count)
            value = few_rows(problem);
        *(int *)((char *)config + tunable->offset) = value;
        number /= count;
    }
    return number == 0;
}

size_t fcl_config_space(const struct fcl_problem *problem, const struct fcl_caps *caps,
                        fcl_config_visit visit, void *user)
{
    size_t valid = 0;
    struct fcl_config config;
    struct fcl_problem full;
    char reason[256];
    if (!caps || fcl_problem_complete(problem, &full, NULL, 0))
        return 0;
    for (int family = 0; family < FCL_FAMILY_COUNT; family++) {
        if (fcl_family_usable((enum fcl_family)family, caps, NULL, 0))
            continue;
        for (size_t i = 0; space_point((enum fcl_family)family, i, &full, &config); i++) {
            reason[0] = 0;
            const enum fcl_status status =
                fcl_config_validate(&config, problem, caps, reason, sizeof reason);
            valid += status == FCL_OK;
            if (visit(user, &config, status, reason))
                return valid;
        }
    }
    return valid;
}
