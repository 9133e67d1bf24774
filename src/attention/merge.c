// Merges partial results: a kernel for each choice of element types, built once, proved, and
// enqueued like a plan.
#include "merge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/argument.h"
#include "core/element.h"
#include "core/source.h"
#include "launch.h"
#include "problem.h"

// ---- the launch

// What a launch comes to, once its arguments were found to be valid.
struct work {
    struct fcl_merge_numbers numbers;
    uint64_t rows;                                               // 0: nothing to do
    uint64_t a_end, b_end, o_end, a_lse_end, b_lse_end, lse_end; // bytes each buffer must have
};

static enum fcl_status prepare_lse(const char *name, size_t offset, uint64_t rows, int64_t *start,
                                   uint64_t *end, char *reason, size_t size)
{
    if (offset % sizeof(float))
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "%s_offset is %zu bytes, allowed are multiples of 4", name, offset);
    if (__builtin_add_overflow((uint64_t)offset, rows * sizeof(float), end))
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "%s_offset is %zu bytes, which leaves no room for %llu more", name, offset,
                        (unsigned long long)(rows * sizeof(float)));
    *start = (int64_t)(offset / sizeof(float));
    return FCL_OK;
}

static enum fcl_status prepare_all_lse(const struct fcl_merge_args *args, struct work *work,
                                       char *reason, size_t size)
{
    struct fcl_merge_numbers *n = &work->numbers;
    enum fcl_status status = prepare_lse("lse_a", args->lse_a_offset, work->rows, &n->a_lse_start,
                                         &work->a_lse_end, reason, size);
    if (!status)
        status = prepare_lse("lse_b", args->lse_b_offset, work->rows, &n->b_lse_start,
                             &work->b_lse_end, reason, size);
    n->writes_lse = args->lse != NULL;
    if (!status && args->lse)
        status = prepare_lse("lse", args->lse_offset, work->rows, &n->lse_start, &work->lse_end,
                             reason, size);
    return status;
}

static enum fcl_status prepare_tensor(const struct fcl_merge_args *args,
                                      struct fcl_operand *operand, char *reason, size_t size)
{
    const struct fcl_problem any = {.layout = args->layout, .alignment = 1, .strided = 1};
    const int64_t extents[4] = {args->shape.batch, args->shape.heads_q, args->shape.q_len,
                                args->head_dim};
    const size_t element = operand->element, offset = operand->tensor->offset;
    memcpy(operand->extents, extents, sizeof extents);
    if (offset % element)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "%s.offset is %zu bytes, allowed are multiples of %zu", operand->name,
                        offset, element);
    return fcl_operand_prepare(&any, operand, reason, size);
}

static enum fcl_status prepare_tensors(const struct fcl_merge *merge,
                                       const struct fcl_merge_args *args, struct work *work,
                                       char *reason, size_t size)
{
    struct fcl_merge_numbers *n = &work->numbers;
    struct fcl_operand operands[] = {
        {.name = "a",
         .tensor = &args->a,
         .element = fcl_dtype_size(merge->dtype_a),
         .strides = n->a_strides,
         .start = &n->a_start,
         .end = &work->a_end},
        {.name = "b",
         .tensor = &args->b,
         .element = fcl_dtype_size(merge->dtype_b),
         .strides = n->b_strides,
         .start = &n->b_start,
         .end = &work->b_end},
        {.name = "o",
         .tensor = &args->o,
         .element = fcl_dtype_size(merge->dtype_o),
         .strides = n->o_strides,
         .start = &n->o_start,
         .end = &work->o_end,
         .is_output = 1},
    };
    enum fcl_status status = FCL_OK;
    for (size_t i = 0; i < FCL_COUNT(operands) && !status; i++)
        status = prepare_tensor(args, &operands[i], reason, size);
    n->unit = n->a_strides[3] == 1 && n->b_strides[3] == 1 && n->o_strides[3] == 1;
    return status;
}

