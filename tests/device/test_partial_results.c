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
    for (int i = 0; i < 9; i++) { // every pair of types meets, in every pair of places
        const struct test_merge_case c = {.extents = {2, 2, 7, 20},
                                          .a = (enum fcl_dtype)(i % 3),
                                          .b = (enum fcl_dtype)(i / 3),
                                          .o = (enum fcl_dtype)((i + i / 3) % 3)};
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

static size_t lse_bytes(const struct test_attention *a)
{
    return (size_t)(a->problem.batch * a->problem.heads_q * a->problem.q_len) * sizeof *a->lse;
}

// Runs a problem on keys [first, end) alone.
static void run_part(struct test_attention *part, const char *text, const fcl_plan *plan,
                     int64_t first, int64_t end)
{
    test_attention_init(part, text);
    part->problem.k_len = end - first;
    struct test_tensor *const tensors[] = {&part->k, &part->v};
    for (int i = 0; i < 2; i++) {
        tensors[i]->offset =
            (size_t)(first * tensors[i]->strides[2]) * fcl_dtype_size(tensors[i]->dtype);
        tensors[i]->extents[2] = end - first;
    }
    assert_int_equal(test_attention_run(&opencl, part, plan), FCL_OK);
}

// Merges two parts, over the first of them, into the whole's outputs.
static void join(struct test_attention *whole, const struct test_attention part[2])
{
    cl_mem o[2], lse[2];
    fcl_merge *merge;
    const struct fcl_problem *p = &whole->problem;
    for (int i = 0; i < 2; i++) {
        o[i] = test_guarded_buffer(&opencl, part[i].o.data, part[i].o.bytes);
        lse[i] = test_guarded_buffer(&opencl, part[i].lse, lse_bytes(whole));
    }
    const struct fcl_merge_args args = {
        .struct_size = sizeof args,
        .shape = {p->batch, p->heads_q, p->heads_kv, p->q_len, p->k_len},
        .head_dim = p->head_dim_v,
        .layout = p->layout,
        .a = {.buffer = o[0], .offset = TEST_GUARD},
        .b = {.buffer = o[1], .offset = TEST_GUARD},
        .o = {.buffer = o[0], .offset = TEST_GUARD},
        .lse_a = lse[0],
        .lse_b = lse[1],
        .lse = lse[0],
        .lse_a_offset = TEST_GUARD,
        .lse_b_offset = TEST_GUARD,
        .lse_offset = TEST_GUARD};
    assert_int_equal(fcl_merge_create(opencl.device, p->dtype_o, p->dtype_o, p->dtype_o, &merge),
                     FCL_OK);
    assert_int_equal(fcl_merge_enqueue(merge, opencl.queue, &args, 0, NULL, NULL), FCL_OK);
    fcl_merge_destroy(&merge); // the launch goes on
    assert_true(test_guarded_read(&opencl, o[0], whole->o.data, whole->o.bytes));
    assert_true(test_guarded_read(&opencl, lse[0], whole->lse, lse_bytes(whole)));
    for (int i = 0; i < 2; i++) {
        clReleaseMemObject(o[i]);
        clReleaseMemObject(lse[i]);
    }
}

// Keys [0, first) and the rest of a problem, each by a plan that writes LSE, then joined; the
// judgement is that of the whole. 35, 37.
static void check_two_parts(const char *text, int64_t first)
{
    struct test_attention whole, part[2];
    test_attention_init(&whole, text);
    fcl_plan *plan = test_plan(&opencl, &whole.problem, FCL_FUSED, NULL);
    run_part(&part[0], text, plan, 0, first);
    run_part(&part[1], text, plan, first, whole.problem.k_len);
    fcl_plan_destroy(&plan);
    join(&whole, part);
    const struct fcl_comparison c = test_attention_compare(&whole, 0);
    if (!(c.ratio <= 1.0))
        fail_msg("%s in two parts from key %d: ratio %g", text, (int)first, c.ratio);
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

// All in one buffer of 1024 bytes.
static struct fcl_merge_args right_arguments(cl_mem buffer)
{
    const struct fcl_tensor tensor = {.buffer = buffer};
    return (struct fcl_merge_args){.struct_size = sizeof(struct fcl_merge_args),
                                   .shape = {1, 2, 0, 4, 0},
                                   .head_dim = 8,
                                   .a = tensor,
                                   .b = tensor,
                                   .o = tensor,
                                   .lse_a = buffer,
                                   .lse_b = buffer,
                                   .lse = buffer,
                                   .lse_offset = 512};
}

static void wrong_arguments_are_named(void **state)
{
    (void)state;
    fcl_merge *merge;
    cl_int code;
    cl_mem buffer = clCreateBuffer(opencl.context, CL_MEM_READ_WRITE, 1024, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    const struct fcl_merge_args right = right_arguments(buffer);
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
    REFUSE(a.strides[2], -2, INVALID_ARGUMENT, "a.strides[2]");
    REFUSE(lse_a, NULL, INVALID_ARGUMENT, "lse_a is NULL, the launch needs 32 bytes");
    REFUSE(lse_b_offset, 3, INVALID_ARGUMENT, "lse_b_offset is 3 bytes");
    REFUSE(lse_offset, 1000, INVALID_ARGUMENT, "lse holds 1024 bytes, the launch needs 1032");
    REFUSE(struct_size, 4, INVALID_ARGUMENT, "args.struct_size is 4");
    struct fcl_merge_args large = right;
    large.shape.batch = large.shape.q_len = 1 << 16;
    demand_refusal(merge, &large, FCL_UNSUPPORTED, "8589934592 rows");
    demand_refusal(merge, NULL, FCL_INVALID_ARGUMENT, "args is NULL");
    assert_int_equal(fcl_merge_enqueue(merge, opencl.queue, &right, 1, NULL, NULL),
                     FCL_INVALID_ARGUMENT);
    fcl_merge_destroy(&merge);
    assert_null(merge);
    clReleaseMemObject(buffer);
}

static void wrong_types_and_handles_are_refused(void **state)
{
    (void)state;
    fcl_merge *merge;
    assert_int_equal(
        fcl_merge_enqueue(NULL, opencl.queue, fcl_merge_args(.head_dim = 8), 0, NULL, NULL),
        FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_merge_create(NULL, FCL_F32, FCL_F32, FCL_F32, &merge),
                     FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_merge_create(opencl.device, FCL_F32, (enum fcl_dtype)9, FCL_F32, &merge),
                     FCL_INVALID_ARGUMENT);
    assert_null(merge);
    assert_non_null(strstr(opencl.capture.text, "dtype_b is 9"));
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
        cmocka_unit_test(merges_are_right),
        cmocka_unit_test(element_types_mix),
        cmocka_unit_test(strides_are_free),
        cmocka_unit_test(two_parts_are_the_whole),
        cmocka_unit_test(wrong_arguments_are_named),
        cmocka_unit_test(wrong_types_and_handles_are_refused),
        cmocka_unit_test(empty_merges_give_events),
    };
    if (!test_opencl_open(&opencl, NULL))
        return 77;
    test_merge_elsewhere(&opencl, &other);
    const int failed = cmocka_run_group_tests_name("partial results", tests, NULL, NULL);
    fcl_device_destroy(&other.device);
    test_opencl_close(&opencl);
    return failed;
}
