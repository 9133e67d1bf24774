// Joins two results of the same rows over different keys (lib/join.clh): a prefix that many share and the rest, or
// the keys of two devices. A work-group takes a row. All of it have read both LSE when the first of them writes one, so
// that it may stand where one of them stood; an element of O is read by the work-item that writes it.
#include "lib/element.clh"
#include "lib/join.clh"

#define FCL_MERGE_ITEMS 64 // FCL_MERGE_GROUP of src/attention/merge.h

// The arguments of a launch; src/attention/merge.h has the same struct.
typedef struct {
    long a_strides[4], b_strides[4], o_strides[4]; // elements from one batch, head, row, column to the next
    long a_start, b_start, o_start, a_lse_start, b_lse_start, lse_start; // first elements
    int heads, rows, columns; // heads of a batch, rows of a head, columns of a row
    int writes_lse;
} fcl_merge_args;

kernel __attribute__((reqd_work_group_size(FCL_MERGE_ITEMS, 1, 1))) void
FCL_KERNEL(global const void *a, global const float *a_lse, global const void *b, global const float *b_lse,
           global void *o, global float *lse, const fcl_merge_args args)
{
    const uint number = get_group_id(0), row = number % (uint)args.rows, heads = number / (uint)args.rows;
    const long head = heads % (uint)args.heads, batch = heads / (uint)args.heads;
    const long from_a = args.a_start + batch * args.a_strides[0] + head * args.a_strides[1] + row * args.a_strides[2];
    const long from_b = args.b_start + batch * args.b_strides[0] + head * args.b_strides[1] + row * args.b_strides[2];
    const long to = args.o_start + batch * args.o_strides[0] + head * args.o_strides[1] + row * args.o_strides[2];
    const float lse_of_a = a_lse[args.a_lse_start + number], lse_of_b = b_lse[args.b_lse_start + number];
    fcl_join j = join_start();
    join_raise(&j, lse_of_a);
    join_raise(&j, lse_of_b);
    const float weight_of_a = join_weigh(&j, lse_of_a), weight_of_b = join_weigh(&j, lse_of_b);
    for (int d = get_local_id(0); d < args.columns; d += FCL_MERGE_ITEMS) {
        const float x = element_load(a, from_a + d * args.a_strides[3], FCL_DTYPE_A);
        const float y = element_load(b, from_b + d * args.b_strides[3], FCL_DTYPE_B);
        element_store(o, to + d * args.o_strides[3], join_out(j, join_part(weight_of_a, x) + join_part(weight_of_b, y)),
                      FCL_DTYPE_O);
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (args.writes_lse && get_local_id(0) == 0)
        lse[args.lse_start + number] = join_lse(j);
}
