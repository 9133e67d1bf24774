// Local search led by a model. Seed points and a few random ones come first. After that, the next
// point is the one of which the model promises most: among the neighbours of the best points, and
// among some random points, which lead out of corners that no single step leaves. Now and then it
// is a random point whatever the model says.
//
// The model takes the logarithm of a value for a sum: a mean, and for each parameter what its
// setting adds. It is fitted one parameter after the other, over and over, to what was told.
// Settings seen seldom are drawn toward the mean. Values far above the best one are cut down: how
// bad the bad ones are says little about the good ones.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "search.h"

#define STARTS 6 // random points before the model is asked: with fewer, it misleads in large spaces
#define LEADERS 4   // best points whose neighbours are considered
#define CROWD 64    // random points considered besides
#define ENOUGH 16   // results from which on proposals may run ahead of answers
#define EXPLORE 8   // one proposal in so many is random
#define WORST 2.0   // binary orders of magnitude above the best that are told apart
#define FEW 1.0     // results that the mean counts for, in each setting
#define ROUNDS 6    // of the fitting
#define RECENT 2048 // results that the model is fitted to
#define REFIT 64    // it is fitted again when it lacks one result in so many

struct model {
    size_t *recent; // the last results, as indices: a ring of RECENT
    size_t told;    // results so far; ring place is told % RECENT
    size_t fitted;  // results when it was last fitted
    size_t parameter_count, setting_count;
    size_t *first;          // of each parameter, its first setting
    double *effects;        // of each setting
    double *sums, *weights; // of each setting, while fitting
    uint32_t *settings;     // of each result and parameter, while fitting
    double rests[RECENT];   // of each result, what the effects leave
};

struct seeded {
    size_t next_seed, starts, proposals;
    size_t leaders[LEADERS]; // told points, best first
    size_t leader_count;
    uint64_t *neighbours;
    struct model model;
};

// ---- the model

static int create_model(const struct fcl_search *search, struct model *m)
{
    const size_t parameters = fcl_space_parameters(search->space);
    m->parameter_count = parameters;
    m->first = calloc(parameters + 1, sizeof *m->first);
    m->recent = calloc(RECENT, sizeof *m->recent);
    m->settings = calloc(parameters * RECENT, sizeof *m->settings);
    if (m->first == NULL || m->recent == NULL || m->settings == NULL)
        return 0;
    for (size_t i = 0; i < parameters; i++) {
        m->first[i] = m->setting_count;
        m->setting_count += fcl_space_value_count(search->space, i);
    }
    m->effects = calloc(m->setting_count, sizeof *m->effects);
    m->sums = calloc(m->setting_count, sizeof *m->sums);
    m->weights = calloc(m->setting_count, sizeof *m->weights);
    return m->effects != NULL && m->sums != NULL && m->weights != NULL;
}

static void destroy_model(struct model *m)
{
    free(m->first);
    free(m->recent);
    free(m->settings);
    free(m->effects);
    free(m->sums);
    free(m->weights);
}

// Close to the binary logarithm, and the same on every machine, which log2 need not be.
static double rough_log(double value)
{
    int exponent;
    const double mantissa = frexp(value, &exponent); // in 0.5 to 1
    return exponent + 2.0 * mantissa - 2.0;
}

static size_t setting_of(const struct fcl_search *search, const struct model *m, uint64_t point,
                         size_t parameter)
{
    return m->first[parameter] + fcl_point_place(search->space, point, parameter);
}

