// Seeded inputs, poisoned and guarded outputs, comparison with the reference.
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "problem.h"

#define GUARD_BYTES 4096 // before and behind an output
#define GUARD_BYTE 0xa5
#define POISON_BYTE 0xff // NaN in every element type

// ---- inputs

// Close to normal, variance 1: the sum of four uniform 16-bit numbers.
static float noise(uint64_t seed, uint64_t index)
{
    const uint64_t x = fcl_random_mix(seed ^ fcl_random_mix(index));
    const float sum = (float)(x & 0xffff) + (float)(x >> 16 & 0xffff) + (float)(x >> 32 & 0xffff) +
                      (float)(x >> 48);
    return (sum / 65536.0f - 2.0f) * 1.7320508f;
}

// How a row's magnitude differs from the next one's: rises and falls over 37 rows, so that maxima
// move in blocks near both ends.
static float magnitude(enum fcl_fill fill, int64_t row)
{
    if (fill == FCL_FILL_PLAIN)
        return 1.0f;
    const int64_t phase = row * 5 % 37;
    return 0.25f + 3.0f * (float)(phase < 19 ? phase : 37 - phase) / 18.0f;
}

// Fills a contiguous tensor of [outer, rows, dim] (or [batch, rows, heads, dim]) elements.
static void fill_tensor(unsigned char *data, enum fcl_dtype dtype, int64_t count, int64_t dim,
                        enum fcl_fill fill, uint64_t seed)
{
    for (int64_t row = 0; row < count / dim; row++) {
        const float factor = magnitude(fill, row);
        for (int64_t d = 0; d < dim; d++)
            fcl_element_store(data, dtype, row * dim + d,
                              factor * noise(seed, (uint64_t)(row * dim + d)));
    }
}

// A bias as masks have it: some numbers are -infinity, also all of one row.
static void fill_bias(unsigned char *data, enum fcl_dtype dtype, int64_t count, int64_t keys,
                      uint64_t seed)
{
    for (int64_t i = 0; i < count; i++) {
        const float x = noise(seed, (uint64_t)i);
        const int hides = i / keys % 53 == 2 || x < -1.2f;
        fcl_element_store(data, dtype, i, hides ? -INFINITY : 2.0f * x);
    }
}

// Bytes of a mask: of three parts of 64 rows and 128 keys, one is seen here and there, one wholly,
// one not at all; and there are rows that see nothing.
static void fill_visible(unsigned char *data, int64_t count, int64_t rows, int64_t keys,
                         uint64_t seed)
{
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = i / keys % rows, part = (row / 64 + i % keys / 128) % 3;
        const int some = noise(seed, (uint64_t)i) > -0.5f;
        data[i] = (unsigned char)(row % 53 == 2 || part == 2 ? 0 : part == 1 ? 1 : some * 0x80);
    }
}

// ---- buffers

static size_t elements(int64_t batch, int64_t heads, int64_t length, int64_t dim)
{
    return (size_t)batch * (size_t)heads * (size_t)length * (size_t)dim;
}

// Host memory for so many bytes, with NaN behind the last element: reading too far shows.
static unsigned char *poisoned(size_t bytes)
{
    unsigned char *host = malloc(bytes + GUARD_BYTES);
    if (host)
        memset(host, POISON_BYTE, bytes + GUARD_BYTES);
    return host;
}

static enum fcl_status copy_input(struct fcl_bench *bench, unsigned char *host, cl_mem *buffer,
                                  size_t bytes)
{
    cl_int code = CL_SUCCESS;
    *buffer = clCreateBuffer(bench->device->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                             bytes + GUARD_BYTES, host, &code);
    return code ? fcl_cl_fail(bench->device, code, "clCreateBuffer") : FCL_OK;
}

