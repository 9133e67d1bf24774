// Misuse of the public calls: a clear error that names the argument, its value and what is allowed,
// and nothing enqueued; and what the contract promises about events, queues, threads and
// allocation.
#include "cmocka_all.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

#include "attention.h"

static struct test_opencl opencl;
static int have_device;

static int open_device(void **state)
{
    (void)state;
    have_device = test_opencl_open(&opencl, NULL);
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    test_opencl_close(&opencl);
    return 0;
}

#define NEED_DEVICE()                                      \
    do {                                                   \
        (void)state;                                       \
        if (!have_device)                                  \
            skip();                                        \
        memset(&opencl.capture, 0, sizeof opencl.capture); \
    } while (0)

// The last call failed with this status and its message has these words.
static void expect_error(enum fcl_status got, enum fcl_status wanted, const char *words)
{
    if (got != wanted || !strstr(opencl.capture.text, words))
        fail_msg("status %d, wanted %d with \"%s\"; log: %s", (int)got, (int)wanted, words,
                 opencl.capture.text);
    memset(&opencl.capture, 0, sizeof opencl.capture);
}

// ---- devices

static void device_options_are_checked(void **state)
{
    NEED_DEVICE();
    fcl_device *device = (fcl_device *)&device;
    struct fcl_device_options options = {.struct_size = sizeof options,
                                         .log = test_capture_log(&opencl.capture)};
    expect_error(fcl_device_create(NULL, opencl.id, &options, &device), FCL_INVALID_ARGUMENT,
                 "context");
    assert_null(device);
    expect_error(fcl_device_create(opencl.context, NULL, &options, &device), FCL_INVALID_ARGUMENT,
                 "device");
    options.caps_mask = "no_such_fact=1";
    expect_error(fcl_device_create(opencl.context, opencl.id, &options, &device),
                 FCL_INVALID_ARGUMENT, "no_such_fact");
    options.caps_mask = NULL;
    options.struct_size = 0;
    assert_int_equal(fcl_device_create(opencl.context, opencl.id, &options, &device),
                     FCL_INVALID_ARGUMENT);
    options.struct_size = sizeof options + 8;
    assert_int_equal(fcl_device_create(opencl.context, opencl.id, &options, &device),
                     FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_device_create(opencl.context, opencl.id, &options, NULL),
                     FCL_INVALID_ARGUMENT);
    fcl_device_destroy(NULL);
    fcl_device_destroy(&device);
}

// An older caller's shorter struct is read as far as it goes.
static void older_structs_are_read(void **state)
{
    NEED_DEVICE();
    fcl_device *device = NULL;
    struct fcl_device_options options = {.struct_size =
                                             offsetof(struct fcl_device_options, caps_mask),
                                         .caps_mask = "this field does not exist yet"};
    assert_int_equal(fcl_device_create(opencl.context, opencl.id, &options, &device), FCL_OK);
    fcl_device_destroy(&device);
    assert_null(device);
}

// ---- plans

