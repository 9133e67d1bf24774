// The buffers of a kernel under trial: filled, restored, guarded, judged.
#ifndef FCL_CORE_KERNEL_BUFFER_H
#define FCL_CORE_KERNEL_BUFFER_H

#include "device.h"
#include "kernel_data.h"
#include "kernel_spec.h"

// One vector argument. What the kernel writes stands between guard bands in `whole`; what it only
// reads has one behind it.
struct fcl_kernel_buffer {
    cl_mem whole;              // NULL: the argument is no vector
    cl_mem part;               // what the kernel gets
    int written;               // 1: the kernel writes it
    int poisoned;              // 1: its contents before do not matter
    size_t guard, bytes, size; // size of the whole
    unsigned char *image;      // what the whole holds before a run
    unsigned char *expected;   // NULL: not compared
    enum fcl_scalar scalar;
    size_t scalars;
    struct fcl_tolerance tolerance;
};

// Makes the buffer of a vector argument, filled. *buffer is to be freed in any case.
enum fcl_status fcl_kernel_buffer_create(struct fcl_device *device,
                                         const struct fcl_kernel_form *form, size_t argument,
                                         struct fcl_kernel_buffer *buffer);
void fcl_kernel_buffer_free(struct fcl_kernel_buffer *buffer);

// Puts the image back.
cl_int fcl_kernel_buffer_restore(const struct fcl_kernel_buffer *buffer, cl_command_queue queue);

// Reads the whole into `copy`, which holds `size` bytes.
cl_int fcl_kernel_buffer_read(const struct fcl_kernel_buffer *buffer, cl_command_queue queue,
                              void *copy);

// Takes these bytes as the right result.
enum fcl_status fcl_kernel_buffer_expect(struct fcl_kernel_buffer *buffer,
                                         const struct fcl_kernel_argument *argument,
                                         const void *expected);

// Judges a copy of the whole: guards, then every scalar. WRONG_RESULT with a reason that begins
// with the argument's name; *ratio becomes the worst of what it was and what is found.
enum fcl_status fcl_kernel_buffer_judge(const struct fcl_kernel_buffer *buffer, const char *name,
                                        const unsigned char *copy, double *ratio, char *reason,
                                        size_t size);

#endif
