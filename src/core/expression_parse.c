// From text to tree: one function for each level of precedence.
#include <stdlib.h>
#include <string.h>

#include "expression_tree.h"

#define LONGEST 1000000 // characters of a text

#define A_VALUE "a number, a name, a 'text', a function, (, [, -, + or `not`"

static int token_is(const struct fcl_parser *p, const char *word)
{
    return fcl_scan_is(&p->scan, word);
}

static int accept(struct fcl_parser *p, const char *word)
{
    return fcl_scan_accept(&p->scan, word);
}

static void expect(struct fcl_parser *p, const char *word, const char *allowed)
{
    if (!accept(p, word))
        fcl_tree_fail(p, allowed);
}

static uint32_t parse_expression(struct fcl_parser *p);

static uint32_t parse_value(struct fcl_parser *p)
{
    return fcl_tree_value(p, parse_expression(p));
}

// ---- names

static int token_equals(const struct fcl_parser *p, const struct fcl_token *token, const char *text,
                        size_t length)
{
    return token->length == length && memcmp(p->out->text + token->at, text, length) == 0;
}

static uint32_t fail_name(struct fcl_parser *p, const struct fcl_token *word)
{
    struct fcl_text known = {0};
    fcl_text_add(&known, "no such name; known are");
    for (size_t i = 0; i < p->name_count; i++)
        fcl_text_add(&known, " %s", p->names[i]);
    if (p->name_count == 0)
        fcl_text_add(&known, " none here");
    fcl_tree_fail_at(p, word, known.failed ? "no such name" : known.data);
    fcl_text_free(&known);
    return FCL_NO_NODE;
}

// A word that stands alone becomes a text.
static uint32_t add_bare_word(struct fcl_parser *p, const struct fcl_token *word)
{
    const uint32_t node = fcl_tree_add(p, FCL_NODE_VALUE, 0, word->at);
    if (node == FCL_NO_NODE)
        return node;
    p->scan.texts[word->at + word->length] = 0;
    p->out->nodes[node].value = fcl_value_text(p->scan.texts + word->at);
    return node;
}

static uint32_t add_indexed(struct fcl_parser *p, enum fcl_node_kind kind,
                            const struct fcl_token *word, size_t index)
{
    const uint32_t node = fcl_tree_add(p, kind, 0, word->at);
    if (node != FCL_NO_NODE)
        p->out->nodes[node].index = (uint32_t)index;
    return node;
}

static uint32_t parse_name(struct fcl_parser *p, const struct fcl_token *word)
{
    for (size_t i = p->local_count; i-- > 0;)
        if (token_equals(p, word, p->out->text + p->locals[i].at, p->locals[i].length))
            return add_indexed(p, FCL_NODE_LOCAL, word, i);
    for (size_t i = 0; i < p->name_count; i++)
        if (token_equals(p, word, p->names[i], strlen(p->names[i])))
            return add_indexed(p, FCL_NODE_NAME, word, i);
    return fail_name(p, word);
}

// ---- lists

// Whether a comprehension begins here: a `for` at this level of brackets. Its variable then becomes
// known, because the element before it uses it.
static int find_variable(struct fcl_parser *p, struct fcl_token *variable)
{
    const struct fcl_scanner before = p->scan;
    int level = 0, found = 0;
    while (p->scan.token.kind != FCL_TOKEN_END && level >= 0 && !found) {
        level += token_is(p, "(") || token_is(p, "[");
        level -= token_is(p, ")") || token_is(p, "]");
        found = level == 0 && accept(p, "for");
        if (!found)
            fcl_scan_next(&p->scan);
    }
    *variable = p->scan.token;
    found = found && p->scan.token.kind == FCL_TOKEN_WORD;
    p->scan.token = before.token;
    p->scan.behind = before.behind;
    return found;
}

static uint32_t parse_binary(struct fcl_parser *p);

// From the element on; the closing bracket stays.
static uint32_t parse_comprehension(struct fcl_parser *p, const struct fcl_token *variable)
{
    if (p->local_count == FCL_EXPRESSION_LOCALS)
        return fcl_tree_fail(p, "at most 4 comprehensions inside each other are allowed");
    p->locals[p->local_count++] = *variable;
    const uint32_t node = fcl_tree_add(p, FCL_NODE_COMPREHENSION, 0, p->scan.token.at);
    if (node != FCL_NO_NODE)
        p->out->nodes[node].index = (uint32_t)(p->local_count - 1);
    fcl_tree_add_child(p, node, parse_value(p));
    expect(p, "for", "`for` is needed");
    fcl_scan_next(&p->scan);
    expect(p, "in", "`in` is needed behind the variable");
    p->local_count--; // the list itself does not see the variable
    fcl_tree_add_child(p, node, fcl_tree_list(p, parse_binary(p)));
    p->local_count++;
    if (accept(p, "if"))
        fcl_tree_add_child(p, node, fcl_tree_value(p, parse_binary(p)));
    p->local_count--;
    return node;
}