static void plans_are_checked(void **state)
{
    static const struct {
        struct fcl_problem problem;
        enum fcl_status status;
        const char *words;
    } rows[] = {
        {{.struct_size = sizeof(struct fcl_problem), .batch = 1, .head_dim_qk = 64},
         FCL_INVALID_ARGUMENT,
         "heads_q"},
        {{.struct_size = sizeof(struct fcl_problem), .heads_q = 1},
         FCL_INVALID_ARGUMENT,
         "head_dim_qk"},
        {{.struct_size = sizeof(struct fcl_problem), .heads_q = 1, .head_dim_qk = 1025},
         FCL_UNSUPPORTED,
         "1025"},
        {{.struct_size = sizeof(struct fcl_problem),
          .heads_q = 5,
          .heads_kv = 2,
          .head_dim_qk = 64},
         FCL_INVALID_ARGUMENT,
         "heads_kv"},
        {{.struct_size = sizeof(struct fcl_problem),
          .heads_q = 1,
          .head_dim_qk = 64,
          .mask = (enum fcl_mask)9},
         FCL_INVALID_ARGUMENT,
         "mask"},
        {{.struct_size = sizeof(struct fcl_problem),
          .heads_q = 1,
          .head_dim_qk = 64,
          .dtype_k = (enum fcl_dtype)7},
         FCL_INVALID_ARGUMENT,
         "dtype_k"},
        {{.struct_size = sizeof(struct fcl_problem),
          .heads_q = 1,
          .head_dim_qk = 64,
          .alignment = 3},
         FCL_INVALID_ARGUMENT,
         "align"},
        {{.struct_size = sizeof(struct fcl_problem),
          .heads_q = 1,
          .head_dim_qk = 64,
          .alibi = FCL_ALIBI_STANDARD},
         FCL_INVALID_ARGUMENT,
         "mask is none"},
        {{.struct_size = sizeof(struct fcl_problem),
          .heads_q = 1,
          .head_dim_qk = 64,
          .bias = (enum fcl_bias)4},
         FCL_INVALID_ARGUMENT,
         "bias is 4"},
    };
    NEED_DEVICE();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fcl_plan *plan = (fcl_plan *)&plan;
        char reason[256] = "";
        expect_error(fcl_plan_create(opencl.device, &rows[i].problem, NULL, &plan), rows[i].status,
                     rows[i].words);
        assert_null(plan);
        assert_int_equal(
            fcl_attention_supports(opencl.device, &rows[i].problem, reason, sizeof reason),
            rows[i].status);
        assert_non_null(strstr(reason, rows[i].words));
    }
    fcl_plan *plan;
    assert_int_equal(fcl_plan_create(NULL, &rows[0].problem, NULL, &plan), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_plan_create(opencl.device, NULL, NULL, &plan), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_plan_create(opencl.device, &rows[0].problem, NULL, NULL),
                     FCL_INVALID_ARGUMENT);
    fcl_plan_destroy(NULL);
}

// An explicit configuration is used or refused, never replaced.
static void explicit_configurations_are_kept(void **state)
{
    NEED_DEVICE();
    const struct fcl_problem problem = fcl_problem(.batch = 1, .heads_q = 1, .head_dim_qk = 16);
    struct fcl_config config = {.family = FCL_FAMILY_GENERIC,
                                .block_m = 16,
                                .block_n = 16,
                                .items = 1 << 20,
                                .item_rows = 4,
                                .d_chunk = 16,
                                .dv_split = 1,
                                .splits = 1};
    fcl_plan *plan;
    expect_error(
        fcl_plan_create(opencl.device, &problem, fcl_plan_options(.config = &config), &plan),
        FCL_UNSUPPORTED, "column groups");
    config.items = 64;
    config.block_n = 1024;
    config.block_m = 1000;
    config.items = 1000;
    assert_int_equal(
        fcl_plan_create(opencl.device, &problem, fcl_plan_options(.config = &config), &plan),
        FCL_UNSUPPORTED);
    expect_error(fcl_plan_create(opencl.device, &problem,
                                 fcl_plan_options(.implementation = (enum fcl_implementation)5),
                                 &plan),
                 FCL_INVALID_ARGUMENT, "options.implementation is 5");
    const struct fcl_problem statistics =
        fcl_problem(.pass = FCL_PASS_STATISTICS, .batch = 1, .heads_q = 1, .head_dim_qk = 16);
    expect_error(fcl_plan_create(opencl.device, &statistics,
                                 fcl_plan_options(.implementation = FCL_UNFUSED), &plan),
                 FCL_UNSUPPORTED, "statistics");
}

