// Checks a user's kernel and computes what depends on the point.
#include "kernel_spec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_data.h"
#include "value.h"

#define ARGUMENT_LIMIT 128
#define BYTES_LIMIT (INT64_C(1) << 46)

// A check under way.
struct check {
    struct fcl_kernel_form *form;
    char *reason;
    size_t size;
};

#define REFUSE(check, ...) \
    fcl_fail((check)->reason, (check)->size, FCL_INVALID_ARGUMENT, __VA_ARGS__)

void fcl_kernel_argument_name(const struct fcl_kernel_spec *spec, size_t argument,
                              char name[FCL_ARGUMENT_NAME_SIZE])
{
    if (spec->arguments[argument].name != NULL)
        snprintf(name, FCL_ARGUMENT_NAME_SIZE, "argument %s", spec->arguments[argument].name);
    else
        snprintf(name, FCL_ARGUMENT_NAME_SIZE, "argument %zu", argument + 1);
}

int fcl_kernel_is_compared(const struct fcl_kernel_spec *spec, size_t argument)
{
    const struct fcl_kernel_argument *a = &spec->arguments[argument];
    return a->kind == FCL_KERNEL_VECTOR && a->access != FCL_KERNEL_READ && !a->ignored &&
           (a->expected != NULL || spec->reference != NULL);
}

// ---- defines

static int is_identifier(const char *name)
{
    if (name == NULL || (name[0] >= '0' && name[0] <= '9') || name[0] == 0)
        return 0;
    for (; *name != 0; name++)
        if (!(*name >= 'a' && *name <= 'z') && !(*name >= 'A' && *name <= 'Z') &&
            !(*name >= '0' && *name <= '9') && *name != '_')
            return 0;
    return 1;
}

static void add_defines(const fcl_space *space, uint64_t point, struct fcl_text *text)
{
    for (size_t i = 0; i < fcl_space_parameters(space); i++) {
        struct fcl_value value = fcl_space_value(space, i, fcl_point_place(space, point, i));
        if (value.kind == FCL_VALUE_BOOL)
            value.kind = FCL_VALUE_INTEGER;
        fcl_text_add(text, "#define %s ", fcl_space_parameter_name(space, i));
        fcl_value_add(text, &value);
        fcl_text_add(text, "\n");
    }
}

size_t fcl_kernel_defines(const fcl_space *space, uint64_t point, char *text, size_t size)
{
    struct fcl_text defines = {0};
    add_defines(space, point, &defines);
    return fcl_text_emit(&defines, text, size);
}

void fcl_kernel_add_source(const struct fcl_kernel_spec *spec, const char *source, uint64_t point,
                           struct fcl_text *text)
{
    add_defines(spec->space, point, text);
    fcl_text_add(text, "#line 1 \"%s\"\n%s", spec->file != NULL ? spec->file : "kernel.cl", source);
}

// ---- what expressions give

// A whole number of at least 1 at a point.
static enum fcl_status count_at(const struct fcl_kernel_form *form, const char *what,
                                const fcl_expression *expression, uint64_t point, int64_t *count,
                                char *reason, size_t size)
{
    char why[256], text[64];
    struct fcl_value value;
    const enum fcl_status status =
        fcl_point_evaluate(form->spec.space, point, expression, &value, why, sizeof why);
    if (status != FCL_OK)
        return fcl_fail(reason, size, status, "%s: %s", what, why);
    const char *wrong = fcl_scalar_store(count, FCL_SCALAR_INT64, &value);
    fcl_value_format(&value, text, sizeof text);
    if (wrong != NULL)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%s, %s: %s %s", what,
                        fcl_expression_text(expression), text, wrong);
    if (*count < 1 || *count > BYTES_LIMIT)
        return fcl_fail(reason, size, FCL_UNSUPPORTED, "%s, %s, is %s: 1 to 2^46 are allowed", what,
                        fcl_expression_text(expression), text);
    return FCL_OK;
}

