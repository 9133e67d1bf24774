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
uint32_t emulate_address(const void *local);
size_t emulate_local_id(unsigned dimension);
size_t emulate_group_id(unsigned dimension);
size_t emulate_global_id(unsigned dimension);
size_t emulate_group_count(unsigned dimension);
uint64_t emulate_compare_and_set(uint64_t *p, uint64_t from, uint64_t to);
void emulate_barrier(unsigned flags);
void emulate_stmatrix(uint32_t at, uint32_t x0, uint32_t x1, uint32_t x2, uint32_t x3);
void emulate_put(uint32_t at, uint32_t x, uint32_t y);
void emulate_get(uint32_t *x, uint32_t *y, uint32_t at);
void emulate_change(uint32_t at, uint32_t bits);
void emulate_store_unit(void *to, uint32_t at);
void emulate_barrier_open(uint32_t at, uint32_t count);
void emulate_barrier_arrive(uint32_t at, uint32_t bytes);
void emulate_barrier_wait(uint32_t at, uint32_t parity);
void emulate_named(int name, int items, int waits);
void emulate_copy_box(uint32_t to, const void *map, uint32_t full, int column, int row, int head,
                      int batch);
void emulate_wgmma(float *c, int columns, int adds, int is_bf16, uint32_t a, uint32_t b);
void emulate_wgmma_held(float *c, int columns, int is_bf16, const uint32_t *a0, const uint32_t *a1,
                        const uint32_t *a2, const uint32_t *a3, uint32_t b);
void emulate_wgmma_commit(void);
void emulate_wgmma_wait(int batches);

#endif
