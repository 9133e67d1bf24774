// Reads an attention problem out of the shapes of q, k and v.
#include "arrays.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

// The dimensions of one input by their meaning.
struct dimensions {
    int64_t batch, heads, length, width;
};

struct reason {
    char *text;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static int fail(struct reason *reason, const char *format,
                                                      ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason->text, reason->size, format, arguments);
    va_end(arguments);
    return 0;
}

static int check_dimensions(const struct array_input *input, const struct dimensions *dimensions,
                            struct reason *reason)
{
    if (dimensions->heads == 0) {
        return fail(reason, "%s: 0 heads; at least 1 is allowed", input->path);
    }
    if (dimensions->width < 1 || dimensions->width > FCL_HEAD_DIM_LIMIT) {
        return fail(reason, "%s: the head dimension is %" PRId64 "; 1 to %d are allowed",
                    input->path, dimensions->width, FCL_HEAD_DIM_LIMIT);
    }
    return 1;
}

// [N,D], [B,N,D], [B,H,N,D] or, as bshd, [B,N,H,D].
static int read_dimensions(const struct array_input *input, enum fcl_layout layout,
                           struct dimensions *dimensions, struct reason *reason)
{
    const struct npy_header *header = &input->array.header;
    const int64_t *shape = header->shape;
    if (header->rank < 2 || header->rank > 4) {
        return fail(reason,
                    "%s: the array has %d dimension%s; 2 to 4 are allowed ([N,D], [B,N,D], "
                    "[B,H,N,D] or, with --layout bshd, [B,N,H,D])",
                    input->path, header->rank, header->rank == 1 ? "" : "s");
    }
    int four = header->rank == 4, heads_last = layout == FCL_LAYOUT_BSHD;
    *dimensions = (struct dimensions){
        .batch = header->rank == 2 ? 1 : shape[0],
        .heads = !four ? 1 : shape[heads_last ? 2 : 1],
        .length = !four ? shape[header->rank - 2] : shape[heads_last ? 1 : 2],
        .width = shape[header->rank - 1],
    };
    return check_dimensions(input, dimensions, reason);
}

// [rows, H, D]
static int read_packed(const struct array_input *input, struct dimensions *dimensions,
                       struct reason *reason)
{
    const struct npy_header *header = &input->array.header;
    if (header->rank != 3) {
        return fail(reason, "%s: the array has %d dimension%s; packed sequences are [rows,H,D]",
                    input->path, header->rank, header->rank == 1 ? "" : "s");
    }
    *dimensions = (struct dimensions){1, header->shape[1], header->shape[0], header->shape[2]};
    return check_dimensions(input, dimensions, reason);
}

static int read_type(const struct array_input *input, int bf16, enum fcl_dtype *type,
                     struct reason *reason)
{
    static const enum fcl_dtype types[] = {
        [NPY_F4] = FCL_F32, [NPY_F2] = FCL_F16, [NPY_U2] = FCL_BF16};
    if (input->array.header.type > NPY_U2) {
        return fail(reason, "%s: the elements are %s; f4, f2 and, with --bf16, u2 are allowed",
                    input->path, npy_type_text(input->array.header.type));
    }
    *type = types[input->array.header.type];
    if (input->array.header.type == NPY_U2 && !bf16) {
        return fail(reason, "%s: the elements are u2; that is allowed as bfloat16 with --bf16",
                    input->path);
    }
    return 1;
}

// Whether two inputs agree in one number.
static int check_equal(const struct array_input *a, int64_t a_value, const struct array_input *b,
                       int64_t b_value, const char *what, struct reason *reason)
{
    return a_value == b_value
               ? 1
               : fail(reason, "%s is %" PRId64 " in %s and %" PRId64 " in %s; they must be equal",
                      what, a_value, a->path, b_value, b->path);
}

