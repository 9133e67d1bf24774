// FlashCL's workbench: what a device can do, what can be tuned, timing, checking, tuning and
// the host reference; what is kept on disk is in store.h. No OpenCL header is needed. Unlike
// flashcl.h, this part may still change between minor versions.
#ifndef FLASHCL_TUNE_H
#define FLASHCL_TUNE_H

#include "kernel.h"
#include "search.h"
#include "sequences.h"
#include "store.h"
#include "timing.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Capabilities -----------------------------------------------------------------------------

// Facts about a device, each with its name in the text form. Numbers first, then texts.
// X(name, meaning)
#define FCL_CAPS_NUMBERS(X)                                                         \
    X(cpu, "1: a CPU device")                                                       \
    X(gpu, "1: a GPU device")                                                       \
    X(compute_units, "compute units")                                               \
    X(group_size, "largest work-group, work-items")                                 \
    X(local_bytes, "local memory of a work-group that works, bytes")                \
    X(local_dedicated, "1: local memory is on the chip, 0: it is global memory")    \
    X(global_bytes, "device memory, bytes")                                         \
    X(cache_bytes, "last-level cache of device memory, bytes; 0: not told")         \
    X(allocation_bytes, "largest single buffer, bytes")                             \
    X(float_width, "native vector width for float")                                 \
    X(timer_ns, "resolution of event stamps, nanoseconds")                          \
    X(fp16, "1: cl_khr_fp16")                                                       \
    X(nvidia_capability, "compute capability of an NVIDIA GPU, 10 x major + minor") \
    X(subgroups, "1: cl_khr_subgroups or cl_intel_subgroups")                       \
    X(images, "1: images")                                                          \
    X(address_bits, "32 or 64")                                                     \
    X(c_version, "OpenCL C version, 100 x major + 10 x minor")

#define FCL_CAPS_TEXTS(X)        \
    X(name, "device name")       \
    X(vendor, "device vendor")   \
    X(version, "device version") \
    X(driver, "driver version")  \
    X(platform, "platform name") \
    X(platform_version, "platform version")

#define FCL_CAPS_TEXT_SIZE 128

struct fcl_caps {
#define FCL_X(name, meaning) uint64_t name;
    FCL_CAPS_NUMBERS(FCL_X)
#undef FCL_X
#define FCL_X(name, meaning) char name[FCL_CAPS_TEXT_SIZE];
    FCL_CAPS_TEXTS(FCL_X)
#undef FCL_X
};

// Text form: one `name value` line for each fact. Cut at `size`; returns the whole length.
// Thread-safety: safe.
FCL_API size_t fcl_caps_format(const struct fcl_caps *caps, char *text, size_t size);

// Reads the text form; facts that are not named become 0 or "". On failure *caps is untouched and
// `reason` names the line. Thread-safety: safe.
FCL_API enum fcl_status fcl_caps_parse(const char *text, struct fcl_caps *caps, char *reason,
                                       size_t size);

// Takes abilities away: `mask` is `name=value` words, each lowers that number to at most the value
// (fp16=0 local_bytes=16384 group_size=64 float_width=4). Texts cannot be masked, except that
// cpu=0 turns a CPU device into a GPU and gpu=0 the reverse. On failure *caps is untouched.
// Thread-safety: safe.
FCL_API enum fcl_status fcl_caps_mask(struct fcl_caps *caps, const char *mask, char *reason,
                                      size_t size);

// ---- Configurations ---------------------------------------------------------------------------

// A kernel family is a tile file kernels/tile/<name>.clh, least able first. X(NAME, text)
#define FCL_FAMILY_LIST(X) \
    X(GENERIC, "generic")  \
    X(VECTOR, "vector") X(ROW, "row") X(NVIDIA_MMA, "nvidia_mma") X(NVIDIA_WGMMA, "nvidia_wgmma")

