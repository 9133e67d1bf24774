// FlashCL: fused attention for any OpenCL device. This is the header that an application includes;
// it reads from the simple call to the fine controls.
//
//     fcl_device_create  ->  fcl_attention_run                        one call, plans kept inside
//     fcl_device_create  ->  fcl_plan_create  ->  fcl_attention_enqueue          you own the rest
//                            fcl_merge_create  ->  fcl_merge_enqueue             results of parts
//
// The library never prints, aborts, exits or reads the environment. It starts no threads and keeps
// no global state. Invalid arguments enqueue nothing; the device's log says why a call failed.
#ifndef FLASHCL_FLASHCL_H
#define FLASHCL_FLASHCL_H

#include "types.h"

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#ifdef __APPLE__
#include <OpenCL/cl.h>
#else
#include <CL/cl.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct fcl_caps;   // tune.h: what a device can do, as a value
struct fcl_config; // tune.h: the tunables of a kernel

// ---- Devices ----------------------------------------------------------------------------------

// Storage for built kernels that the application provides itself, instead of a folder. Both are
// called from threads that create plans, possibly several at once.
struct fcl_cache_callbacks {
    // Copies the entry of this name into memory from malloc, which the library frees; returns its
    // size, or 0 where there is none. Names are 32 hexadecimal digits.
    size_t (*get)(void *user, const char *name, void **data);
    // Keeps the entry; may fail silently. `data` is valid only during the call.
    void (*put)(void *user, const char *name, const void *data, size_t size);
    void *user;
};

// How a device behaves. A zeroed struct (with struct_size) is: silent, memory-only cache, no
// wisdom. Texts are copied; callbacks must outlive the device.
struct fcl_device_options {
    size_t struct_size;
    struct fcl_log log;
    const char *cache_folder; // built kernels are kept here, shared between processes; it is made
                              // when missing. An unusable folder costs one warning. NULL: none
    uint64_t cache_limit;     // bytes in the folder before the least recently used go; 0: 256 MiB
    struct fcl_cache_callbacks cache; // used instead of a folder when `get` is set
    const char *wisdom_file;          // tuned configurations, read now; extended by tuning, and
                                      // by plans that prove another driver's; NULL: none
    const char *kernel_folder;        // read kernel sources from here instead of the embedded ones
                                      // (development, exercises); NULL: embedded
    const char *caps_mask; // pretend that the device can do less: fcl_caps_mask in tune.h
};

#ifndef __cplusplus
#define fcl_device_options(...) \
    (&(struct fcl_device_options){.struct_size = sizeof(struct fcl_device_options), __VA_ARGS__})
#endif

// Makes a device handle. `context` must hold `device`; both are retained until destroy. options
// NULL: defaults. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY, DEVICE_ERROR, IO_ERROR (a wisdom file
// that is malformed; a missing one is empty); then *created is NULL. Thread-safety: safe.
FCL_API enum fcl_status fcl_device_create(cl_context context, cl_device_id device,
                                          const struct fcl_device_options *options,
                                          fcl_device **created);

// Frees the handle and the plans kept inside, and sets it to NULL. NULL and a NULL handle are fine.
// Plans made from it must have been destroyed before. Thread-safety: no other call may use it.
FCL_API void fcl_device_destroy(fcl_device **device);

// What the device can do, after the mask; valid as long as the device. Thread-safety: safe.
FCL_API const struct fcl_caps *fcl_device_caps(const fcl_device *device);

// ---- The simple call --------------------------------------------------------------------------

// One tensor [batch, head, sequence, dim] in device memory.
struct fcl_tensor {
    cl_mem buffer;
    size_t offset; // bytes from the buffer's start; a multiple of the element and the alignment
    int64_t strides[4]; // elements from one batch, head, row, column to the next. All 0: contiguous
                        // in the problem's layout. A stride of 0 broadcasts an input; where all
                        // are 0, one of them is FCL_BROADCAST
};

// O = softmax(scale Q K') V on contiguous buffers, scale 1/sqrt(head_dim_qk), for the problem with
// its exact lengths. May compile on first use of a problem kind: the plan is then kept inside the
// device. Never waits for the device; `event` (may be NULL) is the caller's to release.
// Errors: those of fcl_plan_create and fcl_attention_enqueue. Thread-safety: safe.
FCL_API enum fcl_status fcl_attention_run(fcl_device *device, cl_command_queue queue, cl_mem q,
                                          cl_mem k, cl_mem v, cl_mem o,
                                          const struct fcl_problem *problem, cl_event *event);

// ---- Plans ------------------------------------------------------------------------------------

