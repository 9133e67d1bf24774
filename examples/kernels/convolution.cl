// A 2-D filter of SIDE x SIDE over an image of WIDTH x HEIGHT; the input has a frame of SIDE / 2 on each
// side, so that nothing depends on the edge.
//     BX BY    the work-group
//     TX TY    the pixels of a work-item
//     STAGE    1: the part of the image that a group needs goes through local memory
#define FRAMED (WIDTH + SIDE - 1)
#define TILE_X (BX * TX)
#define TILE_Y (BY * TY)
#define PART_X (TILE_X + SIDE - 1)
#define PART_Y (TILE_Y + SIDE - 1)

__kernel void convolution(__global float *out, __global const float *image, __constant float *weights)
{
    const int x = get_local_id(0), y = get_local_id(1);
    const int left = get_group_id(0) * TILE_X, top = get_group_id(1) * TILE_Y;
    float sum[TY][TX] = {{0}};
#if STAGE
    __local float part[PART_X * PART_Y];
    for (int i = y * BX + x; i < PART_X * PART_Y; i += BX * BY)
        part[i] = image[(top + i / PART_X) * FRAMED + left + i % PART_X];
    barrier(CLK_LOCAL_MEM_FENCE);
#define PIXEL(row, column) part[(row) * PART_X + (column)]
#else
#define PIXEL(row, column) image[(top + (row)) * FRAMED + left + (column)]
#endif
    for (int v = 0; v < SIDE; v++)
        for (int u = 0; u < SIDE; u++)
            for (int i = 0; i < TY; i++)
                for (int j = 0; j < TX; j++)
                    sum[i][j] += weights[v * SIDE + u] * PIXEL(y + i * BY + v, x + j * BX + u);
    for (int i = 0; i < TY; i++)
        for (int j = 0; j < TX; j++)
            out[(top + y + i * BY) * WIDTH + left + x + j * BX] = sum[i][j];
}

__kernel void convolution_reference(__global float *out, __global const float *image,
                                    __constant float *weights)
{
    const int column = get_global_id(0), row = get_global_id(1);
    float sum = 0;
    for (int v = 0; v < SIDE; v++)
        for (int u = 0; u < SIDE; u++)
            sum += weights[v * SIDE + u] * image[(row + v) * FRAMED + column + u];
    out[row * WIDTH + column] = sum;
}
