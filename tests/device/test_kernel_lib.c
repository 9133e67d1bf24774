// What the kernels share (kernels/lib) against plain C: element types, lanes, the schedule and its
// masks, the softmax steps, and the arguments of a launch.
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>

#include "attention/problem.h"
#include "core/element.h"
#include "kernels.h"

#define HIDDEN (-3.402823466e38f)

static const struct test_kernels_row rows[] = {
    {"fwd d4/6 q1 none", "generic_m16n16w16r4d4p2"},
    {"fwd d4/6 q1 causal-tl strided", "generic_m16n16w64r4d4"},
    {"fwd d4/6 q1 f16 none", "vector_m8n32l4k4c4"},
    {"fwd d4/6 q1 bf16 causal-br", "vector_m16n32l8k4c4x1p3"},
    {"fwd d4/6 q1 causal-br strided", "vector_m32n32l16k4c4x2"},
    {"fwd d4/6 q1 f16 causal-br", "row_m4n32l4k2c1"},
    {"fwd d4/6 q1 br win=5,9", "generic_m16n16w64r4d4"},
    {"fwd d4/6 q1 causal-br win=20,-1", "vector_m16n32l8k4c4"},
    {"fwd d4/6 q1 tl win=0,-1", "row_m4n32l4k2c1x1"},
    {"fwd d4/6 q1 tl win=40,3", "generic_m16n16w64r4d4x2"},
};

static struct test_opencl opencl;
static struct test_kernels cases[FCL_COUNT(rows)];
static size_t case_count;

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// ---- arguments

static int arguments_arrived;

static void arguments_arrive_in_their_fields(void **state)
{
    (void)state;
    for (size_t n = 0; n < case_count; n++) {
        enum { LONGS = 23, NARROW = 35, LAST = 11, FIELDS = LONGS + NARROW + LAST };
        struct fcl_kernel_args args;
        int64_t longs[LONGS], last[LAST];
        int32_t narrow[NARROW];
        cl_long out[FIELDS + 1];
        for (int i = 0; i < LONGS; i++)
            longs[i] = (INT64_C(1) << 33) + i;
        for (int i = 0; i < NARROW; i++)
            narrow[i] = 0x3f800000 + i; // a common number in any type
        for (int i = 0; i < LAST; i++)
            last[i] = (INT64_C(1) << 34) + i;
        assert_int_equal(offsetof(struct fcl_kernel_args, splits), sizeof longs);
        const size_t at_last = offsetof(struct fcl_kernel_args, bias_strides);
        assert_int_equal(at_last, (sizeof longs + sizeof narrow + 7) / 8 * 8);
        assert_int_equal(sizeof args, at_last + sizeof last);
        memcpy(&args, longs, sizeof longs);
        memcpy((char *)&args + sizeof longs, narrow, sizeof narrow);
        memcpy((char *)&args + at_last, last, sizeof last);
        const struct test_argument arguments[] = {
            {TEST_OUTPUT, out, sizeof out}, {TEST_VALUE, &args, sizeof args}, {0}};
        test_kernels_run(&cases[n], "test_args", 1, 1, arguments);
        for (int i = 0; i < LONGS; i++)
            assert_int_equal(out[i], longs[i]);
        for (int i = 0; i < NARROW; i++)
            assert_int_equal(out[LONGS + i], narrow[i]);
        for (int i = 0; i < LAST; i++)
            assert_int_equal(out[LONGS + NARROW + i], last[i]);
        assert_int_equal(out[FIELDS], sizeof args);
    }
    arguments_arrived = 1;
}

// Kernels that misread their arguments may crash and take the rest of the tests with them.
static void demand_arguments(void)
{
    if (!arguments_arrived)
        fail_msg("not run, since arguments do not arrive in their fields");
}

// ---- elements

#define PATTERNS 65536 // of 16 bits
#define AROUND 6       // numbers that are tried for each: itself, those near the ties around it

static int same_number(float a, float b)
{
    return bits_of(a) == bits_of(b) || (isnan(a) && isnan(b));
}

