// Many launches of many shapes, in random order and several in flight: every one has to give the
// bits of the first of its shape, which is compared with the reference. A race, a barrier that is
// one use off, state that a launch leaves behind for the next show up here, sometimes after
// thousands. `soak LAUNCHES`; 20000 are for a GPU.
#include "cmocka_all.h"

#include <stdio.h>

#include "attention.h"

#define DEPTH 3 // launches of a shape before one is read: each with buffers of its own

static const char *const problems[] = {
    "fwd b2 h8 q333 k450 d128 f16 causal-br lse",
    "fwd b3 h40 q128 k128 d128 f16",
    "fwd b2 h6/2 q700 k300 d64 f16 causal-tl",
    "fwd b1 h3 q1000 k1000 d64 bf16 causal-br lse",
    "fwd b1 h4 q257 k513 d256 f16 causal-br",
    "fwd b1 h4/2 q200 k700 d192/128 bf16 br win=100,30",
    "fwd b4 h32/8 q1 k2000 d128 f16 lse",
    "fwd b1 h8/2 q5 k3000 d64 f16 causal-br",
    "fwd b2 h4 q130 k257 d80 f16 causal-br",
    "fwd b2 h3 q65 k129 d64 causal-br",
    "fwd b3 h4/2 q90 k200 d64 f16 varlen causal-br lse",
    "fwd b3 h4/2 q4 k200 d64 f16 page=16 causal-br",
};
#define SHAPES (sizeof problems / sizeof *problems)

struct shape {
    struct test_attention attention;
    struct fcl_attention_args args[DEPTH];
    fcl_plan *plan;
    unsigned char *first, *again;
    size_t launches;
};

// The first result of a shape, right.
static void begin(struct test_opencl *opencl, struct shape *s, const char *problem)
{
    struct fcl_plan_info info;
    test_attention_init(&s->attention, problem);
    s->plan = test_plan(opencl, &s->attention.problem, FCL_FUSED, NULL);
    fcl_plan_describe(s->plan, &info);
    test_attention_judge(opencl, &s->attention, s->plan, 0);
    const size_t bytes = s->attention.o.bytes;
    s->first = malloc(bytes);
    s->again = malloc(bytes);
    assert_true(s->first && s->again);
    memcpy(s->first, s->attention.o.data, bytes);
    for (int i = 0; i < DEPTH; i++)
        test_attention_args(opencl, &s->attention, s->plan, &s->args[i]);
    printf("%-52s %s\n", problem, info.config);
}

static void end(struct shape *s)
{
    for (int i = 0; i < DEPTH; i++)
        test_attention_args_release(&s->args[i]);
    fcl_plan_destroy(&s->plan);
    test_attention_free(&s->attention);
    free(s->first);
    free(s->again);
}

// One more launch; the last of DEPTH is read. Returns whether its bits are those of the first.
static int launch(struct test_opencl *opencl, struct shape *s)
{
    static const unsigned char poison = 0xff;
    const size_t number = s->launches++ % DEPTH, bytes = s->attention.o.bytes;
    const struct fcl_attention_args *args = &s->args[number];
    assert_int_equal(clEnqueueFillBuffer(opencl->queue, args->o.buffer, &poison, 1, TEST_GUARD,
                                         bytes, 0, NULL, NULL),
                     CL_SUCCESS);
    assert_int_equal(fcl_attention_enqueue(s->plan, opencl->queue, args, 0, NULL, NULL), FCL_OK);
    if (number < DEPTH - 1)
        return 1;
    return test_guarded_read(opencl, args->o.buffer, s->again, bytes) &&
           !memcmp(s->first, s->again, bytes);
}

int main(int argc, char **argv)
{
    static struct shape shapes[SHAPES];
    const long launches = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    long wrong = 0;
    uint32_t random = 1;
    struct test_opencl opencl;
    if (!test_opencl_open(&opencl, NULL))
        return 77; // skipped
    for (size_t i = 0; i < SHAPES; i++)
        begin(&opencl, &shapes[i], problems[i]);
    for (long i = 0; i < launches; i++) {
        random = random * 1664525u + 1013904223u;
        struct shape *s = &shapes[(random >> 16) % SHAPES];
        if (!launch(&opencl, s)) {
            wrong++;
            printf("launch %ld: not the bits of the first: %s\n", i,
                   problems[(size_t)(s - shapes)]);
        }
    }
    clFinish(opencl.queue);
    for (size_t i = 0; i < SHAPES; i++)
        end(&shapes[i]);
    test_opencl_close(&opencl);
    printf("%ld launches, %ld wrong\n", launches, wrong);
    return wrong != 0;
}
