// Sequences of different lengths - used lengths, packed ones, pages - on every usable family
// against the double-precision reference. What no sequence has is NaN. Numbers in comments are rows
// of the list of inputs that broke other implementations.
#include "cmocka_all.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "sequences.h"

static struct test_opencl opencl;

typedef void (*change)(struct test_attention *a);

// Tries a problem with metadata that `alter` (may be NULL) has changed.
static void check(const char *problem, change alter)
{
    struct test_attention a;
    test_attention_init(&a, problem);
    if (alter)
        alter(&a);
    test_sequences_spoil(&a);
    test_attention_everywhere(&opencl, &a);
    test_attention_free(&a);
}

static void copy_numbers(int32_t *to, const int32_t *from, int64_t count)
{
    memcpy(to, from, (size_t)count * sizeof *to);
}

// ---- used lengths

static void drop_used_q(struct test_attention *a)
{
    free(a->sequences.used_q);
    a->sequences.used_q = NULL;
}

// Lengths of 0, beyond the tensors, and below 0.
static void odd_lengths(struct test_attention *a)
{
    static const int32_t q[] = {INT_MAX, 0, 20, INT_MIN, 7}, k[] = {0, 45, INT_MAX, 3, -1};
    copy_numbers(a->sequences.used_q, q, 5);
    copy_numbers(a->sequences.used_k, k, 5);
}

static void lengths_in_use(void **state)
{
    (void)state;
    check("fwd b5 h4/2 q37 k45 d20 causal-br used lse", NULL);
    check("fwd b5 h4/2 q37 k45 d20 causal-br used lse", odd_lengths);
    check("fwd b5 h4/2 q37 k45 d20 causal-br used lse", drop_used_q);
    check("fwd b3 h2 q45 k37 d24 f16 tl win=9,4 used sink", NULL);
    check("fwd b4 h6/2 q3 k150 d16 bf16 causal-br used lse", NULL);
    check("lse b3 h4/2 q37 k45 d20 used", NULL);
    check("fwd b2 h2 q9 k0 d16 used lse", NULL);
}

// ---- packed sequences

// 31: empty sequences cost nothing and write nothing.
static void empty_sequences(struct test_attention *a)
{
    static const int32_t cu[] = {0, 0, 61, 103, 103};
    copy_numbers(a->sequences.cu_q, cu, 5);
    copy_numbers(a->sequences.cu_k, cu, 5);
}

// Queries without keys, keys without queries, and rows that belong to no sequence.
static void uneven_sequences(struct test_attention *a)
{
    static const int32_t q[] = {3, 3, 30, 31, 50}, k[] = {1, 40, 40, 41, 90};
    copy_numbers(a->sequences.cu_q, q, 5);
    copy_numbers(a->sequences.cu_k, k, 5);
}

// 32: rows of keys that decrease, that end behind the tensor, and that begin before it.
static void wild_keys(struct test_attention *a)
{
    static const int32_t k[] = {-100, 20, 10, INT_MAX, INT_MIN};
    copy_numbers(a->sequences.cu_k, k, 5);
}

static void packed_sequences(void **state)
{
    (void)state;
    check("fwd b5 h4/2 q37 k45 d20 causal-br varlen lse", NULL);
    check("fwd b4 h4/2 q40 k60 d20 causal-br varlen lse", uneven_sequences);
    check("fwd b4 h4/2 q40 k60 d20 causal-br varlen lse", wild_keys);
    check("fwd b4 h2 q61 d256 varlen lse", empty_sequences);
    check("fwd b4 h2 q70 k133 d24 f16 br win=17,40 varlen sink", NULL);
    check("fwd b9 h6/2 q3 k150 d16 bf16 causal-br varlen lse", NULL);
    check("fwd b5 h6/2 q3 k150 d16 softcap=4 varlen used lse", NULL);
    check("lse b5 h4/2 q37 k45 d20 tl win=5,-1 varlen", NULL);
}

// Rows of packed tensors may be strided: here each tensor is a part of a wider one.
static void packed_sequences_in_wider_rows(void **state)
{
    struct test_attention a;
    (void)state;
    test_attention_init(&a, "fwd b4 h4/2 q37 k45 d20 causal-br varlen lse");
    struct test_tensor *tensors[] = {&a.q, &a.k, &a.v, &a.o};
    for (int i = 0; i < 4; i++) {
        const int64_t strides[4] = {1, 24, 200, 1};
        test_tensor_lay(tensors[i], strides, 16);
    }
    test_attention_everywhere(&opencl, &a);
    test_attention_free(&a);
}

