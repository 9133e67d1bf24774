// Sequences of different lengths without a device: metadata, the reference, and what a launch comes
// to.
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>

#include "attention/launch.h"
#include "attention/problem.h"
#include "choices.h"

static char reason[512];

static struct fcl_sequences make(const char *text)
{
    struct fcl_sequences sequences;
    const struct fcl_problem problem = test_problem(text);
    assert_int_equal(fcl_sequences_create(&problem, 5, &sequences), FCL_OK);
    return sequences;
}

// ---- metadata

static void made_metadata_is_valid_and_mixed(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "fwd b9 q40 k80 d8 varlen",         "fwd b9 q40 k80 d8 used",
        "fwd b9 q1 k80 d8 varlen used",     "fwd b3 q40 k81 d8 page=16",
        "fwd b3 q40 k81 d8 varlen page=81", "fwd b0 q40 k80 d8 varlen used page=1"};
    for (size_t i = 0; i < FCL_COUNT(texts); i++) {
        const struct fcl_problem problem = test_problem(texts[i]);
        struct fcl_sequences s = make(texts[i]);
        if (fcl_sequences_validate(&problem, &s, reason, sizeof reason))
            fail_msg("%s: %s", texts[i], reason);
        fcl_sequences_free(&s);
    }
    struct fcl_sequences s = make("fwd b9 q40 k80 d8 varlen");
    static const int32_t cu_q[] = {0, 40, 55, 85, 90, 110, 145, 155, 180, 220};
    assert_memory_equal(s.cu_q, cu_q, sizeof cu_q);
    assert_int_equal(s.total_q, 220);
    assert_int_equal(s.total_k, 440);
    fcl_sequences_free(&s);
    assert_null(s.cu_q);
    fcl_sequences_free(NULL);
}

// Each page once, and not in order.
static void pages_are_in_random_order(void **state)
{
    (void)state;
    struct fcl_sequences s = make("fwd b3 q1 k80 d8 page=4");
    int seen[60] = {0}, moved = 0;
    assert_int_equal(s.table_entries, 20);
    assert_int_equal(s.page_count, 60);
    for (int i = 0; i < 60; i++) {
        assert_in_range(s.table[i], 0, 59);
        seen[s.table[i]]++;
        moved += s.table[i] != i;
    }
    for (int i = 0; i < 60; i++)
        assert_int_equal(seen[i], 1);
    assert_true(moved > 40);
    fcl_sequences_free(&s);
}

static void pages_beyond_the_table_are_none(void **state)
{
    (void)state;
    int32_t table[] = {3, 2, 1, 0, 1, 2};
    const struct fcl_sequences s = {.table = table, .table_entries = 2, .page_count = 4};
    const struct fcl_problem problem = test_problem("fwd b2 q1 k8 d8 page=4");
    assert_int_equal(fcl_sequences_page(&problem, &s, 1, 7), 0);
    assert_int_equal(fcl_sequences_page(&problem, &s, 1, 8), -1);
    assert_int_equal(fcl_sequences_page(&problem, &s, 1, -1), -1);
    assert_int_equal(fcl_sequences_page(&problem, &s, -1, 0), -1);
    assert_int_equal(fcl_sequences_page(&problem, &s, 2, 0), -1);
}

static void rows_are_clamped(void **state)
{
    (void)state;
    int32_t cu_q[] = {-4, 7, 5, 1000, 3}, cu_k[] = {2, 2, 90, 95, 95}, used_q[] = {9, 1, 1, -1};
    int32_t used_k[] = {7, 11, 3, 1000};
    const struct fcl_sequences s = {.total_q = 30,
                                    .total_k = 80,
                                    .cu_q = cu_q,
                                    .cu_k = cu_k,
                                    .used_q = used_q,
                                    .used_k = used_k};
    const struct fcl_problem varlen = test_problem("fwd b4 q10 k20 d8 varlen"),
                             both = test_problem("fwd b4 q10 k20 d8 varlen used");
    static const struct fcl_sequence_rows expected[2][4] = {
        {{0, 7, 2, 0}, {7, 0, 2, 20}, {5, 10, 80, 0}, {30, 0, 80, 0}},
        {{0, 7, 2, 0}, {7, 0, 2, 11}, {5, 1, 80, 0}, {30, 0, 80, 0}}};
    for (int n = 0; n < 2; n++)
        for (int i = 0; i < 4; i++) {
            struct fcl_sequence_rows rows;
            assert_int_equal(fcl_sequences_rows(n ? &both : &varlen, &s, i, &rows), FCL_OK);
            assert_memory_equal(&rows, &expected[n][i], sizeof rows);
        }
    struct fcl_sequence_rows rows;
    assert_int_equal(fcl_sequences_rows(&varlen, &s, 4, &rows), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_sequences_rows(&varlen, NULL, 0, &rows), FCL_INVALID_ARGUMENT);
}