static int check_shapes(const struct array_input *inputs[3], const struct dimensions d[3],
                        int paged, struct reason *reason)
{
    const struct array_input *q = inputs[0], *k = inputs[1], *v = inputs[2];
    const struct array_input *first = paged ? k : q; // pages have their own batch
    int64_t rank = first->array.header.rank, batch = d[paged ? 1 : 0].batch;
    if (!check_equal(first, rank, k, k->array.header.rank, "the number of dimensions", reason) ||
        !check_equal(first, rank, v, v->array.header.rank, "the number of dimensions", reason) ||
        !check_equal(first, batch, k, d[1].batch, paged ? "the pages" : "the batch", reason) ||
        !check_equal(first, batch, v, d[2].batch, paged ? "the pages" : "the batch", reason) ||
        !check_equal(k, d[1].heads, v, d[2].heads, "the number of heads", reason) ||
        !check_equal(k, d[1].length, v, d[2].length, "the key length", reason) ||
        !check_equal(q, d[0].width, k, d[1].width, "the head dimension", reason)) {
        return 0;
    }
    if (d[0].heads % d[1].heads != 0) {
        return fail(reason,
                    "%s has %" PRId64 " heads and %s %" PRId64
                    "; the former must be a multiple of the latter",
                    q->path, d[0].heads, k->path, d[1].heads);
    }
    return 1;
}

int arrays_problem(const struct array_input *q, const struct array_input *k,
                   const struct array_input *v, const struct arrays_form *form,
                   struct fcl_problem *problem, char *reason_text, size_t reason_size)
{
    const struct array_input *inputs[] = {q, k, v};
    struct reason reason = {reason_text, reason_size};
    struct dimensions dimensions[3];
    enum fcl_dtype types[3];
    for (int i = 0; i < 3; i++) {
        int packed = form->packed && !(form->paged && i > 0);
        if (!(packed ? read_packed(inputs[i], &dimensions[i], &reason)
                     : read_dimensions(inputs[i], form->layout, &dimensions[i], &reason)) ||
            !read_type(inputs[i], form->bf16, &types[i], &reason)) {
            return 0;
        }
    }
    if (!check_shapes(inputs, dimensions, form->paged, &reason)) {
        return 0;
    }
    if (form->bf16 && types[0] != FCL_BF16 && types[1] != FCL_BF16 && types[2] != FCL_BF16) {
        return fail(&reason, "--bf16 says how to read u2 elements, but %s, %s and %s hold others",
                    q->path, k->path, v->path);
    }
    problem->batch = dimensions[0].batch;
    problem->heads_q = dimensions[0].heads;
    problem->heads_kv = dimensions[1].heads;
    problem->q_len = dimensions[0].length;
    problem->k_len = dimensions[1].length;
    problem->head_dim_qk = (int)dimensions[0].width;
    problem->head_dim_v = (int)dimensions[2].width;
    problem->dtype_q = problem->dtype_o = types[0];
    problem->dtype_k = types[1];
    problem->dtype_v = types[2];
    problem->layout = form->layout;
    return 1;
}

int arrays_output_shape(const struct npy_header *q, int head_dim_v, int64_t shape[NPY_RANK_LIMIT])
{
    memcpy(shape, q->shape, sizeof(q->shape));
    shape[q->rank - 1] = head_dim_v;
    return q->rank;
}

int arrays_lse_shape(const struct npy_header *q, const struct fcl_problem *problem,
                     int64_t shape[NPY_RANK_LIMIT])
{
    const int64_t whole[] = {problem->batch, problem->heads_q, problem->q_len};
    int rank = q->rank - 1;
    if (problem->varlen) {
        shape[0] = problem->heads_q;
        shape[1] = q->shape[0];
        return rank;
    }
    if (rank == 2) { // no heads in [B,N,D]
        shape[0] = whole[0];
        shape[1] = whole[2];
    } else {
        memcpy(shape, whole + 3 - rank, (size_t)rank * sizeof(*shape));
    }
    return rank;
}
