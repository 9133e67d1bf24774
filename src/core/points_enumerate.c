// Finding the valid points: parameters are set one after the other, and a partial setting that
// breaks a constraint is not pursued.
#include <stdlib.h>
#include <string.h>

#include "points.h"

#define TRIED (UINT64_C(1) << 28) // partial settings
#define PRUNE_REASONS 64          // texts of the prune function that are kept apart
#define OTHER_REASONS "other reasons"

struct enumeration {
    fcl_space *space;
    struct fcl_value values[FCL_SPACE_NAMES];
    size_t capacity; // of the points
    uint64_t tried;
    char *reason;
    size_t size;
};

static enum fcl_status fail_memory(char *reason, size_t size)
{
    return fcl_fail(reason, size, FCL_OUT_OF_MEMORY, "memory is out");
}

// ---- closing

static void set_strides(fcl_space *space)
{
    uint64_t stride = 1;
    for (size_t i = space->parameter_count; i-- > 0;) {
        space->parameters[i].stride = stride;
        stride *= space->parameters[i].count;
    }
}

static enum fcl_status begin(fcl_space *space, char *reason, size_t size)
{
    if (space == NULL || space->closed)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "the space is %s",
                        space == NULL ? "NULL" : "closed already");
    if (space->parameter_count == 0)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "the space has no parameter; at least one is needed");
    set_strides(space);
    space->numbered = 1;
    return FCL_OK;
}

// Undoes what an enumeration found, so that the space is as it was.
static void take_back(fcl_space *space)
{
    free(space->points);
    space->points = NULL;
    space->count = 0;
    space->numbered = 0;
    while (space->reason_count > space->constraint_count)
        free(space->reasons[--space->reason_count].text);
    for (size_t i = 0; i < space->reason_count; i++)
        space->reasons[i].points = 0;
}

// ---- enumerating

static enum fcl_status add_point(struct enumeration *e, uint64_t point)
{
    fcl_space *space = e->space;
    if (space->count == FCL_SPACE_POINTS)
        return fcl_fail(e->reason, e->size, FCL_INVALID_ARGUMENT,
                        "more than %d points are valid; fewer values or more constraints are "
                        "needed",
                        FCL_SPACE_POINTS);
    if (space->count == e->capacity) {
        const size_t capacity = e->capacity > 0 ? 2 * e->capacity : 256;
        uint64_t *points = realloc(space->points, capacity * sizeof *points);
        if (points == NULL)
            return fail_memory(e->reason, e->size);
        space->points = points;
        e->capacity = capacity;
    }
    space->points[space->count++] = point;
    return FCL_OK;
}

// The number of this reason among those that are not of constraints, or the number of all.
static size_t find_reason(const fcl_space *space, const char *text)
{
    size_t i = space->constraint_count;
    while (i < space->reason_count && strcmp(space->reasons[i].text, text) != 0)
        i++;
    return i;
}

// Counts one point for a text of the prune function.
static enum fcl_status count_reason(struct enumeration *e, const char *text)
{
    fcl_space *space = e->space;
    size_t number = find_reason(space, text);
    if (number == space->reason_count && number >= space->constraint_count + PRUNE_REASONS) {
        text = OTHER_REASONS;
        number = find_reason(space, text);
    }
    if (number == space->reason_count && !fcl_space_add_reason(space, text))
        return fail_memory(e->reason, e->size);
    space->reasons[number].points++;
    return FCL_OK;
}

static enum fcl_status reach_point(struct enumeration *e, uint64_t point)
{
    const fcl_space *space = e->space;
    const char *text = space->prune != NULL ? space->prune(space->prune_user, space, point) : NULL;
    return text != NULL ? count_reason(e, text) : add_point(e, point);
}

// Says at which partial setting a rule could not be computed.
static enum fcl_status fail_rule(struct enumeration *e, size_t level, const char *problem)
{
    struct fcl_text setting = {0};
    for (size_t i = 0; i < level; i++) {
        const size_t name = e->space->parameters[i].name;
        fcl_text_add(&setting, " %s=", e->space->names[name].name);
        fcl_value_add(&setting, &e->values[name]);
    }
    const enum fcl_status status =
        fcl_fail(e->reason, e->size, FCL_INVALID_ARGUMENT,
                 "%s; for%s; a constraint added before may exclude that", problem,
                 setting.data == NULL || setting.failed ? " every point" : setting.data);
    fcl_text_free(&setting);
    return status;
}

