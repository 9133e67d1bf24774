// Blocked attention over OpenBLAS: S = Q K' of one block by sgemm, softmax rescaled as the maximum
// grows, O += P V by sgemm (Dao et al. 2022, algorithm 1). A task is one head's block of queries.
#include "flash.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOG2_E 1.44269504088896341f
#define LN_2 0.69314718055994531f
#define LOWEST (-1e30f) // below every score, finite so that differences stay finite
#define ALIGNMENT 64
#define ROW_PADDING 16 // floats; rows a power of two apart would fall into few cache sets

struct flash {
    const struct fcl_problem *problem;
    const struct flash_tensors *tensors;
    struct flash_blocks blocks;
    struct pool *pool;
    float *scratch;         // each thread: scores, maxima, sums
    size_t scratch_each;    // floats
    int64_t heads;          // that become tasks: query heads, or key heads when folded
    int64_t rows;           // queries of such a head
    int64_t blocks_of_head; // tasks of such a head
};

// What one task works on: `rows` queries from `first` on, and their keys.
struct panel {
    const float *q, *k, *v;
    float *o, *lse;
    int q_stride, k_stride, v_stride, o_stride;
    int64_t first;
    int rows;
    float *scores, *maxima, *sums;
};

// ---- Softmax --------------------------------------------------------------------------------

// 2^x for x <= 0, relative error 1e-7: nearest power of two times a polynomial of the rest.
static inline float exponential(float x)
{
    x = x > -126.0f ? x : -126.0f;
    float whole = rintf(x), rest = x - whole;
    float power = 1.339086336e-3f;
    power = power * rest + 9.676031918e-3f;
    power = power * rest + 5.550357114e-2f;
    power = power * rest + 2.402210749e-1f;
    power = power * rest + 6.93147188e-1f;
    power = power * rest + 1.000000075f;
    union {
        float value;
        int32_t bits;
    } result = {.value = power};
    result.bits += (int32_t)whole * (1 << 23);
    return result.value;
}

static float maximum_of(const float *s, int count, float start)
{
    float maximum = start;
#pragma omp simd reduction(max : maximum)
    for (int j = 0; j < count; j++) {
        maximum = s[j] > maximum ? s[j] : maximum;
    }
    return maximum;
}

// Replaces scores by their exponentials and returns the sum of these.
static float exponentials_of(float *s, int count, float maximum)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int j = 0; j < count; j++) {
        s[j] = exponential(s[j] - maximum);
        sum += s[j];
    }
    return sum;
}

static void scale_row(float *row, int count, float factor)
{
#pragma omp simd
    for (int d = 0; d < count; d++) {
        row[d] *= factor;
    }
}

// How many keys a query sees.
static int64_t visible_keys(const struct fcl_problem *problem, int64_t query)
{
    if (problem->mask == FCL_MASK_NONE) {
        return problem->k_len;
    }
    int64_t shift =
        problem->mask == FCL_MASK_CAUSAL_BOTTOM_RIGHT ? problem->k_len - problem->q_len : 0;
    int64_t end = query + shift + 1;
    return end < 0 ? 0 : end > problem->k_len ? problem->k_len : end;
}

// Scores of the keys from `key` on become weights; what was summed before shrinks with them.
static void weigh(const struct flash *flash, const struct panel *panel, int64_t key, int keys)
{
    const struct fcl_problem *problem = flash->problem;
    int stride = flash->blocks.keys + ROW_PADDING;
    for (int i = 0; i < panel->rows; i++) {
        float *s = panel->scores + (size_t)i * (size_t)stride;
        int64_t seen = visible_keys(problem, (panel->first + i) % problem->q_len) - key;
        int count = seen < 0 ? 0 : seen > keys ? keys : (int)seen;
        float maximum = maximum_of(s, count, panel->maxima[i]);
        float shrink = exponential(panel->maxima[i] - maximum);
        panel->sums[i] = panel->sums[i] * shrink + exponentials_of(s, count, maximum);
        memset(s + count, 0, (size_t)(keys - count) * sizeof(*s));
        if (key > 0 && maximum > panel->maxima[i]) {
            scale_row(panel->o + (size_t)i * (size_t)panel->o_stride, problem->head_dim_v, shrink);
        }
        panel->maxima[i] = maximum;
    }
}

