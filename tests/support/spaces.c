// Building spaces from texts.
#include "cmocka_all.h"

#include "spaces.h"

void test_add_parameter(fcl_space *space, const char *name, const char *values)
{
    struct fcl_value *list;
    size_t count;
    char reason[200] = "";
    if (fcl_values_parse(values, &list, &count, reason, sizeof reason) != FCL_OK)
        fail_msg("%s", reason);
    if (fcl_space_add_parameter(space, name, list, count, reason, sizeof reason) != FCL_OK)
        fail_msg("%s", reason);
    free(list);
}

fcl_space *test_space(const char *const *parameters, const char *const *constraints)
{
    fcl_space *space = fcl_space_create();
    char reason[200] = "";
    assert_non_null(space);
    for (; *parameters != NULL; parameters += 2)
        test_add_parameter(space, parameters[0], parameters[1]);
    for (; constraints != NULL && *constraints != NULL; constraints++)
        if (fcl_space_add_constraint(space, *constraints, NULL, reason, sizeof reason) != FCL_OK)
            fail_msg("%s", reason);
    if (fcl_space_enumerate(space, reason, sizeof reason) != FCL_OK)
        fail_msg("%s", reason);
    return space;
}

static const char *const convolution[] = {
    "block_size_x",
    "[16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256]",
    "block_size_y",
    "[1, 2, 4, 8, 16]",
    "tile_size_x",
    "[1, 2, 3, 4]",
    "tile_size_y",
    "[1, 2, 3, 4]",
    "read_only",
    "[0, 1]",
    "use_padding",
    "[0, 1]",
    "use_shmem",
    "[0, 1]",
    "use_cmem",
    "[1]",
    "filter_height",
    "[15]",
    "filter_width",
    "[15]",
    NULL};
static const char *const convolution_constraints[] = {
    "use_padding==0 or block_size_x % 32 != 0", "block_size_x*block_size_y<=1024",
    "use_padding==0 or use_shmem != 0",
    "use_shmem == 0 or (((block_size_x*tile_size_x+(filter_width-1)))*((block_size_y*tile_size_y+"
    "(filter_height-1)))) < 12*1024",
    NULL};

fcl_space *test_convolution(void)
{
    return test_space(convolution, convolution_constraints);
}

void test_refused(enum fcl_status status, const char *reason, const char *part)
{
    assert_int_equal(status, FCL_INVALID_ARGUMENT);
    if (strstr(reason, part) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", reason, part);
}

uint64_t test_point(const fcl_space *space, const char *text)
{
    uint64_t point = FCL_NO_POINT;
    char reason[200] = "";
    if (fcl_point_parse(space, text, &point, reason, sizeof reason) != FCL_OK)
        fail_msg("%s", reason);
    return point;
}