static enum fcl_status make_input(struct fcl_bench *bench, unsigned char **host, cl_mem *buffer,
                                  enum fcl_dtype dtype, size_t count, int64_t dim,
                                  enum fcl_fill fill, uint64_t seed)
{
    const size_t bytes = count * fcl_dtype_size(dtype);
    *host = poisoned(bytes);
    if (!*host)
        return FCL_OUT_OF_MEMORY;
    fill_tensor(*host, dtype, (int64_t)count, dim, fill, seed);
    return copy_input(bench, *host, buffer, bytes);
}

// One bias for all of the batch.
static enum fcl_status make_bias(struct fcl_bench *bench, uint64_t seed)
{
    const struct fcl_problem *p = &bench->problem;
    const enum fcl_dtype dtype = fcl_bias_dtype(p->bias);
    const size_t count = elements(1, p->heads_q, p->q_len, p->k_len);
    const size_t bytes = count * fcl_dtype_size(dtype);
    bench->bias = poisoned(bytes);
    if (!bench->bias)
        return FCL_OUT_OF_MEMORY;
    fill_bias(bench->bias, dtype, (int64_t)count, fcl_max(p->k_len, 1), seed);
    fcl_layout_strides(FCL_LAYOUT_BHSD, p->heads_q, p->q_len, p->k_len, bench->args.bias.strides);
    bench->args.bias.strides[0] = FCL_BROADCAST;
    return copy_input(bench, bench->bias, &bench->args.bias.buffer, bytes);
}

// One mask for all heads.
static enum fcl_status make_visible(struct fcl_bench *bench, uint64_t seed)
{
    const struct fcl_problem *p = &bench->problem;
    const size_t bytes = elements(p->batch, 1, p->q_len, p->k_len);
    bench->visible = poisoned(bytes);
    if (!bench->visible)
        return FCL_OUT_OF_MEMORY;
    fill_visible(bench->visible, (int64_t)bytes, fcl_max(p->q_len, 1), fcl_max(p->k_len, 1), seed);
    fcl_layout_strides(FCL_LAYOUT_BHSD, 1, p->q_len, p->k_len, bench->args.visible.strides);
    bench->args.visible.strides[1] = FCL_BROADCAST;
    return copy_input(bench, bench->visible, &bench->args.visible.buffer, bytes);
}

// A copy of the host's numbers; none where there are none.
static enum fcl_status make_numbers(struct fcl_bench *bench, const int32_t *numbers, int64_t count,
                                    cl_mem *buffer)
{
    cl_int code = CL_SUCCESS;
    if (numbers && count > 0)
        *buffer =
            clCreateBuffer(bench->device->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                           (size_t)count * sizeof *numbers, (void *)(uintptr_t)numbers, &code);
    return code ? fcl_cl_fail(bench->device, code, "clCreateBuffer") : FCL_OK;
}

// Metadata, where the problem has any.
static enum fcl_status make_sequences(struct fcl_bench *bench, uint64_t seed)
{
    const struct fcl_problem *p = &bench->problem;
    struct fcl_sequences *s = &bench->sequences;
    struct fcl_attention_args *a = &bench->args;
    enum fcl_status status = fcl_sequences_create(p, seed, s);
    a->total_q = s->total_q;
    a->total_k = s->total_k;
    a->table_entries = s->table_entries;
    a->page_count = s->page_count;
    if (!status)
        status = make_numbers(bench, s->cu_q, p->batch + 1, &a->cu_q);
    if (!status)
        status = make_numbers(bench, s->cu_k, p->batch + 1, &a->cu_k);
    if (!status)
        status = make_numbers(bench, s->used_q, p->batch, &a->used_q);
    if (!status)
        status = make_numbers(bench, s->used_k, p->batch, &a->used_k);
    if (!status)
        status = make_numbers(bench, s->table, s->page_count, &a->table);
    return status;
}

static enum fcl_status make_output(struct fcl_bench *bench, cl_mem *buffer, size_t bytes)
{
    cl_int code = CL_SUCCESS;
    *buffer = clCreateBuffer(bench->device->context, CL_MEM_READ_WRITE, bytes + 2 * GUARD_BYTES,
                             NULL, &code);
    return code ? fcl_cl_fail(bench->device, code, "clCreateBuffer") : FCL_OK;
}

