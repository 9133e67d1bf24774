// What kernels call in place of inline PTX and of OpenCL C's own functions; prelude.cl declares the
// same to them.
#ifndef FCL_TESTS_EMULATED_INSTRUCTIONS_H
#define FCL_TESTS_EMULATED_INSTRUCTIONS_H

#include <stddef.h>
#include <stdint.h>

uint32_t emulate_pack_f16(float x, float y);
uint32_t emulate_pack_bf16(float x, float y);
void emulate_unpack_f16(float *x, float *y, uint32_t pair);
int emulate_lane(void);
void emulate_copy(uint32_t to, const void *from, int bytes);
void emulate_commit(void);
void emulate_wait(int batches);
int emulate_any_item(int x);
uint32_t emulate_exchange(uint32_t x, int lane);
int emulate_any_lane(int x);
void emulate_meet(void);
void emulate_ldmatrix(uint32_t *x0, uint32_t *x1, uint32_t *x2, uint32_t *x3, uint32_t at,
                      int transposed);
void emulate_mma_f16(float *c0, float *c1, float *c2, float *c3, uint32_t a0, uint32_t a1,
                     uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1);
void emulate_mma_bf16(float *c0, float *c1, float *c2, float *c3, uint32_t a0, uint32_t a1,
                      uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1);
void *emulate_local(uint64_t bytes);
size_t emulate_local_id(unsigned dimension);
size_t emulate_group_id(unsigned dimension);
size_t emulate_global_id(unsigned dimension);
void emulate_barrier(unsigned flags);

#endif