enum fcl_family {
#define FCL_X(name, text) FCL_FAMILY_##name,
    FCL_FAMILY_LIST(FCL_X)
#undef FCL_X
        FCL_FAMILY_COUNT
};

// "generic", "vector" and so on; NULL for other numbers. Thread-safety: safe.
FCL_API const char *fcl_family_text(enum fcl_family family);

// Whether a family can run on a device: OK, or UNSUPPORTED with the reason. Thread-safety: safe.
FCL_API enum fcl_status fcl_family_usable(enum fcl_family family, const struct fcl_caps *caps,
                                          char *reason, size_t size);

#define FCL_USES(family) (1u << FCL_FAMILY_##family)
#define FCL_EVERY_FAMILY ((1u << FCL_FAMILY_COUNT) - 1)

// Tunables. X(field, key, MACRO, families that use it, meaning). A field that the family does not
// use is 0. The key is its letter in the text form and in labels; the macro is its name in kernels.
#define FCL_CONFIG_FIELDS(X)                                                                \
    X(block_m, "m", BLOCK_M, FCL_EVERY_FAMILY, "rows of a work-group")                      \
    X(block_n, "n", BLOCK_N, FCL_EVERY_FAMILY, "keys of a block")                           \
    X(items, "w", ITEMS, FCL_USES(GENERIC) | FCL_USES(NVIDIA_MMA) | FCL_USES(NVIDIA_WGMMA), \
      "work-items of a work-group")                                                         \
    X(item_rows, "r", ITEM_ROWS, FCL_USES(GENERIC), "rows of an item's product tile")       \
    X(d_chunk, "d", D_CHUNK, FCL_USES(GENERIC),                                             \
      "head dims of Q staged at once; the head dim: all, kept")                             \
    X(k_chunk, "h", K_CHUNK, FCL_USES(GENERIC),                                             \
      "head dims of K staged at once where all of Q is kept; 0: all")                       \
    X(held, "q", HELD, FCL_USES(NVIDIA_MMA), "1: rows of Q stay in registers")              \
    X(stages, "t", STAGES, FCL_USES(NVIDIA_MMA) | FCL_USES(NVIDIA_WGMMA),                   \
      "buffers for blocks of K; nvidia_wgmma: and of V; nvidia_mma 3: two of each")         \
    X(resident, "u", RESIDENT, FCL_USES(NVIDIA_MMA),                                        \
      "work-groups that a compute unit must have registers and memory for; 0: as it comes") \
    X(ahead, "a", AHEAD, FCL_USES(NVIDIA_WGMMA),                                            \
      "beside the last product: 1 the next rows' first scores, 2 copies of their Q")        \
    X(width, "l", WIDTH, FCL_USES(VECTOR) | FCL_USES(ROW), "elements in a vector register") \
    X(micro_keys, "k", MICRO_KEYS, FCL_USES(VECTOR) | FCL_USES(ROW),                        \
      "keys of a register tile of scores")                                                  \
    X(micro_cols, "c", MICRO_COLS, FCL_USES(VECTOR) | FCL_USES(ROW),                        \
      "columns (row: vectors of columns) of a register tile of the output")                 \
    X(dv_split, "p", DV_SPLIT, FCL_EVERY_FAMILY,                                            \
      "groups that share the output's columns; 1: one does all")                            \
    X(packed, "g", PACKED, FCL_EVERY_FAMILY,                                                \
      "1: the query heads that share a key head are rows of one block")                     \
    X(splits, "s", SPLITS, FCL_EVERY_FAMILY,                                                \
      "most parts that the keys of a row are cut into; above 1, launches need workspace")   \
    X(visit, "x", VISIT, FCL_EVERY_FAMILY,                                                  \
      "masking: 0 skip hidden blocks and mask edge blocks, 1 skip but mask all, 2 mask only")