static void check_load(const struct test_kernels *k, cl_int dtype, const void *in)
{
    const size_t bytes = PATTERNS * sizeof(float);
    float *single = test_poisoned(bytes), *lanes = test_poisoned(bytes);
    const struct test_argument arguments[] = {
        {TEST_INPUT, (void *)in, PATTERNS * fcl_dtype_size((enum fcl_dtype)dtype)},
        {TEST_OUTPUT, single, bytes},
        {TEST_OUTPUT, lanes, bytes},
        {TEST_VALUE, &dtype, sizeof dtype},
        {0},
    };
    test_kernels_run(k, "test_load", PATTERNS / (size_t)test_kernels_lanes(k) / 64, 64, arguments);
    for (int i = 0; i < PATTERNS; i++) {
        const float right = fcl_element_load(in, (enum fcl_dtype)dtype, i);
        if (!same_number(single[i], right) || !same_number(lanes[i], right))
            fail_msg("%s: dtype %d, element %d: %g and %g by lanes, expected is %g", k->name, dtype,
                     i, (double)single[i], (double)lanes[i], (double)right);
    }
    free(single);
    free(lanes);
}

// Floats around the pattern as f16 and as bf16: exact, on ties and next to ties.
static void floats_around(uint16_t pattern, float around[AROUND])
{
    const uint32_t bits = (uint32_t)pattern << 16;
    const float half = fcl_element_load(&pattern, FCL_F16, 0);
    const uint32_t half_bits = bits_of(half);
    around[0] = float_of(bits | 0x7fff);
    around[1] = float_of(bits | 0x8000);
    around[2] = float_of(bits | 0x8001);
    around[3] = half;
    around[4] = float_of(half_bits | 0x1000); // the tie above a normal f16
    around[5] =
        pattern & 1 ? float_of((half_bits | 0x1000) + 1) : float_of((half_bits | 0x1000) - 1);
}

static int same_element(enum fcl_dtype dtype, const void *data, int64_t i, float value)
{
    char right[sizeof(float)];
    const size_t size = fcl_dtype_size(dtype);
    fcl_element_store(right, dtype, 0, value);
    if (!memcmp((const char *)data + (size_t)i * size, right, size))
        return 1;
    return isnan(value) && isnan(fcl_element_load(data, dtype, i));
}

static void check_store(const struct test_kernels *k, cl_int dtype, const float *in)
{
    const int count = PATTERNS * AROUND;
    const size_t bytes = (size_t)count * fcl_dtype_size((enum fcl_dtype)dtype);
    void *single = test_poisoned(bytes), *lanes = test_poisoned(bytes);
    const struct test_argument arguments[] = {
        {TEST_INPUT, (void *)in, (size_t)count * sizeof *in},
        {TEST_OUTPUT, single, bytes},
        {TEST_OUTPUT, lanes, bytes},
        {TEST_VALUE, &dtype, sizeof dtype},
        {0},
    };
    test_kernels_run(k, "test_store", (size_t)(count / test_kernels_lanes(k) / 64), 64, arguments);
    for (int i = 0; i < count; i++)
        if (!same_element((enum fcl_dtype)dtype, single, i, in[i]) ||
            !same_element((enum fcl_dtype)dtype, lanes, i, in[i]))
            fail_msg("%s: dtype %d, %.9g is stored as %.9g and %.9g by lanes", k->name, dtype,
                     (double)in[i], (double)fcl_element_load(single, (enum fcl_dtype)dtype, i),
                     (double)fcl_element_load(lanes, (enum fcl_dtype)dtype, i));
    free(single);
    free(lanes);
}

