// C = A B in fp32, row-major: A is M x K, B is K x N. A work-group computes a tile of BM x BN of C; each
// work-item TM x TN numbers of it, in registers.
//     M N K    the sizes, multiples of the tiles
//     BM BN    the tile of a work-group
//     TM TN    the numbers of a work-item; work-items = BM / TM x BN / TN
//     BK       the part of K that is staged at once
//     UNROLL   steps of K written out, a divisor of BK
//     STAGE    1: tiles of A and B go through local memory; 0: straight from global memory
#define ITEMS_X (BN / TN)
#define ITEMS_Y (BM / TM)
#define ITEMS (ITEMS_X * ITEMS_Y)

__attribute__((reqd_work_group_size(ITEMS_X, ITEMS_Y, 1)))
__kernel void gemm(__global float *c, __global const float *a, __global const float *b)
{
    const int x = get_local_id(0), y = get_local_id(1);
    const int row = get_group_id(1) * BM, column = get_group_id(0) * BN;
    float sum[TM][TN] = {{0}};
#if STAGE
    __local float a_tile[BM * BK], b_tile[BK * BN];
    const int item = y * ITEMS_X + x;
#endif
    for (int start = 0; start < K; start += BK) {
#if STAGE
        for (int i = item; i < BM * BK; i += ITEMS)
            a_tile[i] = a[(row + i / BK) * K + start + i % BK];
        for (int i = item; i < BK * BN; i += ITEMS)
            b_tile[i] = b[(start + i / BN) * N + column + i % BN];
        barrier(CLK_LOCAL_MEM_FENCE);
#define A(i, k) a_tile[(i) * BK + (k)]
#define B(k, j) b_tile[(k) * BN + (j)]
#else
#define A(i, k) a[(row + (i)) * K + start + (k)]
#define B(k, j) b[(start + (k)) * N + column + (j)]
#endif
        for (int first = 0; first < BK; first += UNROLL)
            for (int k = first; k < first + UNROLL; k++)
                for (int i = 0; i < TM; i++)
                    for (int j = 0; j < TN; j++)
                        sum[i][j] += A(y + i * ITEMS_Y, k) * B(k, x + j * ITEMS_X);
#if STAGE
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
    }
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j++)
            c[(row + y + i * ITEMS_Y) * N + column + x + j * ITEMS_X] = sum[i][j];
}

// One number a work-item: what the results are compared with.
__kernel void gemm_reference(__global float *c, __global const float *a, __global const float *b)
{
    const int column = get_global_id(0), row = get_global_id(1);
    float sum = 0;
    for (int k = 0; k < K; k++)
        sum += a[row * K + k] * b[k * N + column];
    c[row * N + column] = sum;
}