enum fcl_status fcl_kernel_grid(const struct fcl_kernel_form *form,
                                const struct fcl_grid_form *grid_form, uint64_t point,
                                struct fcl_grid *grid, char *reason, size_t size)
{
    *grid = (struct fcl_grid){.dimensions = grid_form->dimensions,
                              .has_local = grid_form->has_local,
                              .group = grid_form->has_local ? 1 : 0};
    for (int i = 0; i < grid->dimensions; i++) {
        int64_t global, local = 1;
        enum fcl_status status =
            count_at(form, "the global size", grid_form->global[i], point, &global, reason, size);
        if (status == FCL_OK && grid->has_local)
            status =
                count_at(form, "the local size", grid_form->local[i], point, &local, reason, size);
        if (status != FCL_OK)
            return status;
        if (grid_form->groups && global > BYTES_LIMIT / local)
            return fcl_fail(reason, size, FCL_UNSUPPORTED, "%lld groups of %lld are too many",
                            (long long)global, (long long)local);
        global *= grid_form->groups ? local : 1;
        if (global % local != 0)
            return fcl_fail(reason, size, FCL_UNSUPPORTED,
                            "the global size %lld is no multiple of the local size %lld "
                            "(dimension %d)",
                            (long long)global, (long long)local, i);
        grid->global[i] = (size_t)global;
        grid->local[i] = (size_t)local;
        grid->group *= (size_t)fcl_min(local, INT32_MAX);
        grid->group = (size_t)fcl_min((int64_t)grid->group, INT32_MAX);
    }
    return FCL_OK;
}

enum fcl_status fcl_kernel_element(const struct fcl_kernel_form *form, size_t argument,
                                   uint64_t point, void *element, char *reason, size_t size)
{
    const struct fcl_kernel_argument *a = &form->spec.arguments[argument];
    const fcl_expression *expression = form->arguments[argument].value;
    char name[FCL_ARGUMENT_NAME_SIZE], why[256] = "", text[64];
    struct fcl_value value = fcl_value_integer(0);
    fcl_kernel_argument_name(&form->spec, argument, name);
    const enum fcl_status status =
        expression == NULL
            ? FCL_OK
            : fcl_point_evaluate(form->spec.space, point, expression, &value, why, sizeof why);
    if (status != FCL_OK)
        return fcl_fail(reason, size, status, "%s: value: %s", name, why);
    const char *wrong = fcl_scalar_store(element, a->type.scalar, &value);
    fcl_value_format(&value, text, sizeof text);
    if (wrong != NULL)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%s: value %s %s (%s)", name, text,
                        wrong, fcl_scalar_text(a->type.scalar));
    const size_t all = fcl_element_size(a->type);
    const size_t lane = all / (size_t)(a->type.lanes > 1 ? a->type.lanes : 1);
    for (size_t at = lane; at < all; at += lane)
        memcpy((char *)element + at, element, lane);
    return FCL_OK;
}

enum fcl_status fcl_kernel_local(const struct fcl_kernel_form *form, size_t argument,
                                 uint64_t point, size_t *bytes, char *reason, size_t size)
{
    char name[FCL_ARGUMENT_NAME_SIZE], what[FCL_ARGUMENT_NAME_SIZE + 16];
    int64_t count;
    fcl_kernel_argument_name(&form->spec, argument, name);
    snprintf(what, sizeof what, "%s: count", name);
    const enum fcl_status status =
        count_at(form, what, form->arguments[argument].count, point, &count, reason, size);
    if (status == FCL_OK)
        *bytes = (size_t)count * fcl_element_size(form->spec.arguments[argument].type);
    return status;
}

// ---- checking: launch sizes

static enum fcl_status compile(struct check *check, const char *what, const char *text,
                               fcl_expression **expression)
{
    char why[256];
    const enum fcl_status status =
        fcl_space_compile(check->form->spec.space, text, expression, why, sizeof why);
    return status == FCL_OK ? FCL_OK
                            : fcl_fail(check->reason, check->size, status, "%s: %s", what, why);
}

static int dimensions_of(const char *const sizes[3])
{
    int dimensions = 0;
    while (dimensions < 3 && sizes[dimensions] != NULL)
        dimensions++;
    for (int i = dimensions; i < 3; i++)
        if (sizes[i] != NULL)
            return -1;
    return dimensions;
}

