// Instructions of Hopper (PTX ISA, sections 9.7.9, 9.7.13, 9.7.15): barriers in local memory,
// copies of boxes of a tensor and products of a warpgroup. Products are computed when their
// warpgroup waits for them, from what local memory and registers hold then; copies arrive at once,
// or when no item gets on without one.
#include <stdlib.h>
#include <string.h>

#include "core/element.h"
#include "instructions.h"
#include "items.h"

#define GROUP 128   // items of a warpgroup
#define NAMES 16    // barriers that have a number
#define PRODUCTS 64 // of one item that are under way
#define COLUMNS_MOST 256
#define DEPTH 16

struct barrier { // 8 bytes of local memory
    uint16_t pending, expected;
    int32_t bytes : 31; // to come, or come before they were announced
    uint32_t phase : 1;
};

struct box {
    uint32_t to, full;
    const uint64_t *map;
    int at[4]; // column, row, head, batch
};

struct product {
    float *c;
    const uint32_t *a[4]; // in registers, or NULL: in local memory by
    uint32_t descriptor_a, descriptor_b;
    int columns, adds, batch;
    enum fcl_dtype dtype;
};

static struct {
    struct circle named[NAMES], groups[ITEMS_LIMIT / GROUP];
    struct {
        struct product product[PRODUCTS];
        int count, batch;
    } items[ITEMS_LIMIT];
    struct box *boxes; // on their way, from the oldest on
    size_t box_count, box_room;
} run;

void hopper_begin(size_t items)
{
    memset(run.named, 0, sizeof run.named);
    for (size_t g = 0; g * GROUP < items; g++)
        run.groups[g] = (struct circle){.members = GROUP};
    for (size_t n = 0; n < items; n++)
        run.items[n].count = run.items[n].batch = 0;
    run.box_count = 0;
}

// ---- barriers

static struct barrier *barrier_at(uint32_t at)
{
    return (struct barrier *)(void *)local_at(at, sizeof(struct barrier));
}

// A phase is over when all have arrived and all bytes have come.
static void settle(struct barrier *b)
{
    item_progress();
    if (b->pending == 0 && b->bytes == 0) {
        b->phase ^= 1;
        b->pending = b->expected;
    }
}

void emulate_barrier_open(uint32_t at, uint32_t count)
{
    *barrier_at(at) = (struct barrier){.pending = (uint16_t)count, .expected = (uint16_t)count};
}

void emulate_barrier_arrive(uint32_t at, uint32_t bytes)
{
    struct barrier *b = barrier_at(at);
    if (b->pending == 0)
        item_fail("more arrivals at a barrier than it expects");
    b->pending--;
    b->bytes += (int32_t)bytes;
    settle(b);
}

struct phase {
    const struct barrier *barrier;
    uint32_t parity;
};

static int has_passed(void *what)
{
    const struct phase *x = what;
    return x->barrier->phase != x->parity;
}

void emulate_barrier_wait(uint32_t at, uint32_t parity)
{
    struct phase phase = {barrier_at(at), parity};
    item_wait(has_passed, &phase);
}

void emulate_named(int name, int items, int waits)
{
    struct circle *circle = &run.named[name % NAMES];
    unsigned generation;
    circle->members = (size_t)items;
    if (!waits) {
        circle_come(circle);
        return;
    }
    const int last = circle_meet(circle, &generation);
    circle_part(circle, last, generation);
}

// ---- copies

// A tensor map as kernels/tile/nvidia_wgmma_parts.clh describes it; columns, rows, heads, batches.
struct map {
    const unsigned char *p;
    uint64_t strides[4]; // bytes
    int64_t extents[4];
    int box;
};

static struct map read_map(const uint64_t *words)
{
    const uint64_t *w = words;
    struct map m = {
        .p = (const unsigned char *)(uintptr_t)w[0], .strides = {2}, .box = (int)(w[7] & 0xff) + 1};
    m.strides[1] = (w[1] >> 32 | (w[3] >> 32 & 15) << 32) << 4;
    m.strides[2] = ((w[2] & 0xffffffff) | (w[3] >> 36 & 15) << 32) << 4;
    m.strides[3] = (w[2] >> 32 | (w[3] >> 40 & 15) << 32) << 4;
    for (int i = 0; i < 4; i++)
        m.extents[i] = (int64_t)(w[4 + i / 2] >> i % 2 * 32 & 0xffffffff) + 1;
    return m;
}

static void arrive(const struct box *x)
{
    const struct map m = read_map(x->map);
    for (int row = 0; row < m.box; row++)
        for (int column = 0; column < 64; column++) {
            const int64_t at[4] = {x->at[0] + column, x->at[1] + row, x->at[2], x->at[3]};
            uint16_t value = 0;
            const unsigned char *from = m.p;
            int inside = 1;
            for (int i = 0; i < 4; i++) {
                inside &= at[i] >= 0 && at[i] < m.extents[i];
                from += inside ? (uint64_t)at[i] * m.strides[i] : 0;
            }
            if (inside)
                memcpy(&value, from, sizeof value);
            const uint32_t unit = (uint32_t)(column / 8 ^ (row & 7));
            memcpy(local_at(x->to + (uint32_t)row * 128 + unit * 16 + (uint32_t)column % 8 * 2, 2),
                   &value, 2);
        }
    struct barrier *b = barrier_at(x->full);
    b->bytes -= m.box * 128;
    settle(b);
}

int hopper_stalled(void)
{
    if (!run.box_count)
        return 0;
    const struct box oldest = run.boxes[0];
    memmove(run.boxes, run.boxes + 1, --run.box_count * sizeof *run.boxes);
    arrive(&oldest);
    return 1;
}

