// Joins the partial results of splits of the keys (lib/join.clh). `parts` holds O [split][batch, head, query][d] and
// then L [split][batch, head, query], fp32. One work-item an element of O.
#include "lib/join.clh"

#define FCL_COMBINE_ITEMS 64 // FCL_COMBINE_GROUP of src/attention/launch.h
#define FCL_PARTS_AT_ONCE 8  // parts whose loads wait for nothing: their latency is what this kernel takes

kernel __attribute__((reqd_work_group_size(FCL_COMBINE_ITEMS, 1, 1))) void
FCL_PASTE(FCL_KERNEL, _combine)(global const float *parts, global void *o, global float *lse,
                                const fcl_args args FCL_METADATA)
{
    const fcl_args *a = &args;
    const ulong element = get_global_id(0), row = element / FCL_HEAD_V;
    const ulong d = element % FCL_HEAD_V, head = row / (ulong)a->FCL_LSE_ROWS, query = row % (ulong)a->FCL_LSE_ROWS;
    if (row >= (ulong)a->lse_split)
        return;
#if FCL_SEQUENCES
    const fcl_metadata memory = {cu_q, cu_k, used_q, used_k, table};
    if (!sequence_has(a, &memory, head / a->heads, query))
        return;
#endif
    global const float *part_lse = parts + a->splits * a->o_split + row;
    fcl_join j = join_start();
    float x = 0.0f;
    for (int first = 0; first < a->splits; first += FCL_PARTS_AT_ONCE) {
        float own[FCL_PARTS_AT_ONCE], weight[FCL_PARTS_AT_ONCE];
#pragma unroll
        for (int n = 0; n < FCL_PARTS_AT_ONCE; n++) {
            const int s = min(first + n, a->splits - 1);
            weight[n] = first + n < a->splits ? part_lse[s * a->lse_split] : -INFINITY;
            own[n] = parts[s * a->o_split + element];
        }
        x *= join_more(&j, weight, FCL_PARTS_AT_ONCE);
#pragma unroll
        for (int n = 0; n < FCL_PARTS_AT_ONCE; n++)
            x += join_part(weight[n], own[n]);
    }
    const long at = a->o_start + head / a->heads * a->o_batch + head % a->heads * a->o_head + query * a->o_row +
                    d * (FCL_STRIDED ? a->o_col : 1);
    element_store(o, at, join_out(j, x), FCL_DTYPE_O);
    if (FCL_LSE && d == 0)
        lse[a->lse_start + row] = join_lse(j);
}
