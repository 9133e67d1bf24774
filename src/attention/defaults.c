// The configuration of each family where nothing was tuned.
#include "problem.h"
#include "space.h"

#define ROW_LIMIT 8          // rows up to which the row family is the faster one on a CPU
#define KEYS_OF_PART 512     // fewer are not worth joining
#define FEW_ROWS 16          // rows whose parts are cheap to join
#define PARTS 128            // at most
#define SHORT_ROWS 512       // of a head, for which causal blocks of 192 are too coarse
#define MOST_KEYS 4096       // for which narrow blocks of keys are the better ones
#define REASON_CANDIDATES 11 // defaults of a family that say why nothing fits

// ---- how work is spread

static int native_width(const struct fcl_caps *caps)
{
    return caps->float_width >= 16 ? 16 : caps->float_width >= 8 ? 8 : 4;
}

// Rows of one head of the grid, by the problem's hints.
static int64_t hinted_rows(const struct fcl_problem *p, int packed)
{
    return packed ? p->q_len * (p->heads_q / p->heads_kv) : p->q_len;
}

// Keys are split where there are too few blocks of rows to keep all compute units busy to the end.
// A GPU's units share the memory best with two groups each: more parts take longer to be joined. Of
// groups that stay there is one a unit. Measured on an H200.
static int hinted_splits(const struct fcl_problem *p, const struct fcl_caps *caps,
                         const struct fcl_config *c)
{
    const int64_t heads = c->packed ? p->heads_kv : p->heads_q;
    const int64_t groups = p->batch * heads * fcl_div_up(hinted_rows(p, c->packed), c->block_m);
    const int64_t units = (int64_t)caps->compute_units;
    int splits = 1;
    if (groups == 0 || p->pass != FCL_PASS_FORWARD)
        return 1;
    if (caps->gpu) {
        const int64_t keys = c->block_m <= FEW_ROWS ? 2 * c->block_n : KEYS_OF_PART;
        const int64_t parts = units * (c->family == FCL_FAMILY_NVIDIA_WGMMA ? 1 : 2) / groups;
        return (int)fcl_max(fcl_min(fcl_min(parts, p->k_len / keys), PARTS), 1);
    }
    while (splits < 64 && splits * groups < 2 * units && p->k_len >= 2 * splits * KEYS_OF_PART)
        splits *= 2;
    return splits;
}

// ---- families

// Shapes of the vector tile, measured on AVX-512 and by register count elsewhere: 4 rows x 4 where
// there are 32 registers, 2 x 4 where there are 16; no more vectors of rows than there are rows for
// (at 20 packed rows 1.7 times the speed, at 36 1.3 times).
static int vector_default(const struct fcl_problem *p, const struct fcl_caps *caps, size_t try,
                          struct fcl_config *c)
{
    const int width = native_width(caps), packed = fcl_rows_packed(FCL_FAMILY_VECTOR, p);
    const int64_t have = hinted_rows(p, packed);
    const int registers = width == 16 ? 16 : 8; // of a register tile
    int rows = registers / 4;
    if (have > 0)
        rows = (int)fcl_min(rows, fcl_div_up(have, width));
    if (try > 0)
        rows = 1;
    const int micro = rows * 8 <= registers ? 8 : 4;
    *c = (struct fcl_config){.family = FCL_FAMILY_VECTOR,
                             .width = width,
                             .block_m = width * rows,
                             .block_n = 64,
                             .micro_keys = micro,
                             .micro_cols = micro,
                             .dv_split = 1,
                             .packed = packed};
    c->splits = hinted_splits(p, caps, c);
    return try < 2;
}

