// Fused attention, forward:  O = softmax(scale Q K') V  without a score matrix in memory.
//
//     program (query block, head, batch):
//         hold BLOCK_M rows of Q; m = -inf; l = 0; O = 0
//         for each block of BLOCK_N keys that any of the rows sees:
//             S = Q K'                        scores live and die on the chip
//             m, P, l, O = online softmax     lib/steps.clh
//             O += P V
//         write O / l, and LSE = m + log l
//
// FlashAttention-2 (Dao 2023), algorithm 1, with the key blocks from the last to the first: blocks that need a
// mask come first. Packed, the query heads that share a key head are rows of one block; split, a program walks a
// part of the keys; combine.cl joins the parts, or the program that is done last. Where hardware multiplies while
// other items do the softmax (FCL_TILE_OVERLAP) the loop is turned by half a step: scores of a block, or of the
// next rows, start before the product of the block before them. No barrier, no vendor and no data layout appear in
// this file: they are the tile's.
#include "lib/config.clh"
#include "lib/types.clh"
#include "lib/mask.clh"
#include "lib/schedule.clh"
#include "lib/sequence.clh"
#include "lib/score.clh"
#include "lib/terms.clh"
#include "tile/tile.clh"
#include "lib/steps.clh"
#if FCL_ALIBI
#include "lib/alibi.clh"
#endif

