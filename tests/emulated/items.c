// Items as stacks to jump between, and the instructions that they do together: warps of 32 lanes
// exchange what they bring through `brought`, and the last to come computes for all. Copies to
// local memory arrive as late as they may: when the item waits for them.
#define _GNU_SOURCE
#include "items.h"

#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "core/element.h"
#include "instructions.h"

#define STACK_BYTES (256 << 10)
#define LOCAL_BYTES (256 << 10)
#define COPIES 256 // of one item that have not arrived

struct copy {
    uint32_t to;
    int bytes, batch;
    const void *from;
};

// What a lane brings to an instruction of its warp, and takes from it.
struct share {
    uint32_t word[12], address;
    int flag;
};

struct item {
    jmp_buf at;
    char *stack;
    int started, ended;
    uint32_t lane, warp;
    unsigned meeting, joint; // how many meetings of its warp, of the group, it has been at
    size_t local_used;
    struct copy copies[COPIES];
    int copy_count, batch;
};

// Those who meet: a warp or the group. `generation` counts complete meetings.
struct circle {
    size_t members, come;
    unsigned generation;
};

static struct {
    struct item *items;
    size_t count, group, current, local_limit;
    struct circle warps[ITEMS_LIMIT / WARP], all;
    struct share brought[ITEMS_LIMIT], taken[ITEMS_LIMIT];
    void (*entry)(void **arguments);
    void **arguments;
    unsigned char *local; // in the first 4 GiB, since addresses of local memory have 32 bits
    jmp_buf scheduler;
    unsigned long progress;
    const char *wrong;
    int any;
} run;

static struct item *self(void)
{
    return &run.items[run.current];
}

static void fail(const char *what)
{
    if (!run.wrong)
        run.wrong = what;
    _longjmp(run.scheduler, 2);
}

// Goes on with the other items until `circle` has met.
static void wait_for(struct circle *circle, unsigned generation)
{
    while (circle->generation == generation)
        if (!_setjmp(self()->at))
            _longjmp(run.scheduler, 1);
}

// 1 for the member who comes last, and does what is to be done before `part` lets all go on.
static int meet(struct circle *circle, unsigned *generation)
{
    *generation = circle->generation;
    run.progress++;
    return ++circle->come == circle->members;
}

static void part(struct circle *circle, int last, unsigned generation)
{
    if (last) {
        circle->come = 0;
        circle->generation++;
    } else {
        wait_for(circle, generation);
    }
}

static struct circle *own_warp(void)
{
    return &run.warps[self()->warp];
}

static struct share *lanes(struct share *shares) // of this warp
{
    return shares + self()->warp * WARP;
}

static unsigned char *local_at(uint32_t address, size_t bytes)
{
    const size_t at = address - (uint32_t)(uintptr_t)run.local;
    if (at > run.local_limit || bytes > run.local_limit - at)
        fail("an address outside of local memory");
    return run.local + at;
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
    return (int)self()->lane;
}

// ---- copies

void emulate_copy(uint32_t to, const void *from, int bytes)
{
    struct item *i = self();
    if (i->copy_count == COPIES)
        fail("more copies on their way than there are places");
    if (to % 16 || (uintptr_t)from % 16)
        fail("a copy that is not aligned to 16 bytes");
    local_at(to, 16);
    i->copies[i->copy_count++] = (struct copy){to, bytes, i->batch, from};
}

void emulate_commit(void)
{
    self()->batch++;
}

static void arrive(struct item *i, int batches)
{
    int kept = 0;
    for (int n = 0; n < i->copy_count; n++) {
        const struct copy *c = &i->copies[n];
        if (c->batch >= i->batch - batches) {
            i->copies[kept++] = *c;
            continue;
        }
        unsigned char *to = local_at(c->to, 16);
        memset(to, 0, 16);
        if (c->bytes)
            memcpy(to, c->from, (size_t)c->bytes);
    }
    i->copy_count = kept;
}

static int meet_all(int x)
{
    unsigned generation;
    const int last = meet(&run.all, &generation);
    run.brought[run.current].flag = x;
    if (last) {
        run.any = 0;
        for (size_t n = 0; n < run.count; n++)
            run.any |= run.brought[n].flag;
    }
    part(&run.all, last, generation);
    return run.any;
}

void emulate_wait(int batches)
{
    arrive(self(), batches);
    meet_all(0);
}

