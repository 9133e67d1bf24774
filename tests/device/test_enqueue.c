// The hot path allocates nothing: malloc and buffer creation are counted at the linker (--wrap) for
// the library's own code, during plan creation (a control: there are some) and during launches
// (there must be none).
#include "cmocka_all.h"

#include "attention.h"

static int allocations, buffers, launches;
static cl_uint waits;                                  // of all launches
static int failing_argument = -1, failing_launch = -1; // which call from now on fails; -1: none

// The linker gives these their names.
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
cl_mem __real_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                             cl_int *code);
cl_int __real_clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value);
cl_int __real_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint wait_count, const cl_event *wait,
                                     cl_event *event);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                             cl_int *code);
cl_int __wrap_clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint wait_count, const cl_event *wait,
                                     cl_event *event);

void *__wrap_malloc(size_t size)
{
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocations++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    allocations++;
    return __real_realloc(old, size);
}

cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                             cl_int *code)
{
    buffers++;
    return __real_clCreateBuffer(context, flags, size, host, code);
}

cl_int __wrap_clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    if (failing_argument >= 0 && failing_argument-- == 0)
        return CL_INVALID_ARG_SIZE;
    return __real_clSetKernelArg(kernel, index, size, value);
}

cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint wait_count, const cl_event *wait,
                                     cl_event *event)
{
    if (failing_launch >= 0 && failing_launch-- == 0)
        return CL_OUT_OF_RESOURCES;
    launches++;
    waits += wait_count;
    return __real_clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, wait_count,
                                         wait, event);
}

// A fused and an unfused plan for one small problem, on one buffer for everything.
struct fixture {
    struct test_opencl opencl;
    fcl_plan *plans[2];
    fcl_merge *merge;
    cl_mem buffer;
    struct fcl_attention_args args;
};