// `level` parameters are set, and `point` is their number.
static enum fcl_status descend(struct enumeration *e, size_t level, uint64_t point)
{
    fcl_space *space = e->space;
    const struct fcl_space_rule *broken;
    char problem[200];
    if (e->tried++ == TRIED)
        return fcl_fail(e->reason, e->size, FCL_INVALID_ARGUMENT,
                        "2^28 partial settings were tried; parameters of the strictest constraints "
                        "should be added first");
    if (fcl_space_apply(space, level, e->values, &broken, problem, sizeof problem) != FCL_OK)
        return fail_rule(e, level, problem);
    if (broken != NULL) {
        space->reasons[broken->reason].points +=
            level > 0 ? space->parameters[level - 1].stride : space->size;
        return FCL_OK;
    }
    if (level == space->parameter_count)
        return reach_point(e, point);
    const struct fcl_space_parameter *parameter = &space->parameters[level];
    enum fcl_status status = FCL_OK;
    for (size_t i = 0; i < parameter->count && status == FCL_OK; i++) {
        e->values[parameter->name] = parameter->values[i];
        status = descend(e, level + 1, point + i * parameter->stride);
    }
    return status;
}

enum fcl_status fcl_space_enumerate(fcl_space *space, char *reason, size_t size)
{
    enum fcl_status status = begin(space, reason, size);
    if (status != FCL_OK)
        return status;
    struct enumeration e = {.space = space, .reason = reason, .size = size};
    status = descend(&e, 0, 0);
    if (status != FCL_OK)
        take_back(space);
    space->closed = status == FCL_OK;
    return status;
}

// ---- given points

static int compare_points(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

enum fcl_status fcl_space_enumerate_points(fcl_space *space, const uint64_t *points, size_t count,
                                           char *reason, size_t size)
{
    const enum fcl_status status = begin(space, reason, size);
    if (status != FCL_OK)
        return status;
    space->numbered = 0;
    if (points == NULL || count == 0 || count > FCL_SPACE_POINTS)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%zu points; allowed are 1 to %d",
                        points == NULL ? 0 : count, FCL_SPACE_POINTS);
    uint64_t *copies = malloc(count * sizeof *copies);
    if (copies == NULL)
        return fail_memory(reason, size);
    memcpy(copies, points, count * sizeof *copies);
    qsort(copies, count, sizeof *copies, compare_points);
    size_t wrong = 0;
    while (wrong < count && copies[wrong] < space->size &&
           (wrong == 0 || copies[wrong] != copies[wrong - 1]))
        wrong++;
    if (wrong < count) {
        const unsigned long long point = copies[wrong];
        free(copies);
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "point %llu %s; points are below %llu, each once", point,
                        point < space->size ? "is there twice" : "does not exist",
                        (unsigned long long)space->size);
    }
    space->points = copies;
    space->count = count;
    space->numbered = space->closed = 1;
    return FCL_OK;
}

// ---- the cheapest points

struct priced_point {
    double cost;
    uint64_t point;
};

// NaN counts as infinite.
static int compare_costs(const void *a, const void *b)
{
    const struct priced_point *left = a, *right = b;
    const int more = left->cost > right->cost || left->cost != left->cost;
    const int less = left->cost < right->cost || right->cost != right->cost;
    return more != less ? more - less : compare_points(&left->point, &right->point);
}

enum fcl_status fcl_space_keep_cheapest(fcl_space *space, fcl_space_cost cost, void *user,
                                        size_t count, char *reason, size_t size)
{
    if (space == NULL || cost == NULL || !space->closed || count == 0)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%s",
                        space == NULL    ? "space is NULL"
                        : cost == NULL   ? "cost is NULL"
                        : !space->closed ? "the space has no points yet"
                                         : "count is 0; at least 1 is allowed");
    if (count >= space->count)
        return FCL_OK;
    struct priced_point *priced = malloc(space->count * sizeof *priced);
    if (priced == NULL || !fcl_space_add_reason(space, "costs more than those kept")) {
        free(priced);
        return fail_memory(reason, size);
    }
    for (size_t i = 0; i < space->count; i++)
        priced[i] = (struct priced_point){cost(user, space, space->points[i]), space->points[i]};
    qsort(priced, space->count, sizeof *priced, compare_costs);
    for (size_t i = 0; i < count; i++)
        space->points[i] = priced[i].point;
    free(priced);
    qsort(space->points, count, sizeof *space->points, compare_points);
    space->reasons[space->reason_count - 1].points = space->count - count;
    space->count = count;
    return FCL_OK;
}