static void elements_convert_as_on_the_host(void **state)
{
    uint16_t *patterns = test_poisoned(PATTERNS * sizeof *patterns);
    float *floats = test_poisoned(PATTERNS * AROUND * sizeof *floats);
    (void)state;
    for (int i = 0; i < PATTERNS; i++) {
        patterns[i] = (uint16_t)i;
        floats_around((uint16_t)i, floats + AROUND * i);
    }
    for (size_t i = 0; i < case_count; i++) {
        check_load(&cases[i], FCL_F32, floats);
        check_load(&cases[i], FCL_F16, patterns);
        check_load(&cases[i], FCL_BF16, patterns);
        for (cl_int dtype = FCL_F32; dtype <= FCL_BF16; dtype++)
            check_store(&cases[i], dtype, floats);
    }
    free(patterns);
    free(floats);
}

// ---- schedule

#define BATCHES 2
#define HEADS 6
#define KV_HEADS 2
#define BLOCKS_LIMIT 16
#define VIEW 13

// Whether a kernel serves a mask: both alignments share one, other kinds of masks have another.
static int serves(const struct test_kernels *k, int mask)
{
    struct fcl_problem p = k->problem;
    p.mask = (enum fcl_mask)mask;
    return fcl_problem_is_causal(&p) == fcl_problem_is_causal(&k->problem) &&
           (mask == FCL_MASK_NONE) == (k->problem.mask == FCL_MASK_NONE);
}

// What the kernel gets of the masks.
static void set_masks(struct fcl_kernel_args *args, const struct fcl_problem *p)
{
    const int bottom = p->mask == FCL_MASK_CAUSAL_BOTTOM_RIGHT || p->mask == FCL_MASK_BOTTOM_RIGHT;
    const int64_t place = bottom ? p->k_len - p->q_len : 0;
    args->first = (cl_int)(place - p->window_left);
    args->shift = (cl_int)(place + (fcl_problem_is_causal(p) ? 0 : p->window_right));
}

struct schedule {
    const struct test_kernels *k;
    struct fcl_problem problem;
    struct fcl_kernel_args args;
    cl_int groups, row_blocks, limit;
    cl_int (*works)[6], (*blocks)[BLOCKS_LIMIT][3];
    cl_long (*views)[VIEW];
};

static const int64_t lengths[][2] = {{1, 1},   {1, 16},  {1, 40},  {9, 4},   {16, 16},
                                     {17, 33}, {40, 7},  {7, 40},  {33, 0},  {63, 65},
                                     {65, 63}, {48, 31}, {31, 48}, {50, 97}, {100, 3}};

static void set_up_schedule(struct schedule *s, const struct test_kernels *k, enum fcl_mask mask,
                            int64_t q_len, int64_t k_len, int together)
{
    const int block_m = k->config.block_m;
    *s = (struct schedule){.k = k, .problem = k->problem, .limit = BLOCKS_LIMIT};
    s->problem.mask = mask;
    s->problem.q_len = q_len;
    s->problem.k_len = k_len;
    s->row_blocks = (cl_int)((q_len + block_m - 1) / block_m);
    s->groups = BATCHES * HEADS * s->row_blocks * k->config.dv_split;
    s->args =
        (struct fcl_kernel_args){.q_strides = {INT64_C(1) << 40, INT64_C(5) << 33, 1001, 2},
                                 .k_strides = {INT64_C(3) << 40, INT64_C(7) << 33, 1003, 3},
                                 .v_strides = {INT64_C(5) << 40, INT64_C(9) << 33, 1005, 4},
                                 .o_strides = {INT64_C(7) << 40, INT64_C(11) << 33, 1007, 5},
                                 .q_start = 21,
                                 .k_start = 22,
                                 .v_start = 23,
                                 .o_start = 24,
                                 .lse_start = INT64_C(1) << 35,
                                 .q_len = (cl_int)q_len,
                                 .k_len = (cl_int)k_len,
                                 .heads = HEADS,
                                 .group = HEADS / KV_HEADS,
                                 .all_heads = BATCHES * HEADS,
                                 // as launches say
                                 .together = fcl_problem_bounds_right(&s->problem) ? together : 1};
    set_masks(&s->args, &s->problem);
    s->works = test_poisoned((size_t)s->groups * sizeof *s->works);
    s->blocks = test_poisoned((size_t)s->groups * sizeof *s->blocks);
    s->views = test_poisoned((size_t)s->groups * sizeof *s->views);
    const struct test_argument arguments[] = {
        {TEST_OUTPUT, s->works, (size_t)s->groups * sizeof *s->works},
        {TEST_OUTPUT, s->blocks, (size_t)s->groups * sizeof *s->blocks},
        {TEST_OUTPUT, s->views, (size_t)s->groups * sizeof *s->views},
        {TEST_VALUE, &s->limit, sizeof s->limit},
        {TEST_VALUE, &s->args, sizeof s->args},
        {0},
    };
    test_kernels_run(k, "test_schedule", (size_t)s->groups, 1, arguments);
}

