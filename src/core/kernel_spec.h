// A kernel's spec, checked and with its expressions compiled: what it says at a point.
#ifndef FCL_CORE_KERNEL_SPEC_H
#define FCL_CORE_KERNEL_SPEC_H

#include <flashcl/kernel.h>

#include "common.h"
#include "text.h"

struct fcl_grid_form {
    fcl_expression *global[3], *local[3];
    int dimensions;
    int has_local; // 0: the driver chooses
    int groups;    // 1: global counts groups
};

struct fcl_argument_form {
    fcl_expression *value, *count; // NULL: not used by the argument
    size_t count_all;              // of a vector, elements
    size_t bytes;                  // of a vector
};

struct fcl_kernel_form {
    struct fcl_kernel_spec spec;
    struct fcl_grid_form grid, reference_grid;
    struct fcl_argument_form *arguments;
};

struct fcl_grid {
    int dimensions, has_local;
    size_t global[3], local[3]; // both in work-items
    size_t group;               // work-items of a group; 0 where the driver chooses
};

// Checks and compiles; the caller's spec is copied, what it points at is not. *form is to be freed
// only after OK.
enum fcl_status fcl_kernel_form_create(const struct fcl_kernel_spec *spec,
                                       struct fcl_kernel_form *form, char *reason, size_t size);
void fcl_kernel_form_free(struct fcl_kernel_form *form);

// Launch sizes at a point. UNSUPPORTED for sizes below 1 and for a global size that is no multiple
// of the local one, INVALID_ARGUMENT for what is no whole number.
enum fcl_status fcl_kernel_grid(const struct fcl_kernel_form *form,
                                const struct fcl_grid_form *grid_form, uint64_t point,
                                struct fcl_grid *grid, char *reason, size_t size);

// Writes one element of the argument's type (a scalar argument, or a constant fill): all lanes.
enum fcl_status fcl_kernel_element(const struct fcl_kernel_form *form, size_t argument,
                                   uint64_t point, void *element, char *reason, size_t size);

// Bytes of a local argument at a point.
enum fcl_status fcl_kernel_local(const struct fcl_kernel_form *form, size_t argument,
                                 uint64_t point, size_t *bytes, char *reason, size_t size);

// An argument's name for messages: `a`, or `argument 3` counted from 1.
#define FCL_ARGUMENT_NAME_SIZE 64
void fcl_kernel_argument_name(const struct fcl_kernel_spec *spec, size_t argument,
                              char name[FCL_ARGUMENT_NAME_SIZE]);

// Whether a vector's result is judged.
int fcl_kernel_is_compared(const struct fcl_kernel_spec *spec, size_t argument);

// Appends defines and source.
void fcl_kernel_add_source(const struct fcl_kernel_spec *spec, const char *source, uint64_t point,
                           struct fcl_text *text);

#endif
