// Building a space: parameters, derived names, constraints.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "points.h"

#define LARGEST (UINT64_C(1) << 62) // settings of all parameters

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define DIGITS "0123456789"

fcl_space *fcl_space_create(void)
{
    fcl_space *space = calloc(1, sizeof *space);
    if (space != NULL)
        space->size = 1;
    return space;
}

void fcl_space_destroy(fcl_space **space)
{
    if (space == NULL || *space == NULL)
        return;
    fcl_space *s = *space;
    for (size_t i = 0; i < s->name_count; i++)
        free(s->names[i].name);
    for (size_t i = 0; i < s->parameter_count; i++)
        free(s->parameters[i].values);
    for (size_t i = 0; i < s->rule_count; i++)
        fcl_expression_destroy(&s->rules[i].expression);
    for (size_t i = 0; i < s->reason_count; i++)
        free(s->reasons[i].text);
    free(s->rules);
    free(s->reasons);
    free(s->points);
    free(s);
    *space = NULL;
}

size_t fcl_space_find_name(const fcl_space *space, const char *name, size_t length)
{
    size_t i = 0;
    while (i < space->name_count && (strlen(space->names[i].name) != length ||
                                     memcmp(space->names[i].name, name, length) != 0))
        i++;
    return i;
}

static enum fcl_status fail_memory(char *reason, size_t size)
{
    return fcl_fail(reason, size, FCL_OUT_OF_MEMORY, "memory is out");
}

// ---- names

// A word, or a word with a number in brackets.
static int is_name(const char *name)
{
    static const char *const taken[] = {"and", "or",   "not",   "in",   "if",   "else",
                                        "for", "True", "False", "true", "false"};
    for (size_t i = 0; i < FCL_COUNT(taken); i++)
        if (strcmp(name, taken[i]) == 0)
            return 0;
    const size_t length = strspn(name, LETTERS DIGITS);
    if (strspn(name, LETTERS) == 0 || name[length] == 0)
        return strspn(name, LETTERS) > 0;
    const size_t digits = strspn(name + length + 1, DIGITS);
    return name[length] == '[' && digits > 0 && strcmp(name + length + 1 + digits, "]") == 0;
}

static enum fcl_status check_open(const fcl_space *space, const void *argument,
                                  const char *argument_name, char *reason, size_t size)
{
    if (space == NULL || argument == NULL)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%s is NULL",
                        space == NULL ? "space" : argument_name);
    if (space->closed)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "the space is closed: names and constraints come before its points");
    return FCL_OK;
}

static enum fcl_status check_name(const fcl_space *space, const char *name, char *reason,
                                  size_t size)
{
    const enum fcl_status status = check_open(space, name, "name", reason, size);
    if (status != FCL_OK)
        return status;
    if (!is_name(name))
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "name `%.60s`: allowed are letters, digits and _, no digit first, no "
                        "operator's word, and a number in brackets at the end",
                        name);
    if (fcl_space_find_name(space, name, strlen(name)) < space->name_count)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "name `%.60s` is there already", name);
    if (space->name_count == FCL_SPACE_NAMES)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "name `%.60s` is one too many: %d are "
                        "allowed",
                        name, FCL_SPACE_NAMES);
    return FCL_OK;
}

static int add_name(fcl_space *space, const char *name, size_t parameter, size_t level)
{
    char *copy = fcl_text_copy(name);
    if (copy == NULL)
        return 0;
    space->names[space->name_count++] = (struct fcl_space_name){copy, parameter, level};
    return 1;
}