static enum fcl_status make_tensors(struct fcl_bench *bench, enum fcl_fill fill, uint64_t seed)
{
    const struct fcl_problem *p = &bench->problem;
    struct fcl_attention_args *a = &bench->args;
    const struct fcl_sequences *s = &bench->sequences;
    const size_t queries =
        (size_t)(p->varlen ? s->total_q : p->batch * p->q_len) * (size_t)p->heads_q;
    const size_t keys = (size_t)(p->page     ? s->page_count * p->page
                                 : p->varlen ? s->total_k
                                             : p->batch * p->k_len) *
                        (size_t)p->heads_kv;
    const size_t dqk = (size_t)p->head_dim_qk, dv = (size_t)p->head_dim_v;
    enum fcl_status status = make_input(bench, &bench->q, &a->q.buffer, p->dtype_q, queries * dqk,
                                        p->head_dim_qk, FCL_FILL_PLAIN, seed + 1);
    if (!status)
        status = make_input(bench, &bench->k, &a->k.buffer, p->dtype_k, keys * dqk, p->head_dim_qk,
                            fill, seed + 2);
    if (!status)
        status = make_input(bench, &bench->v, &a->v.buffer, p->dtype_v, keys * dv, p->head_dim_v,
                            fill, seed + 3);
    if (!status && p->sink)
        status = make_input(bench, &bench->sinks, &a->sinks, FCL_F32, (size_t)p->heads_q, 1, fill,
                            seed + 4);
    if (!status && p->alibi == FCL_ALIBI_GIVEN)
        status = make_input(bench, &bench->slopes, &a->slopes, FCL_F32, (size_t)p->heads_q, 1,
                            FCL_FILL_PLAIN, seed + 5);
    if (!status && p->bias)
        status = make_bias(bench, seed + 6);
    if (!status && p->visible)
        status = make_visible(bench, seed + 7);
    if (!status && p->pass == FCL_PASS_FORWARD) {
        bench->o_bytes = queries * dv * fcl_dtype_size(p->dtype_o);
        status = make_output(bench, &a->o.buffer, bench->o_bytes);
        a->o.offset = GUARD_BYTES;
    }
    if (!status && (p->lse || p->pass == FCL_PASS_STATISTICS)) {
        bench->lse_bytes = queries * sizeof(float);
        status = make_output(bench, &a->lse, bench->lse_bytes);
        a->lse_offset = GUARD_BYTES;
    }
    return status;
}

enum fcl_status fcl_bench_init(struct fcl_bench *bench, struct fcl_device *device,
                               const struct fcl_problem *problem, enum fcl_fill fill, uint64_t seed)
{
    char reason[256];
    cl_int code = CL_SUCCESS;
    *bench = (struct fcl_bench){.device = device};
    const enum fcl_status status =
        fcl_problem_complete(problem, &bench->problem, reason, sizeof reason);
    if (status)
        return fcl_device_fail(device, status, "%s", reason);
    bench->queue = fcl_device_queue(device, &code);
    if (!bench->queue)
        return fcl_cl_fail(device, code, "clCreateCommandQueue");
    const struct fcl_problem *p = &bench->problem;
    bench->args = (struct fcl_attention_args){
        .struct_size = sizeof bench->args,
        .shape = {p->batch, p->heads_q, p->heads_kv, p->q_len, p->k_len},
        .window = p->window,
        .window_left = p->window_left,
        .window_right = p->window_right,
        .softcap = (float)p->softcap};
    const enum fcl_status made = make_sequences(bench, seed);
    return made ? made : make_tensors(bench, fill, seed);
}