// Wide blocks and one row of K at a time keep the loads in the order of memory; V is best read by
// whole rows. A block of just the rows there are: at 5 rows 1.5 times the speed of one of 8.
static int row_default(const struct fcl_problem *p, const struct fcl_caps *caps, size_t try,
                       struct fcl_config *c)
{
    const int width = native_width(caps), packed = fcl_rows_packed(FCL_FAMILY_ROW, p);
    const int64_t have = hinted_rows(p, packed);
    const int rows = (int)fcl_max(fcl_min(have, ROW_LIMIT), 1);
    const int vectors = (int)fcl_div_up(p->head_dim_v, width);
    int columns = 8; // as many as a row has, and as registers hold
    while (columns > 1 && (columns > vectors || rows * columns > (width == 16 ? 24 : 12)))
        columns /= 2;
    *c = (struct fcl_config){.family = FCL_FAMILY_ROW,
                             .width = width,
                             .block_m = rows,
                             .block_n = 256,
                             .micro_keys = 1,
                             .micro_cols = columns,
                             .dv_split = 1,
                             .packed = packed};
    c->splits = hinted_splits(p, caps, c);
    return try == 0 && have > 0 && have <= ROW_LIMIT;
}

#define WHOLE 0   // d_chunk: all of the head dim
#define DIVISOR 1 // k_chunk: about 32 head dims

// Head dims of K that are staged at once, in whole vectors; 0: all, where there are no more than 32
// or no number near 32 divides.
static int chunk_of(int head_dim)
{
    for (int chunk = 32; chunk >= 16; chunk -= 4)
        if (head_dim > 32 && head_dim % chunk == 0)
            return chunk;
    return 0;
}

#define SHAPES 11
#define LARGE 3 // of them: for GPUs on which two such groups fit into local memory side by side

// Shapes of the generic tile, from large to small: block_m, block_n, items, item_rows, d_chunk,
// k_chunk. The large ones were measured on an H200: a chunk costs a barrier (3 % at d 64), but at
// d 128 lets a third group in (5 %).
static const int generic_shapes[SHAPES][6] = {
    {128, 64, 128, 8, WHOLE},
    {128, 64, 128, 8, WHOLE, DIVISOR},
    {64, 64, 128, 8, WHOLE, DIVISOR},
    {64, 32, 128, 8, WHOLE, DIVISOR},
    {64, 32, 128, 8, 32},
    {64, 32, 256, 8, 32},
    {32, 32, 64, 4, 32},
    {32, 32, 128, 4, 32},
    {16, 16, 64, 4, 16},
    {16, 16, 16, 4, 16},
    {8, 16, 8, 4, 16},
};

// For a handful of rows, tried first: the fewer of a block stay empty, the more of the time goes
// into reading keys and values.
static const int generic_few[][6] = {
    {16, 64, 64, 4, WHOLE, DIVISOR},
    {16, 32, 64, 4, 32},
};

static void generic_shape(const struct fcl_problem *p, const int *s, struct fcl_config *c)
{
    const int head_dim = p->head_dim_qk;
    *c = (struct fcl_config){.family = FCL_FAMILY_GENERIC,
                             .block_m = s[0],
                             .block_n = s[1],
                             .items = s[2],
                             .item_rows = s[3],
                             .d_chunk = s[4] == WHOLE ? head_dim : (int)fcl_min(s[4], head_dim),
                             .k_chunk = s[5] == DIVISOR ? chunk_of(head_dim) : 0,
                             .dv_split = 1,
                             .packed = fcl_rows_packed(FCL_FAMILY_GENERIC, p),
                             .splits = 1};
}

static int generic_default(const struct fcl_problem *p, const struct fcl_caps *caps, size_t try,
                           struct fcl_config *c)
{
    static const int slices[] = {1, 4, 16}; // more only where all of the output does not fit
    const int64_t have = hinted_rows(p, fcl_rows_packed(FCL_FAMILY_GENERIC, p));
    const size_t few = have > 0 && have <= generic_few[0][0] ? FCL_COUNT(generic_few) : 0;
    size_t shape = try < few ? 0 : (try - few) % SHAPES;
    if (try >= few + FCL_COUNT(slices) * SHAPES)
        return 0;
    generic_shape(p, try < few ? generic_few[try] : generic_shapes[shape], c);
    while (try >= few && shape < LARGE &&
           !(caps->gpu && 2 * fcl_config_local_bytes(c, p) <= caps->local_bytes))
        generic_shape(p, generic_shapes[++shape], c);
    if (try >= few)
        c->dv_split = slices[(try - few) / SHAPES];
    c->splits = hinted_splits(p, caps, c);
    return 1;
}

static int changes_scores(const struct fcl_problem *p)
{
    return p->softcap > 0 || p->alibi || p->bias || p->visible;
}