// Fills the settings and rests of `count` results from the mean alone.
static void begin_fit(const struct fcl_search *search, struct model *m, size_t count)
{
    const double most = rough_log(search->values[search->best]) + WORST;
    double mean = 0.0;
    for (size_t i = 0; i < count; i++) {
        const double value = search->values[m->recent[i]];
        const uint64_t point = fcl_space_point(search->space, m->recent[i]);
        for (size_t p = 0; p < m->parameter_count; p++)
            m->settings[i * m->parameter_count + p] = (uint32_t)setting_of(search, m, point, p);
        m->rests[i] = isinf(value) ? most : fmin(rough_log(value), most);
        mean += m->rests[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++)
        m->rests[i] -= mean;
    memset(m->effects, 0, m->setting_count * sizeof *m->effects);
}

// Moves what a parameter explains of the rests into its effects.
static void fit_parameter(struct model *m, size_t parameter, size_t count)
{
    const size_t first = m->first[parameter];
    const size_t behind =
        parameter + 1 < m->parameter_count ? m->first[parameter + 1] : m->setting_count;
    for (size_t s = first; s < behind; s++)
        m->sums[s] = m->weights[s] = 0.0;
    for (size_t i = 0; i < count; i++) {
        const size_t s = m->settings[i * m->parameter_count + parameter];
        m->sums[s] += m->rests[i] + m->effects[s];
        m->weights[s] += 1.0;
    }
    for (size_t s = first; s < behind; s++) {
        const double effect = m->sums[s] / (m->weights[s] + FEW);
        m->sums[s] = effect - m->effects[s];
        m->effects[s] = effect;
    }
    for (size_t i = 0; i < count; i++)
        m->rests[i] -= m->sums[m->settings[i * m->parameter_count + parameter]];
}

static void fit(const struct fcl_search *search, struct model *m)
{
    const size_t count = m->told < RECENT ? m->told : RECENT;
    if (m->told - m->fitted <= m->told / REFIT)
        return;
    begin_fit(search, m, count);
    for (int round = 0; round < ROUNDS; round++)
        for (size_t parameter = 0; parameter < m->parameter_count; parameter++)
            fit_parameter(m, parameter, count);
    m->fitted = m->told;
}

static double predict(const struct fcl_search *search, const struct model *m, size_t index)
{
    const uint64_t point = fcl_space_point(search->space, index);
    double sum = 0.0;
    for (size_t parameter = 0; parameter < m->parameter_count; parameter++)
        sum += m->effects[setting_of(search, m, point, parameter)];
    return sum;
}

// ---- the strategy

static void destroy(struct fcl_search *search)
{
    struct seeded *s = search->state;
    if (s == NULL)
        return;
    destroy_model(&s->model);
    free(s->neighbours);
    free(s);
}

static int create(struct fcl_search *search)
{
    struct seeded *s = calloc(1, sizeof *s);
    search->state = s;
    if (s == NULL)
        return 0;
    s->neighbours = calloc(fcl_search_neighbour_limit(search) + 1, sizeof *s->neighbours);
    return s->neighbours != NULL && create_model(search, &s->model);
}

struct choice {
    size_t index; // `count`: none yet
    double promise;
};

static void consider(const struct fcl_search *search, const struct model *m, size_t index,
                     struct choice *choice)
{
    if (search->marks[index] != FCL_FREE)
        return;
    const double promise = predict(search, m, index);
    if (choice->index == search->count || promise < choice->promise)
        *choice = (struct choice){index, promise};
}

// The most promising point among those considered; a random one where none of them is free.
static size_t choose(struct fcl_search *search)
{
    struct seeded *s = search->state;
    struct choice choice = {search->count, 0.0};
    fit(search, &s->model);
    for (size_t i = 0; i < s->leader_count; i++) {
        const size_t count = fcl_search_neighbours(search, s->leaders[i], s->neighbours);
        for (size_t n = 0; n < count; n++)
            consider(search, &s->model, (size_t)s->neighbours[n], &choice);
    }
    for (int i = 0; i < CROWD; i++)
        consider(search, &s->model, (size_t)fcl_random_below(&search->random, search->count),
                 &choice);
    return choice.index < search->count ? choice.index : fcl_search_next_random(search);
}

static enum fcl_answer ask(struct fcl_search *search, size_t *index)
{
    struct seeded *s = search->state;
    while (s->next_seed < search->seed_count) {
        *index = search->seeds[s->next_seed++];
        if (search->marks[*index] == FCL_FREE)
            return FCL_ASK_POINT;
    }
    const int starts = s->starts < STARTS;
    if (!starts && search->told < ENOUGH && search->told < 2 * search->outstanding)
        return FCL_ASK_LATER; // proposals now would know next to nothing
    s->starts += starts;
    if (starts || s->leader_count == 0 || ++s->proposals % EXPLORE == 0)
        *index = fcl_search_next_random(search);
    else
        *index = choose(search);
    return FCL_ASK_POINT;
}

// Keeps the leaders in order of their values, also where one was told again.
static void rank(const struct fcl_search *search, struct seeded *s, size_t index)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->leader_count; i++)
        if (s->leaders[i] != index)
            s->leaders[kept++] = s->leaders[i];
    s->leader_count = kept;
    if (isinf(search->values[index]))
        return;
    size_t at = kept;
    while (at > 0 && search->values[index] < search->values[s->leaders[at - 1]])
        at--;
    if (at == LEADERS)
        return;
    s->leader_count = kept < LEADERS ? kept + 1 : LEADERS;
    memmove(&s->leaders[at + 1], &s->leaders[at], (s->leader_count - 1 - at) * sizeof *s->leaders);
    s->leaders[at] = index;
}

static void tell(struct fcl_search *search, size_t index)
{
    struct seeded *s = search->state;
    s->model.recent[s->model.told++ % RECENT] = index;
    rank(search, s, index);
}

const struct fcl_strategy fcl_search_seeded = {
    .name = "seeded",
    .description = "seed points first; then neighbours of the best points, in the order that a "
                   "model of each parameter's effect promises; some random points",
    .create = create,
    .destroy = destroy,
    .ask = ask,
    .tell = tell,
};
