// Inputs, launch and judgement of merges.
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>

#include "core/device.h"
#include "merge.h"

struct merging {
    struct test_tensor a, b, o;
    float *lse_a, *lse_b, *lse;
    size_t rows;
    int head_dim;
};

// LSE of the two parts of a row; rows take them in turn.
static const float pairs[][2] = {
    {0, 0},     {1, 0},      {-3, -2},       {50, 0},         {7, 57},     {1e4f, 2},
    {-1e4f, 3}, {88, 88.5f}, {5, -INFINITY}, {-INFINITY, -4}, {-1e30f, 0}, {-INFINITY, -INFINITY},
    {NAN, 1},
};

static float *make_lse(size_t rows)
{
    float *lse = calloc(rows + 1, sizeof *lse);
    assert_non_null(lse);
    return lse;
}

// The O of a part without keys is not looked at.
static void fill_part(struct test_tensor *t, const float *lse, uint64_t seed)
{
    const int64_t *n = t->extents;
    test_tensor_fill(t, seed, 1);
    for (int64_t row = 0; row < n[0] * n[1] * n[2]; row++)
        for (int64_t d = 0; d < n[3] && lse[row] == -INFINITY; d++)
            test_tensor_set(t, row / n[2] / n[1], row / n[2] % n[1], row % n[2], d, NAN);
}

static void spread(struct test_tensor *t, int64_t gap, int64_t column, size_t first)
{
    const int64_t row = column * t->extents[3] + gap, head = (t->extents[2] + 1) * row;
    const int64_t strides[4] = {t->extents[1] * head + gap, head, row, column};
    test_tensor_lay(t, strides, first * fcl_dtype_size(t->dtype));
}

static void set_up(struct merging *m, const struct test_merge_case *c)
{
    const enum fcl_dtype o = c->place == TEST_OVER_A ? c->a : c->place == TEST_OVER_B ? c->b : c->o;
    m->rows = (size_t)(c->extents[0] * c->extents[1] * c->extents[2]);
    m->head_dim = (int)c->extents[3];
    m->lse_a = make_lse(m->rows);
    m->lse_b = make_lse(m->rows);
    m->lse = make_lse(m->rows);
    for (size_t i = 0; i < m->rows; i++) {
        m->lse_a[i] = pairs[i % (sizeof pairs / sizeof *pairs)][0];
        m->lse_b[i] = pairs[i % (sizeof pairs / sizeof *pairs)][1];
    }
    test_tensor_init(&m->a, c->a, c->extents, FCL_LAYOUT_BHSD);
    test_tensor_init(&m->b, c->b, c->extents, FCL_LAYOUT_BHSD);
    test_tensor_init(&m->o, o, c->extents, FCL_LAYOUT_BHSD);
    fill_part(&m->a, m->lse_a, 5);
    fill_part(&m->b, m->lse_b, 6);
    if (!c->strided)
        return;
    spread(&m->a, 3, 1, 1);
    spread(&m->b, 8, 2, 4);
    spread(&m->o, 5, 3, 7);
}

