// Partial results and their merge: against double precision, over inputs, refusals, and attention
// in two parts against attention in one piece.
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>

#include "attention/problem.h"
#include "merge.h"

static struct test_opencl opencl, other; // the device, and as one that is no CPU

static void demand(const struct test_merge_case *c)
{
    char how[256];
    if (test_merge_notices(&opencl, c, how, sizeof how) ||
        test_merge_notices(&other, c, how, sizeof how))
        fail_msg("b%d h%d q%d d%d of %s and %s to %s, place %d: %s\n%s", (int)c->extents[0],
                 (int)c->extents[1], (int)c->extents[2], (int)c->extents[3], fcl_dtype_text(c->a),
                 fcl_dtype_text(c->b), fcl_dtype_text(c->o), (int)c->place, how,
                 opencl.capture.text);
}

// 36: parts that weigh alike, one that outweighs the other, parts without keys, everywhere.
static void merges_are_right(void **state)
{
    (void)state;
    static const int64_t extents[][4] = {
        {1, 1, 13, 1}, {2, 3, 9, 63}, {1, 2, 13, 64}, {3, 1, 9, 129}, {1, 1, 13, 1024}};
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++)
        for (int place = TEST_APART; place <= TEST_OVER_B; place++) {
            struct test_merge_case c = {.place = (enum test_merge_place)place};
            memcpy(c.extents, extents[i], sizeof c.extents);
            demand(&c);
        }
}

static void element_types_mix(void **state)
{
    (void)state;
    for (int i = 0; i < 27; i += 2) { // every pair of types meets
        const struct test_merge_case c = {.extents = {2, 2, 7, 20},
                                          .a = (enum fcl_dtype)(i % 3),
                                          .b = (enum fcl_dtype)(i / 3 % 3),
                                          .o = (enum fcl_dtype)(i / 9)};
        demand(&c);
    }
}

static void strides_are_free(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        const struct test_merge_case c = {.extents = {2, 3, 8, 33},
                                          .a = FCL_F16,
                                          .b = FCL_F32,
                                          .o = FCL_BF16,
                                          .place = (enum test_merge_place)i,
                                          .strided = 1,
                                          .no_lse = i == 0};
        demand(&c);
    }
}

// ---- attention in two parts