// ---- parameters

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// Whether two values have the same text form: 1 or 0, or -1 when memory is out. *twice is it.
static int find_twice(const struct fcl_value *values, size_t count, struct fcl_text *twice)
{
    char **texts = calloc(count, sizeof *texts);
    int found = texts == NULL ? -1 : 0;
    for (size_t i = 0; i < count && found == 0; i++) {
        struct fcl_text text = {0};
        fcl_value_add(&text, &values[i]);
        fcl_text_add(&text, "%s", "");
        texts[i] = text.data;
        found = text.failed ? -1 : 0;
    }
    if (found == 0)
        qsort(texts, count, sizeof *texts, compare_texts);
    for (size_t i = 1; i < count && found == 0; i++)
        if (strcmp(texts[i - 1], texts[i]) == 0) {
            fcl_text_add(twice, "%s", texts[i]);
            found = 1;
        }
    for (size_t i = 0; i < count && texts != NULL; i++)
        free(texts[i]);
    free(texts);
    return found;
}

static int is_sound(const struct fcl_value *value)
{
    if (value->kind == FCL_VALUE_REAL)
        return isfinite(value->real);
    if (value->kind == FCL_VALUE_TEXT) // its text form has quotes of one kind around it
        return value->text != NULL && strpbrk(value->text, "\r\n\t") == NULL &&
               (strchr(value->text, '\'') == NULL || strchr(value->text, '"') == NULL);
    return value->kind == FCL_VALUE_INTEGER || value->kind == FCL_VALUE_BOOL;
}

static enum fcl_status check_values(const char *name, const struct fcl_value *values, size_t count,
                                    char *reason, size_t size)
{
    if (values == NULL || count == 0)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "parameter `%.60s` has no values; at least one is needed", name);
    for (size_t i = 0; i < count; i++)
        if (!is_sound(&values[i]))
            return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                            "value %zu of parameter `%.60s`: allowed are finite numbers, and texts "
                            "on one line without both kinds of quotes",
                            i + 1, name);
    struct fcl_text twice = {0};
    const int found = find_twice(values, count, &twice);
    if (found > 0)
        fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                 "parameter `%.60s` has the value %.60s twice; allowed is once", name,
                 twice.failed ? "" : twice.data);
    fcl_text_free(&twice);
    return found == 0 ? FCL_OK : found > 0 ? FCL_INVALID_ARGUMENT : fail_memory(reason, size);
}

// One block with the texts behind the values; NULL when memory is out.
static struct fcl_value *copy_values(const struct fcl_value *values, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += values[i].kind == FCL_VALUE_TEXT ? strlen(values[i].text) + 1 : 0;
    struct fcl_value *copies = malloc(count * sizeof *copies + bytes);
    if (copies == NULL)
        return NULL;
    char *texts = (char *)(copies + count);
    for (size_t i = 0; i < count; i++) {
        copies[i] = values[i];
        if (values[i].kind != FCL_VALUE_TEXT)
            continue;
        const size_t length = strlen(values[i].text) + 1;
        copies[i].text = memcpy(texts, values[i].text, length);
        texts += length;
    }
    return copies;
}

enum fcl_status fcl_space_add_parameter(fcl_space *space, const char *name,
                                        const struct fcl_value *values, size_t count, char *reason,
                                        size_t size)
{
    enum fcl_status status = check_name(space, name, reason, size);
    if (status == FCL_OK)
        status = check_values(name, values, count, reason, size);
    if (status != FCL_OK)
        return status;
    if (space->size > LARGEST / count)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "with parameter `%.60s` the space has more than 2^62 settings", name);
    struct fcl_value *copies = copy_values(values, count);
    if (copies == NULL ||
        !add_name(space, name, space->parameter_count, space->parameter_count + 1)) {
        free(copies);
        return fail_memory(reason, size);
    }
    space->parameters[space->parameter_count++] = (struct fcl_space_parameter){
        .name = space->name_count - 1, .values = copies, .count = count};
    space->size *= count;
    return FCL_OK;
}

// ---- rules

enum fcl_status fcl_space_compile(const fcl_space *space, const char *text,
                                  fcl_expression **expression, char *reason, size_t size)
{
    const char *names[FCL_SPACE_NAMES];
    if (space == NULL)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "space is NULL");
    for (size_t i = 0; i < space->name_count; i++)
        names[i] = space->names[i].name;
    return fcl_expression_compile(text, names, space->name_count, expression, reason, size);
}

