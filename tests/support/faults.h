// Planted faults: small patches to the kernel text that the tests must notice. The format of a
// fault file is in tests/faults/README.md.
#ifndef FCL_TESTS_FAULTS_H
#define FCL_TESTS_FAULTS_H

#include <stddef.h>

#include "files.h"

struct test_fault {
    char name[TEST_PATH_SIZE]; // of its file, without the ending
    char file[TEST_PATH_SIZE]; // what it changes, relative to the kernels' folder
    char why[256];
    enum { TEST_FAULT_CHECK, TEST_FAULT_RACE, TEST_FAULT_UNINITIALISED } detector;
    char *needle, *replacement;
};

// Reads a fault file. Returns 0 and a reason where the file is malformed.
int test_fault_read(const char *path, struct test_fault *fault, char *reason, size_t size);
void test_fault_free(struct test_fault *fault);

// Copies a folder of kernels to `to`, which exists and is empty.
void test_kernel_folder_copy(const char *from, const char *to);

// Patches a copy. Returns 0 and a reason unless the needle occurs exactly once.
int test_fault_apply(const struct test_fault *fault, const char *folder, char *reason, size_t size);

#endif
