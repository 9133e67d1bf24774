// What is said of two winners that differ.
#include "cmocka_all.h"

#include "devices.h"
#include "wisdom_why.h"

#include <stdio.h>

#define VECTOR "fused fwd d64 f32 causal bh3 q10 k10 g1"

struct sides {
    struct wisdom_side a, b;
};

static struct sides make(const char *problem_class, const char *config_a, const char *config_b)
{
    return (struct sides){
        {.name = "A", .row = {"first", "1.0", problem_class, config_a, 1, 0, "", ""}},
        {.name = "B", .row = {"other", "1.0", problem_class, config_b, 1, 0, "", ""}}};
}

static void expect(const struct sides *sides, const char *text)
{
    char *why = wisdom_why(&sides->a, &sides->b);
    if (text == NULL ? why != NULL : why == NULL || strcmp(why, text) != 0) {
        fail_msg("'%s' instead of '%s'", why != NULL ? why : "NULL", text != NULL ? text : "NULL");
    }
    free(why);
}

// What both sides need, by the library's own account.
struct needs {
    struct fcl_budget a, b;
    struct fcl_config config_a, config_b;
    struct fcl_problem problem;
};

static struct needs needs_of(const struct sides *sides, const char *problem)
{
    struct needs n;
    assert_int_equal(fcl_problem_parse(problem, &n.problem, NULL, 0), FCL_OK);
    assert_int_equal(fcl_config_parse(sides->a.row.config, &n.config_a, NULL, 0), FCL_OK);
    assert_int_equal(fcl_config_parse(sides->b.row.config, &n.config_b, NULL, 0), FCL_OK);
    assert_int_equal(fcl_config_budget(&n.config_a, &n.problem, &n.a, NULL, 0), FCL_OK);
    assert_int_equal(fcl_config_budget(&n.config_b, &n.problem, &n.b, NULL, 0), FCL_OK);
    return n;
}

// Expects `begin`, the reason why a device cannot run a configuration (caps NULL: none), and `end`.
static void expect_limit(const struct sides *sides, const char *begin,
                         const struct fcl_config *config, const struct fcl_problem *problem,
                         const struct fcl_caps *caps, const char *end)
{
    char text[1024], reason[256] = "";
    if (caps != NULL) {
        assert_int_equal(fcl_config_validate(config, problem, caps, reason, sizeof reason),
                         FCL_UNSUPPORTED);
    }
    snprintf(text, sizeof text, "%s%s; %s", begin, reason, end);
    expect(sides, text);
}

static void vector_widths_are_told(void **state)
{
    (void)state;
    const struct fcl_caps wide = test_cpu(16), narrow = test_cpu(8);
    struct sides sides = make(VECTOR, "vector_m64n64l16k4c4", "vector_m32n64l8k2c2");
    const struct needs n = needs_of(&sides, "fwd h8 q1024 d64 causal-tl");
    const char *no = "A's does not fit on B: ";
    char figures[512];
    snprintf(figures, sizeof figures,
             "vector width 16 against 8; registers %d against %d; private arrays %d against %d "
             "bytes",
             (int)n.a.registers, (int)n.b.registers, (int)n.a.private_bytes,
             (int)n.b.private_bytes);
    expect(&sides, figures);
    sides.b.caps = &narrow;
    expect_limit(&sides, no, &n.config_a, &n.problem, &narrow, figures);
    sides.a.caps = &wide;
    expect_limit(&sides, no, &n.config_a, &n.problem, &narrow, figures);
    sides.b.caps = NULL;
    expect_limit(&sides, "B's fits on A, too", NULL, NULL, NULL, figures);
}