// Whether some kernel family accepts the problem on this device: OK, or INVALID_ARGUMENT or
// UNSUPPORTED with a reason (size bytes, may be NULL). Never compiles. Thread-safety: safe.
FCL_API enum fcl_status fcl_attention_supports(const fcl_device *device,
                                               const struct fcl_problem *problem, char *reason,
                                               size_t size);

// How much plan creation may cost.
enum fcl_effort {
    FCL_EFFORT_WISDOM = 0, // wisdom, then tables, then defaults: builds one configuration
    FCL_EFFORT_TABLE,      // the same without the user's wisdom: reproducible everywhere
    FCL_EFFORT_FULL        // tune now when wisdom has nothing for this problem class (minutes)
};

// How to make a plan. A zeroed struct (with struct_size) is the default.
struct fcl_plan_options {
    size_t struct_size;
    enum fcl_effort effort;
    enum fcl_implementation implementation;
    const struct fcl_config *config; // use exactly this one; NULL: choose
};

#ifndef __cplusplus
#define fcl_plan_options(...) \
    (&(struct fcl_plan_options){.struct_size = sizeof(struct fcl_plan_options), __VA_ARGS__})
#endif

// Chooses a configuration, builds it (or takes it from the cache) and proves it by a tiny launch
// that is compared with the host reference. Where a configuration fails, the next in the order of
// preference is taken; an explicit config is never replaced. options NULL: defaults.
// Errors: INVALID_ARGUMENT, UNSUPPORTED, NO_CONFIGURATION, BUILD_FAILED, WRONG_RESULT,
// DEVICE_ERROR, OUT_OF_MEMORY; then *created is NULL. Blocks. Thread-safety: safe.
FCL_API enum fcl_status fcl_plan_create(fcl_device *device, const struct fcl_problem *problem,
                                        const struct fcl_plan_options *options, fcl_plan **created);

// Frees the plan and sets it to NULL; launches under way are not disturbed. NULL is fine.
// Thread-safety: no other call may use it.
FCL_API void fcl_plan_destroy(fcl_plan **plan);

// What a plan is. Texts live as long as the plan.
struct fcl_plan_info {
    const char *label;    // pass, type, dims, features, configuration: names this kernel everywhere
    const char *config;   // the configuration in its text form
    const char *origin;   // "explicit", "wisdom", "wisdom of another driver", "table", "nearest",
                          // "default" or "fallback"
    int from_cache;       // 1: no source was compiled
    double build_ms;      // compiler, or loading the binary, and the self-check launch
    double plan_ms;       // the whole of plan creation
    size_t group_size;    // work-items of a work-group
    uint64_t local_bytes; // local memory of a work-group, as the driver reports it
    uint64_t private_bytes; // private memory of a work-item, as the driver reports it: spills
};

// Describes the plan. Thread-safety: safe.
FCL_API void fcl_plan_describe(const fcl_plan *plan, struct fcl_plan_info *info);

// The numbers of one launch.
struct fcl_shape {
    int64_t batch, heads_q, heads_kv, q_len, k_len; // heads_kv 0: as heads_q
};

// Bytes of workspace that a launch of this shape needs: 0 for most fused plans; partial results,
// q_len x (head_dim_v + 1) for each head and split, where the configuration splits keys, and on
// some devices 8 bytes for each work-group; never a term in q_len x k_len, except for unfused
// plans: there it is the score matrix. Errors: INVALID_ARGUMENT; OUT_OF_MEMORY when it exceeds what
// the device can allocate at once, with both numbers in the log (then *size is still set).
// Thread-safety: safe.
FCL_API enum fcl_status fcl_plan_workspace_size(const fcl_plan *plan, const struct fcl_shape *shape,
                                                size_t *size);

// ---- Launching --------------------------------------------------------------------------------

// The arguments of one launch.
struct fcl_attention_args {
    size_t struct_size;
    struct fcl_shape shape;
    struct fcl_tensor q; // [batch, heads_q,  q_len, head_dim_qk]
    struct fcl_tensor k; // [batch, heads_kv, k_len, head_dim_qk]
    struct fcl_tensor v; // [batch, heads_kv, k_len, head_dim_v]
    struct fcl_tensor o; // [batch, heads_q,  q_len, head_dim_v]; its elements must overlap neither
                         // each other nor an input
    cl_mem lse;        // fp32 [batch, heads_q, q_len], contiguous; used when the problem says `lse`
    size_t lse_offset; // bytes, a multiple of 4
    float scale;       // 0: 1/sqrt(head_dim_qk)
    cl_mem
        workspace; // fcl_plan_workspace_size bytes; NULL where that is 0. One per launch in flight
    int window;    // 1: the window is the one below; 0: as the plan's problem says. A side that
                   // the problem leaves unbounded stays so, a bounded one stays bounded; the right
                   // one of a causal problem may be either
    int64_t window_left, window_right; // keys beside i' that a query sees; -1: unbounded
    cl_mem sinks; // fp32 [heads_q], natural logits, -INFINITY for none; used when the problem
                  // says `sink`
    size_t sinks_offset; // bytes, a multiple of 4
    float softcap;       // above 0, of a problem with a softcap; 0: as the problem says

