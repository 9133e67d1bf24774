// The class of a user's kernel, and the rows of wisdom that speak of it.
#include "kernel_wisdom.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "points.h"

#define DIGITS 16 // of a digest
#define RANKS 4   // of seeds

// ---- the class

// With its end, so that two texts are not one; NULL is as "".
static void add_part(struct fcl_text *text, const char *part)
{
    fcl_text_add_bytes(text, part != NULL ? part : "", part != NULL ? strlen(part) + 1 : 1);
}

static void add_digest(struct fcl_text *text, struct fcl_text *parts)
{
    const uint64_t digest = parts->failed ? 0 : XXH64(parts->data, parts->length, 0);
    fcl_text_add(text, "%016" PRIx64, digest);
    text->failed = text->failed || parts->failed;
    fcl_text_free(parts);
}

// What makes it this kernel at any size.
static void add_kernel_digest(const struct fcl_kernel_spec *spec, struct fcl_text *text)
{
    struct fcl_text parts = {0};
    add_part(&parts, spec->source);
    add_part(&parts, spec->options);
    for (size_t i = 0; i < fcl_space_parameters(spec->space); i++)
        if (fcl_space_value_count(spec->space, i) > 1)
            add_part(&parts, fcl_space_parameter_name(spec->space, i));
    add_digest(text, &parts);
}

// What else its time depends on. Launch sizes and counts may be made of derived names.
static void add_launch_digest(const struct fcl_kernel_spec *spec, struct fcl_text *text)
{
    struct fcl_text parts = {0};
    for (size_t i = 0; i < spec->space->rule_count; i++) {
        const struct fcl_space_rule *rule = &spec->space->rules[i];
        if (rule->name == FCL_NOT_DERIVED)
            continue;
        add_part(&parts, spec->space->names[rule->name].name);
        add_part(&parts, fcl_expression_text(rule->expression));
    }
    add_part(&parts, spec->global_groups ? "groups" : "items");
    for (int i = 0; i < 3; i++) {
        add_part(&parts, spec->global[i]);
        add_part(&parts, spec->local[i]);
    }
    for (size_t i = 0; i < spec->argument_count; i++) {
        const struct fcl_kernel_argument *a = &spec->arguments[i];
        fcl_text_add(&parts, "%d %d %d ", (int)a->kind, (int)a->type.scalar, a->type.lanes);
        add_part(&parts, a->kind == FCL_KERNEL_SCALAR ? a->value : a->count);
    }
    add_digest(text, &parts);
}

// Parameters of one value, and derived names that need no parameter, such as a problem's size.
static void add_sizes(const fcl_space *space, struct fcl_text *text)
{
    struct fcl_text fixed = {0};
    fcl_point_add(space, fcl_space_point(space, 0), FCL_POINT_FIXED, &fixed);
    if (fixed.length > 0)
        fcl_text_add(text, " %s", fixed.data);
    text->failed = text->failed || fixed.failed;
    fcl_text_free(&fixed);
    for (size_t i = 0; i < space->rule_count; i++) {
        const struct fcl_space_rule *rule = &space->rules[i];
        struct fcl_value value;
        if (rule->name == FCL_NOT_DERIVED || rule->level > 0)
            continue;
        const char *name = space->names[rule->name].name;
        if (fcl_point_value(space, fcl_space_point(space, 0), name, &value, NULL, 0) != FCL_OK)
            continue;
        fcl_text_add(text, " %s=", name);
        fcl_value_add(text, &value);
    }
}

void fcl_kernel_add_class(const struct fcl_kernel_form *form, struct fcl_text *text)
{
    const struct fcl_kernel_spec *spec = &form->spec;
    fcl_text_add(text, FCL_KERNEL_CLASS "%s ", spec->name);
    add_kernel_digest(spec, text);
    add_sizes(spec->space, text);
    fcl_text_add(text, " #");
    add_launch_digest(spec, text);
}

size_t fcl_kernel_class(const struct fcl_kernel_spec *spec, char *text, size_t size)
{
    struct fcl_kernel_form form;
    struct fcl_text out = {0};
    if (fcl_kernel_form_create(spec, &form, NULL, 0) == FCL_OK) {
        fcl_kernel_add_class(&form, &out);
        fcl_kernel_form_free(&form);
    }
    return fcl_text_emit(&out, text, size);
}

// ---- rows

// What is being read.
struct reading {
    const fcl_space *space;
    const struct fcl_caps *caps;
    struct fcl_kernel_known *known;
    size_t kernel_length; // of the class's part that is the same at all sizes
    int failed;
};

void fcl_kernel_add_point(const fcl_space *space, uint64_t point, struct fcl_text *text)
{
    const size_t before = text->length;
    fcl_point_add(space, point, FCL_POINT_TUNABLE, text);
    if (text->length == before)
        fcl_point_add(space, point, FCL_POINT_WHOLE, text);
}

// Whether a class speaks of all points: ends with a digest, which no point does.
static int is_whole(const char *problem_class)
{
    const size_t length = strlen(problem_class);
    const char *end = problem_class + length - DIGITS;
    return length > DIGITS + 2 && end[-2] == ' ' && end[-1] == '#' &&
           strspn(end, "0123456789abcdef") == DIGITS;
}

