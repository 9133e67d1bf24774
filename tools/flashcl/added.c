// Reads, checks and hands on what is added to scores.
#include "added.h"

#include "message.h"
#include "status.h"

#include <inttypes.h>
#include <string.h>

static int read_file(const char *path, struct npy_array *array)
{
    char reason[1024];
    if (!npy_read(path, array, reason, sizeof(reason))) {
        message_error("%s", reason);
        return EXIT_USAGE;
    }
    return EXIT_OK;
}

// One fp32 number for each query head.
static int read_heads(const char *path, const struct fcl_problem *problem, struct npy_array *array)
{
    const struct npy_header *header = &array->header;
    if (read_file(path, array) != EXIT_OK) {
        return EXIT_USAGE;
    }
    if (header->type != NPY_F4 || header->rank != 1 || header->shape[0] != problem->heads_q) {
        message_error("%s holds %s of rank %d; one f4 for each of the %lld query heads is allowed",
                      path, npy_type_text(header->type), header->rank, (long long)problem->heads_q);
        return EXIT_USAGE;
    }
    return EXIT_OK;
}

// The strides of an array whose dimensions are the last ones of the scores', each whole or 1.
static int find_strides(const char *path, const struct npy_header *header, int rank,
                        const struct fcl_problem *problem, int64_t strides[4])
{
    const int64_t whole[4] = {problem->batch, problem->heads_q, problem->q_len, problem->k_len};
    int64_t step = 1;
    for (int i = 0; i < 4; i++) {
        strides[i] = FCL_BROADCAST;
    }
    if (header->rank < 1 || header->rank > rank) {
        message_error("%s has %d dimensions; 1 to %d are allowed, the last ones of the scores",
                      path, header->rank, rank);
        return EXIT_USAGE;
    }
    for (int n = 0; n < header->rank; n++) {
        const int axis = n == 2 && rank == 3 ? 0 : 3 - n; // [B,N,M] has no heads
        const int64_t size = header->shape[header->rank - 1 - n];
        if (size != 1 && size != whole[axis]) {
            message_error("%s: dimension %d is %" PRId64 "; 1 and %" PRId64 " are allowed", path,
                          header->rank - n, size, whole[axis]);
            return EXIT_USAGE;
        }
        strides[axis] = size == 1 ? FCL_BROADCAST : step;
        step *= size;
    }
    return EXIT_OK;
}

static int read_tensor(const char *path, int rank, const struct fcl_problem *problem,
                       struct added_tensor *tensor)
{
    const int code = read_file(path, &tensor->array);
    return code == EXIT_OK
               ? find_strides(path, &tensor->array.header, rank, problem, tensor->strides)
               : code;
}

static int read_bias(const char *path, int rank, int bf16, struct fcl_problem *problem,
                     struct added_tensor *bias)
{
    static const enum fcl_bias types[] = {
        [NPY_F4] = FCL_BIAS_F32, [NPY_F2] = FCL_BIAS_F16, [NPY_U2] = FCL_BIAS_BF16};
    const int code = read_tensor(path, rank, problem, bias);
    if (code != EXIT_OK) {
        return code;
    }
    const enum npy_type type = bias->array.header.type;
    if (type > NPY_U2 || (type == NPY_U2 && !bf16)) {
        message_error("%s: the elements are %s; f4, f2 and, as bfloat16 with --bf16, u2 are "
                      "allowed",
                      path, npy_type_text(type));
        return EXIT_USAGE;
    }
    problem->bias = types[type];
    return EXIT_OK;
}

static int read_mask(const char *path, int rank, struct fcl_problem *problem,
                     struct added_tensor *mask)
{
    const int code = read_tensor(path, rank, problem, mask);
    if (code != EXIT_OK) {
        return code;
    }
    const enum npy_type type = mask->array.header.type;
    if (type != NPY_U1 && type != NPY_B1) {
        message_error("%s: the elements are %s; b1 and u1 are allowed", path, npy_type_text(type));
        return EXIT_USAGE;
    }
    problem->visible = 1;
    return EXIT_OK;
}

int added_read(const struct added_paths *paths, int rank, int bf16, struct fcl_problem *problem,
               struct added *added)
{
    int code = EXIT_OK;
    if (paths->sinks != NULL) {
        problem->sink = 1;
        code = read_heads(paths->sinks, problem, &added->sinks);
    }
    if (code == EXIT_OK && paths->slopes != NULL) {
        problem->alibi = FCL_ALIBI_GIVEN;
        code = read_heads(paths->slopes, problem, &added->slopes);
    }
    if (code == EXIT_OK && paths->bias != NULL) {
        code = read_bias(paths->bias, rank, bf16, problem, &added->bias);
    }
    if (code == EXIT_OK && paths->mask != NULL) {
        code = read_mask(paths->mask, rank, problem, &added->mask);
    }
    return code;
}

static enum fcl_status upload(struct session *session, struct added_tensor *tensor,
                              struct fcl_tensor *argument)
{
    const size_t bytes = tensor->array.header.data_size;
    cl_int error = CL_SUCCESS;
    if (tensor->array.data == NULL || bytes == 0) {
        return FCL_OK;
    }
    tensor->buffer = clCreateBuffer(session->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                    bytes, tensor->array.data, &error);
    if (error != CL_SUCCESS) {
        snprintf(session->error, sizeof(session->error),
                 "a buffer of %zu bytes cannot be made: OpenCL error %d", bytes, (int)error);
        return FCL_OUT_OF_MEMORY;
    }
    argument->buffer = tensor->buffer;
    memcpy(argument->strides, tensor->strides, sizeof(tensor->strides));
    return FCL_OK;
}

enum fcl_status added_upload(struct session *session, struct added *added,
                             struct fcl_attention_args *arguments)
{
    const enum fcl_status status = upload(session, &added->bias, &arguments->bias);
    return status == FCL_OK ? upload(session, &added->mask, &arguments->visible) : status;
}

void added_refer(const struct added *added, const struct fcl_problem *problem,
                 struct fcl_reference *reference)
{
    reference->sinks = added->sinks.data;
    reference->slopes = added->slopes.data;
    reference->bias.data = added->bias.array.data;
    reference->bias.dtype = problem->bias == FCL_BIAS_F16    ? FCL_F16
                            : problem->bias == FCL_BIAS_BF16 ? FCL_BF16
                                                             : FCL_F32;
    memcpy(reference->bias.strides, added->bias.strides, sizeof(added->bias.strides));
    reference->visible.data = added->mask.array.data;
    memcpy(reference->visible.strides, added->mask.strides, sizeof(added->mask.strides));
}

static void free_tensor(struct added_tensor *tensor)
{
    npy_free(&tensor->array);
    if (tensor->buffer != NULL) {
        clReleaseMemObject(tensor->buffer);
    }
}

void added_free(struct added *added)
{
    npy_free(&added->sinks);
    npy_free(&added->slopes);
    free_tensor(&added->bias);
    free_tensor(&added->mask);
}
