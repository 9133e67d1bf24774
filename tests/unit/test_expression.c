// Expressions: what Python answers to the same texts, and errors that say where and what.
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>

#include <flashcl/search.h>

#include "core/common.h"

static const char *const names[] = {"A", "B", "C", "WORD", "FLAG", "size[0]", "HALF"};

static void set_values(struct fcl_value values[FCL_COUNT(names)])
{
    values[0] = fcl_value_integer(7);
    values[1] = fcl_value_integer(-2);
    values[2] = fcl_value_integer(0);
    values[3] = fcl_value_text("row");
    values[4] = fcl_value_bool(1);
    values[5] = fcl_value_integer(4096);
    values[6] = fcl_value_real(0.5);
}

static enum fcl_status run(const char *text, char *answer, char *reason, size_t size)
{
    struct fcl_value values[FCL_COUNT(names)], result;
    fcl_expression *expression = NULL;
    set_values(values);
    enum fcl_status status =
        fcl_expression_compile(text, names, FCL_COUNT(names), &expression, reason, size);
    if (status == FCL_OK) {
        assert_string_equal(fcl_expression_text(expression), text);
        status = fcl_expression_evaluate(expression, values, &result, reason, size);
    } else {
        assert_null(expression);
    }
    if (status == FCL_OK)
        fcl_value_format(&result, answer, size);
    fcl_expression_destroy(&expression);
    assert_null(expression);
    return status;
}

