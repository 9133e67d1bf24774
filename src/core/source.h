// Kernel source: embedded files, or a folder of them, expanded into one text.
#ifndef FCL_CORE_SOURCE_H
#define FCL_CORE_SOURCE_H

#include "text.h"

// One file embedded at build time (tools/embed.py writes the table).
struct fcl_embedded_file {
    const char *name; // relative to its root: "attention/forward.cl", "tuned/cpu.txt"
    const unsigned char *data;
    size_t size;
};
extern const struct fcl_embedded_file fcl_embedded_files[];
extern const size_t fcl_embedded_count;

// NULL where there is none of that name.
const struct fcl_embedded_file *fcl_embedded_find(const char *name);

// Appends `name` with every `#include "file"` replaced by that file's text, each file once, `#line`
// telling where one is. Names are relative to the root of all kernel files. `#include MACRO` is
// replaced by the file that `macro` maps to: pairs (macro, file) ending with NULL. `folder` NULL:
// the embedded files. No #if is evaluated. Errors: IO_ERROR naming the file and who includes it;
// INVALID_ARGUMENT for an include nested more than 16 deep; OUT_OF_MEMORY.
enum fcl_status fcl_source_expand(const char *name, const char *folder, const char *const *macros,
                                  struct fcl_text *out, char *reason, size_t size);

#endif