// Keys [0, first) and the rest of a problem, each by a plan that writes LSE in fp32, then joined;
// the judgement is that of the whole. 35, 37.
static void check_two_parts(const char *text, int64_t first)
{
    struct test_attention whole, part[2];
    test_attention_init(&whole, text);
    const int64_t k_len = whole.problem.k_len;
    fcl_plan *plan = test_plan(&opencl, &whole.problem, FCL_FUSED, NULL);
    for (int n = 0; n < 2; n++) {
        struct fcl_problem *p = &part[n].problem;
        const size_t skipped = n ? (size_t)first : 0;
        test_attention_init(&part[n], text);
        p->k_len = n ? k_len - first : first;
        part[n].k.offset = skipped * (size_t)part[n].k.strides[2] * fcl_dtype_size(p->dtype_k);
        part[n].v.offset = skipped * (size_t)part[n].v.strides[2] * fcl_dtype_size(p->dtype_v);
        part[n].k.extents[2] = part[n].v.extents[2] = p->k_len;
        assert_int_equal(test_attention_run(&opencl, &part[n], plan), FCL_OK);
    }
    fcl_plan_destroy(&plan);
    const size_t rows = (size_t)(whole.problem.batch * whole.problem.heads_q * whole.problem.q_len);
    cl_mem a = test_guarded_buffer(&opencl, part[0].o.data, part[0].o.bytes);
    cl_mem b = test_guarded_buffer(&opencl, part[1].o.data, part[1].o.bytes);
    cl_mem lse_a = test_guarded_buffer(&opencl, part[0].lse, rows * sizeof *whole.lse);
    cl_mem lse_b = test_guarded_buffer(&opencl, part[1].lse, rows * sizeof *whole.lse);
    fcl_merge *merge;
    const enum fcl_dtype o = whole.problem.dtype_o;
    assert_int_equal(fcl_merge_create(opencl.device, o, o, o, &merge), FCL_OK);
    assert_int_equal(
        fcl_merge_enqueue(
            merge, opencl.queue,
            fcl_merge_args(.shape = {whole.problem.batch, whole.problem.heads_q,
                                     whole.problem.heads_kv, whole.problem.q_len, k_len},
                           .head_dim = whole.problem.head_dim_v, .layout = whole.problem.layout,
                           .a = {.buffer = a, .offset = TEST_GUARD},
                           .b = {.buffer = b, .offset = TEST_GUARD},
                           .o = {.buffer = a, .offset = TEST_GUARD}, .lse_a = lse_a, .lse_b = lse_b,
                           .lse = lse_a, .lse_a_offset = TEST_GUARD, .lse_b_offset = TEST_GUARD,
                           .lse_offset = TEST_GUARD),
            0, NULL, NULL),
        FCL_OK);
    assert_true(test_guarded_read(&opencl, a, whole.o.data, whole.o.bytes));
    assert_true(test_guarded_read(&opencl, lse_a, whole.lse, rows * sizeof *whole.lse));
    const struct fcl_comparison c = test_attention_compare(&whole, 0);
    if (!(c.ratio <= 1.0))
        fail_msg("%s in parts of %d and %d keys: ratio %g", text, (int)first, (int)(k_len - first),
                 c.ratio);
    fcl_merge_destroy(&merge);
    cl_mem all[] = {a, b, lse_a, lse_b};
    for (size_t i = 0; i < 4; i++)
        clReleaseMemObject(all[i]);
    test_attention_free(&whole);
    test_attention_free(&part[0]);
    test_attention_free(&part[1]);
}

static void two_parts_are_the_whole(void **state)
{
    (void)state;
    check_two_parts("fwd b1 h6/1 q5 k97 d20 lse", 40);
    check_two_parts("fwd b1 h6/1 q5 k97 d20 lse", 0);
    check_two_parts("fwd b1 h4/1 q9 k70 d24 lse layout=bshd q:f16 k:f16 v:f16 o:f32", 69);
}

// ---- refusals

static void demand_refusal(const fcl_merge *merge, const struct fcl_merge_args *args,
                           enum fcl_status status, const char *message)
{
    memset(&opencl.capture, 0, sizeof opencl.capture);
    cl_event event = NULL;
    assert_int_equal(fcl_merge_enqueue(merge, opencl.queue, args, 0, NULL, &event), status);
    assert_null(event);
    if (!strstr(opencl.capture.text, message))
        fail_msg("'%s' is not in: %s", message, opencl.capture.text);
}

