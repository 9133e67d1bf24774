// Sweeps of `flashcl bench`: their text form, their points, the problem texts that they give.
#include "cmocka_all.h"

#include "sweep.h"

static void text_forms(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int good;
        int64_t points[6]; // ended by 0
    } cases[] = {
        {"q=512:4096:x2", 1, {512, 1024, 2048, 4096}},
        {"k=512:4095:x2", 1, {512, 1024, 2048}},
        {"d=16:64:+16", 1, {16, 32, 48, 64}},
        {"h=1:1:+1", 1, {1}},
        {"b=3:100:x10", 1, {3, 30}},
        {"q=9223372036854775806:9223372036854775807:+9", 1, {INT64_MAX - 1}},
        {"q=4611686018427387904:9223372036854775807:x2", 1, {INT64_C(1) << 62}},
        {"", 0, {0}},
        {"q", 0, {0}},
        {"q=", 0, {0}},
        {"q=1", 0, {0}},
        {"q=1:2", 0, {0}},
        {"q=1:2:", 0, {0}},
        {"q=1:2:x", 0, {0}},
        {"q=1:2:2", 0, {0}},
        {"q=1:2:x1", 0, {0}},
        {"q=1:2:+0", 0, {0}},
        {"q=0:2:+1", 0, {0}},
        {"q=-1:2:+1", 0, {0}},
        {"q=3:2:+1", 0, {0}},
        {"q=1:1001:+1", 0, {0}},
        {"q=1:2:+1 ", 0, {0}},
        {"m=1:2:+1", 0, {0}},
        {"qq=1:2:+1", 0, {0}},
        {"q=99999999999999999999:2:+1", 0, {0}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sweep sweep = {.field = '?'};
        char reason[256] = "";
        int good = sweep_parse(cases[i].text, &sweep, reason, sizeof(reason));
        if (good != cases[i].good) {
            fail_msg("'%s' gives %d: %s", cases[i].text, good, reason);
        }
        if (!good) {
            assert_true(reason[0] != '\0');
            assert_int_equal(sweep.field, '?');
            continue;
        }
        int64_t value = sweep.from;
        const int64_t *point = cases[i].points;
        do {
            assert_true(value == *point++);
        } while (sweep_next(&sweep, &value));
        assert_true(*point == 0);
    }
}

static void the_longest_sweep(void **state)
{
    (void)state;
    struct sweep sweep;
    char reason[256];
    assert_true(sweep_parse("q=1:1000:+1", &sweep, reason, sizeof(reason)));
}

static void a_step_of_times_one_is_named(void **state)
{
    (void)state;
    struct sweep sweep;
    char reason[256];
    assert_false(sweep_parse("q=1:2:x1", &sweep, reason, sizeof(reason)));
    assert_non_null(strstr(reason, "x2 or more"));
}

static void problem_texts(void **state)
{
    (void)state;
    static const struct {
        char field;
        const char *text, *expected;
    } cases[] = {
        {'q', "fwd q64 d64", "fwd q7 d64"},       {'q', "fwd  h2\tq:f16 q64", "fwd h2 q:f16 q7"},
        {'q', "fwd d64", "fwd d64 q7"},           {'k', "fwd q64 kv d64", "fwd q64 kv d64 k7"},
        {'h', "fwd h8/2 q64", "fwd h7/2 q64"},    {'d', "fwd d192/128 q64", "fwd d7/128 q64"},
        {'b', "fwd q64 bf16", "fwd q64 bf16 b7"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct sweep sweep = {.field = cases[i].field, .from = 7, .to = 7, .step = 1};
        char *text = sweep_apply(&sweep, 7, cases[i].text);
        assert_string_equal(text, cases[i].expected);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_forms),
        cmocka_unit_test(the_longest_sweep),
        cmocka_unit_test(a_step_of_times_one_is_named),
        cmocka_unit_test(problem_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
