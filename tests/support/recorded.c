// Recorded spaces and replays.
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>

#include "core/text.h"
#include "recorded.h"

#define PARAMETERS 16
#define OUTSTANDING 16

struct table {
    char names[PARAMETERS][16];
    size_t parameters, rows;
    long (*settings)[PARAMETERS]; // -1: not named, which is a value of its own
    double *times;
};

static size_t find_parameter(struct table *t, const char *name, size_t length)
{
    size_t i = 0;
    while (i < t->parameters &&
           (strlen(t->names[i]) != length || strncmp(t->names[i], name, length)))
        i++;
    if (i == t->parameters) {
        assert_true(i < PARAMETERS && length < sizeof t->names[i]);
        snprintf(t->names[t->parameters++], sizeof t->names[i], "%.*s", (int)length, name);
    }
    return i;
}

static void read_row(struct table *t, const char *at)
{
    char *end;
    for (size_t i = 0; i < PARAMETERS; i++)
        t->settings[t->rows][i] = -1;
    while (*at != ' ') {
        const size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz");
        assert_true(length > 0);
        const size_t parameter = find_parameter(t, at, length);
        t->settings[t->rows][parameter] = strtol(at + length, &end, 10);
        at = end;
    }
    t->times[t->rows++] = strtod(at, NULL);
}

static void read_table(struct table *t, const char *name)
{
    char path[1000];
    struct fcl_text text = {0};
    assert_non_null(getenv("FCL_TEST_DATA"));
    snprintf(path, sizeof path, "%s/data/%s", getenv("FCL_TEST_DATA"), name);
    if (fcl_text_read_file(&text, path) != 0)
        fail_msg("%s cannot be read", path);
    t->settings = calloc(text.length, sizeof *t->settings);
    t->times = calloc(text.length, sizeof *t->times);
    struct fcl_line line = {0};
    while (fcl_line_next(&line, text.data))
        if (line.start[0] != '#')
            read_row(t, line.start);
    fcl_text_free(&text);
}

static int compare_longs(const void *a, const void *b)
{
    const long left = *(const long *)a, right = *(const long *)b;
    return (left > right) - (left < right);
}

// The distinct settings of a parameter, ascending.
static size_t find_values(const struct table *t, size_t parameter, long *values)
{
    size_t count = 0;
    for (size_t row = 0; row < t->rows; row++) {
        size_t i = 0;
        while (i < count && values[i] != t->settings[row][parameter])
            i++;
        values[i] = t->settings[row][parameter];
        count += i == count;
    }
    qsort(values, count, sizeof *values, compare_longs);
    return count;
}

static void add_parameters(const struct table *t, fcl_space *space)
{
    long *values = calloc(t->rows, sizeof *values);
    struct fcl_value *list = calloc(t->rows, sizeof *list);
    for (size_t p = 0; p < t->parameters; p++) {
        const size_t count = find_values(t, p, values);
        for (size_t i = 0; i < count; i++)
            list[i] = fcl_value_integer(values[i]);
        assert_int_equal(fcl_space_add_parameter(space, t->names[p], list, count, NULL, 0), FCL_OK);
    }
    free(values);
    free(list);
}

static uint64_t point_of(const struct table *t, const fcl_space *space, size_t row)
{
    uint64_t point = 0;
    for (size_t p = 0; p < t->parameters; p++) {
        size_t place = 0;
        while (fcl_space_value(space, p, place).integer != t->settings[row][p])
            place++;
        point = point * fcl_space_value_count(space, p) + place;
    }
    return point;
}

void test_recorded_load(struct test_recorded *recorded, const char *name)
{
    struct table t = {.rows = 0};
    read_table(&t, name);
    *recorded = (struct test_recorded){.space = fcl_space_create(), .best = INFINITY};
    add_parameters(&t, recorded->space);
    uint64_t *points = calloc(t.rows, sizeof *points);
    recorded->values = calloc(t.rows, sizeof *recorded->values);
    for (size_t row = 0; row < t.rows; row++)
        points[row] = point_of(&t, recorded->space, row);
    recorded->first = points[0];
    assert_int_equal(fcl_space_enumerate_points(recorded->space, points, t.rows, NULL, 0), FCL_OK);
    for (size_t row = 0; row < t.rows; row++) {
        recorded->values[fcl_space_index(recorded->space, points[row])] = t.times[row];
        recorded->best = fmin(recorded->best, t.times[row]);
    }
    free(points);
    free(t.settings);
    free(t.times);
}

void test_recorded_free(struct test_recorded *recorded)
{
    fcl_space_destroy(&recorded->space);
    free(recorded->values);
}

void test_replay(const struct test_recorded *recorded, const char *strategy, uint64_t seed,
                 int seeded, size_t outstanding, double *trace, size_t evaluations)
{
    const struct fcl_search_options options = {.struct_size = sizeof options,
                                               .strategy = strategy,
                                               .seed = seed,
                                               .seed_points = &recorded->first,
                                               .seed_point_count = seeded ? 1 : 0,
                                               .evaluations = evaluations};
    fcl_search *search = NULL;
    uint64_t asked[OUTSTANDING];
    size_t waiting = 0, told = 0;
    struct fcl_search_progress progress;
    assert_int_equal(fcl_search_create(recorded->space, &options, &search, NULL, 0), FCL_OK);
    for (;;) {
        while (waiting < outstanding && fcl_search_ask(search, &asked[waiting]) == FCL_ASK_POINT)
            waiting++;
        if (waiting == 0)
            break;
        const uint64_t point = asked[0];
        memmove(asked, asked + 1, --waiting * sizeof *asked);
        const double value = recorded->values[fcl_space_index(recorded->space, point)];
        assert_int_equal(fcl_search_tell(search, point, value), FCL_OK);
        fcl_search_get_progress(search, &progress);
        trace[told++] = recorded->best / progress.best_value;
    }
    assert_int_equal(told, evaluations);
    fcl_search_destroy(&search);
}
