// The order in which configurations are preferred, on invented devices with invented wisdom.
#include "cmocka_all.h"

#include <stdio.h>

#include "attention/problem.h"
#include "attention/select.h"
#include "devices.h"

#define TUNED "vector_m32n128l8k2c2"
#define OTHER "vector_m16n64l8k4c2"

struct fixture {
    struct fcl_problem problem;
    struct fcl_caps caps;
    fcl_wisdom *wisdom;
    struct fcl_choice choices[FCL_CHOICES];
};

static int set_up(void **state)
{
    static struct fixture f;
    struct fcl_problem given;
    assert_int_equal(fcl_problem_parse("fwd b1 h8 q1024 d64", &given, NULL, 0), FCL_OK);
    assert_int_equal(fcl_problem_complete(&given, &f.problem, NULL, 0), FCL_OK);
    f.caps = test_cpu(8);
    f.wisdom = fcl_wisdom_create();
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fcl_wisdom_destroy(&((struct fixture *)*state)->wisdom);
    return 0;
}

static void know_class(struct fixture *f, const char *driver, const char *problem_class,
                       const char *of, const char *config)
{
    char text[384];
    struct fcl_config one;
    snprintf(text, sizeof text, "%s", problem_class);
    if (of) {
        assert_int_equal(fcl_config_parse(of, &one, NULL, 0), FCL_OK);
        fcl_select_class_of(problem_class, &one, text, sizeof text);
    }
    const struct fcl_wisdom_row row = {.device = "Invented CPU",
                                       .driver = driver,
                                       .problem_class = text,
                                       .config = config,
                                       .median_ms = 1.0,
                                       .clock = "event",
                                       .version = "0.1.0"};
    assert_int_equal(fcl_wisdom_add(f->wisdom, &row), FCL_OK);
}

static void know(struct fixture *f, const char *driver, const char *problem, const char *config)
{
    struct fcl_problem given, full;
    char problem_class[256];
    assert_int_equal(fcl_problem_parse(problem, &given, NULL, 0), FCL_OK);
    assert_int_equal(fcl_problem_complete(&given, &full, NULL, 0), FCL_OK);
    fcl_problem_class(&full, FCL_FUSED, problem_class, sizeof problem_class);
    know_class(f, driver, problem_class, NULL, config);
}

static size_t choose(struct fixture *f)
{
    char reason[256] = "";
    return fcl_select(&f->problem, FCL_FUSED, &f->caps, f->wisdom, f->choices, reason,
                      sizeof reason);
}

static void expect(const struct fixture *f, size_t at, const char *config, const char *origin)
{
    char text[96];
    fcl_config_format(&f->choices[at].config, text, sizeof text);
    assert_string_equal(text, config);
    assert_string_equal(f->choices[at].origin, origin);
}

// Without wisdom: the default of the most able family, then the generic tile.
static void defaults_end_the_list(void **state)
{
    struct fixture *f = *state;
    const size_t count = choose(f);
    assert_true(count >= 2);
    assert_string_equal(f->choices[0].origin, "default");
    assert_int_equal(f->choices[0].config.family, FCL_FAMILY_VECTOR);
    assert_string_equal(f->choices[count - 1].origin, "fallback");
    assert_int_equal(f->choices[count - 1].config.family, FCL_FAMILY_GENERIC);
}

static void wisdom_comes_first(void **state)
{
    struct fixture *f = *state;
    know(f, "1.0", "fwd b1 h8 q1024 d64", TUNED);
    assert_true(choose(f) >= 3);
    expect(f, 0, TUNED, "wisdom");
    assert_string_equal(f->choices[1].origin, "default");
}

static void another_drivers_wisdom_comes_second(void **state)
{
    struct fixture *f = *state;
    know(f, "0.9", "fwd b1 h8 q1024 d64", OTHER);
    choose(f);
    expect(f, 0, OTHER, FCL_ORIGIN_OTHER_DRIVER);
    know(f, "1.0", "fwd b1 h8 q1024 d64", TUNED);
    choose(f);
    expect(f, 0, TUNED, "wisdom");
}

// The nearest lengths with the same kernel; another head dim or mask does not count.
static void nearest_problem_comes_third(void **state)
{
    struct fixture *f = *state;
    know(f, "1.0", "fwd b1 h8 q8192 d64", OTHER);
    know(f, "1.0", "fwd b1 h8 q2048 d64", TUNED);
    know(f, "1.0", "fwd b1 h8 q1000 d64", "bad crash"); // the same class: passed over
    know(f, "1.0", "fwd b1 h8 q1024 d128", OTHER);
    know(f, "1.0", "fwd b1 h8 q1024 d64 causal-br", OTHER);
    choose(f);
    expect(f, 0, TUNED, "nearest");
}

// What is right for long sequences says nothing of a single query.
static void far_problems_do_not_count(void **state)
{
    struct fixture *f = *state;
    know(f, "1.0", "fwd b1 h8 q128 k1024 d64", OTHER); // three powers of two
    choose(f);
    assert_string_equal(f->choices[0].origin, "default");
    know(f, "1.0", "fwd b1 h8 q256 k1024 d64", OTHER);
    choose(f);
    expect(f, 0, OTHER, "nearest");
}

