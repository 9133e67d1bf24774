// The configurations of one family as a space of points: parameters are the tunables.
#include <stdlib.h>
#include <string.h>

#include "tuning_space.h"

#define VALUES 32 // of one tunable at most

static const struct field {
    const char *name;
    size_t offset;
} fields[] = {
#define FCL_X(field, key, macro, families, meaning) {#field, offsetof(struct fcl_config, field)},
    FCL_CONFIG_FIELDS(FCL_X)
#undef FCL_X
};

#define FIELDS FCL_COUNT(fields)

struct survey {
    const struct fcl_config *standard;
    enum fcl_implementation implementation;
    fcl_config_visit visit;
    void *user;
    int values[FIELDS][VALUES]; // ascending
    size_t value_count[FIELDS];
    struct fcl_config *configs;
    size_t count, capacity;
    enum fcl_status status;
};

static int field_of(const struct fcl_config *config, size_t field)
{
    return *(const int *)(const void *)((const char *)config + fields[field].offset);
}

// ---- collecting

static void add_value(struct survey *s, size_t field, int value)
{
    size_t at = s->value_count[field];
    for (size_t i = 0; i < s->value_count[field]; i++)
        if (s->values[field][i] == value)
            return;
    if (at == VALUES) {
        s->status = FCL_UNSUPPORTED;
        return;
    }
    for (; at > 0 && s->values[field][at - 1] > value; at--)
        s->values[field][at] = s->values[field][at - 1];
    s->values[field][at] = value;
    s->value_count[field]++;
}

static void add_config(struct survey *s, const struct fcl_config *config)
{
    if (s->count == s->capacity) {
        const size_t capacity = s->capacity ? 2 * s->capacity : 64;
        struct fcl_config *grown = realloc(s->configs, capacity * sizeof *grown);
        if (!grown) {
            s->status = FCL_OUT_OF_MEMORY;
            return;
        }
        s->configs = grown;
        s->capacity = capacity;
    }
    s->configs[s->count++] = *config;
    for (size_t i = 0; i < FIELDS; i++)
        add_value(s, i, field_of(config, i));
}

static int visit_config(void *user, const struct fcl_config *config, enum fcl_status status,
                        const char *reason)
{
    struct survey *s = user;
    char why[256];
    if (!status && config->family != s->standard->family) {
        status = FCL_UNSUPPORTED;
        reason = "an abler family is usable on this device";
    }
    if (!status && s->implementation == FCL_UNFUSED) {
        status = fcl_config_unfused(config, why, sizeof why);
        reason = why;
    }
    if (status)
        return s->visit ? s->visit(s->user, config, status, reason) : 0;
    if (memcmp(config, s->standard, sizeof *config) &&
        !(s->visit && s->visit(s->user, config, FCL_OK, "")))
        add_config(s, config);
    return s->status != FCL_OK;
}

// ---- the space

static enum fcl_status add_parameters(const struct survey *s, fcl_space *space, char *reason,
                                      size_t size)
{
    const struct fcl_value family = fcl_value_text(fcl_family_text(s->standard->family));
    enum fcl_status status = fcl_space_add_parameter(space, "family", &family, 1, reason, size);
    for (size_t i = 0; i < FIELDS && !status; i++) {
        struct fcl_value values[VALUES];
        for (size_t n = 0; n < s->value_count[i]; n++)
            values[n] = fcl_value_integer(s->values[i][n]);
        status =
            fcl_space_add_parameter(space, fields[i].name, values, s->value_count[i], reason, size);
    }
    return status;
}

enum fcl_status fcl_config_point(const fcl_space *space, const struct fcl_config *config,
                                 uint64_t *point)
{
    *point = 0;
    for (size_t i = 0; i < FIELDS; i++) {
        const size_t count = fcl_space_value_count(space, i + 1);
        size_t place = 0;
        while (place < count && fcl_space_value(space, i + 1, place).integer != field_of(config, i))
            place++;
        if (place == count)
            return FCL_INVALID_ARGUMENT;
        *point = *point * count + place;
    }
    return FCL_OK;
}

void fcl_point_config(const fcl_space *space, uint64_t point, struct fcl_config *config)
{
    const struct fcl_value family = fcl_space_value(space, 0, 0);
    memset(config, 0, sizeof *config);
    for (int i = 0; i < FCL_FAMILY_COUNT; i++)
        if (!strcmp(fcl_family_text((enum fcl_family)i), family.text))
            config->family = (enum fcl_family)i;
    for (size_t i = 0; i < FIELDS; i++)
        *(int *)(void *)((char *)config + fields[i].offset) =
            (int)fcl_space_value(space, i + 1, fcl_point_place(space, point, i + 1)).integer;
}

static enum fcl_status close_space(const struct survey *s, fcl_space *space, char *reason,
                                   size_t size)
{
    uint64_t *points = malloc(s->count * sizeof *points);
    enum fcl_status status = points ? add_parameters(s, space, reason, size) : FCL_OUT_OF_MEMORY;
    for (size_t i = 0; i < s->count && !status; i++)
        status = fcl_config_point(space, &s->configs[i], &points[i]);
    if (!status)
        status = fcl_space_enumerate_points(space, points, s->count, reason, size);
    free(points);
    return status;
}

enum fcl_status fcl_config_points(const struct fcl_problem *problem,
                                  enum fcl_implementation implementation,
                                  const struct fcl_caps *caps, const struct fcl_config *standard,
                                  fcl_config_visit visit, void *user, fcl_space **space,
                                  char *reason, size_t size)
{
    struct survey s = {
        .standard = standard, .implementation = implementation, .visit = visit, .user = user};
    add_config(&s, standard);
    if (!s.status)
        fcl_config_space(problem, caps, visit_config, &s);
    fcl_space *made = s.status ? NULL : fcl_space_create();
    enum fcl_status status = s.status ? s.status : made ? FCL_OK : FCL_OUT_OF_MEMORY;
    if (!status)
        status = close_space(&s, made, reason, size);
    if (status)
        fcl_space_destroy(&made);
    *space = made;
    free(s.configs);
    return status;
}