// What Python 3 prints for the same texts, with the names above.
static const struct {
    const char *text, *answer;
} answers[] = {
    // precedence and associativity
    {"1 + 2 * 3", "7"},
    {"(1 + 2) * 3", "9"},
    {"2 ** 3 ** 2", "512"},
    {"-2 ** 2", "-4"},
    {"2 ** -1", "0.5"},
    {"-3 % 5 - -3", "5"},
    {"10 - 4 - 3", "3"},
    {"64 // 8 // 2", "4"},
    {"1 << 2 + 1", "8"},
    {"7 & 3 | 8 ^ 12", "7"},
    {"~5 & 0xff", "250"},
    {"1 | 2 == 2", "False"},
    {"not 1 == 2", "True"},
    {"not A == 7 or True", "True"},
    {"1 if 0 else 2 if 0 else 3", "3"},
    {"+-+A", "-7"},
    // division
    {"7 // 2", "3"},
    {"-7 // 2", "-4"},
    {"7 // -2", "-4"},
    {"-7 // -2", "3"},
    {"7 % -2", "-1"},
    {"-7 % 2", "1"},
    {"7 / 2", "3.5"},
    {"8 / 2", "4.0"},
    {"7.5 // 2", "3.0"},
    {"-7.5 // 2", "-4.0"},
    {"-7.5 % 2", "0.5"},
    {"7.5 % -2", "-0.5"},
    {"1 / 3", "0.3333333333333333"},
    {"-9223372036854775807 // -1", "9223372036854775807"},
    {"(-9223372036854775807 - 1) % -1", "0"},
    // powers and shifts
    {"2 ** 62", "4611686018427387904"},
    {"(-2) ** 63", "-9223372036854775808"},
    {"(-1) ** 1000000007", "-1"},
    {"0 ** 0", "1"},
    {"4 ** 0.5", "2.0"},
    {"1 << 62", "4611686018427387904"},
    {"-1 >> 70", "-1"},
    {"-5 >> 1", "-3"},
    {"0 << 1000", "0"},
    // logic gives operands, and stops where it is decided
    {"A and B", "-2"},
    {"C and 1 // C", "0"},
    {"C or WORD", "row"},
    {"A or 1 // C", "7"},
    {"C or 0.0 or ''", ""},
    {"1 and 2 and 3", "3"},
    {"True and not False", "True"},
    {"A && B || C", "-2"},
    {"!A == 0", "True"},
    {"A if C else B", "-2"},
    {"1 // C if C else 5", "5"},
    // comparisons
    {"32 <= A * 8 <= 1024", "True"},
    {"1 < 2 > 1", "True"},
    {"3 < 2 < 1 // C", "False"},
    {"1 == 1.0 == True", "True"},
    {"'a' == 1", "False"},
    {"'a' != 1", "True"},
    {"'abc' < 'abd'", "True"},
    {"9007199254740993 == 9007199254740992.0", "False"},
    {"9007199254740993 > 9007199254740992.0", "True"},
    {"9223372036854775807 < 9223372036854775808.0", "True"},
    {"-3 < -2.5", "True"},
    {"-2 < -2.5", "False"},
    {"2 < 2.5", "True"},
    // membership
    {"A in [1, 7]", "True"},
    {"A in (1, 7.0)", "True"},
    {"A not in [1, 2,]", "True"},
    {"A in ()", "False"},
    {"WORD in ('row', 'column')", "True"},
    {"'ow' in WORD", "True"},
    {"'x' not in WORD", "True"},
    {"A in range(8) and A not in range(0, 8, 2)", "True"},
    {"A in [2 ** i - 1 for i in range(6)]", "True"},
    {"1 in (1,) in [True]", NULL},
    // bools are numbers
    {"True + True", "2"},
    {"FLAG * 5", "5"},
    {"-FLAG", "-1"},
    {"True & False", "False"},
    {"True & 3", "1"},
    {"FLAG == 1", "True"},
    // functions
    {"min(3, 1, 2)", "1"},
    {"max([3, 1.5, 2])", "3"},
    {"max(A)", "7"}, // Python refuses it; T1 files write it for the only value of a parameter
    {"min('b', 'a')", "a"},
    {"sum([1, 2.5])", "3.5"},
    {"sum(x * x for x in range(5) if x % 2)", "10"},
    {"sum([x + y for x in range(3) for_ in range(3)])", NULL},
    {"sum([sum(x * y for y in range(3)) for x in range(3)])", "9"},
    {"any(x > 3 for x in [1, 5, 1 // C])", "True"},
    {"all(x < 3 for x in [1, 5, 1 // C])", "False"},
    {"any([]) or all([])", "True"},
    {"any([x for x in [1]] + [1 // C])", "True"},
    {"len([1, 2, 3]) + len('four')", "7"},
    {"len(range(10, 0, -3))", "4"},
    {"len(range(990000))", "990000"},
    {"abs(B) + abs(-2.5)", "4.5"},
    {"abs(True)", "1"},
    {"round(2.5)", "2"},
    {"round(3.5)", "4"},
    {"round(-2.5)", "-2"},
    {"ceil(7 / 2)", "4"},
    {"math.ceil(-3.5)", "-3"},
    {"floor(-3.5)", "-4"},
    {"log2(1024)", "10.0"},
    {"sqrt(16)", "4.0"},
    {"int(-3.9)", "-3"},
    {"int(True)", "1"},
    {"float(3)", "3.0"},
    {"bool('')", "False"},
    {"bool(WORD)", "True"},
    // numbers and names
    {"0x1F + 1_000", "1031"},
    {"1.5e3", "1500.0"},
    {"1e-7", "1e-07"},
    {"0.1 + 0.2", "0.30000000000000004"},
    {"size[0] // 64", "64"},
    {"HALF * 4", "2.0"},
    {"\"don't\"", "don't"},
    {"\n A \t + 1 ", "8"},
};

static void answers_as_python_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < FCL_COUNT(answers); i++) {
        char answer[256] = "", reason[256] = "";
        const enum fcl_status status = run(answers[i].text, answer, reason, sizeof answer);
        if (answers[i].answer == NULL) {
            assert_int_equal(status, FCL_INVALID_ARGUMENT);
            continue;
        }
        if (status != FCL_OK)
            fail_msg("`%s`: %s", answers[i].text, reason);
        if (strcmp(answer, answers[i].answer) != 0)
            fail_msg("`%s` is %s, not %s", answers[i].text, answer, answers[i].answer);
    }
}

