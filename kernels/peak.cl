// What a device can do at best: multiply-adds in registers, reading, copying. `flashcl peak` times these kernels.
//
// Baked in by src/core/peak.c: FCL_WIDE, a vector of FCL_WIDTH floats, and FCL_ITEMS, the work-items of a group. `in`
// holds ones everywhere, so that the host knows every result.

// So many independent chains hide the latency of a multiply-add, and leave room for its factors in sixteen registers.
#define FCL_EACH_CHAIN(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

// In registers meanwhile: vectors that are loaded at once, an independent sum each.
#define FCL_EACH_LOAD(X) X(0) X(1) X(2) X(3)

#define FCL_GROUP __attribute__((reqd_work_group_size(FCL_ITEMS, 1, 1)))

static inline __attribute__((always_inline)) float sum_of(FCL_WIDE x)
{
    const float *lanes = (const float *)&x;
    float sum = 0.0f;
    for (int i = 0; i < FCL_WIDTH; i++)
        sum += lanes[i];
    return sum;
}

// Chain n holds n/16 and 1 - n/16 in turn when a is -1 and b is 1: nothing settles, grows or vanishes. After an even
// number of rounds each lane sums to (0 + ... + 11) / 16.
kernel FCL_GROUP void peak_fma(global const FCL_WIDE *in, global float *out, const int rounds, const float a,
                               const float b)
{
#define FCL_START(n) FCL_WIDE x##n = in[get_local_id(0)] * (n / 16.0f);
    FCL_EACH_CHAIN(FCL_START)
    for (int i = 0; i < rounds; i++) {
#define FCL_STEP(n) x##n = x##n * a + b;
        FCL_EACH_CHAIN(FCL_STEP)
    }
    FCL_WIDE sum = 0.0f;
#define FCL_ADD(n) sum += x##n;
    FCL_EACH_CHAIN(FCL_ADD)
    out[get_global_id(0)] = sum_of(sum);
}

// A group reads a contiguous part, its items in turn.
kernel FCL_GROUP void peak_read(global const FCL_WIDE *in, global float *out, const int rounds)
{
    global const FCL_WIDE *p = in + (size_t)get_group_id(0) * rounds * (4 * FCL_ITEMS) + get_local_id(0);
#define FCL_ZERO(n) FCL_WIDE sum##n = 0.0f;
    FCL_EACH_LOAD(FCL_ZERO)
    for (int i = 0; i < rounds; i++, p += 4 * FCL_ITEMS) {
#define FCL_LOAD(n) sum##n += p[n * FCL_ITEMS];
        FCL_EACH_LOAD(FCL_LOAD)
    }
    out[get_global_id(0)] = sum_of((sum0 + sum1) + (sum2 + sum3));
}

kernel FCL_GROUP void peak_copy(global const FCL_WIDE *restrict in, global FCL_WIDE *restrict out, const int rounds)
{
    const size_t start = (size_t)get_group_id(0) * rounds * (4 * FCL_ITEMS) + get_local_id(0);
    global const FCL_WIDE *p = in + start;
    global FCL_WIDE *to = out + start;
    for (int i = 0; i < rounds; i++, p += 4 * FCL_ITEMS, to += 4 * FCL_ITEMS) {
#define FCL_COPY(n) to[n * FCL_ITEMS] = p[n * FCL_ITEMS];
        FCL_EACH_LOAD(FCL_COPY)
    }
}
