// Every parser of a text form meets thousands of damaged texts, always the same ones: none may
// crash (sanitizers watch), and what still parses must round-trip.
#include "cmocka_all.h"

#include <stdio.h>

#include <flashcl/tune.h>

#include "attention/problem.h"
#include "core/wisdom.h"
#include "noise.h"
#include "spaces.h"

#define ROUNDS 30000
#define TEXT_SIZE 512

static const char *const problems[] = {
    "fwd b2 h32/8 q4096 k4096 d192/128 f16 causal-br lse layout=bshd align=4",
    "fwd q0 d64 softcap=30 sink varlen page=16",
    "fwd q0 d64 tl alibi=given bias=bf16 mask=u8",
    "lse b1 h8 q128 k7 d64 bf16 causal-tl strided win=256,-1",
    "fwd b3 h6/2 q17 k33 d80 q:f32 k:f16 v:bf16 o:f32 none guard-v layout=bhsd align=2",
};

static const char *const configs[] = {
    "vector_m64n64l16k4c4p1x0",
    "generic_m32n64w128r4d64",
    "generic_x2p4d1r1w1n1m1",
    "vector_c8k4l16n32m64",
};

static const char *const wisdoms[] = {
    "flashcl-wisdom 1\n# comment\ndev\t1.0\tfused fwd d64 f32 bh3 q10 k10 g1\t"
    "vector_m64n64l16k4c4\t1.25e-3\t0.02\tevent\t0.1.0\n",
    "flashcl-wisdom 1\na\tb\tc\tbad build\t0\t0\t\t\n\na\tb\td\tgeneric_m1n1w1r1d1\t7\t0.5\twall\t"
    "0.1.0\nx\ty\tz\tunknown_q1\t1\t1\tevent\t9.9.9\n",
};

static const char *const expressions[] = {
    "use_shmem == 0 or (((A*B+(C-1)))*((A*2+(C-1)))) < 12*1024",
    "not (A == 128 and B // 2 % 3 == 0) && WORD in ('row', \"col\")",
    "min(A, 2**B, round(C / 3.5)) if A <= B < 64 else sum(i*i for i in range(A) if i != 2)",
    "abs(-A) >> 1 | ~B & 0x1f ^ len([1, 2] + list(range(4)))",
};

static const char *const value_lists[] = {
    "[1, 2, 4, 8, 16] + list(range(32, 1024+1, 32))",
    "[2**i for i in range(0, 6) if i != 3]",
    "16,32,row,'two words',0.5,true",
    "range(-3, 9, 4)",
};

static const char *const points[] = {
    "BM=16 ORDER='row major' X=0.5 FLAG=True",
    "FLAG=False X=1.0 ORDER=\"don't\" BM=128",
    "ORDER='' BM=16 FLAG=True X=0.5",
};

// Characters that mean something to a parser.
static const char spice[] = "0123456789/:=._-+ \t\n#abdefghklmnopqrsvwx\x01\x7f\xff%";

static size_t pick(uint64_t *seed, size_t count)
{
    return test_random(seed) % count;
}

// Damages the text once: a byte changed, put in or taken out, a piece doubled or taken out, or the
// rest of another text put behind.
static void damage(char *text, const char *other, uint64_t *seed)
{
    const size_t length = strlen(text), at = pick(seed, length + 1);
    const size_t span = length > at ? 1 + pick(seed, fcl_min(12, (int64_t)(length - at))) : 0;
    const char added = spice[pick(seed, sizeof spice - 1)];
    switch (pick(seed, 6)) {
    case 0:
        if (at < length)
            text[at] = added;
        break;
    case 1:
        if (length + 2 < TEXT_SIZE) {
            memmove(text + at + 1, text + at, length - at + 1);
            text[at] = added;
        }
        break;
    case 2:
        memmove(text + at, text + at + (span > 0), length - at + (span == 0));
        break;
    case 3:
        memmove(text + at, text + at + span, length - at - span + 1);
        break;
    case 4:
        if (length + span + 1 < TEXT_SIZE)
            memmove(text + at + span, text + at, length - at + 1);
        break;
    default:
        snprintf(text + at, TEXT_SIZE - at, "%s", other + pick(seed, strlen(other) + 1));
        break;
    }
}