static enum fcl_status check_grid(struct check *check, const char *whose,
                                  const char *const global[3], const char *const local[3],
                                  int groups, struct fcl_grid_form *grid)
{
    const int dimensions = dimensions_of(global), locals = dimensions_of(local);
    if (dimensions < 1)
        return REFUSE(check, "%sglobal: one to three expressions without gaps are allowed", whose);
    if (locals != 0 && locals != dimensions)
        return REFUSE(check, "%slocal has %d dimensions, global %d: as many, or none, are allowed",
                      whose, locals, dimensions);
    if (groups && locals == 0)
        return REFUSE(check, "%slocal is missing: global counts groups of that size", whose);
    grid->dimensions = dimensions;
    grid->has_local = locals > 0;
    grid->groups = groups;
    for (int i = 0; i < dimensions; i++) {
        enum fcl_status status = compile(check, "global", global[i], &grid->global[i]);
        if (status == FCL_OK && locals > 0)
            status = compile(check, "local", local[i], &grid->local[i]);
        if (status != FCL_OK)
            return status;
    }
    return FCL_OK;
}

// ---- checking: arguments

// Whether the expression is the same at every point without looking.
static int is_constant(const fcl_expression *expression)
{
    for (size_t name = 0; name < FCL_SPACE_NAMES; name++)
        if (fcl_expression_uses(expression, name))
            return 0;
    return 1;
}

static enum fcl_status check_count(struct check *check, size_t argument, const char *name)
{
    const fcl_space *space = check->form->spec.space;
    const struct fcl_kernel_argument *a = &check->form->spec.arguments[argument];
    struct fcl_argument_form *form = &check->form->arguments[argument];
    char what[FCL_ARGUMENT_NAME_SIZE + 16];
    snprintf(what, sizeof what, "%s: count", name);
    if (a->count == NULL)
        return REFUSE(check, "%s is missing: an expression is allowed", what);
    enum fcl_status status = compile(check, what, a->count, &form->count);
    if (status != FCL_OK || a->kind == FCL_KERNEL_LOCAL)
        return status;
    int64_t first = 0;
    const size_t points = is_constant(form->count) ? 1 : fcl_space_count(space);
    for (size_t i = 0; i < points; i++) {
        int64_t count;
        status = count_at(check->form, what, form->count, fcl_space_point(space, i), &count,
                          check->reason, check->size);
        if (status != FCL_OK)
            return FCL_INVALID_ARGUMENT;
        if (i > 0 && count != first)
            return REFUSE(check, "%s, %s, is %lld or %lld: the same at every point is allowed",
                          what, a->count, (long long)first, (long long)count);
        first = count;
    }
    form->count_all = (size_t)first;
    form->bytes = (size_t)first * fcl_element_size(a->type);
    return FCL_OK;
}

static enum fcl_status check_bytes(struct check *check, const char *name, const char *field,
                                   size_t found, size_t needed)
{
    return found == needed ? FCL_OK
                           : REFUSE(check, "%s: %s holds %zu bytes, the vector needs %zu", name,
                                    field, found, needed);
}

static enum fcl_status check_random(struct check *check, const char *name,
                                    const struct fcl_kernel_argument *a)
{
    unsigned char element[8];
    const double bounds[] = {a->low, a->high};
    if (!(a->low <= a->high) || !isfinite(a->low) || !isfinite(a->high))
        return REFUSE(check, "%s: random from %g to %g: finite and ascending is allowed", name,
                      a->low, a->high);
    for (int i = 0; i < 2; i++) {
        const struct fcl_value value = fcl_value_real(bounds[i]);
        const char *wrong = fcl_scalar_store(element, a->type.scalar, &value);
        if (wrong != NULL)
            return REFUSE(check, "%s: random from %g to %g: %g %s (%s)", name, a->low, a->high,
                          bounds[i], wrong, fcl_scalar_text(a->type.scalar));
    }
    return FCL_OK;
}