kernel FCL_TILE_GROUP void FCL_KERNEL(global const void *q, global const void *k, global const void *v,
                                      global void *o, global float *lse,
                                      const fcl_args args FCL_WHOLE FCL_TILE_STATE FCL_SINKS FCL_SLOPES
                                          FCL_BUFFERS FCL_METADATA)
{
    const fcl_args *a = &args;
#if FCL_TILE_OVERLAP
    fcl_work w, next; // drawn
#elif FCL_SEQUENCES
    const fcl_metadata memory = {cu_q, cu_k, used_q, used_k, table};
    fcl_args own = args; // of the sequence that this work belongs to
    uint number = get_group_id(0);
    if (!sequence_open(&own, &memory, &number, FCL_DV_SPLIT))
        return;
    a = &own;
    fcl_work w = sequence_work(a, &memory, number, FCL_DV_SPLIT);
#else
    const fcl_work w = work_at(a, get_group_id(0), FCL_DV_SPLIT);
#endif
    const int rows = mask_rows(a);
    FCL_TILE_STORAGE(storage);
    fcl_tile t;
    fcl_scores s;
    fcl_out out;
    fcl_softmax x[FCL_BANDS];

    tile_open(&t, storage);
#if !FCL_TILE_OVERLAP
    fcl_left left;
    const fcl_view keys = view_k(a, &w, k), values = view_v(a, &w, v);
    if (w.first < w.last) // a part of the keys may be empty
        tile_walk_start(&t, keys, values, block_at(a, &w, FCL_ASCENDING ? w.first : w.last - 1));
    tile_left_load(&t, &left, view_q(a, &w, q), FCL_DTYPE_Q, FCL_HEAD_QK, w.row, rows, a->unit, a->unit_size);
#if FCL_PAGED
    tile_pages(&t, a, &w);
#endif
    tile_out_clear(&out);
#pragma unroll
    for (int band = 0; band < FCL_BANDS; band++)
        softmax_start(&x[band]);
#if FCL_ALIBI
    fcl_rows slope[FCL_BANDS];
    slopes_find(&t, slope, a, &w FCL_PASS_SLOPES);
#endif
#if FCL_TERMS
    const fcl_terms terms = terms_of(a, &w FCL_PASS_BUFFERS);
#endif
    for (int n = 0; n < w.last - w.first; n++) {
#if FCL_SCANS
        fcl_block b = block_at(a, &w, FCL_ASCENDING ? w.first + n : w.last - 1 - n);
        if (!tile_sees(&t, a, &w, &b, &terms))
            continue;
#else
        const fcl_block b = block_at(a, &w, FCL_ASCENDING ? w.first + n : w.last - 1 - n);
#endif
        tile_walk(&t, keys, values, &w, b);
        tile_scores(&t, &s, &left, keys, FCL_DTYPE_K, FCL_HEAD_QK, a, &w, b FCL_SLOPE(slope) FCL_TERM(&terms));
        fcl_rows top[FCL_BANDS];
#pragma unroll
        for (int first = 0; first < FCL_BANDS; first += FCL_BANDS_TOGETHER) {
            const int end = first + FCL_BANDS_TOGETHER;
#pragma unroll
            for (int band = first; band < end; band++)
                top[band] = tile_top(&t, &s, band);
            if (softmax_grows(&t, &x[first], &top[first]))
#pragma unroll
                for (int band = first; band < end; band++) {
                    const fcl_rows shrink = softmax_move(&x[band], top[band]);
                    if (!FCL_STATISTICS)
                        tile_out_rescale(&t, &out, band, shrink);
                }
#pragma unroll
            for (int band = first; band < end; band++)
                softmax_add(&x[band], tile_probabilities(&t, &s, band, b, softmax_origin(&x[band])));
        }
        if (!FCL_STATISTICS)
            tile_accumulate(&t, &out, &s, values, FCL_DTYPE_V, b);
    }
#else
    if (tile_is_loader(&t)) {
        tile_enter_loader(&t, a, q, k, v FCL_PASS_STATE);
        while (tile_draw(&t, a, &w))
            for (int n = w.last; n-- > w.first;) {
                if (n == w.first)
                    tile_draw_ahead(&t, a FCL_PASS_STATE);
                tile_send(&t, a, &w, block_at(a, &w, n));
            }
        return;
    }
    tile_enter_worker(&t, a->unit);
    tile_out_clear(&out);
    int more = tile_next(&t, a, &w);
    if (more)
        tile_scores_first(&t, &s, &out);
    while (more) {
        fcl_block b = block_at(a, &w, w.last - 1);
        tile_work_start(&t);
        softmax_start(x);
        tile_scores_end(&t, &s, a, &w, b);
        softmax_move(x, tile_top(&t, &s, 0));
        softmax_add(x, tile_probabilities(&t, &s, 0, b, softmax_origin(x)));
        tile_commit(&s);
        tile_out_clear(&out);
        for (int n = w.last - 1; n-- > w.first;) {
            b = block_inner(a, &w, n);
            tile_turn_take(&t);
            tile_scores_begin(&t, &s);
            tile_accumulate_begin(&t, &out, &s);
            tile_turn_pass(&t);
            tile_scores_end(&t, &s, a, &w, b);
            const fcl_rows top = tile_top(&t, &s, 0);
            const int grows = softmax_grows(&t, x, &top);
            fcl_rows shrink = top;
            if (grows)
                shrink = softmax_move(x, top);
            softmax_add(x, tile_probabilities(&t, &s, 0, b, softmax_origin(x)));
            tile_accumulate_end(&t, &out);
            if (grows)
                tile_out_rescale(&t, &out, 0, shrink);
            tile_commit(&s);
        }
        more = FCL_TILE_AHEAD && tile_next(&t, a, &next);
        if (more) {
            tile_turn_take(&t);
            tile_scores_begin(&t, &s);
            tile_accumulate_begin(&t, &out, &s);
            tile_turn_pass(&t);
            tile_products_wait(&s, &out);
        } else {
            tile_accumulate_begin(&t, &out, &s);
        }
        tile_accumulate_end(&t, &out);
#endif
    // w is complete
#pragma unroll
    for (int band = 0; band < FCL_BANDS; band++) {
#if FCL_TILE_SUMS
        fcl_rows total = tile_sums(&out);
#else
        fcl_rows total = tile_total(&t, x[band].l);
#endif
        fcl_rows factor = softmax_inverse(total);
#if FCL_SINK
        if (w.split == 0) // of split keys, one part takes the sink
            factor = softmax_sink(&x[band], &total, tile_rows_load(&t, band, view_sinks(a, &w, sinks), w.row, rows));
#endif
        if (!FCL_STATISTICS)
            tile_out_store(&t, &out, band, view_o(a, &w, o), FCL_DTYPE_OUT, w.row, rows, factor);
        if (FCL_WRITES_LSE && w.column == 0)
            tile_rows_store(&t, softmax_lse(&x[band], total), band, view_lse(a, &w, lse), w.row, rows);
    }
#if FCL_TILE_OVERLAP
        if (!FCL_TILE_AHEAD) {
            more = tile_next(&t, a, &next);
            if (more)
                tile_scores_first(&t, &s, &out);
        }
        w = next;
    }
#endif
#if FCL_JOINS
    const uint parts = a->splits * FCL_DV_SPLIT, first = get_group_id(0) / parts * parts;
    if (!tile_last(&t, join_marks(a, lse) + first, get_group_id(0) - first, parts, mark))
        return;
    fcl_args to = whole;
#if FCL_SEQUENCES
    number = get_group_id(0);
    sequence_open(&to, &memory, &number, FCL_DV_SPLIT);
#endif
    tile_join(&t, a, &to, w, lse, whole_o, whole_lse);
#endif
}

#if FCL_SPLITS > 1 && !FCL_JOINS
#include "attention/combine.cl"
#endif