static int set_up(void **state)
{
    static struct fixture f;
    struct fcl_problem problem;
    cl_int code;
    *state = NULL;
    memset(&f, 0, sizeof f);
    if (!test_opencl_open(&f.opencl, NULL))
        return 0;
    assert_int_equal(fcl_problem_parse("fwd h2 q32 k32 d16", &problem, NULL, 0), FCL_OK);
    f.buffer = clCreateBuffer(f.opencl.context, CL_MEM_READ_WRITE, 2 * 64 * 64 * 4, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    f.args = (struct fcl_attention_args){
        .struct_size = sizeof f.args, .shape = {1, 2, 2, 32, 32}, .workspace = f.buffer};
    f.args.q.buffer = f.args.k.buffer = f.args.v.buffer = f.args.o.buffer = f.buffer;
    allocations = buffers = 0;
    f.plans[0] = test_plan(&f.opencl, &problem, FCL_FUSED, NULL);
    f.plans[1] = test_plan(&f.opencl, &problem, FCL_UNFUSED, NULL);
    assert_int_equal(fcl_merge_create(f.opencl.device, FCL_F32, FCL_F32, FCL_F32, &f.merge),
                     FCL_OK);
    assert_true(allocations > 0 && buffers > 0); // the counters do count
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    if (!f)
        return 0;
    clFinish(f->opencl.queue);
    fcl_plan_destroy(&f->plans[0]);
    fcl_plan_destroy(&f->plans[1]);
    fcl_merge_destroy(&f->merge);
    clReleaseMemObject(f->buffer);
    test_opencl_close(&f->opencl);
    return 0;
}

static struct fixture *fixture_of(void **state)
{
    if (!*state)
        skip();
    allocations = buffers = launches = 0;
    waits = 0;
    return *state;
}

static void launches_allocate_nothing(void **state)
{
    struct fixture *f = fixture_of(state);
    for (int n = 0; n < 20; n++) {
        cl_event event;
        assert_int_equal(
            fcl_attention_enqueue(f->plans[n % 2], f->opencl.queue, &f->args, 0, NULL, &event),
            FCL_OK);
        clReleaseEvent(event);
    }
    assert_int_equal(allocations, 0);
    assert_int_equal(buffers, 0);
    assert_int_equal(launches, 10 * 1 + 10 * 3);
}

static enum fcl_status merge(const struct fixture *f, cl_event *event)
{
    return fcl_merge_enqueue(
        f->merge, f->opencl.queue,
        fcl_merge_args(.shape = {1, 2, 0, 32, 0}, .head_dim = 16, .a = f->args.q, .b = f->args.k,
                       .o = f->args.o, .lse_a = f->buffer, .lse_b = f->buffer, .lse = f->buffer),
        0, NULL, event);
}

static void merges_allocate_nothing(void **state)
{
    struct fixture *f = fixture_of(state);
    for (int n = 0; n < 20; n++)
        assert_int_equal(merge(f, NULL), FCL_OK);
    assert_int_equal(allocations, 0);
    assert_int_equal(buffers, 0);
    assert_int_equal(launches, 20);
    for (int n = 0; n < 8; n++) {
        cl_event event = NULL;
        failing_argument = n < 7 ? n : -1;
        failing_launch = n < 7 ? -1 : 0;
        assert_int_not_equal(merge(f, &event), FCL_OK);
        assert_null(event);
    }
    failing_argument = failing_launch = -1;
}

// Whichever call fails, enqueue says so, gives no event, and stops there.
static void every_failure_is_returned(void **state)
{
    struct fixture *f = fixture_of(state);
    static const int arguments[2] = {6, 11}, kernels[2] = {1, 3};
    for (int p = 0; p < 2; p++) {
        for (int n = 0; n < arguments[p] + kernels[p]; n++) {
            cl_event event = NULL;
            const int of_argument = n < arguments[p];
            memset(&f->opencl.capture, 0, sizeof f->opencl.capture);
            failing_argument = of_argument ? n : -1;
            failing_launch = of_argument ? -1 : n - arguments[p];
            launches = 0;
            assert_int_not_equal(
                fcl_attention_enqueue(f->plans[p], f->opencl.queue, &f->args, 0, NULL, &event),
                FCL_OK);
            assert_null(event);
            assert_true(launches < kernels[p]);
            assert_non_null(strstr(f->opencl.capture.text,
                                   of_argument ? "clSetKernelArg" : "clEnqueueNDRangeKernel"));
        }
    }
    failing_argument = failing_launch = -1;
    assert_int_equal(fcl_attention_enqueue(f->plans[1], f->opencl.queue, &f->args, 0, NULL, NULL),
                     FCL_OK);
}

// Kernels of one launch wait for each other by events where the queue keeps no order, and only
// there. The first waits for what the caller names.
static void kernels_of_a_launch_keep_their_order(void **state)
{
    struct fixture *f = fixture_of(state);
    cl_int code;
    cl_command_queue loose = clCreateCommandQueue(f->opencl.context, f->opencl.id,
                                                  CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
    if (code)
        skip(); // the device has no such queues
    cl_event before = clCreateUserEvent(f->opencl.context, &code), events[2] = {NULL};
    assert_int_equal(clSetUserEventStatus(before, CL_COMPLETE), CL_SUCCESS);
    for (int n = 0; n < 2; n++) {
        cl_command_queue queue = n ? loose : f->opencl.queue;
        waits = 0;
        assert_int_equal(fcl_attention_enqueue(f->plans[1], queue, &f->args, 1, &before, NULL),
                         FCL_OK);
        assert_int_equal(waits, n ? 3 : 1);
        assert_int_equal(fcl_attention_enqueue(f->plans[1], queue, &f->args, 0, NULL, &events[n]),
                         FCL_OK);
        assert_int_equal(waits, n ? 5 : 1);
        assert_int_equal(clFinish(queue), CL_SUCCESS);
        clReleaseEvent(events[n]);
    }
    clReleaseEvent(before);
    clReleaseCommandQueue(loose);
}

// No kernel is ever launched with nothing to do.
static void empty_launches_are_not_launched(void **state)
{
    struct fixture *f = fixture_of(state);
    for (int p = 0; p < 2; p++)
        for (int n = 0; n < 2; n++) {
            cl_event event = NULL;
            struct fcl_attention_args args = f->args;
            *(n ? &args.shape.batch : &args.shape.q_len) = 0;
            assert_int_equal(
                fcl_attention_enqueue(f->plans[p], f->opencl.queue, &args, 0, NULL, &event),
                FCL_OK);
            assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
            clReleaseEvent(event);
        }
    assert_int_equal(launches, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(launches_allocate_nothing), TEST(merges_allocate_nothing),
        TEST(every_failure_is_returned), TEST(kernels_of_a_launch_keep_their_order),
        TEST(empty_launches_are_not_launched)};
    return cmocka_run_group_tests_name("enqueue", tests, NULL, NULL);
}
