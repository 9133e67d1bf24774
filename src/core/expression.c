// Evaluating expressions: a walk over the tree that allocates nothing. Lists are never built; their
// elements are visited one after the other.
#include "expression.h"

#include <stdlib.h>
#include <string.h>

#define STEPS 1000000 // of one evaluation
#define SHOWN 24      // characters of an operand that a message repeats
#define VALUES 65536  // of one parameter

struct evaluation {
    const fcl_expression *e;
    const struct fcl_value *names;
    struct fcl_value locals[FCL_EXPRESSION_LOCALS];
    int steps;
    char *reason;
    size_t size;
};

// The functions below return 1, or 0 after a failure.
static int evaluate(struct evaluation *v, uint32_t node, struct fcl_value *result);

static const struct fcl_node *node_at(const struct evaluation *v, uint32_t node)
{
    return &v->e->nodes[node];
}

static int is_list(const struct evaluation *v, uint32_t node)
{
    return fcl_node_is_list(node_at(v, node));
}

// Says what is wrong at a node, with its operands where there are any.
static int fail(struct evaluation *v, const struct fcl_node *node, const char *problem,
                const struct fcl_value *a, const struct fcl_value *b)
{
    char left[SHOWN] = "", right[SHOWN] = "";
    if (a != NULL)
        fcl_value_format(a, left, sizeof left);
    if (b != NULL)
        fcl_value_format(b, right, sizeof right);
    fcl_fail(v->reason, v->size, FCL_INVALID_ARGUMENT, "at %u: %s%s%s%s%s%s; in `%.60s%s`",
             node->at + 1, problem, a != NULL ? " (" : "", left, b != NULL ? ", " : "", right,
             a != NULL ? ")" : "", v->e->text, strlen(v->e->text) > 60 ? "..." : "");
    return 0;
}

static int step(struct evaluation *v, const struct fcl_node *node)
{
    return v->steps++ < STEPS || fail(v, node, "more than 1000000 steps", NULL, NULL);
}

// ---- lists

static int visit_list(struct evaluation *v, uint32_t list, fcl_value_visit visit, void *user,
                      int *more);

static int visit_items(struct evaluation *v, const struct fcl_node *node, fcl_value_visit visit,
                       void *user, int *more)
{
    for (uint32_t at = node->child; at != FCL_NO_NODE && *more; at = node_at(v, at)->next) {
        struct fcl_value value;
        if (!evaluate(v, at, &value))
            return 0;
        *more = visit(user, &value);
    }
    return 1;
}

// The numbers of range(stop), range(start, stop) or range(start, stop, step); `numbers` holds the
// step that is left out.
static int read_range(struct evaluation *v, const struct fcl_node *node, int64_t numbers[3])
{
    int count = 0;
    for (uint32_t at = node->child; at != FCL_NO_NODE; at = node_at(v, at)->next) {
        struct fcl_value value;
        if (!evaluate(v, at, &value))
            return 0;
        if (value.kind != FCL_VALUE_INTEGER && value.kind != FCL_VALUE_BOOL)
            return fail(v, node_at(v, at), "range takes whole numbers", &value, NULL);
        numbers[count++] = value.integer;
    }
    if (count == 1) {
        numbers[1] = numbers[0];
        numbers[0] = 0;
    }
    return numbers[2] != 0 || fail(v, node, "the step of range is 0", NULL, NULL);
}

static int visit_range(struct evaluation *v, const struct fcl_node *node, fcl_value_visit visit,
                       void *user, int *more)
{
    int64_t numbers[3] = {0, 0, 1};
    if (!read_range(v, node, numbers))
        return 0;
    struct fcl_value value = fcl_value_integer(numbers[0]);
    const struct fcl_value by = fcl_value_integer(numbers[2]);
    while (*more && (by.integer > 0 ? value.integer < numbers[1] : value.integer > numbers[1])) {
        if (!step(v, node))
            return 0;
        *more = visit(user, &value);
        if (fcl_value_binary(FCL_ADD, &value, &by, &value) != NULL)
            break; // past the last 64-bit integer
    }
    return 1;
}

struct comprehension {
    struct evaluation *v;
    const struct fcl_node *node;
    fcl_value_visit visit;
    void *user;
    int done, more;
};