struct fcl_config {
    enum fcl_family family;
#define FCL_X(field, key, macro, families, meaning) int field;
    FCL_CONFIG_FIELDS(FCL_X)
#undef FCL_X
};

// Text form: family_m64n64l16k4c4p1 with the keys above; fields at 0 are left out, and p1 and x0
// may be. Cut at `size`; returns the whole length. Thread-safety: safe.
FCL_API size_t fcl_config_format(const struct fcl_config *config, char *text, size_t size);

// Reads the text form. On failure *config is untouched and `reason` names the part that is wrong.
// Thread-safety: safe.
FCL_API enum fcl_status fcl_config_parse(const char *text, struct fcl_config *config, char *reason,
                                         size_t size);

// Whether the configuration can run the problem on the device, before any build: OK, or UNSUPPORTED
// with the reason (both numbers where a limit is exceeded). Thread-safety: safe.
FCL_API enum fcl_status fcl_config_validate(const struct fcl_config *config,
                                            const struct fcl_problem *problem,
                                            const struct fcl_caps *caps, char *reason, size_t size);

// The configuration that is used where nothing was tuned: UNSUPPORTED where none is valid.
// Thread-safety: safe.
FCL_API enum fcl_status fcl_config_default(const struct fcl_problem *problem,
                                           const struct fcl_caps *caps, struct fcl_config *config,
                                           char *reason, size_t size);

// How many kernels a launch runs: a second one where the first does not join the parts of split
// keys itself; unfused three. Thread-safety: safe.
FCL_API int fcl_config_kernels(const struct fcl_config *config,
                               enum fcl_implementation implementation);

// Local memory of a work-group that the kernel will declare, bytes. Thread-safety: safe.
FCL_API size_t fcl_config_local_bytes(const struct fcl_config *config,
                                      const struct fcl_problem *problem);

// What a work-group keeps on the chip: registers of `lanes` floats for the tiles of one work-item,
// and bytes of what is in local memory (generic) or in private arrays (vector, row), which on a CPU
// are in the first-level cache. X(name, meaning)
#define FCL_BUDGET_FIELDS(X)                                                                \
    X(group_size, "work-items of a work-group")                                             \
    X(lanes, "floats in one of the registers below; 1: scalar registers")                   \
    X(accumulators, "registers for C, the tile of the output under way")                    \
    X(left, "registers for A, the left operand under way: a part of Q, or of P")            \
    X(scores, "registers for S, the tile of scores under way")                              \
    X(registers, "most of these at once, with one for the right operand: a part of K or V") \
    X(left_bytes, "rows of Q that are kept; of long head dims a part")                      \
    X(right_bytes, "copy of a part of K or V, whichever is larger; 0: read where they are") \
    X(scores_bytes, "block of scores, later probabilities")                                 \
    X(out_bytes, "rows of the output that do not stay in registers")                        \
    X(row_bytes, "numbers of each row: maxima, sum, factor; generic: what items exchange")  \
    X(local_bytes, "sum of these in local memory")                                          \
    X(private_bytes, "sum of these in private arrays")

struct fcl_budget {
#define FCL_X(name, meaning) int64_t name;
    FCL_BUDGET_FIELDS(FCL_X)
#undef FCL_X
};

// The budget of a configuration's fused kernel, from the sizes that its source declares; a compiler
// may need more registers. It needs no device and says nothing of its limits. Errors, with *budget
// zeroed: INVALID_ARGUMENT; UNSUPPORTED where the tunables do not fit each other or the problem.
// Thread-safety: safe.
FCL_API enum fcl_status fcl_config_budget(const struct fcl_config *config,
                                          const struct fcl_problem *problem,
                                          struct fcl_budget *budget, char *reason, size_t size);

// Visits every point of the search space of all usable families, in one fixed order: `status` and
// `reason` as of fcl_config_validate. The visit function returns 0 to go on. Returns the number of
// valid points visited. Thread-safety: safe.
typedef int (*fcl_config_visit)(void *user, const struct fcl_config *config, enum fcl_status status,
                                const char *reason);
