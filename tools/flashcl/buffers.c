// Makes, fills and reads the device buffers of one problem.
#include "buffers.h"

#include "memory.h"

#include <inttypes.h>
#include <stdlib.h>

#define FILL_ELEMENTS 1048576 // written at once; larger tensors repeat them

// Metadata are as wide as fp32.
static enum fcl_dtype tensor_type(const struct fcl_problem *problem, enum buffer_role role)
{
    if (role == BUFFER_BIAS) {
        return problem->bias == FCL_BIAS_F16    ? FCL_F16
               : problem->bias == FCL_BIAS_BF16 ? FCL_BF16
                                                : FCL_F32;
    }
    const enum fcl_dtype types[] = {problem->dtype_q, problem->dtype_k, problem->dtype_v,
                                    problem->dtype_o};
    return role <= BUFFER_O ? types[role] : FCL_F32;
}

static size_t element_size(const struct fcl_problem *problem, enum buffer_role role)
{
    return role == BUFFER_VISIBLE ? 1 : fcl_dtype_size(tensor_type(problem, role));
}

static const int32_t *metadata(const struct fcl_sequences *sequences, enum buffer_role role)
{
    const int32_t *const arrays[] = {sequences->cu_q, sequences->cu_k, sequences->used_q,
                                     sequences->used_k, sequences->table};
    return arrays[role - BUFFER_CU_Q];
}

static int uses(const struct fcl_problem *problem, const struct fcl_sequences *sequences,
                enum buffer_role role)
{
    int statistics = problem->pass == FCL_PASS_STATISTICS;
    if (role == BUFFER_LSE) {
        return problem->lse || statistics;
    }
    if (role == BUFFER_SINKS) {
        return problem->sink;
    }
    if (role == BUFFER_SLOPES) {
        return problem->alibi == FCL_ALIBI_GIVEN;
    }
    if (role == BUFFER_BIAS) {
        return problem->bias != FCL_BIAS_NONE;
    }
    if (role == BUFFER_VISIBLE) {
        return problem->visible;
    }
    if (role >= BUFFER_CU_Q) {
        return metadata(sequences, role) != NULL;
    }
    return !(statistics && (role == BUFFER_V || role == BUFFER_O));
}

static size_t metadata_elements(const struct fcl_problem *problem,
                                const struct fcl_sequences *sequences, enum buffer_role role)
{
    const int64_t counts[] = {problem->batch + 1, problem->batch + 1, problem->batch,
                              problem->batch, problem->batch * sequences->table_entries};
    return (size_t)counts[role - BUFFER_CU_Q];
}

size_t buffers_elements(const struct fcl_problem *problem, const struct fcl_sequences *sequences,
                        enum buffer_role role)
{
    int key_side = role == BUFFER_K || role == BUFFER_V;
    if (!uses(problem, sequences, role)) {
        return 0;
    }
    if (role == BUFFER_SINKS || role == BUFFER_SLOPES) {
        return (size_t)problem->heads_q;
    }
    if (role == BUFFER_BIAS) {
        return (size_t)problem->heads_q * (size_t)problem->q_len * (size_t)problem->k_len;
    }
    if (role == BUFFER_VISIBLE) {
        return (size_t)problem->batch * (size_t)problem->q_len * (size_t)problem->k_len;
    }
    if (role >= BUFFER_CU_Q) {
        return metadata_elements(problem, sequences, role);
    }
    const int widths[] = {problem->head_dim_qk, problem->head_dim_qk, problem->head_dim_v,
                          problem->head_dim_v, 1};
    int64_t rows = problem->batch * (key_side ? problem->k_len : problem->q_len);
    if (problem->varlen) {
        rows = key_side ? sequences->total_k : sequences->total_q;
    }
    if (problem->page > 0 && key_side) {
        rows = sequences->page_count * problem->page;
    }
    return (size_t)(key_side ? problem->heads_kv : problem->heads_q) * (size_t)rows *
           (size_t)widths[role];
}

size_t buffers_bytes(const struct fcl_problem *problem, const struct fcl_sequences *sequences,
                     enum buffer_role role)
{
    return buffers_elements(problem, sequences, role) * element_size(problem, role);
}

static struct fcl_shape shape_of(const struct fcl_problem *problem)
{
    return (struct fcl_shape){.batch = problem->batch,
                              .heads_q = problem->heads_q,
                              .heads_kv = problem->heads_kv,
                              .q_len = problem->q_len,
                              .k_len = problem->k_len};
}

