// From recorded results to a space, and a search in it.
#include "replay.h"

#include "memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- The space --------------------------------------------------------------------------------

// The values of one parameter.
struct values {
    struct fcl_value *items;
    size_t count, capacity;
};

static const struct fcl_value *find_value(const struct results_point *point, const char *name)
{
    for (size_t i = 0; i < point->configuration_count; i++) {
        if (strcmp(point->configuration[i].name, name) == 0) {
            return &point->configuration[i].value;
        }
    }
    return NULL;
}

static double number_of(const struct fcl_value *value)
{
    return value->kind == FCL_VALUE_REAL ? value->real : (double)value->integer;
}

// Whether `a` stands before `b`: numbers ascending, then texts in the order of coming.
static int stands_before(const struct fcl_value *a, const struct fcl_value *b)
{
    const int a_text = a->kind == FCL_VALUE_TEXT, b_text = b->kind == FCL_VALUE_TEXT;
    return a_text || b_text ? !a_text || b_text : number_of(a) < number_of(b);
}

// The place of a value; values->count where it is new.
static size_t find_place(const struct values *values, const struct fcl_value *value)
{
    size_t place = 0;
    while (place < values->count && !fcl_value_equal(&values->items[place], value)) {
        place++;
    }
    return place;
}

static void add_value(struct values *values, const struct fcl_value *value)
{
    if (find_place(values, value) < values->count) {
        return;
    }
    values->items =
        memory_grow(values->items, values->count, &values->capacity, sizeof(*values->items));
    size_t at = values->count++;
    for (; at > 0 && !stands_before(&values->items[at - 1], value); at--) {
        values->items[at] = values->items[at - 1];
    }
    values->items[at] = *value;
}

// The values of each parameter of the first result.
static int collect(const struct results *results, struct values *values, char *reason, size_t size)
{
    const struct results_point *first = &results->points[0];
    for (size_t i = 0; i < results->count; i++) {
        const struct results_point *point = &results->points[i];
        if (point->configuration_count != first->configuration_count) {
            snprintf(reason, size, "result %zu has %zu parameters, result 1 has %zu", i + 1,
                     point->configuration_count, first->configuration_count);
            return 0;
        }
        for (size_t p = 0; p < first->configuration_count; p++) {
            const char *name = first->configuration[p].name;
            const struct fcl_value *value = find_value(point, name);
            if (value == NULL) {
                snprintf(reason, size, "result %zu has no parameter %s, result 1 has", i + 1, name);
                return 0;
            }
            add_value(&values[p], value);
        }
    }
    return 1;
}

// The point of a configuration; FCL_NO_POINT where it is none of the space.
static uint64_t find_point(const struct results *results, const struct values *values,
                           const struct results_point *of)
{
    const struct results_point *first = &results->points[0];
    uint64_t point = 0;
    for (size_t p = 0; p < first->configuration_count; p++) {
        const struct fcl_value *value = find_value(of, first->configuration[p].name);
        const size_t place = value != NULL ? find_place(&values[p], value) : values[p].count;
        if (place == values[p].count) {
            return FCL_NO_POINT;
        }
        point = point * values[p].count + place;
    }
    return point;
}

// A result and its point, to be sorted by point, then by order.
struct placed {
    uint64_t point;
    size_t order;
};

static int compare_placed(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (x->point != y->point) {
        return x->point < y->point ? -1 : 1;
    }
    return x->order < y->order ? -1 : x->order > y->order;
}

// Closes the space with the recorded points, each once, and fills in the times.
static enum fcl_status close_space(struct replay *replay, const struct results *results,
                                   const struct values *values, char *reason, size_t size)
{
    struct placed *placed = memory_get(results->count, sizeof(*placed));
    uint64_t *points = memory_get(results->count, sizeof(*points));
    size_t count = 0;
    for (size_t i = 0; i < results->count; i++) {
        placed[i] = (struct placed){find_point(results, values, &results->points[i]), i};
    }
    qsort(placed, results->count, sizeof(*placed), compare_placed);
    replay->times = memory_get(results->count, sizeof(*replay->times));
    for (size_t i = 0; i < results->count; i++) {
        count -= i > 0 && placed[i].point == placed[i - 1].point;
        points[count] = placed[i].point;
        replay->times[count++] = results->points[placed[i].order].time;
    }
    const enum fcl_status status =
        fcl_space_enumerate_points(replay->space, points, count, reason, size);
    free(placed);
    free(points);
    return status;
}

