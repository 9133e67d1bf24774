// What translate.py makes of inline PTX, and the functions of OpenCL C that the kernels of nvidia_mma use. items.c has
// those that are only declared.

uint emulate_exchange(uint x, int lane);
int emulate_lane(void);
#define emulate_shuffle(x, lanes) as_float(emulate_exchange(as_uint(x), emulate_lane() ^ (lanes)))
#define emulate_from_lane(x, lane) ((int)emulate_exchange((uint)(x), lane))
uint emulate_pack_f16(float x, float y);
uint emulate_pack_bf16(float x, float y);
void emulate_unpack_f16(float *x, float *y, uint pair);
void emulate_mma_f16(float *c0, float *c1, float *c2, float *c3, uint a0, uint a1, uint a2, uint a3, uint b0, uint b1);
void emulate_mma_bf16(float *c0, float *c1, float *c2, float *c3, uint a0, uint a1, uint a2, uint a3, uint b0, uint b1);
void emulate_ldmatrix(uint *x0, uint *x1, uint *x2, uint *x3, uint at, int transposed);
void emulate_copy(uint to, global const void *from, int bytes);
void emulate_commit(void);
void emulate_wait(int batches);
int emulate_any_item(int x);
int emulate_any_lane(int x);
void emulate_meet(void);
void emulate_stmatrix(uint at, uint x0, uint x1, uint x2, uint x3);
void emulate_put(uint at, uint x, uint y);
void emulate_get(uint *x, uint *y, uint at);
void emulate_change(uint at, uint bits);
void emulate_store_unit(global void *to, uint at);
void emulate_barrier_open(uint at, uint count);
void emulate_barrier_arrive(uint at, uint bytes);
void emulate_barrier_wait(uint at, uint parity);
void emulate_named(int name, int items, int waits);
void emulate_copy_box(uint to, global const void *map, uint full, int column, int row, int head, int batch);
void emulate_wgmma(float *c, int columns, int adds, int is_bf16, uint a, uint b);
void emulate_wgmma_held(float *c, int columns, int is_bf16, const uint *a0, const uint *a1, const uint *a2, const uint *a3,
                        uint b);
void emulate_wgmma_commit(void);
void emulate_wgmma_wait(int batches);
local void *emulate_local(ulong bytes);
uint emulate_address(local const void *p);

ulong emulate_local_id(uint dimension);
ulong emulate_group_id(uint dimension);
ulong emulate_global_id(uint dimension);
ulong emulate_group_count(uint dimension);
ulong emulate_compare_and_set(global ulong *p, ulong from, ulong to);
void emulate_barrier(uint flags);
#define get_local_id emulate_local_id
#define get_group_id emulate_group_id
#define get_global_id emulate_global_id
#define get_num_groups emulate_group_count
#define barrier emulate_barrier

// Of the C library.
float exp2f(float x);
float log2f(float x);
float logf(float x);
float expf(float x);
float fmaf(float x, float y, float z);
float fmaxf(float x, float y);
float fabsf(float x);
#define EMULATE static inline __attribute__((overloadable))
#define EMULATE_ONE(name, f)                                                         \
    EMULATE float name(float x) { return f(x); }                                     \
    EMULATE float2 name(float2 x) { return (float2)(f(x.s0), f(x.s1)); }             \
    EMULATE float4 name(float4 x) { return (float4)(name(x.lo), name(x.hi)); }
#define EMULATE_TWO(name, f)                                                         \
    EMULATE float name(float x, float y) { return f(x, y); }                         \
    EMULATE float2 name(float2 x, float2 y) { return (float2)(f(x.s0, y.s0), f(x.s1, y.s1)); } \
    EMULATE float4 name(float4 x, float4 y) { return (float4)(name(x.lo, y.lo), name(x.hi, y.hi)); }
EMULATE_ONE(emulate_exp2, exp2f)
EMULATE_ONE(emulate_log2, log2f)
EMULATE_ONE(emulate_log, logf)
EMULATE_ONE(emulate_exp, expf)
EMULATE_ONE(emulate_fabs, fabsf)
EMULATE_TWO(emulate_max, fmaxf)
EMULATE float emulate_fma(float x, float y, float z) { return fmaf(x, y, z); }
EMULATE float2 emulate_fma(float2 x, float2 y, float2 z) { return (float2)(fmaf(x.s0, y.s0, z.s0), fmaf(x.s1, y.s1, z.s1)); }
EMULATE float4 emulate_fma(float4 x, float4 y, float4 z) { return (float4)(emulate_fma(x.lo, y.lo, z.lo), emulate_fma(x.hi, y.hi, z.hi)); }
#define exp2 emulate_exp2
#define native_exp2 emulate_exp2
#define log2 emulate_log2
#define log emulate_log
#define exp emulate_exp
#define fma emulate_fma
#define fmax emulate_max
#define fabs emulate_fabs

EMULATE int emulate_min(int x, int y) { return y < x ? y : x; }
EMULATE uint emulate_min(uint x, uint y) { return y < x ? y : x; }
EMULATE int emulate_greater(int x, int y) { return y > x ? y : x; }
#define min emulate_min
#define max emulate_greater
#define clamp(x, low, high) emulate_min(emulate_greater(x, low), high)
#define mul_hi(x, y) ((uint)((ulong)(x) * (y) >> 32))
#define any(x) emulate_any(x)
EMULATE int emulate_any(int4 x) { return (x.s0 | x.s1 | x.s2 | x.s3) < 0; }
#define convert_uint2(x) __builtin_convertvector(x, uint2)
#define convert_uint4(x) __builtin_convertvector(x, uint4)
#define atomic_or(p, x) __atomic_fetch_or((int *)(ulong)(p), x, __ATOMIC_SEQ_CST)

// Whatever address space it points to.
EMULATE float emulate_load(ulong i, const ushort *p)
{
    float x, y;
    emulate_unpack_f16(&x, &y, p[i]);
    return x;
}
EMULATE void emulate_store(float x, ulong i, ushort *p) { p[i] = (ushort)emulate_pack_f16(x, 0.0f); }
#define EMULATE_AT(p) ((ushort *)(ulong)(p))
#define vload_half(i, p) emulate_load(i, EMULATE_AT(p))
#define vload_half2(i, p) (float2)(vload_half(2 * (i), p), vload_half(2 * (i) + 1, p))
#define vload_half4(i, p) (float4)(vload_half2(2 * (i), p), vload_half2(2 * (i) + 1, p))
#define vstore_half_rte(x, i, p) emulate_store(x, i, EMULATE_AT(p))
#define vstore_half2_rte(x, i, p) (vstore_half_rte((x).s0, 2 * (i), p), vstore_half_rte((x).s1, 2 * (i) + 1, p))
#define vstore_half4_rte(x, i, p) (vstore_half2_rte((x).lo, 2 * (i), p), vstore_half2_rte((x).hi, 2 * (i) + 1, p))