// Items, or a comprehension, up to and with the closing bracket.
static uint32_t parse_items(struct fcl_parser *p, size_t at, const char *close)
{
    struct fcl_token variable;
    if (find_variable(p, &variable)) {
        const uint32_t node = parse_comprehension(p, &variable);
        expect(p, close, "the closing bracket is needed");
        return node;
    }
    const uint32_t node = fcl_tree_add(p, FCL_NODE_ITEMS, 0, at);
    while (!token_is(p, close) && p->scan.status == FCL_OK) {
        fcl_tree_add_child(p, node, parse_value(p));
        if (!token_is(p, close))
            expect(p, ",", "`,` or the closing bracket is allowed");
    }
    fcl_scan_next(&p->scan);
    return node;
}

// ( value ) or ( value, ... ), after the opening one.
static uint32_t parse_parentheses(struct fcl_parser *p, size_t at)
{
    if (accept(p, ")"))
        return fcl_tree_add(p, FCL_NODE_ITEMS, 0, at);
    const uint32_t first = parse_expression(p);
    if (accept(p, ")"))
        return first;
    const uint32_t node = fcl_tree_add_parent(p, FCL_NODE_ITEMS, 0, at, fcl_tree_value(p, first));
    while (accept(p, ",") && !token_is(p, ")"))
        fcl_tree_add_child(p, node, parse_value(p));
    expect(p, ")", "an operator, `,` or `)` is allowed");
    return node;
}

// ---- functions

enum call_kind { CALL_FUNCTION, CALL_FOLD, CALL_RANGE, CALL_LIST };

static const struct {
    const char *name;
    enum call_kind kind;
    int code;
} functions[] = {
    {"min", CALL_FOLD, FCL_MIN},
    {"max", CALL_FOLD, FCL_MAX},
    {"sum", CALL_FOLD, FCL_SUM},
    {"any", CALL_FOLD, FCL_ANY},
    {"all", CALL_FOLD, FCL_ALL},
    {"len", CALL_FOLD, FCL_LENGTH},
    {"abs", CALL_FUNCTION, FCL_ABS},
    {"round", CALL_FUNCTION, FCL_ROUND},
    {"ceil", CALL_FUNCTION, FCL_CEIL},
    {"floor", CALL_FUNCTION, FCL_FLOOR},
    {"log2", CALL_FUNCTION, FCL_LOG2},
    {"sqrt", CALL_FUNCTION, FCL_SQRT},
    {"int", CALL_FUNCTION, FCL_INT},
    {"float", CALL_FUNCTION, FCL_FLOAT},
    {"bool", CALL_FUNCTION, FCL_BOOL},
    {"range", CALL_RANGE, 0},
    {"list", CALL_LIST, 0},
    {"tuple", CALL_LIST, 0},
};

static uint32_t fail_function(struct fcl_parser *p, const struct fcl_token *word)
{
    struct fcl_text known = {0};
    fcl_text_add(&known, "no such function; known are");
    for (size_t i = 0; i < FCL_COUNT(functions); i++)
        fcl_text_add(&known, " %s", functions[i].name);
    fcl_tree_fail_at(p, word, known.failed ? "no such function" : known.data);
    fcl_text_free(&known);
    return FCL_NO_NODE;
}

// A list as the only argument is what is folded; several arguments are its items.
static uint32_t parse_fold(struct fcl_parser *p, const struct fcl_token *word, int code)
{
    const uint32_t node = fcl_tree_add(p, FCL_NODE_FOLD, code, word->at);
    struct fcl_token variable;
    if (find_variable(p, &variable)) { // sum(x for x in ...)
        fcl_tree_add_child(p, node, parse_items(p, word->at, ")"));
        return node;
    }
    if (token_is(p, ")"))
        return fcl_tree_fail(p, A_VALUE " is needed");
    const uint32_t first = parse_expression(p);
    const int is_list = first != FCL_NO_NODE && fcl_node_is_list(&p->out->nodes[first]);
    if (is_list || (code != FCL_MIN && code != FCL_MAX)) {
        fcl_tree_add_child(p, node, code == FCL_LENGTH ? first : fcl_tree_list(p, first));
        expect(p, ")", "`)` is allowed: one argument");
        return node;
    }
    const uint32_t items = fcl_tree_add_parent(p, FCL_NODE_ITEMS, 0, word->at, first);
    while (accept(p, ",") && !token_is(p, ")"))
        fcl_tree_add_child(p, items, parse_value(p));
    expect(p, ")", "an operator, `,` or `)` is allowed");
    fcl_tree_add_child(p, node, items);
    return node;
}

