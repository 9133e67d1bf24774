// The order of preference: wisdom, another driver's wisdom, table, nearest problem, defaults.
#include "select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/source.h"
#include "core/wisdom.h"
#include "problem.h"
#include "space.h"

// What is being chosen for.
struct selection {
    const struct fcl_problem *problem;
    enum fcl_implementation implementation;
    const struct fcl_caps *caps;
    const fcl_wisdom *wisdom; // the user's
    char problem_class[256];
    struct fcl_choice *choices;
    size_t count;
    int bad; // 1: something was left out because it crashed or hung
};

void fcl_select_class_of(const char *problem_class, const struct fcl_config *config, char *text,
                         size_t size)
{
    char config_text[96];
    fcl_config_format(config, config_text, sizeof config_text);
    snprintf(text, size, "%s %s", problem_class, config_text);
}

const struct fcl_wisdom_row *fcl_select_bad(const fcl_wisdom *wisdom, const struct fcl_caps *caps,
                                            const char *problem_class,
                                            const struct fcl_config *config)
{
    char text[384];
    fcl_select_class_of(problem_class, config, text, sizeof text);
    const struct fcl_wisdom_row *row = fcl_wisdom_find(wisdom, caps->name, caps->driver, text);
    return row && fcl_wisdom_is_bad(row) ? row : NULL;
}

// Adds a choice if it is valid and new.
static void offer(struct selection *s, const struct fcl_config *config, const char *origin)
{
    if (s->count == FCL_CHOICES || fcl_config_validate(config, s->problem, s->caps, NULL, 0) ||
        (s->implementation == FCL_UNFUSED && fcl_config_unfused(config, NULL, 0)))
        return;
    for (size_t i = 0; i < s->count; i++)
        if (!memcmp(&s->choices[i].config, config, sizeof *config))
            return;
    if (fcl_select_bad(s->wisdom, s->caps, s->problem_class, config)) {
        s->bad = 1;
        return;
    }
    s->choices[s->count++] = (struct fcl_choice){*config, origin};
}

static void offer_row(struct selection *s, const struct fcl_wisdom_row *row, const char *origin)
{
    struct fcl_config config;
    if (row && !fcl_config_parse(row->config, &config, NULL, 0))
        offer(s, &config, origin);
}

static void offer_exact(struct selection *s, const fcl_wisdom *wisdom, const char *driver,
                        const char *origin)
{
    offer_row(s, fcl_wisdom_find(wisdom, s->caps->name, driver, s->problem_class), origin);
}

// ---- nearest problem

// The buckets at the end of a class: "... bh3 q10 k10 g1". Returns the length of what stands
// before, which is what is baked in, or 0.
static size_t class_buckets(const char *text, int buckets[4])
{
    const char *tail = strstr(text, " bh");
    int length = 0;
    if (!tail ||
        sscanf(tail, " bh%d q%d k%d g%d%n", &buckets[0], &buckets[1], &buckets[2], &buckets[3],
               &length) != 4 ||
        tail[length])
        return 0;
    return (size_t)(tail - text);
}

#define FAR 4 // powers of two beyond which a default knows better

// Powers of two between the classes' sizes, those of queries twice, since they choose the blocks;
// -1 when their kernels differ, or they are far apart.
static int class_distance(const char *a, const char *b)
{
    int x[4], y[4], distance = 0;
    const size_t length = class_buckets(a, x);
    if (!length || class_buckets(b, y) != length || strncmp(a, b, length))
        return -1;
    for (int i = 0; i < 4; i++)
        distance += abs(x[i] - y[i]) * (i == 1 ? 2 : 1);
    return distance <= FAR ? distance : -1;
}

static void offer_nearest(struct selection *s, const fcl_wisdom *const *sources, size_t count)
{
    struct fcl_wisdom_row best;
    int best_distance = -1;
    for (size_t n = 0; n < count; n++)
        for (size_t i = 0; sources[n] && i < fcl_wisdom_count(sources[n]); i++) {
            const struct fcl_wisdom_row row = fcl_wisdom_at(sources[n], i);
            const int distance = class_distance(row.problem_class, s->problem_class);
            if (strcmp(row.device, s->caps->name) || distance < 0 || fcl_wisdom_is_bad(&row) ||
                (best_distance >= 0 && distance >= best_distance))
                continue;
            best = row;
            best_distance = distance;
        }
    if (best_distance >= 0)
        offer_row(s, &best, "nearest");
}

// ---- built-in tables

// All rows of src/attention/tuned/*.txt, which are embedded; NULL when memory is out.
static fcl_wisdom *load_tables(void)
{
    fcl_wisdom *table = fcl_wisdom_create();
    for (size_t i = 0; table && i < fcl_embedded_count; i++) {
        const struct fcl_embedded_file *file = &fcl_embedded_files[i];
        struct fcl_text text = {0};
        if (strncmp(file->name, "tuned/", 6))
            continue;
        fcl_text_add_bytes(&text, file->data, file->size);
        if (!text.failed)
            fcl_wisdom_import(table, text.data, NULL, NULL, 0);
        fcl_text_free(&text);
    }
    return table;
}

static void offer_defaults(struct selection *s, char *reason, size_t size)
{
    struct fcl_config config;
    const char *origin = "default";
    for (int family = FCL_FAMILY_COUNT; family-- > 0;)
        if (fcl_family_suits((enum fcl_family)family, s->problem) &&
            !fcl_family_default((enum fcl_family)family, s->problem, s->caps, &config, reason,
                                size)) {
            if (s->implementation == FCL_UNFUSED) {
                config.packed = 0;
                config.splits = 1;
            }
            offer(s, &config, origin);
            origin = "fallback";
        }
}

size_t fcl_select(const struct fcl_problem *problem, enum fcl_implementation implementation,
                  const struct fcl_caps *caps, const fcl_wisdom *wisdom, struct fcl_choice *choices,
                  char *reason, size_t size)
{
    struct fcl_problem full;
    if (!caps || !choices) {
        fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%s is NULL", caps ? "choices" : "caps");
        return 0;
    }
    if (fcl_problem_complete(problem, &full, reason, size))
        return 0;
    struct selection s = {.problem = &full,
                          .implementation = implementation,
                          .caps = caps,
                          .wisdom = wisdom,
                          .choices = choices};
    fcl_problem_class(&full, implementation, s.problem_class, sizeof s.problem_class);
    fcl_wisdom *table = load_tables();
    const fcl_wisdom *const sources[] = {wisdom, table};
    offer_exact(&s, wisdom, caps->driver, "wisdom");
    offer_exact(&s, wisdom, NULL, FCL_ORIGIN_OTHER_DRIVER);
    offer_exact(&s, table, NULL, "table");
    offer_nearest(&s, sources, FCL_COUNT(sources));
    offer_defaults(&s, reason, size);
    fcl_wisdom_destroy(&table);
    if (!s.count && s.bad)
        fcl_fail(reason, size, FCL_NO_CONFIGURATION,
                 "by wisdom, every configuration crashed or hung on this driver");
    return s.count;
}