// 32, 38: the entry that is wrong is named.
static void wrong_entries_are_named(void **state)
{
    (void)state;
    enum array { CU_Q, CU_K, USED_Q, USED_K, TABLE };
    static const struct {
        const char *problem;
        enum array array;
        int at, value;
        const char *message;
    } rows[] = {
        {"fwd b4 q8 k16 d8 varlen", CU_Q, 0, 1, "cu_q[0] is 1, allowed is 0"},
        {"fwd b4 q8 k16 d8 varlen", CU_Q, 2, 7, "cu_q[2] is 7, less than the 8 before it"},
        {"fwd b4 q8 k16 d8 varlen", CU_K, 4, 37, "cu_k[4] is 37, allowed are up to total_k, 36"},
        {"fwd b4 q8 k16 d8 varlen", CU_K, 1, 17, "ends 17 rows, allowed are up to k_len, 16"},
        {"fwd b4 q8 k16 d8 used", USED_Q, 3, 9, "used_q[3] is 9, allowed are 0 to 8"},
        {"fwd b4 q8 k16 d8 used", USED_K, 1, -1, "used_k[1] is -1, allowed are 0 to 16"},
        {"fwd b4 q8 k16 d8 varlen used", USED_K, 3, 3, "used_k[3] is 3, allowed are 0 to 2"},
        {"fwd b4 q8 k16 d8 page=4", TABLE, 5, -1, "table[5] (page 1 of sequence 1) is -1"},
        {"fwd b4 q8 k16 d8 page=4", TABLE, 0, 16, "is 16, allowed are 0 to 15"},
        {"fwd b4 q8 k16 d8 page=4", TABLE, 7, 99, NULL}, // not needed
    };
    for (size_t i = 0; i < FCL_COUNT(rows); i++) {
        const struct fcl_problem problem = test_problem(rows[i].problem);
        struct fcl_sequences s = make(rows[i].problem);
        int32_t *const arrays[] = {s.cu_q, s.cu_k, s.used_q, s.used_k, s.table};
        assert_non_null(arrays[rows[i].array]);
        arrays[rows[i].array][rows[i].at] = rows[i].value;
        const enum fcl_status status = fcl_sequences_validate(&problem, &s, reason, sizeof reason);
        assert_int_equal(status, rows[i].message ? FCL_INVALID_ARGUMENT : FCL_OK);
        if (rows[i].message && !strstr(reason, rows[i].message))
            fail_msg("%s: %s", rows[i].message, reason);
        fcl_sequences_free(&s);
    }
    const struct fcl_problem paged = test_problem("fwd b4 q8 k16 d8 page=4");
    struct fcl_sequences s = make("fwd b4 q8 k16 d8 page=4");
    s.table_entries = 3;
    assert_int_equal(fcl_sequences_validate(&paged, &s, reason, sizeof reason),
                     FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(reason, "used_k[0] is 16 and needs 4 pages, table_entries is 3"));
    assert_int_equal(fcl_sequences_validate(&paged, NULL, reason, sizeof reason),
                     FCL_INVALID_ARGUMENT);
    fcl_sequences_free(&s);
}

// ---- reference

static float number(int64_t i)
{
    return (float)(i * 7919 % 101) / 50.0f - 1.0f;
}