static enum fcl_status check_value(struct check *check, size_t argument, const char *name)
{
    const struct fcl_kernel_argument *a = &check->form->spec.arguments[argument];
    struct fcl_argument_form *form = &check->form->arguments[argument];
    unsigned char element[128];
    char what[FCL_ARGUMENT_NAME_SIZE + 16];
    snprintf(what, sizeof what, "%s: value", name);
    enum fcl_status status =
        a->value != NULL ? compile(check, what, a->value, &form->value) : FCL_OK;
    if (status == FCL_OK && a->kind == FCL_KERNEL_VECTOR && form->value != NULL &&
        !is_constant(form->value))
        return REFUSE(check, "%s, %s, depends on parameters: a constant is allowed", what,
                      a->value);
    if (status == FCL_OK)
        status =
            fcl_kernel_element(check->form, argument, fcl_space_point(check->form->spec.space, 0),
                               element, check->reason, check->size);
    return status;
}

static enum fcl_status check_output(struct check *check, const char *name,
                                    const struct fcl_kernel_argument *a, size_t bytes)
{
    if (a->expected != NULL && a->access == FCL_KERNEL_READ)
        return REFUSE(check, "%s: expected is given, but the kernel only reads it", name);
    if (!(a->absolute >= 0) || !(a->relative >= 0) || !isfinite(a->absolute + a->relative))
        return REFUSE(check, "%s: tolerance %g absolute and %g relative: 0 or more is allowed",
                      name, a->absolute, a->relative);
    return a->expected != NULL ? check_bytes(check, name, "expected", a->expected_count, bytes)
                               : FCL_OK;
}

static enum fcl_status check_vector(struct check *check, size_t argument, const char *name)
{
    const struct fcl_kernel_argument *a = &check->form->spec.arguments[argument];
    const size_t bytes = check->form->arguments[argument].bytes;
    enum fcl_status status = check_output(check, name, a, bytes);
    if (status != FCL_OK || a->access == FCL_KERNEL_WRITE)
        return status;
    switch (a->fill) {
    case FCL_KERNEL_CONSTANT:
        return check_value(check, argument, name);
    case FCL_KERNEL_RANDOM:
        return check_random(check, name, a);
    case FCL_KERNEL_BYTES:
        return a->bytes == NULL ? REFUSE(check, "%s: bytes is NULL", name)
                                : check_bytes(check, name, "bytes", a->byte_count, bytes);
    }
    return REFUSE(check, "%s: fill is %d: constant, random and bytes are allowed", name,
                  (int)a->fill);
}

static enum fcl_status check_argument(struct check *check, size_t argument)
{
    const struct fcl_kernel_argument *a = &check->form->spec.arguments[argument];
    char name[FCL_ARGUMENT_NAME_SIZE];
    fcl_kernel_argument_name(&check->form->spec, argument, name);
    if (fcl_element_size(a->type) == 0)
        return REFUSE(check,
                      "%s: type %d with %d lanes: 1, 2, 4, 8 and 16 lanes of a scalar are "
                      "allowed",
                      name, (int)a->type.scalar, a->type.lanes);
    if ((unsigned)a->access > FCL_KERNEL_READ_WRITE)
        return REFUSE(check, "%s: access is %d: read, write and read-write are allowed", name,
                      (int)a->access);
    if (a->kind == FCL_KERNEL_SCALAR)
        return check_value(check, argument, name);
    if (a->kind != FCL_KERNEL_VECTOR && a->kind != FCL_KERNEL_LOCAL)
        return REFUSE(check, "%s: kind is %d: scalar, vector and local are allowed", name,
                      (int)a->kind);
    const enum fcl_status status = check_count(check, argument, name);
    return status == FCL_OK && a->kind == FCL_KERNEL_VECTOR ? check_vector(check, argument, name)
                                                            : status;
}

static enum fcl_status check_arguments(struct check *check)
{
    const struct fcl_kernel_spec *spec = &check->form->spec;
    if (spec->argument_count > ARGUMENT_LIMIT ||
        (spec->argument_count > 0 && spec->arguments == NULL))
        return REFUSE(check, "%zu arguments%s: up to %d are allowed", spec->argument_count,
                      spec->arguments == NULL ? ", but arguments is NULL" : "", ARGUMENT_LIMIT);
    check->form->arguments = calloc(spec->argument_count + 1, sizeof *check->form->arguments);
    if (check->form->arguments == NULL)
        return fcl_fail(check->reason, check->size, FCL_OUT_OF_MEMORY,
                        "no memory for %zu arguments", spec->argument_count);
    for (size_t i = 0; i < spec->argument_count; i++) {
        const enum fcl_status status = check_argument(check, i);
        if (status != FCL_OK)
            return status;
    }
    return FCL_OK;
}

