// y[i] = factor * x[i], right only for the first value of FAULT. LANES elements a work-item.
#define none 0
#define wrong 1
#define build 2
#define before 3
#define behind 4
#define unwritten 5
#define input 6
#define crash 7
#define hang 8

#if FAULT == build
#error this point does not build
#endif

__kernel void scale(__global float *y, __global float *x, int count, float factor)
{
    int first = (int)get_global_id(0) * LANES;
    for (int i = first; i < first + LANES && i < count; i++) {
        float result = factor * x[i];
#if FAULT == wrong
        if (i == 70)
            result += 1.0f;
#elif FAULT == unwritten
        if (i == 71)
            continue;
#endif
        y[i] = result;
#if FAULT == before
        if (i == 0)
            y[-1] = 1.0f;
#elif FAULT == behind
        if (i == count - 1)
            y[count] = 1.0f;
#elif FAULT == input
        x[i] = 0.0f;
#elif FAULT == crash
        *(__global volatile int *)(uintptr_t)8 = 1;
#elif FAULT == hang
        while (*(__global volatile int *)(y + i) != -1)
            ;
#endif
    }
}

__kernel void scale_reference(__global float *y, __global float *x, int count, float factor)
{
    if ((int)get_global_id(0) < count)
        y[get_global_id(0)] = factor * x[get_global_id(0)];
}