FCL_API size_t fcl_config_space(const struct fcl_problem *problem, const struct fcl_caps *caps,
                                fcl_config_visit visit, void *user);

// ---- Reference and tolerance ------------------------------------------------------------------

// A tensor [batch, head, sequence, dim] in host memory; strides in elements, all 0: contiguous
// BHSD, FCL_BROADCAST: 0.
struct fcl_host_tensor {
    const void *data;
    enum fcl_dtype dtype;
    int64_t strides[4];
};

// Element conversion, round to nearest even; NaN stays NaN. Thread-safety: safe.
FCL_API float fcl_element_load(const void *data, enum fcl_dtype dtype, int64_t index);
FCL_API void fcl_element_store(void *data, enum fcl_dtype dtype, int64_t index, float value);

// What a reference computes from: the problem with exact lengths, and its inputs.
struct fcl_reference {
    const struct fcl_problem *problem;
    struct fcl_host_tensor q, k, v;
    float scale;                           // 0: the default
    float softcap;                         // 0: the problem's
    const float *sinks;                    // a logit for each query head, where the problem says so
    const struct fcl_sequences *sequences; // where the problem is varlen or used
    const float *slopes;            // one for each query head, where the problem says `alibi=given`
    struct fcl_host_tensor bias;    // [batch, heads_q, q_len, k_len], where the problem says `bias`
    struct fcl_host_tensor visible; // bytes in that shape, of `mask=u8`; dtype does not count
};

// One row of attention: batch b, query head h, query i; of sequences, sequence b and its query i.
// `o` and `magnitude` hold head_dim_v numbers, or are NULL; magnitude is sum of P |V|; score_limit
// is max |score| over the visible keys that matter: those at most 32 below the largest. score_size
// is the largest |scale| x sqrt(sum (q_d k_d)^2) over them, which partial sums of a score reach
// even where it cancels; of fcl_reference_model, 0.
struct fcl_reference_row {
    double *o, *magnitude;
    double lse, score_limit, score_size;
};

// Attention by definition, in double precision: all scores of the row, their maximum, exponentials,
// one division (Vaswani et al. 2017, equation 1). Errors: INVALID_ARGUMENT, OUT_OF_MEMORY.
// Thread-safety: safe.
FCL_API enum fcl_status fcl_reference_dense(const struct fcl_reference *reference, int64_t b,
                                            int64_t h, int64_t i, struct fcl_reference_row *row);

// The same in the precision that a kernel may use: fp32 scores and sums, P and O rounded to the
// types of V and O. Its distance from fcl_reference_dense is the unit of the tolerance.
// Thread-safety: safe.
FCL_API enum fcl_status fcl_reference_model(const struct fcl_reference *reference, int64_t b,
                                            int64_t h, int64_t i, struct fcl_reference_row *row);

// The recurrence of fused attention in readable C: walks blocks of `block` keys keeping (m, l, acc)
// a row (Milakov & Gimelshein 2018; Dao et al. 2022, algorithm 1). Contiguous fp32 arrays: q
// [leading..., q_len, d_qk], k [leading..., k_len, d_qk], v [leading..., k_len, d_v], o as q with
// d_v, lse [leading..., q_len] or NULL. `leading` holds `rank` dimensions, all in common (rank 0:
// one matrix). Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. Thread-safety: safe.
FCL_API enum fcl_status fcl_reference_blockwise(const int64_t *leading, int rank, int64_t q_len,
                                                int64_t k_len, int d_qk, int d_v, const float *q,
                                                const float *k, const float *v, enum fcl_mask mask,
                                                float scale, int block, float *o, float *lse);