static uint32_t parse_range(struct fcl_parser *p, const struct fcl_token *word)
{
    const uint32_t node = fcl_tree_add(p, FCL_NODE_RANGE, 0, word->at);
    int count = 0;
    do {
        fcl_tree_add_child(p, node, parse_value(p));
        count++;
    } while (accept(p, ",") && count < 3);
    expect(p, ")", "range takes one to three whole numbers");
    return node;
}

// After the opening parenthesis.
static uint32_t parse_call(struct fcl_parser *p, const struct fcl_token *word)
{
    size_t i = 0;
    while (i < FCL_COUNT(functions) &&
           !token_equals(p, word, functions[i].name, strlen(functions[i].name)))
        i++;
    if (i == FCL_COUNT(functions))
        return fail_function(p, word);
    uint32_t node;
    switch (functions[i].kind) {
    case CALL_FOLD:
        return parse_fold(p, word, functions[i].code);
    case CALL_RANGE:
        return parse_range(p, word);
    case CALL_LIST:
        node = fcl_tree_list(p, parse_expression(p));
        break;
    default:
        node = fcl_tree_add_parent(p, FCL_NODE_CALL, functions[i].code, word->at, parse_value(p));
        break;
    }
    expect(p, ")", "an operator or `)` is allowed: one argument");
    return node;
}

// ---- operators, from those that bind most

static int is_reserved(const struct fcl_parser *p)
{
    static const char *const words[] = {"and", "or", "not", "in", "if", "else", "for", "is"};
    for (size_t i = 0; i < FCL_COUNT(words); i++)
        if (token_is(p, words[i]))
            return 1;
    return 0;
}

static int is_bare(const struct fcl_parser *p)
{
    return p->bare && p->depth == 1 && (token_is(p, ",") || p->scan.token.kind == FCL_TOKEN_END);
}

static uint32_t parse_word(struct fcl_parser *p)
{
    const struct fcl_token word = p->scan.token;
    if (is_reserved(p))
        return fcl_tree_fail(p, A_VALUE " is allowed");
    const int truth = token_is(p, "True") || token_is(p, "true");
    const int is_truth = truth || token_is(p, "False") || token_is(p, "false");
    fcl_scan_next(&p->scan);
    if (is_truth) {
        const uint32_t node = fcl_tree_add(p, FCL_NODE_VALUE, 0, word.at);
        if (node != FCL_NO_NODE)
            p->out->nodes[node].value = fcl_value_bool(truth);
        return node;
    }
    if (accept(p, "("))
        return parse_call(p, &word);
    return is_bare(p) ? add_bare_word(p, &word) : parse_name(p, &word);
}

static uint32_t parse_primary(struct fcl_parser *p)
{
    const struct fcl_token token = p->scan.token;
    if (token.kind == FCL_TOKEN_WORD)
        return parse_word(p);
    if (token.kind == FCL_TOKEN_VALUE) {
        const uint32_t node = fcl_tree_add(p, FCL_NODE_VALUE, 0, token.at);
        if (node != FCL_NO_NODE)
            p->out->nodes[node].value = token.value;
        fcl_scan_next(&p->scan);
        return node;
    }
    if (accept(p, "("))
        return parse_parentheses(p, token.at);
    if (accept(p, "["))
        return parse_items(p, token.at, "]");
    return fcl_tree_fail(p, A_VALUE " is allowed");
}

// One more level of nesting; 0 where that is one too many.
static int enter(struct fcl_parser *p)
{
    if (p->depth == FCL_EXPRESSION_DEPTH)
        fcl_tree_fail(p, "at most 100 levels of nesting are allowed");
    p->depth++;
    return p->scan.status == FCL_OK;
}

static uint32_t parse_unary(struct fcl_parser *p);