static void free_schedule(struct schedule *s)
{
    free(s->works);
    free(s->blocks);
    free(s->views);
}

// Each (batch, head, query block, slice) exactly once.
static void check_cover(const struct schedule *s)
{
    const int columns = s->problem.head_dim_v / s->k->config.dv_split;
    unsigned char *seen = calloc((size_t)s->groups, 1);
    assert_non_null(seen);
    for (cl_int n = 0; n < s->groups; n++) {
        const cl_int *w = s->works[n];
        assert_in_range(w[0], 0, BATCHES - 1);
        assert_in_range(w[1], 0, HEADS - 1);
        assert_in_range(w[2] / s->k->config.block_m, 0, s->row_blocks - 1);
        assert_int_equal(w[2] % s->k->config.block_m, 0);
        assert_in_range(w[3] / columns, 0, s->k->config.dv_split - 1);
        assert_int_equal(w[3] % columns, 0);
        unsigned char *at =
            &seen[((w[0] * HEADS + w[1]) * s->row_blocks + w[2] / s->k->config.block_m) *
                      s->k->config.dv_split +
                  w[3] / columns];
        assert_int_equal(*at, 0);
        *at = 1;
    }
    free(seen);
}

// How many of the places rows x keys are visible, the first visible key, and one more than the
// last.
static int64_t count_visible(const struct schedule *s, int64_t row, int64_t key, int64_t *begin,
                             int64_t *end)
{
    int64_t count = 0;
    for (int64_t i = row; i < row + s->k->config.block_m && i < s->problem.q_len; i++)
        for (int64_t j = key; j < key + s->k->config.block_n; j++)
            if (test_is_visible(&s->problem, i, j)) {
                count++;
                *begin = j < *begin ? j : *begin;
                *end = j + 1 > *end ? j + 1 : *end;
            }
    return count;
}

// Key blocks of one work-group: nothing visible is left out, nothing is called inside that is on an
// edge, and with skipping neither is there a block too many nor an edge without need.
static void check_blocks(const struct schedule *s, const cl_int *work, cl_int (*blocks)[3])
{
    const int block_n = s->k->config.block_n, masked = s->problem.mask != FCL_MASK_NONE;
    const int visit = masked ? s->k->config.visit : 0;
    const int left = fcl_problem_bounds_left(&s->problem) && visit < 2;
    const int64_t row = work[2];
    const int64_t rows_there =
        fcl_min(s->k->config.block_m, s->problem.q_len - row); // in this query block
    int64_t begin = s->problem.k_len, end = 0, ignored = 0;
    for (int64_t key = 0; key < s->problem.k_len; key += block_n)
        count_visible(s, row, key, &begin, &end);
    if (left && !end) { // the window lies outside of the keys: one block at most, all hidden
        assert_int_equal(work[4], work[5] - 1);
        assert_true(blocks[work[4]][1] == 0 || blocks[work[4]][2]);
        return;
    }
    if (visit == 2 || !fcl_problem_bounds_right(&s->problem))
        end = s->problem.k_len;
    assert_int_equal(work[4], left ? begin / block_n : 0);
    assert_int_equal(work[5], fcl_max(1, (end + block_n - 1) / block_n));
    assert_true(work[5] <= BLOCKS_LIMIT);
    for (int j = work[4]; j < work[5]; j++) {
        const int64_t key = (int64_t)j * block_n;
        const int all = count_visible(s, row, key, &ignored, &ignored) == rows_there * block_n;
        assert_int_equal(blocks[j][0], key);
        assert_int_equal(blocks[j][1], fcl_max(0, fcl_min(block_n, end - key)));
        assert_int_equal(blocks[j][2], !all || visit > 0);
    }
}