// The first pass of a text: 1 where it parses; `written` is then its text form.
typedef int (*rewrite_function)(const char *text, char *written);

static int rewrite_problem(const char *text, char *written)
{
    struct fcl_problem problem;
    char reason[40];
    const enum fcl_status status = fcl_problem_parse(text, &problem, reason, sizeof reason);
    if (status != FCL_OK) {
        assert_true(status == FCL_INVALID_ARGUMENT || status == FCL_UNSUPPORTED);
        assert_true(strlen(reason) > 0);
        return 0;
    }
    assert_int_equal(fcl_problem_validate(&problem, NULL, 0), FCL_OK);
    assert_true(fcl_problem_format(&problem, written, TEXT_SIZE) < TEXT_SIZE);
    struct fcl_problem again;
    assert_int_equal(fcl_problem_parse(written, &again, NULL, 0), FCL_OK);
    assert_true(fcl_problem_same_kernel(&again, &problem));
    assert_true(again.batch == problem.batch && again.heads_q == problem.heads_q &&
                again.heads_kv == problem.heads_kv && again.q_len == problem.q_len &&
                again.k_len == problem.k_len);
    char class_text[TEXT_SIZE];
    assert_true(fcl_problem_class(&problem, FCL_FUSED, class_text, sizeof class_text) > 0);
    assert_null(strpbrk(class_text, "\t\n"));
    return 1;
}

static int rewrite_config(const char *text, char *written)
{
    struct fcl_config config;
    char reason[40];
    const enum fcl_status status = fcl_config_parse(text, &config, reason, sizeof reason);
    if (status != FCL_OK) {
        assert_int_equal(status, FCL_INVALID_ARGUMENT);
        assert_true(strlen(reason) > 0);
        return 0;
    }
    assert_true(fcl_config_format(&config, written, TEXT_SIZE) < TEXT_SIZE);
    struct fcl_config again;
    assert_int_equal(fcl_config_parse(written, &again, NULL, 0), FCL_OK);
    assert_memory_equal(&again, &config, sizeof again);
    return 1;
}

static int rewrite_wisdom(const char *text, char *written)
{
    fcl_wisdom *wisdom = fcl_wisdom_create();
    char reason[40];
    const enum fcl_status status = fcl_wisdom_import(wisdom, text, NULL, reason, sizeof reason);
    if (status == FCL_OK) {
        struct fcl_text whole = {0};
        fcl_wisdom_write(wisdom, &whole);
        assert_true(fcl_text_emit(&whole, written, 2 * TEXT_SIZE) < 2 * TEXT_SIZE);
    } else {
        assert_int_equal(status, FCL_IO_ERROR);
        assert_true(strlen(reason) > 0);
        assert_int_equal(fcl_wisdom_count(wisdom), 0);
    }
    fcl_wisdom_destroy(&wisdom);
    return status == FCL_OK;
}

static int rewrite_expression(const char *text, char *written)
{
    static const char *const names[] = {"A", "B", "C", "WORD", "use_shmem"};
    const struct fcl_value values[] = {fcl_value_integer(5), fcl_value_integer(3),
                                       fcl_value_real(-1.5), fcl_value_text("row"),
                                       fcl_value_bool(1)};
    fcl_expression *expression = NULL;
    char reason[40] = "";
    enum fcl_status status =
        fcl_expression_compile(text, names, FCL_COUNT(names), &expression, reason, sizeof reason);
    assert_true((status == FCL_OK) == (expression != NULL));
    struct fcl_value value;
    if (status == FCL_OK) {
        status = fcl_expression_evaluate(expression, values, &value, reason, sizeof reason);
        snprintf(written, TEXT_SIZE, "%s", fcl_expression_text(expression));
        if (status == FCL_OK)
            assert_true(fcl_value_equal(&value, &value));
    }
    assert_true(status == FCL_OK || (status == FCL_INVALID_ARGUMENT && strlen(reason) > 0));
    fcl_expression_destroy(&expression);
    return status == FCL_OK;
}