// 40: local memory beyond the limit is refused before any build, with both numbers.
static void local_memory_limit(void **state)
{
    NEED_DEVICE();
    const struct fcl_device_options options = {.caps_mask = "local_bytes=16384"};
    const struct fcl_problem problem = fcl_problem(.batch = 1, .heads_q = 1, .head_dim_qk = 64);
    struct fcl_config config;
    fcl_plan *plan;
    test_opencl_reopen(&opencl, &options);
    assert_int_equal(fcl_config_parse("generic_m64n32w128r8d64", &config, NULL, 0), FCL_OK);
    char needed[32];
    snprintf(needed, sizeof needed, "%zu bytes", fcl_config_local_bytes(&config, &problem));
    expect_error(
        fcl_plan_create(opencl.device, &problem, fcl_plan_options(.config = &config), &plan),
        FCL_UNSUPPORTED, needed);
    fcl_plan_create(opencl.device, &problem, fcl_plan_options(.config = &config), &plan);
    expect_error(FCL_UNSUPPORTED, FCL_UNSUPPORTED, "16384");
    test_opencl_reopen(&opencl, NULL);
}

// ---- launches

struct launch {
    fcl_plan *plan;
    cl_mem q, k, v, o, lse;
    struct fcl_attention_args args;
};

// b2 h4/2 q8 k16 d32 f32 with lse: every buffer exactly as large as needed.
static void make_launch(struct launch *l)
{
    struct fcl_problem problem;
    assert_int_equal(fcl_problem_parse("fwd b2 h4/2 q8 k16 d32 lse causal-br", &problem, NULL, 0),
                     FCL_OK);
    l->plan = test_plan(&opencl, &problem, FCL_FUSED, NULL);
    l->q = test_opencl_zeros(&opencl, 2 * 4 * 8 * 32 * 4);
    l->k = test_opencl_zeros(&opencl, 2 * 2 * 16 * 32 * 4);
    l->v = test_opencl_zeros(&opencl, 2 * 2 * 16 * 32 * 4);
    l->o = test_opencl_zeros(&opencl, 2 * 4 * 8 * 32 * 4);
    l->lse = test_opencl_zeros(&opencl, 2 * 4 * 8 * 4);
    l->args = (struct fcl_attention_args){.struct_size = sizeof l->args,
                                          .shape = {2, 4, 2, 8, 16},
                                          .q = {.buffer = l->q},
                                          .k = {.buffer = l->k},
                                          .v = {.buffer = l->v},
                                          .o = {.buffer = l->o},
                                          .lse = l->lse};
    memset(&opencl.capture, 0, sizeof opencl.capture);
}

static void free_launch(struct launch *l)
{
    cl_mem buffers[] = {l->q, l->k, l->v, l->o, l->lse};
    for (size_t i = 0; i < 5; i++)
        clReleaseMemObject(buffers[i]);
    fcl_plan_destroy(&l->plan);
}

static enum fcl_status enqueue(const struct launch *l, const struct fcl_attention_args *args)
{
    return fcl_attention_enqueue(l->plan, opencl.queue, args, 0, NULL, NULL);
}

// Changes one field of good arguments and expects an error with these words.
#define EXPECT_REFUSED(change, status, words)            \
    do {                                                 \
        struct fcl_attention_args args = l.args;         \
        change;                                          \
        expect_error(enqueue(&l, &args), status, words); \
    } while (0)