// The tables name devices as their drivers do.
static void a_device_with_a_table_gets_its_rows(void **state)
{
    struct fixture *f = *state;
    f->caps.nvidia_capability = 90;
    f->caps.gpu = 1;
    f->caps.local_bytes = 231424;
    strcpy(f->caps.name, "NVIDIA H200");
    assert_int_equal(fcl_problem_parse("fwd b1 h32/8 q1 k131072 d128 f16", &f->problem, NULL, 0),
                     FCL_OK);
    choose(f);
    expect(f, 0, "nvidia_mma_m16n64w32t2g1s32", "table");
}

// Wisdom that is not valid here, or says that something is bad, is passed over.
static void useless_wisdom_is_passed_over(void **state)
{
    struct fixture *f = *state;
    know(f, "1.0", "fwd b1 h8 q1024 d64", "vector_m64n64l16k4c4"); // 16 lanes on a device with 8
    know(f, "0.9", "fwd b1 h8 q1024 d64", "bad crash");
    choose(f);
    assert_string_equal(f->choices[0].origin, "default");
}

// A row of one configuration speaks of that one, on that driver, and is no wisdom of a near
// problem.
static void what_crashed_is_no_choice(void **state)
{
    struct fixture *f = *state;
    char problem_class[256];
    struct fcl_config config;
    know(f, "1.0", "fwd b1 h8 q1024 d64", TUNED);
    know(f, "0.9", "fwd b1 h8 q1024 d64", OTHER);
    fcl_problem_class(&f->problem, FCL_FUSED, problem_class, sizeof problem_class);
    assert_int_equal(fcl_config_parse(TUNED, &config, NULL, 0), FCL_OK);
    know_class(f, "0.9", problem_class, TUNED, "bad crash");
    choose(f);
    expect(f, 0, TUNED, "wisdom");
    assert_null(fcl_select_bad(f->wisdom, &f->caps, problem_class, &config));
    know_class(f, "1.0", problem_class, TUNED, "bad crash");
    choose(f);
    expect(f, 0, OTHER, FCL_ORIGIN_OTHER_DRIVER);
    assert_non_null(fcl_select_bad(f->wisdom, &f->caps, problem_class, &config));
    know_class(f, "1.0", problem_class, TUNED, TUNED);
    choose(f);
    expect(f, 0, TUNED, "wisdom");
    assert_null(fcl_select_bad(f->wisdom, &f->caps, problem_class, &config));
}

static void a_row_of_one_configuration_is_no_near_problem(void **state)
{
    struct fixture *f = *state;
    struct fcl_problem near = f->problem;
    char problem_class[256];
    near.q_len *= 2;
    fcl_problem_class(&near, FCL_FUSED, problem_class, sizeof problem_class);
    know_class(f, "1.0", problem_class, TUNED, TUNED);
    choose(f);
    assert_string_equal(f->choices[0].origin, "default");
}

static void other_devices_do_not_count(void **state)
{
    struct fixture *f = *state;
    know(f, "1.0", "fwd b1 h8 q1024 d64", TUNED);
    strcpy(f->caps.name, "Another CPU");
    choose(f);
    assert_string_equal(f->choices[0].origin, "default");
}

// A configuration is offered once.
static void nothing_is_offered_twice(void **state)
{
    struct fixture *f = *state;
    char text[96];
    choose(f);
    fcl_config_format(&f->choices[0].config, text, sizeof text);
    know(f, "1.0", "fwd b1 h8 q1024 d64", text);
    const size_t count = choose(f);
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            assert_memory_not_equal(&f->choices[i].config, &f->choices[j].config,
                                    sizeof(struct fcl_config));
    assert_string_equal(f->choices[0].origin, "wisdom");
}

// What a caller has: a problem without its defaults, or nothing.
static void any_problem_is_completed(void **state)
{
    struct fixture *f = *state;
    struct fcl_choice choices[FCL_CHOICES];
    struct fcl_problem given;
    char reason[256] = "";
    assert_int_equal(fcl_problem_parse("fwd b1 h8 q1024 d64", &given, NULL, 0), FCL_OK);
    given.heads_kv = given.head_dim_v = 0;
    const size_t count = choose(f);
    assert_int_equal(fcl_select(&given, FCL_FUSED, &f->caps, NULL, choices, reason, sizeof reason),
                     count);
    for (size_t i = 0; i < count; i++) {
        assert_memory_equal(&choices[i].config, &f->choices[i].config, sizeof choices[i].config);
        assert_string_equal(choices[i].origin, f->choices[i].origin);
    }
    assert_int_equal(fcl_select(NULL, FCL_FUSED, &f->caps, NULL, choices, NULL, 0), 0);
    assert_int_equal(fcl_select(&given, FCL_FUSED, NULL, NULL, choices, reason, sizeof reason), 0);
    assert_string_equal(reason, "caps is NULL");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(defaults_end_the_list),
        TEST(wisdom_comes_first),
        TEST(another_drivers_wisdom_comes_second),
        TEST(nearest_problem_comes_third),
        TEST(far_problems_do_not_count),
        TEST(a_device_with_a_table_gets_its_rows),
        TEST(useless_wisdom_is_passed_over),
        TEST(what_crashed_is_no_choice),
        TEST(a_row_of_one_configuration_is_no_near_problem),
        TEST(other_devices_do_not_count),
        TEST(nothing_is_offered_twice),
        TEST(any_problem_is_completed),
    };
    return cmocka_run_group_tests_name("select", tests, NULL, NULL);
}
