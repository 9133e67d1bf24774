// Builds and runs kernels of tests behind the library's kernel text.
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>

#include "attention/problem.h"
#include "attention/spec.h"
#include "files.h"
#include "kernels.h"

static int build(struct test_kernels *kernels, struct test_opencl *opencl,
                 const struct test_kernels_row *row, const char *appended)
{
    struct fcl_problem given;
    struct fcl_text source = {0}, label = {0};
    char reason[256];
    memset(kernels, 0, sizeof *kernels);
    kernels->opencl = opencl;
    snprintf(kernels->name, sizeof kernels->name, "%s with %s", row->problem, row->config);
    if (fcl_problem_parse(row->problem, &given, reason, sizeof reason) ||
        fcl_problem_complete(&given, &kernels->problem, reason, sizeof reason) ||
        fcl_config_parse(row->config, &kernels->config, reason, sizeof reason))
        fail_msg("%s: %s", kernels->name, reason);
    if (fcl_config_validate(&kernels->config, &kernels->problem, fcl_device_caps(opencl->device),
                            reason, sizeof reason)) {
        print_message("left out: %s: %s\n", kernels->name, reason);
        return 0;
    }
    fcl_spec_label(&kernels->problem, &kernels->config, FCL_FUSED, &label);
    if (fcl_spec_source(&kernels->problem, &kernels->config, FCL_FUSED, getenv("FCL_TEST_KERNELS"),
                        &source, reason, sizeof reason))
        fail_msg("%s: %s", kernels->name, reason);
    fcl_text_add(&source, "\n#line 1 \"test kernels\"\n%s", appended);
    const struct fcl_program_request request = {.label = label.data,
                                                .source = source.data,
                                                .flags = "",
                                                .kernels = {label.data},
                                                .read_only = 1};
    if (fcl_program_create(opencl->device, &request, &kernels->program))
        fail_msg("%s does not build:\n%s", kernels->name, opencl->capture.text);
    fcl_text_free(&source);
    fcl_text_free(&label);
    return 1;
}

size_t test_kernels_build(struct test_kernels *kernels, struct test_opencl *opencl,
                          const struct test_kernels_row *rows, size_t count, const char *folder,
                          const char *file)
{
    char path[TEST_PATH_SIZE];
    size_t size, built = 0;
    test_path(path, folder, file);
    unsigned char *text = test_file_read(path, &size);
    text[size] = 0;
    for (size_t i = 0; i < count; i++)
        built += (size_t)build(&kernels[built], opencl, &rows[i], (const char *)text);
    free(text);
    return built;
}

void test_kernels_free(struct test_kernels *kernels, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fcl_program_destroy(&kernels[i].program);
}

void *test_poisoned(size_t bytes)
{
    void *memory = malloc(bytes + 1);
    assert_non_null(memory);
    return memset(memory, TEST_POISON, bytes);
}

int test_kernels_lanes(const struct test_kernels *kernels)
{
    return kernels->config.family == FCL_FAMILY_VECTOR ? kernels->config.width : 1;
}

size_t test_kernels_items(const struct test_kernels *kernels)
{
    return fcl_config_group_size(&kernels->config);
}

static cl_mem make_buffer(const struct test_kernels *kernels, const struct test_argument *argument)
{
    cl_int code;
    cl_mem buffer =
        clCreateBuffer(kernels->opencl->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                       argument->size, argument->data, &code);
    assert_int_equal(code, CL_SUCCESS);
    return buffer;
}

void test_kernels_run(const struct test_kernels *kernels, const char *name, size_t groups,
                      size_t items, const struct test_argument *arguments)
{
    cl_command_queue queue = kernels->opencl->queue;
    cl_mem buffers[TEST_ARGUMENTS_LIMIT] = {0};
    cl_int code;
    cl_kernel kernel = clCreateKernel(kernels->program.program, name, &code);
    assert_int_equal(code, CL_SUCCESS);
    for (cl_uint i = 0; arguments[i].size; i++) {
        assert_true(i < TEST_ARGUMENTS_LIMIT);
        const int is_value = arguments[i].kind == TEST_VALUE;
        if (!is_value)
            buffers[i] = make_buffer(kernels, &arguments[i]);
        code = clSetKernelArg(kernel, i, is_value ? arguments[i].size : sizeof buffers[i],
                              is_value ? arguments[i].data : (void *)&buffers[i]);
        assert_int_equal(code, CL_SUCCESS);
    }
    const size_t global = groups * items;
    code = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &items, 0, NULL, NULL);
    assert_int_equal(code, CL_SUCCESS);
    for (cl_uint i = 0; arguments[i].size; i++) {
        if (arguments[i].kind == TEST_OUTPUT) {
            code = clEnqueueReadBuffer(queue, buffers[i], CL_TRUE, 0, arguments[i].size,
                                       arguments[i].data, 0, NULL, NULL);
            assert_int_equal(code, CL_SUCCESS);
        }
        if (buffers[i])
            clReleaseMemObject(buffers[i]);
    }
    assert_int_equal(clFinish(queue), CL_SUCCESS);
    clReleaseKernel(kernel);
}

int test_is_visible(const struct fcl_problem *problem, int64_t i, int64_t j)
{
    const enum fcl_mask mask = problem->mask;
    const int bottom = mask == FCL_MASK_CAUSAL_BOTTOM_RIGHT || mask == FCL_MASK_BOTTOM_RIGHT;
    const int causal = mask == FCL_MASK_CAUSAL_BOTTOM_RIGHT || mask == FCL_MASK_CAUSAL_TOP_LEFT;
    const int64_t place = bottom ? i + problem->k_len - problem->q_len : i;
    const int64_t left = problem->window_left, right = problem->window_right;
    if (j < 0 || j >= problem->k_len || (causal && j > place))
        return 0;
    return !problem->window ||
           ((left < 0 || j >= place - left) && (right < 0 || j <= place + right));
}

static void set_tensor(const struct test_tensor *tensor, int64_t strides[4], int64_t *start)
{
    memcpy(strides, tensor->strides, sizeof tensor->strides);
    *start = (int64_t)(tensor->offset / fcl_dtype_size(tensor->dtype));
}

struct fcl_kernel_args test_kernel_args(const struct test_kernels *kernels,
                                        const struct test_attention *attention)
{
    const struct fcl_problem *p = &attention->problem;
    const int block = kernels->config.block_m;
    struct fcl_kernel_args a = {
        .score_pitch = (p->q_len + block - 1) / block * block,
        .q_len = (int32_t)p->q_len,
        .k_len = (int32_t)p->k_len,
        .heads = (int32_t)p->heads_q,
        .group = (int32_t)(p->heads_q / p->heads_kv),
        .all_heads = (int32_t)(p->batch * p->heads_q),
        .together = 1,
        .shift = p->mask == FCL_MASK_CAUSAL_BOTTOM_RIGHT ? (int32_t)(p->k_len - p->q_len) : 0,
        .unit = attention->scale,
        .unit_size = fabsf(attention->scale)};
    set_tensor(&attention->q, a.q_strides, &a.q_start);
    set_tensor(&attention->k, a.k_strides, &a.k_start);
    set_tensor(&attention->v, a.v_strides, &a.v_start);
    set_tensor(&attention->o, a.o_strides, &a.o_start);
    return a;
}
