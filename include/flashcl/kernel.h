// A user's own kernel, as a value: source, space of parameters, launch sizes, arguments, and what
// the right result is. No OpenCL here: compiles alone as C11 and C++17. tune.h, which includes it,
// builds, verifies, times and tunes it. Like tune.h, it may still change between minor versions.
#ifndef FLASHCL_KERNEL_H
#define FLASHCL_KERNEL_H

#include "search.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Element types ----------------------------------------------------------------------------

// X(NAME, text, bytes)
#define FCL_SCALAR_LIST(X) \
    X(INT8, "int8", 1)     \
    X(UINT8, "uint8", 1)   \
    X(INT16, "int16", 2)   \
    X(UINT16, "uint16", 2) \
    X(INT32, "int32", 4)   \
    X(UINT32, "uint32", 4) \
    X(INT64, "int64", 8)   \
    X(UINT64, "uint64", 8) \
    X(HALF, "half", 2)     \
    X(FLOAT, "float", 4)   \
    X(DOUBLE, "double", 8)

enum fcl_scalar {
#define FCL_X(name, text, bytes) FCL_SCALAR_##name,
    FCL_SCALAR_LIST(FCL_X)
#undef FCL_X
        FCL_SCALAR_COUNT
};

// An element: a scalar, or a vector of 2, 4, 8 or 16 lanes such as float4.
struct fcl_element_type {
    enum fcl_scalar scalar;
    int lanes; // 0: 1
};

// Bytes of an element; 0 for an unknown type. Thread-safety: safe.
FCL_API size_t fcl_element_size(struct fcl_element_type type);

// Reads `int32`, `float4`; `reason` (size bytes, may be NULL) says what is allowed. Thread-safety:
// safe.
FCL_API enum fcl_status fcl_element_parse(const char *text, struct fcl_element_type *type,
                                          char *reason, size_t size);

// ---- Arguments --------------------------------------------------------------------------------

enum fcl_kernel_kind {
    FCL_KERNEL_SCALAR = 0,
    FCL_KERNEL_VECTOR, // a buffer in device memory
    FCL_KERNEL_LOCAL   // local memory
};

enum fcl_kernel_access {
    FCL_KERNEL_READ = 0,
    FCL_KERNEL_WRITE,     // writes every element; holds poison before
    FCL_KERNEL_READ_WRITE // filled anew before each verification
};

enum fcl_kernel_fill {
    FCL_KERNEL_CONSTANT = 0, // every lane of every element is `value`
    FCL_KERNEL_RANDOM,       // uniform in low..high, whole numbers inclusive, by `seed`
    FCL_KERNEL_BYTES         // the caller's
};

// One argument of the kernel. Expressions are over the names of the space.
struct fcl_kernel_argument {
    const char *name; // for messages; NULL: its number
    enum fcl_kernel_kind kind;
    struct fcl_element_type type;
    const char *value; // scalars, and fill CONSTANT: an expression; NULL: 0
    const char *count; // vectors and local memory: elements, an expression. A vector's is the same
                       // at every point
    // Vectors only, from here on.
    enum fcl_kernel_access access;
    enum fcl_kernel_fill fill;
    double low, high;
    uint64_t seed;
    const void *bytes; // fill BYTES: exactly the vector's size
    size_t byte_count;
    int ignored; // 1: written, but not compared: scratch
    const void
        *expected; // the right result, exactly the vector's size; NULL: the reference kernel's
    size_t expected_count;
    // A result x is right when |x - expected| <= absolute + relative |expected|. Both 0: integers
    // exactly; half, float and double within 1e-2, 1e-4 and 1e-8 of the largest |expected|. A NaN
    // is right only where one is expected.
    double absolute, relative;
};

// ---- The kernel -------------------------------------------------------------------------------

// A kernel that computes the right results: slow and simple, with the same arguments in the same
// order. It runs once, at the space's first valid point.
struct fcl_kernel_reference {
    const char *source; // NULL: the source of the kernel that is tuned
    const char *name;
    const char *options;              // NULL: ""
    const char *global[3], *local[3]; // as below
    int global_groups;
};

// All pointers are the caller's and outlive what is made from the spec.
struct fcl_kernel_spec {
    size_t struct_size;
    const char *source;     // self-contained, as fcl_kernel_source_read makes it: caches and wisdom
                            // see nothing of a file that the compiler includes
    const char *file;       // what compilers call the source in their messages; NULL: kernel.cl
    const char *name;       // of the __kernel function
    const char *options;    // for the compiler; NULL: ""
    const fcl_space *space; // closed. Parameters reach the source as `#define NAME value` lines:
                            // bools as 0 and 1, texts without quotes
    const char *global[3];  // expressions; NULL behind the last dimension
    const char *local[3];   // as many, or none: the driver chooses
    int global_groups;      // 0: global counts work-items, as OpenCL does; 1: groups, as CUDA does
    const struct fcl_kernel_argument *arguments;
    size_t argument_count;
    const struct fcl_kernel_reference *reference; // NULL: none
};

// Reads a kernel's source from a file and puts the text of `file` in place of each `#include
// "file"`, with #line directives, in which `file` is the name of the source itself. Files are
// looked for beside the one that includes them, in the folders of -I in `options` (the compiler's;
// may be NULL) and in the current folder. What is not found, `#include <file>` and `#include MACRO`
// stay as they are. No #if is evaluated; `#pragma once` of an included file becomes a guard. A file
// without includes is read as it is. The result is from malloc: the caller frees *source. Errors,
// with a reason: IO_ERROR; INVALID_ARGUMENT where a file is nested more than 32 deep or all are
// larger than 16 MiB; OUT_OF_MEMORY. Thread-safety: safe.
FCL_API enum fcl_status fcl_kernel_source_read(const char *path, const char *file,
                                               const char *options, char **source, char *reason,
                                               size_t size);

// Checks all that can be checked without a device: INVALID_ARGUMENT with a reason that names the
// field or argument, what was found and what is allowed; OUT_OF_MEMORY. Where neither `expected`
// nor a reference is given for any output, results are not compared. Thread-safety: safe.
FCL_API enum fcl_status fcl_kernel_validate(const struct fcl_kernel_spec *spec, char *reason,
                                            size_t size);

// The class under which wisdom (store.h) knows a kernel, such as
//     kernel gemm 53c1d1f0a3b2e4c7 M=256 N=256 #0f4b8c6d2a917e35
// Its name; a digest of source, compiler options and the names of the parameters that have several
// values; its sizes: the parameters of one value, and derived names without parameters; a digest of
// launch sizes and arguments, whose contents do not count. A row's configuration is a point without
// the sizes. Cut at `size`; returns the whole length; 0 where the spec is not valid. Thread-safety:
// safe.
FCL_API size_t fcl_kernel_class(const struct fcl_kernel_spec *spec, char *text, size_t size);

// The #define lines of a point, as they stand in front of the source. Cut at `size`; returns the
// whole length. Thread-safety: safe.
FCL_API size_t fcl_kernel_defines(const fcl_space *space, uint64_t point, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