static int visit_source(void *user, const struct fcl_value *value)
{
    struct comprehension *c = user;
    const uint32_t element = c->node->child, source = node_at(c->v, element)->next;
    const uint32_t condition = node_at(c->v, source)->next;
    struct fcl_value result = fcl_value_bool(1);
    c->v->locals[c->node->index] = *value;
    c->done = condition == FCL_NO_NODE || evaluate(c->v, condition, &result);
    if (!c->done || !fcl_value_is_true(&result))
        return c->done;
    c->done = evaluate(c->v, element, &result);
    c->more = c->done && c->visit(c->user, &result);
    return c->more;
}

static int visit_list(struct evaluation *v, uint32_t list, fcl_value_visit visit, void *user,
                      int *more)
{
    const struct fcl_node *node = node_at(v, list);
    struct comprehension c = {v, node, visit, user, 1, 1};
    switch (node->kind) {
    case FCL_NODE_ITEMS:
        return visit_items(v, node, visit, user, more);
    case FCL_NODE_RANGE:
        return visit_range(v, node, visit, user, more);
    case FCL_NODE_COMPREHENSION:
        if (!visit_list(v, node_at(v, node->child)->next, visit_source, &c, &(int){1}))
            return 0;
        *more = c.more;
        return c.done;
    default:
        return visit_list(v, node->child, visit, user, more) &&
               (!*more || visit_list(v, node->last, visit, user, more));
    }
}

struct folding {
    enum fcl_fold fold;
    struct fcl_value result;
    int64_t count;
    const char *problem;
    struct fcl_value culprit;
};

static int fold_value(void *user, const struct fcl_value *value)
{
    struct folding *f = user;
    int order = 0;
    f->culprit = *value;
    switch (f->fold) {
    case FCL_LENGTH:
        break;
    case FCL_SUM:
        f->problem = fcl_value_binary(FCL_ADD, &f->result, value, &f->result);
        break;
    case FCL_ANY:
    case FCL_ALL:
        f->result = fcl_value_bool(fcl_value_is_true(value));
        break;
    default:
        if (f->count > 0)
            f->problem = fcl_value_compare(value, &f->result, &order);
        if (f->count == 0 || (f->fold == FCL_MIN ? order < 0 : order > 0))
            f->result = *value;
        break;
    }
    f->count++;
    return f->problem == NULL && (f->fold != FCL_ANY || !f->result.integer) &&
           (f->fold != FCL_ALL || f->result.integer);
}

static int evaluate_length(struct evaluation *v, const struct fcl_node *node,
                           struct fcl_value *result)
{
    struct fcl_value text;
    if (!evaluate(v, node->child, &text))
        return 0;
    if (text.kind != FCL_VALUE_TEXT)
        return fail(v, node, "len takes a list or a text", &text, NULL);
    *result = fcl_value_integer((int64_t)strlen(text.text));
    return 1;
}

static int evaluate_fold(struct evaluation *v, const struct fcl_node *node,
                         struct fcl_value *result)
{
    if (!is_list(v, node->child))
        return evaluate_length(v, node, result);
    struct folding f = {.fold = (enum fcl_fold)node->code, .result = fcl_value_integer(0)};
    if (f.fold == FCL_ANY || f.fold == FCL_ALL)
        f.result = fcl_value_bool(f.fold == FCL_ALL);
    int more = 1;
    if (!visit_list(v, node->child, fold_value, &f, &more))
        return 0;
    if (f.problem != NULL)
        return fail(v, node, f.problem, &f.culprit, NULL);
    if (f.count == 0 && (f.fold == FCL_MIN || f.fold == FCL_MAX))
        return fail(v, node, "the list is empty", NULL, NULL);
    *result = f.fold == FCL_LENGTH ? fcl_value_integer(f.count) : f.result;
    return 1;
}

// ---- comparisons

struct membership {
    const struct fcl_value *wanted;
    int found;
};

static int look_for(void *user, const struct fcl_value *value)
{
    struct membership *m = user;
    m->found = fcl_value_equal(m->wanted, value);
    return !m->found;
}

