// The hot path allocates nothing: malloc and buffer creation are counted at the linker (--wrap) for
// the library's own code, during plan creation (a control: there are some) and during launches
// (there must be none).
#include "cmocka_all.h"

#include "attention.h"

static int allocations, buffers;

// The linker gives these their names.
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
cl_mem __real_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                             cl_int *code);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                             cl_int *code);

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

static void launches_allocate_nothing(void **state)
{
    (void)state;
    static const enum fcl_implementation implementations[] = {FCL_FUSED, FCL_UNFUSED};
    struct test_opencl opencl;
    struct fcl_problem problem;
    cl_int code;
    if (!test_opencl_open(&opencl, NULL))
        skip();
    assert_int_equal(fcl_problem_parse("fwd h2 q32 k32 d16", &problem, NULL, 0), FCL_OK);
    cl_mem buffer = clCreateBuffer(opencl.context, CL_MEM_READ_WRITE, 2 * 64 * 64 * 4, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    struct fcl_attention_args args = {
        .struct_size = sizeof args, .shape = {1, 2, 2, 32, 32}, .workspace = buffer};
    args.q.buffer = args.k.buffer = args.v.buffer = args.o.buffer = buffer;
    for (int i = 0; i < 2; i++) {
        allocations = buffers = 0;
        fcl_plan *plan = test_plan(&opencl, &problem, implementations[i], NULL);
        assert_true(allocations > 0 && buffers > 0);
        allocations = buffers = 0;
        for (int n = 0; n < 10; n++) {
            cl_event event;
            assert_int_equal(fcl_attention_enqueue(plan, opencl.queue, &args, 0, NULL, &event),
                             FCL_OK);
            clReleaseEvent(event);
        }
        assert_int_equal(allocations, 0);
        assert_int_equal(buffers, 0);
        clFinish(opencl.queue);
        fcl_plan_destroy(&plan);
    }
    clReleaseMemObject(buffer);
    test_opencl_close(&opencl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(launches_allocate_nothing)};
    return cmocka_run_group_tests_name("enqueue", tests, NULL, NULL);
}
