// Merges of partial results from host tensors to a judged result.
#ifndef FCL_TESTS_MERGE_H
#define FCL_TESTS_MERGE_H

#include "attention.h"

// Where the outputs are.
enum test_merge_place { TEST_APART, TEST_OVER_A, TEST_OVER_B };

struct test_merge_case {
    int64_t extents[4]; // batch, heads, rows, columns
    enum fcl_dtype a, b, o;
    enum test_merge_place place;
    int strided; // 1: rows of a, b and o lie apart, in three ways, and begin behind the start
    int no_lse;  // 1: LSE is not wanted
};

// The result of a merge against double precision, on inputs whose LSE differ by nothing up to
// 1e4, with parts without keys (whose O is NaN), NaN, and outputs between guard bands. Returns 1
// and how where something is wrong, also where the kernel cannot be made.
int test_merge_notices(struct test_opencl *opencl, const struct test_merge_case *merge_case,
                       char *how, size_t size);

// The same device as one that is no CPU, whose merges are spread in another way; its device is the
// caller's to destroy.
void test_merge_elsewhere(const struct test_opencl *opencl, struct test_opencl *other);

// test_merge_notices on both, for a few cases that between them use everything.
int test_merges_notice(struct test_opencl *opencl, char *how, size_t size);

#endif
