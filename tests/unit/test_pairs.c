// The covering array of `flashcl check --pairwise`.
#include "cmocka_all.h"

#include <flashcl/tune.h>

#include "pairs.h"

static char **texts;
static size_t count;

static int set_up(void **state)
{
    (void)state;
    texts = pairs_texts(&count);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
    return 0;
}

static int has_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if (at[-1] == ' ' && (at[length] == ' ' || !at[length]))
            return 1;
    return 0;
}

static size_t rows_with(const char *a, const char *b)
{
    size_t rows = 0;
    for (size_t i = 0; i < count; i++)
        rows += has_word(texts[i], a) && has_word(texts[i], b);
    return rows;
}

static void every_problem_is_valid_and_another(void **state)
{
    (void)state;
    assert_in_range(count, 42, 120); // seven masks times six kinds of sequences at least
    for (size_t i = 0; i < count; i++) {
        struct fcl_problem problem;
        char reason[256] = "";
        if (fcl_problem_parse(texts[i], &problem, reason, sizeof reason) ||
            fcl_problem_validate(&problem, reason, sizeof reason))
            fail_msg("%s: %s", texts[i], reason);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(texts[i], texts[j]);
    }
}

static void any_two_features_meet(void **state)
{
    (void)state;
    static const char *const words[] = {
        "alibi", "alibi=given", "bias=f32", "bias=f16", "bias=bf16", "mask=u8",    "softcap=3",
        "sink",  "lse",         "used",     "varlen",   "page=16",   "page=7",     "win=40,5",
        "f16",   "bf16",        "d128",     "h6/1",     "guard-v",   "layout=bshd"};
    // The same line, or not possible.
    static const char *const apart[][2] = {
        {"alibi", "alibi=given"},  {"bias=f32", "bias=f16"}, {"bias=f32", "bias=bf16"},
        {"bias=f16", "bias=bf16"}, {"used", "page=16"},      {"used", "page=7"},
        {"varlen", "page=16"},     {"page=16", "page=7"},    {"f16", "bf16"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (size_t j = i + 1; j < sizeof words / sizeof *words; j++) {
            int together = 1;
            for (size_t n = 0; n < sizeof apart / sizeof *apart; n++)
                together &= strcmp(words[i], apart[n][0]) || strcmp(words[j], apart[n][1]);
            if (together && !rows_with(words[i], words[j]))
                fail_msg("no problem has both %s and %s", words[i], words[j]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_problem_is_valid_and_another),
        cmocka_unit_test(any_two_features_meet),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
