// What FlashCL keeps on disk: wisdom, and the folder of built kernels. No OpenCL; compiles alone as
// C11 and C++17. Like tune.h, which includes it, it may still change between minor versions.
#ifndef FLASHCL_STORE_H
#define FLASHCL_STORE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Wisdom -----------------------------------------------------------------------------------

// Wisdom is text: a header line `flashcl-wisdom 1`, then one row a (device, driver, problem class):
//     device TAB driver TAB class TAB config|bad KIND TAB median_ms TAB spread TAB clock TAB
//     version
// The class is that of an attention problem or of a user's kernel (fcl_kernel_class in kernel.h),
// whose configurations are points such as `BM=16 BN=32`. A class followed by a space and a
// configuration speaks of that one alone: `bad KIND` where it crashed or hung.
// Thread-safety: one thread at a time for one object.
typedef struct fcl_wisdom fcl_wisdom;

struct fcl_wisdom_row {
    const char *device, *driver, *problem_class, *config;
    double median_ms, spread;
    const char *clock, *version;
};

// The class of a problem: what is baked in exactly, lengths and batch x heads as powers of two,
// such as `fused fwd d64 f32 causal bh3 q10 k10 g1`. Cut at `size`; returns the whole length.
// Thread-safety: safe.
FCL_API size_t fcl_problem_class(const struct fcl_problem *problem,
                                 enum fcl_implementation implementation, char *text, size_t size);

// An empty collection; NULL when memory is out.
FCL_API fcl_wisdom *fcl_wisdom_create(void);
FCL_API void fcl_wisdom_destroy(fcl_wisdom **wisdom);

// Adds the rows of a text; a row for the same (device, driver, class) replaces the older one. A
// malformed text adds nothing (IO_ERROR, reason names the line); a row whose config today's program
// does not know is skipped and counted in *skipped (may be NULL).
FCL_API enum fcl_status fcl_wisdom_import(fcl_wisdom *wisdom, const char *text, size_t *skipped,
                                          char *reason, size_t size);

// The same from a file. A missing file is IO_ERROR.
FCL_API enum fcl_status fcl_wisdom_load(fcl_wisdom *wisdom, const char *path, size_t *skipped,
                                        char *reason, size_t size);

// Merges the rows into a file: lock, read, merge, write aside, rename. Safe against other processes
// that do the same. Our rows win; rows that this version does not know stay, comments do not. A
// file that is malformed is left as it is: IO_ERROR. `path`.lock stays behind, empty.
FCL_API enum fcl_status fcl_wisdom_save(const fcl_wisdom *wisdom, const char *path, char *reason,
                                        size_t size);

// Adds one row; texts are copied.
FCL_API enum fcl_status fcl_wisdom_add(fcl_wisdom *wisdom, const struct fcl_wisdom_row *row);

FCL_API size_t fcl_wisdom_count(const fcl_wisdom *wisdom);

// Row `index` in insertion order; texts live until the collection changes.
FCL_API struct fcl_wisdom_row fcl_wisdom_at(const fcl_wisdom *wisdom, size_t index);

// Writes one row in its text form, without a newline. Cut at `size`; returns the whole length.
FCL_API size_t fcl_wisdom_format(const struct fcl_wisdom_row *row, char *text, size_t size);

// ---- The cache folder -------------------------------------------------------------------------

// One entry of a cache folder. Texts live during the visit.
struct fcl_cache_entry {
    const char *name;  // file name
    const char *label; // kernel label or "peak"; "" where the entry is damaged
    const char *key;   // the whole key text; "" where the entry is damaged
    uint64_t bytes;    // of the file
    int64_t used;      // when it was last used, seconds since 1970
    int damaged;       // 1: truncated, foreign or altered
};

// Visits the entries of a folder, most recently used first; a missing folder has none. The visit
// function returns 0 to go on. Errors: IO_ERROR, OUT_OF_MEMORY. Thread-safety: safe.
typedef int (*fcl_cache_visit)(void *user, const struct fcl_cache_entry *entry);
FCL_API enum fcl_status fcl_cache_list(const char *folder, fcl_cache_visit visit, void *user);

// Removes entries: all, or only damaged ones and left-over temporary files. *removed (may be NULL)
// counts them. Files that are not the cache's own are left alone. Thread-safety: safe.
FCL_API enum fcl_status fcl_cache_clear(const char *folder, int only_damaged, size_t *removed);

#ifdef __cplusplus
}
#endif
#endif