    // Metadata of sequences, int32 in device memory, each with an offset in bytes, a multiple of 4.
    // Kernels clamp what they read there: wrong numbers never touch anything outside of the
    // tensors; fcl_attention_validate finds them. Shape: `batch` sequences, none longer than q_len
    // and k_len.
    //
    // varlen: sequence s has rows cu_q[s] to cu_q[s + 1] - 1 of q [total_q, heads_q, head_dim_qk]
    // and o, and rows of k and v [total_k, heads_kv, ...] by cu_k; batch strides are not used. lse
    // is [heads_q, total_q]. Rows that belong to no sequence are not written.
    cl_mem cu_q, cu_k; // [batch + 1]
    size_t cu_q_offset, cu_k_offset;
    int64_t total_q, total_k; // rows, up to 2^30; total_q at most batch x q_len
    // used: sequence s has used_q[s] rows of q and o, and used_k[s] of k and v. What lies beyond
    // them is not written, and not seen, whatever is there.
    cl_mem used_q, used_k; // [batch]; used_q NULL: all rows
    size_t used_q_offset, used_k_offset;
    // page: k and v are pools [page_count, heads_kv, page, ...] with strides of their own; keys n x
    // page and on of sequence s lie in page table[s x table_stride + n], n below table_entries.
    // k_len and used_k end with the table. Keys in a page outside of the pool are hidden.
    cl_mem table;
    size_t table_offset;
    int64_t table_stride; // elements; 0: table_entries
    int64_t table_entries, page_count;
    int page; // rows of a page; 0: as the problem says

    // What is added to scores, and hides them.
    cl_mem slopes;             // fp32 [heads_q]; used when the problem says `alibi=given`
    size_t slopes_offset;      // bytes, a multiple of 4
    struct fcl_tensor bias;    // [batch, heads_q, q_len, k_len], natural logits; used when the
                               // problem says `bias`. All strides 0: contiguous in this order,
                               // whatever the problem's layout. Offset and strides need no
                               // alignment but the element's. Of sequences, batch is the sequence,
                               // and queries and keys are counted within it
    struct fcl_tensor visible; // the same of bytes, not 0 where the query sees the key; used when
                               // the problem says `mask=u8`
};

#ifndef __cplusplus
#define fcl_attention_args(...) \
    (&(struct fcl_attention_args){.struct_size = sizeof(struct fcl_attention_args), __VA_ARGS__})
#endif

// Enqueues attention after the `wait` events on an in-order or out-of-order queue. Never blocks,
// allocates, compiles or flushes. batch 0 or q_len 0 succeeds and still gives an event; k_len 0
// writes empty rows. `event` (may be NULL) is the caller's to release.
// Errors: INVALID_ARGUMENT (names the argument, its value and what is allowed), UNSUPPORTED,
// DEVICE_ERROR. Thread-safety: safe; a short lock is held while arguments are set.
FCL_API enum fcl_status fcl_attention_enqueue(const fcl_plan *plan, cl_command_queue queue,
                                              const struct fcl_attention_args *args,
                                              cl_uint wait_count, const cl_event *wait,
                                              cl_event *event);

// Checks a launch and its metadata: all that fcl_attention_enqueue checks, then, where sequences
// differ in length, the metadata in device memory as fcl_sequences_validate (sequences.h) does.
// Reads them by the queue and blocks; whatever writes them must be complete, or before in an
// in-order queue. The log names the first entry that is wrong. Errors: those of
// fcl_attention_enqueue, INVALID_ARGUMENT, OUT_OF_MEMORY. Thread-safety: safe.
FCL_API enum fcl_status fcl_attention_validate(const fcl_plan *plan, cl_command_queue queue,
                                               const struct fcl_attention_args *args);

// ---- Merging partial results ------------------------------------------------------------------

// Attention over two sets of keys, for instance a prefix that many sequences share and what is
// each one's own, or the keys of two devices, can be computed apart: from both O and LSE,
//
//     LSE = log(e^LSE_a + e^LSE_b)      O = (e^LSE_a O_a + e^LSE_b O_b) / e^LSE
//
// O = 0 with LSE = -inf, what a plan writes where a row sees no key, changes nothing; the O of such
// a part is not looked at. More parts are merged one after the other. Sinks belong to one part
// only.

