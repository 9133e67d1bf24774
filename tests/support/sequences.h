// Sequences of an attention under test: their metadata in device memory, and places that no result
// may depend on.
#ifndef FCL_TESTS_SEQUENCES_H
#define FCL_TESTS_SEQUENCES_H

#include "attention.h"

// Makes buffers of the metadata, between numbers that mislead, and names them in the arguments.
// They are the caller's to release.
void test_sequences_give(struct test_opencl *opencl, const struct test_attention *attention,
                         struct fcl_attention_args *args);

// Where the LSE of a row of a tensor is.
const float *test_sequences_lse(const struct test_attention *attention, int64_t batch, int64_t h,
                                int64_t row);

// Whether the rows of the outputs that belong to no sequence are still as they were.
int test_sequences_kept(const struct test_attention *attention);

// Replaces the metadata by numbers of all kinds.
void test_sequences_scramble(struct test_attention *attention, uint64_t *random);

// Makes all rows of K and V that no sequence has NaN.
void test_sequences_spoil(struct test_attention *attention);

#endif