static void launch_arguments_are_checked(void **state)
{
    NEED_DEVICE();
    struct launch l;
    make_launch(&l);
    assert_int_equal(enqueue(&l, &l.args), FCL_OK);
    EXPECT_REFUSED(args.shape.batch = -1, FCL_INVALID_ARGUMENT, "shape.batch is -1");
    EXPECT_REFUSED(args.shape.heads_q = 0, FCL_INVALID_ARGUMENT, "shape.heads_q is 0");
    EXPECT_REFUSED(args.shape.heads_kv = 3, FCL_INVALID_ARGUMENT, "heads_kv, 3");
    EXPECT_REFUSED(args.shape.k_len = INT64_C(1) << 40, FCL_INVALID_ARGUMENT, "shape.k_len");
    EXPECT_REFUSED(args.q.buffer = NULL, FCL_INVALID_ARGUMENT, "q.buffer is NULL");
    EXPECT_REFUSED(args.o.buffer = NULL, FCL_INVALID_ARGUMENT, "o.buffer is NULL");
    EXPECT_REFUSED(args.lse = NULL, FCL_INVALID_ARGUMENT, "lse is NULL");
    EXPECT_REFUSED(args.lse_offset = 2, FCL_INVALID_ARGUMENT, "lse_offset is 2");
    EXPECT_REFUSED(args.lse_offset = 4, FCL_INVALID_ARGUMENT, "lse holds 256 bytes");
    EXPECT_REFUSED(args.q.offset = 6, FCL_INVALID_ARGUMENT, "q.offset is 6");
    EXPECT_REFUSED(args.k.offset = 8, FCL_INVALID_ARGUMENT, "align=4");
    EXPECT_REFUSED(args.k.offset = 16, FCL_INVALID_ARGUMENT, "k holds 8192 bytes");
    EXPECT_REFUSED(args.shape.k_len = 17, FCL_INVALID_ARGUMENT, "k holds");
    EXPECT_REFUSED(args.scale = NAN, FCL_INVALID_ARGUMENT, "scale is nan");
    EXPECT_REFUSED(args.struct_size = 0, FCL_INVALID_ARGUMENT, "struct_size is 0");
    assert_int_equal(fcl_attention_enqueue(NULL, opencl.queue, &l.args, 0, NULL, NULL),
                     FCL_INVALID_ARGUMENT);
    expect_error(fcl_attention_enqueue(l.plan, NULL, &l.args, 0, NULL, NULL), FCL_INVALID_ARGUMENT,
                 "queue is NULL");
    expect_error(fcl_attention_enqueue(l.plan, opencl.queue, NULL, 0, NULL, NULL),
                 FCL_INVALID_ARGUMENT, "args is NULL");
    clFinish(opencl.queue);
    free_launch(&l);
}

static void set_strides(struct fcl_tensor *t, int64_t b, int64_t h, int64_t i, int64_t d)
{
    const int64_t strides[4] = {b, h, i, d};
    memcpy(t->strides, strides, sizeof strides);
}

static void strides_are_checked(void **state)
{
    NEED_DEVICE();
    struct launch l;
    make_launch(&l);
    EXPECT_REFUSED(set_strides(&args.o, 1024, 256, 0, 1), FCL_INVALID_ARGUMENT,
                   "o has elements that overlap");
    EXPECT_REFUSED(set_strides(&args.o, 1024, 256, 16, 1), FCL_INVALID_ARGUMENT, "overlap");
    EXPECT_REFUSED(set_strides(&args.o, 256, 256, 32, 1), FCL_INVALID_ARGUMENT, "overlap");
    EXPECT_REFUSED(set_strides(&args.k, 1024, 512, 33, 1), FCL_INVALID_ARGUMENT,
                   "k.strides[2] (row) is 33");
    EXPECT_REFUSED(set_strides(&args.k, 1024, -512, 32, 1), FCL_INVALID_ARGUMENT,
                   "k.strides[1] (head) is -512");
    EXPECT_REFUSED(set_strides(&args.k, 1024, 512, 32, 2), FCL_UNSUPPORTED, "k.strides[3]");
    EXPECT_REFUSED(set_strides(&args.q, INT64_C(1) << 60, 256, 32, 1), FCL_INVALID_ARGUMENT,
                   "q.strides[0]");
    EXPECT_REFUSED(set_strides(&args.q, INT64_C(1) << 50, 256, 32, 1), FCL_INVALID_ARGUMENT,
                   "q holds");
    struct fcl_attention_args broadcast = l.args;
    set_strides(&broadcast.k, 0, 0, 32, 1);
    assert_int_equal(enqueue(&l, &broadcast), FCL_OK);
    clFinish(opencl.queue);
    free_launch(&l);
}

