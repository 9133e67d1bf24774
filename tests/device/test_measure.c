// Timing launches on a real OpenCL device, and what happens when a launch fails.
#include "cmocka_all.h"

#include <math.h>

#include "attention.h"
#include "core/timing.h"

static struct test_opencl opencl;

static const char source[] = "__kernel void work(__global float *x, int rounds)\n"
                             "{\n"
                             "    float a = get_global_id(0);\n"
                             "    for (int i = 0; i < rounds; i++)\n"
                             "        a = a * 0.999f + 1.0f;\n"
                             "    x[get_global_id(0)] = a;\n"
                             "}\n";

#define ITEMS 4096
#define SLOWER 50

// A kernel that works as long as it is told, and how it was used.
struct work {
    cl_program program;
    cl_kernel kernel;
    cl_mem buffer;
    int launches;
    int fail_at;      // this launch fails; 0: none
    int events;       // 0: hand out no events; 2: at every second launch
    int slow;         // so many launches work SLOWER times as long
    int wanted;       // launches that were asked for an event
    int profiled;     // launches on a queue with profiling
    cl_event kept[2]; // retained events of the last launches that had one, newest first
};

static int set_up(void **state)
{
    struct work *work = calloc(1, sizeof *work);
    *state = work;
    work->events = 1;
    if (opencl.id == NULL && !test_opencl_open(&opencl, NULL))
        return 0;
    const char *text = source;
    cl_int code;
    work->program = clCreateProgramWithSource(opencl.context, 1, &text, NULL, &code);
    assert_int_equal(clBuildProgram(work->program, 1, &opencl.id, "", NULL, NULL), CL_SUCCESS);
    work->kernel = clCreateKernel(work->program, "work", &code);
    work->buffer = clCreateBuffer(opencl.context, CL_MEM_WRITE_ONLY, ITEMS * SLOWER * sizeof(float),
                                  NULL, &code);
    assert_int_equal(clSetKernelArg(work->kernel, 0, sizeof work->buffer, &work->buffer), 0);
    return 0;
}

static int tear_down(void **state)
{
    struct work *work = *state;
    for (int i = 0; i < 2; i++)
        if (work->kept[i] != NULL)
            clReleaseEvent(work->kept[i]);
    if (work->kernel != NULL) {
        clReleaseKernel(work->kernel);
        clReleaseProgram(work->program);
        clReleaseMemObject(work->buffer);
    }
    free(work);
    return 0;
}

static struct work *start(void **state, cl_int rounds)
{
    struct work *work = *state;
    if (work->kernel == NULL)
        skip();
    assert_int_equal(clSetKernelArg(work->kernel, 1, sizeof rounds, &rounds), 0);
    return work;
}

static void keep(struct work *work, cl_event event)
{
    if (work->kept[1] != NULL)
        clReleaseEvent(work->kept[1]);
    work->kept[1] = work->kept[0];
    work->kept[0] = event;
    clRetainEvent(event);
}