static enum fcl_status prepare(const struct fcl_merge *merge, const struct fcl_merge_args *args,
                               struct work *work, char *reason, size_t size)
{
    struct fcl_shape shape = {args->shape.batch, args->shape.heads_q, 0, args->shape.q_len, 0};
    *work = (struct work){0};
    enum fcl_status status = fcl_shape_complete(&shape, &shape, reason, size);
    if (status)
        return status;
    if (args->head_dim < 1 || args->head_dim > FCL_HEAD_DIM_LIMIT)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "head_dim is %d, allowed are 1 to %d",
                        args->head_dim, FCL_HEAD_DIM_LIMIT);
    if (args->layout != FCL_LAYOUT_BHSD && args->layout != FCL_LAYOUT_BSHD)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "layout is %d, allowed are 0 (bhsd) and 1 (bshd)", (int)args->layout);
    work->rows = (uint64_t)(shape.batch * shape.heads_q) * (uint64_t)shape.q_len;
    if (work->rows > UINT32_MAX)
        return fcl_fail(reason, size, FCL_UNSUPPORTED,
                        "the shape has %llu rows, at most %u are possible",
                        (unsigned long long)work->rows, UINT32_MAX);
    if (!work->rows)
        return FCL_OK;
    work->numbers.all_rows = (uint32_t)work->rows;
    work->numbers.heads = (int32_t)shape.heads_q;
    work->numbers.rows = (int32_t)shape.q_len;
    work->numbers.columns = args->head_dim;
    status = prepare_tensors(merge, args, work, reason, size);
    return status ? status : prepare_all_lse(args, work, reason, size);
}

static enum fcl_status check_buffers(const struct fcl_merge *merge,
                                     const struct fcl_merge_args *args, const struct work *work)
{
    const struct {
        const char *name;
        cl_mem buffer;
        uint64_t end;
    } buffers[] = {
        {"a", args->a.buffer, work->a_end},      {"b", args->b.buffer, work->b_end},
        {"o", args->o.buffer, work->o_end},      {"lse_a", args->lse_a, work->a_lse_end},
        {"lse_b", args->lse_b, work->b_lse_end}, {"lse", args->lse, work->lse_end},
    };
    enum fcl_status status = FCL_OK;
    for (size_t i = 0; i < FCL_COUNT(buffers) && !status; i++)
        status =
            fcl_buffer_check(merge->device, buffers[i].name, buffers[i].buffer, buffers[i].end);
    return status;
}

// Called with the lock held. Returns the OpenCL error, and whose it is.
static cl_int enqueue_kernel(const struct fcl_merge *merge, cl_command_queue queue,
                             const struct fcl_merge_args *args, const struct work *work,
                             cl_uint wait_count, const cl_event *wait, cl_event *event,
                             const char **call)
{
    const struct {
        size_t size;
        const void *value;
    } arguments[] = {
        {sizeof(cl_mem), &args->a.buffer},      {sizeof(cl_mem), &args->lse_a},
        {sizeof(cl_mem), &args->b.buffer},      {sizeof(cl_mem), &args->lse_b},
        {sizeof(cl_mem), &args->o.buffer},      {sizeof(cl_mem), &args->lse},
        {sizeof work->numbers, &work->numbers},
    };
    const cl_kernel kernel = merge->program.kernels[0];
    const size_t local = (size_t)merge->items;
    const size_t global = (size_t)fcl_div_up((int64_t)work->rows, merge->rows) * local;
    *call = "clSetKernelArg";
    for (cl_uint i = 0; i < FCL_COUNT(arguments); i++) {
        const cl_int code = clSetKernelArg(kernel, i, arguments[i].size, arguments[i].value);
        if (code)
            return code;
    }
    *call = "clEnqueueNDRangeKernel";
    return clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, wait_count, wait, event);
}

static enum fcl_status enqueue(const struct fcl_merge *merge, cl_command_queue queue,
                               const struct fcl_merge_args *args, const struct work *work,
                               cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    const char *call = "clEnqueueMarkerWithWaitList";
    cl_int code;
    wait = wait_count ? wait : NULL;
    if (!work->rows) {
        cl_event marker = NULL;
        code = clEnqueueMarkerWithWaitList(queue, wait_count, wait, &marker);
        if (!code && event)
            *event = marker;
        else if (!code)
            clReleaseEvent(marker);
    } else {
        pthread_mutex_t *lock = (pthread_mutex_t *)&merge->lock; // the one part that changes
        pthread_mutex_lock(lock);
        code = enqueue_kernel(merge, queue, args, work, wait_count, wait, event, &call);
        pthread_mutex_unlock(lock);
    }
    return code ? fcl_cl_fail(merge->device, code, call) : FCL_OK;
}

