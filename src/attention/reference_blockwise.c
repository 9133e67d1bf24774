// The recurrence of fused attention in readable C. A row of scores never exists as a whole: blocks
// of keys pass by, and three things are kept for each query row:
//     m    the maximum of the scores so far
//     l    sum of exp(score - m)
//     acc  sum of exp(score - m) * V
// When a block raises the maximum, l and acc are still relative to the old one: they are rescaled.
#include "reference.h"

#include <math.h>
#include <stdlib.h>

#include "problem.h"

// One matrix problem: the leading dimensions are counted through outside.
struct matrix {
    int64_t q_len, k_len, block;
    int d_qk, d_v;
    enum fcl_mask mask;
    float scale;
    float *scores; // one block of one row
};

static float score_of(const struct matrix *x, const float *q, const float *k)
{
    float dot = 0;
    for (int d = 0; d < x->d_qk; d++)
        dot += q[d] * k[d];
    const float s = x->scale * dot;
    return s < (float)FCL_SCORE_FLOOR ? (float)FCL_SCORE_FLOOR : s;
}

// One query row against the keys that it sees. `acc` becomes the row of O; returns the LSE.
static float attend_row(const struct matrix *x, const float *q, const float *k, const float *v,
                        int64_t visible, float *acc)
{
    float m = -INFINITY;
    float l = 0;
    for (int d = 0; d < x->d_v; d++)
        acc[d] = 0;
    for (int64_t first = 0; first < visible; first += x->block) {
        const int64_t end = fcl_min(first + x->block, visible);
        float m_new = m;
        for (int64_t j = first; j < end; j++) {
            const float s = score_of(x, q, k + j * x->d_qk);
            x->scores[j - first] = s;
            m_new = s > m_new ? s : m_new;
        }
        const float rescale = expf(m - m_new); // 0 in the first block, where m is -infinity
        for (int d = 0; d < x->d_v; d++)
            acc[d] *= rescale;
        float block_sum = 0;
        for (int64_t j = first; j < end; j++) {
            const float p = expf(x->scores[j - first] - m_new);
            block_sum += p;
            for (int d = 0; d < x->d_v; d++)
                acc[d] += p * v[j * x->d_v + d];
        }
        l = l * rescale + block_sum;
        m = m_new;
    }
    if (visible == 0)
        return -INFINITY; // O stays 0
    for (int d = 0; d < x->d_v; d++)
        acc[d] /= l;
    return m + logf(l);
}

static void attend_matrix(const struct matrix *x, const float *q, const float *k, const float *v,
                          float *o, float *lse)
{
    const struct fcl_problem p = {.mask = x->mask, .q_len = x->q_len, .k_len = x->k_len};
    for (int64_t i = 0; i < x->q_len; i++) {
        int64_t first; // 0, without a window
        const int64_t visible = fcl_reference_visible(&p, i, &first);
        const float row_lse = attend_row(x, q + i * x->d_qk, k, v, visible, o + i * x->d_v);
        if (lse != NULL)
            lse[i] = row_lse;
    }
}

// The product of the leading dimensions; -1 where one is negative or missing.
static int64_t count_matrices(const int64_t *leading, int rank)
{
    if (rank < 0 || (rank > 0 && leading == NULL))
        return -1;
    int64_t count = 1;
    for (int axis = 0; axis < rank; axis++) {
        if (leading[axis] < 0 || (count > 0 && leading[axis] > INT64_MAX / count))
            return -1;
        count *= leading[axis];
    }
    return count;
}

enum fcl_status fcl_reference_blockwise(const int64_t *leading, int rank, int64_t q_len,
                                        int64_t k_len, int d_qk, int d_v, const float *q,
                                        const float *k, const float *v, enum fcl_mask mask,
                                        float scale, int block, float *o, float *lse)
{
    const int64_t matrices = count_matrices(leading, rank);
    const int known_mask = mask == FCL_MASK_NONE || mask == FCL_MASK_CAUSAL_TOP_LEFT ||
                           mask == FCL_MASK_CAUSAL_BOTTOM_RIGHT;
    if (matrices < 0 || q_len < 0 || k_len < 0 || d_qk < 1 || d_v < 1 || block < 1 || !known_mask)
        return FCL_INVALID_ARGUMENT;
    if (matrices == 0 || q_len == 0)
        return FCL_OK;
    if (q == NULL || o == NULL || (k_len > 0 && (k == NULL || v == NULL)))
        return FCL_INVALID_ARGUMENT;
    struct matrix x = {.q_len = q_len,
                       .k_len = k_len,
                       .block = block,
                       .d_qk = d_qk,
                       .d_v = d_v,
                       .mask = mask,
                       .scale = fcl_reference_scale(scale, d_qk)};
    x.scores = malloc((size_t)fcl_max(fcl_min(block, k_len), 1) * sizeof *x.scores);
    if (x.scores == NULL)
        return FCL_OUT_OF_MEMORY;
    for (int64_t n = 0; n < matrices; n++)
        attend_matrix(&x, q + n * q_len * d_qk, k_len > 0 ? k + n * k_len * d_qk : k,
                      k_len > 0 ? v + n * k_len * d_v : v, o + n * q_len * d_v,
                      lse != NULL ? lse + n * q_len : NULL);
    free(x.scores);
    return FCL_OK;
}
