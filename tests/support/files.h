// Temporary folders and small files for tests. Everything here ends the test on a failure.
#ifndef FCL_TESTS_FILES_H
#define FCL_TESTS_FILES_H

#include <stddef.h>

#define TEST_PATH_SIZE 512

// A new empty folder under TMPDIR or /tmp.
void test_folder_create(char path[TEST_PATH_SIZE]);

// A new empty file likewise.
void test_file_create(char path[TEST_PATH_SIZE]);

// Removes a folder and all that it holds.
void test_folder_remove(const char *path);

// path = folder/name
void test_path(char path[TEST_PATH_SIZE], const char *folder, const char *name);

void test_file_write(const char *path, const void *bytes, size_t size);

// The whole file from malloc.
unsigned char *test_file_read(const char *path, size_t *size);

int test_file_exists(const char *path);

// Sets the time of last modification to this many seconds before now.
void test_file_age(const char *path, long seconds);

// How many names of the folder end with `end`; the last one found is copied to `name` (may be
// NULL).
size_t test_folder_count(const char *folder, const char *end, char name[TEST_PATH_SIZE]);

#endif