enum fcl_status fcl_merge_enqueue(const fcl_merge *merge, cl_command_queue queue,
                                  const struct fcl_merge_args *args, cl_uint wait_count,
                                  const cl_event *wait, cl_event *event)
{
    struct fcl_merge_args today;
    struct work work;
    char reason[256];
    if (!merge)
        return FCL_INVALID_ARGUMENT;
    if (!queue || !args || (wait_count && !wait))
        return fcl_device_fail(merge->device, FCL_INVALID_ARGUMENT, "%s is NULL",
                               !queue  ? "queue"
                               : !args ? "args"
                                       : "wait, with a wait_count,");
    if (!fcl_struct_read(&today, sizeof today, args))
        return fcl_device_fail(merge->device, FCL_INVALID_ARGUMENT,
                               "args.struct_size is %zu, allowed are 8 to %zu", args->struct_size,
                               sizeof today);
    enum fcl_status status = fcl_queue_check(merge->device, queue);
    if (status)
        return status;
    status = prepare(merge, &today, &work, reason, sizeof reason);
    if (status)
        return fcl_device_fail(merge->device, status, "%s", reason);
    status = check_buffers(merge, &today, &work);
    return status ? status : enqueue(merge, queue, &today, &work, wait_count, wait, event);
}

// ---- the proof

// Two rows of three columns, and where they lie in one small buffer. Row 0 is the mean of 1 and 3;
// row 1 is of b alone.
#define ROWS 2
#define COLUMNS 3
#define A_AT 0
#define B_AT 32
#define O_AT 64
#define LSE_A_AT 96
#define LSE_B_AT 104
#define LSE_AT 112
#define PROOF_BYTES 128

static void fill_proof(const struct fcl_merge *merge, unsigned char *image)
{
    static const float lse_a[ROWS] = {0, -INFINITY}, lse_b[ROWS] = {0, 0};
    memset(image, 0xff, PROOF_BYTES); // NaN
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        fcl_element_store(image + A_AT, merge->dtype_a, i, 1);
        fcl_element_store(image + B_AT, merge->dtype_b, i, 3);
    }
    memcpy(image + LSE_A_AT, lse_a, sizeof lse_a);
    memcpy(image + LSE_B_AT, lse_b, sizeof lse_b);
}

static int is_proof(const struct fcl_merge *merge, const unsigned char *image)
{
    static const float o[ROWS] = {2, 3}, expected[ROWS] = {0.6931472f, 0};
    float lse[ROWS];
    int right = 1;
    memcpy(lse, image + LSE_AT, sizeof lse);
    for (int i = 0; i < ROWS; i++) {
        right = right && fabsf(lse[i] - expected[i]) <= 1e-6f;
        for (int d = 0; d < COLUMNS; d++)
            right = right && fabsf(fcl_element_load(image + O_AT, merge->dtype_o, i * COLUMNS + d) -
                                   o[i]) <= 1e-5f;
    }
    return right;
}

static enum fcl_status run_proof(const struct fcl_merge *merge, cl_command_queue queue,
                                 cl_mem buffer, unsigned char *image)
{
    const struct fcl_merge_args args = {.struct_size = sizeof args,
                                        .shape = {1, 1, 1, ROWS, 0},
                                        .head_dim = COLUMNS,
                                        .a = {.buffer = buffer, .offset = A_AT},
                                        .b = {.buffer = buffer, .offset = B_AT},
                                        .o = {.buffer = buffer, .offset = O_AT},
                                        .lse_a = buffer,
                                        .lse_b = buffer,
                                        .lse = buffer,
                                        .lse_a_offset = LSE_A_AT,
                                        .lse_b_offset = LSE_B_AT,
                                        .lse_offset = LSE_AT};
    const enum fcl_status status = fcl_merge_enqueue(merge, queue, &args, 0, NULL, NULL);
    if (status)
        return status;
    const cl_int code =
        clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, PROOF_BYTES, image, 0, NULL, NULL);
    if (code)
        return fcl_cl_fail(merge->device, code, "clEnqueueReadBuffer");
    return is_proof(merge, image)
               ? FCL_OK
               : fcl_device_fail(merge->device, FCL_WRONG_RESULT, "a merge gave a wrong result");
}

