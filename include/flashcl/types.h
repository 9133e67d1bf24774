// FlashCL's plain values: status, log, element types, problems. No OpenCL here: this header
// compiles alone as C11 and C++17, so every layer of an application can speak of problems and
// errors.
#ifndef FLASHCL_TYPES_H
#define FLASHCL_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FCL_VERSION_MAJOR 0
#define FCL_VERSION_MINOR 1
#define FCL_VERSION_PATCH 0
#define FCL_VERSION "0.1.0"

#if defined(__GNUC__) || defined(__clang__)
#define FCL_API __attribute__((visibility("default")))
#else
#define FCL_API
#endif

// The version of the library that runs, as "major.minor.patch". Static text. Thread-safety: safe.
FCL_API const char *fcl_version(void);

// ---- Status ---------------------------------------------------------------------------------

// What a call may answer. The numbers are pinned. X(NAME, number, sentence)
#define FCL_STATUS_LIST(X)                                                          \
    X(OK, 0, "success")                                                             \
    X(INVALID_ARGUMENT, 1, "an argument is outside of what is allowed")             \
    X(UNSUPPORTED, 2, "valid, but no kernel family can do it on this device")       \
    X(OUT_OF_MEMORY, 3, "host or device memory cannot hold what is needed")         \
    X(BUILD_FAILED, 4, "the device's compiler rejected the kernel")                 \
    X(DEVICE_ERROR, 5, "an OpenCL call failed")                                     \
    X(WRONG_RESULT, 6, "a kernel's result differs from the reference")              \
    X(NO_CONFIGURATION, 7, "no configuration is valid for this problem and device") \
    X(BUDGET_REACHED, 8, "the time or count allowed was used up before the end")    \
    X(IO_ERROR, 9, "a file or folder cannot be read or written")

enum fcl_status {
#define FCL_X(name, number, sentence) FCL_##name = (number),
    FCL_STATUS_LIST(FCL_X)
#undef FCL_X
};

// The status as a sentence without a full stop; "unknown status" for other numbers. Static text.
// Thread-safety: safe.
FCL_API const char *fcl_status_text(enum fcl_status status);

// ---- Log ------------------------------------------------------------------------------------

enum fcl_log_level {
    FCL_LOG_NONE = 0,
    FCL_LOG_ERROR,   // a call failed: why, naming the argument, its value and what is allowed
    FCL_LOG_WARNING, // it goes on, but not as asked (cache folder not writable, clock unusable)
    FCL_LOG_INFO,    // what was chosen and built
    FCL_LOG_DEBUG    // cache hits and misses, pruned configurations
};

// Receives one finished message: no newline at its end, valid only during the call. May be called
// from any thread that calls the library, never while a lock of the library is held.
typedef void (*fcl_log_function)(void *user, enum fcl_log_level level, const char *text);

// Where messages go. A zeroed struct is silence; the library itself never prints.
struct fcl_log {
    fcl_log_function function;
    void *user;
    enum fcl_log_level level; // messages above this level are not made
};

// ---- Problems -------------------------------------------------------------------------------

// Element types in memory. Arithmetic is fp32 whatever they are.
enum fcl_dtype {
    FCL_F32 = 0, // IEEE binary32
    FCL_F16,     // IEEE binary16
    FCL_BF16     // upper half of binary32
};

// Bytes of one element; 0 for an unknown type. Thread-safety: safe.
FCL_API size_t fcl_dtype_size(enum fcl_dtype dtype);

enum fcl_pass {
    FCL_PASS_FORWARD = 0, // O = softmax(scale Q K') V, and LSE when the problem says `lse`
    FCL_PASS_STATISTICS   // LSE of scale Q K' only: no V, no O
};

// Which keys a query may see. Alignment is explicit and never inferred from shapes: query i stands
// at i' = i (top-left) or i' = i + k_len - q_len (bottom-right). Causal, it sees keys j <= i'. The
// last two only align, for what is measured from i', a window or ALiBi; without that they are the
// same as NONE.
enum fcl_mask {
    FCL_MASK_NONE = 0,
    FCL_MASK_CAUSAL_TOP_LEFT,
    FCL_MASK_CAUSAL_BOTTOM_RIGHT,
    FCL_MASK_TOP_LEFT,
    FCL_MASK_BOTTOM_RIGHT
};

// Order of the dimensions in memory where no strides are given: batch, head, sequence, dim or
// batch, sequence, head, dim.
enum fcl_layout { FCL_LAYOUT_BHSD = 0, FCL_LAYOUT_BSHD };

// Attention with linear biases (Press et al. 2022): a score loses slope * |i' - j|, where i' is
// where the query stands. The standard slopes of n heads are 2^(-8 / n), 2^(-16 / n), ..., where n
// is a power of two; else those of the power of two below n, and for the rest of the heads every
// second one of twice that power, from the first on.
enum fcl_alibi {
    FCL_ALIBI_NONE = 0,
    FCL_ALIBI_STANDARD,
    FCL_ALIBI_GIVEN // a slope for each query head is an argument of a launch
};

// The element type of a tensor [batch, heads_q, q_len, k_len] that is added to scores. -infinity
// hides its key; a row of finite numbers, however low, hides none.
enum fcl_bias { FCL_BIAS_NONE = 0, FCL_BIAS_F32, FCL_BIAS_F16, FCL_BIAS_BF16 };

// A stride that is 0, in a tensor that says so of all: strides that are all 0 are not given.
#define FCL_BROADCAST (-1)