#define REFUSE(field, value, status, message)                 \
    do {                                                      \
        struct fcl_merge_args wrong = right;                  \
        wrong.field = value;                                  \
        demand_refusal(merge, &wrong, FCL_##status, message); \
    } while (0)

static void wrong_arguments_are_named(void **state)
{
    (void)state;
    fcl_merge *merge;
    cl_int code;
    cl_mem buffer = clCreateBuffer(opencl.context, CL_MEM_READ_WRITE, 1024, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    const struct fcl_tensor tensor = {.buffer = buffer};
    const struct fcl_merge_args right = {.struct_size = sizeof right,
                                         .shape = {1, 2, 0, 4, 0},
                                         .head_dim = 8,
                                         .a = tensor,
                                         .b = tensor,
                                         .o = tensor,
                                         .lse_a = buffer,
                                         .lse_b = buffer,
                                         .lse = buffer,
                                         .lse_offset = 512};
    assert_int_equal(fcl_merge_create(opencl.device, FCL_F32, FCL_F32, FCL_F32, &merge), FCL_OK);
    REFUSE(head_dim, 0, INVALID_ARGUMENT, "head_dim is 0, allowed are 1 to 1024");
    REFUSE(head_dim, 1025, INVALID_ARGUMENT, "head_dim is 1025");
    REFUSE(shape.heads_q, 0, INVALID_ARGUMENT, "shape.heads_q is 0");
    REFUSE(shape.q_len, 1 << 30, INVALID_ARGUMENT, "a holds 1024 bytes");
    REFUSE(shape.batch, 1 << 10, INVALID_ARGUMENT, "a holds 1024 bytes, the launch needs 262144");
    REFUSE(layout, (enum fcl_layout)7, INVALID_ARGUMENT, "layout is 7");
    REFUSE(a.buffer, NULL, INVALID_ARGUMENT, "a.buffer is NULL");
    REFUSE(b.offset, 2, INVALID_ARGUMENT, "b.offset is 2 bytes, allowed are multiples of 4");
    REFUSE(o.strides[3], 1, INVALID_ARGUMENT, "o has elements that overlap");
    REFUSE(a.strides[2], -1, INVALID_ARGUMENT, "a.strides[2]");
    REFUSE(lse_a, NULL, INVALID_ARGUMENT, "lse_a is NULL, the launch needs 32 bytes");
    REFUSE(lse_b_offset, 3, INVALID_ARGUMENT, "lse_b_offset is 3 bytes");
    REFUSE(lse_offset, 1000, INVALID_ARGUMENT, "lse holds 1024 bytes, the launch needs 1032");
    REFUSE(struct_size, 4, INVALID_ARGUMENT, "args.struct_size is 4");
    struct fcl_merge_args large = right;
    large.shape.batch = large.shape.q_len = 1 << 16;
    demand_refusal(merge, &large, FCL_UNSUPPORTED, "8589934592 rows");
    assert_int_equal(fcl_merge_enqueue(NULL, opencl.queue, &right, 0, NULL, NULL),
                     FCL_INVALID_ARGUMENT);
    demand_refusal(merge, NULL, FCL_INVALID_ARGUMENT, "args is NULL");
    assert_int_equal(fcl_merge_enqueue(merge, opencl.queue, &right, 1, NULL, NULL),
                     FCL_INVALID_ARGUMENT);
    fcl_merge_destroy(&merge);
    assert_null(merge);
    assert_int_equal(fcl_merge_create(opencl.device, FCL_F32, (enum fcl_dtype)9, FCL_F32, &merge),
                     FCL_INVALID_ARGUMENT);
    assert_null(merge);
    assert_non_null(strstr(opencl.capture.text, "dtype_b is 9"));
    clReleaseMemObject(buffer);
}

// Nothing to do is a success and still an event, after what is waited for.
static void empty_merges_give_events(void **state)
{
    (void)state;
    fcl_merge *merge;
    cl_event before = clCreateUserEvent(opencl.context, NULL), event = NULL;
    assert_int_equal(fcl_merge_create(opencl.device, FCL_F32, FCL_F32, FCL_F32, &merge), FCL_OK);
    assert_int_equal(fcl_merge_enqueue(merge, opencl.queue,
                                       fcl_merge_args(.shape = {0, 2, 0, 4, 0}, .head_dim = 8), 1,
                                       &before, &event),
                     FCL_OK);
    assert_non_null(event);
    cl_int done = CL_COMPLETE;
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof done, &done, NULL);
    assert_int_not_equal(done, CL_COMPLETE);
    clSetUserEventStatus(before, CL_COMPLETE);
    assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
    clReleaseEvent(event);
    clReleaseEvent(before);
    fcl_merge_destroy(&merge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_are_right),          cmocka_unit_test(element_types_mix),
        cmocka_unit_test(strides_are_free),          cmocka_unit_test(two_parts_are_the_whole),
        cmocka_unit_test(wrong_arguments_are_named), cmocka_unit_test(empty_merges_give_events),
    };
    if (!test_opencl_open(&opencl, NULL))
        return 77;
    test_merge_elsewhere(&opencl, &other);
    const int failed = cmocka_run_group_tests_name("partial results", tests, NULL, NULL);
    fcl_device_destroy(&other.device);
    test_opencl_close(&opencl);
    return failed;
}