int emulate_any_item(int x)
{
    const int any = meet_all(x != 0);
    meet_all(0); // so that nobody asks anew before all have the answer
    return any;
}

// ---- instructions of a warp

// Brings this lane's share; the last one computes what each takes.
static struct share *together(struct share mine,
                              void (*compute)(struct share *brought, struct share *taken))
{
    unsigned generation;
    struct circle *warp = own_warp();
    run.brought[run.current] = mine;
    const int last = meet(warp, &generation);
    if (last)
        compute(lanes(run.brought), lanes(run.taken));
    part(warp, last, generation);
    return &run.taken[run.current];
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
        fail("a row of a matrix that is not aligned to 16 bytes");
    const struct share *x =
        together((struct share){.address = at, .flag = transposed}, load_matrices);
    *x0 = x->word[0];
    *x1 = x->word[1];
    *x2 = x->word[2];
    *x3 = x->word[3];
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

// ---- what OpenCL C has

void *emulate_local(uint64_t bytes)
{
    struct item *i = self();
    unsigned char *at = run.local + i->local_used;
    i->local_used += (bytes + 127) / 128 * 128;
    if (i->local_used > run.local_limit)
        fail("more local memory than the device has");
    return at;
}

size_t emulate_local_id(unsigned dimension)
{
    return dimension ? 0 : run.current;
}

size_t emulate_group_id(unsigned dimension)
{
    return dimension ? 0 : run.group;
}

size_t emulate_global_id(unsigned dimension)
{
    return dimension ? 0 : run.group * run.count + run.current;
}

void emulate_barrier(unsigned flags)
{
    (void)flags;
    meet_all(0);
}

// ---- running

static void begin(void)
{
    run.entry(run.arguments);
    self()->ended = 1;
    run.progress++;
    _longjmp(run.scheduler, 1);
}

static void start(struct item *i)
{
    static ucontext_t back, context;
    i->started = 1;
    getcontext(&context);
    context.uc_stack.ss_sp = i->stack;
    context.uc_stack.ss_size = STACK_BYTES;
    context.uc_link = &back;
    makecontext(&context, begin, 0);
    swapcontext(&back, &context);
}

// Each item in turn, until all have ended or none gets on.
static void schedule(void)
{
    static volatile size_t ended;
    static unsigned long before;
    do {
        before = run.progress;
        ended = 0;
        for (run.current = 0; run.current < run.count; run.current++) {
            struct item *i = self();
            if (!i->ended) {
                const int came = _setjmp(run.scheduler);
                if (came == 2)
                    return;
                if (came == 0) {
                    if (i->started)
                        _longjmp(i->at, 1);
                    start(i);
                }
            }
            ended += (size_t)self()->ended;
        }
    } while (ended < run.count && run.progress != before);
    if (ended < run.count)
        run.wrong = "items wait for others that never come";
}

static const char *prepare(size_t items)
{
    if (!run.items) {
        run.items = calloc(ITEMS_LIMIT, sizeof *run.items);
        run.local = mmap(NULL, LOCAL_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
        if (!run.items || run.local == MAP_FAILED)
            return "no memory for work-items";
    }
    for (size_t n = 0; n < items; n++) {
        struct item *i = &run.items[n];
        if (!i->stack && !(i->stack = malloc(STACK_BYTES)))
            return "no memory for stacks";
        i->started = i->ended = i->copy_count = i->batch = 0;
        i->local_used = 0;
        i->lane = (uint32_t)(n % WARP);
        i->warp = (uint32_t)(n / WARP);
    }
    for (size_t w = 0; w < items / WARP; w++)
        run.warps[w] = (struct circle){.members = WARP};
    if (items % WARP)
        run.warps[items / WARP] = (struct circle){.members = items % WARP};
    run.all = (struct circle){.members = items};
    return NULL;
}

const char *items_run(void (*entry)(void **arguments), void **arguments, size_t items, size_t group,
                      size_t local_limit)
{
    run.wrong = items > ITEMS_LIMIT || local_limit > LOCAL_BYTES ? "a work-group that is too large"
                                                                 : prepare(items);
    if (run.wrong)
        return run.wrong;
    memset(run.local, 0xff, LOCAL_BYTES); // NaN in any type
    run.entry = entry;
    run.arguments = arguments;
    run.count = items;
    run.group = group;
    run.local_limit = local_limit;
    schedule();
    return run.wrong;
}
