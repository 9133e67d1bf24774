// Instructions of a lane and of a warp: its 32 lanes bring what they have, and the last to come
// computes for all. Copies to local memory arrive as late as they may: when the item waits for
// them.
#include <math.h>
#include <string.h>

#include "core/element.h"
#include "instructions.h"
#include "items.h"

#define COPIES 256 // of one item that have not arrived

struct copies {
    struct copy {
        uint32_t to;
        int bytes, batch;
        const void *from;
    } copy[COPIES];
    int count, batch;
};

// What a lane brings to an instruction of its warp, and takes from it.
struct share {
    uint32_t word[12], address;
    int flag;
};

static struct {
    struct circle warps[ITEMS_LIMIT / WARP], all;
    struct share brought[ITEMS_LIMIT], taken[ITEMS_LIMIT];
    struct copies copies[ITEMS_LIMIT];
    int any;
} run;

void warps_begin(size_t items)
{
    for (size_t w = 0; w * WARP < items; w++)
        run.warps[w] =
            (struct circle){.members = items - w * WARP < WARP ? items - w * WARP : WARP};
    for (size_t n = 0; n < items; n++)
        run.copies[n].count = run.copies[n].batch = 0;
    run.all = (struct circle){.members = items};
}

static struct copies *own_copies(void)
{
    return &run.copies[item_number()];
}

static struct share *lanes(struct share *shares) // of this warp
{
    return shares + item_number() / WARP * WARP;
}

// ---- instructions of a lane

static float from_f16(uint16_t bits)
{
    return fcl_element_load(&bits, FCL_F16, 0);
}

static float from_bf16(uint16_t bits)
{
    return fcl_element_load(&bits, FCL_BF16, 0);
}

static uint32_t pack(float x, float y, enum fcl_dtype dtype)
{
    uint16_t bits[2];
    fcl_element_store(bits, dtype, 0, x);
    fcl_element_store(bits, dtype, 1, y);
    return bits[0] | (uint32_t)bits[1] << 16;
}

uint32_t emulate_pack_f16(float x, float y)
{
    return pack(x, y, FCL_F16);
}

uint32_t emulate_pack_bf16(float x, float y)
{
    return pack(x, y, FCL_BF16);
}

void emulate_unpack_f16(float *x, float *y, uint32_t pair)
{
    *x = from_f16((uint16_t)pair);
    *y = from_f16((uint16_t)(pair >> 16));
}

int emulate_lane(void)
{
    return (int)(item_number() % WARP);
}

// ---- copies

void emulate_copy(uint32_t to, const void *from, int bytes)
{
    struct copies *i = own_copies();
    if (i->count == COPIES)
        item_fail("more copies on their way than there are places");
    if (to % 16 || (uintptr_t)from % 16)
        item_fail("a copy that is not aligned to 16 bytes");
    local_at(to, 16);
    i->copy[i->count++] = (struct copy){to, bytes, i->batch, from};
}

void emulate_commit(void)
{
    own_copies()->batch++;
}

static void arrive(struct copies *i, int batches)
{
    int kept = 0;
    for (int n = 0; n < i->count; n++) {
        const struct copy *c = &i->copy[n];
        if (c->batch >= i->batch - batches) {
            i->copy[kept++] = *c;
            continue;
        }
        unsigned char *to = local_at(c->to, 16);
        memset(to, 0, 16);
        if (c->bytes)
            memcpy(to, c->from, (size_t)c->bytes);
    }
    i->count = kept;
}

static int any_of_all(int x)
{
    unsigned generation;
    const int last = circle_meet(&run.all, &generation);
    run.brought[item_number()].flag = x;
    if (last) {
        run.any = 0;
        for (size_t n = 0; n < run.all.members; n++)
            run.any |= run.brought[n].flag;
    }
    circle_part(&run.all, last, generation);
    return run.any;
}

void emulate_wait(int batches)
{
    arrive(own_copies(), batches);
    any_of_all(0);
}

int emulate_any_item(int x)
{
    const int any = any_of_all(x != 0);
    any_of_all(0); // so that nobody asks anew before all have the answer
    return any;
}

// ---- instructions of a warp

// Brings this lane's share; the last one computes what each takes.
static struct share *together(struct share mine,
                              void (*compute)(struct share *brought, struct share *taken))
{
    unsigned generation;
    struct circle *warp = &run.warps[item_number() / WARP];
    run.brought[item_number()] = mine;
    const int last = circle_meet(warp, &generation);
    if (last)
        compute(lanes(run.brought), lanes(run.taken));
    circle_part(warp, last, generation);
    return &run.taken[item_number()];
}

static void exchange(struct share *brought, struct share *taken)
{
    for (int l = 0; l < WARP; l++)
        taken[l].word[0] = brought[brought[l].address % WARP].word[0];
}

uint32_t emulate_exchange(uint32_t x, int lane)
{
    return together((struct share){.word = {x}, .address = (uint32_t)lane}, exchange)->word[0];
}

static void any_of(struct share *brought, struct share *taken)
{
    int any = 0;
    for (int l = 0; l < WARP; l++)
        any |= brought[l].flag;
    for (int l = 0; l < WARP; l++)
        taken[l].flag = any;
}

int emulate_any_lane(int x)
{
    return together((struct share){.flag = x != 0}, any_of)->flag;
}

static void nothing(struct share *brought, struct share *taken)
{
    (void)brought;
    (void)taken;
}

void emulate_meet(void)
{
    together((struct share){0}, nothing);
}