// The outcome of comparing a result with the reference. The allowed error of a row is, relative to
// sum P |V|, twice the host model's + 4 unit roundoffs of O (at least one of V) + c x 2^-24 x
// max |score|; of an LSE, 2^-24 x (c x (1 + max |score|) + sqrt(visible keys)); c is 8, or the root
// of head_dim_qk where that is larger.
struct fcl_comparison {
    int64_t rows;     // rows compared
    double ratio;     // worst (error / allowed): at most 1 is right. Infinite where only one is NaN
    double error;     // worst |o - reference|
    double lse_error; // worst |lse - reference|
    int64_t worst_b, worst_h, worst_i, worst_d; // where `ratio` was found; d is -1 for LSE
};

// Compares one result row (o: head_dim_v elements of dtype_o `stride` elements apart; NULL: only
// lse; lse: NULL where there is none) and folds it into *comparison, which starts zeroed.
// `unfused`: allow for scores stored in the input type. Errors: OUT_OF_MEMORY. Thread-safety: safe.
FCL_API enum fcl_status fcl_reference_compare(const struct fcl_reference *reference, int64_t b,
                                              int64_t h, int64_t i, const void *o, int64_t stride,
                                              const float *lse, int unfused,
                                              struct fcl_comparison *comparison);

// What fcl_attention_check fills inputs with.
enum fcl_fill {
    FCL_FILL_UNBALANCED = 0, // magnitudes that grow and shrink along the keys: hides no rescale
    FCL_FILL_PLAIN           // normal-like, unit scale
};

// Runs a plan on seeded inputs at the problem's exact lengths, outputs poisoned with NaN and
// between guard bands, and compares at least `rows` rows (0: every row) - first and last of the
// first, last and edge blocks, the rest at random - with the reference. Returns WRONG_RESULT when
// the ratio exceeds 1 or a guard was touched; *comparison is then still filled. Blocks.
// Thread-safety: safe.
FCL_API enum fcl_status fcl_attention_check(const fcl_plan *plan, const struct fcl_problem *problem,
                                            enum fcl_fill fill, uint64_t seed, int64_t rows,
                                            struct fcl_comparison *comparison);

// ---- The tuner's loop -------------------------------------------------------------------------

// What evaluating one point of a space brought.
struct fcl_evaluation {
    enum fcl_status status; // OK: built, right, timed
    char reason[256];       // why not OK; "" otherwise
    double ratio;           // error as a part of the tolerance; 0 where nothing is compared
    double build_ms;        // 0 where it was built before
    double verify_ms;       // running once and comparing; 0 where that is not known
    struct fcl_timing timing;
    char bad[32]; // where it crashed or hung: the KIND of wisdom's `bad KIND`, such as crash or
                  // timeout, so that it is not tried again; "" otherwise
};

// How a tuner gets its figures: in this process, in others, or from a record.
struct fcl_evaluator {
    void *user;
    // Called once before anything else; the space lives until the tuner returns. NULL: not wanted.
    void (*begin)(void *user, const fcl_space *space);
    // Makes points ready that are evaluated next, for instance builds them side by side, while
    // nothing is timed. NULL: nothing to do.
    void (*prepare)(void *user, const uint64_t *points, size_t count);
    // Builds where that is not done, verifies and times one point. A point whose first launch takes
    // far longer than best_ms (INFINITY: none yet) need not be timed further.
    void (*evaluate)(void *user, uint64_t point, double best_ms, struct fcl_evaluation *evaluation);
    // Times points once more, in turn, so that drift and noise meet all of them alike.
    enum fcl_status (*compare)(void *user, const uint64_t *points, size_t count,
                               struct fcl_timing *timings);
    // 1: stop after the evaluation under way. NULL: never.
    int (*stop)(void *user);
};

// What the loop tells after each evaluation.
struct fcl_tuner_step {
    uint64_t point;
    const struct fcl_evaluation *evaluation;
    size_t number, total;     // 1-based; total: most evaluations that there will be
    uint64_t best;            // FCL_NO_POINT: none yet
    double best_ms, first_ms; // of the best and of the first seed point (INFINITY: none yet)
    double elapsed_s;
};