// Compiles an expression and puts it behind the other rules.
static enum fcl_status add_rule(fcl_space *space, const char *text, char *reason, size_t size)
{
    struct fcl_space_rule rule = {.name = FCL_NOT_DERIVED};
    const enum fcl_status status = fcl_space_compile(space, text, &rule.expression, reason, size);
    if (status != FCL_OK)
        return status;
    for (size_t i = 0; i < space->name_count; i++)
        if (space->names[i].level > rule.level && fcl_expression_uses(rule.expression, i))
            rule.level = space->names[i].level;
    struct fcl_space_rule *rules = realloc(space->rules, (space->rule_count + 1) * sizeof *rules);
    if (rules == NULL) {
        fcl_expression_destroy(&rule.expression);
        return fail_memory(reason, size);
    }
    space->rules = rules;
    rules[space->rule_count++] = rule;
    return FCL_OK;
}

static void drop_rule(fcl_space *space)
{
    fcl_expression_destroy(&space->rules[--space->rule_count].expression);
}

enum fcl_status fcl_space_add_derived(fcl_space *space, const char *name, const char *expression,
                                      char *reason, size_t size)
{
    enum fcl_status status = check_name(space, name, reason, size);
    if (status == FCL_OK)
        status = add_rule(space, expression, reason, size);
    if (status != FCL_OK)
        return status;
    struct fcl_space_rule *rule = &space->rules[space->rule_count - 1];
    if (!add_name(space, name, FCL_NOT_A_PARAMETER, rule->level)) {
        drop_rule(space);
        return fail_memory(reason, size);
    }
    rule->name = space->name_count - 1;
    return FCL_OK;
}

int fcl_space_add_reason(fcl_space *space, const char *text)
{
    struct fcl_space_reason *reasons =
        realloc(space->reasons, (space->reason_count + 1) * sizeof *reasons);
    if (reasons == NULL)
        return 0;
    space->reasons = reasons;
    char *copy = fcl_text_copy(text);
    if (copy == NULL)
        return 0;
    reasons[space->reason_count++] = (struct fcl_space_reason){copy, 0};
    return 1;
}

enum fcl_status fcl_space_add_constraint(fcl_space *space, const char *expression,
                                         const char *explanation, char *reason, size_t size)
{
    enum fcl_status status = check_open(space, expression, "expression", reason, size);
    if (status == FCL_OK)
        status = add_rule(space, expression, reason, size);
    if (status != FCL_OK)
        return status;
    if (!fcl_space_add_reason(space, explanation != NULL ? explanation : expression)) {
        drop_rule(space);
        return fail_memory(reason, size);
    }
    space->rules[space->rule_count - 1].reason = space->constraint_count++;
    return FCL_OK;
}

enum fcl_status fcl_space_set_prune(fcl_space *space, fcl_space_prune prune, void *user,
                                    char *reason, size_t size)
{
    const enum fcl_status status = check_open(space, space, "space", reason, size);
    if (status != FCL_OK)
        return status;
    space->prune = prune;
    space->prune_user = user;
    return FCL_OK;
}

enum fcl_status fcl_space_apply(const fcl_space *space, size_t level, struct fcl_value *values,
                                const struct fcl_space_rule **broken, char *reason, size_t size)
{
    *broken = NULL;
    for (size_t i = 0; i < space->rule_count; i++) {
        const struct fcl_space_rule *rule = &space->rules[i];
        struct fcl_value value;
        if (rule->level != level)
            continue;
        const enum fcl_status status =
            fcl_expression_evaluate(rule->expression, values, &value, reason, size);
        if (status != FCL_OK)
            return status;
        if (rule->name != FCL_NOT_DERIVED) {
            values[rule->name] = value;
        } else if (!fcl_value_is_true(&value)) {
            *broken = rule;
            return FCL_OK;
        }
    }
    return FCL_OK;
}