// Whether `left` is in the list or text at `node`.
static int evaluate_in(struct evaluation *v, const struct fcl_value *left, uint32_t node,
                       struct fcl_value *right, int *found)
{
    struct membership m = {left, 0};
    int more = 1;
    if (is_list(v, node)) {
        if (!visit_list(v, node, look_for, &m, &more))
            return 0;
        *found = m.found;
        return 1;
    }
    if (!evaluate(v, node, right))
        return 0;
    if (left->kind != FCL_VALUE_TEXT || right->kind != FCL_VALUE_TEXT)
        return fail(v, node_at(v, node), "`in` needs a list, or two texts", left, right);
    *found = strstr(right->text, left->text) != NULL;
    return 1;
}

static int compare(struct evaluation *v, const struct fcl_value *left, uint32_t node,
                   struct fcl_value *right, int *holds)
{
    const int kind = node_at(v, node)->link;
    if (kind == FCL_IN || kind == FCL_NOT_IN) {
        const int done = evaluate_in(v, left, node, right, holds);
        *holds = *holds == (kind == FCL_IN);
        return done;
    }
    if (!evaluate(v, node, right))
        return 0;
    if (kind == FCL_EQUAL || kind == FCL_NOT_EQUAL) {
        *holds = fcl_value_equal(left, right) == (kind == FCL_EQUAL);
        return 1;
    }
    int order = 0;
    const char *problem = fcl_value_compare(left, right, &order);
    if (problem != NULL)
        return fail(v, node_at(v, node), problem, left, right);
    *holds = kind == FCL_LESS         ? order < 0
             : kind == FCL_LESS_EQUAL ? order <= 0
             : kind == FCL_GREATER    ? order > 0
                                      : order >= 0;
    return 1;
}

static int evaluate_comparison(struct evaluation *v, const struct fcl_node *node,
                               struct fcl_value *result)
{
    struct fcl_value left, right;
    int holds = 1;
    if (!evaluate(v, node->child, &left))
        return 0;
    for (uint32_t at = node_at(v, node->child)->next; at != FCL_NO_NODE && holds;
         at = node_at(v, at)->next) {
        if (!compare(v, &left, at, &right, &holds))
            return 0;
        left = right;
    }
    *result = fcl_value_bool(holds);
    return 1;
}

// ---- the rest

// The first operand that decides, or the last.
static int evaluate_logic(struct evaluation *v, const struct fcl_node *node,
                          struct fcl_value *result)
{
    for (uint32_t at = node->child; at != FCL_NO_NODE; at = node_at(v, at)->next) {
        if (!evaluate(v, at, result))
            return 0;
        if (fcl_value_is_true(result) == (node->kind == FCL_NODE_OR))
            break;
    }
    return 1;
}

static int evaluate_choice(struct evaluation *v, const struct fcl_node *node,
                           struct fcl_value *result)
{
    struct fcl_value condition;
    if (!evaluate(v, node->child, &condition))
        return 0;
    return evaluate(v, fcl_value_is_true(&condition) ? node_at(v, node->child)->next : node->last,
                    result);
}

// Operations and functions of one or two numbers.
static int evaluate_numbers(struct evaluation *v, const struct fcl_node *node,
                            struct fcl_value *result)
{
    struct fcl_value a, b;
    const char *problem;
    const int is_binary = node->kind == FCL_NODE_BINARY;
    if (!evaluate(v, node->child, &a) || (is_binary && !evaluate(v, node->last, &b)))
        return 0;
    if (is_binary)
        problem = fcl_value_binary((enum fcl_operation)node->code, &a, &b, result);
    else if (node->kind == FCL_NODE_UNARY)
        problem = fcl_value_unary((enum fcl_operation)node->code, &a, result);
    else
        problem = fcl_value_call((enum fcl_function)node->code, &a, result);
    return problem == NULL || fail(v, node, problem, &a, is_binary ? &b : NULL);
}

static int evaluate(struct evaluation *v, uint32_t index, struct fcl_value *result)
{
    const struct fcl_node *node = node_at(v, index);
    if (!step(v, node))
        return 0;
    switch (node->kind) {
    case FCL_NODE_VALUE:
        *result = node->value;
        return 1;
    case FCL_NODE_NAME:
        *result = v->names[node->index];
        return 1;
    case FCL_NODE_LOCAL:
        *result = v->locals[node->index];
        return 1;
    case FCL_NODE_OR:
    case FCL_NODE_AND:
        return evaluate_logic(v, node, result);
    case FCL_NODE_NOT:
        if (!evaluate(v, node->child, result))
            return 0;
        *result = fcl_value_bool(!fcl_value_is_true(result));
        return 1;
    case FCL_NODE_COMPARE:
        return evaluate_comparison(v, node, result);
    case FCL_NODE_CHOICE:
        return evaluate_choice(v, node, result);
    case FCL_NODE_FOLD:
        return evaluate_fold(v, node, result);
    default:
        return evaluate_numbers(v, node, result);
    }
}

