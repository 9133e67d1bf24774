// Kernels that lay open what kernels/lib computes: elements, lanes, the schedule, masks, the softmax steps.

#define LANES (FCL_LANES > 1 ? FCL_LANES : 1) // numbers in fcl_lane

// Elements of a type as floats, and floats as elements: singly, and by lanes.
kernel void test_load(global const void *in, global float *single, global float *lanes, int dtype)
{
    const long i = (long)get_global_id(0) * LANES;
    for (int n = 0; n < LANES; n++)
        single[i + n] = element_load(in, i + n, dtype);
    lane_store(lanes, i, lane_load(in, i, dtype), FCL_F32);
}

kernel void test_store(global const float *in, global void *single, global void *lanes, int dtype)
{
    const long i = (long)get_global_id(0) * LANES;
    for (int n = 0; n < LANES; n++)
        element_store(single, i + n, in[i + n], dtype);
    lane_store(lanes, i, lane_load(in, i, FCL_F32), dtype);
}

// Work-group `get_global_id(0)`: what it computes, up to `limit` of its key blocks, and where its operands are.
kernel void test_schedule(global int *works, global int *blocks, global long *views, int limit, const fcl_args args)
{
    const fcl_args *a = &args;
    const int number = get_global_id(0);
    const fcl_work w = work_at(a, number, FCL_DV_SPLIT);
    global int *work = works + number * 6, *block = blocks + number * limit * 3;
    global long *view = views + number * 13;
    const fcl_view operands[4] = {view_q(a, &w, views), view_k(a, &w, views), view_v(a, &w, views),
                                  view_o(a, &w, views)};
    work[0] = w.batch;
    work[1] = w.head;
    work[2] = w.row;
    work[3] = w.column;
    work[4] = w.first;
    work[5] = w.last;
    for (int j = 0; j < min(w.last, limit); j++) {
        const fcl_block b = block_at(a, &w, j);
        block[3 * j] = b.key;
        block[3 * j + 1] = b.count;
        block[3 * j + 2] = b.edge;
    }
    for (int i = 0; i < 4; i++) {
        view[3 * i] = operands[i].start;
        view[3 * i + 1] = operands[i].row;
        view[3 * i + 2] = operands[i].col;
    }
    view[12] = view_lse(a, &w, (global const float *)views).start + w.row;
}

// score_visit on a score of 7 at every place of rows x columns, in a block on the edge and in one that is not.
kernel void test_visit(global float *edge, global float *inside, int columns, const fcl_args args)
{
    const fcl_args *a = &args;
    const int row = get_global_id(0) / columns * LANES, column = get_global_id(0) % columns;
    const fcl_block yes = {0, 0, 1}, no = {0, 0, 0};
    const long at = (long)get_global_id(0) * LANES;
    const fcl_lane seven = 7.0f;
    lane_store(edge, at, score_visit(a, yes, seven, row + FCL_IOTA, column), FCL_F32);
    lane_store(inside, at, score_visit(a, no, seven, row + FCL_IOTA, column), FCL_F32);
}

// LANES scores a work-item, capped.
kernel void test_cap(global const float *in, global float *out, const fcl_args args)
{
    const long i = (long)get_global_id(0) * LANES;
    lane_store(out, i, score_cap(&args, lane_load(in, i, FCL_F32)), FCL_F32);
}

FCL_FN fcl_rows rows_load(global const float *p)
{
    fcl_rows x;
    for (int i = 0; i < FCL_ROWS; i++)
        x.r[i] = lane_load(p, i * LANES, FCL_F32);
    return x;
}

FCL_FN void rows_store(global float *p, fcl_rows x)
{
    for (int i = 0; i < FCL_ROWS; i++)
        lane_store(p, i * LANES, x.r[i], FCL_F32);
}

// The online softmax over `steps` blocks given by their maxima and sums, [step][row]; `out`, also [..][row]: a
// factor and an origin a step, then m, l, 1 / l, LSE and the last origin after softmax_divide.
kernel void test_softmax(global const float *tops, global const float *sums, global float *out, int steps)
{
    const int rows = get_global_size(0) * FCL_ROWS * LANES, row = get_global_id(0) * FCL_ROWS * LANES;
    fcl_softmax x;
    fcl_rows origin;
    softmax_start(&x);
    for (int i = 0; i < steps; i++) {
        const fcl_rows shrink = softmax_move(&x, rows_load(tops + i * rows + row));
        origin = softmax_origin(&x);
        softmax_add(&x, rows_load(sums + i * rows + row));
        rows_store(out + (2 * i) * rows + row, shrink);
        rows_store(out + (2 * i + 1) * rows + row, origin);
    }
    global float *end = out + 2 * steps * rows + row;
    rows_store(end, x.m);
    rows_store(end + rows, x.l);
    rows_store(end + 2 * rows, softmax_inverse(x.l));
    rows_store(end + 3 * rows, softmax_lse(&x, x.l));
    softmax_divide(&origin, x.l);
    rows_store(end + 4 * rows, origin);
}

// Every field of fcl_args as it arrives, those of 64 bits first, and the size of the whole.
kernel void test_args(global long *out, const fcl_args args)
{
    const fcl_args *a = &args;
    const long fields[] = {
        a->q_batch, a->q_head, a->q_row, a->q_col, a->k_batch, a->k_head, a->k_row, a->k_col,
        a->v_batch, a->v_head, a->v_row, a->v_col, a->o_batch, a->o_head, a->o_row, a->o_col,
        a->q_start, a->k_start, a->v_start, a->o_start, a->lse_start, a->o_split, a->lse_split,
        a->splits, a->q_len, a->k_len, a->heads, a->group, a->all_heads, a->together, a->shift, as_int(a->unit),
        as_int(a->unit_size), a->first, as_int(a->cap), as_int(a->cap_inverse), a->sinks_start,
        a->lse_rows, a->sequences, a->slots, a->bottom, a->total_q, a->total_k, a->cu_q_start, a->cu_k_start,
        a->used_q_start, a->used_k_start, a->table_start, a->table_row, a->table_entries, a->page_count, a->page_size,
        a->page_magic, a->page_shift, a->slopes_start, a->place, a->slope_heads, as_int(a->slope_step),
        a->bias_batch, a->bias_head, a->bias_row, a->bias_col, a->bias_start,
        a->visible_batch, a->visible_head, a->visible_row, a->visible_col, a->visible_start,
        a->score_pitch, sizeof(fcl_args)};
    for (int i = 0; i < (int)(sizeof fields / sizeof fields[0]); i++)
        out[i] = fields[i];
}
