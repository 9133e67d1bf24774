// What a space holds and what its points are.
#include "points.h"

#include <stdlib.h>
#include <string.h>

#include "random.h"

#define SHOWN 60 // characters of a wrong text that a message repeats

// Characters of a text that needs no quotes in the text form of a point.
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.+-/:,"

// ---- what a space holds

size_t fcl_space_parameters(const fcl_space *space)
{
    return space->parameter_count;
}

const char *fcl_space_parameter_name(const fcl_space *space, size_t parameter)
{
    return space->names[space->parameters[parameter].name].name;
}

size_t fcl_space_value_count(const fcl_space *space, size_t parameter)
{
    return space->parameters[parameter].count;
}

struct fcl_value fcl_space_value(const fcl_space *space, size_t parameter, size_t place)
{
    return space->parameters[parameter].values[place];
}

uint64_t fcl_space_size(const fcl_space *space)
{
    return space->size;
}

size_t fcl_space_count(const fcl_space *space)
{
    return space->count;
}

uint64_t fcl_space_point(const fcl_space *space, size_t index)
{
    return space->points[index];
}

size_t fcl_space_index(const fcl_space *space, uint64_t point)
{
    size_t first = 0, behind = space->count;
    while (first < behind) {
        const size_t middle = first + (behind - first) / 2;
        if (space->points[middle] < point)
            first = middle + 1;
        else
            behind = middle;
    }
    return first < space->count && space->points[first] == point ? first : space->count;
}

size_t fcl_space_reasons(const fcl_space *space)
{
    return space->reason_count;
}

const char *fcl_space_reason(const fcl_space *space, size_t number, uint64_t *points)
{
    if (points != NULL)
        *points = space->reasons[number].points;
    return space->reasons[number].text;
}

size_t fcl_space_sample(const fcl_space *space, uint64_t seed, uint64_t *points, size_t count)
{
    const size_t given = count < space->count ? count : space->count;
    for (size_t i = 0; i < given; i++)
        points[i] = space->points[fcl_random_place(seed, space->count, i)];
    return given;
}

// ---- what a point is

size_t fcl_point_place(const fcl_space *space, uint64_t point, size_t parameter)
{
    const struct fcl_space_parameter *p = &space->parameters[parameter];
    return (size_t)(point / p->stride % p->count);
}

uint64_t fcl_point_move(const fcl_space *space, uint64_t point, size_t parameter, size_t place)
{
    const uint64_t stride = space->parameters[parameter].stride;
    return point - fcl_point_place(space, point, parameter) * stride + place * stride;
}

static enum fcl_status check_point(const fcl_space *space, uint64_t point, char *reason,
                                   size_t size)
{
    if (space == NULL || !space->numbered)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%s",
                        space == NULL ? "space is NULL" : "the space was not enumerated");
    if (point >= space->size)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "point is %llu; points are below %llu",
                        (unsigned long long)point, (unsigned long long)space->size);
    return FCL_OK;
}

static void set_parameters(const fcl_space *space, uint64_t point, struct fcl_value *values)
{
    for (size_t i = 0; i < space->parameter_count; i++)
        values[space->parameters[i].name] =
            space->parameters[i].values[fcl_point_place(space, point, i)];
}

// The values of all names.
static enum fcl_status set_values(const fcl_space *space, uint64_t point, struct fcl_value *values,
                                  char *reason, size_t size)
{
    enum fcl_status status = check_point(space, point, reason, size);
    if (status != FCL_OK)
        return status;
    set_parameters(space, point, values);
    for (size_t i = 0; i < space->rule_count && status == FCL_OK; i++)
        if (space->rules[i].name != FCL_NOT_DERIVED)
            status = fcl_expression_evaluate(space->rules[i].expression, values,
                                             &values[space->rules[i].name], reason, size);
    return status;
}

enum fcl_status fcl_point_value(const fcl_space *space, uint64_t point, const char *name,
                                struct fcl_value *value, char *reason, size_t size)
{
    struct fcl_value values[FCL_SPACE_NAMES];
    const enum fcl_status status = set_values(space, point, values, reason, size);
    if (status != FCL_OK)
        return status;
    const size_t number = fcl_space_find_name(space, name, strlen(name));
    if (number == space->name_count)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "name `%.*s` is none of the space",
                        SHOWN, name);
    *value = values[number];
    return FCL_OK;
}