// Its length, counted in words: `kernel NAME DIGEST`.
static size_t kernel_length(const char *problem_class)
{
    size_t length = 0;
    for (int word = 0; word < 3; word++)
        length += strcspn(problem_class + length, " ") + (word < 2);
    return length;
}

static int is_here(const struct reading *r, const struct fcl_wisdom_row *row)
{
    return strcmp(row->device, r->caps->name) == 0 && strcmp(row->driver, r->caps->driver) == 0;
}

// The point that a text names, if it is valid; else FCL_NO_POINT.
static uint64_t read_point(const fcl_space *space, const char *text)
{
    uint64_t point;
    if (fcl_point_parse(space, text, &point, NULL, 0) != FCL_OK ||
        fcl_space_index(space, point) == fcl_space_count(space))
        return FCL_NO_POINT;
    return point;
}

static void add_bad(struct reading *r, const char *text)
{
    struct fcl_kernel_known *known = r->known;
    const uint64_t point = read_point(r->space, text);
    if (point == FCL_NO_POINT || r->failed)
        return;
    if (known->bad_count == known->bad_capacity) {
        const size_t capacity = known->bad_capacity > 0 ? 2 * known->bad_capacity : 16;
        uint64_t *grown = realloc(known->bad, capacity * sizeof *grown);
        r->failed = grown == NULL;
        if (r->failed)
            return;
        known->bad = grown;
        known->bad_capacity = capacity;
    }
    known->bad[known->bad_count++] = point;
}

static void add_seed(struct reading *r, uint64_t point)
{
    struct fcl_kernel_known *known = r->known;
    if (point == FCL_NO_POINT || known->seed_count == FCL_KERNEL_SEEDS)
        return;
    for (size_t i = 0; i < known->seed_count; i++)
        if (known->seeds[i] == point)
            return;
    known->seeds[known->seed_count++] = point;
}

// Rows of this device and driver: bad points, and the winner.
static void read_own(struct reading *r, const struct fcl_wisdom_row *row)
{
    const char *own = r->known->problem_class.data;
    const size_t length = r->known->problem_class.length;
    if (!is_here(r, row) || strncmp(row->problem_class, own, length) != 0)
        return;
    if (row->problem_class[length] == 0)
        r->known->winner = read_point(r->space, row->config);
    else if (row->problem_class[length] == ' ' && fcl_wisdom_is_bad(row))
        add_bad(r, row->problem_class + length + 1);
}

// Winners of the same kernel elsewhere; the lowest rank is the nearest.
static void read_other(struct reading *r, const struct fcl_wisdom_row *row, int rank)
{
    const char *own = r->known->problem_class.data;
    if (strncmp(row->problem_class, own, r->kernel_length) != 0 ||
        row->problem_class[r->kernel_length] != ' ' || !is_whole(row->problem_class) ||
        fcl_wisdom_is_bad(row))
        return;
    const int same = strcmp(row->problem_class, own) == 0;
    if (rank == 2 * (strcmp(row->device, r->caps->name) != 0) + !same && !(same && is_here(r, row)))
        add_seed(r, read_point(r->space, row->config));
}

static void read_rows(struct reading *r, const fcl_wisdom *wisdom)
{
    const size_t count = fcl_wisdom_count(wisdom);
    for (size_t i = 0; i < count; i++) {
        const struct fcl_wisdom_row row = fcl_wisdom_at(wisdom, i);
        read_own(r, &row);
    }
    for (int rank = 0; rank < RANKS; rank++)
        for (size_t i = count; i-- > 0;) {
            const struct fcl_wisdom_row row = fcl_wisdom_at(wisdom, i);
            read_other(r, &row, rank);
        }
    if (fcl_kernel_is_bad(r->known, r->known->winner))
        r->known->winner = FCL_NO_POINT;
}

enum fcl_status fcl_kernel_know(const struct fcl_kernel_form *form, const struct fcl_caps *caps,
                                const fcl_wisdom *wisdom, struct fcl_kernel_known *known)
{
    *known = (struct fcl_kernel_known){.winner = FCL_NO_POINT};
    fcl_kernel_add_class(form, &known->problem_class);
    if (known->problem_class.failed)
        return FCL_OUT_OF_MEMORY;
    struct reading r = {.space = form->spec.space,
                        .caps = caps,
                        .known = known,
                        .kernel_length = kernel_length(known->problem_class.data)};
    read_rows(&r, wisdom);
    return r.failed ? FCL_OUT_OF_MEMORY : FCL_OK;
}

void fcl_kernel_known_free(struct fcl_kernel_known *known)
{
    fcl_text_free(&known->problem_class);
    free(known->bad);
    *known = (struct fcl_kernel_known){.winner = FCL_NO_POINT};
}

int fcl_kernel_is_bad(const struct fcl_kernel_known *known, uint64_t point)
{
    for (size_t i = 0; i < known->bad_count; i++)
        if (known->bad[i] == point)
            return 1;
    return 0;
}