// Shapes of the mma tile for many rows whose scores stay as they are, and the head dims and keys up
// to which they are the best: as many buffers as leave room for the groups that registers suffice
// for. Against one buffer each, 1 to 6 %, measured on an H200.
static int mma_plain(const struct fcl_problem *p, const struct fcl_caps *caps, size_t *try,
                     struct fcl_config *c)
{
    static const struct {
        int head_dim;
        int64_t keys;
        int block_n, stages, resident;
    } shapes[] = {{64, MOST_KEYS, 64, 3, 3},
                  {64, INT64_MAX, 128, 3, 2},
                  {120, INT64_MAX, 64, 3, 2},
                  {128, INT64_MAX, 64, 2, 2}};
    const int64_t dim = fcl_max(p->head_dim_qk, p->head_dim_v);
    *c = (struct fcl_config){.family = FCL_FAMILY_NVIDIA_MMA,
                             .block_m = 128,
                             .items = 128,
                             .dv_split = 1,
                             .packed = fcl_rows_packed(FCL_FAMILY_NVIDIA_MMA, p)};
    c->splits = hinted_splits(p, caps, c);
    if (p->pass != FCL_PASS_FORWARD || changes_scores(p) || c->splits > 1)
        return 0;
    for (size_t i = 0; i < FCL_COUNT(shapes); i++)
        if (dim <= shapes[i].head_dim && p->k_len <= shapes[i].keys && (*try)-- == 0) {
            c->block_n = shapes[i].block_n;
            c->stages = shapes[i].stages;
            c->resident = shapes[i].resident;
            return 1;
        }
    return 0;
}

// Other shapes of the mma tile: block_m, block_n, items, and stages where keys are split: then
// there are fewer groups, which need more keys on their way. 32 rows a warp are best where the
// output leaves registers for them: each piece of K and V that a warp reads then serves two
// products. A handful of rows gets one warp, up to 64 rows four. Scores that are changed one by one
// need registers, too: blocks of 128 keys take twice the time of 64 where a bias of f32 is added.
// Measured on an H200.
static int mma_default(const struct fcl_problem *p, const struct fcl_caps *caps, size_t try,
                       struct fcl_config *c)
{
    enum { HANDFUL, FEW = 2, MANY = 4 }; // where the shapes for so many rows begin
    static const int shapes[][4] = {
        {FEW_ROWS, 64, 32, 2}, {FEW_ROWS, 32, 32, 2}, {64, 64, 128, 2},  {64, 64, 128, 1},
        {128, 128, 128, 1},    {128, 64, 128, 1},     {128, 32, 128, 1}, {128, 64, 256, 1},
        {64, 64, 128, 1},      {64, 32, 128, 1},      {64, 16, 128, 1},  {16, 16, 32, 1},
    };
    static const int slices[] = {1, 2, 4};
    const int packed = fcl_rows_packed(FCL_FAMILY_NVIDIA_MMA, p);
    const size_t narrow = (size_t)changes_scores(p);
    const int64_t have = hinted_rows(p, packed);
    const size_t first = have == 0 || have > FCL_FEW_ROWS ? MANY : have > FEW_ROWS ? FEW : HANDFUL;
    if (first == MANY && mma_plain(p, caps, &try, c))
        return 1;
    const size_t count = FCL_COUNT(shapes) - first, shape = first + try % count;
    const int *s = shapes[shape + (shape == MANY ? narrow : 0)];
    *c = (struct fcl_config){.family = FCL_FAMILY_NVIDIA_MMA,
                             .block_m = s[0],
                             .block_n = s[1],
                             .items = s[2],
                             .packed = packed};
    if (try < FCL_COUNT(slices) * count)
        c->dv_split = slices[try / count];
    c->splits = hinted_splits(p, caps, c);
    c->stages = c->splits > 1 ? s[3] : 1;
    return c->dv_split > 0;
}

