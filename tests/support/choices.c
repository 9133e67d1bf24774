#include "cmocka_all.h"

#include <string.h>

#include "attention/problem.h"
#include "choices.h"

struct fcl_problem test_problem(const char *text)
{
    struct fcl_problem problem, full = {0};
    char reason[256];
    if (fcl_problem_parse(text, &problem, reason, sizeof reason) ||
        fcl_problem_complete(&problem, &full, reason, sizeof reason))
        fail_msg("%s: %s", text, reason);
    return full;
}

struct fcl_config test_config(const char *text)
{
    struct fcl_config config = {0};
    char reason[256];
    if (fcl_config_parse(text, &config, reason, sizeof reason))
        fail_msg("%s: %s", text, reason);
    return config;
}

void test_refusals(const struct fcl_caps *caps, const struct test_refusal *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct fcl_problem problem = test_problem(rows[i].problem);
        const struct fcl_config config = test_config(rows[i].config);
        char reason[256] = "";
        assert_int_equal(fcl_config_validate(&config, &problem, caps, reason, sizeof reason),
                         FCL_UNSUPPORTED);
        if (strstr(reason, rows[i].reason) == NULL)
            fail_msg("%s with %s: %s", rows[i].problem, rows[i].config, reason);
    }
}

void test_is_config(const struct fcl_config *config, const char *text, const char *problem)
{
    char found[96];
    fcl_config_format(config, found, sizeof found);
    if (strcmp(found, text) != 0)
        fail_msg("%s: %s, not %s", problem, found, text);
}

struct visits {
    enum fcl_family family;
    int valid;
};

static int count_visit(void *user, const struct fcl_config *config, enum fcl_status status,
                       const char *reason)
{
    struct visits *visits = user;
    if (config->family != visits->family)
        return 0;
    visits->valid += status == FCL_OK;
    assert_true(status == FCL_OK || *reason != 0);
    return 0;
}

int test_space_valid(const char *problem, const struct fcl_caps *caps, enum fcl_family family)
{
    const struct fcl_problem full = test_problem(problem);
    struct visits visits = {.family = family};
    fcl_config_space(&full, caps, count_visit, &visits);
    return visits.valid;
}