static int rewrite_values(const char *text, char *written)
{
    struct fcl_value *values;
    size_t count;
    char reason[40] = "";
    const enum fcl_status status = fcl_values_parse(text, &values, &count, reason, sizeof reason);
    if (status != FCL_OK) {
        assert_int_equal(status, FCL_INVALID_ARGUMENT);
        assert_true(strlen(reason) > 0);
        return 0;
    }
    assert_true(count > 0);
    struct fcl_text list = {0};
    for (size_t i = 0; i < count; i++) {
        const int is_text = values[i].kind == FCL_VALUE_TEXT;
        const char *quote = !is_text ? "" : strchr(values[i].text, '"') ? "'" : "\"";
        char one[TEXT_SIZE];
        fcl_value_format(&values[i], one, sizeof one);
        fcl_text_add(&list, "%s%s%s%s", i > 0 ? ", " : "", quote, one, quote);
    }
    const size_t length = fcl_text_emit(&list, written, 2 * TEXT_SIZE);
    free(values);
    return length < 2 * TEXT_SIZE;
}

static int rewrite_point(const char *text, char *written)
{
    static const char *const parameters[] = {
        "BM",   "16,128",     "ORDER", "['row major', \"don't\", '']", "X", "0.5,1.0",
        "FLAG", "True,False", NULL};
    fcl_space *space = test_space(parameters, NULL);
    uint64_t point = FCL_NO_POINT;
    char reason[40] = "";
    const enum fcl_status status = fcl_point_parse(space, text, &point, reason, sizeof reason);
    if (status == FCL_OK) {
        assert_true(point < fcl_space_size(space));
        assert_true(fcl_point_format(space, point, written, TEXT_SIZE) < TEXT_SIZE);
    } else {
        assert_int_equal(status, FCL_INVALID_ARGUMENT);
        assert_true(point == FCL_NO_POINT && strlen(reason) > 0);
    }
    fcl_space_destroy(&space);
    return status == FCL_OK;
}

// Rewrites a copy of exactly the text's size, so that a sanitizer sees reads behind it.
static int rewrite_copy(rewrite_function rewrite, const char *text, char *written)
{
    const size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    memcpy(copy, text, size);
    const int parsed = rewrite(copy, written);
    free(copy);
    return parsed;
}

static void mutate(const char *const *seeds, size_t count, rewrite_function rewrite)
{
    uint64_t seed = 20240229;
    int parsed = 0;
    for (int round = 0; round < ROUNDS; round++) {
        char text[TEXT_SIZE], first[2 * TEXT_SIZE], second[2 * TEXT_SIZE];
        snprintf(text, sizeof text, "%s", seeds[pick(&seed, count)]);
        for (size_t n = pick(&seed, 4); n > 0; n--)
            damage(text, seeds[pick(&seed, count)], &seed);
        if (!rewrite_copy(rewrite, text, first))
            continue;
        parsed++;
        if (!rewrite_copy(rewrite, first, second))
            fail_msg("`%s` became `%s`, which does not parse", text, first);
        assert_string_equal(first, second);
    }
    // The damage must neither spare nor break everything.
    assert_true(parsed > ROUNDS / 10 && parsed < ROUNDS * 9 / 10);
}

static void problems_survive(void **state)
{
    (void)state;
    mutate(problems, FCL_COUNT(problems), rewrite_problem);
}

static void configs_survive(void **state)
{
    (void)state;
    mutate(configs, FCL_COUNT(configs), rewrite_config);
}

static void wisdoms_survive(void **state)
{
    (void)state;
    mutate(wisdoms, FCL_COUNT(wisdoms), rewrite_wisdom);
}

static void expressions_survive(void **state)
{
    (void)state;
    mutate(expressions, FCL_COUNT(expressions), rewrite_expression);
}

static void value_lists_survive(void **state)
{
    (void)state;
    mutate(value_lists, FCL_COUNT(value_lists), rewrite_values);
}

static void points_survive(void **state)
{
    (void)state;
    mutate(points, FCL_COUNT(points), rewrite_point);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(problems_survive),    cmocka_unit_test(configs_survive),
        cmocka_unit_test(wisdoms_survive),     cmocka_unit_test(expressions_survive),
        cmocka_unit_test(value_lists_survive), cmocka_unit_test(points_survive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