static uint32_t parse_power(struct fcl_parser *p)
{
    const uint32_t base = parse_primary(p);
    const size_t at = p->scan.token.at;
    if (!accept(p, "**"))
        return base;
    const uint32_t node =
        fcl_tree_add_parent(p, FCL_NODE_BINARY, FCL_POWER, at, fcl_tree_value(p, base));
    if (enter(p))
        fcl_tree_add_child(p, node, fcl_tree_value(p, parse_unary(p)));
    p->depth--;
    return node;
}

static uint32_t parse_unary(struct fcl_parser *p)
{
    static const struct {
        const char *symbol;
        enum fcl_node_kind kind;
        int code;
    } unaries[] = {{"-", FCL_NODE_UNARY, FCL_NEGATE},
                   {"+", FCL_NODE_UNARY, FCL_PLUS},
                   {"~", FCL_NODE_UNARY, FCL_INVERT},
                   {"!", FCL_NODE_NOT, 0}};
    for (size_t i = 0; i < FCL_COUNT(unaries); i++) {
        const size_t at = p->scan.token.at;
        if (!accept(p, unaries[i].symbol))
            continue;
        const uint32_t node = fcl_tree_add(p, unaries[i].kind, unaries[i].code, at);
        if (enter(p))
            fcl_tree_add_child(p, node, fcl_tree_value(p, parse_unary(p)));
        p->depth--;
        return node;
    }
    return parse_power(p);
}

static const struct {
    const char *symbol;
    int level; // those of a higher one bind more
    int code;
} binaries[] = {
    {"|", 1, FCL_BIT_OR},        {"^", 2, FCL_BIT_XOR},      {"&", 3, FCL_BIT_AND},
    {"<<", 4, FCL_SHIFT_LEFT},   {">>", 4, FCL_SHIFT_RIGHT}, {"+", 5, FCL_ADD},
    {"-", 5, FCL_SUBTRACT},      {"*", 6, FCL_MULTIPLY},     {"/", 6, FCL_DIVIDE},
    {"//", 6, FCL_FLOOR_DIVIDE}, {"%", 6, FCL_REMAINDER},
};

// Two values, or two lists to be joined.
static uint32_t add_binary(struct fcl_parser *p, int code, size_t at, uint32_t left, uint32_t right)
{
    const int joins =
        code == FCL_ADD && left != FCL_NO_NODE && fcl_node_is_list(&p->out->nodes[left]);
    const uint32_t node =
        joins ? fcl_tree_add_parent(p, FCL_NODE_JOINED, 0, at, left)
              : fcl_tree_add_parent(p, FCL_NODE_BINARY, code, at, fcl_tree_value(p, left));
    fcl_tree_add_child(p, node, joins ? fcl_tree_list(p, right) : fcl_tree_value(p, right));
    return node;
}

// Operators of `level` and above.
static uint32_t parse_arithmetic(struct fcl_parser *p, int level)
{
    uint32_t left = parse_unary(p);
    for (size_t i = 0; i < FCL_COUNT(binaries);) {
        const size_t at = p->scan.token.at;
        if (binaries[i].level < level || !accept(p, binaries[i].symbol)) {
            i++;
            continue;
        }
        left =
            add_binary(p, binaries[i].code, at, left, parse_arithmetic(p, binaries[i].level + 1));
        i = 0;
    }
    return left;
}

// Moves behind a comparison. Returns its fcl_comparison_kind, or -1 where there is none.
static int accept_comparison(struct fcl_parser *p)
{
    static const char *const words[] = {
        [FCL_EQUAL] = "==",  [FCL_NOT_EQUAL] = "!=",     [FCL_LESS] = "<", [FCL_LESS_EQUAL] = "<=",
        [FCL_GREATER] = ">", [FCL_GREATER_EQUAL] = ">=", [FCL_IN] = "in",
    };
    for (size_t i = 0; i < FCL_COUNT(words); i++)
        if (accept(p, words[i]))
            return (int)i;
    if (!accept(p, "not"))
        return -1;
    expect(p, "in", "`in` is needed behind `not`");
    return FCL_NOT_IN;
}

static uint32_t parse_comparison(struct fcl_parser *p)
{
    uint32_t left = parse_arithmetic(p, 1);
    size_t at = p->scan.token.at;
    int comparison = accept_comparison(p);
    if (comparison < 0)
        return left;
    const uint32_t node = fcl_tree_add_parent(p, FCL_NODE_COMPARE, 0, at, fcl_tree_value(p, left));
    for (; comparison >= 0; comparison = accept_comparison(p)) {
        const uint32_t right = parse_arithmetic(p, 1);
        if (right == FCL_NO_NODE)
            return right;
        p->out->nodes[right].link = (unsigned char)comparison;
        if (comparison != FCL_IN && comparison != FCL_NOT_IN)
            fcl_tree_value(p, right);
        fcl_tree_add_child(p, node, right);
        if (fcl_node_is_list(&p->out->nodes[right]))
            return node; // what is compared with a list next is not allowed, and said to be so
    }
    return node;
}