// X: what a reason must contain.
static const struct {
    const char *text, *reason;
} errors[] = {
    // syntax: where, what was found, what is allowed
    {"", "at 1: found the end; a number"},
    {"A +", "at 4: found the end; a number"},
    {"A % * 2", "at 5: found `*`; a number"},
    {"A B", "at 3: found `B`; an operator or the end is allowed"},
    {"(A", "at 3: found the end; an operator, `,` or `)` is allowed"},
    {"A)", "at 2: found `)`; an operator or the end"},
    {"A = 3", "at 3: found `=`"},
    {"A ? 1 : 2", "at 3: found `?`"},
    {"A not B", "at 7: found `B`; `in` is needed behind `not`"},
    {"1 if A", "at 7: found the end; an operator or `else` is allowed"},
    {"A in", "at 5: found the end"},
    {"and", "at 1: found `and`"},
    {"\xc3\xa9", "at 1: found `\xc3\xa9`"},
    {"'abc", "at 1: found `'`; a text ends with the quote"},
    {"'a\\n'", "no backslash"},
    {"12abc", "at 1: found `12abc`; numbers are such as"},
    {".5", "at 1: found `.`"},
    {"5.", "at 1: found `5.`"},
    {"0x", "numbers are such as"},
    {"9223372036854775808", "below 2^63"},
    {"0x8000000000000000", "below 2^63"},
    {"1e999", "numbers are such as"},
    {"[1, 2", "at 6: found the end; `,` or the closing bracket"},
    {"D + 1", "at 1: found `D`; no such name; known are A B C WORD FLAG size[0] HALF"},
    {"size[1]", "found `size[1]`; no such name"},
    {"A[0]", "found `A[0]`; no such name"},
    {"None", "found `None`; no such name"},
    {"lambda", "no such name"},
    {"pow(2, 3)", "found `pow`; no such function; known are min max"},
    {"abs(1, 2)", "at 6: found `,`"},
    {"sum(1, 2)", "at 5: found `1`; a list is needed here"},
    {"min()", "at 5: found `)`"},
    {"range(1, 2, 3, 4)", "range takes one to three"},
    // lists and values
    {"[1, 2]", "a list stands where one value is needed"},
    {"A + [1]", "at 5: found `[`; a list stands where one value is needed"},
    {"[1] + A in [1]", "a list is needed here"},
    {"A < [1]", "a list stands where one value is needed"},
    {"[1] == [1]", "a list stands where one value is needed"},
    {"[[1], 2]", "a list stands where one value is needed"},
    {"[1] and 2", "a list stands where one value is needed"},
    {"not [1]", "a list stands where one value is needed"},
    {"-[1]", "a list stands where one value is needed"},
    {"range(3)", "found `range`; a list stands"},
    {"list(A)", "a list is needed here"},
    {"sum(i for i in range(i))", "found `i`; no such name"},
    {"i in [i for i in range(3)]", "at 1: found `i`; no such name"},
    // evaluation: where, why, with which operands
    {"A // C", "at 3: division by zero (7, 0); in `A // C`"},
    {"A % C", "division by zero (7, 0)"},
    {"A / C", "division by zero"},
    {"A // 0.0", "division by zero (7, 0.0)"},
    {"A % 0.0", "division by zero"},
    {"0 ** -1", "division by zero"},
    {"0.0 ** -1.5", "division by zero"},
    {"A * 9223372036854775807", "at 3: the result is beyond 64-bit integers (7, 922"},
    {"9223372036854775807 + 1", "beyond 64-bit"},
    {"-9223372036854775807 - 2", "beyond 64-bit"},
    {"3 * -9223372036854775807", "beyond 64-bit"},
    {"(-9223372036854775807 - 1) // -1", "beyond 64-bit"},
    {"-(-9223372036854775807 - 1)", "beyond 64-bit"},
    {"abs(-9223372036854775807 - 1)", "beyond 64-bit"},
    {"2 ** 63", "beyond 64-bit"},
    {"3 ** 40", "beyond 64-bit"},
    {"1 << 63", "beyond 64-bit"},
    {"1 << 1000000", "beyond 64-bit"},
    {"int(1e300)", "beyond 64-bit"},
    {"round(9223372036854775808.0)", "beyond 64-bit"},
    {"1e308 * 10", "not a finite number"},
    {"10.0 ** 400", "not a finite number"},
    {"(-8) ** 0.5", "a root of a negative number"},
    {"log2(0)", "log2 needs a positive number (0)"},
    {"sqrt(-1)", "sqrt needs a number that is not negative (-1)"},
    {"1 << B", "the shift is negative (1, -2)"},
    {"1.5 & 1", "whole numbers are needed"},
    {"1 >> 1.0", "whole numbers are needed"},
    {"~0.5", "whole numbers are needed"},
    {"WORD + 1", "at 6: a text is no number (row, 1)"},
    {"-WORD", "a text is no number (row)"},
    {"abs(WORD)", "a text is no number"},
    {"WORD < 1", "a text and a number have no order (row, 1)"},
    {"min(1, WORD)", "a text and a number have no order"},
    {"1 in WORD", "`in` needs a list, or two texts (1, row)"},
    {"A in B", "`in` needs a list, or two texts"},
    {"len(A)", "len takes a list or a text (7)"},
    {"max([])", "the list is empty"},
    {"sum(['a'])", "a text is no number (a)"},
    {"sum(range(0, 5, C))", "the step of range is 0"},
    {"sum(range(1.5))", "range takes whole numbers (1.5)"},
    {"sum(range(10 ** 12))", "more than 1000000 steps"},
    {"len(range(1000010))", "more than 1000000 steps"},
};