enum fcl_status fcl_point_evaluate(const fcl_space *space, uint64_t point,
                                   const fcl_expression *expression, struct fcl_value *result,
                                   char *reason, size_t size)
{
    struct fcl_value values[FCL_SPACE_NAMES];
    const enum fcl_status status = set_values(space, point, values, reason, size);
    return status != FCL_OK ? status
                            : fcl_expression_evaluate(expression, values, result, reason, size);
}

enum fcl_status fcl_point_validate(const fcl_space *space, uint64_t point, char *reason,
                                   size_t size)
{
    struct fcl_value values[FCL_SPACE_NAMES];
    const struct fcl_space_rule *broken = NULL;
    enum fcl_status status = check_point(space, point, reason, size);
    if (status == FCL_OK)
        set_parameters(space, point, values);
    for (size_t level = 0; status == FCL_OK && !broken && level <= space->parameter_count; level++)
        status = fcl_space_apply(space, level, values, &broken, reason, size);
    if (status != FCL_OK)
        return status;
    const char *text = broken != NULL         ? space->reasons[broken->reason].text
                       : space->prune != NULL ? space->prune(space->prune_user, space, point)
                                              : NULL;
    return text == NULL ? FCL_OK : fcl_fail(reason, size, FCL_UNSUPPORTED, "%s", text);
}

// ---- text form

static void add_value(struct fcl_text *out, const struct fcl_value *value)
{
    const int plain = value->kind != FCL_VALUE_TEXT ||
                      (value->text[0] != 0 && value->text[strspn(value->text, PLAIN)] == 0);
    const char *quote = plain ? "" : strchr(value->text, '\'') != NULL ? "\"" : "'";
    fcl_text_add(out, "%s", quote);
    fcl_value_add(out, value);
    fcl_text_add(out, "%s", quote);
}

void fcl_point_add(const fcl_space *space, uint64_t point, enum fcl_point_part part,
                   struct fcl_text *text)
{
    const char *between = "";
    for (size_t i = 0; i < space->parameter_count; i++) {
        const int fixed = space->parameters[i].count == 1;
        if (part != FCL_POINT_WHOLE && fixed != (part == FCL_POINT_FIXED))
            continue;
        fcl_text_add(text, "%s%s=", between, fcl_space_parameter_name(space, i));
        add_value(text, &space->parameters[i].values[fcl_point_place(space, point, i)]);
        between = " ";
    }
}

size_t fcl_point_format(const fcl_space *space, uint64_t point, char *text, size_t size)
{
    struct fcl_text out = {0};
    if (check_point(space, point, NULL, 0) == FCL_OK)
        fcl_point_add(space, point, FCL_POINT_WHOLE, &out);
    return fcl_text_emit(&out, text, size);
}

struct reading {
    const fcl_space *space;
    const char *cursor;
    unsigned char given[FCL_SPACE_NAMES]; // parameters that were read
    uint64_t point;
    char *reason;
    size_t size;
};

// The number of the parameter that `name=` at the cursor names; moves behind it.
static enum fcl_status read_name(struct reading *r, size_t *parameter)
{
    const char *name = r->cursor;
    const size_t length = strcspn(name, "= "), number = fcl_space_find_name(r->space, name, length);
    const size_t found =
        number < r->space->name_count ? r->space->names[number].parameter : FCL_NOT_A_PARAMETER;
    if (name[length] != '=' || found == FCL_NOT_A_PARAMETER) {
        struct fcl_text known = {0};
        for (size_t i = 0; i < r->space->parameter_count; i++)
            fcl_text_add(&known, " %s=", fcl_space_parameter_name(r->space, i));
        fcl_fail(r->reason, r->size, FCL_INVALID_ARGUMENT, "`%.*s` is no parameter; allowed are%s",
                 (int)fcl_min((int64_t)length, SHOWN), name, known.failed ? "" : known.data);
        fcl_text_free(&known);
        return FCL_INVALID_ARGUMENT;
    }
    if (r->given[found]++)
        return fcl_fail(r->reason, r->size, FCL_INVALID_ARGUMENT,
                        "parameter %.*s is set twice; allowed is once",
                        (int)fcl_min((int64_t)length, SHOWN), name);
    r->cursor += length + 1;
    *parameter = found;
    return FCL_OK;
}