struct fcl_tuner_options {
    size_t struct_size;
    struct fcl_search_options search; // the last seed point is the default that a winner must beat
                                      // (FCL_NO_POINT: there is none)
    const uint64_t *avoid;            // points that are never tried, such as what is known to crash
    size_t avoid_count;
    double seconds;   // stop after this time; 0: no limit
    size_t ahead;     // points prepared at once; 0 and 1: one after the other
    size_t finalists; // beside the default; 0: 4
    void (*progress)(void *user, const struct fcl_tuner_step *step); // NULL: none
    void *user;
};

struct fcl_tuner_result {
    uint64_t winner;                          // FCL_NO_POINT: none passed
    struct fcl_timing timing, default_timing; // measured in turn; default_timing zero where the
                                              // default did not pass or there is none
    size_t tried, failed;
    int better; // 1: the winner is not the default, and beats it beyond the spread
};

// Tunes: asks the search, has points evaluated, tells; in the end the best points and the default
// meet in turn. Returns OK, NO_CONFIGURATION when none passed, BUDGET_REACHED when time or
// evaluations ended it or stop() said so (the result is then the best so far), or what compare
// returned. Blocks. Thread-safety: safe where the evaluator is.
FCL_API enum fcl_status fcl_tuner_run(const fcl_space *space, const struct fcl_evaluator *evaluator,
                                      const struct fcl_tuner_options *options,
                                      struct fcl_tuner_result *result, char *reason, size_t size);

// ---- A user's own kernel ------------------------------------------------------------------------

// A kernel with its buffers on a device, ready to be tried at any valid point of its space.
// Thread-safety: one thread at a time.
typedef struct fcl_kernel_trials fcl_kernel_trials;

// Makes and fills the buffers, and runs the reference kernel where there is one. The spec's
// pointers are not copied. Errors, with a sentence in the log: those of fcl_kernel_validate, and of
// the reference kernel BUILD_FAILED, UNSUPPORTED, WRONG_RESULT (it wrote outside of an output);
// DEVICE_ERROR, OUT_OF_MEMORY; then *created is NULL. Blocks.
FCL_API enum fcl_status fcl_kernel_trials_create(fcl_device *device,
                                                 const struct fcl_kernel_spec *spec,
                                                 fcl_kernel_trials **created);
FCL_API void fcl_kernel_trials_destroy(fcl_kernel_trials **trials);

// What a tuner needs. Evaluating a point checks its sizes against the device, builds it (never into
// the device's cache), checks them against the built kernel, runs it once with outputs restored and
// between guard bands, compares every number, times it, and judges the guards and - where no vector
// is read and written - every number again. An evaluation's status and reason are
//     OK
//     UNSUPPORTED       sizes that the device or the built kernel does not allow
//     BUILD_FAILED      the compiler's first error
//     WRONG_RESULT      the argument, which number, what it is and what was expected; or that
//                       the kernel wrote before or behind it
//     DEVICE_ERROR, OUT_OF_MEMORY    the OpenCL call and its error
//     INVALID_ARGUMENT  sizes or values that are no numbers, another number of arguments
// A kernel that hangs or crashes takes the process with it. Lives as long as the trials.
FCL_API struct fcl_evaluator fcl_kernel_trials_evaluator(fcl_kernel_trials *trials);

// Checks a point's sizes and builds it, without buffers and without running it: for builders beside
// the process that evaluates. `keep` 1: into the device's cache. Fills in status, reason and
// build_ms, as above. Blocks. Thread-safety: safe.
FCL_API void fcl_kernel_build(fcl_device *device, const struct fcl_kernel_spec *spec,
                              uint64_t point, int keep, struct fcl_evaluation *evaluation);