static uint32_t parse_not(struct fcl_parser *p)
{
    const size_t at = p->scan.token.at;
    if (!accept(p, "not"))
        return parse_comparison(p);
    const uint32_t node = fcl_tree_add(p, FCL_NODE_NOT, 0, at);
    if (enter(p))
        fcl_tree_add_child(p, node, fcl_tree_value(p, parse_not(p)));
    p->depth--;
    return node;
}

static uint32_t parse_and(struct fcl_parser *p)
{
    const uint32_t first = parse_not(p);
    if (!token_is(p, "and") && !token_is(p, "&&"))
        return first;
    const uint32_t node =
        fcl_tree_add_parent(p, FCL_NODE_AND, 0, p->scan.token.at, fcl_tree_value(p, first));
    while (accept(p, "and") || accept(p, "&&"))
        fcl_tree_add_child(p, node, fcl_tree_value(p, parse_not(p)));
    return node;
}

// Everything but `a if c else b`.
static uint32_t parse_binary(struct fcl_parser *p)
{
    const uint32_t first = parse_and(p);
    if (!token_is(p, "or") && !token_is(p, "||"))
        return first;
    const uint32_t node =
        fcl_tree_add_parent(p, FCL_NODE_OR, 0, p->scan.token.at, fcl_tree_value(p, first));
    while (accept(p, "or") || accept(p, "||"))
        fcl_tree_add_child(p, node, fcl_tree_value(p, parse_and(p)));
    return node;
}

// From `if` on.
static uint32_t parse_choice(struct fcl_parser *p, uint32_t value)
{
    const size_t at = p->scan.token.at;
    if (!accept(p, "if"))
        return value;
    fcl_tree_value(p, value);
    const uint32_t node =
        fcl_tree_add_parent(p, FCL_NODE_CHOICE, 0, at, fcl_tree_value(p, parse_binary(p)));
    fcl_tree_add_child(p, node, value);
    expect(p, "else", "an operator or `else` is allowed");
    fcl_tree_add_child(p, node, parse_value(p));
    return node;
}

static uint32_t parse_expression(struct fcl_parser *p)
{
    const uint32_t node = enter(p) ? parse_choice(p, parse_binary(p)) : FCL_NO_NODE;
    p->depth--;
    return node;
}

// A list, or items with commas between.
static uint32_t parse_list(struct fcl_parser *p)
{
    const uint32_t first = parse_expression(p);
    if (first == FCL_NO_NODE || (fcl_node_is_list(&p->out->nodes[first]) && !token_is(p, ",")))
        return first;
    const uint32_t node = fcl_tree_add_parent(p, FCL_NODE_ITEMS, 0, 0, fcl_tree_value(p, first));
    while (accept(p, ","))
        fcl_tree_add_child(p, node, parse_value(p));
    return node;
}

enum fcl_status fcl_expression_parse(const char *text, const char *const *names, size_t name_count,
                                     int as_list, fcl_expression **expression, char *reason,
                                     size_t size)
{
    if (strlen(text) > LONGEST)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "an expression of %zu characters; at most %d are allowed", strlen(text),
                        LONGEST);
    fcl_expression *out = calloc(1, sizeof *out);
    if (out != NULL) {
        out->text = fcl_text_copy(text);
        out->texts = fcl_text_copy(text);
    }
    if (out == NULL || out->text == NULL || out->texts == NULL) {
        fcl_expression_destroy(&out);
        return fcl_fail(reason, size, FCL_OUT_OF_MEMORY, "memory is out");
    }
    struct fcl_parser p = {.out = out, .names = names, .name_count = name_count, .bare = as_list};
    p.scan = (struct fcl_scanner){
        .text = out->text, .texts = out->texts, .reason = reason, .size = size};
    fcl_scan_next(&p.scan);
    out->root = as_list ? parse_list(&p) : parse_value(&p);
    if (p.scan.token.kind != FCL_TOKEN_END)
        fcl_tree_fail(&p, as_list ? "an operator, `,` or the end is allowed"
                                  : "an operator or the end is allowed");
    if (p.scan.status != FCL_OK)
        fcl_expression_destroy(&out);
    *expression = out;
    return p.scan.status;
}