static void check_view(const cl_long *view, const int64_t strides[4], int64_t start, int strided,
                       int64_t batch, int64_t head, int64_t column)
{
    const int64_t step = strided ? strides[3] : 1;
    assert_int_equal(view[0], start + batch * strides[0] + head * strides[1] + column * step);
    assert_int_equal(view[1], strides[2]);
    assert_int_equal(view[2], step);
}

static void check_views(const struct schedule *s, const cl_int *w, const cl_long *view)
{
    const struct fcl_kernel_args *a = &s->args;
    const int kv = w[1] / (HEADS / KV_HEADS), strided = s->problem.strided;
    check_view(view, a->q_strides, 21, strided, w[0], w[1], 0);
    check_view(view + 3, a->k_strides, 22, strided, w[0], kv, 0);
    check_view(view + 6, a->v_strides, 23, strided, w[0], kv, w[3]);
    check_view(view + 9, a->o_strides, 24, strided, w[0], w[1], w[3]);
    assert_int_equal(view[12],
                     (INT64_C(1) << 35) + (w[0] * HEADS + w[1]) * s->problem.q_len + w[2]);
}

static void the_schedule_follows_the_masks(void **state)
{
    (void)state;
    demand_arguments();
    for (size_t i = 0; i < case_count; i++)
        for (size_t n = 0; n < FCL_COUNT(lengths); n++)
            for (int mask = FCL_MASK_NONE; mask <= FCL_MASK_BOTTOM_RIGHT; mask++) {
                struct schedule s;
                if (!serves(&cases[i], mask))
                    continue;
                set_up_schedule(&s, &cases[i], (enum fcl_mask)mask, lengths[n][0], lengths[n][1],
                                (int)n % (BATCHES * HEADS) + 1);
                check_cover(&s);
                for (cl_int g = 0; g < s.groups; g++) {
                    check_blocks(&s, s.works[g], s.blocks[g]);
                    check_views(&s, s.works[g], s.views[g]);
                }
                // Long rows come first where their lengths differ, those of `together` heads.
                for (cl_int g = 0; g < s.args.together * s.k->config.dv_split; g++)
                    assert_int_equal(s.works[g][2], !fcl_problem_bounds_right(&s.problem)
                                                        ? 0
                                                        : (s.row_blocks - 1) * s.k->config.block_m);
                free_schedule(&s);
            }
}

// ---- masks

static void check_visits(const struct test_kernels *k, enum fcl_mask mask, int64_t q_len,
                         int64_t k_len)
{
    enum { PLACES = 64 };
    const int lanes = test_kernels_lanes(k);
    struct fcl_problem p = k->problem;
    struct fcl_kernel_args args = {.q_len = (cl_int)q_len, .k_len = (cl_int)k_len};
    p.mask = mask;
    p.q_len = q_len;
    p.k_len = k_len;
    set_masks(&args, &p);
    float edge[PLACES * PLACES], inside[PLACES * PLACES];
    const cl_int columns = PLACES;
    const struct test_argument arguments[] = {
        {TEST_OUTPUT, edge, sizeof edge},
        {TEST_OUTPUT, inside, sizeof inside},
        {TEST_VALUE, (void *)&columns, sizeof columns},
        {TEST_VALUE, (void *)&args, sizeof args},
        {0},
    };
    test_kernels_run(k, "test_visit", (size_t)(PLACES * PLACES / lanes), 1, arguments);
    for (int i = 0; i < PLACES; i++)
        for (int j = 0; j < PLACES; j++) {
            const int at = (i / lanes * PLACES + j) * lanes + i % lanes;
            const float right = test_is_visible(&p, i, j) ? 7.0f : HIDDEN;
            if (edge[at] != right || inside[at] != 7.0f)
                fail_msg("%s: q%d k%d: row %d, key %d became %g on an edge and %g elsewhere",
                         k->name, (int)q_len, (int)k_len, i, j, (double)edge[at],
                         (double)inside[at]);
        }
}