// ---- checking: the whole

static enum fcl_status check_space(struct check *check)
{
    const fcl_space *space = check->form->spec.space;
    if (space == NULL || fcl_space_count(space) == 0)
        return REFUSE(check, "space %s",
                      space == NULL ? "is NULL"
                                    : "has no valid point, or is not "
                                      "closed");
    for (size_t i = 0; i < fcl_space_parameters(space); i++) {
        const char *name = fcl_space_parameter_name(space, i);
        if (!is_identifier(name))
            return REFUSE(check, "parameter %s cannot be #defined: a word is allowed", name);
        for (size_t place = 0; place < fcl_space_value_count(space, i); place++) {
            const struct fcl_value value = fcl_space_value(space, i, place);
            if (value.kind == FCL_VALUE_TEXT && strpbrk(value.text, "\n\r\\") != NULL)
                return REFUSE(check, "parameter %s: a value holds a line end or a backslash", name);
        }
    }
    return FCL_OK;
}

static enum fcl_status check_reference(struct check *check)
{
    const struct fcl_kernel_reference *reference = check->form->spec.reference;
    if (reference == NULL)
        return FCL_OK;
    if (!is_identifier(reference->name))
        return REFUSE(check, "reference.name is '%s': the name of a kernel is allowed",
                      reference->name != NULL ? reference->name : "NULL");
    return check_grid(check, "reference.", reference->global, reference->local,
                      reference->global_groups, &check->form->reference_grid);
}

static enum fcl_status check_all(struct check *check)
{
    const struct fcl_kernel_spec *spec = &check->form->spec;
    if (spec->source == NULL)
        return REFUSE(check, "source is NULL");
    if (spec->file != NULL && strpbrk(spec->file, "\n\"\\") != NULL)
        return REFUSE(check, "file '%s': no quotes, backslashes and line ends are allowed",
                      spec->file);
    if (!is_identifier(spec->name))
        return REFUSE(check, "name is '%s': the name of a kernel is allowed",
                      spec->name != NULL ? spec->name : "NULL");
    enum fcl_status status = check_space(check);
    if (status == FCL_OK)
        status = check_grid(check, "", spec->global, spec->local, spec->global_groups,
                            &check->form->grid);
    if (status == FCL_OK)
        status = check_arguments(check);
    return status == FCL_OK ? check_reference(check) : status;
}

static void free_grid(struct fcl_grid_form *grid)
{
    for (int i = 0; i < 3; i++) {
        fcl_expression_destroy(&grid->global[i]);
        fcl_expression_destroy(&grid->local[i]);
    }
}

void fcl_kernel_form_free(struct fcl_kernel_form *form)
{
    free_grid(&form->grid);
    free_grid(&form->reference_grid);
    for (size_t i = 0; form->arguments != NULL && i < form->spec.argument_count; i++) {
        fcl_expression_destroy(&form->arguments[i].value);
        fcl_expression_destroy(&form->arguments[i].count);
    }
    free(form->arguments);
    *form = (struct fcl_kernel_form){0};
}

enum fcl_status fcl_kernel_form_create(const struct fcl_kernel_spec *spec,
                                       struct fcl_kernel_form *form, char *reason, size_t size)
{
    struct check check = {form, reason, size};
    *form = (struct fcl_kernel_form){0};
    if (spec == NULL)
        return REFUSE(&check, "spec is NULL");
    if (!fcl_struct_read(&form->spec, sizeof form->spec, spec))
        return REFUSE(&check, "spec.struct_size is %zu, allowed are 8 to %zu", spec->struct_size,
                      sizeof form->spec);
    const enum fcl_status status = check_all(&check);
    if (status != FCL_OK)
        fcl_kernel_form_free(form);
    return status;
}

enum fcl_status fcl_kernel_validate(const struct fcl_kernel_spec *spec, char *reason, size_t size)
{
    struct fcl_kernel_form form;
    const enum fcl_status status = fcl_kernel_form_create(spec, &form, reason, size);
    if (status == FCL_OK)
        fcl_kernel_form_free(&form);
    return status;
}