// A row of a sequence is what a problem of that sequence alone gives.
static void assert_row_alone(const struct fcl_reference *all, int64_t b, int64_t h, int64_t i,
                             const struct fcl_reference *alone)
{
    double o[2][4], magnitude[2][4];
    struct fcl_reference_row x = {.o = o[0], .magnitude = magnitude[0]},
                             y = {.o = o[1], .magnitude = magnitude[1]};
    assert_int_equal(fcl_reference_dense(all, b, h, i, &x), FCL_OK);
    assert_int_equal(fcl_reference_dense(alone, 0, h, i, &y), FCL_OK);
    assert_true(x.lse == y.lse);
    assert_memory_equal(o[0], o[1], sizeof o[0]);
    assert_memory_equal(magnitude[0], magnitude[1], sizeof magnitude[0]);
    assert_int_equal(fcl_reference_model(all, b, h, i, &x), FCL_OK);
    assert_int_equal(fcl_reference_model(alone, 0, h, i, &y), FCL_OK);
    assert_memory_equal(o[0], o[1], sizeof o[0]);
}

enum { HEADS = 2, ROWS = 12, DIM = 4, BATCH = 3, PAGE = 5 };

// Collects the rows of a sequence's K or V as a contiguous tensor.
static void gather(const struct fcl_reference *r, const struct fcl_host_tensor *t, int64_t b,
                   const struct fcl_sequence_rows *rows, float to[HEADS * ROWS * DIM])
{
    const struct fcl_problem *p = r->problem;
    const int64_t length = p->page ? p->page : p->varlen ? r->sequences->total_k : p->k_len;
    for (int64_t h = 0; h < HEADS; h++)
        for (int64_t j = 0; j < rows->k_len; j++) {
            const int64_t page = p->page ? fcl_sequences_page(p, r->sequences, b, j) : b;
            const int64_t row = p->page ? j % p->page : rows->k_first + j;
            const int64_t at = p->varlen && !p->page ? row * HEADS + h
                               : p->varlen           ? (page * length + row) * HEADS + h
                                                     : (page * HEADS + h) * length + row;
            memcpy(to + (h * rows->k_len + j) * DIM, (const float *)t->data + at * DIM,
                   DIM * sizeof *to);
        }
}

static void check_reference(const char *text)
{
    static float q[2000], k[2000], v[2000];
    const struct fcl_problem problem = test_problem(text);
    struct fcl_sequences s = make(text);
    for (int i = 0; i < 2000; i++) {
        q[i] = number(i);
        k[i] = number(i + 3000);
        v[i] = number(i + 6000);
    }
    const struct fcl_reference all = {
        .problem = &problem, .q = {.data = q}, .k = {.data = k}, .v = {.data = v}, .sequences = &s};
    for (int64_t b = 0; b < BATCH; b++) {
        struct fcl_sequence_rows rows;
        float keys[HEADS * ROWS * DIM], values[HEADS * ROWS * DIM];
        assert_int_equal(fcl_sequences_rows(&problem, &s, b, &rows), FCL_OK);
        gather(&all, &all.k, b, &rows, keys);
        gather(&all, &all.v, b, &rows, values);
        struct fcl_problem single = problem;
        single.batch = 1;
        single.varlen = single.used = single.page = 0;
        single.q_len = rows.q_len;
        single.k_len = rows.k_len;
        const int64_t first = problem.varlen ? rows.q_first * HEADS * DIM : b * HEADS * ROWS * DIM;
        struct fcl_reference alone = {.problem = &single,
                                      .q = {.data = q + first},
                                      .k = {.data = keys},
                                      .v = {.data = values}};
        const int64_t packed[4] = {0, DIM, HEADS * DIM, 1}, padded[4] = {0, ROWS * DIM, DIM, 1};
        memcpy(alone.q.strides, problem.varlen ? packed : padded, sizeof packed);
        for (int64_t h = 0; h < HEADS; h++)
            for (int64_t i = 0; i < rows.q_len; i++)
                assert_row_alone(&all, b, h, i, &alone);
        struct fcl_reference_row row = {0};
        assert_int_equal(fcl_reference_dense(&all, b, 0, rows.q_len, &row), FCL_INVALID_ARGUMENT);
    }
    fcl_sequences_free(&s);
}

