// A temporary folder with a place for results.
#include "results_file.h"

char test_results_folder[TEST_PATH_SIZE], test_results_path[TEST_PATH_SIZE];

int test_results_set_up(void **state)
{
    (void)state;
    test_folder_create(test_results_folder);
    test_path(test_results_path, test_results_folder, "results.json");
    return 0;
}

int test_results_tear_down(void **state)
{
    (void)state;
    test_folder_remove(test_results_folder);
    return 0;
}