// The status that an OpenCL error of memory traffic stands for, with a sentence in the session.
static enum fcl_status translate(struct session *session, cl_int status, const char *action,
                                 size_t bytes)
{
    if (status == CL_SUCCESS) {
        return FCL_OK;
    }
    snprintf(session->error, sizeof(session->error), "%s %zu bytes failed: OpenCL error %d", action,
             bytes, (int)status);
    return status == CL_INVALID_BUFFER_SIZE || status == CL_MEM_OBJECT_ALLOCATION_FAILURE ||
                   status == CL_OUT_OF_RESOURCES || status == CL_OUT_OF_HOST_MEMORY
               ? FCL_OUT_OF_MEMORY
               : FCL_DEVICE_ERROR;
}

// An empty tensor still gets a buffer: OpenCL has none of 0 bytes.
static enum fcl_status create_one(struct session *session, size_t bytes, cl_mem *created)
{
    cl_int status;
    *created =
        clCreateBuffer(session->context, CL_MEM_READ_WRITE, bytes > 0 ? bytes : 16, NULL, &status);
    enum fcl_status result = translate(session, status, "allocating", bytes);
    if (result == FCL_OUT_OF_MEMORY) {
        snprintf(session->error, sizeof(session->error),
                 "a buffer of %zu bytes cannot be allocated (OpenCL error %d): the device allows "
                 "%" PRIu64 " at once and has %" PRIu64,
                 bytes, (int)status, session->caps->allocation_bytes, session->caps->global_bytes);
    }
    return result;
}

enum fcl_status buffers_create(struct session *session, const fcl_plan *plan,
                               const struct fcl_problem *problem,
                               const struct fcl_sequences *sequences, struct buffers *buffers)
{
    *buffers = (struct buffers){.sequences = *sequences};
    const struct fcl_shape shape = shape_of(problem);
    size_t workspace = 0;
    enum fcl_status status = fcl_plan_workspace_size(plan, &shape, &workspace);
    for (int role = 0; role < BUFFER_COUNT && status == FCL_OK; role++) {
        if (uses(problem, sequences, (enum buffer_role)role)) {
            size_t bytes = buffers_bytes(problem, sequences, (enum buffer_role)role);
            status = create_one(session, bytes, &buffers->tensors[role]);
        }
    }
    for (int role = BUFFER_CU_Q; role < BUFFER_COUNT && status == FCL_OK; role++) {
        if (buffers->tensors[role] != NULL) {
            status = buffers_write(session, buffers, problem, (enum buffer_role)role,
                                   metadata(sequences, (enum buffer_role)role));
        }
    }
    if (status == FCL_OK && workspace > 0) {
        status = create_one(session, workspace, &buffers->workspace);
    }
    if (status != FCL_OK) {
        buffers_free(buffers);
    }
    return status;
}

static enum fcl_status copy_one(struct session *session, const struct fcl_problem *problem,
                                const struct buffers *from, enum buffer_role role, cl_mem *created)
{
    size_t bytes = buffers_bytes(problem, &from->sequences, role);
    enum fcl_status status = create_one(session, bytes, created);
    if (status != FCL_OK || bytes == 0) {
        return status;
    }
    cl_int copied = clEnqueueCopyBuffer(session->queue, from->tensors[role], *created, 0, 0, bytes,
                                        0, NULL, NULL);
    if (copied == CL_SUCCESS) {
        copied = clFinish(session->queue);
    }
    return translate(session, copied, "copying", bytes);
}

enum fcl_status buffers_copy(struct session *session, const struct fcl_problem *problem,
                             const struct buffers *from, struct buffers *copy)
{
    enum fcl_status status = FCL_OK;
    *copy = (struct buffers){.workspace = from->workspace, .sequences = from->sequences};
    if (copy->workspace != NULL) {
        clRetainMemObject(copy->workspace);
    }
    for (int role = 0; role < BUFFER_COUNT && status == FCL_OK; role++) {
        if (from->tensors[role] == NULL) {
            continue;
        }
        if (role == BUFFER_K || role == BUFFER_V) {
            status = copy_one(session, problem, from, (enum buffer_role)role, &copy->tensors[role]);
        } else {
            copy->tensors[role] = from->tensors[role];
            clRetainMemObject(copy->tensors[role]);
        }
    }
    if (status != FCL_OK) {
        buffers_free(copy);
    }
    return status;
}

void buffers_free(struct buffers *buffers)
{
    for (int role = 0; role < BUFFER_COUNT; role++) {
        if (buffers->tensors[role] != NULL) {
            clReleaseMemObject(buffers->tensors[role]);
        }
    }
    if (buffers->workspace != NULL) {
        clReleaseMemObject(buffers->workspace);
    }
    *buffers = (struct buffers){.workspace = NULL};
}