// ---- pages

// One plan of each family serves every size of pages.
static void check_pages(const char *format, change alter)
{
    static const int sizes[] = {1, 2, 16, 17, 64, 256};
    char configs[TEST_CONFIGS][96], text[160];
    struct test_attention a[sizeof sizes / sizeof *sizes];
    const size_t count = sizeof sizes / sizeof *sizes;
    for (size_t i = 0; i < count; i++) {
        snprintf(text, sizeof text, "%s page=%d", format, sizes[i]);
        test_attention_init(&a[i], text);
        if (alter)
            alter(&a[i]);
        test_sequences_spoil(&a[i]);
    }
    const int families = test_configs(&opencl, &a[0].problem, configs);
    for (int c = 0; c < families; c++) {
        fcl_plan *plan = test_plan(&opencl, &a[0].problem, FCL_FUSED, configs[c]);
        for (size_t i = 0; i < count; i++)
            test_attention_judge(&opencl, &a[i], plan, 0);
        fcl_plan_destroy(&plan);
    }
    for (size_t i = 0; i < count; i++)
        test_attention_free(&a[i]);
}

// Sequence 1 begins with the pages of sequence 0.
static void share_pages(struct test_attention *a)
{
    struct fcl_sequences *s = &a->sequences;
    copy_numbers(s->table + s->table_entries, s->table, (s->table_entries + 1) / 2);
}

// 38: pages beyond the pool and before it (page 0 is of no sequence, and NaN), and lengths beyond
// the table, whose rows are further apart than they are long. For three sequences or more.
static void wild_pages(struct test_attention *a)
{
    struct fcl_sequences *s = &a->sequences;
    for (int64_t i = 0; i < a->problem.batch * s->table_entries; i++)
        s->table[i] = s->table[i] ? s->table[i] : -7;
    s->table[0] = s->page_count > 1 ? (int32_t)s->page_count : s->table[0];
    s->table[s->table_entries / 2] = INT_MAX;
    s->table[s->table_entries * 2 - 1] = -1;
    s->table[s->table_entries * 2] = INT_MIN;
    s->table_stride = s->table_entries;
    s->table_entries -= s->table_entries > 2;
    s->used_k[0] = s->used_k[1] = INT_MAX;
}

// 33, 34, 37, 38
static void keys_in_pages(void **state)
{
    (void)state;
    check_pages("fwd b3 h4/2 q19 k150 d20 causal-br lse", NULL);
    check_pages("fwd b3 h4/2 q19 k150 d20 causal-br lse", share_pages);
    check_pages("fwd b3 h4/2 q19 k150 d20 causal-br lse", wild_pages);
    check_pages("fwd b4 h6/2 q3 k150 d24 f16 causal-br varlen lse", wild_pages);
    check("fwd b3 h4/2 q40 k70 d24/16 bf16 br win=33,5 softcap=9 sink page=8 layout=bshd lse",
          NULL);
    check("fwd b3 h2 q5 k40 d16 guard-v page=8", wild_pages);
    check("lse b3 h4/2 q19 k150 d20 page=16", wild_pages);
}

// No page in the pool: no key is seen, and nothing of K and V is touched.
static void empty_pool(struct test_attention *a)
{
    a->sequences.page_count = 0;
}

// No entry in the table, and no table.
static void no_table(struct test_attention *a)
{
    struct fcl_sequences *sequences = &a->sequences;
    sequences->table_entries = 0;
    sequences->used_k[0] = sequences->used_k[1] = 0;
    free(sequences->table);
    sequences->table = NULL;
}

// Pages of K and V in one buffer each, their rows and heads apart, in another order than heads.
static void pages_with_strides(void **state)
{
    struct test_attention a;
    (void)state;
    check("fwd b2 h2 q5 k40 d16 page=8 lse", empty_pool);
    check("fwd b2 h2 q5 k40 d16 page=8 lse", no_table);
    test_attention_init(&a, "fwd b2 h4/2 q5 k40 d16 f16 causal-br strided page=8 lse");
    const int64_t keys[4] = {2000, 40, 96, 2}, values[4] = {24, 5000, 20000, 1};
    test_tensor_lay(&a.k, keys, 16);
    test_tensor_lay(&a.v, values, 32);
    test_attention_everywhere(&opencl, &a);
    test_attention_free(&a);
}