// ---- Products -------------------------------------------------------------------------------

// sgemm packs both factors, which does not pay for a single row: that is a matrix by a vector.

// Scores in base 2, so that weights are powers of two.
static void multiply_scores(const struct flash *flash, const struct panel *panel, int64_t key,
                            int keys)
{
    int dim = flash->problem->head_dim_qk, stride = flash->blocks.keys + ROW_PADDING;
    float scale = LOG2_E / sqrtf((float)dim);
    const float *k = panel->k + (size_t)key * (size_t)panel->k_stride;
    if (panel->rows == 1) {
        cblas_sgemv(CblasRowMajor, CblasNoTrans, keys, dim, scale, k, panel->k_stride, panel->q, 1,
                    0, panel->scores, 1);
    } else {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, panel->rows, keys, dim, scale,
                    panel->q, panel->q_stride, k, panel->k_stride, 0, panel->scores, stride);
    }
}

static void multiply_values(const struct flash *flash, const struct panel *panel, int64_t key,
                            int keys)
{
    int dim = flash->problem->head_dim_v, stride = flash->blocks.keys + ROW_PADDING;
    float keep = key > 0 ? 1 : 0;
    const float *v = panel->v + (size_t)key * (size_t)panel->v_stride;
    if (panel->rows == 1) {
        cblas_sgemv(CblasRowMajor, CblasTrans, keys, dim, 1, v, panel->v_stride, panel->scores, 1,
                    keep, panel->o, 1);
    } else {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, panel->rows, dim, keys, 1,
                    panel->scores, stride, v, panel->v_stride, keep, panel->o, panel->o_stride);
    }
}

// ---- Tasks ----------------------------------------------------------------------------------

// Elements from one row of a head to the next, and to (batch, head) from the tensor's start.
static int row_stride(const struct fcl_problem *problem, int64_t heads, int dim)
{
    return problem->layout == FCL_LAYOUT_BSHD ? (int)heads * dim : dim;
}

static size_t head_offset(const struct fcl_problem *problem, int64_t batch, int64_t head,
                          int64_t heads, int64_t length, int dim)
{
    int64_t place = problem->layout == FCL_LAYOUT_BSHD ? batch * length * heads + head
                                                       : (batch * heads + head) * length;
    return (size_t)place * (size_t)dim;
}

static struct panel panel_of(const struct flash *flash, int64_t batch, int64_t head, int64_t first)
{
    const struct fcl_problem *p = flash->problem;
    const struct flash_tensors *t = flash->tensors;
    int64_t group = p->heads_q / p->heads_kv;
    int64_t query_head = flash->blocks.fold ? head * group : head;
    int64_t key_head = query_head / group;
    int64_t rows = flash->rows - first;
    struct panel panel = {
        .first = first,
        .rows = (int)(rows < flash->blocks.queries ? rows : flash->blocks.queries),
        .q_stride = flash->blocks.fold ? p->head_dim_qk : row_stride(p, p->heads_q, p->head_dim_qk),
        .o_stride = flash->blocks.fold ? p->head_dim_v : row_stride(p, p->heads_q, p->head_dim_v),
        .k_stride = row_stride(p, p->heads_kv, p->head_dim_qk),
        .v_stride = row_stride(p, p->heads_kv, p->head_dim_v),
    };
    panel.q = t->q + head_offset(p, batch, query_head, p->heads_q, p->q_len, p->head_dim_qk) +
              first * panel.q_stride;
    panel.o = t->o + head_offset(p, batch, query_head, p->heads_q, p->q_len, p->head_dim_v) +
              first * panel.o_stride;
    panel.k = t->k + head_offset(p, batch, key_head, p->heads_kv, p->k_len, p->head_dim_qk);
    panel.v = t->v + head_offset(p, batch, key_head, p->heads_kv, p->k_len, p->head_dim_v);
    if (t->lse != NULL) {
        panel.lse = t->lse + (batch * p->heads_q + query_head) * p->q_len + first;
    }
    return panel;
}