static void errors_say_where_and_what(void **state)
{
    (void)state;
    for (size_t i = 0; i < FCL_COUNT(errors); i++) {
        char answer[256] = "", reason[256] = "";
        const enum fcl_status status = run(errors[i].text, answer, reason, sizeof answer);
        if (status != FCL_INVALID_ARGUMENT)
            fail_msg("`%s` is %s", errors[i].text, answer);
        if (strstr(reason, errors[i].reason) == NULL)
            fail_msg("`%s`: \"%s\" lacks \"%s\"", errors[i].text, reason, errors[i].reason);
    }
    fcl_expression *expression = NULL;
    assert_int_equal(fcl_expression_compile(NULL, NULL, 0, &expression, NULL, 0),
                     FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_expression_compile("1", NULL, 1, &expression, NULL, 0),
                     FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_expression_compile("1", NULL, 0, NULL, NULL, 0), FCL_INVALID_ARGUMENT);
    fcl_expression_destroy(NULL);
    fcl_expression_destroy(&expression);
}

// A text of `count` times `piece`, a middle, and `count` times an end.
static void repeat(char *text, const char *piece, int count, const char *middle, const char *end)
{
    text[0] = 0;
    for (int i = 0; i < count; i++)
        strcat(text, piece);
    strcat(text, middle);
    for (int i = 0; i < count; i++)
        strcat(text, end);
}