enum fcl_status fcl_bench_prepare(struct fcl_bench *bench, const struct fcl_plan *plan)
{
    size_t needed, have = 0;
    cl_int code = CL_SUCCESS;
    const enum fcl_status status = fcl_plan_workspace_size(plan, &bench->args.shape, &needed);
    if (status || !needed)
        return status;
    if (bench->args.workspace)
        clGetMemObjectInfo(bench->args.workspace, CL_MEM_SIZE, sizeof have, &have, NULL);
    if (have >= needed)
        return FCL_OK;
    if (bench->args.workspace)
        clReleaseMemObject(bench->args.workspace);
    bench->args.workspace =
        clCreateBuffer(bench->device->context, CL_MEM_READ_WRITE, needed, NULL, &code);
    return code ? fcl_cl_fail(bench->device, code, "clCreateBuffer") : FCL_OK;
}

void fcl_bench_finish(struct fcl_bench *bench)
{
    cl_mem buffers[] = {bench->args.q.buffer, bench->args.k.buffer,    bench->args.v.buffer,
                        bench->args.o.buffer, bench->args.lse,         bench->args.workspace,
                        bench->args.sinks,    bench->args.cu_q,        bench->args.cu_k,
                        bench->args.used_q,   bench->args.used_k,      bench->args.table,
                        bench->args.slopes,   bench->args.bias.buffer, bench->args.visible.buffer};
    for (size_t i = 0; i < FCL_COUNT(buffers); i++)
        if (buffers[i])
            clReleaseMemObject(buffers[i]);
    if (bench->queue)
        clReleaseCommandQueue(bench->queue);
    free(bench->q);
    free(bench->k);
    free(bench->v);
    free(bench->sinks);
    free(bench->slopes);
    free(bench->bias);
    free(bench->visible);
    fcl_sequences_free(&bench->sequences);
    *bench = (struct fcl_bench){0};
}

// ---- one run

static enum fcl_status poison(const struct fcl_bench *bench, cl_mem buffer, size_t bytes)
{
    unsigned char *image = malloc(bytes + 2 * GUARD_BYTES);
    if (!image)
        return FCL_OUT_OF_MEMORY;
    memset(image, GUARD_BYTE, bytes + 2 * GUARD_BYTES);
    memset(image + GUARD_BYTES, POISON_BYTE, bytes);
    const cl_int code = clEnqueueWriteBuffer(bench->queue, buffer, CL_TRUE, 0,
                                             bytes + 2 * GUARD_BYTES, image, 0, NULL, NULL);
    free(image);
    return code ? fcl_cl_fail(bench->device, code, "clEnqueueWriteBuffer") : FCL_OK;
}

static int guards_hold(const unsigned char *image, size_t bytes)
{
    for (size_t i = 0; i < GUARD_BYTES; i++)
        if (image[i] != GUARD_BYTE || image[GUARD_BYTES + bytes + i] != GUARD_BYTE)
            return 0;
    return 1;
}

// Reads an output without its guards.
static enum fcl_status fetch(const struct fcl_bench *bench, const char *name, cl_mem buffer,
                             size_t bytes, void **data)
{
    unsigned char *image = malloc(bytes + 2 * GUARD_BYTES);
    if (!image)
        return FCL_OUT_OF_MEMORY;
    *data = image;
    const cl_int code = clEnqueueReadBuffer(bench->queue, buffer, CL_TRUE, 0,
                                            bytes + 2 * GUARD_BYTES, image, 0, NULL, NULL);
    if (code)
        return fcl_cl_fail(bench->device, code, "clEnqueueReadBuffer");
    const int hold = guards_hold(image, bytes);
    memmove(image, image + GUARD_BYTES, bytes);
    return hold ? FCL_OK
                : fcl_device_fail(bench->device, FCL_WRONG_RESULT, "the kernel wrote outside of %s",
                                  name);
}

static enum fcl_status launch_once(struct fcl_bench *bench, const struct fcl_plan *plan)
{
    const enum fcl_status status =
        fcl_plan_launch(plan, bench->queue, &bench->args, 0, NULL, NULL, NULL);
    const cl_int code = status ? CL_SUCCESS : clFinish(bench->queue);
    return code ? fcl_cl_fail(bench->device, code, "clFinish") : status;
}