enum fcl_status buffers_write(struct session *session, struct buffers *buffers,
                              const struct fcl_problem *problem, enum buffer_role role,
                              const void *data)
{
    size_t bytes = buffers_bytes(problem, &buffers->sequences, role);
    cl_int status = CL_SUCCESS;
    if (bytes > 0) {
        status = clEnqueueWriteBuffer(session->queue, buffers->tensors[role], CL_TRUE, 0, bytes,
                                      data, 0, NULL, NULL);
    }
    return translate(session, status, "writing", bytes);
}

enum fcl_status buffers_read(struct session *session, const struct buffers *buffers,
                             const struct fcl_problem *problem, enum buffer_role role, void *data)
{
    size_t bytes = buffers_bytes(problem, &buffers->sequences, role);
    cl_int status = CL_SUCCESS;
    if (bytes > 0) {
        status = clEnqueueReadBuffer(session->queue, buffers->tensors[role], CL_TRUE, 0, bytes,
                                     data, 0, NULL, NULL);
    }
    return translate(session, status, "reading", bytes);
}

// Marsaglia's xorshift (2003), the upper 24 bits as a number in (-1, 1).
static float next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return ((float)(*state >> 40) + 0.5f) / 8388608.0f - 1.0f;
}

static enum fcl_status fill_one(struct session *session, struct buffers *buffers,
                                const struct fcl_problem *problem, enum buffer_role role,
                                void *block)
{
    enum fcl_dtype type = tensor_type(problem, role);
    size_t count = buffers_elements(problem, &buffers->sequences, role),
           size = element_size(problem, role);
    uint64_t state = UINT64_C(88172645463325252) + (uint64_t)role;
    cl_int status = CL_SUCCESS;
    for (size_t i = 0; i < count && i < FILL_ELEMENTS; i++) {
        const float x = next_random(&state);
        if (role == BUFFER_VISIBLE) {
            ((unsigned char *)block)[i] = x < 0.5f;
        } else {
            fcl_element_store(block, type, (int64_t)i, x);
        }
    }
    for (size_t done = 0; done < count && status == CL_SUCCESS; done += FILL_ELEMENTS) {
        size_t part = count - done < FILL_ELEMENTS ? count - done : FILL_ELEMENTS;
        status = clEnqueueWriteBuffer(session->queue, buffers->tensors[role], CL_TRUE, done * size,
                                      part * size, block, 0, NULL, NULL);
    }
    return translate(session, status, "writing", count * size);
}

enum fcl_status buffers_fill(struct session *session, struct buffers *buffers,
                             const struct fcl_problem *problem)
{
    static const enum buffer_role inputs[] = {
        BUFFER_Q, BUFFER_K, BUFFER_V, BUFFER_SINKS, BUFFER_SLOPES, BUFFER_BIAS, BUFFER_VISIBLE};
    void *block = memory_get(FILL_ELEMENTS, sizeof(float));
    enum fcl_status status = FCL_OK;
    for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]) && status == FCL_OK; i++) {
        status = fill_one(session, buffers, problem, inputs[i], block);
    }
    free(block);
    return status;
}

struct fcl_attention_args buffers_arguments(const struct buffers *buffers,
                                            const struct fcl_problem *problem, float scale)
{
    const struct fcl_sequences *sequences = &buffers->sequences;
    return (struct fcl_attention_args){
        .struct_size = sizeof(struct fcl_attention_args),
        .shape = shape_of(problem),
        .q.buffer = buffers->tensors[BUFFER_Q],
        .k.buffer = buffers->tensors[BUFFER_K],
        .v.buffer = buffers->tensors[BUFFER_V],
        .o.buffer = buffers->tensors[BUFFER_O],
        .lse = buffers->tensors[BUFFER_LSE],
        .sinks = buffers->tensors[BUFFER_SINKS],
        .scale = scale,
        .workspace = buffers->workspace,
        .window = problem->window,
        .window_left = problem->window_left,
        .window_right = problem->window_right,
        .softcap = (float)problem->softcap,
        .slopes = buffers->tensors[BUFFER_SLOPES],
        .bias = {.buffer = buffers->tensors[BUFFER_BIAS],
                 .strides = {FCL_BROADCAST, problem->q_len * problem->k_len, problem->k_len, 1}},
        .visible = {.buffer = buffers->tensors[BUFFER_VISIBLE],
                    .strides = {problem->q_len * problem->k_len, FCL_BROADCAST, problem->k_len, 1}},
        .total_q = sequences->total_q,
        .total_k = sequences->total_k,
        .cu_q = buffers->tensors[BUFFER_CU_Q],
        .cu_k = buffers->tensors[BUFFER_CU_K],
        .used_q = buffers->tensors[BUFFER_USED_Q],
        .used_k = buffers->tensors[BUFFER_USED_K],
        .table = buffers->tensors[BUFFER_TABLE],
        .table_entries = sequences->table_entries,
        .page_count = sequences->page_count,
        .page = problem->page,
    };
}