// One attention problem. Everything up to `strided` is baked into a kernel, except batch, heads and
// lengths: they are hints for choosing a configuration and exact only where a call says so.
//
// Text form (fcl_problem_parse), fields after the pass in any order, those at their default left
// out:
//     fwd b2 h32/8 q4096 k4096 d192/128 f16 causal-br lse layout=bshd align=4
// pass fwd or lse; h, d: query/key-value pairs, one number for both; f32, f16 or bf16 for all four
// tensors or one each as q:f16 k:bf16 v:f32 o:f32; none, causal-tl, causal-br, tl or br; win=L,R;
// softcap=C; bias=f32|f16|bf16; alibi or alibi=given; mask=u8; sink; varlen; used; page=N; lse;
// guard-v; strided; layout=bhsd|bshd; align=BYTES. Defaults: b1 h1, k as q, f32, none.
struct fcl_problem {
    size_t struct_size; // sizeof(struct fcl_problem), set by fcl_problem() or fcl_problem_init
    enum fcl_pass pass;
    int64_t batch;    // 0 is an empty problem
    int64_t heads_q;  // at least 1; a multiple of heads_kv
    int64_t heads_kv; // 0: as heads_q. Query head h reads key head h / (heads_q / heads_kv)
    int64_t q_len;    // 0 is an empty problem
    int64_t k_len;    // 0: every row is empty (O = 0, LSE = -inf)
    int head_dim_qk;  // 1 to 1024
    int head_dim_v;   // 1 to 1024; 0: as head_dim_qk
    enum fcl_dtype dtype_q, dtype_k, dtype_v, dtype_o;
    enum fcl_mask mask;
    enum fcl_layout layout;
    int alignment; // bytes, a power of two that divides every offset and every stride but the last.
                   // 0: 16, or less where a contiguous row or element demands it
    int lse;       // 1: also write the log-sum-exp of each row (natural logarithm, fp32)
    int guard_v;   // 1: a non-finite V row never reaches a query that does not see it. 0: V rows
                   // within a sequence's length must be finite, also where some or all queries
                   // do not see them; a window that moved on may have left them behind
    int strided;   // 1: innermost strides other than 1 are allowed (slower)
    int window;    // 1: query i sees keys i' - window_left <= j <= i' + window_right only; causal,
                   // both must hold. `mask` says what i' is: NONE is not allowed. Whether a side is
                   // bounded is baked in, how far it reaches is a hint like the lengths
    int64_t window_left, window_right; // -1: unbounded
    int softcap; // c > 0: scores become c tanh(score / c) before any mask. That there is a cap is
                 // baked in, c is what a launch takes that gives none
    int sink;    // 1: each query head has one more logit, a number of a launch, that takes part in
                 // the softmax as a key without a value. LSE includes it: of a row without keys, O
                 // is 0 and LSE is the sink
    int varlen; // 1: packed sequences: `batch` of them, of any lengths up to q_len and k_len, whose
                // rows lie one after the other in tensors [total, heads, dim] (layout is bshd).
                // A launch brings where each begins
    int used;   // 1: a launch brings the lengths of the sequences: rows beyond them do not exist.
                // Queries stand where they do by their sequence's own lengths
    int page;   // above 0: K and V lie in pages of so many rows, in a pool [pages, heads_kv, page,
                // dim], and a launch brings the pages of each sequence; it is `used`, too. That
                // there are pages is baked in, the number is what a launch takes that gives none
    enum fcl_alibi alibi; // added to scores after the cap. `mask` says what i' is: NONE is not
                          // allowed
    enum fcl_bias bias;   // added to scores after the cap
    int visible;          // 1, `mask=u8`: a tensor of bytes [batch, heads_q, q_len, k_len] says
                          // with numbers other than 0 which keys a query sees, of those that
                          // `mask` and the window leave
};

#define FCL_HEAD_DIM_LIMIT 1024

#ifndef __cplusplus
// A problem with named fields: fcl_problem(.batch = 1, .heads_q = 8, ...). C only.
#define fcl_problem(...) \
    ((struct fcl_problem){.struct_size = sizeof(struct fcl_problem), __VA_ARGS__})
#endif

// Sets b1 h1 d64 f32, lengths 0, no mask. Thread-safety: safe.
FCL_API void fcl_problem_init(struct fcl_problem *problem);

// Reads the text form. On failure *problem is untouched and `reason` (size bytes, may be NULL) says
// which word is wrong and what is allowed. Thread-safety: safe.
FCL_API enum fcl_status fcl_problem_parse(const char *text, struct fcl_problem *problem,
                                          char *reason, size_t size);

// Writes the text form, shortest first, always cut to `size` with a final 0; returns the length
// that the whole text has. parse(format(p)) gives p with its defaults filled in. Thread-safety:
// safe.
FCL_API size_t fcl_problem_format(const struct fcl_problem *problem, char *text, size_t size);

// Checks the problem alone, before any device: INVALID_ARGUMENT (0 heads or dims, heads that do not
// divide, numbers out of range, a promise that the layout breaks) or UNSUPPORTED (head dims above
// 1024), with the reason. Thread-safety: safe.
FCL_API enum fcl_status fcl_problem_validate(const struct fcl_problem *problem, char *reason,
                                             size_t size);

// How a problem is computed: a property of a plan, not of the problem.
enum fcl_implementation {
    FCL_FUSED = 0, // one kernel, scores never in device memory
    FCL_UNFUSED // three kernels over a score matrix in workspace: the baseline to compare with. It
                // holds scores in Q's type: f16 loses precision with their size and ends at 65504
};

// ---- Opaque handles ---------------------------------------------------------------------------

// A device with its caches. Thread-safety: safe after creation.
typedef struct fcl_device fcl_device;

// A compiled problem. Thread-safety: immutable; shared by any number of threads.
typedef struct fcl_plan fcl_plan;

// A compiled merge of partial results. Thread-safety: immutable; shared by any number of threads.
typedef struct fcl_merge fcl_merge;

#ifdef __cplusplus
}
#endif
#endif