// Queues and buffers of another context crash some drivers; they are refused before.
static void other_contexts_are_refused(void **state)
{
    NEED_DEVICE();
    struct launch l;
    cl_int code;
    make_launch(&l);
    cl_context other = clCreateContext(NULL, 1, &opencl.id, NULL, NULL, &code);
    cl_command_queue queue = clCreateCommandQueue(other, opencl.id, 0, &code);
    cl_event event = NULL;
    expect_error(fcl_attention_enqueue(l.plan, queue, &l.args, 0, NULL, &event),
                 FCL_INVALID_ARGUMENT, "queue belongs to another context than the one launched on");
    struct fcl_attention_args foreign = l.args;
    foreign.v.buffer = clCreateBuffer(other, CL_MEM_READ_WRITE, 1 << 20, NULL, &code);
    expect_error(fcl_attention_enqueue(l.plan, opencl.queue, &foreign, 0, NULL, &event),
                 FCL_INVALID_ARGUMENT, "v is not a buffer of the queue's context");
    assert_null(event);
    clReleaseMemObject(foreign.v.buffer);
    clReleaseCommandQueue(queue);
    clReleaseContext(other);
    free_launch(&l);
}

// A launch waits for its wait list, on an out-of-order queue too; an empty launch gives an event as
// well.
static void events_are_chained(void **state)
{
    NEED_DEVICE();
    struct launch l;
    cl_int code;
    make_launch(&l);
    cl_command_queue queue = clCreateCommandQueue(opencl.context, opencl.id,
                                                  CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
    if (!queue)
        queue = clCreateCommandQueue(opencl.context, opencl.id, 0, &code);
    cl_event gate = clCreateUserEvent(opencl.context, &code), events[2];
    assert_int_equal(fcl_attention_enqueue(l.plan, queue, &l.args, 1, &gate, &events[0]), FCL_OK);
    struct fcl_attention_args empty = l.args;
    empty.shape.q_len = 0;
    assert_int_equal(fcl_attention_enqueue(l.plan, queue, &empty, 1, &events[0], &events[1]),
                     FCL_OK);
    clFlush(queue);
    for (int i = 0; i < 2; i++) {
        cl_int status;
        clGetEventInfo(events[i], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
        assert_true(status > CL_COMPLETE);
    }
    clSetUserEventStatus(gate, CL_COMPLETE);
    assert_int_equal(clWaitForEvents(2, events), CL_SUCCESS);
    clReleaseEvent(gate);
    clReleaseEvent(events[0]);
    clReleaseEvent(events[1]);
    clReleaseCommandQueue(queue);
    free_launch(&l);
}

// The unfused form: its workspace is the score matrix, it is refused cleanly when too large, and
// demanded.
static void workspace_is_demanded(void **state)
{
    NEED_DEVICE();
    struct fcl_problem problem;
    size_t bytes;
    assert_int_equal(fcl_problem_parse("fwd h2 q64 k64 d16 f16", &problem, NULL, 0), FCL_OK);
    fcl_plan *plan = test_plan(&opencl, &problem, FCL_UNFUSED, "generic_m16n16w64r4d16");
    fcl_plan *fused = test_plan(&opencl, &problem, FCL_FUSED, NULL);
    const struct fcl_shape shape = {1, 2, 2, 64, 64}, huge = {1, 2, 2, 1 << 20, 1 << 20};
    assert_int_equal(fcl_plan_workspace_size(plan, &shape, &bytes), FCL_OK);
    assert_int_equal(bytes, 2 * 64 * 64 * 2);
    memset(&opencl.capture, 0, sizeof opencl.capture);
    expect_error(fcl_plan_workspace_size(plan, &huge, &bytes), FCL_OUT_OF_MEMORY, "4398046511104");
    assert_true(bytes == (size_t)4398046511104);
    assert_int_equal(fcl_plan_workspace_size(fused, &huge, &bytes), FCL_OK);
    assert_int_equal(bytes, 0);
    cl_mem buffer = test_opencl_zeros(&opencl, 2 * 64 * 16 * 2),
           small = test_opencl_zeros(&opencl, 100);
    struct fcl_attention_args args = {.struct_size = sizeof args, .shape = shape};
    args.q.buffer = args.k.buffer = args.v.buffer = args.o.buffer = buffer;
    expect_error(fcl_attention_enqueue(plan, opencl.queue, &args, 0, NULL, NULL),
                 FCL_INVALID_ARGUMENT, "workspace is NULL");
    args.workspace = small;
    expect_error(fcl_attention_enqueue(plan, opencl.queue, &args, 0, NULL, NULL),
                 FCL_INVALID_ARGUMENT, "workspace holds 100 bytes");
    clReleaseMemObject(buffer);
    clReleaseMemObject(small);
    fcl_plan_destroy(&plan);
    fcl_plan_destroy(&fused);
}

// NULL where something is needed is an answer, not a crash.
static void missing_arguments_are_refused(void **state)
{
    NEED_DEVICE();
    struct launch l;
    make_launch(&l);
    size_t bytes;
    struct fcl_plan_info info;
    struct fcl_timing timing;
    struct fcl_comparison comparison;
    struct fcl_problem problem;
    fcl_problem_init(NULL);
    fcl_problem_init(&problem);
    assert_int_equal(fcl_plan_workspace_size(NULL, &l.args.shape, &bytes), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_plan_workspace_size(l.plan, NULL, &bytes), FCL_INVALID_ARGUMENT);
    fcl_plan_describe(NULL, &info);
    assert_string_equal(info.label, "");
    fcl_plan_describe(l.plan, NULL);
    const struct fcl_attention_args *args = &l.args;
    assert_int_equal(fcl_attention_time(NULL, &args, 1, NULL, &timing), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_attention_time(l.plan, NULL, 1, NULL, &timing), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_attention_time(l.plan, &args, 1, NULL, NULL), FCL_INVALID_ARGUMENT);
    expect_error(fcl_attention_time(l.plan, &args, 0, NULL, &timing), FCL_INVALID_ARGUMENT,
                 "count is 0");
    assert_int_equal(fcl_attention_check(NULL, &problem, FCL_FILL_PLAIN, 1, 1, &comparison),
                     FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_attention_check(l.plan, NULL, FCL_FILL_PLAIN, 1, 1, &comparison),
                     FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_attention_check(l.plan, &problem, FCL_FILL_PLAIN, 1, 1, NULL),
                     FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_config_format(NULL, NULL, 0), 0);
    assert_int_equal(fcl_caps_format(NULL, NULL, 0), 0);
    expect_error(fcl_attention_enqueue(l.plan, opencl.queue, &l.args, 1, NULL, NULL),
                 FCL_INVALID_ARGUMENT, "wait is NULL");
    free_launch(&l);
}

// ---- the simple call

static void simple_call_keeps_its_plans(void **state)
{
    NEED_DEVICE();
    struct launch l;
    make_launch(&l);
    struct fcl_problem problem;
    assert_int_equal(fcl_problem_parse("fwd b2 h4/2 q8 k16 d32 causal-br", &problem, NULL, 0),
                     FCL_OK);
    assert_int_equal(
        fcl_attention_run(opencl.device, opencl.queue, l.q, l.k, l.v, l.o, &problem, NULL), FCL_OK);
    memset(&opencl.capture, 0, sizeof opencl.capture);
    problem.q_len = 5; // a new length: no new plan, nothing logged
    cl_event event = NULL;
    assert_int_equal(
        fcl_attention_run(opencl.device, opencl.queue, l.q, l.k, l.v, l.o, &problem, &event),
        FCL_OK);
    assert_string_equal(opencl.capture.text, "");
    assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
    clReleaseEvent(event);
    static const char *const more[][2] = {{"lse", "LSE"},
                                          {"sink", "sinks"},
                                          {"alibi=given", "slopes"},
                                          {"bias=f32", "a bias"},
                                          {"mask=u8", "a mask tensor"}};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        char text[96], words[64];
        snprintf(text, sizeof text, "fwd b2 h4/2 q8 k16 d32 causal-br %s", more[i][0]);
        snprintf(words, sizeof words, "has no place for %s", more[i][1]);
        assert_int_equal(fcl_problem_parse(text, &problem, NULL, 0), FCL_OK);
        expect_error(
            fcl_attention_run(opencl.device, opencl.queue, l.q, l.k, l.v, l.o, &problem, NULL),
            FCL_INVALID_ARGUMENT, words);
    }
    expect_error(fcl_attention_run(opencl.device, opencl.queue, l.q, l.k, l.v, l.o, NULL, NULL),
                 FCL_INVALID_ARGUMENT, "problem is NULL");
    free_launch(&l);
}

// Whatever window came before.
static void simple_call_takes_any_window(void **state)
{
    NEED_DEVICE();
    struct launch l;
    struct fcl_problem problem;
    make_launch(&l);
    static const char *const windows[] = {"win=2,-1", "win=3,5", "", "win=-1,4"};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        char text[96];
        snprintf(text, sizeof text, "fwd b2 h4/2 q8 k16 d32 causal-br %s", windows[i]);
        assert_int_equal(fcl_problem_parse(text, &problem, NULL, 0), FCL_OK);
        assert_int_equal(
            fcl_attention_run(opencl.device, opencl.queue, l.q, l.k, l.v, l.o, &problem, NULL),
            FCL_OK);
    }
    free_launch(&l);
}

