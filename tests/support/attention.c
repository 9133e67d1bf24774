// Host tensors, device buffers and judgement for tests of attention.
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>

#include "attention.h"
#include "attention/problem.h"
#include "sequences.h"

#define GUARD TEST_GUARD
#define GUARD_BYTE 0x5a
#define POISON_BYTE 0xff // NaN in every element type

// ---- tensors

static int64_t place(const struct test_tensor *t, int64_t b, int64_t h, int64_t i, int64_t d)
{
    return (int64_t)(t->offset / fcl_dtype_size(t->dtype)) + b * t->strides[0] + h * t->strides[1] +
           i * t->strides[2] + d * t->strides[3];
}

float test_tensor_get(const struct test_tensor *t, int64_t b, int64_t h, int64_t i, int64_t d)
{
    return fcl_element_load(t->data, t->dtype, place(t, b, h, i, d));
}

void test_tensor_set(struct test_tensor *t, int64_t b, int64_t h, int64_t i, int64_t d, float value)
{
    fcl_element_store(t->data, t->dtype, place(t, b, h, i, d), value);
}

static void allocate(struct test_tensor *t)
{
    int64_t last = 0;
    int empty = 0;
    for (int i = 0; i < 4; i++) {
        empty |= t->extents[i] == 0;
        last += (t->extents[i] - 1) * t->strides[i];
    }
    t->bytes = t->offset + (empty ? 0 : (size_t)(last + 1) * fcl_dtype_size(t->dtype));
    t->data = malloc(t->bytes + 1);
    assert_non_null(t->data);
    memset(t->data, POISON_BYTE, t->bytes + 1); // what lies between elements must not matter
}

void test_tensor_lay(struct test_tensor *t, const int64_t strides[4], size_t offset)
{
    const struct test_tensor old = *t;
    memcpy(t->strides, strides, sizeof t->strides);
    t->offset = offset;
    allocate(t);
    for (int64_t b = 0; b < t->extents[0]; b++)
        for (int64_t h = 0; h < t->extents[1]; h++)
            for (int64_t i = 0; i < t->extents[2]; i++)
                for (int64_t d = 0; d < t->extents[3]; d++)
                    test_tensor_set(t, b, h, i, d, test_tensor_get(&old, b, h, i, d));
    free(old.data);
}

void test_tensor_init(struct test_tensor *t, enum fcl_dtype dtype, const int64_t extents[4],
                      enum fcl_layout layout)
{
    const int64_t heads = extents[1], length = extents[2], dim = extents[3];
    const int64_t bhsd[4] = {heads * length * dim, length * dim, dim, 1};
    const int64_t bshd[4] = {heads * length * dim, dim, heads * dim, 1};
    t->dtype = dtype;
    t->offset = 0;
    memcpy(t->extents, extents, sizeof t->extents);
    memcpy(t->strides, layout == FCL_LAYOUT_BSHD ? bshd : bhsd, sizeof bhsd);
    allocate(t);
}

static void make_tensor(struct test_tensor *t, const struct fcl_problem *p, enum fcl_dtype dtype,
                        int64_t batch, int64_t heads, int64_t length, int64_t dim)
{
    const int64_t extents[4] = {batch, heads, length, dim};
    test_tensor_init(t, dtype, extents, p->layout);
}

// ---- inputs

static uint32_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

void test_tensor_fill(struct test_tensor *t, uint64_t seed, int unbalanced)
{
    uint64_t state = seed;
    for (int64_t b = 0; b < t->extents[0]; b++)
        for (int64_t h = 0; h < t->extents[1]; h++)
            for (int64_t i = 0; i < t->extents[2]; i++) {
                const float factor = unbalanced ? 0.2f + 0.35f * (float)(i * 7 % 11) : 1.0f;
                for (int64_t d = 0; d < t->extents[3]; d++) {
                    const float x = (float)next_random(&state) / 2147483648.0f - 0.5f;
                    test_tensor_set(t, b, h, i, d, 3.4f * factor * x);
                }
            }
}

// About unit scale; -infinity at some places, at all of some rows, and before the 64th key.
static void fill_bias(struct test_tensor *t)
{
    uint64_t state = 44;
    for (int64_t b = 0; b < t->extents[0]; b++)
        for (int64_t h = 0; h < t->extents[1]; h++)
            for (int64_t i = 0; i < t->extents[2]; i++)
                for (int64_t j = 0; j < t->extents[3]; j++) {
                    const float x = (float)next_random(&state) / 1073741824.0f - 1.0f;
                    const int hides = x > 0.8f || i % 19 == 3 || (i % 19 == 7 && j < 64);
                    test_tensor_set(t, b, h, i, j, hides ? -INFINITY : 3.0f * x);
                }
}