// Builds a point and runs it once, unjudged: for builders beside CPU devices, whose drivers
// generate code at the first launch and keep it for the process that evaluates. Fills in status and
// reason. Blocks. Thread-safety: not two at once.
FCL_API void fcl_kernel_launch(fcl_kernel_trials *trials, uint64_t point,
                               struct fcl_evaluation *evaluation);

struct fcl_kernel_tune_options {
    size_t struct_size;
    struct fcl_tuner_options tuner; // its last seed point: what a winner must beat where wisdom
                                    // has none
    int store;                      // 1: write winner, crashes and hangs into the device's wisdom
    int retry_bad; // 1: also try what wisdom says crashed or hung; what passes now is forgiven
    const struct fcl_evaluator *evaluator; // evaluates elsewhere. NULL: trials here
};

struct fcl_kernel_result {
    struct fcl_tuner_result tuner;
    char winner[512]; // text form of the point; "" where none passed
    size_t pruned;    // points that were left out because wisdom says that they crash or hang
    int stored;       // 1: the winner is new in wisdom
};

// All in one call: trials, wisdom, fcl_tuner_run (options NULL: defaults), the winner's text. The
// default is the winner that wisdom has (fcl_kernel_winner), else the caller's; the search also
// starts from winners of the same kernel at other sizes and on other devices. A winner is stored
// where it beats the default beyond the spread, or where wisdom has none. Errors: those of trials
// and tuner, IO_ERROR where wisdom cannot be written, with a sentence in the log. Blocks.
// Thread-safety: safe, but concurrent work on the device spoils the figures.
FCL_API enum fcl_status fcl_kernel_tune(fcl_device *device, const struct fcl_kernel_spec *spec,
                                        const struct fcl_kernel_tune_options *options,
                                        struct fcl_kernel_result *result);

// The best point of a kernel that the device's wisdom knows (fcl_kernel_class), stored by
// fcl_kernel_tune or `flashcl tune-kernel` under the same driver; nothing is built or run. Returns
// NO_CONFIGURATION, without a word in the log, where it knows none that is valid in the spec's
// space. Other errors: INVALID_ARGUMENT, OUT_OF_MEMORY. Thread-safety: safe.
FCL_API enum fcl_status fcl_kernel_winner(fcl_device *device, const struct fcl_kernel_spec *spec,
                                          uint64_t *point);

// ---- Tuning attention -------------------------------------------------------------------------

// One candidate's fate.
struct fcl_trial {
    const char *config;     // text form
    enum fcl_status status; // OK: timed. UNSUPPORTED: pruned before the build
    const char *reason;     // why not OK; "" otherwise
    const char *bad;        // kind of a crash or hang, as in fcl_evaluation; "" otherwise
    double ratio;           // of its verification
    double build_ms;        // until it could run
    struct fcl_timing timing;
    size_t number, total;       // 1-based; total: most that will be tried. Pruned: 0 and 0
    double best_ms, default_ms; // so far; INFINITY: none yet
};

struct fcl_tune_options {
    size_t struct_size;
    enum fcl_implementation implementation;
    double seconds;     // stop after this time; 0: no limit
    size_t evaluations; // stop after this many candidates; 0: no limit
    void (*progress)(void *user, const struct fcl_trial *trial); // NULL: none
    void *user;
    int store;                             // 1: write the winner into the device's wisdom
    const char *strategy;                  // one of fcl_search_strategy; NULL: fcl_search_default
    uint64_t seed;                         // of the search
    size_t ahead;                          // candidates that the evaluator prepares at once; 0: 1
    const struct fcl_evaluator *evaluator; // evaluates elsewhere, such as in other processes, the
                                           // points of fcl_point_config. NULL: here
    int retry_bad; // 1: also try what wisdom says crashed or hung; what passes now is forgiven
};