static void local_memory_is_told(void **state)
{
    (void)state;
    const struct fcl_caps small = test_gpu(49152, 1024), large = test_gpu(98304, 1024);
    struct sides sides = make("fused fwd d128 f16 bh5 q10 k10 g4", "generic_m32n32w64r4d32",
                              "generic_m64n64w128r4d64");
    const struct needs n = needs_of(&sides, "fwd h32/8 q1024 d128 f16");
    char figures[512];
    snprintf(figures, sizeof figures,
             "registers %d against %d; local memory %d against %d bytes; work-group 64 against 128",
             (int)n.a.registers, (int)n.b.registers, (int)n.a.local_bytes, (int)n.b.local_bytes);
    expect(&sides, figures);
    sides.a.caps = &small;
    sides.b.caps = &large;
    expect_limit(&sides, "B's does not fit on A: ", &n.config_b, &n.problem, &small, figures);
    sides.a.caps = &large;
    expect_limit(&sides, "both fit on both: only timing tells", NULL, NULL, NULL, figures);
    sides.a.caps = NULL;
    expect_limit(&sides, "A's fits on B, too", NULL, NULL, NULL, figures);
}

static void equal_figures_say_nothing(void **state)
{
    (void)state;
    const struct fcl_caps caps = test_cpu(16);
    struct sides sides = make(VECTOR, "vector_m64n64l16k4c4", "vector_m64n64l16k4c4x1");
    expect(&sides, NULL);
    sides.a.caps = sides.b.caps = &caps;
    expect(&sides, "both fit on both: only timing tells");
}

static void every_class_is_read(void **state)
{
    (void)state;
    static const char *const classes[] = {
        "unfused fwd d64 f32 bh3 q11 k0 g1",
        "fused fwd d192/128 f16 causal lse guard-v strided align=4 bh6 q0 k2 g4",
        "fused fwd d64 q:f16 k:f16 v:f16 o:f32 bh0 q1 k1 g1",
        "fused lse d5 bf16 bh3 q3 k3 g1",
        "fused fwd d64 f32 bh4 q10 k10 g12",
        "fused fwd d64 f32 win=128,-1 lse bh4 q10 k10 g1",
        "fused fwd d64 f32 causal win=128,-1 bh4 q10 k10 g1"};
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        const struct sides sides = make(classes[i], "vector_m64n64l16k4c4", "vector_m32n64l8k4c4");
        char *why = wisdom_why(&sides.a, &sides.b);
        if (why == NULL || strstr(why, "vector width 16 against 8") == NULL) {
            fail_msg("%s: %s", classes[i], why != NULL ? why : "NULL");
        }
        free(why);
    }
    static const char *const foreign[] = {"",
                                          "fused",
                                          "fused fwd",
                                          "fused fwd d64 f32 bh3 q10 k10",
                                          "fused fwd d64 f32 bh99 q10 k10 g1",
                                          " bh1 q1 k1 g1",
                                          "fused fwd d64 f32 bh3 q10 k10 g0",
                                          "fused fwd d64 f32 bh3 q10 k10 g1 more",
                                          "fused future d64 f32 bh3 q10 k10 g1"};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        const struct sides sides = make(foreign[i], "vector_m64n64l16k4c4", "vector_m32n64l8k4c4");
        expect(&sides, NULL);
    }
}

static void failures_are_told(void **state)
{
    (void)state;
    struct sides sides = make(VECTOR, "vector_m64n64l16k4c4", "bad crash");
    expect(&sides, "failed on B: crash");
    sides = make(VECTOR, "bad timeout", "bad crash");
    expect(&sides, "failed on A: timeout; failed on B: crash");
    sides = make(VECTOR, "future_m1", "vector_m64n64l16k4c4");
    expect(&sides, NULL);
}

static void parameters_are_told(void **state)
{
    (void)state;
    struct sides sides = make("kernel k 1 #2", "BM=16 ORDER='a b' TN=4 Q=\"it's\"",
                              "BM=16 ORDER=row TN=8 Q=\"it's\"");
    expect(&sides, "ORDER 'a b' against row; TN 4 against 8");
    sides = make("kernel k 1 #2", "BM=16", "BN=16");
    expect(&sides, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vector_widths_are_told),    cmocka_unit_test(local_memory_is_told),
        cmocka_unit_test(equal_figures_say_nothing), cmocka_unit_test(every_class_is_read),
        cmocka_unit_test(failures_are_told),         cmocka_unit_test(parameters_are_told),
    };
    return cmocka_run_group_tests_name("wisdom why", tests, NULL, NULL);
}