static void scores_are_hidden_by_the_mask(void **state)
{
    (void)state;
    demand_arguments();
    for (size_t i = 0; i < case_count; i++)
        for (size_t n = 0; n < FCL_COUNT(lengths); n++)
            for (int mask = FCL_MASK_NONE; mask <= FCL_MASK_BOTTOM_RIGHT; mask++)
                if (serves(&cases[i], mask))
                    check_visits(&cases[i], (enum fcl_mask)mask, lengths[n][0], lengths[n][1]);
}

// ---- scores

#define CAPPED 65536

// Scores from far below the cap to far beyond it, by their exponents; NaN stays NaN.
static void caps_are_accurate(void **state)
{
    float *in = test_poisoned(CAPPED * sizeof *in), *out = test_poisoned(CAPPED * sizeof *out);
    const struct fcl_kernel_args args = {.cap = 43.28f, .cap_inverse = 1.0f / 43.28f};
    const struct test_argument arguments[] = {{TEST_INPUT, in, CAPPED * sizeof *in},
                                              {TEST_OUTPUT, out, CAPPED * sizeof *out},
                                              {TEST_VALUE, (void *)&args, sizeof args},
                                              {0}};
    (void)state;
    demand_arguments();
    for (int i = 0; i < CAPPED; i++)
        in[i] = ldexpf(1.0f + (float)(i % 997) / 997.0f, i / 2 % 64 - 40) * (i % 2 ? 1.0f : -1.0f);
    in[0] = NAN;
    in[1] = INFINITY;
    for (size_t n = 0; n < case_count; n++) {
        test_kernels_run(&cases[n], "test_cap", CAPPED / (size_t)test_kernels_lanes(&cases[n]), 1,
                         arguments);
        assert_true(isnan(out[0]));
        for (int i = 1; i < CAPPED; i++) {
            const double right = (double)args.cap * tanh((double)in[i] / (double)args.cap);
            if (!(fabs((double)out[i] - right) <= 5e-7 * fabs(right)))
                fail_msg("%s: %g is capped to %.9g, expected is %.9g", cases[n].name, (double)in[i],
                         (double)out[i], right);
        }
    }
    free(in);
    free(out);
}

// ---- softmax

#define STEPS 5
#define SOFTMAX_ROWS 192 // a multiple of all block_m used here

// Maxima of the rows' blocks, base 2: rising, falling, late, early, far apart, none at all.
static const float tops[][STEPS] = {
    {-3, 0, 2.5f, 7, 90},
    {90, 7, 2.5f, 0, -3},
    {HIDDEN, HIDDEN, -4, -2, -8},
    {1, HIDDEN, HIDDEN, HIDDEN, 3},
    {-1e4f, 1e4f, 2, HIDDEN, 1e4f},
    {HIDDEN, HIDDEN, HIDDEN, HIDDEN, HIDDEN},
    {-8e37f, -8e37f, HIDDEN, -8e37f, -8e37f},
};

static void demand_close(const struct test_kernels *k, const char *what, int row, float actual,
                         double expected, double slack)
{
    const int close = isinf(expected)
                          ? (double)actual == expected
                          : fabs((double)actual - expected) <= 1e-6 * fabs(expected) + slack;
    if (!close)
        fail_msg("%s: %s of row %d is %.9g, expected is %.9g", k->name, what, row, (double)actual,
                 expected);
}

static float sum_of(int step, float top)
{
    return top == HIDDEN ? 0.0f : 1.0f + (float)step / 4;
}

