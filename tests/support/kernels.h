// The kernel text with kernels of a test behind it: builds it for one problem and configuration and
// runs its kernels on host arrays.
#ifndef FCL_TESTS_KERNELS_H
#define FCL_TESTS_KERNELS_H

#include "attention.h"
#include "attention/launch.h"
#include "attention/space.h"
#include "core/program.h"

struct test_kernels {
    struct test_opencl *opencl;
    char name[256];             // problem and configuration, for messages
    struct fcl_problem problem; // completed
    struct fcl_config config;
    struct fcl_program program; // its one kernel is the library's own
};

struct test_kernels_row {
    const char *problem, *config; // text forms
};

// Builds each row's fused forward source + the text of a file, one after the other into `kernels`;
// the source comes from the folder FCL_TEST_KERNELS where that is set. Rows whose configuration the
// device does not allow are left out with a message; any other failure ends the test. Returns how
// many were built.
size_t test_kernels_build(struct test_kernels *kernels, struct test_opencl *opencl,
                          const struct test_kernels_row *rows, size_t count, const char *folder,
                          const char *file);
void test_kernels_free(struct test_kernels *kernels, size_t count);

// The rows that a work-item of the configuration handles at once: lanes of its registers.
int test_kernels_lanes(const struct test_kernels *kernels);

// The work-items of its work-groups.
size_t test_kernels_items(const struct test_kernels *kernels);

// Memory from malloc for an output, or behind an input: every byte is TEST_POISON.
#define TEST_POISON 0x5a
void *test_poisoned(size_t bytes);

// One argument of a kernel: host memory that goes to a buffer, and comes back from one that is
// written; or a plain value.
struct test_argument {
    enum { TEST_INPUT, TEST_OUTPUT, TEST_VALUE } kind;
    void *data;
    size_t size;
};

#define TEST_ARGUMENTS_LIMIT 12

// Runs the kernel of this name on `groups` work-groups of `items` work-items. `arguments` end with
// a zeroed one.
void test_kernels_run(const struct test_kernels *kernels, const char *name, size_t groups,
                      size_t items, const struct test_argument *arguments);

// Whether query i sees key j, by the definition of the masks.
int test_is_visible(const struct fcl_problem *problem, int64_t i, int64_t j);

// The arguments of a launch on the tensors of an attention: in plain words, apart from
// fcl_launch_prepare.
struct fcl_kernel_args test_kernel_args(const struct test_kernels *kernels,
                                        const struct test_attention *attention);

#endif