struct fcl_tune_result {
    char config[96];                          // winner, text form
    char default_config[96];                  // what would have been used without tuning
    struct fcl_timing timing, default_timing; // measured in turn in the finals
    size_t pruned, tried, failed;
    int stored;    // 1: the winner beat the default beyond the spread and was stored
    char row[512]; // the wisdom row of the winner
};

// Tunes within the family of what would be used without tuning: its valid configurations are the
// space, pruned with reasons; the search starts from wisdom, tables and defaults; each candidate is
// built, verified, probed once, then timed in batches; finals of the best in turn with the default.
// Returns NO_CONFIGURATION when none passed, BUDGET_REACHED when stopped early (the result is then
// the best so far, config "" where there is none yet). Where `store` is 1, what the evaluator calls
// bad goes into wisdom too, and neither tuning nor plans take it again. Blocks. Thread-safety:
// safe.
FCL_API enum fcl_status fcl_attention_tune(fcl_device *device, const struct fcl_problem *problem,
                                           const struct fcl_tune_options *options,
                                           struct fcl_tune_result *result);

// The configuration that a point of fcl_attention_tune's space stands for. Thread-safety: safe.
FCL_API void fcl_point_config(const fcl_space *space, uint64_t point, struct fcl_config *config);

// Builds one configuration and proves it by a tiny launch, for processes that build ahead of the
// one that evaluates. `keep` 1: its binary goes into the device's cache, where trials find it; 0:
// nothing does, as getting the binary costs some drivers half a build, and many have a cache of
// their own. Fills in status, reason and build_ms. Blocks. Thread-safety: safe.
FCL_API void fcl_attention_build(fcl_device *device, const struct fcl_problem *problem,
                                 enum fcl_implementation implementation,
                                 const struct fcl_config *config, int keep,
                                 struct fcl_evaluation *evaluation);

// Trials of single configurations: a problem's inputs, outputs and judgement on a device, for an
// evaluator that runs in a process of its own. Thread-safety: one thread at a time for one object.
typedef struct fcl_trials fcl_trials;

#define FCL_TRIALS_COMPARED 65

// Makes buffers and fills in inputs. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY, DEVICE_ERROR. Blocks.
FCL_API enum fcl_status fcl_trials_create(fcl_device *device, const struct fcl_problem *problem,
                                          enum fcl_implementation implementation,
                                          fcl_trials **trials);
FCL_API void fcl_trials_destroy(fcl_trials **trials);

// Builds, verifies and times one; as fcl_evaluator.evaluate. Blocks.
FCL_API void fcl_trials_evaluate(fcl_trials *trials, const struct fcl_config *config,
                                 double best_ms, struct fcl_evaluation *evaluation);

// Times up to FCL_TRIALS_COMPARED configurations that passed, in turn. Errors: those of
// fcl_plan_create. Blocks.
FCL_API enum fcl_status fcl_trials_compare(fcl_trials *trials, const struct fcl_config *configs,
                                           size_t count, struct fcl_timing *timings);

// ---- Choosing ---------------------------------------------------------------------------------

// What a plan would try, and where it comes from (fcl_plan_info.origin).
struct fcl_choice {
    struct fcl_config config;
    const char *origin; // static text
};

#define FCL_CHOICES 8

// Fills `choices` (room for FCL_CHOICES) with what a plan tries, best first: wisdom, wisdom of the
// same device under another driver, the built-in table, the nearest problem in wisdom or table, the
// default of each usable family from the most able down. Only valid configurations, none twice,
// none that wisdom says crashed or hung; the plan takes the first that builds and gives the right
// result. wisdom NULL: none. Returns how many; 0 with the reason when none is valid. Thread-safety:
// safe, as the wisdom is.
FCL_API size_t fcl_select(const struct fcl_problem *problem, enum fcl_implementation implementation,
                          const struct fcl_caps *caps, const fcl_wisdom *wisdom,
                          struct fcl_choice *choices, char *reason, size_t size);

#ifdef __cplusplus
}
#endif
#endif