static void reference_sees_each_sequence_alone(void **state)
{
    (void)state;
    check_reference("fwd b3 h2 q12 k12 d4 causal-br used");
    check_reference("fwd b3 h2 q12 k12 d4 causal-br varlen");
    check_reference("fwd b3 h2 q12 k12 d4 br win=2,1 varlen used");
    check_reference("fwd b3 h2 q12 k12 d4 causal-br page=5");
    check_reference("fwd b3 h2 q12 k12 d4 varlen page=5");
}

// Keys in a page outside of the pool are hidden, wherever they are.
static void reference_hides_pages(void **state)
{
    (void)state;
    const struct fcl_problem problem = test_problem("fwd q1 k6 d1 page=2");
    int32_t used_k[] = {6}, table[] = {1, 7, 0};
    const struct fcl_sequences s = {
        .used_k = used_k, .table = table, .table_entries = 3, .page_count = 2};
    const float q[] = {0}, k[4] = {0}, v[4] = {1, 2, 3, 6};
    double o[1];
    struct fcl_reference_row row = {.o = o};
    const struct fcl_reference reference = {
        .problem = &problem, .q = {.data = q}, .k = {.data = k}, .v = {.data = v}, .sequences = &s};
    assert_int_equal(fcl_reference_dense(&reference, 0, 0, 0, &row), FCL_OK);
    assert_true(fabs(o[0] - 3) < 1e-12 && fabs(row.lse - log(4)) < 1e-12);
    table[0] = table[2] = -1;
    assert_int_equal(fcl_reference_dense(&reference, 0, 0, 0, &row), FCL_OK);
    assert_true(o[0] == 0 && isinf(row.lse));
}

// ---- launches

static struct fcl_launch launch;

static enum fcl_status prepare(const struct fcl_problem *problem, const char *config,
                               struct fcl_attention_args args)
{
    static const struct fcl_caps caps;
    static char anything;
    struct fcl_config parsed;
    cl_mem buffer = (cl_mem)(void *)&anything;
    assert_int_equal(fcl_config_parse(config, &parsed, NULL, 0), FCL_OK);
    args.struct_size = sizeof args;
    args.shape = (struct fcl_shape){problem->batch, problem->heads_q, problem->heads_kv,
                                    problem->q_len, problem->k_len};
    args.q.buffer = args.k.buffer = args.v.buffer = args.o.buffer = args.lse = buffer;
    args.cu_q = args.cu_k = args.used_k = args.table = buffer;
    return fcl_launch_prepare(problem, &parsed, &caps, &args, &launch, reason, sizeof reason);
}

static void packed_tensors_have_rows_of_all_heads(void **state)
{
    (void)state;
    const struct fcl_problem problem = test_problem("fwd b5 h6/2 q10 k20 d16/8 causal-br varlen");
    const struct fcl_attention_args args = {.total_q = 33, .total_k = 70, .cu_q_offset = 12};
    const int64_t q[4] = {33 * 96, 16, 96, 1}, v[4] = {70 * 16, 8, 16, 1};
    assert_int_equal(prepare(&problem, "vector_m8n32l4k4c4", args), FCL_OK);
    assert_memory_equal(launch.args.q_strides, q, sizeof q);
    assert_memory_equal(launch.args.v_strides, v, sizeof v);
    assert_int_equal(launch.q_end, 33 * 96 * 4);
    assert_int_equal(launch.lse_end, 0);
    assert_int_equal(launch.cu_q_end, 12 + 6 * 4);
    assert_int_equal(launch.args.cu_q_start, 3);
    assert_int_equal(launch.args.bottom, 1);
    assert_int_equal(launch.args.lse_rows, 33);
    assert_int_equal(launch.args.slots, 33 / 8 + 5);
    assert_int_equal(launch.groups, (33 / 8 + 5) * 6);
    assert_int_equal(prepare(&problem, "row_m4n32l4k2c2g1s3", args), FCL_OK);
    assert_int_equal(launch.groups, (33 * 3 / 4 + 5) * 2 * launch.args.splits);
    assert_int_equal(launch.part_bytes, launch.args.splits * 33 * 6 * (8 + 1) * 4);
}