enum fcl_status fcl_bench_run(struct fcl_bench *bench, const struct fcl_plan *plan,
                              unsigned char **o, float **lse)
{
    void *o_data = NULL, *lse_data = NULL;
    enum fcl_status status = fcl_bench_prepare(bench, plan);
    if (!status && bench->args.o.buffer)
        status = poison(bench, bench->args.o.buffer, bench->o_bytes);
    if (!status && bench->args.lse)
        status = poison(bench, bench->args.lse, bench->lse_bytes);
    if (!status)
        status = launch_once(bench, plan);
    if (!status && bench->args.o.buffer)
        status = fetch(bench, "o", bench->args.o.buffer, bench->o_bytes, &o_data);
    if (!status && bench->args.lse)
        status = fetch(bench, "lse", bench->args.lse, bench->lse_bytes, &lse_data);
    *o = o_data;
    *lse = lse_data;
    return status;
}

// ---- comparison

struct comparing {
    struct fcl_reference reference;
    const unsigned char *o;
    const float *lse;
    int64_t strides[4];
    int unfused;
    struct fcl_comparison *comparison;
};

static struct fcl_sequence_rows rows_of(const struct comparing *c, int64_t b)
{
    struct fcl_sequence_rows rows = {0};
    fcl_sequences_rows(c->reference.problem, c->reference.sequences, b, &rows);
    return rows;
}

static enum fcl_status compare_row(const struct comparing *c, int64_t b, int64_t h, int64_t i)
{
    const struct fcl_problem *p = c->reference.problem;
    const int64_t batch = p->varlen ? 0 : b, row = rows_of(c, b).q_first + i;
    const int64_t length = p->varlen ? c->reference.sequences->total_q : p->q_len;
    const int64_t at = batch * c->strides[0] + h * c->strides[1] + row * c->strides[2];
    const void *o = c->o ? c->o + (size_t)at * fcl_dtype_size(p->dtype_o) : NULL;
    const float *lse = c->lse ? c->lse + (batch * p->heads_q + h) * length + row : NULL;
    return fcl_reference_compare(&c->reference, b, h, i, o, 1, lse, c->unfused, c->comparison);
}

// Row `number` of a sample: first the edges of the first and last block, then random ones.
static int64_t sample_row(int64_t number, int64_t q_len, int64_t block, uint64_t random)
{
    const int64_t last_block = (q_len - 1) / block * block;
    const int64_t edges[] = {0, block - 1, block, last_block - 1, last_block, q_len - 1};
    if (number < (int64_t)FCL_COUNT(edges))
        return fcl_min(fcl_max(edges[number], 0), q_len - 1);
    return (int64_t)(random % (uint64_t)q_len);
}

static enum fcl_status compare_sample(const struct comparing *c, int64_t block, uint64_t seed,
                                      int64_t rows)
{
    const struct fcl_problem *p = c->reference.problem;
    for (int64_t n = 0; n < rows; n++) {
        const uint64_t random = fcl_random_mix(seed * 0x10001 + (uint64_t)n);
        const int64_t b = (int64_t)(random % (uint64_t)p->batch);
        const int64_t h = (int64_t)((random >> 20) % (uint64_t)p->heads_q);
        const int64_t length = rows_of(c, b).q_len;
        const enum fcl_status status =
            length ? compare_row(c, b, h, sample_row(n, length, block, random >> 33)) : FCL_OK;
        if (status)
            return status;
    }
    return FCL_OK;
}

static enum fcl_status compare_all(const struct comparing *c)
{
    const struct fcl_problem *p = c->reference.problem;
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t h = 0; h < p->heads_q; h++)
            for (int64_t i = 0; i < rows_of(c, b).q_len; i++) {
                const enum fcl_status status = compare_row(c, b, h, i);
                if (status)
                    return status;
            }
    return FCL_OK;
}