// Shapes of the wgmma tile: block_m, block_n, ahead. Measured on an H200 at head dims 64, 128 and
// 256, which take the first, the second and the last but one; blocks of 192 gain nothing on short
// causal heads (1 % less than the second at 512). A third buffer fits at head dim 64, 1 to 3 % for
// up to 2048 rows.
static int wgmma_default(const struct fcl_problem *p, const struct fcl_caps *caps, size_t try,
                         struct fcl_config *c)
{
    static const int shapes[][3] = {{192, 128, 1}, {128, 128, 1}, {128, 96, 1},
                                    {128, 80, 1},  {128, 64, 2},  {128, 64, 0}};
    const int is_short = fcl_problem_bounds_right(p) && p->q_len <= SHORT_ROWS;
    const size_t shape = try + (size_t)is_short;
    if (shape >= FCL_COUNT(shapes))
        return 0;
    *c = (struct fcl_config){.family = FCL_FAMILY_NVIDIA_WGMMA,
                             .block_m = shapes[shape][0],
                             .block_n = shapes[shape][1],
                             .items = 2 * shapes[shape][0] + 128,
                             .stages = 3,
                             .ahead = shapes[shape][2],
                             .dv_split = 1};
    if (p->head_dim_qk > 64 || p->head_dim_v > 64 ||
        fcl_config_local_bytes(c, p) > caps->local_bytes)
        c->stages = 2;
    c->splits = hinted_splits(p, caps, c);
    return 1;
}

int fcl_family_suits(enum fcl_family family, const struct fcl_problem *problem)
{
    const int packed = problem->heads_q > problem->heads_kv;
    return family != FCL_FAMILY_NVIDIA_WGMMA || hinted_rows(problem, packed) > FCL_FEW_ROWS;
}

// Candidate `try` of a family's defaults; 0 past the end or where the family is not made for the
// problem.
typedef int (*default_function)(const struct fcl_problem *p, const struct fcl_caps *caps,
                                size_t try, struct fcl_config *c);

static const default_function defaults[FCL_FAMILY_COUNT] = {
    [FCL_FAMILY_GENERIC] = generic_default,
    [FCL_FAMILY_VECTOR] = vector_default,
    [FCL_FAMILY_ROW] = row_default,
    [FCL_FAMILY_NVIDIA_MMA] = mma_default,
    [FCL_FAMILY_NVIDIA_WGMMA] = wgmma_default,
};

// Why nothing fits: what the smallest of the first candidates, which are made for common problems,
// lacks.
static enum fcl_status last_reason(enum fcl_family family, const struct fcl_problem *problem,
                                   const struct fcl_caps *caps, struct fcl_config *config,
                                   char *reason, size_t size)
{
    size_t last = 0;
    while (last + 1 < REASON_CANDIDATES && defaults[family](problem, caps, last + 1, config))
        last++;
    defaults[family](problem, caps, last, config);
    return fcl_config_validate(config, problem, caps, reason, size);
}

enum fcl_status fcl_family_default(enum fcl_family family, const struct fcl_problem *problem,
                                   const struct fcl_caps *caps, struct fcl_config *config,
                                   char *reason, size_t size)
{
    const enum fcl_status status = fcl_family_usable(family, caps, reason, size);
    if (status)
        return status;
    if (!defaults[family](problem, caps, 0, config))
        return fcl_fail(reason, size, FCL_UNSUPPORTED, "%s is for up to %d rows",
                        fcl_family_text(family), ROW_LIMIT);
    for (size_t try = 0; defaults[family](problem, caps, try, config); try++)
        if (!fcl_config_validate(config, problem, caps, NULL, 0))
            return FCL_OK;
    return last_reason(family, problem, caps, config, reason, size);
}

enum fcl_status fcl_config_default(const struct fcl_problem *problem, const struct fcl_caps *caps,
                                   struct fcl_config *config, char *reason, size_t size)
{
    struct fcl_problem full;
    if (!caps || !config)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%s is NULL", caps ? "config" : "caps");
    const enum fcl_status status = fcl_problem_complete(problem, &full, reason, size);
    if (status)
        return status;
    for (int family = FCL_FAMILY_COUNT; family-- > 0;)
        if (fcl_family_suits((enum fcl_family)family, &full) &&
            !fcl_family_default((enum fcl_family)family, &full, caps, config, reason, size))
            return FCL_OK;
    return FCL_UNSUPPORTED;
}
