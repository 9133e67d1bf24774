// c = a + b, LANES numbers a work-item; the last work-items take what is left one by one.
//     flashcl tune-kernel vector_add.cl --kernel vector_add --param LANES=1,2,4,8,16 --param LOCAL=16,64,256 \
//         --global '(1000003 + LANES * LOCAL - 1) // (LANES * LOCAL)' --local LOCAL --groups \
//         --arg 'c:float[1000003] write' --arg 'a:float[1000003]' --arg 'b:float[1000003] random=0..1,2' \
//         --arg count:int32=1000003 --reference vector_add_reference --reference-global 1000003
#define JOIN(a, b) a##b
#define NAME(a, b) JOIN(a, b)
#if LANES > 1
#define VLOAD NAME(vload, LANES)
#define VSTORE NAME(vstore, LANES)
#endif

__kernel void vector_add(__global float *c, __global const float *a, __global const float *b, int count)
{
    const int first = (int)get_global_id(0) * LANES;
#if LANES > 1
    if (first + LANES <= count) {
        VSTORE(VLOAD(0, a + first) + VLOAD(0, b + first), 0, c + first);
        return;
    }
#endif
    for (int i = first; i < min(first + LANES, count); i++)
        c[i] = a[i] + b[i];
}

__kernel void vector_add_reference(__global float *c, __global const float *a, __global const float *b,
                                   int count)
{
    const int i = get_global_id(0);
    if (i < count)
        c[i] = a[i] + b[i];
}