// Builds the kernel for these element types, or takes it from the cache, and proves it by a tiny
// launch. Errors: INVALID_ARGUMENT, BUILD_FAILED, WRONG_RESULT, DEVICE_ERROR, OUT_OF_MEMORY; then
// *created is NULL. Blocks. Thread-safety: safe.
FCL_API enum fcl_status fcl_merge_create(fcl_device *device, enum fcl_dtype dtype_a,
                                         enum fcl_dtype dtype_b, enum fcl_dtype dtype_o,
                                         fcl_merge **created);

// Frees it and sets it to NULL; launches under way are not disturbed. NULL is fine. Thread-safety:
// no other call may use it.
FCL_API void fcl_merge_destroy(fcl_merge **merge);

// The arguments of one merge. All tensors are [batch, heads_q, q_len, head_dim]; all LSE are fp32
// [batch, heads_q, q_len], contiguous. Packed sequences are one batch of total_q rows, bshd.
struct fcl_merge_args {
    size_t struct_size;
    struct fcl_shape shape; // heads_kv and k_len do not matter
    int head_dim;           // 1 to 1024
    enum fcl_layout layout; // of tensors whose strides are all 0
    struct fcl_tensor a, b; // any strides; offsets are multiples of the element
    struct fcl_tensor o;    // may be all of a or of b, with equal type, offset and strides; else
                            // its elements must overlap neither each other nor an input
    cl_mem lse_a, lse_b;
    cl_mem lse;                                    // may be all of lse_a or lse_b; NULL: not wanted
    size_t lse_a_offset, lse_b_offset, lse_offset; // bytes, multiples of 4
};

#ifndef __cplusplus
#define fcl_merge_args(...) \
    (&(struct fcl_merge_args){.struct_size = sizeof(struct fcl_merge_args), __VA_ARGS__})
#endif

// Enqueues a merge after the `wait` events, as fcl_attention_enqueue does: it never blocks,
// allocates, compiles or flushes; batch 0 or q_len 0 succeeds and still gives an event. Errors:
// INVALID_ARGUMENT (names the argument, its value and what is allowed), UNSUPPORTED (2^32 rows and
// more), DEVICE_ERROR. Thread-safety: safe; a short lock is held while arguments are set.
FCL_API enum fcl_status fcl_merge_enqueue(const fcl_merge *merge, cl_command_queue queue,
                                          const struct fcl_merge_args *args, cl_uint wait_count,
                                          const cl_event *wait, cl_event *event);

// ---- Source for other runtimes ----------------------------------------------------------------

enum fcl_argument_kind { FCL_ARGUMENT_BUFFER, FCL_ARGUMENT_BYTES };

// One kernel argument, in order.
struct fcl_argument {
    // "q", "k", "v", "o", "lse", "args", then of kernels that have them "workspace" and "mark"
    // (nvidia_wgmma), "sinks", "slopes", "bias", "visible", and of varlen or used problems "cu_q",
    // "cu_k", "used_q", "used_k", "table", of which those are read that the problem speaks of. A
    // kernel that splits keys (nvidia_mma) has "workspace" twice in place of "o" and "lse", and
    // behind "args" "whole", "o", "lse" and "mark". A mark is a number of 64 bits; from one launch
    // to the next with the same workspace it must grow by 2^33 at least (or a launch must have
    // another workspace); filled in: 1, for a workspace that was cleared
    const char *name;
    enum fcl_argument_kind kind;
    size_t size;       // of BYTES; of a workspace
    const void *bytes; // of BYTES: filled in for the problem's own lengths and contiguous tensors
};

// A complete kernel. All texts belong to it; free it with fcl_generated_free.
struct fcl_generated {
    char *source;       // self-contained OpenCL C 1.2: prelude and every include in one text
    char *flags;        // options for clBuildProgram
    char *label;        // also the kernel's name
    size_t group_size;  // local size; the grid is one-dimensional
    size_t groups;      // work-groups for the problem's own lengths
    size_t local_bytes; // local memory declared by the kernel
    struct fcl_argument arguments[20];
    size_t argument_count;
    void *storage; // the library's own
};

// Writes the fused kernel of a problem for a device described by `caps`, without any OpenCL object.
// config NULL: the default for the device. kernel_folder NULL: from the embedded kernels. Errors:
// as fcl_plan_create before any build, with the reason (size bytes, may be NULL). Thread-safety:
// safe.
FCL_API enum fcl_status
fcl_attention_generate(const struct fcl_problem *problem, const struct fcl_caps *caps,
                       const struct fcl_config *config, const char *kernel_folder,
                       struct fcl_generated *generated, char *reason, size_t size);

// Frees the texts of a generated kernel. Zeroed structs are fine. Thread-safety: safe.
FCL_API void fcl_generated_free(struct fcl_generated *generated);

#ifdef __cplusplus
}
#endif
#endif