static void wrong_numbers_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *problem;
        struct fcl_attention_args args;
        const char *message;
    } rows[] = {
        {"fwd b2 q8 d16 varlen", {.total_q = -1}, "total_q is -1, allowed are 0 to 16"},
        {"fwd b2 q8 d16 varlen", {.total_q = 17}, "total_q is 17, allowed are 0 to 16"},
        {"fwd b2 q8 d16 varlen", {.total_q = 9, .total_k = -7}, "total_k is -7"},
        {"fwd b2 q8 d16 varlen",
         {.total_q = 9, .cu_q_offset = 2},
         "cu_q_offset is 2 bytes, allowed are multiples of 4"},
        {"fwd b2 q8 d16 used", {.used_k_offset = 1}, "used_k_offset is 1"},
        {"fwd b2 q8 d16 page=4", {.page = -1}, "page is -1"},
        {"fwd b2 q8 d16 page=4", {.page_count = -1}, "page_count is -1"},
        {"fwd b2 q8 d16 page=4", {.table_entries = -1}, "table_entries is -1"},
        {"fwd b2 q8 d16 page=4", {.table_stride = -1}, "table_stride is -1"},
        {"fwd b2 q8 d16 page=4", {.table_offset = 3}, "table_offset is 3"},
        {"fwd b8 q8 d16 page=4", {.table_entries = 1 << 29}, "table has 4294967296 elements"},
    };
    for (size_t i = 0; i < FCL_COUNT(rows); i++) {
        const struct fcl_problem problem = test_problem(rows[i].problem);
        assert_int_not_equal(prepare(&problem, "vector_m8n32l4k4c4", rows[i].args), FCL_OK);
        if (!strstr(reason, rows[i].message))
            fail_msg("%s: %s", rows[i].message, reason);
    }
}

// Packed sequences without a row of queries are nothing to do; their metadata is checked all the
// same.
static void no_rows_are_checked(void **state)
{
    (void)state;
    const struct fcl_problem problem = test_problem("fwd b2 q8 d16 varlen lse");
    const struct fcl_attention_args none = {.total_k = 3}, wrong = {.cu_q_offset = 2};
    assert_int_equal(prepare(&problem, "vector_m8n32l4k4c4", none), FCL_OK);
    assert_int_equal(launch.empty, 1);
    assert_int_equal(launch.cu_q_end, 3 * 4);
    assert_int_equal(launch.cu_k_end, 3 * 4);
    assert_int_equal(prepare(&problem, "vector_m8n32l4k4c4", wrong), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(reason, "cu_q_offset is 2"));
}

// What a kernel multiplies with instead of dividing by the size of a page.
static void divisions_are_exact(void **state)
{
    (void)state;
    static const int sizes[] = {
        1, 2, 3, 5, 7, 16, 17, 64, 100, 127, 1000, 65537, 1 << 29, (1 << 30) - 1, 1 << 30};
    const struct fcl_problem problem = test_problem("fwd q8 d16 page=4");
    for (size_t i = 0; i < FCL_COUNT(sizes); i++) {
        const uint64_t size = (uint64_t)sizes[i];
        const struct fcl_attention_args args = {.page = sizes[i], .page_count = 1};
        assert_int_equal(prepare(&problem, "vector_m8n32l4k4c4", args), FCL_OK);
        for (uint64_t step = 0; step < 4000; step++) {
            const uint64_t near = step * 536870 / size * size; // multiples, spread over 31 bits
            for (uint64_t row = near ? near - 1 : 0; row <= near + 1 && row <= INT32_MAX; row++) {
                const uint64_t quotient =
                    (2 * row * launch.args.page_magic >> 32) >> launch.args.page_shift;
                assert_int_equal(quotient, row / size);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_metadata_is_valid_and_mixed),
        cmocka_unit_test(pages_are_in_random_order),
        cmocka_unit_test(pages_beyond_the_table_are_none),
        cmocka_unit_test(rows_are_clamped),
        cmocka_unit_test(wrong_entries_are_named),
        cmocka_unit_test(reference_sees_each_sequence_alone),
        cmocka_unit_test(reference_hides_pages),
        cmocka_unit_test(packed_tensors_have_rows_of_all_heads),
        cmocka_unit_test(wrong_numbers_are_named),
        cmocka_unit_test(no_rows_are_checked),
        cmocka_unit_test(divisions_are_exact),
    };
    return cmocka_run_group_tests_name("sequence_values", tests, NULL, NULL);
}