unsigned char *test_visible(const struct test_attention *a, int64_t b, int64_t h, int64_t i,
                            int64_t j)
{
    const int64_t *s = a->visible.strides;
    return a->visible.data + a->visible.offset + b * s[0] + h * s[1] + i * s[2] + j * s[3];
}

// Bytes [batch, head, query, key]: of each 32 keys of 32 rows, one of three kinds: seen here and
// there, all, none; in the last head few, and some rows see nothing.
static void make_visible(struct test_attention *a)
{
    const struct fcl_problem *p = &a->problem;
    uint64_t state = 55;
    const int64_t extents[4] = {p->batch, p->heads_q, p->q_len, p->k_len};
    memcpy(a->visible.extents, extents, sizeof extents);
    fcl_layout_strides(FCL_LAYOUT_BHSD, p->heads_q, p->q_len, p->k_len, a->visible.strides);
    a->visible.bytes = (size_t)(p->batch * p->heads_q * p->q_len * p->k_len);
    a->visible.data = malloc(a->visible.bytes + 1);
    assert_non_null(a->visible.data);
    for (size_t n = 0; n < a->visible.bytes; n++) {
        const int64_t j = (int64_t)n % p->k_len, i = (int64_t)n / p->k_len % p->q_len;
        const int64_t h = (int64_t)n / p->k_len / p->q_len % p->heads_q;
        const int64_t kind = (i / 32 + j / 32 + h) % 3;
        const uint32_t some = next_random(&state) >> 16;
        const int few = h == p->heads_q - 1 && some % 29 == 0;
        const int seen = kind == 1 || (kind == 0 && some % 3) || few;
        a->visible.data[n] = i % 19 == 3 || !seen ? 0 : (unsigned char)(some % 255 + 1);
    }
}

// What the problem adds to scores.
static void init_scores(struct test_attention *a)
{
    const struct fcl_problem *p = &a->problem;
    const int64_t extents[4] = {p->batch, p->heads_q, p->q_len, p->k_len};
    if (p->bias) {
        test_tensor_init(&a->bias, fcl_bias_dtype(p->bias), extents, FCL_LAYOUT_BHSD);
        fill_bias(&a->bias);
    }
    if (p->visible)
        make_visible(a);
    if (p->sink) {
        a->sinks = calloc((size_t)p->heads_q, sizeof *a->sinks);
        for (int64_t h = 0; h < p->heads_q; h++)
            a->sinks[h] = (float)(h * 5 % 7) - 2.25f;
    }
    if (p->alibi == FCL_ALIBI_GIVEN) {
        a->slopes = calloc((size_t)p->heads_q, sizeof *a->slopes);
        for (int64_t h = 0; h < p->heads_q; h++)
            a->slopes[h] = 0.3f * (float)(h * 5 % 7) - 0.25f;
    }
}

void test_attention_init(struct test_attention *a, const char *text)
{
    char reason[256];
    memset(a, 0, sizeof *a);
    if (fcl_problem_parse(text, &a->problem, reason, sizeof reason))
        fail_msg("%s: %s", text, reason);
    struct fcl_problem *p = &a->problem;
    p->heads_kv = p->heads_kv ? p->heads_kv : p->heads_q;
    p->head_dim_v = p->head_dim_v ? p->head_dim_v : p->head_dim_qk;
    struct fcl_sequences *s = &a->sequences;
    assert_int_equal(fcl_sequences_create(p, 44, s), FCL_OK);
    const int64_t q_batch = p->varlen ? 1 : p->batch, q_len = p->varlen ? s->total_q : p->q_len;
    const int64_t k_batch = p->page ? s->page_count : q_batch;
    const int64_t k_len = p->page ? p->page : p->varlen ? s->total_k : p->k_len;
    make_tensor(&a->q, p, p->dtype_q, q_batch, p->heads_q, q_len, p->head_dim_qk);
    make_tensor(&a->k, p, p->dtype_k, k_batch, p->heads_kv, k_len, p->head_dim_qk);
    make_tensor(&a->v, p, p->dtype_v, k_batch, p->heads_kv, k_len, p->head_dim_v);
    make_tensor(&a->o, p, p->dtype_o, q_batch, p->heads_q, q_len, p->head_dim_v);
    test_tensor_fill(&a->q, 11, 0);
    test_tensor_fill(&a->k, 22, 1);
    test_tensor_fill(&a->v, 33, 1);
    init_scores(a);
    if (p->lse || p->pass == FCL_PASS_STATISTICS)
        a->lse = calloc((size_t)(q_batch * p->heads_q * q_len) + 1, sizeof *a->lse);
}

