// NumPy's .npy files: one array in a file, as far as attention needs it (little-endian f4, f2, u2,
// i4, u1 or b1, C order, ranks 1 to 8 are read; what a caller accepts is its own matter).
#ifndef FLASHCL_TOOL_NPY_H
#define FLASHCL_TOOL_NPY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define NPY_RANK_LIMIT 8

enum npy_type { NPY_F4, NPY_F2, NPY_U2, NPY_I4, NPY_U1, NPY_B1 };

// What a header says.
struct npy_header {
    enum npy_type type;
    int rank;
    int64_t shape[NPY_RANK_LIMIT];
    size_t data_offset; // bytes from the file's start
    size_t data_size;   // bytes that the shape needs
};

// An array in memory.
struct npy_array {
    struct npy_header header;
    void *data;
};

// Reads the header at the start of a file of which `size` bytes are at hand. Returns 1, or 0 with
// the reason: a sentence that names the value and what is allowed.
int npy_parse(const void *bytes, size_t size, struct npy_header *header, char *reason,
              size_t reason_size);

// Reads a whole file. Returns 1, or 0 with the reason, which names the file; then nothing is to be
// freed.
int npy_read(const char *path, struct npy_array *array, char *reason, size_t reason_size);

// Frees the data. A zeroed array is fine.
void npy_free(struct npy_array *array);

// Writes header (format 1.0) and data. Returns 1, or 0 when the stream failed.
int npy_write(FILE *out, enum npy_type type, int rank, const int64_t *shape, const void *data);

// "f4", "f2", "u2", "i4", "u1" or "b1"; bytes of one element.
const char *npy_type_text(enum npy_type type);
size_t npy_type_size(enum npy_type type);

#endif