static void nesting_is_limited(void **state)
{
    (void)state;
    static const struct {
        const char *piece, *middle, *end;
    } cases[] = {
        {"(", "1", ")"},      {"-", "1", ""},     {"not ", "1", ""},         {"1 ** ", "1", ""},
        {"1 + ", "1", ""},    {"abs(", "1", ")"}, {"1 if 0 else ", "1", ""}, {"max([", "1", "])"},
        {"1 in [", "1", "]"}, {"!", "1", ""},     {"1 - (2 * (", "1", "))"},
    };
    static char text[200000];
    char answer[64], reason[200];
    for (size_t i = 0; i < FCL_COUNT(cases); i++) {
        repeat(text, cases[i].piece, 20, cases[i].middle, cases[i].end);
        assert_int_equal(run(text, answer, reason, sizeof answer), FCL_OK);
        repeat(text, cases[i].piece, 10000, cases[i].middle, cases[i].end);
        assert_int_equal(run(text, answer, reason, sizeof reason), FCL_INVALID_ARGUMENT);
        if (strstr(reason, "100 levels") == NULL)
            fail_msg("`%.20s`: %s", text, reason);
    }
    repeat(text, "", 0, "1 + 1", "");
    for (int i = 0; i < 5; i++) { // comprehensions inside each other
        static char inner[1000];
        snprintf(inner, sizeof inner, "sum(x for x in [%s])", text);
        strcpy(text, inner);
        assert_int_equal(run(text, answer, reason, sizeof answer), FCL_OK);
    }
    strcpy(text, "sum([sum([sum([sum([sum([a for a in [1]]) for b in [1]]) for c in [1]]) for d in "
                 "[1]]) for e in [1]])");
    assert_int_equal(run(text, answer, reason, sizeof reason), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(reason, "at most 4 comprehensions"));
}

static void many_operands_are_no_nesting(void **state)
{
    (void)state;
    static char text[20000];
    char answer[200], reason[200];
    repeat(text, "A == 7 and ", 1000, "1", "");
    assert_int_equal(run(text, answer, reason, sizeof answer), FCL_OK);
    repeat(text, "0 or ", 1000, "8", "");
    assert_int_equal(run(text, answer, reason, sizeof answer), FCL_OK);
    assert_string_equal(answer, "8");
    repeat(text, "A in [", 1, "1", "");
    for (int i = 0; i < 1000; i++)
        strcat(text, ", 1");
    strcat(text, "]");
    assert_int_equal(run(text, answer, reason, sizeof answer), FCL_OK);
    assert_string_equal(answer, "False");
}

static void names_in_use_are_known(void **state)
{
    (void)state;
    fcl_expression *expression = NULL;
    assert_int_equal(fcl_expression_compile("A + len([C for B in [1]])", names, FCL_COUNT(names),
                                            &expression, NULL, 0),
                     FCL_OK);
    for (size_t i = 0; i < FCL_COUNT(names); i++)
        assert_int_equal(fcl_expression_uses(expression, i), i == 0 || i == 2);
    fcl_expression_destroy(&expression);
}

// ---- lists of values

static void join(const struct fcl_value *values, size_t count, char *text, size_t size)
{
    size_t length = 0;
    text[0] = 0;
    for (size_t i = 0; i < count && length < size; i++) {
        char one[64];
        fcl_value_format(&values[i], one, sizeof one);
        length += (size_t)snprintf(text + length, size - length, "%s%s", i > 0 ? "," : "", one);
    }
}