void test_attention_free(struct test_attention *a)
{
    free(a->q.data);
    free(a->k.data);
    free(a->v.data);
    free(a->o.data);
    free(a->lse);
    free(a->sinks);
    free(a->slopes);
    free(a->bias.data);
    free(a->visible.data);
    fcl_sequences_free(&a->sequences);
    memset(a, 0, sizeof *a);
}

// ---- running

// With NaN behind the last element: what is read there must not matter.
static cl_mem input_buffer(struct test_opencl *opencl, const struct test_tensor *t)
{
    cl_int code;
    unsigned char *image = malloc(t->bytes + GUARD);
    assert_non_null(image);
    memcpy(image, t->data, t->bytes);
    memset(image + t->bytes, POISON_BYTE, GUARD);
    cl_mem buffer = clCreateBuffer(opencl->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                   t->bytes + GUARD, image, &code);
    assert_int_equal(code, CL_SUCCESS);
    free(image);
    return buffer;
}

cl_mem test_guarded_buffer(struct test_opencl *opencl, const void *data, size_t bytes)
{
    cl_int code;
    unsigned char *image = malloc(bytes + 2 * GUARD);
    assert_non_null(image);
    memset(image, GUARD_BYTE, bytes + 2 * GUARD);
    memset(image + GUARD, POISON_BYTE, bytes);
    if (data)
        memcpy(image + GUARD, data, bytes);
    cl_mem buffer = clCreateBuffer(opencl->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                   bytes + 2 * GUARD, image, &code);
    assert_int_equal(code, CL_SUCCESS);
    free(image);
    return buffer;
}

int test_guarded_read(struct test_opencl *opencl, cl_mem buffer, void *to, size_t bytes)
{
    int whole = 1;
    unsigned char *image = malloc(bytes + 2 * GUARD);
    assert_non_null(image);
    assert_int_equal(clEnqueueReadBuffer(opencl->queue, buffer, CL_TRUE, 0, bytes + 2 * GUARD,
                                         image, 0, NULL, NULL),
                     CL_SUCCESS);
    for (size_t i = 0; i < GUARD; i++)
        if (image[i] != GUARD_BYTE || image[GUARD + bytes + i] != GUARD_BYTE)
            whole = 0;
    memcpy(to, image + GUARD, bytes);
    free(image);
    return whole;
}

// A number for each query head, from the second element on; NULL: none.
static cl_mem heads_buffer(struct test_opencl *opencl, const struct test_attention *a,
                           const float *numbers)
{
    cl_int code;
    if (!numbers)
        return NULL;
    const size_t heads = (size_t)a->problem.heads_q;
    float *image = malloc((heads + 2) * sizeof *image);
    assert_non_null(image);
    image[0] = image[heads + 1] = NAN;
    memcpy(image + 1, numbers, heads * sizeof *image);
    cl_mem buffer = clCreateBuffer(opencl->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                   (heads + 2) * sizeof *image, image, &code);
    assert_int_equal(code, CL_SUCCESS);
    free(image);
    return buffer;
}

struct fcl_tensor test_tensor_argument(cl_mem buffer, const struct test_tensor *t, size_t guard)
{
    struct fcl_tensor x = {.buffer = buffer, .offset = t->offset + guard};
    for (int i = 0; i < 4; i++)
        x.strides[i] = t->strides[i] ? t->strides[i] : FCL_BROADCAST;
    return x;
}

static cl_mem workspace_buffer(struct test_opencl *opencl, const fcl_plan *plan,
                               const struct fcl_shape *shape)
{
    size_t bytes;
    cl_int code;
    assert_int_equal(fcl_plan_workspace_size(plan, shape, &bytes), FCL_OK);
    if (!bytes)
        return NULL;
    void *large = malloc(bytes); // numbers, and counters that are far beyond any end
    assert_non_null(large);
    cl_mem buffer = clCreateBuffer(opencl->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes,
                                   memset(large, 0x7f, bytes), &code);
    free(large);
    assert_int_equal(code, CL_SUCCESS);
    return buffer;
}

// What is added to scores.
static void add_scores(struct test_opencl *opencl, const struct test_attention *a,
                       struct fcl_attention_args *args)
{
    args->sinks = heads_buffer(opencl, a, a->sinks);
    args->slopes = heads_buffer(opencl, a, a->slopes);
    args->sinks_offset = args->slopes_offset = sizeof(float);
    if (a->bias.data)
        args->bias = test_tensor_argument(input_buffer(opencl, &a->bias), &a->bias, 0);
    if (a->visible.data)
        args->visible = test_tensor_argument(input_buffer(opencl, &a->visible), &a->visible, 0);
}