void emulate_copy_box(uint32_t to, const void *map, uint32_t full, int column, int row, int head,
                      int batch)
{
    const struct box x = {to, full, map, {column, row, head, batch}};
    if (to % 1024)
        item_fail("a box that does not begin at a multiple of 1024");
    if (items_early()) {
        arrive(&x);
        return;
    }
    if (run.box_count == run.box_room) {
        run.box_room = run.box_room ? 2 * run.box_room : 64;
        run.boxes = realloc(run.boxes, run.box_room * sizeof *run.boxes);
        if (!run.boxes)
            item_fail("no memory for copies");
    }
    run.boxes[run.box_count++] = x;
}

// ---- products

static float element_at(uint32_t address, enum fcl_dtype dtype)
{
    return fcl_element_load(local_at(address ^ (address >> 7 & 7) << 4, 2), dtype, 0);
}

// Where a descriptor begins, and the distance of its chunks of 64 columns.
static uint32_t begin_of(uint32_t descriptor)
{
    return (descriptor & 0x3fff) << 4;
}

static uint32_t chunks_of(uint32_t descriptor)
{
    return descriptor >> 16 << 4;
}

// Rows of 128 bytes, eight after the other; the depth lies along a row, or (of values) across.
static float along(uint32_t descriptor, int row, int k, enum fcl_dtype dtype)
{
    return element_at(begin_of(descriptor) + (uint32_t)(row * 128 + k * 2), dtype);
}

static float across(uint32_t descriptor, int k, int column, enum fcl_dtype dtype)
{
    return element_at(begin_of(descriptor) + (uint32_t)(column / 64) * chunks_of(descriptor) +
                          (uint32_t)(k * 128 + column % 64 * 2),
                      dtype);
}

static float half_of(uint32_t word, int high, enum fcl_dtype dtype)
{
    const uint16_t bits = (uint16_t)(high ? word >> 16 : word);
    return fcl_element_load(&bits, dtype, 0);
}

// The left operand of item l of a warpgroup in registers: as of mma.m16n8k16, warp w's rows from 16
// w on.
static void left_of_item(const struct product *x, int l, float a[64][DEPTH])
{
    const int row = l / WARP * 16 + l % WARP / 4, column = l % 4 * 2;
    for (int n = 0; n < 4; n++)
        for (int high = 0; high < 2; high++)
            a[row + n % 2 * 8][column + n / 2 * 8 + high] = half_of(*x->a[n], high, x->dtype);
}

static void multiply(int first, int number)
{
    static float a[64][DEPTH], b[DEPTH][COLUMNS_MOST];
    const struct product *x = &run.items[first].product[number];
    for (int l = 0; l < GROUP; l++) {
        const struct product *own = &run.items[first + l].product[number];
        if (own->descriptor_b != x->descriptor_b || own->descriptor_a != x->descriptor_a ||
            own->columns != x->columns)
            item_fail("items of a warpgroup that multiply different matrices");
        if (own->a[0])
            left_of_item(own, l, a);
    }
    for (int k = 0; k < DEPTH; k++) {
        for (int row = 0; row < 64 && !x->a[0]; row++)
            a[row][k] = along(x->descriptor_a, row, k, x->dtype);
        for (int n = 0; n < x->columns; n++)
            b[k][n] = x->a[0] ? across(x->descriptor_b, k, n, x->dtype)
                              : along(x->descriptor_b, n, k, x->dtype);
    }
    for (int l = 0; l < GROUP; l++)
        for (int i = 0; i < x->columns / 2; i++) {
            const int row = l / WARP * 16 + l % WARP / 4 + i / 2 % 2 * 8,
                      column = i / 4 * 8 + l % 4 * 2 + i % 2;
            float *c = &run.items[first + l].product[number].c[i], sum = x->adds ? *c : 0.0f;
            for (int k = 0; k < DEPTH; k++)
                sum += a[row][k] * b[k][column];
            *c = sum;
        }
}

static void issue(struct product x)
{
    const size_t me = item_number();
    if (run.items[me].count == PRODUCTS)
        item_fail("more products under way than there are places");
    x.batch = run.items[me].batch;
    run.items[me].product[run.items[me].count++] = x;
}

void emulate_wgmma(float *c, int columns, int adds, int is_bf16, uint32_t a, uint32_t b)
{
    issue((struct product){.c = c,
                           .descriptor_a = a,
                           .descriptor_b = b,
                           .columns = columns,
                           .adds = adds,
                           .dtype = is_bf16 ? FCL_BF16 : FCL_F16});
}

void emulate_wgmma_held(float *c, int columns, int is_bf16, const uint32_t *a0, const uint32_t *a1,
                        const uint32_t *a2, const uint32_t *a3, uint32_t b)
{
    issue((struct product){.c = c,
                           .a = {a0, a1, a2, a3},
                           .descriptor_b = b,
                           .columns = columns,
                           .adds = 1,
                           .dtype = is_bf16 ? FCL_BF16 : FCL_F16});
}

void emulate_wgmma_commit(void)
{
    run.items[item_number()].batch++;
}

void emulate_wgmma_wait(int batches)
{
    const size_t me = item_number(), first = me / GROUP * GROUP;
    const int until = run.items[me].batch - batches;
    struct circle *circle = &run.groups[me / GROUP];
    unsigned generation;
    int finished = 0;
    item_pause(); // what was freed too early may be overwritten meanwhile
    const int last = circle_meet(circle, &generation);
    while (finished < run.items[me].count && run.items[me].product[finished].batch < until)
        finished++;
    if (last)
        for (int n = 0; n < finished; n++)
            multiply((int)first, n);
    circle_part(circle, last, generation);
    run.items[me].count -= finished;
    memmove(run.items[me].product, run.items[me].product + finished,
            (size_t)run.items[me].count * sizeof *run.items[me].product);
}
