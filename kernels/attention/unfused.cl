// The baseline that fusion is measured against: three kernels with the score matrix in memory, in the input's
// type, [batch, head][key][row], rows padded to BLOCK_M. Same tiles, same masks, same schedule as forward.cl;
// wholly hidden blocks are never written and never read.
#include "lib/config.clh"
#include "lib/types.clh"
#include "lib/mask.clh"
#include "lib/schedule.clh"
#include "lib/score.clh"
#include "lib/terms.clh"
#include "tile/tile.clh"
#include "lib/steps.clh"
#if FCL_ALIBI
#include "lib/alibi.clh"
#endif

// The score matrix of one head, from its first key and the work's first row on.
FCL_FN long matrix_start(const fcl_args *a, const fcl_work *w)
{
    return ((long)w->batch * a->heads + w->head) * a->k_len * a->score_pitch + w->row;
}

// S = scale Q K'
kernel FCL_TILE_GROUP void FCL_PASTE(FCL_KERNEL, _scores)(global const void *q, global const void *k,
                                                          global void *matrix, const fcl_args args FCL_SLOPES FCL_BUFFERS)
{
    const fcl_args *a = &args;
    const uint blocks = (max(a->k_len, 1) + FCL_BLOCK_N - 1) / FCL_BLOCK_N;
    const int block = get_group_id(0) % blocks;
    const fcl_work w = work_at(a, get_group_id(0) / blocks, 1);
    FCL_TILE_STORAGE(storage);
    fcl_tile t;
    fcl_left left;
    fcl_scores s;

    if (block < w.first || block >= w.last)
        return;
    const fcl_block b = block_at(a, &w, block);
    tile_open(&t, storage);
    tile_left_load(&t, &left, view_q(a, &w, q), FCL_DTYPE_Q, FCL_HEAD_QK, w.row, a->q_len, a->unit, a->unit_size);
#if FCL_ALIBI
    fcl_rows slope[FCL_BANDS];
    slopes_find(&t, slope, a, &w FCL_PASS_SLOPES);
#endif
#if FCL_TERMS
    const fcl_terms terms = terms_of(a, &w FCL_PASS_BUFFERS);
#endif
    tile_scores(&t, &s, &left, view_k(a, &w, k), FCL_DTYPE_K, FCL_HEAD_QK, a, &w, b FCL_SLOPE(slope) FCL_TERM(&terms));
    tile_scores_store(&t, &s, matrix, matrix_start(a, &w), a->score_pitch, FCL_DTYPE_Q, b);
}

// P = softmax(S), in place: one walk for the maximum and the sum, one to write.
kernel FCL_TILE_GROUP void FCL_PASTE(FCL_KERNEL, _softmax)(global void *matrix, global float *lse,
                                                           const fcl_args args FCL_SINKS)
{
    const fcl_args *a = &args;
    const fcl_work w = work_at(a, get_group_id(0), 1);
    const long start = matrix_start(a, &w);
    FCL_TILE_STORAGE(storage);
    fcl_tile t;
    fcl_scores s;
    fcl_softmax x;

    tile_open(&t, storage);
    softmax_start(&x);
    for (int j = w.last; j-- > w.first;) {
        const fcl_block b = block_at(a, &w, j);
        softmax_move(&x, tile_scores_load(&t, &s, matrix, start, a->score_pitch, FCL_DTYPE_Q, b, FCL_HIDDEN));
        softmax_add(&x, tile_probabilities(&t, &s, 0, b, softmax_origin(&x)));
    }
    fcl_rows total = tile_total(&t, x.l);
#if FCL_SINK
    softmax_sink(&x, &total, tile_rows_load(&t, 0, view_sinks(a, &w, sinks), w.row, a->q_len));
#endif
    fcl_rows origin = softmax_origin(&x);
    softmax_divide(&origin, total);
    for (int j = w.last; j-- > w.first;) {
        const fcl_block b = block_at(a, &w, j);
        tile_scores_load(&t, &s, matrix, start, a->score_pitch, FCL_DTYPE_Q, b, FCL_HIDDEN);
        tile_probabilities(&t, &s, 0, b, origin);
        tile_scores_store(&t, &s, matrix, start, a->score_pitch, FCL_DTYPE_Q, b);
    }
    if (FCL_LSE)
        tile_rows_store(&t, softmax_lse(&x, total), 0, view_lse(a, &w, lse), w.row, a->q_len);
}

// O = P V
kernel FCL_TILE_GROUP void FCL_PASTE(FCL_KERNEL, _product)(global const void *matrix, global const void *v,
                                                           global void *o, const fcl_args args)
{
    const fcl_args *a = &args;
    const fcl_work w = work_at(a, get_group_id(0), FCL_DV_SPLIT);
    FCL_TILE_STORAGE(storage);
    fcl_tile t;
    fcl_scores s;
    fcl_out out;
    fcl_rows one;

    tile_open(&t, storage);
    tile_out_clear(&out);
#pragma unroll
    for (int i = 0; i < FCL_ROWS; i++)
        one.r[i] = 1.0f;
    for (int j = w.last; j-- > w.first;) {
        const fcl_block b = block_at(a, &w, j);
        tile_scores_load(&t, &s, matrix, matrix_start(a, &w), a->score_pitch, FCL_DTYPE_Q, b, 0.0f);
        tile_out_rescale(&t, &out, 0, one);
        tile_accumulate(&t, &out, &s, view_v(a, &w, v), FCL_DTYPE_V, b);
    }
    tile_out_store(&t, &out, 0, view_o(a, &w, o), FCL_DTYPE_O, w.row, a->q_len, one);
}