static void tear_down(struct merging *m)
{
    void *all[] = {m->a.data, m->b.data, m->o.data, m->lse_a, m->lse_b, m->lse};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

// ---- running

// Guarded buffers; the outputs' are those of a or b where they stand over them.
struct buffers {
    cl_mem a, b, lse_a, lse_b, o, lse;
    const struct test_tensor *out;
};

static struct buffers make_buffers(struct test_opencl *opencl, const struct merging *m,
                                   enum test_merge_place place)
{
    const size_t lse_bytes = m->rows * sizeof *m->lse;
    struct buffers x = {.a = test_guarded_buffer(opencl, m->a.data, m->a.bytes),
                        .b = test_guarded_buffer(opencl, m->b.data, m->b.bytes),
                        .lse_a = test_guarded_buffer(opencl, m->lse_a, lse_bytes),
                        .lse_b = test_guarded_buffer(opencl, m->lse_b, lse_bytes)};
    if (place == TEST_APART) {
        x.o = test_guarded_buffer(opencl, NULL, m->o.bytes);
        x.lse = test_guarded_buffer(opencl, NULL, lse_bytes);
        x.out = &m->o;
    } else {
        x.o = place == TEST_OVER_A ? x.a : x.b;
        x.lse = place == TEST_OVER_A ? x.lse_a : x.lse_b;
        x.out = place == TEST_OVER_A ? &m->a : &m->b;
    }
    return x;
}

static void release_buffers(const struct buffers *x)
{
    cl_mem all[] = {x->a, x->b, x->lse_a, x->lse_b, x->o, x->lse};
    const size_t count = x->o == x->a || x->o == x->b ? 4 : 6;
    for (size_t i = 0; i < count; i++)
        clReleaseMemObject(all[i]);
}

// Returns 0 where a guard was touched.
static int read_outputs(struct test_opencl *opencl, struct merging *m, const struct buffers *x)
{
    unsigned char *found = malloc(x->out->bytes);
    assert_non_null(found);
    const int whole = test_guarded_read(opencl, x->o, found, x->out->bytes) &
                      test_guarded_read(opencl, x->lse, m->lse, m->rows * sizeof *m->lse);
    if (x->out != &m->o)
        test_tensor_lay(&m->o, x->out->strides, x->out->offset);
    memcpy(m->o.data, found, x->out->bytes);
    free(found);
    return whole;
}

// Returns 0 where a guard was touched.
static int run(struct test_opencl *opencl, struct merging *m, const struct test_merge_case *c,
               const fcl_merge *merge)
{
    const struct buffers x = make_buffers(opencl, m, c->place);
    const struct fcl_merge_args args = {
        .struct_size = sizeof args,
        .shape = {c->extents[0], c->extents[1], 0, c->extents[2], 0},
        .head_dim = m->head_dim,
        .a = test_tensor_argument(x.a, &m->a, TEST_GUARD),
        .b = test_tensor_argument(x.b, &m->b, TEST_GUARD),
        .o = test_tensor_argument(x.o, x.out, TEST_GUARD),
        .lse_a = x.lse_a,
        .lse_b = x.lse_b,
        .lse = c->no_lse ? NULL : x.lse,
        .lse_a_offset = TEST_GUARD,
        .lse_b_offset = TEST_GUARD,
        .lse_offset = TEST_GUARD};
    const enum fcl_status status = fcl_merge_enqueue(merge, opencl->queue, &args, 0, NULL, NULL);
    if (status)
        fail_msg("fcl_merge_enqueue: %s\n%s", fcl_status_text(status), opencl->capture.text);
    const int whole = read_outputs(opencl, m, &x);
    release_buffers(&x);
    return whole;
}

// ---- judging

static int is_close(double found, double expected, double tolerance)
{
    if (isnan(expected) || isinf(expected))
        return isnan(expected) ? isnan(found) : found == expected;
    return fabs(found - expected) <= tolerance;
}

// Half a unit in the last place, relative.
static double roundoff(enum fcl_dtype dtype)
{
    return dtype == FCL_F16 ? 0x1p-11 : dtype == FCL_BF16 ? 0x1p-8 : 0x1p-24;
}

// The weights of a row's parts and its LSE, from their definition.
static double weigh(double a, double b, double weight[2])
{
    const double top = a == -INFINITY && b == -INFINITY ? 0 : fmax(a, b);
    const double sum = exp(a - top) + exp(b - top);
    weight[0] = sum == 0 ? 0 : exp(a - top) / sum;
    weight[1] = sum == 0 ? 0 : exp(b - top) / sum;
    return sum == 0 ? -INFINITY : top + log(sum);
}

// Where something differs: 1 and what.
static int differs(const struct merging *m, const struct test_merge_case *c, char *how, size_t size)
{
    const int64_t *n = c->extents;
    for (size_t row = 0; row < m->rows; row++) {
        const int64_t i = (int64_t)row % n[2], h = (int64_t)row / n[2] % n[1],
                      batch = (int64_t)row / n[2] / n[1];
        double weight[2];
        const double lse = weigh((double)m->lse_a[row], (double)m->lse_b[row], weight);
        if (!c->no_lse && !is_close((double)m->lse[row], lse, 0x1p-21 * (1 + fabs(lse)))) {
            snprintf(how, size, "LSE of row %zu is %g, expected is %g", row, (double)m->lse[row],
                     lse);
            return 1;
        }
        for (int64_t d = 0; d < n[3]; d++) {
            const double x = (double)test_tensor_get(&m->a, batch, h, i, d);
            const double y = (double)test_tensor_get(&m->b, batch, h, i, d);
            const double a = weight[0] == 0 ? 0 : weight[0] * x,
                         b = weight[1] == 0 ? 0 : weight[1] * y;
            const double slack = (2 * roundoff(m->o.dtype) + 0x1p-20) * (fabs(a) + fabs(b)) + 1e-30;
            const double found = (double)test_tensor_get(&m->o, batch, h, i, d);
            if (!is_close(found, a + b, slack)) {
                snprintf(how, size, "row %zu, column %d is %g, expected is %g", row, (int)d, found,
                         a + b);
                return 1;
            }
        }
    }
    return 0;
}

int test_merge_notices(struct test_opencl *opencl, const struct test_merge_case *c, char *how,
                       size_t size)
{
    struct merging m = {0};
    fcl_merge *merge = NULL;
    set_up(&m, c);
    const enum fcl_status status = fcl_merge_create(opencl->device, c->a, c->b, m.o.dtype, &merge);
    int noticed = status != FCL_OK;
    if (noticed) {
        assert_true(status == FCL_WRONG_RESULT || status == FCL_BUILD_FAILED);
        snprintf(how, size, "the library's self-check: %s", fcl_status_text(status));
    } else if (!run(opencl, &m, c, merge)) {
        noticed = 1;
        snprintf(how, size, "a guard band was touched");
    } else {
        noticed = differs(&m, c, how, size);
    }
    fcl_merge_destroy(&merge);
    tear_down(&m);
    return noticed;
}

static int any_notices(struct test_opencl *opencl, char *how, size_t size)
{
    static const struct test_merge_case cases[] = {
        {{2, 3, 7, 70}, FCL_F32, FCL_F32, FCL_F32, TEST_APART, 0, 0},
        {{1, 2, 13, 200}, FCL_F32, FCL_F32, FCL_F32, TEST_OVER_B, 0, 0},
        {{2, 2, 9, 65}, FCL_F16, FCL_F32, FCL_BF16, TEST_APART, 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (test_merge_notices(opencl, &cases[i], how, size))
            return 1;
    return 0;
}

void test_merge_elsewhere(const struct test_opencl *opencl, struct test_opencl *other)
{
    const struct fcl_device_options options = {.struct_size = sizeof options,
                                               .log = test_capture_log(&other->capture),
                                               .kernel_folder = opencl->device->kernel_folder,
                                               .caps_mask = "cpu=0"};
    *other = *opencl;
    assert_int_equal(fcl_device_create(opencl->context, opencl->id, &options, &other->device),
                     FCL_OK);
}

int test_merges_notice(struct test_opencl *opencl, char *how, size_t size)
{
    static struct test_opencl other;
    test_merge_elsewhere(opencl, &other);
    const int noticed = any_notices(opencl, how, size) || any_notices(&other, how, size);
    fcl_device_destroy(&other.device);
    return noticed;
}
