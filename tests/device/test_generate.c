// Generated source outside of the library: built and launched by hand.
#include "cmocka_all.h"

#include "attention.h"
#include "choices.h"

static const char *const buffer_names[] = {"q",     "k",      "v",    "o",       "lse",
                                           "sinks", "slopes", "bias", "visible", "workspace"};
#define BUFFERS (sizeof buffer_names / sizeof *buffer_names)

static cl_kernel build(const struct test_opencl *opencl, const struct fcl_generated *generated)
{
    cl_int code;
    const char *source = generated->source;
    cl_program program = clCreateProgramWithSource(opencl->context, 1, &source, NULL, &code);
    assert_int_equal(clBuildProgram(program, 1, &opencl->id, generated->flags, NULL, NULL),
                     CL_SUCCESS);
    cl_kernel kernel = clCreateKernel(program, generated->label, &code);
    assert_int_equal(code, CL_SUCCESS);
    clReleaseProgram(program);
    return kernel;
}

static void make_buffers(const struct test_opencl *opencl, const struct test_attention *a,
                         size_t lse_bytes, cl_mem buffers[BUFFERS])
{
    static const float anything[1 << 18] = {1.0f};
    const size_t heads = (size_t)a->problem.heads_q * sizeof(float);
    const struct {
        const void *data;
        size_t bytes;
    } contents[BUFFERS] = {{a->q.data, a->q.bytes},
                           {a->k.data, a->k.bytes},
                           {a->v.data, a->v.bytes},
                           {NULL, a->o.bytes},
                           {NULL, lse_bytes},
                           {a->sinks, heads},
                           {a->slopes, heads},
                           {a->bias.data, a->bias.bytes},
                           {a->visible.data, a->visible.bytes},
                           {anything, sizeof anything}};
    for (size_t i = 0; i < BUFFERS; i++) {
        cl_int code;
        const size_t bytes = contents[i].bytes ? contents[i].bytes : 4;
        buffers[i] = clCreateBuffer(opencl->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
        assert_int_equal(code, CL_SUCCESS);
        if (contents[i].data)
            clEnqueueWriteBuffer(opencl->queue, buffers[i], CL_TRUE, 0, bytes, contents[i].data, 0,
                                 NULL, NULL);
    }
}

static const cl_mem *find_buffer(const char *name, const cl_mem buffers[BUFFERS])
{
    for (size_t i = 0; i < BUFFERS; i++)
        if (!strcmp(buffer_names[i], name))
            return &buffers[i];
    fail_msg("%s is no known argument", name);
    return NULL;
}

static void launch(const struct test_opencl *opencl, cl_kernel kernel,
                   const struct fcl_generated *generated, cl_mem buffers[BUFFERS])
{
    for (cl_uint i = 0; i < generated->argument_count; i++) {
        const struct fcl_argument *x = &generated->arguments[i];
        const int is_buffer = x->kind == FCL_ARGUMENT_BUFFER;
        assert_int_equal(clSetKernelArg(kernel, i, is_buffer ? sizeof(cl_mem) : x->size,
                                        is_buffer ? find_buffer(x->name, buffers) : x->bytes),
                         CL_SUCCESS);
    }
    const size_t global = generated->groups * generated->group_size;
    assert_int_equal(clEnqueueNDRangeKernel(opencl->queue, kernel, 1, NULL, &global,
                                            &generated->group_size, 0, NULL, NULL),
                     CL_SUCCESS);
}

static void run(struct test_opencl *opencl, const char *problem, const struct fcl_config *config,
                cl_uint argument_count)
{
    struct test_attention a;
    struct fcl_generated generated;
    cl_mem buffers[BUFFERS];
    test_attention_init(&a, problem);
    const size_t lse_bytes = (size_t)(a.problem.heads_q * a.problem.q_len) * sizeof(float);
    assert_int_equal(fcl_attention_generate(&a.problem, fcl_device_caps(opencl->device), config,
                                            NULL, &generated, NULL, 0),
                     FCL_OK);
    assert_int_equal(generated.argument_count, argument_count);
    cl_kernel kernel = build(opencl, &generated);
    make_buffers(opencl, &a, lse_bytes, buffers);
    launch(opencl, kernel, &generated, buffers);
    clEnqueueReadBuffer(opencl->queue, buffers[3], CL_TRUE, 0, a.o.bytes, a.o.data, 0, NULL, NULL);
    clEnqueueReadBuffer(opencl->queue, buffers[4], CL_TRUE, 0, lse_bytes, a.lse, 0, NULL, NULL);
    assert_true(test_attention_compare(&a, 0).ratio <= 1.0);
    for (size_t i = 0; i < BUFFERS; i++)
        clReleaseMemObject(buffers[i]);
    clReleaseKernel(kernel);
    fcl_generated_free(&generated);
    fcl_generated_free(&generated);
    test_attention_free(&a);
}

// What generate writes is what a plan runs: it gives the reference's result.
static void generated_source_runs_anywhere(void **state)
{
    struct test_opencl opencl;
    (void)state;
    if (!test_opencl_open(&opencl, NULL))
        skip();
    run(&opencl, "fwd h4/2 q20 k37 d40 causal-br lse", NULL, 6);
    run(&opencl, "fwd h4/2 q20 k37 d40 br alibi=given bias=f16 mask=u8 sink lse", NULL, 10);
    const struct fcl_config split = test_config("nvidia_mma_m16n64w32g1s4");
    if (!fcl_family_usable(split.family, fcl_device_caps(opencl.device), NULL, 0))
        run(&opencl, "fwd h4/2 q3 k600 d64 f16 causal-br lse", &split, 10);
    test_opencl_close(&opencl);
}

// What a kernel reads beyond the tensors stands behind them, in one order.
static void metadata_are_the_last_arguments(void **state)
{
    static const char *const names[] = {"q",    "k",     "v",      "o",      "lse",
                                        "args", "sinks", "slopes", "bias",   "visible",
                                        "cu_q", "cu_k",  "used_q", "used_k", "table"};
    struct fcl_problem problem;
    struct fcl_generated generated;
    const struct fcl_caps caps = {.group_size = 1024, .local_bytes = 1 << 16};
    (void)state;
    assert_int_equal(
        fcl_problem_parse("fwd b2 h2 q8 k16 d16 br alibi=given bias=f16 mask=u8 sink varlen page=4",
                          &problem, NULL, 0),
        FCL_OK);
    struct fcl_config config;
    assert_int_equal(fcl_config_parse("generic_m16n16w64r4d16", &config, NULL, 0), FCL_OK);
    assert_int_equal(fcl_attention_generate(&problem, &caps, &config, NULL, &generated, NULL, 0),
                     FCL_OK);
    assert_int_equal(generated.argument_count, sizeof names / sizeof *names);
    for (size_t i = 0; i < generated.argument_count; i++)
        assert_string_equal(generated.arguments[i].name, names[i]);
    fcl_generated_free(&generated);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(generated_source_runs_anywhere),
                                       cmocka_unit_test(metadata_are_the_last_arguments)};
    return cmocka_run_group_tests_name("generate", tests, NULL, NULL);
}