// Keys that some row of the panel sees: the block on the diagonal is the last one.
static int64_t key_end(const struct fcl_problem *problem, const struct panel *panel)
{
    int64_t from = panel->first % problem->q_len, last = from + panel->rows - 1;
    return visible_keys(problem, last < problem->q_len ? last : problem->q_len - 1);
}

static void finish(const struct flash *flash, const struct panel *panel)
{
    int dim = flash->problem->head_dim_v;
    for (int i = 0; i < panel->rows; i++) {
        float *o = panel->o + (size_t)i * (size_t)panel->o_stride;
        int empty = panel->sums[i] <= 0;
        if (empty) {
            memset(o, 0, (size_t)dim * sizeof(*o));
        } else {
            scale_row(o, dim, 1 / panel->sums[i]);
        }
        if (panel->lse != NULL) {
            panel->lse[i] = empty ? -INFINITY : (panel->maxima[i] + log2f(panel->sums[i])) * LN_2;
        }
    }
}

static void run_task(void *user, int thread, int64_t index)
{
    const struct flash *flash = user;
    const struct flash_blocks *blocks = &flash->blocks;
    int64_t head = index / flash->blocks_of_head;
    // With a causal mask the last queries are the most work: these first.
    int64_t block = flash->blocks_of_head - 1 - index % flash->blocks_of_head;
    struct panel panel =
        panel_of(flash, head / flash->heads, head % flash->heads, block * blocks->queries);
    panel.scores = flash->scratch + (size_t)thread * flash->scratch_each;
    panel.maxima = panel.scores + (size_t)blocks->queries * (size_t)(blocks->keys + ROW_PADDING);
    panel.sums = panel.maxima + blocks->queries;
    for (int i = 0; i < panel.rows; i++) {
        panel.maxima[i] = LOWEST;
        panel.sums[i] = 0;
    }
    int64_t end = key_end(flash->problem, &panel);
    for (int64_t key = 0; key < end; key += blocks->keys) {
        int keys = (int)(end - key < blocks->keys ? end - key : blocks->keys);
        multiply_scores(flash, &panel, key, keys);
        weigh(flash, &panel, key, keys);
        multiply_values(flash, &panel, key, keys);
    }
    finish(flash, &panel);
}

// ---- Interface ------------------------------------------------------------------------------

int flash_supports(const struct fcl_problem *problem)
{
    return problem->pass == FCL_PASS_FORWARD && !problem->guard_v && !problem->strided &&
           problem->dtype_q == FCL_F32 && problem->dtype_k == FCL_F32 &&
           problem->dtype_v == FCL_F32 && problem->dtype_o == FCL_F32;
}

int flash_can_fold(const struct fcl_problem *problem, int queries)
{
    int one_stride = problem->layout == FCL_LAYOUT_BHSD || problem->q_len == 1;
    return one_stride && problem->heads_q > problem->heads_kv && problem->q_len < queries;
}

struct flash *flash_create(const struct fcl_problem *problem, const struct flash_tensors *tensors,
                           struct flash_blocks blocks, struct pool *pool, int threads)
{
    struct flash *flash = calloc(1, sizeof(*flash));
    if (flash == NULL) {
        return NULL;
    }
    int64_t group = blocks.fold ? problem->heads_q / problem->heads_kv : 1;
    *flash = (struct flash){
        .problem = problem,
        .tensors = tensors,
        .blocks = blocks,
        .pool = pool,
        .heads = problem->heads_q / group,
        .rows = problem->q_len * group,
    };
    flash->blocks_of_head = (flash->rows + blocks.queries - 1) / blocks.queries;
    size_t floats = (size_t)blocks.queries * (size_t)(blocks.keys + ROW_PADDING + 2);
    flash->scratch_each = (floats + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    flash->scratch =
        aligned_alloc(ALIGNMENT, (size_t)threads * flash->scratch_each * sizeof(float));
    if (flash->scratch == NULL) {
        flash_destroy(flash);
        return NULL;
    }
    return flash;
}

void flash_run(struct flash *flash)
{
    int64_t tasks = flash->problem->batch * flash->heads * flash->blocks_of_head;
    pool_run(flash->pool, tasks, run_task, flash);
}

void flash_destroy(struct flash *flash)
{
    if (flash != NULL) {
        free(flash->scratch);
        free(flash);
    }
}
