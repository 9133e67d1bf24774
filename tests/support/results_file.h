// A temporary folder with a place for results, as a cmocka fixture.
#ifndef FCL_TESTS_RESULTS_FILE_H
#define FCL_TESTS_RESULTS_FILE_H

#include "files.h"

// The folder and the path of a file in it that is not there yet.
extern char test_results_folder[TEST_PATH_SIZE], test_results_path[TEST_PATH_SIZE];

int test_results_set_up(void **state);
int test_results_tear_down(void **state);

// A test that gets them.
#define RESULTS_TEST(name) \
    cmocka_unit_test_setup_teardown(name, test_results_set_up, test_results_tear_down)

#endif