static size_t lse_bytes(const struct test_attention *a)
{
    const int64_t rows = a->q.extents[0] * a->problem.heads_q * a->q.extents[2];
    return a->lse ? (size_t)rows * sizeof *a->lse : 0;
}

void test_attention_args(struct test_opencl *opencl, const struct test_attention *a,
                         const fcl_plan *plan, struct fcl_attention_args *args)
{
    const struct fcl_problem *p = &a->problem;
    *args = (struct fcl_attention_args){
        .struct_size = sizeof *args,
        .shape = {p->batch, p->heads_q, p->heads_kv, p->q_len, p->k_len},
        .q = test_tensor_argument(input_buffer(opencl, &a->q), &a->q, 0),
        .k = test_tensor_argument(input_buffer(opencl, &a->k), &a->k, 0),
        .v = test_tensor_argument(input_buffer(opencl, &a->v), &a->v, 0),
        .o = test_tensor_argument(test_guarded_buffer(opencl, NULL, a->o.bytes), &a->o, GUARD),
        .lse = a->lse ? test_guarded_buffer(opencl, NULL, lse_bytes(a)) : NULL,
        .lse_offset = GUARD,
        .scale = a->scale,
        .window = p->window,
        .window_left = p->window_left,
        .window_right = p->window_right,
        .softcap = a->softcap};
    add_scores(opencl, a, args);
    test_sequences_give(opencl, a, args);
    args->workspace = workspace_buffer(opencl, plan, &args->shape);
}

void test_attention_args_release(const struct fcl_attention_args *args)
{
    cl_mem buffers[] = {args->q.buffer, args->k.buffer,    args->v.buffer,      args->o.buffer,
                        args->lse,      args->sinks,       args->cu_q,          args->cu_k,
                        args->used_q,   args->used_k,      args->table,         args->workspace,
                        args->slopes,   args->bias.buffer, args->visible.buffer};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (buffers[i])
            clReleaseMemObject(buffers[i]);
}

enum fcl_status test_attention_try(struct test_opencl *opencl, struct test_attention *a,
                                   const fcl_plan *plan, int *outside)
{
    struct fcl_attention_args args;
    cl_event event = NULL;
    test_attention_args(opencl, a, plan, &args);
    *outside = 0;
    const enum fcl_status status =
        fcl_attention_enqueue(plan, opencl->queue, &args, 0, NULL, &event);
    if (!status) {
        assert_non_null(event);
        assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
        clReleaseEvent(event);
        *outside = !test_guarded_read(opencl, args.o.buffer, a->o.data, a->o.bytes);
        if (args.lse)
            *outside |= !test_guarded_read(opencl, args.lse, a->lse, lse_bytes(a));
    }
    test_attention_args_release(&args);
    return status;
}

enum fcl_status test_attention_run(struct test_opencl *opencl, struct test_attention *a,
                                   const fcl_plan *plan)
{
    int outside;
    const enum fcl_status status = test_attention_try(opencl, a, plan, &outside);
    if (outside)
        fail_msg("a kernel wrote outside of its output");
    return status;
}

// ---- judging

static struct fcl_host_tensor as_host(const struct test_tensor *t)
{
    struct fcl_host_tensor x = {.data = t->data + t->offset, .dtype = t->dtype};
    for (int i = 0; i < 4; i++)
        x.strides[i] = t->strides[i] ? t->strides[i] : FCL_BROADCAST;
    return x;
}

struct fcl_comparison test_attention_compare(const struct test_attention *a, int unfused)
{
    const struct fcl_problem *p = &a->problem;
    struct fcl_reference reference = {.problem = p,
                                      .q = as_host(&a->q),
                                      .k = as_host(&a->k),
                                      .v = as_host(&a->v),
                                      .scale = a->scale,
                                      .softcap = a->softcap,
                                      .sinks = a->sinks,
                                      .slopes = a->slopes,
                                      .sequences = &a->sequences};
    struct fcl_comparison comparison = {0};
    if (a->bias.data)
        reference.bias = as_host(&a->bias);
    if (a->visible.data)
        reference.visible = as_host(&a->visible);
    for (int64_t b = 0; b < p->batch; b++) {
        struct fcl_sequence_rows rows;
        assert_int_equal(fcl_sequences_rows(p, &a->sequences, b, &rows), FCL_OK);
        const int64_t batch = p->varlen ? 0 : b;
        for (int64_t h = 0; h < p->heads_q; h++)
            for (int64_t i = 0; i < rows.q_len; i++) {
                const int64_t at = place(&a->o, batch, h, rows.q_first + i, 0);
                const void *o = a->o.data + (size_t)at * fcl_dtype_size(a->o.dtype);
                const float *lse =
                    a->lse ? test_sequences_lse(a, batch, h, rows.q_first + i) : NULL;
                assert_int_equal(fcl_reference_compare(&reference, b, h, i,
                                                       p->pass == FCL_PASS_FORWARD ? o : NULL,
                                                       a->o.strides[3], lse, unfused, &comparison),
                                 FCL_OK);
            }
    }
    if ((p->varlen || p->used) && !test_sequences_kept(a))
        comparison.ratio = INFINITY;
    return comparison;
}