static enum fcl_status fill_space(struct replay *replay, const struct results *results,
                                  const struct values *values, char *reason, size_t size)
{
    const struct results_point *first = &results->points[0];
    enum fcl_status status = FCL_OK;
    for (size_t p = 0; p < first->configuration_count && status == FCL_OK; p++) {
        status = fcl_space_add_parameter(replay->space, first->configuration[p].name,
                                         values[p].items, values[p].count, reason, size);
    }
    if (status == FCL_OK) {
        status = close_space(replay, results, values, reason, size);
    }
    return status;
}

// What follows from the times.
static int complete(struct replay *replay, char *reason, size_t size)
{
    replay->optimum = INFINITY;
    for (size_t i = 0; i < fcl_space_count(replay->space); i++) {
        replay->optimum = fmin(replay->optimum, replay->times[i]);
        replay->failed += isinf(replay->times[i]) != 0;
    }
    if (isinf(replay->optimum)) {
        snprintf(reason, size, "no result has a time");
        return 0;
    }
    return 1;
}

int replay_create(struct replay *replay, const struct results *results, char *reason, size_t size)
{
    const size_t parameters = results->points[0].configuration_count;
    struct values *values = memory_get(parameters, sizeof(*values));
    *replay = (struct replay){.space = fcl_space_create()};
    int done = replay->space != NULL && collect(results, values, reason, size) &&
               fill_space(replay, results, values, reason, size) == FCL_OK &&
               complete(replay, reason, size);
    if (done) {
        replay->standard = find_point(results, values, &results->standard);
    } else {
        replay_destroy(replay);
    }
    for (size_t p = 0; p < parameters; p++) {
        free(values[p].items);
    }
    free(values);
    return done;
}

void replay_destroy(struct replay *replay)
{
    fcl_space_destroy(&replay->space);
    free(replay->times);
    *replay = (struct replay){.space = NULL};
}

// ---- The search -------------------------------------------------------------------------------

static void run_search(const struct replay *replay, fcl_search *search, const size_t *counts,
                       size_t count, double *fractions)
{
    double best = INFINITY;
    uint64_t point;
    size_t told = 0;
    for (size_t i = 0; i < count; i++) {
        while (told < counts[i] && fcl_search_ask(search, &point) == FCL_ASK_POINT) {
            const double time = replay->times[fcl_space_index(replay->space, point)];
            best = fmin(best, time);
            fcl_search_tell(search, point, time);
            told++;
        }
        fractions[i] = replay->optimum / best;
    }
}

int replay_run(const struct replay *replay, const char *strategy, uint64_t seed,
               const size_t *counts, size_t count, double *fractions, char *reason, size_t size)
{
    const struct fcl_search_options options = {
        .struct_size = sizeof(options),
        .strategy = strategy,
        .seed = seed,
        .seed_points = &replay->standard,
        .seed_point_count = replay->standard != FCL_NO_POINT,
        .evaluations = counts[count - 1],
    };
    fcl_search *search;
    if (fcl_search_create(replay->space, &options, &search, reason, size) != FCL_OK) {
        return 0;
    }
    run_search(replay, search, counts, count, fractions);
    fcl_search_destroy(&search);
    return 1;
}

// ---- Statistics -------------------------------------------------------------------------------

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double replay_quartile(double *numbers, size_t count, int quartile)
{
    qsort(numbers, count, sizeof(*numbers), ascending);
    const double at = (double)(count - 1) * quartile / 4;
    const size_t below = (size_t)at, above = below + 1 < count ? below + 1 : below;
    return numbers[below] + (at - (double)below) * (numbers[above] - numbers[below]);
}