// Matrix m of four is 8 rows of 16 bytes at the addresses of lanes 8 m to 8 m + 7; lane l takes
// elements 2 (l % 4) and the next of row l / 4, or transposed, of that column (PTX ISA, ldmatrix).
static void load_matrices(struct share *brought, struct share *taken)
{
    for (int m = 0; m < 4; m++) {
        uint16_t rows[8][8];
        for (int r = 0; r < 8; r++)
            memcpy(rows[r], local_at(brought[8 * m + r].address, 16), 16);
        for (int l = 0; l < WARP; l++) {
            const int row = l / 4, column = l % 4 * 2;
            const int transposed = brought[l].flag;
            const uint16_t x = transposed ? rows[column][row] : rows[row][column];
            const uint16_t y = transposed ? rows[column + 1][row] : rows[row][column + 1];
            taken[l].word[m] = x | (uint32_t)y << 16;
        }
    }
}

void emulate_ldmatrix(uint32_t *x0, uint32_t *x1, uint32_t *x2, uint32_t *x3, uint32_t at,
                      int transposed)
{
    if (at % 16)
        item_fail("a row of a matrix that is not aligned to 16 bytes");
    const struct share *x =
        together((struct share){.address = at, .flag = transposed}, load_matrices);
    *x0 = x->word[0];
    *x1 = x->word[1];
    *x2 = x->word[2];
    *x3 = x->word[3];
}

// The inverse of ldmatrix.
static void store_matrices(struct share *brought, struct share *taken)
{
    (void)taken;
    for (int m = 0; m < 4; m++)
        for (int l = 0; l < WARP; l++)
            memcpy(local_at(brought[8 * m + l / 4].address, 16) + l % 4 * 4, &brought[l].word[m],
                   4);
}

void emulate_stmatrix(uint32_t at, uint32_t x0, uint32_t x1, uint32_t x2, uint32_t x3)
{
    together((struct share){.word = {x0, x1, x2, x3}, .address = at}, store_matrices);
}

static float half_of(uint32_t word, int high, float (*decode)(uint16_t bits))
{
    return decode((uint16_t)(high ? word >> 16 : word));
}

// c += a b for a 16 x 16 and b 16 x 8 (PTX ISA, fragments of mma.m16n8k16): word 0 to 3 of a share
// are a, 4 and 5 b, 6 to 9 c. Lane l has rows l / 4 and 8 further of a, its words 0 and 1 columns 2
// (l % 4) and the next, 2 and 3 those 8 further; of b rows 2 (l % 4) and the next of column l / 4;
// of c columns 2 (l % 4) and the next.
static void multiply(struct share *brought, struct share *taken, float (*decode)(uint16_t bits))
{
    float a[16][16], b[16][8];
    for (int l = 0; l < WARP; l++)
        for (int high = 0; high < 2; high++) {
            const int row = l / 4, column = l % 4 * 2 + high;
            for (int n = 0; n < 4; n++)
                a[row + n % 2 * 8][column + n / 2 * 8] = half_of(brought[l].word[n], high, decode);
            for (int n = 0; n < 2; n++)
                b[column + n * 8][row] = half_of(brought[l].word[4 + n], high, decode);
        }
    for (int l = 0; l < WARP; l++)
        for (int n = 0; n < 4; n++) {
            float c;
            memcpy(&c, &brought[l].word[6 + n], sizeof c);
            for (int k = 0; k < 16; k++)
                c += a[l / 4 + n / 2 * 8][k] * b[k][l % 4 * 2 + n % 2];
            memcpy(&taken[l].word[n], &c, sizeof c);
        }
}

static void multiply_f16(struct share *brought, struct share *taken)
{
    multiply(brought, taken, from_f16);
}

static void multiply_bf16(struct share *brought, struct share *taken)
{
    multiply(brought, taken, from_bf16);
}

static void product(float *const c[4], const uint32_t a_b[6],
                    void (*compute)(struct share *brought, struct share *taken))
{
    struct share mine = {0};
    memcpy(mine.word, a_b, 6 * sizeof *a_b);
    for (int n = 0; n < 4; n++)
        memcpy(&mine.word[6 + n], c[n], sizeof(float));
    const struct share *x = together(mine, compute);
    for (int n = 0; n < 4; n++)
        memcpy(c[n], &x->word[n], sizeof(float));
}

void emulate_mma_f16(float *c0, float *c1, float *c2, float *c3, uint32_t a0, uint32_t a1,
                     uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1)
{
    product((float *const[]){c0, c1, c2, c3}, (const uint32_t[]){a0, a1, a2, a3, b0, b1},
            multiply_f16);
}

void emulate_mma_bf16(float *c0, float *c1, float *c2, float *c3, uint32_t a0, uint32_t a1,
                      uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1)
{
    product((float *const[]){c0, c1, c2, c3}, (const uint32_t[]){a0, a1, a2, a3, b0, b1},
            multiply_bf16);
}

// ---- words of local memory

void emulate_put(uint32_t at, uint32_t x, uint32_t y)
{
    memcpy(local_at(at, 8), (const uint32_t[]){x, y}, 8);
}

void emulate_get(uint32_t *x, uint32_t *y, uint32_t at)
{
    memcpy(x, local_at(at, 8), 4);
    memcpy(y, local_at(at + 4, 4), 4);
}

void emulate_change(uint32_t at, uint32_t bits)
{
    uint32_t x;
    memcpy(&x, local_at(at, 4), 4);
    x ^= bits;
    memcpy(local_at(at, 4), &x, 4);
}

void emulate_store_unit(void *to, uint32_t at)
{
    memcpy(to, local_at(at, 16), 16);
}
