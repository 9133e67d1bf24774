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

uint64_t test_point(const fcl_space *space, const char *text)
{
    uint64_t point = FCL_NO_POINT;
    char reason[200] = "";
    if (fcl_point_parse(space, text, &point, reason, sizeof reason) != FCL_OK)
        fail_msg("%s", reason);
    return point;
}
