// The fields of a problem as one table: ranges for the checks, keys and words for the text form.
#ifndef FCL_ATTENTION_PROBLEM_FIELDS_H
#define FCL_ATTENTION_PROBLEM_FIELDS_H

#include "problem.h"

// How a field is written.
enum fcl_field_kind {
    KIND_NUMBER, // key and number
    KIND_PAIR,   // key and number, then / and the number of the next field where that differs
    KIND_SECOND, // written by the pair or window before it
    KIND_CHOICE, // key and one of the words; the value is the word's index
    KIND_DTYPE,  // the same; one word without a key stands for all four
    KIND_FLAG,   // the key alone means 1
    KIND_WINDOW  // key and the numbers of the next two fields; it means 1
};

// Batch, heads and lengths stay below this, so that positions rounded up to a block fit 32 bits.
#define FCL_COUNT_LIMIT (INT64_C(1) << 30)
#define FCL_SOFTCAP_LIMIT 1000000
#define FCL_ALIGNMENT_DEFAULT 16
#define FCL_ALIGNMENT_LIMIT 4096

// X(member, kind, key, smallest, largest, words), in the order of the text form.
#define FCL_PROBLEM_FIELDS(X)                                  \
    X(pass, CHOICE, "", 0, 1, pass_words)                      \
    X(batch, NUMBER, "b", 0, FCL_COUNT_LIMIT, NULL)            \
    X(heads_q, PAIR, "h", 1, FCL_COUNT_LIMIT, NULL)            \
    X(heads_kv, SECOND, NULL, 1, FCL_COUNT_LIMIT, NULL)        \
    X(q_len, NUMBER, "q", 0, FCL_COUNT_LIMIT, NULL)            \
    X(k_len, NUMBER, "k", 0, FCL_COUNT_LIMIT, NULL)            \
    X(head_dim_qk, PAIR, "d", 1, FCL_HEAD_DIM_LIMIT, NULL)     \
    X(head_dim_v, SECOND, NULL, 1, FCL_HEAD_DIM_LIMIT, NULL)   \
    X(dtype_q, DTYPE, "q:", 0, 2, dtype_words)                 \
    X(dtype_k, DTYPE, "k:", 0, 2, dtype_words)                 \
    X(dtype_v, DTYPE, "v:", 0, 2, dtype_words)                 \
    X(dtype_o, DTYPE, "o:", 0, 2, dtype_words)                 \
    X(mask, CHOICE, "", 0, 4, mask_words)                      \
    X(window, WINDOW, "win=", 0, 1, NULL)                      \
    X(window_left, SECOND, NULL, -1, FCL_COUNT_LIMIT, NULL)    \
    X(window_right, SECOND, NULL, -1, FCL_COUNT_LIMIT, NULL)   \
    X(softcap, NUMBER, "softcap=", 0, FCL_SOFTCAP_LIMIT, NULL) \
    X(bias, CHOICE, "bias=", 0, 3, bias_words)                 \
    X(alibi, CHOICE, "", 0, 2, alibi_words)                    \
    X(visible, CHOICE, "mask=", 0, 1, visible_words)           \
    X(sink, FLAG, "sink", 0, 1, NULL)                          \
    X(varlen, FLAG, "varlen", 0, 1, NULL)                      \
    X(used, FLAG, "used", 0, 1, NULL)                          \
    X(page, NUMBER, "page=", 0, FCL_COUNT_LIMIT, NULL)         \
    X(lse, FLAG, "lse", 0, 1, NULL)                            \
    X(guard_v, FLAG, "guard-v", 0, 1, NULL)                    \
    X(strided, FLAG, "strided", 0, 1, NULL)                    \
    X(layout, CHOICE, "layout=", 0, 1, layout_words)           \
    X(alignment, NUMBER, "align=", 1, FCL_ALIGNMENT_LIMIT, NULL)

enum fcl_field_id {
#define FCL_X(member, kind, key, smallest, largest, words) FIELD_##member,
    FCL_PROBLEM_FIELDS(FCL_X)
#undef FCL_X
        FIELD_COUNT
};

struct fcl_problem_field {
    const char *name;
    enum fcl_field_kind kind;
    const char *key;
    int64_t smallest, largest;
    const char *const *words; // of a choice, NULL-terminated
};

extern const struct fcl_problem_field fcl_problem_fields[FIELD_COUNT];

// A problem with its fields side by side.
struct fcl_problem_values {
    int64_t of[FIELD_COUNT];
};

struct fcl_problem_values fcl_problem_to_values(const struct fcl_problem *problem);
struct fcl_problem fcl_problem_from_values(const struct fcl_problem_values *values);

// One tensor of a problem. In both contiguous layouts every stride but the innermost is a multiple
// of `dim`.
struct fcl_problem_tensor {
    const char *name, *dim_name;
    int64_t heads, length, dim;
    enum fcl_dtype dtype;
};

// The tensors that a problem with its defaults filled in uses: q, k and, if the pass has them, v
// and o. Returns how many.
size_t fcl_problem_tensors(const struct fcl_problem *full, struct fcl_problem_tensor tensors[4]);

// The largest alignment up to the default that contiguous tensors keep.
int fcl_problem_natural_alignment(const struct fcl_problem *full);

// Fills in defaults without any check.
void fcl_problem_fill_defaults(struct fcl_problem *problem);

// OK, INVALID_ARGUMENT or, for head dims above the limit, UNSUPPORTED.
enum fcl_status fcl_problem_range_status(enum fcl_field_id id, int64_t value);

#endif