// ---- threads

struct worker {
    struct launch *launch;
    cl_mem o;
    int failures;
};

static void *work(void *user)
{
    struct worker *worker = user;
    cl_int code;
    cl_command_queue queue = clCreateCommandQueue(opencl.context, opencl.id, 0, &code);
    struct fcl_attention_args args = worker->launch->args;
    args.o.buffer = worker->o;
    for (int i = 0; i < 50; i++)
        worker->failures +=
            fcl_attention_enqueue(worker->launch->plan, queue, &args, 0, NULL, NULL) != FCL_OK;
    clFinish(queue);
    clReleaseCommandQueue(queue);
    return NULL;
}

// One plan, four threads with their own queues and outputs: every output is right. V is all ones,
// so O is too.
static void plans_are_shared_by_threads(void **state)
{
    NEED_DEVICE();
    struct launch l;
    pthread_t threads[4];
    struct worker workers[4];
    float ones[2 * 2 * 16 * 32], result[2 * 4 * 8 * 32];
    make_launch(&l);
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
        ones[i] = 1.0f;
    clEnqueueWriteBuffer(opencl.queue, l.v, CL_TRUE, 0, sizeof ones, ones, 0, NULL, NULL);
    for (int i = 0; i < 4; i++) {
        workers[i] = (struct worker){&l, test_opencl_zeros(&opencl, sizeof result), 0};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].failures, 0);
        clEnqueueReadBuffer(opencl.queue, workers[i].o, CL_TRUE, 0, sizeof result, result, 0, NULL,
                            NULL);
        for (size_t n = 0; n < sizeof result / sizeof *result; n++)
            assert_true(fabsf(result[n] - 1.0f) < 1e-6f);
        clReleaseMemObject(workers[i].o);
    }
    free_launch(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_options_are_checked),
        cmocka_unit_test(older_structs_are_read),
        cmocka_unit_test(plans_are_checked),
        cmocka_unit_test(explicit_configurations_are_kept),
        cmocka_unit_test(local_memory_limit),
        cmocka_unit_test(launch_arguments_are_checked),
        cmocka_unit_test(strides_are_checked),
        cmocka_unit_test(other_contexts_are_refused),
        cmocka_unit_test(events_are_chained),
        cmocka_unit_test(workspace_is_demanded),
        cmocka_unit_test(missing_arguments_are_refused),
        cmocka_unit_test(simple_call_keeps_its_plans),
        cmocka_unit_test(simple_call_takes_any_window),
        cmocka_unit_test(plans_are_shared_by_threads),
    };
    return cmocka_run_group_tests_name("api", tests, open_device, close_device);
}