fcl_plan *test_plan(struct test_opencl *opencl, const struct fcl_problem *problem,
                    enum fcl_implementation implementation, const char *config)
{
    struct fcl_plan_options options = {.struct_size = sizeof options,
                                       .implementation = implementation};
    struct fcl_config parsed;
    char reason[256];
    fcl_plan *plan = NULL;
    if (config && fcl_config_parse(config, &parsed, reason, sizeof reason))
        fail_msg("%s: %s", config, reason);
    options.config = config ? &parsed : NULL;
    const enum fcl_status status = fcl_plan_create(opencl->device, problem, &options, &plan);
    if (status)
        fail_msg("plan with %s: %s\n%s", config ? config : "default", fcl_status_text(status),
                 opencl->capture.text);
    return plan;
}

int test_configs(struct test_opencl *opencl, const struct fcl_problem *problem,
                 char configs[TEST_CONFIGS][96])
{
    const struct fcl_caps *caps = fcl_device_caps(opencl->device);
    const int chunk = problem->head_dim_qk < 16 ? problem->head_dim_qk : 16;
    const int split = problem->head_dim_v > 256 && problem->head_dim_v % 4 == 0 ? 4 : 1;
    struct fcl_config mma;
    int count = 0;
    snprintf(configs[count++], 96, "generic_m16n16w64r4d%dp%d", chunk, split);
    if (!fcl_family_usable(FCL_FAMILY_VECTOR, caps, NULL, 0)) {
        const int lanes = caps->float_width >= 16 ? 16 : caps->float_width >= 8 ? 8 : 4;
        snprintf(configs[count++], 96, "vector_m%dn32l%dk4c4", 2 * lanes, lanes);
        snprintf(configs[count++], 96, "row_m4n32l%dk2c2g1%s", lanes,
                 problem->pass == FCL_PASS_FORWARD ? "s3" : "");
    }
    fcl_config_parse("nvidia_mma_m64n32w128", &mma, NULL, 0);
    if (!fcl_config_validate(&mma, problem, caps, NULL, 0))
        fcl_config_format(&mma, configs[count++], 96);
    return count;
}

void test_attention_judge(struct test_opencl *opencl, struct test_attention *attention,
                          const fcl_plan *plan, int unfused)
{
    assert_int_equal(test_attention_run(opencl, attention, plan), FCL_OK);
    const struct fcl_comparison c = test_attention_compare(attention, unfused);
    if (c.ratio <= 1.0)
        return;
    char text[256];
    struct fcl_plan_info info;
    fcl_problem_format(&attention->problem, text, sizeof text);
    fcl_plan_describe(plan, &info);
    fail_msg("%s by %s: ratio %g, error %g, lse error %g at b%d h%d i%d d%d", text, info.label,
             c.ratio, c.error, c.lse_error, (int)c.worst_b, (int)c.worst_h, (int)c.worst_i,
             (int)c.worst_d);
}

void test_attention_with(struct test_opencl *opencl, struct test_attention *attention,
                         enum fcl_implementation implementation, const char *config)
{
    fcl_plan *plan = test_plan(opencl, &attention->problem, implementation, config);
    test_attention_judge(opencl, attention, plan, implementation == FCL_UNFUSED);
    fcl_plan_destroy(&plan);
}

void test_attention_everywhere(struct test_opencl *opencl, struct test_attention *attention)
{
    char configs[TEST_CONFIGS][96];
    const int count = test_configs(opencl, &attention->problem, configs);
    for (int i = 0; i < count; i++)
        test_attention_with(opencl, attention, FCL_FUSED, configs[i]);
}

void test_problems(struct test_opencl *opencl, const char *const *problems, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct test_attention a;
        test_attention_init(&a, problems[i]);
        test_attention_everywhere(opencl, &a);
        test_attention_free(&a);
    }
}
