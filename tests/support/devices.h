// Invented devices, so that choices can be tested without any.
#ifndef FCL_TESTS_DEVICES_H
#define FCL_TESTS_DEVICES_H

#include <flashcl/tune.h>

static inline struct fcl_caps test_cpu(uint64_t float_width)
{
    return (struct fcl_caps){.cpu = 1,
                             .compute_units = 8,
                             .group_size = 4096,
                             .local_bytes = 1 << 20,
                             .float_width = float_width,
                             .allocation_bytes = UINT64_C(1) << 33,
                             .c_version = 120,
                             .name = "Invented CPU",
                             .driver = "1.0"};
}

static inline struct fcl_caps test_gpu(uint64_t local_bytes, uint64_t group_size)
{
    return (struct fcl_caps){.gpu = 1,
                             .compute_units = 40,
                             .group_size = group_size,
                             .local_bytes = local_bytes,
                             .local_dedicated = 1,
                             .float_width = 1,
                             .allocation_bytes = UINT64_C(1) << 33,
                             .c_version = 120,
                             .name = "Invented GPU",
                             .driver = "1.0"};
}

#endif