static void look_at(struct work *work, cl_command_queue queue, int wanted)
{
    cl_command_queue_properties properties = 0;
    clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    work->profiled += (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
    work->wanted += wanted;
}

static enum fcl_status launch(void *user, cl_command_queue queue, cl_event *first, cl_event *last)
{
    struct work *work = user;
    const size_t global = ITEMS * (work->launches < work->slow ? SLOWER : 1), local = 64;
    cl_event event = NULL;
    look_at(work, queue, first != NULL || last != NULL);
    if (++work->launches == work->fail_at)
        return FCL_UNSUPPORTED;
    const int gives_event = work->events > 0 && work->launches % work->events == 0;
    if (clEnqueueNDRangeKernel(queue, work->kernel, 1, NULL, &global, &local, 0, NULL,
                               gives_event ? &event : NULL) != CL_SUCCESS)
        return FCL_DEVICE_ERROR;
    if (event == NULL)
        return FCL_OK;
    keep(work, event);
    if (first != NULL && clRetainEvent(event) == CL_SUCCESS)
        *first = event;
    if (last != NULL && clRetainEvent(event) == CL_SUCCESS)
        *last = event;
    clReleaseEvent(event);
    return FCL_OK;
}

// Nobody but us may still hold an event that was handed out. Not the newest one: PoCL's queue holds
// on to that.
static void events_were_released(const struct work *work)
{
    cl_uint references = 0;
    assert_non_null(work->kept[1]);
    assert_int_equal(clGetEventInfo(work->kept[1], CL_EVENT_REFERENCE_COUNT, sizeof references,
                                    &references, NULL),
                     CL_SUCCESS);
    assert_int_equal(references, 1);
}

static void longer_work_takes_longer(void **state)
{
    struct fcl_timing shorter = {0}, longer = {0};
    struct work *work = start(state, 2000);
    assert_int_equal(
        fcl_timing_measure(opencl.device, launch, work, fcl_timing_options(.samples = 0), &shorter),
        FCL_OK);
    assert_int_equal(shorter.samples, 9);
    assert_true(shorter.batch >= 1);
    assert_true(shorter.min_ms > 0 && shorter.min_ms <= shorter.median_ms);
    assert_true(shorter.spread >= 0);
    start(state, 40000);
    assert_int_equal(
        fcl_timing_measure(opencl.device, launch, work, fcl_timing_options(.samples = 3), &longer),
        FCL_OK);
    assert_int_equal(longer.samples, 3);
    assert_true(longer.min_ms > 4 * shorter.min_ms);
    assert_true(longer.batch <= shorter.batch);
    events_were_released(work);
}

static void every_sample_is_long_enough(void **state)
{
    struct fcl_timing timing = {0};
    struct work *work = start(state, 1);
    assert_int_equal(
        fcl_timing_measure(opencl.device, launch, work, fcl_timing_options(.samples = 5), &timing),
        FCL_OK);
    assert_true(timing.batch > 1);
    assert_true(work->launches >= 2 + 5 * timing.batch);
}

// Also where launches of the warm-up are far slower than those of a sample.
static void samples_are_as_long_as_asked_for(void **state)
{
    const enum fcl_clock clocks[] = {FCL_CLOCK_EVENT, FCL_CLOCK_WALL};
    for (size_t i = 0; i < FCL_COUNT(clocks); i++) {
        struct fcl_timing timing = {0};
        struct work *work = start(state, 2000);
        work->launches = 0;
        work->slow = 2;
        assert_int_equal(
            fcl_timing_measure(opencl.device, launch, work,
                               fcl_timing_options(.samples = 3, .batch_ms = 50, .clock = clocks[i]),
                               &timing),
            FCL_OK);
        assert_int_equal(timing.samples, 3);
        assert_true(timing.batch * timing.min_ms > 49.99);
        assert_true(timing.batch * timing.median_ms < 500);
        assert_true(work->launches >= 3 * timing.batch);
    }
}

// On a queue without profiling, with an event for the last launch of a batch only, and without a
// warning.
static void the_wall_clock_can_be_asked_for(void **state)
{
    struct fcl_timing timing = {0};
    struct work *work = start(state, 200);
    opencl.device->clock_warned = 0;
    assert_int_equal(fcl_timing_measure(
                         opencl.device, launch, work,
                         fcl_timing_options(.samples = 2, .batch_ms = 100, .clock = FCL_CLOCK_WALL),
                         &timing),
                     FCL_OK);
    assert_int_equal(timing.clock, FCL_CLOCK_WALL);
    assert_int_equal(opencl.device->clock_warned, 0);
    assert_int_equal(work->profiled, 0);
    assert_true(timing.batch > 2);
    assert_true(work->wanted >= 2);
    assert_true(work->launches - work->wanted >= 2 * (timing.batch - 1));
    // With events all that is the other way round.
    work->launches = work->wanted = 0;
    assert_int_equal(
        fcl_timing_measure(opencl.device, launch, work, fcl_timing_options(.samples = 2), &timing),
        FCL_OK);
    assert_int_equal(work->profiled, work->launches);
    assert_int_equal(work->wanted, work->launches);
}

// Without events there is only the host's clock, and the result says so.
static void without_stamps_the_wall_clock_is_used(void **state)
{
    struct fcl_timing timing = {0};
    struct work *work = start(state, 2000);
    work->events = 0;
    assert_int_equal(
        fcl_timing_measure(opencl.device, launch, work, fcl_timing_options(.samples = 3), &timing),
        FCL_OK);
    assert_int_equal(timing.clock, FCL_CLOCK_WALL);
    assert_true(timing.min_ms > 0);
    double ms = 0;
    assert_int_equal(fcl_timing_probe(opencl.device, launch, work, &ms), FCL_OK);
    assert_true(ms > 0);
}

// Some launches with stamps do not make up for others without.
static void half_of_the_stamps_are_not_enough(void **state)
{
    struct fcl_timing timing = {0};
    struct work *work = start(state, 40000);
    work->events = 2;
    assert_int_equal(
        fcl_timing_measure(opencl.device, launch, work, fcl_timing_options(.samples = 6), &timing),
        FCL_OK);
    assert_int_equal(timing.clock, FCL_CLOCK_WALL);
}

// In the warm-up, and in the middle of a batch: the status comes back, the result stays untouched.
static void failing_launches_end_the_measurement(void **state)
{
    const int at[] = {1, 2};
    for (size_t i = 0; i < FCL_COUNT(at); i++) {
        struct fcl_timing timing = {.median_ms = 77};
        double ms = 77;
        struct work *work = start(state, 1);
        work->launches = 0;
        work->fail_at = at[i];
        assert_int_equal(fcl_timing_measure(opencl.device, launch, work,
                                            fcl_timing_options(.samples = 3), &timing),
                         FCL_UNSUPPORTED);
        assert_int_equal(work->launches, at[i]);
        work->launches = 0;
        assert_int_equal(fcl_timing_probe(opencl.device, launch, work, &ms), FCL_UNSUPPORTED);
        assert_int_equal(work->launches, at[i]);
        assert_true(timing.median_ms == 77 && ms == 77);
    }
    struct fcl_timing timing = {0};
    struct work *work = start(state, 1);
    work->launches = work->fail_at = 0;
    assert_int_equal(
        fcl_timing_measure(opencl.device, launch, work, fcl_timing_options(.samples = 1), &timing),
        FCL_OK);
    // The warm-up's length is a matter of time: far behind it is the middle of a sample.
    work->fail_at = work->launches - 1;
    const int before = work->launches;
    work->launches = 0;
    const enum fcl_status status =
        fcl_timing_measure(opencl.device, launch, work, fcl_timing_options(.samples = 99), &timing);
    assert_int_equal(status, FCL_UNSUPPORTED);
    assert_true(work->launches < before);
    events_were_released(work);
}

static void probes_launch_twice(void **state)
{
    double ms = 0;
    struct work *work = start(state, 2000);
    assert_int_equal(fcl_timing_probe(opencl.device, launch, work, &ms), FCL_OK);
    assert_int_equal(work->launches, 2);
    assert_true(ms > 0);
}

// ---- plans

// 4 heads over 2 of the keys, 9 to 16 of them visible; all scores are 0.
struct planned {
    fcl_plan *plan;
    cl_mem zeros, o, lse;
    struct fcl_attention_args args;
};

static void make_planned(struct planned *p)
{
    struct fcl_problem problem;
    assert_int_equal(fcl_problem_parse("fwd h4/2 q8 k16 d32 lse causal-br", &problem, NULL, 0),
                     FCL_OK);
    p->plan = test_plan(&opencl, &problem, FCL_FUSED, NULL);
    p->zeros = test_opencl_zeros(&opencl, 4 * 8 * 32 * 4);
    p->o = test_opencl_zeros(&opencl, 4 * 8 * 32 * 4);
    p->lse = test_opencl_zeros(&opencl, 4 * 8 * 4);
    p->args =
        *fcl_attention_args(.shape = {1, 4, 2, 8, 16}, .q.buffer = p->zeros, .k.buffer = p->zeros,
                            .v.buffer = p->zeros, .o.buffer = p->o, .lse = p->lse);
    memset(&opencl.capture, 0, sizeof opencl.capture);
}

static void free_planned(struct planned *p)
{
    fcl_plan_destroy(&p->plan);
    clReleaseMemObject(p->zeros);
    clReleaseMemObject(p->o);
    clReleaseMemObject(p->lse);
}

static void timing_options_are_checked(void **state)
{
    start(state, 1);
    struct planned l;
    struct fcl_timing timing = {.median_ms = 77};
    const struct {
        struct fcl_timing_options options;
        const char *words;
    } cases[] = {
        {{.struct_size = 4}, "options.struct_size is 4, allowed are 8 to"},
        {{.struct_size = sizeof cases[0].options + 8}, "options.struct_size is"},
        {*fcl_timing_options(.samples = -1), "options.samples is -1, allowed are 0 (9) and more"},
        {*fcl_timing_options(.batch_ms = -2), "options.batch_ms is -2, allowed are 0 and more"},
        {*fcl_timing_options(.batch_ms = (double)NAN), "options.batch_ms is "},
        {*fcl_timing_options(.batch_ms = (double)INFINITY), "options.batch_ms is inf"},
        {*fcl_timing_options(.clock = (enum fcl_clock)2),
         "options.clock is 2, allowed are 0 (event) and 1 (wall)"},
    };
    make_planned(&l);
    const struct fcl_attention_args *args = &l.args;
    for (size_t i = 0; i < FCL_COUNT(cases); i++) {
        assert_int_equal(fcl_attention_time(l.plan, &args, 1, &cases[i].options, &timing),
                         FCL_INVALID_ARGUMENT);
        if (strstr(opencl.capture.text, cases[i].words) == NULL)
            fail_msg("no \"%s\" in: %s", cases[i].words, opencl.capture.text);
        memset(&opencl.capture, 0, sizeof opencl.capture);
    }
    assert_true(timing.median_ms == 77);
    free_planned(&l);
}

static void timing_takes_options(void **state)
{
    start(state, 1);
    struct planned l;
    struct fcl_timing timing;
    make_planned(&l);
    const struct fcl_attention_args *args = &l.args;
    assert_int_equal(fcl_attention_time(l.plan, &args, 1, NULL, &timing), FCL_OK);
    assert_int_equal(timing.samples, 9);
    assert_int_equal(fcl_attention_time(
                         l.plan, &args, 1,
                         fcl_timing_options(.samples = 3, .batch_ms = 20, .clock = FCL_CLOCK_WALL),
                         &timing),
                     FCL_OK);
    assert_int_equal(timing.samples, 3);
    assert_int_equal(timing.clock, FCL_CLOCK_WALL);
    assert_true(timing.batch * timing.median_ms > 10); // samples differ on a busy machine
    free_planned(&l);
}

// Each of three launches has its own LSE; before, all are zeros.
static void timed_launches_take_turns(void **state)
{
    start(state, 1);
    struct planned l[3];
    const struct fcl_attention_args *args[3];
    struct fcl_timing timing;
    for (int i = 0; i < 3; i++) {
        make_planned(&l[i]);
        args[i] = &l[i].args;
    }
    assert_int_equal(
        fcl_attention_time(l[0].plan, args, 3, fcl_timing_options(.samples = 1), &timing), FCL_OK);
    assert_true(timing.batch >= 3);
    for (int i = 0; i < 3; i++) {
        float lse = 0;
        clEnqueueReadBuffer(opencl.queue, l[i].lse, CL_TRUE, 0, 4, &lse, 0, NULL, NULL);
        assert_true(fabsf(lse - logf(9)) < 1e-5f); // the first query sees 9 keys, all scores are 0
        free_planned(&l[i]);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(longer_work_takes_longer),
        TEST(every_sample_is_long_enough),
        TEST(samples_are_as_long_as_asked_for),
        TEST(the_wall_clock_can_be_asked_for),
        TEST(without_stamps_the_wall_clock_is_used),
        TEST(half_of_the_stamps_are_not_enough),
        TEST(failing_launches_end_the_measurement),
        TEST(probes_launch_twice),
        TEST(timing_options_are_checked),
        TEST(timing_takes_options),
        TEST(timed_launches_take_turns),
    };
    const int failed = cmocka_run_group_tests_name("measure", tests, NULL, NULL);
    test_opencl_close(&opencl);
    return failed;
}