// ---- the public functions

enum fcl_status fcl_expression_compile(const char *text, const char *const *names,
                                       size_t name_count, fcl_expression **expression, char *reason,
                                       size_t size)
{
    if (text == NULL || expression == NULL || (names == NULL && name_count > 0))
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%s is NULL",
                        text == NULL         ? "text"
                        : expression == NULL ? "expression"
                                             : "names");
    return fcl_expression_parse(text, names, name_count, 0, expression, reason, size);
}

void fcl_expression_destroy(fcl_expression **expression)
{
    if (expression == NULL || *expression == NULL)
        return;
    free((*expression)->text);
    free((*expression)->texts);
    free((*expression)->nodes);
    free(*expression);
    *expression = NULL;
}

const char *fcl_expression_text(const fcl_expression *expression)
{
    return expression->text;
}

int fcl_expression_uses(const fcl_expression *expression, size_t name)
{
    for (uint32_t i = 0; i < expression->node_count; i++)
        if (expression->nodes[i].kind == FCL_NODE_NAME && expression->nodes[i].index == name)
            return 1;
    return 0;
}

enum fcl_status fcl_expression_evaluate(const fcl_expression *expression,
                                        const struct fcl_value *values, struct fcl_value *result,
                                        char *reason, size_t size)
{
    struct evaluation v = {.e = expression, .names = values, .reason = reason, .size = size};
    return evaluate(&v, expression->root, result) ? FCL_OK : FCL_INVALID_ARGUMENT;
}

enum fcl_status fcl_expression_visit(const fcl_expression *expression, fcl_value_visit visit,
                                     void *user, char *reason, size_t size)
{
    struct evaluation v = {.e = expression, .reason = reason, .size = size};
    int more = 1;
    return visit_list(&v, expression->root, visit, user, &more) ? FCL_OK : FCL_INVALID_ARGUMENT;
}

// ---- the values of a parameter

struct collection {
    struct fcl_value *values; // NULL while counting
    char *texts;
    size_t count, text_bytes;
};

static int collect(void *user, const struct fcl_value *value)
{
    struct collection *c = user;
    const size_t bytes = value->kind == FCL_VALUE_TEXT ? strlen(value->text) + 1 : 0;
    if (c->values != NULL) {
        c->values[c->count] = *value;
        if (bytes > 0)
            c->values[c->count].text = memcpy(c->texts + c->text_bytes, value->text, bytes);
    }
    c->count++;
    c->text_bytes += bytes;
    return c->count <= VALUES;
}

// Counts, allocates, and collects.
static enum fcl_status collect_values(const fcl_expression *list, struct fcl_value **values,
                                      size_t *count, char *reason, size_t size)
{
    struct collection c = {0};
    const enum fcl_status status = fcl_expression_visit(list, collect, &c, reason, size);
    if (status != FCL_OK)
        return status;
    if (c.count == 0 || c.count > VALUES)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "%s values; allowed are 1 to %d; in `%.60s`",
                        c.count == 0 ? "no" : "too many", VALUES, list->text);
    c.values = malloc(c.count * sizeof *c.values + c.text_bytes);
    if (c.values == NULL)
        return fcl_fail(reason, size, FCL_OUT_OF_MEMORY, "memory is out");
    c.texts = (char *)(c.values + c.count);
    *values = c.values;
    *count = c.count;
    c.count = c.text_bytes = 0;
    return fcl_expression_visit(list, collect, &c, reason, size);
}

enum fcl_status fcl_values_parse(const char *text, struct fcl_value **values, size_t *count,
                                 char *reason, size_t size)
{
    fcl_expression *list = NULL;
    if (text == NULL || values == NULL || count == NULL)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%s is NULL",
                        text == NULL     ? "text"
                        : values == NULL ? "values"
                                         : "count");
    enum fcl_status status = fcl_expression_parse(text, NULL, 0, 1, &list, reason, size);
    if (status == FCL_OK)
        status = collect_values(list, values, count, reason, size);
    fcl_expression_destroy(&list);
    return status;
}
