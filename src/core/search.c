// Searches: who was asked for and told, and the table of strategies.
#include "search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "text.h"

#define EXHAUSTIVE 300 // spaces with fewer points are tried whole

static const struct fcl_strategy *const strategies[] = {
    &fcl_search_exhaustive,
    &fcl_search_random,
    &fcl_search_greedy,
    &fcl_search_seeded,
};

const char *fcl_search_strategy(size_t number, const char **description)
{
    if (number >= FCL_COUNT(strategies))
        return NULL;
    if (description != NULL)
        *description = strategies[number]->description;
    return strategies[number]->name;
}

const char *fcl_search_default(size_t points)
{
    return points < EXHAUSTIVE ? fcl_search_exhaustive.name : fcl_search_seeded.name;
}

// ---- beginning and end

static const struct fcl_strategy *find_strategy(const char *name, char *reason, size_t size)
{
    struct fcl_text known = {0};
    for (size_t i = 0; i < FCL_COUNT(strategies); i++) {
        if (strcmp(strategies[i]->name, name) == 0) {
            fcl_text_free(&known);
            return strategies[i];
        }
        fcl_text_add(&known, " %s", strategies[i]->name);
    }
    fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "strategy is `%.40s`; allowed are%s", name,
             known.failed ? "" : known.data);
    fcl_text_free(&known);
    return NULL;
}

static enum fcl_status fail_memory(fcl_search *search, char *reason, size_t size)
{
    fcl_search_destroy(&search);
    return fcl_fail(reason, size, FCL_OUT_OF_MEMORY, "memory is out");
}

static void copy_seeds(fcl_search *search, const struct fcl_search_options *options)
{
    for (size_t i = 0; i < options->seed_point_count; i++) {
        const size_t index = fcl_space_index(search->space, options->seed_points[i]);
        if (index < search->count)
            search->seeds[search->seed_count++] = index;
    }
}

static enum fcl_status create(const fcl_space *space, const struct fcl_search_options *options,
                              const struct fcl_strategy *strategy, fcl_search **created,
                              char *reason, size_t size)
{
    fcl_search *search = calloc(1, sizeof *search);
    if (search == NULL)
        return fail_memory(search, reason, size);
    const size_t count = fcl_space_count(space);
    *search = (fcl_search){.space = space,
                           .count = count,
                           .free = count,
                           .best = count,
                           .limit = options->evaluations > 0 ? options->evaluations : SIZE_MAX,
                           .random = fcl_random_mix(options->seed),
                           .order = options->seed};
    search->marks = calloc(count + 1, sizeof *search->marks);
    search->values = calloc(count + 1, sizeof *search->values);
    search->seeds = calloc(options->seed_point_count + 1, sizeof *search->seeds);
    if (search->marks == NULL || search->values == NULL || search->seeds == NULL)
        return fail_memory(search, reason, size);
    copy_seeds(search, options);
    search->strategy = strategy;
    if (strategy->create != NULL && !strategy->create(search))
        return fail_memory(search, reason, size);
    *created = search;
    return FCL_OK;
}

enum fcl_status fcl_search_create(const fcl_space *space, const struct fcl_search_options *options,
                                  fcl_search **search, char *reason, size_t size)
{
    struct fcl_search_options o = {.struct_size = sizeof o};
    if (space == NULL || search == NULL)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%s is NULL",
                        space == NULL ? "space" : "search");
    if (options != NULL && !fcl_struct_read(&o, sizeof o, options))
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "options.struct_size is %zu, allowed are %zu to %zu", options->struct_size,
                        sizeof(size_t), sizeof o);
    if (o.seed_points == NULL && o.seed_point_count > 0)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "options.seed_points is NULL, but seed_point_count is %zu",
                        o.seed_point_count);
    const char *name = o.strategy != NULL ? o.strategy : fcl_search_default(fcl_space_count(space));
    const struct fcl_strategy *strategy = find_strategy(name, reason, size);
    return strategy == NULL ? FCL_INVALID_ARGUMENT
                            : create(space, &o, strategy, search, reason, size);
}

void fcl_search_destroy(fcl_search **search)
{
    if (search == NULL || *search == NULL)
        return;
    fcl_search *s = *search;
    if (s->strategy != NULL && s->strategy->destroy != NULL)
        s->strategy->destroy(s);
    free(s->marks);
    free(s->values);
    free(s->seeds);
    free(s);
    *search = NULL;
}

// ---- asking and telling

enum fcl_answer fcl_search_ask(fcl_search *search, uint64_t *point)
{
    size_t index;
    if (search->free == 0 || search->asked >= search->limit)
        return FCL_ASK_DONE;
    const enum fcl_answer answer = search->strategy->ask(search, &index);
    if (answer != FCL_ASK_POINT)
        return answer;
    search->marks[index] = FCL_ASKED;
    search->free--;
    search->asked++;
    search->outstanding++;
    *point = fcl_space_point(search->space, index);
    return FCL_ASK_POINT;
}

// The best of all points that were told, after the best one became worse.
static size_t find_best(const fcl_search *search)
{
    size_t best = search->count;
    for (size_t i = 0; i < search->count; i++)
        if (search->marks[i] == FCL_TOLD && isfinite(search->values[i]) &&
            (best == search->count || search->values[i] < search->values[best]))
            best = i;
    return best;
}

enum fcl_status fcl_search_tell(fcl_search *search, uint64_t point, double value)
{
    const size_t index = fcl_space_index(search->space, point);
    if (index == search->count || !(value > 0))
        return FCL_INVALID_ARGUMENT;
    const int again = search->marks[index] == FCL_TOLD;
    search->failed -= again && isinf(search->values[index]);
    search->told += !again;
    search->free -= search->marks[index] == FCL_FREE;
    search->outstanding -= search->marks[index] == FCL_ASKED;
    search->failed += isinf(value) != 0;
    search->marks[index] = FCL_TOLD;
    search->values[index] = value;
    if (again && search->best == index)
        search->best = find_best(search);
    else if (isfinite(value) &&
             (search->best == search->count || value < search->values[search->best]))
        search->best = index;
    if (search->strategy->tell != NULL)
        search->strategy->tell(search, index);
    return FCL_OK;
}

void fcl_search_get_progress(const fcl_search *search, struct fcl_search_progress *progress)
{
    const int found = search->best < search->count;
    *progress = (struct fcl_search_progress){
        .asked = search->asked,
        .outstanding = search->outstanding,
        .told = search->told,
        .failed = search->failed,
        .best = found ? fcl_space_point(search->space, search->best) : FCL_NO_POINT,
        .best_value = found ? search->values[search->best] : (double)INFINITY};
}

// ---- for strategies

size_t fcl_search_next_random(struct fcl_search *search)
{
    size_t index;
    do
        index = (size_t)fcl_random_place(search->order, search->count, search->order_at++);
    while (search->marks[index] != FCL_FREE);
    return index;
}

size_t fcl_search_neighbour_limit(const struct fcl_search *search)
{
    size_t limit = 0;
    for (size_t i = 0; i < fcl_space_parameters(search->space); i++)
        limit += fcl_space_value_count(search->space, i) - 1;
    return limit;
}

size_t fcl_search_neighbours(const struct fcl_search *search, size_t index, uint64_t *neighbours)
{
    const size_t count = fcl_point_neighbours(search->space, fcl_space_point(search->space, index),
                                              FCL_NEIGHBOURS_ALL, neighbours, SIZE_MAX);
    for (size_t i = 0; i < count; i++)
        neighbours[i] = fcl_space_index(search->space, neighbours[i]);
    return count;
}