// Whether a value's text form is what was read.
static int is_value(const struct fcl_value *value, const char *text, size_t length)
{
    struct fcl_text form = {0};
    fcl_value_add(&form, value);
    const int same =
        !form.failed && form.length == length && (length == 0 || !memcmp(form.data, text, length));
    fcl_text_free(&form);
    return same;
}

static enum fcl_status fail_value(const struct reading *r, size_t parameter, const char *text,
                                  size_t length)
{
    const struct fcl_space_parameter *p = &r->space->parameters[parameter];
    struct fcl_text known = {0};
    for (size_t i = 0; i < p->count; i++) {
        fcl_text_add(&known, " ");
        add_value(&known, &p->values[i]);
    }
    fcl_fail(r->reason, r->size, FCL_INVALID_ARGUMENT, "%s is `%.*s`; allowed are%s",
             fcl_space_parameter_name(r->space, parameter), (int)fcl_min((int64_t)length, SHOWN),
             text, known.failed ? "" : known.data);
    fcl_text_free(&known);
    return FCL_INVALID_ARGUMENT;
}

static enum fcl_status read_value(struct reading *r, size_t parameter)
{
    const struct fcl_space_parameter *p = &r->space->parameters[parameter];
    const char quote[] = {r->cursor[0], 0};
    const int quoted = quote[0] == '\'' || quote[0] == '"';
    const char *text = r->cursor + quoted;
    const size_t length = strcspn(text, quoted ? quote : " ");
    const char *behind = text + length + (quoted && text[length] != 0);
    size_t place = 0;
    while (place < p->count && !is_value(&p->values[place], text, length))
        place++;
    if (place == p->count || (quoted && behind == text + length) || (*behind && *behind != ' '))
        return fail_value(r, parameter, r->cursor, (size_t)(behind - r->cursor));
    r->cursor = behind;
    r->point = fcl_point_move(r->space, r->point, parameter, place);
    return FCL_OK;
}

enum fcl_status fcl_point_parse(const fcl_space *space, const char *text, uint64_t *point,
                                char *reason, size_t size)
{
    enum fcl_status status = check_point(space, 0, reason, size);
    if (status != FCL_OK)
        return status;
    if (text == NULL || point == NULL)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%s is NULL",
                        text == NULL ? "text" : "point");
    struct reading r = {.space = space, .cursor = text, .reason = reason, .size = size};
    while (status == FCL_OK && *(r.cursor += strspn(r.cursor, " ")) != 0) {
        size_t parameter = 0;
        status = read_name(&r, &parameter);
        if (status == FCL_OK)
            status = read_value(&r, parameter);
    }
    for (size_t i = 0; i < space->parameter_count && status == FCL_OK; i++)
        if (!r.given[i] && space->parameters[i].count > 1)
            status = fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "parameter %s is not set",
                              fcl_space_parameter_name(space, i));
    if (status == FCL_OK)
        *point = r.point;
    return status;
}

// ---- neighbours

struct neighbours {
    const fcl_space *space;
    uint64_t *points;
    size_t count, capacity;
};

// Adds a point if it is valid, and returns whether it is.
static int add_neighbour(struct neighbours *n, uint64_t point)
{
    if (fcl_space_index(n->space, point) == n->space->count)
        return 0;
    if (n->count < n->capacity)
        n->points[n->count] = point;
    n->count++;
    return 1;
}

// The next valid values of a parameter below and above that of the point.
static void add_next(struct neighbours *n, uint64_t point, size_t parameter)
{
    const size_t place = fcl_point_place(n->space, point, parameter);
    for (size_t i = place; i-- > 0;)
        if (add_neighbour(n, fcl_point_move(n->space, point, parameter, i)))
            break;
    for (size_t i = place + 1; i < n->space->parameters[parameter].count; i++)
        if (add_neighbour(n, fcl_point_move(n->space, point, parameter, i)))
            break;
}

size_t fcl_point_neighbours(const fcl_space *space, uint64_t point, enum fcl_neighbours kind,
                            uint64_t *points, size_t capacity)
{
    struct neighbours n = {space, points, 0, capacity};
    for (size_t parameter = 0; parameter < space->parameter_count; parameter++) {
        const size_t place = fcl_point_place(space, point, parameter);
        if (kind == FCL_NEIGHBOURS_NEXT)
            add_next(&n, point, parameter);
        else
            for (size_t i = 0; i < space->parameters[parameter].count; i++)
                if (i != place)
                    add_neighbour(&n, fcl_point_move(space, point, parameter, i));
    }
    return n.count;
}