// ---- what must not happen

// 32: whatever the metadata, nothing outside of the outputs is written.
static void random_metadata_stays_inside(void **state)
{
    static const char *const problems[] = {"fwd b5 h4/2 q37 k45 d20 causal-br varlen used lse",
                                           "fwd b5 h4/2 q37 k45 d20 causal-br page=16 lse"};
    (void)state;
    for (size_t n = 0; n < 2; n++) {
        char configs[TEST_CONFIGS][96];
        struct test_attention a;
        uint64_t random = 7;
        test_attention_init(&a, problems[n]);
        const int count = test_configs(&opencl, &a.problem, configs);
        for (int c = 0; c < count; c++) {
            fcl_plan *plan = test_plan(&opencl, &a.problem, FCL_FUSED, configs[c]);
            for (int i = 0; i < 20; i++) {
                test_sequences_scramble(&a, &random);
                assert_int_equal(test_attention_run(&opencl, &a, plan), FCL_OK);
            }
            fcl_plan_destroy(&plan);
        }
        test_attention_free(&a);
    }
}

static void other_paths_refuse(void **state)
{
    fcl_plan *plan = NULL;
    struct fcl_problem problem;
    (void)state;
    memset(&opencl.capture, 0, sizeof opencl.capture);
    assert_int_equal(fcl_problem_parse("fwd b2 q8 d16 used", &problem, NULL, 0), FCL_OK);
    assert_int_equal(fcl_plan_create(opencl.device, &problem,
                                     fcl_plan_options(.implementation = FCL_UNFUSED), &plan),
                     FCL_UNSUPPORTED);
    assert_non_null(strstr(opencl.capture.text, "sequences of one length only"));
    assert_int_equal(
        fcl_attention_run(opencl.device, opencl.queue, NULL, NULL, NULL, NULL, &problem, NULL),
        FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(opencl.capture.text, "lengths of sequences"));
}

// The call that checks names what it finds in device memory.
static void validation_reads_device_memory(void **state)
{
    struct test_attention a;
    struct fcl_attention_args args = {.struct_size = sizeof args};
    (void)state;
    test_attention_init(&a, "fwd b3 h2 q5 k40 d16 varlen page=8");
    fcl_plan *plan = test_plan(&opencl, &a.problem, FCL_FUSED, NULL);
    memset(&opencl.capture, 0, sizeof opencl.capture);
    for (int wrong = 0; wrong < 2; wrong++) {
        if (wrong)
            a.sequences.table[6] = (int32_t)a.sequences.page_count;
        test_attention_args(&opencl, &a, plan, &args);
        assert_int_equal(fcl_attention_validate(plan, opencl.queue, &args),
                         wrong ? FCL_INVALID_ARGUMENT : FCL_OK);
        test_attention_args_release(&args);
    }
    assert_non_null(strstr(opencl.capture.text, "table[6] (page 1 of sequence 1) is 15"));
    test_attention_args(&opencl, &a, plan, &args);
    args.total_q = 0; // perhaps it was forgotten
    assert_int_equal(fcl_attention_validate(plan, opencl.queue, &args), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(opencl.capture.text, "cu_q[1] is 5, allowed are up to total_q, 0"));
    test_attention_args_release(&args);
    no_table(&a);
    a.sequences.used_k[2] = 0;
    test_attention_args(&opencl, &a, plan, &args);
    assert_int_equal(fcl_attention_validate(plan, opencl.queue, &args), FCL_OK);
    test_attention_args_release(&args);
    args.cu_q = NULL;
    assert_int_equal(fcl_attention_validate(plan, opencl.queue, &args), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_attention_validate(plan, NULL, &args), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_attention_validate(NULL, opencl.queue, &args), FCL_INVALID_ARGUMENT);
    fcl_plan_destroy(&plan);
    test_attention_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_in_use),
        cmocka_unit_test(packed_sequences),
        cmocka_unit_test(packed_sequences_in_wider_rows),
        cmocka_unit_test(keys_in_pages),
        cmocka_unit_test(pages_with_strides),
        cmocka_unit_test(random_metadata_stays_inside),
        cmocka_unit_test(other_paths_refuse),
        cmocka_unit_test(validation_reads_device_memory),
    };
    if (!test_opencl_open(&opencl, NULL))
        return 77;
    const int failed = cmocka_run_group_tests_name("sequences", tests, NULL, NULL);
    test_opencl_close(&opencl);
    return failed;
}
