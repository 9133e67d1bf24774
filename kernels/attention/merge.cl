// Joins two results of the same rows over different keys (lib/join.clh): a prefix that many share and the rest, or
// the keys of two devices. A work-group takes whole rows, one after the other. All of it have read both LSE when the
// first of them writes one, so that it may stand where one of them stood; an element of O is read by the work-item that
// writes it. The host says how many items and rows a group has, FCL_MERGE_ITEMS and FCL_MERGE_ROWS; with FCL_WIDTH, a
// CPU's, it has one item.
#include "lib/element.clh"
#include "lib/join.clh"

// The arguments of a launch; src/attention/merge.h has the same struct.
typedef struct {
    long a_strides[4], b_strides[4], o_strides[4]; // elements from one batch, head, row, column to the next
    long a_start, b_start, o_start, a_lse_start, b_lse_start, lse_start; // first elements
    uint all_rows;
    int heads, rows, columns; // heads of a batch, rows of a head, columns of a row
    int unit;                 // 1: all columns are 1 apart
    int writes_lse;
} fcl_merge_args;

// Where a row begins.
FCL_FN long merge_row(const fcl_merge_args *a, uint number, const long *strides, long start)
{
    const uint row = number % (uint)a->rows, heads = number / (uint)a->rows;
    const long head = heads % (uint)a->heads, batch = heads / (uint)a->heads;
    return start + batch * strides[0] + head * strides[1] + row * strides[2];
}

kernel __attribute__((reqd_work_group_size(FCL_MERGE_ITEMS, 1, 1))) void
FCL_KERNEL(global const void *a, global const float *a_lse, global const void *b, global const float *b_lse,
           global void *o, global float *lse, const fcl_merge_args args)
{
    const uint first = get_group_id(0) * FCL_MERGE_ROWS;
    for (uint number = first; number < min(first + FCL_MERGE_ROWS, args.all_rows); number++) {
        const long from_a = merge_row(&args, number, args.a_strides, args.a_start);
        const long from_b = merge_row(&args, number, args.b_strides, args.b_start);
        const long to = merge_row(&args, number, args.o_strides, args.o_start);
        const float of_a = a_lse[args.a_lse_start + number], of_b = b_lse[args.b_lse_start + number];
        fcl_join j = join_start();
        join_raise(&j, of_a);
        join_raise(&j, of_b);
        const float weight_of_a = join_weigh(&j, of_a), weight_of_b = join_weigh(&j, of_b);
        const float share_of_a = join_out(j, weight_of_a), share_of_b = join_out(j, weight_of_b);
        int d = get_local_id(0);
#if FCL_WIDTH > 1
        for (; args.unit && d + FCL_WIDTH <= args.columns; d += FCL_WIDTH) {
            const fcl_wide x = wide_load(a, from_a + d, FCL_DTYPE_A), y = wide_load(b, from_b + d, FCL_DTYPE_B);
            wide_store(o, to + d, join_wide_part(share_of_a, x) + join_wide_part(share_of_b, y), FCL_DTYPE_O);
        }
#endif
        for (; d < args.columns; d += FCL_MERGE_ITEMS) {
            const float x = element_load(a, from_a + d * args.a_strides[3], FCL_DTYPE_A);
            const float y = element_load(b, from_b + d * args.b_strides[3], FCL_DTYPE_B);
            element_store(o, to + d * args.o_strides[3], join_part(share_of_a, x) + join_part(share_of_b, y),
                          FCL_DTYPE_O);
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
        if (args.writes_lse && get_local_id(0) == 0)
            lse[args.lse_start + number] = join_lse(j);
    }
}