static void check_softmax_row(const struct test_kernels *k, const float *out, int row)
{
    const float *top = tops[(size_t)row % FCL_COUNT(tops)];
    double m = (double)HIDDEN, l = 0, origin = 0;
    for (int i = 0; i < STEPS; i++) {
        const double next = fmax(m, (double)top[i]), shrink = exp2(m - next);
        origin = next == (double)HIDDEN ? 0 : next;
        l = l * shrink + (double)sum_of(i, top[i]);
        m = next;
        demand_close(k, "factor", row, out[2 * i * SOFTMAX_ROWS + row], shrink, 1e-30);
        demand_close(k, "origin", row, out[(2 * i + 1) * SOFTMAX_ROWS + row], origin, 0);
    }
    const float *end = out + 2 * STEPS * SOFTMAX_ROWS + row;
    const double slack = 1e-6 * (1 + fabs(m)); // two logarithms that may cancel
    demand_close(k, "m", row, end[0], m, 0);
    demand_close(k, "l", row, end[SOFTMAX_ROWS], l, 0);
    demand_close(k, "1 / l", row, end[2 * SOFTMAX_ROWS], l > 0 ? 1 / l : 0, 0);
    demand_close(k, "lse", row, end[3 * SOFTMAX_ROWS],
                 l > 0 ? 0.69314718055994530942 * (m + log2(l)) : -INFINITY, slack);
    demand_close(k, "divided origin", row, end[4 * SOFTMAX_ROWS], l > 0 ? origin + log2(l) : 0,
                 slack);
}

static void softmax_steps_follow_the_recurrence(void **state)
{
    float in[STEPS][SOFTMAX_ROWS], sums[STEPS][SOFTMAX_ROWS];
    float out[(2 * STEPS + 5) * SOFTMAX_ROWS];
    const cl_int steps = STEPS;
    const struct test_argument arguments[] = {
        {TEST_INPUT, in, sizeof in},
        {TEST_INPUT, sums, sizeof sums},
        {TEST_OUTPUT, out, sizeof out},
        {TEST_VALUE, (void *)&steps, sizeof steps},
        {0},
    };
    (void)state;
    for (int i = 0; i < STEPS; i++)
        for (int row = 0; row < SOFTMAX_ROWS; row++) {
            in[i][row] = tops[(size_t)row % FCL_COUNT(tops)][i];
            sums[i][row] = sum_of(i, in[i][row]);
        }
    for (size_t i = 0; i < case_count; i++) {
        const struct fcl_config *c = &cases[i].config;
        const int each =
            c->family == FCL_FAMILY_GENERIC ? c->item_rows : c->block_m; // rows of a work-item
        memset(out, TEST_POISON, sizeof out);
        test_kernels_run(&cases[i], "test_softmax", (size_t)(SOFTMAX_ROWS / each), 1, arguments);
        for (int row = 0; row < SOFTMAX_ROWS; row++)
            check_softmax_row(&cases[i], out, row);
    }
}

// ---- set-up

static int set_up(void **state)
{
    (void)state;
    case_count = test_kernels_build(cases, &opencl, rows, FCL_COUNT(rows), getenv("FCL_TEST_DATA"),
                                    "device/lib_functions.cl");
    return case_count == 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_kernels_free(cases, case_count);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_arrive_in_their_fields),
        cmocka_unit_test(elements_convert_as_on_the_host),
        cmocka_unit_test(the_schedule_follows_the_masks),
        cmocka_unit_test(scores_are_hidden_by_the_mask),
        cmocka_unit_test(caps_are_accurate),
        cmocka_unit_test(softmax_steps_follow_the_recurrence),
    };
    if (!getenv("FCL_TEST_DATA")) {
        fprintf(stderr, "FCL_TEST_DATA is not set: the folder of all tests\n");
        return 2;
    }
    if (!test_opencl_open(&opencl, NULL))
        return 77;
    const int failed = cmocka_run_group_tests_name("kernel lib", tests, set_up, tear_down);
    test_opencl_close(&opencl);
    return failed;
}