enum fcl_status fcl_bench_compare(const struct fcl_bench *bench, const struct fcl_plan *plan,
                                  uint64_t seed, int64_t rows, const unsigned char *o,
                                  const float *lse, struct fcl_comparison *comparison)
{
    const struct fcl_problem *p = &bench->problem;
    struct comparing c = {
        .reference = {.problem = p,
                      .q = {.data = bench->q, .dtype = p->dtype_q},
                      .k = {.data = bench->k, .dtype = p->dtype_k},
                      .v = {.data = bench->v, .dtype = p->dtype_v},
                      .sinks = (const float *)(const void *)bench->sinks,
                      .slopes = (const float *)(const void *)bench->slopes,
                      .bias = {.data = bench->bias, .dtype = fcl_bias_dtype(p->bias)},
                      .visible = {.data = bench->visible},
                      .sequences = &bench->sequences},
        .o = o,
        .lse = lse,
        .unfused = plan->implementation == FCL_UNFUSED,
        .comparison = comparison};
    fcl_layout_strides(p->layout, p->heads_q, p->q_len, p->head_dim_qk, c.reference.q.strides);
    const int64_t keys = p->page ? p->page : p->k_len;
    fcl_layout_strides(p->layout, p->heads_kv, keys, p->head_dim_qk, c.reference.k.strides);
    fcl_layout_strides(p->layout, p->heads_kv, keys, p->head_dim_v, c.reference.v.strides);
    fcl_layout_strides(p->layout, p->heads_q, p->q_len, p->head_dim_v, c.strides);
    memcpy(c.reference.bias.strides, bench->args.bias.strides, sizeof c.strides);
    memcpy(c.reference.visible.strides, bench->args.visible.strides, sizeof c.strides);
    const int64_t all = p->batch * p->heads_q * p->q_len;
    enum fcl_status status = rows > 0 && rows < all
                                 ? compare_sample(&c, plan->config.block_m, seed, rows)
                                 : compare_all(&c);
    if (!status && !(comparison->ratio <= 1.0))
        status = fcl_device_fail(
            bench->device, FCL_WRONG_RESULT,
            "%s differs from the reference: %.3g of the tolerance at batch %lld head %lld row %lld "
            "column %lld",
            plan->label, comparison->ratio, (long long)comparison->worst_b,
            (long long)comparison->worst_h, (long long)comparison->worst_i,
            (long long)comparison->worst_d);
    return status;
}

enum fcl_status fcl_check_plan(const struct fcl_plan *plan, const struct fcl_problem *problem,
                               enum fcl_fill fill, uint64_t seed, int64_t rows,
                               struct fcl_comparison *comparison)
{
    struct fcl_bench bench;
    unsigned char *o = NULL;
    float *lse = NULL;
    enum fcl_status status = fcl_bench_init(&bench, plan->device, problem, fill, seed);
    if (!status)
        status = fcl_bench_run(&bench, plan, &o, &lse);
    if (!status)
        status = fcl_bench_compare(&bench, plan, seed, rows, o, lse, comparison);
    free(o);
    free(lse);
    fcl_bench_finish(&bench);
    return status;
}

enum fcl_status fcl_attention_check(const fcl_plan *plan, const struct fcl_problem *problem,
                                    enum fcl_fill fill, uint64_t seed, int64_t rows,
                                    struct fcl_comparison *comparison)
{
    struct fcl_problem full;
    char reason[256];
    if (!plan || !problem || !comparison)
        return plan ? fcl_device_fail(plan->device, FCL_INVALID_ARGUMENT, "%s is NULL",
                                      problem ? "comparison" : "problem")
                    : FCL_INVALID_ARGUMENT;
    *comparison = (struct fcl_comparison){0};
    const enum fcl_status status = fcl_problem_complete(problem, &full, reason, sizeof reason);
    if (status)
        return fcl_device_fail(plan->device, status, "%s", reason);
    if (!fcl_problem_same_kernel(&plan->problem, &full))
        return fcl_device_fail(plan->device, FCL_INVALID_ARGUMENT,
                               "the problem differs from the plan's in more than batch, heads and "
                               "lengths");
    return fcl_check_plan(plan, &full, fill, seed, rows, comparison);
}
