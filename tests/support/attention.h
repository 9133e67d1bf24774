// One attention problem from host tensors to a judged result: inputs that a test can alter, any
// strides and offsets, poisoned outputs between guard bands.
#ifndef FCL_TESTS_ATTENTION_H
#define FCL_TESTS_ATTENTION_H

#include "opencl.h"

// A tensor as it lies in memory: `bytes` from the start of the buffer, elements by `strides` from
// `offset` on.
struct test_tensor {
    enum fcl_dtype dtype;
    int64_t extents[4], strides[4];
    size_t offset, bytes;
    unsigned char *data;
};

struct test_attention {
    struct fcl_problem problem;
    struct test_tensor q, k, v, o;
    struct test_tensor bias;        // without data where the problem has none
    struct test_tensor visible;     // bytes; get and set do not know them, lay does not either
    float *lse;                     // NULL where the problem writes none
    float *sinks;                   // NULL where the problem has none
    float *slopes;                  // NULL where the problem gives none
    float scale, softcap;           // 0: the problem's
    struct fcl_sequences sequences; // of a problem that has some; a test may change the numbers
};

// Makes contiguous tensors for a problem text and fills the inputs with seeded numbers of
// unbalanced magnitude.
void test_attention_init(struct test_attention *attention, const char *problem);
void test_attention_free(struct test_attention *attention);

// A contiguous tensor of NaN; its data is the caller's to free.
void test_tensor_init(struct test_tensor *tensor, enum fcl_dtype dtype, const int64_t extents[4],
                      enum fcl_layout layout);

// Seeded numbers of unit scale; unbalanced, times a factor that differs from row to row: a rescale
// that is forgotten shows.
void test_tensor_fill(struct test_tensor *tensor, uint64_t seed, int unbalanced);

// Lays a tensor out anew (its numbers are kept): strides in elements, offset in bytes.
void test_tensor_lay(struct test_tensor *tensor, const int64_t strides[4], size_t offset);

// The byte of a tensor of bytes.
unsigned char *test_visible(const struct test_attention *attention, int64_t b, int64_t h, int64_t i,
                            int64_t j);

float test_tensor_get(const struct test_tensor *tensor, int64_t b, int64_t h, int64_t i, int64_t d);
void test_tensor_set(struct test_tensor *tensor, int64_t b, int64_t h, int64_t i, int64_t d,
                     float value);

// A buffer whose `bytes` (of `data`; NULL: NaN) stand between guard bands of TEST_GUARD bytes, and
// what came of it: 0 when a guard was touched.
#define TEST_GUARD 4096
cl_mem test_guarded_buffer(struct test_opencl *opencl, const void *data, size_t bytes);
int test_guarded_read(struct test_opencl *opencl, cl_mem buffer, void *to, size_t bytes);

// A tensor as an argument of a launch, `guard` bytes into the buffer.
struct fcl_tensor test_tensor_argument(cl_mem buffer, const struct test_tensor *tensor,
                                       size_t guard);

// Runs the problem with a plan: fills o and lse. Fails the test when a guard was touched. Returns
// the status of the enqueue.
enum fcl_status test_attention_run(struct test_opencl *opencl, struct test_attention *attention,
                                   const fcl_plan *plan);

// The same, but a touched guard only sets *outside to 1: for kernels that are wrong on purpose.
enum fcl_status test_attention_try(struct test_opencl *opencl, struct test_attention *attention,
                                   const fcl_plan *plan, int *outside);

// Makes buffers of the tensors and whatever else a launch takes, and its arguments; and releases
// the buffers.
void test_attention_args(struct test_opencl *opencl, const struct test_attention *attention,
                         const fcl_plan *plan, struct fcl_attention_args *args);
void test_attention_args_release(const struct fcl_attention_args *args);

// Compares every row of every sequence with the reference; where a row that belongs to none was
// written, the ratio is infinite.
struct fcl_comparison test_attention_compare(const struct test_attention *attention, int unfused);

// A plan with a configuration text (NULL: the library's choice); a failure ends the test.
fcl_plan *test_plan(struct test_opencl *opencl, const struct fcl_problem *problem,
                    enum fcl_implementation implementation, const char *config);

// Configurations that a problem is tried with, one a usable family: small for quick builds. Returns
// how many.
#define TEST_CONFIGS 4
int test_configs(struct test_opencl *opencl, const struct fcl_problem *problem,
                 char configs[TEST_CONFIGS][96]);

// Runs the attention with one configuration (NULL: the library's choice) and demands a ratio of at
// most 1; says what failed.
void test_attention_with(struct test_opencl *opencl, struct test_attention *attention,
                         enum fcl_implementation implementation, const char *config);

// The same with a plan that exists.
void test_attention_judge(struct test_opencl *opencl, struct test_attention *attention,
                          const fcl_plan *plan, int unfused);

// The fused kernel with each of test_configs.
void test_attention_everywhere(struct test_opencl *opencl, struct test_attention *attention);

// The same for each of some problem texts.
void test_problems(struct test_opencl *opencl, const char *const *problems, size_t count);
#define TEST_PROBLEMS(opencl, ...)                                           \
    do {                                                                     \
        static const char *const problems[] = {__VA_ARGS__};                 \
        test_problems(opencl, problems, sizeof problems / sizeof *problems); \
    } while (0)

#endif