static void lists_of_values_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text, *values;
    } cases[] = {
        {"[16, 32, 64]", "16,32,64"},
        {"(1, 2)", "1,2"},
        {"[0.5, True, 'a b']", "0.5,True,a b"},
        {"list(range(1, 9))", "1,2,3,4,5,6,7,8"},
        {"range(4)", "0,1,2,3"},
        {"range(9, 0, -4)", "9,5,1"},
        {"[2**i for i in range(0, 6)]", "1,2,4,8,16,32"},
        {"[i for i in range(1, 10+1) if i % 3 == 0]", "3,6,9"},
        {"[i * 10 + j for i in range(2) if True] + [7]", NULL},
        {"[1, 2] + list(range(32, 128+1, 32)) + [1]", "1,2,32,64,96,128,1"},
        {"[x if x else 'none' for x in (0, 1)]", "none,1"},
        {"range(9223372036854775806, 9223372036854775807)", "9223372036854775806"},
        {"range(-9223372036854775807, 9223372036854775807, 9223372036854775807)",
         "-9223372036854775807,0"},
        // as typed in a shell
        {"16,32", "16,32"},
        {"16", "16"},
        {"row,column,3", "row,column,3"},
        {"2**4, 2**5", "16,32"},
        {"true,false", "True,False"},
        {"'a,b',c", "a,b,c"},
        {"row", "row"},
        // not lists
        {"", NULL},
        {"[]", NULL},
        {"16,,32", NULL},
        {"16,32,", NULL},
        {"16 32", NULL},
        {"[a, b]", NULL},
        {"[a, b, 1]", NULL},
        {"(a, 1)", NULL},
        {"range(65537)", NULL},
        {"row + 1", NULL},
        {"[1], [2]", NULL},
        {"[1, 2", NULL},
        {"range(10 ** 9)", NULL},
        {"dict(a)", NULL},
    };
    for (size_t i = 0; i < FCL_COUNT(cases); i++) {
        struct fcl_value *values = NULL;
        size_t count = 0;
        char reason[200] = "", text[200];
        const enum fcl_status status =
            fcl_values_parse(cases[i].text, &values, &count, reason, sizeof reason);
        if (cases[i].values == NULL) {
            assert_int_equal(status, FCL_INVALID_ARGUMENT);
            assert_true(strlen(reason) > 0);
            assert_null(values);
            continue;
        }
        if (status != FCL_OK)
            fail_msg("`%s`: %s", cases[i].text, reason);
        join(values, count, text, sizeof text);
        assert_string_equal(text, cases[i].values);
        free(values);
    }
}

static void as_many_values_as_allowed_are_read(void **state)
{
    (void)state;
    struct fcl_value *values;
    size_t count;
    assert_int_equal(fcl_values_parse("range(65536)", &values, &count, NULL, 0), FCL_OK);
    assert_int_equal(count, 65536);
    assert_int_equal(values[65535].integer, 65535);
    free(values);
}

static void values_compare_and_format(void **state)
{
    (void)state;
    const struct fcl_value one = fcl_value_integer(1), truth = fcl_value_bool(7),
                           real = fcl_value_real(1.0), text = fcl_value_text("1");
    assert_true(fcl_value_equal(&one, &truth) && fcl_value_equal(&one, &real));
    assert_false(fcl_value_equal(&one, &text) || fcl_value_equal(&text, &real));
    const struct fcl_value falses[] = {fcl_value_integer(0), fcl_value_real(0.0), fcl_value_bool(0),
                                       fcl_value_text("")};
    for (size_t i = 0; i < FCL_COUNT(falses); i++)
        assert_false(fcl_value_is_true(&falses[i]));
    assert_true(fcl_value_is_true(&one) && fcl_value_is_true(&text));
    static const struct {
        double real;
        const char *text;
    } reals[] = {{0.1, "0.1"}, {-2, "-2.0"}, {1e20, "1e+20"}, {123456789.0, "123456789.0"}};
    for (size_t i = 0; i < FCL_COUNT(reals); i++) {
        const struct fcl_value value = fcl_value_real(reals[i].real);
        char out[40];
        assert_int_equal(fcl_value_format(&value, out, sizeof out), strlen(reals[i].text));
        assert_string_equal(out, reals[i].text);
        assert_int_equal(fcl_value_format(&value, out, 2), strlen(reals[i].text));
        assert_int_equal(strlen(out), 1);
    }
    assert_int_equal(fcl_value_format(NULL, NULL, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_as_python_does),
        cmocka_unit_test(errors_say_where_and_what),
        cmocka_unit_test(nesting_is_limited),
        cmocka_unit_test(many_operands_are_no_nesting),
        cmocka_unit_test(names_in_use_are_known),
        cmocka_unit_test(lists_of_values_are_read),
        cmocka_unit_test(as_many_values_as_allowed_are_read),
        cmocka_unit_test(values_compare_and_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
