// Items as stacks to jump between.
#define _GNU_SOURCE
#include "items.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "instructions.h"

#define STACK_BYTES (256 << 10)
#define LOCAL_BYTES (256 << 10)

struct item {
    jmp_buf at;
    char *stack;
    int started, ended;
    size_t local_used;
};

static struct {
    struct item *items;
    size_t count, group, groups, current, local_limit;
    struct circle all;
    void (*entry)(void **arguments);
    void **arguments;
    unsigned char *local;
    jmp_buf scheduler;
    unsigned long progress;
    const char *wrong;
    int early;
} run;

static struct item *self(void)
{
    return &run.items[run.current];
}

size_t item_number(void)
{
    return run.current;
}

void item_progress(void)
{
    run.progress++;
}

int items_early(void)
{
    return run.early;
}

void item_fail(const char *what)
{
    if (!run.wrong)
        run.wrong = what;
    _longjmp(run.scheduler, 2);
}

void item_pause(void)
{
    run.progress++;
    if (!_setjmp(self()->at))
        _longjmp(run.scheduler, 1);
}

void item_wait(int (*ready)(void *what), void *what)
{
    while (!ready(what))
        if (!_setjmp(self()->at))
            _longjmp(run.scheduler, 1);
    run.progress++;
}

struct meeting {
    const struct circle *circle;
    unsigned generation;
};

static int is_over(void *what)
{
    const struct meeting *x = what;
    return x->circle->generation != x->generation;
}

int circle_meet(struct circle *circle, unsigned *generation)
{
    *generation = circle->generation;
    run.progress++;
    return ++circle->come == circle->members;
}

void circle_part(struct circle *circle, int last, unsigned generation)
{
    struct meeting meeting = {circle, generation};
    if (last) {
        circle->come = 0;
        circle->generation++;
    } else {
        item_wait(is_over, &meeting);
    }
}

void circle_come(struct circle *circle)
{
    unsigned generation;
    if (circle_meet(circle, &generation))
        circle_part(circle, 1, generation);
}

unsigned char *local_at(uint32_t address, size_t bytes)
{
    if (address > run.local_limit || bytes > run.local_limit - address)
        item_fail("an address outside of local memory");
    return run.local + address;
}

// ---- what OpenCL C has

void *emulate_local(uint64_t bytes)
{
    struct item *i = self();
    unsigned char *at = run.local + i->local_used;
    i->local_used += (bytes + 127) / 128 * 128;
    if (i->local_used > run.local_limit)
        item_fail("more local memory than the device has");
    return at;
}

uint32_t emulate_address(const void *local)
{
    return (uint32_t)((const unsigned char *)local - run.local);
}

size_t emulate_local_id(unsigned dimension)
{
    return dimension ? 0 : run.current;
}

size_t emulate_group_id(unsigned dimension)
{
    return dimension ? 0 : run.group;
}

size_t emulate_group_count(unsigned dimension)
{
    return dimension ? 1 : run.groups;
}

size_t emulate_global_id(unsigned dimension)
{
    return dimension ? 0 : run.group * run.count + run.current;
}

uint64_t emulate_compare_and_set(uint64_t *p, uint64_t from, uint64_t to)
{
    const uint64_t before = *p;
    if (before == from)
        *p = to;
    return before;
}

void emulate_barrier(unsigned flags)
{
    unsigned generation;
    (void)flags;
    const int last = circle_meet(&run.all, &generation);
    circle_part(&run.all, last, generation);
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
    } while (ended < run.count && (run.progress != before || hopper_stalled()));
    if (ended < run.count)
        run.wrong = "items wait for others that never come";
}

static const char *prepare(size_t items)
{
    if (!run.items)
        run.items = calloc(ITEMS_LIMIT, sizeof *run.items);
    if (!run.local)
        run.local = aligned_alloc(1024, LOCAL_BYTES);
    if (!run.items || !run.local)
        return "no memory for work-items";
    for (size_t n = 0; n < items; n++) {
        struct item *i = &run.items[n];
        if (!i->stack && !(i->stack = malloc(STACK_BYTES)))
            return "no memory for stacks";
        i->started = i->ended = 0;
        i->local_used = 0;
    }
    run.all = (struct circle){.members = items};
    warps_begin(items);
    hopper_begin(items);
    return NULL;
}

const char *items_run(void (*entry)(void **arguments), void **arguments, size_t items, size_t group,
                      size_t groups, size_t local_limit, int early)
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
    run.groups = groups;
    run.local_limit = local_limit;
    run.early = early;
    schedule();
    return run.wrong;
}