static enum fcl_status prove(void *user, const struct fcl_program *program)
{
    struct fcl_merge *merge = user;
    unsigned char image[PROOF_BYTES];
    enum fcl_status status = FCL_OK;
    cl_int code;
    cl_mem buffer = NULL;
    cl_command_queue queue = fcl_device_queue(merge->device, &code);
    if (queue) {
        fill_proof(merge, image);
        buffer = clCreateBuffer(merge->device->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                PROOF_BYTES, image, &code);
    }
    merge->program = *program;
    if (buffer)
        status = run_proof(merge, queue, buffer, image);
    else
        status =
            fcl_cl_fail(merge->device, code, queue ? "clCreateBuffer" : "clCreateCommandQueue");
    merge->program = (struct fcl_program){0};
    if (buffer)
        clReleaseMemObject(buffer);
    if (queue)
        clReleaseCommandQueue(queue);
    return status;
}

// ---- the handle

// A CPU works on a row with the lanes of one item, and on several rows before it takes the next
// group; other devices have a few items for each row.
static void spread(struct fcl_merge *merge)
{
    const struct fcl_caps *caps = &merge->device->caps;
    const int lanes = caps->float_width >= 16 ? 16 : caps->float_width >= 8 ? 8 : 4;
    merge->width = caps->cpu ? lanes : 0;
    merge->items = caps->cpu ? 1 : 32;
    merge->rows = caps->cpu ? 16 : 1;
}

static enum fcl_status build(struct fcl_merge *merge)
{
    char label[32], reason[256];
    struct fcl_text source = {0};
    struct fcl_program program;
    snprintf(label, sizeof label, "merge_%s_%s_%s", fcl_dtype_text(merge->dtype_a),
             fcl_dtype_text(merge->dtype_b), fcl_dtype_text(merge->dtype_o));
    fcl_text_add(&source,
                 "#define FCL_KERNEL %s\n#define FCL_DTYPE_A %d\n#define FCL_DTYPE_B %d\n"
                 "#define FCL_DTYPE_O %d\n#define FCL_WIDTH %d\n#define FCL_MERGE_ITEMS %d\n"
                 "#define FCL_MERGE_ROWS %d\n",
                 label, (int)merge->dtype_a, (int)merge->dtype_b, (int)merge->dtype_o, merge->width,
                 merge->items, merge->rows);
    enum fcl_status status = fcl_source_expand("attention/merge.cl", merge->device->kernel_folder,
                                               NULL, &source, reason, sizeof reason);
    if (status)
        status = fcl_device_fail(merge->device, status, "%s", reason);
    else if (source.failed)
        status = FCL_OUT_OF_MEMORY;
    const struct fcl_program_request request = {.label = label,
                                                .source = source.data,
                                                .flags = "",
                                                .kernels = {label},
                                                .proof = prove,
                                                .user = merge};
    if (!status)
        status = fcl_program_create(merge->device, &request, &program);
    if (!status)
        merge->program = program;
    fcl_text_free(&source);
    return status;
}

enum fcl_status fcl_merge_create(fcl_device *device, enum fcl_dtype dtype_a, enum fcl_dtype dtype_b,
                                 enum fcl_dtype dtype_o, fcl_merge **created)
{
    if (!created)
        return FCL_INVALID_ARGUMENT;
    *created = NULL;
    if (!device)
        return FCL_INVALID_ARGUMENT;
    const enum fcl_dtype dtypes[] = {dtype_a, dtype_b, dtype_o};
    for (size_t i = 0; i < FCL_COUNT(dtypes); i++)
        if (!fcl_dtype_size(dtypes[i]))
            return fcl_device_fail(device, FCL_INVALID_ARGUMENT,
                                   "dtype_%c is %d, allowed are 0 (f32), 1 (f16) and 2 (bf16)",
                                   "abo"[i], (int)dtypes[i]);
    struct fcl_merge *merge = calloc(1, sizeof *merge);
    if (!merge)
        return FCL_OUT_OF_MEMORY;
    merge->device = device;
    merge->dtype_a = dtype_a;
    merge->dtype_b = dtype_b;
    merge->dtype_o = dtype_o;
    spread(merge);
    pthread_mutex_init(&merge->lock, NULL);
    const enum fcl_status status = build(merge);
    if (status)
        fcl_merge_destroy(&merge);
    *created = merge;
    return status;
}

void fcl_merge_destroy(fcl_merge **merge)
{
    if (!merge || !*merge)
        return;
    fcl_program_destroy(&(*merge)->program);
    pthread_mutex_destroy(&(*merge)->lock);
    free(*merge);
    *merge = NULL;
}
