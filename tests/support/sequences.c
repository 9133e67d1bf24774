// Sequences of an attention under test.
#include "cmocka_all.h"

#include <math.h>

#include "sequences.h"

#define MISLEADING 1000000000 // before and behind the numbers

// ---- metadata

static cl_mem give(struct test_opencl *opencl, const int32_t *numbers, int64_t count,
                   size_t *offset)
{
    cl_int code;
    if (!numbers)
        return NULL;
    const size_t bytes = (size_t)(count + 2) * sizeof *numbers;
    int32_t *image = malloc(bytes);
    assert_non_null(image);
    image[0] = image[count + 1] = MISLEADING;
    memcpy(image + 1, numbers, (size_t)count * sizeof *numbers);
    cl_mem buffer = clCreateBuffer(opencl->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes,
                                   image, &code);
    assert_int_equal(code, CL_SUCCESS);
    free(image);
    *offset = sizeof *numbers;
    return buffer;
}

void test_sequences_give(struct test_opencl *opencl, const struct test_attention *a,
                         struct fcl_attention_args *args)
{
    const struct fcl_sequences *s = &a->sequences;
    const int64_t batch = a->problem.batch;
    const int64_t row = s->table_stride ? s->table_stride : s->table_entries;
    args->total_q = s->total_q;
    args->total_k = s->total_k;
    args->cu_q = give(opencl, s->cu_q, batch + 1, &args->cu_q_offset);
    args->cu_k = give(opencl, s->cu_k, batch + 1, &args->cu_k_offset);
    args->used_q = give(opencl, s->used_q, batch, &args->used_q_offset);
    args->used_k = give(opencl, s->used_k, batch, &args->used_k_offset);
    args->table = give(opencl, s->table, batch * row, &args->table_offset);
    args->table_stride = s->table_stride;
    args->table_entries = s->table_entries;
    args->page_count = s->page_count;
    args->page = s->page ? s->page : a->problem.page;
}

static uint32_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 32);
}

// Some far away, most near what they could be.
static void scramble(int32_t *numbers, int64_t count, uint64_t *random)
{
    for (int64_t i = 0; numbers && i < count; i++) {
        const uint32_t x = next_random(random);
        numbers[i] = x % 3 == 0 ? (int32_t)x : (int32_t)(x / 16 % 200) - 20;
    }
}

void test_sequences_scramble(struct test_attention *a, uint64_t *random)
{
    struct fcl_sequences *s = &a->sequences;
    const int64_t batch = a->problem.batch;
    scramble(s->cu_q, batch + 1, random);
    scramble(s->cu_k, batch + 1, random);
    scramble(s->used_q, batch, random);
    scramble(s->used_k, batch, random);
    scramble(s->table, batch * (s->table_stride ? s->table_stride : s->table_entries), random);
}

// ---- places

const float *test_sequences_lse(const struct test_attention *a, int64_t batch, int64_t h,
                                int64_t row)
{
    return &a->lse[(batch * a->problem.heads_q + h) * a->q.extents[2] + row];
}

// Calls for all rows of a sequence; marks[batch x rows] become 1.
static char *mark_queries(const struct test_attention *a)
{
    const struct fcl_problem *p = &a->problem;
    char *marks = calloc((size_t)(a->q.extents[0] * a->q.extents[2]) + 1, 1);
    assert_non_null(marks);
    for (int64_t b = 0; b < p->batch; b++) {
        struct fcl_sequence_rows rows;
        assert_int_equal(fcl_sequences_rows(p, &a->sequences, b, &rows), FCL_OK);
        const int64_t first = (p->varlen ? 0 : b * p->q_len) + rows.q_first;
        memset(marks + first, 1, (size_t)rows.q_len);
    }
    return marks;
}

static char *mark_keys(const struct test_attention *a)
{
    const struct fcl_problem *p = &a->problem;
    char *marks = calloc((size_t)(a->k.extents[0] * a->k.extents[2]) + 1, 1);
    assert_non_null(marks);
    for (int64_t b = 0; b < p->batch; b++) {
        struct fcl_sequence_rows rows;
        assert_int_equal(fcl_sequences_rows(p, &a->sequences, b, &rows), FCL_OK);
        for (int64_t j = 0; j < rows.k_len; j++) {
            const int64_t size = a->k.extents[2];
            const int64_t page = p->page ? fcl_sequences_page(p, &a->sequences, b, j) : 0;
            if (p->page && page >= 0)
                marks[page * size + j % size] = 1;
            if (!p->page)
                marks[(p->varlen ? 0 : b * p->k_len) + rows.k_first + j] = 1;
        }
    }
    return marks;
}

int test_sequences_kept(const struct test_attention *a)
{
    const struct fcl_problem *p = &a->problem;
    const int64_t length = a->q.extents[2];
    char *marks = mark_queries(a);
    int kept = 1;
    for (int64_t b = 0; b < a->q.extents[0]; b++)
        for (int64_t i = 0; i < length; i++)
            for (int64_t h = 0; h < p->heads_q && !marks[b * length + i]; h++) {
                const int has_o = p->pass == FCL_PASS_FORWARD;
                for (int64_t d = 0; has_o && d < p->head_dim_v; d++)
                    kept &= isnan(test_tensor_get(&a->o, b, h, i, d)) != 0;
                kept &= !a->lse || isnan(*test_sequences_lse(a, b, h, i));
            }
    free(marks);
    return kept;
}

static void spoil(struct test_tensor *t, const char *marks)
{
    for (int64_t b = 0; b < t->extents[0]; b++)
        for (int64_t i = 0; i < t->extents[2]; i++)
            for (int64_t h = 0; h < t->extents[1] && !marks[b * t->extents[2] + i]; h++)
                for (int64_t d = 0; d < t->extents[3]; d++)
                    test_tensor_set(t, b, h, i, d, NAN);
}

void test_sequences_spoil(struct test_attention *a)
{
    char *marks = mark_keys(a);
    spoil(&a->k, marks);
    spoil(&a->v, marks);
    free(marks);
}
