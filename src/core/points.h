// What a space is made of. points_build.c adds names and rules, points_enumerate.c finds the valid
// points, points.c tells of them.
#ifndef FCL_CORE_POINTS_H
#define FCL_CORE_POINTS_H

#include "value.h"

#include "common.h"
#include "text.h"

#define FCL_NOT_A_PARAMETER SIZE_MAX
#define FCL_NOT_DERIVED SIZE_MAX

// A parameter or a derived name, in order of adding.
struct fcl_space_name {
    char *name;
    size_t parameter; // its number, or FCL_NOT_A_PARAMETER
    size_t level;     // so many parameters must be set before it has a value
};

struct fcl_space_parameter {
    size_t name; // its number among the names
    struct fcl_value *values;
    size_t count;
    uint64_t stride; // by which a point changes from one value to the next; set when closed
};

// A derived name or a constraint, in order of adding.
struct fcl_space_rule {
    fcl_expression *expression;
    size_t level;
    size_t name;   // of a derived one, or FCL_NOT_DERIVED
    size_t reason; // of a constraint
};

struct fcl_space_reason {
    char *text;
    uint64_t points;
};

struct fcl_space {
    struct fcl_space_name names[FCL_SPACE_NAMES];
    struct fcl_space_parameter parameters[FCL_SPACE_NAMES];
    size_t name_count, parameter_count;
    struct fcl_space_rule *rules;
    struct fcl_space_reason *reasons;
    size_t rule_count, reason_count, constraint_count; // the first reasons are of constraints
    fcl_space_prune prune;
    void *prune_user;
    uint64_t size;
    int numbered; // 1: the strides are set
    int closed;
    uint64_t *points; // ascending
    size_t count;
};

// Appends the text form of a point, or of the parameters that have several values or one.
enum fcl_point_part { FCL_POINT_WHOLE, FCL_POINT_TUNABLE, FCL_POINT_FIXED };
void fcl_point_add(const fcl_space *space, uint64_t point, enum fcl_point_part part,
                   struct fcl_text *text);

// The number of a name, or `name_count`.
size_t fcl_space_find_name(const fcl_space *space, const char *name, size_t length);

// A new reason without points. 0 when memory is out.
int fcl_space_add_reason(fcl_space *space, const char *text);

// Applies the rules of one level, in order, to `values`, one a name: sets derived ones until a
// constraint does not hold. *broken is that constraint, or NULL. Fails for what cannot be computed.
enum fcl_status fcl_space_apply(const fcl_space *space, size_t level, struct fcl_value *values,
                                const struct fcl_space_rule **broken, char *reason, size_t size);

#endif
