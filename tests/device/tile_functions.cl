// Kernels that drive the tile functions one group of them at a time. They speak the tile contract only
// (kernels/tile/tile.clh), so a new tile file is tested by a row in test_tile.c.

// Row values from memory. The contract has no function for that, but the maxima of a matrix of one key are its rows.
FCL_FN fcl_rows rows_load(fcl_tile *t, global const float *p, long start)
{
    const fcl_block one = {0, 1, 1};
    fcl_scores s;
    return tile_scores_load(t, &s, p, start, FCL_BLOCK_M, FCL_F32, one, FCL_HIDDEN);
}

// Row values into memory: row first + i at p[start + i].
FCL_FN void rows_store(fcl_tile *t, fcl_rows x, global float *p, long start, int first, int have)
{
    const fcl_view to = {p, start - first, 1, 1, 0, 1};
    tile_rows_store(t, x, 0, to, first, have);
}

// One query block x one key block a group: scores and their maxima, then 2^(score - maximum) and its sums.
// Matrices are [batch, head][key][row], row values [group][row].
kernel FCL_TILE_GROUP void test_scores(global const void *q, global const void *k, global float *scores,
                                       global float *powers, global float *tops, global float *sums, int blocks,
                                       const fcl_args args)
{
    const fcl_args *a = &args;
    const int group = get_group_id(0), block = group % blocks;
    const fcl_work w = work_at(a, group / blocks, 1);
    const long start = ((long)w.batch * a->heads + w.head) * a->k_len * a->score_pitch + w.row;
    FCL_TILE_STORAGE(storage);
    fcl_tile t;
    fcl_left left;
    fcl_scores s;

    if (block >= w.last)
        return;
    const fcl_block b = block_at(a, &w, block);
    tile_open(&t, storage);
    tile_left_load(&t, &left, view_q(a, &w, q), FCL_DTYPE_Q, FCL_HEAD_QK, w.row, a->q_len, a->unit, a->unit_size);
    tile_scores(&t, &s, &left, view_k(a, &w, k), FCL_DTYPE_K, FCL_HEAD_QK, a, &w, b);
    const fcl_rows top = tile_top(&t, &s, 0);
    tile_scores_store(&t, &s, scores, start, a->score_pitch, FCL_F32, b);
    rows_store(&t, top, tops, (long)group * FCL_BLOCK_M, w.row, a->q_len);
    fcl_rows origin;
    for (int i = 0; i < FCL_ROWS; i++)
        origin.r[i] = FCL_SELECT(top.r[i] < FCL_FLOOR, 0.0f, top.r[i]);
    const fcl_rows sum = tile_total(&t, tile_probabilities(&t, &s, 0, b, origin));
    tile_scores_store(&t, &s, powers, start, a->score_pitch, FCL_F32, b);
    rows_store(&t, sum, sums, (long)group * FCL_BLOCK_M, w.row, a->q_len);
}

// A block of keys [key, key + count) a group, from a matrix [key][row] in Q's type: copied, its maxima with `fill`
// beyond, and 2^(score - origin) with its sums.
kernel FCL_TILE_GROUP void test_matrix(global const void *matrix, global const int *ranges,
                                       global const float *origins, global void *copy, global float *tops,
                                       global float *powers, global float *sums, float fill, long start, long pitch,
                                       int rows)
{
    const int group = get_group_id(0);
    const fcl_block b = {ranges[2 * group], ranges[2 * group + 1], 0};
    const long row_values = (long)group * FCL_BLOCK_M;
    FCL_TILE_STORAGE(storage);
    fcl_tile t;
    fcl_scores s;

    tile_open(&t, storage);
    const fcl_rows origin = rows_load(&t, origins, row_values);
    const fcl_rows top = tile_scores_load(&t, &s, matrix, start, pitch, FCL_DTYPE_Q, b, fill);
    tile_scores_store(&t, &s, copy, start, pitch, FCL_DTYPE_Q, b);
    rows_store(&t, top, tops, row_values, 0, rows);
    const fcl_rows sum = tile_total(&t, tile_probabilities(&t, &s, 0, b, origin));
    tile_scores_store(&t, &s, powers, start, pitch, FCL_F32, b);
    rows_store(&t, sum, sums, row_values, 0, rows);
}

// O = sum over key blocks of P V, before each block O times a factor a row, at the end times another. `steps` blocks
// of `factors` [block][batch, head][row], then the last factor; P in Q's type, [batch, head][key][row].
kernel FCL_TILE_GROUP void test_product(global const void *p, global const void *v, global void *o,
                                        global const float *factors, global float *rows, int steps,
                                        int heads, const fcl_args args)
{
    const fcl_args *a = &args;
    const fcl_work w = work_at(a, get_group_id(0), FCL_DV_SPLIT);
    const long head = (long)w.batch * a->heads + w.head, pitch = a->score_pitch;
    const long step = heads * pitch; // of all batches
    const long start = head * a->k_len * pitch + w.row;
    FCL_TILE_STORAGE(storage);
    fcl_tile t;
    fcl_scores s;
    fcl_out out;

    tile_open(&t, storage);
    tile_out_clear(&out);
    for (int j = steps; j-- > 0;) {
        const fcl_block b = {j * FCL_BLOCK_N, min(FCL_BLOCK_N, a->k_len - j * FCL_BLOCK_N), 0};
        const fcl_rows factor = rows_load(&t, factors, j * step + head * pitch + w.row);
        tile_scores_load(&t, &s, p, start, pitch, FCL_DTYPE_Q, b, 0.0f);
        tile_out_rescale(&t, &out, 0, factor);
        tile_accumulate(&t, &out, &s, view_v(a, &w, v), FCL_DTYPE_V, b);
    }
    const fcl_rows factor = rows_load(&t, factors, steps * step + head * pitch + w.row);
    tile_out_store(&t, &out, 0, view_o(a, &w, o), FCL_DTYPE_O, w.row, a->q_len, factor);
    if (w.column == 0)
        rows_store(&t, factor, rows, head * pitch + w.row, w.row, a->q_len);
}

// 2^x of LANES numbers a work-item.
kernel void test_exp2(global const float *x, global float *y)
{
    const long i = (long)get_global_id(0) * (FCL_LANES > 1 ? FCL_LANES : 1);
    lane_store(y, i, tile_exp2(lane_load(x, i, FCL_F32)), FCL_F32);
}
