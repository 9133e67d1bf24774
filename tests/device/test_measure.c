// Timing launches on a real OpenCL device, and what happens when a launch fails.
#include "cmocka_all.h"

#include "core/timing.h"
#include "opencl.h"

static struct test_opencl opencl;

static const char source[] = "__kernel void work(__global float *x, int rounds)\n"
                             "{\n"
                             "    float a = get_global_id(0);\n"
                             "    for (int i = 0; i < rounds; i++)\n"
                             "        a = a * 0.999f + 1.0f;\n"
                             "    x[get_global_id(0)] = a;\n"
                             "}\n";

#define ITEMS 4096

// A kernel that works as long as it is told, and how it was used.
struct work {
    cl_program program;
    cl_kernel kernel;
    cl_mem buffer;
    int launches;
    int fail_at;      // this launch fails; 0: none
    int events;       // 0: hand out no events; 2: at every second launch
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
    work->buffer =
        clCreateBuffer(opencl.context, CL_MEM_WRITE_ONLY, ITEMS * sizeof(float), NULL, &code);
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

static enum fcl_status launch(void *user, cl_command_queue queue, cl_event *first, cl_event *last)
{
    struct work *work = user;
    const size_t global = ITEMS, local = 64;
    if (++work->launches == work->fail_at)
        return FCL_UNSUPPORTED;
    const int wants_event = work->events > 0 && work->launches % work->events == 0;
    const cl_int code = clEnqueueNDRangeKernel(queue, work->kernel, 1, NULL, &global, &local, 0,
                                               NULL, wants_event ? first : NULL);
    if (code != CL_SUCCESS)
        return FCL_DEVICE_ERROR;
    if (!wants_event)
        return FCL_OK;
    *last = *first;
    clRetainEvent(*last);
    keep(work, *first);
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
    assert_int_equal(fcl_timing_measure(opencl.device, launch, work, 0, 0, &shorter), FCL_OK);
    assert_int_equal(shorter.samples, 9);
    assert_true(shorter.batch >= 1);
    assert_true(shorter.min_ms > 0 && shorter.min_ms <= shorter.median_ms);
    assert_true(shorter.spread >= 0);
    start(state, 40000);
    assert_int_equal(fcl_timing_measure(opencl.device, launch, work, 3, 0, &longer), FCL_OK);
    assert_int_equal(longer.samples, 3);
    assert_true(longer.min_ms > 4 * shorter.min_ms);
    assert_true(longer.batch <= shorter.batch);
    events_were_released(work);
}

static void every_sample_is_long_enough(void **state)
{
    struct fcl_timing timing = {0};
    struct work *work = start(state, 1);
    assert_int_equal(fcl_timing_measure(opencl.device, launch, work, 5, 0, &timing), FCL_OK);
    assert_true(timing.batch > 1);
    assert_true(work->launches >= 2 + 5 * timing.batch);
}

static void samples_are_as_long_as_asked_for(void **state)
{
    struct fcl_timing timing = {0};
    struct work *work = start(state, 2000);
    assert_int_equal(fcl_timing_measure(opencl.device, launch, work, 2, 50, &timing), FCL_OK);
    assert_true(timing.batch * timing.median_ms > 25); // the warm-up may have met slower launches
    assert_true(work->launches >= 2 * timing.batch);
}

// Without events there is only the host's clock, and the result says so.
static void without_stamps_the_wall_clock_is_used(void **state)
{
    struct fcl_timing timing = {0};
    struct work *work = start(state, 2000);
    work->events = 0;
    assert_int_equal(fcl_timing_measure(opencl.device, launch, work, 3, 0, &timing), FCL_OK);
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
    assert_int_equal(fcl_timing_measure(opencl.device, launch, work, 6, 0, &timing), FCL_OK);
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
        assert_int_equal(fcl_timing_measure(opencl.device, launch, work, 3, 0, &timing),
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
    assert_int_equal(fcl_timing_measure(opencl.device, launch, work, 1, 0, &timing), FCL_OK);
    // The warm-up's length is a matter of time: far behind it is the middle of a sample.
    work->fail_at = work->launches - 1;
    const int before = work->launches;
    work->launches = 0;
    const enum fcl_status status = fcl_timing_measure(opencl.device, launch, work, 99, 0, &timing);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(longer_work_takes_longer),
        TEST(every_sample_is_long_enough),
        TEST(samples_are_as_long_as_asked_for),
        TEST(without_stamps_the_wall_clock_is_used),
        TEST(half_of_the_stamps_are_not_enough),
        TEST(failing_launches_end_the_measurement),
        TEST(probes_launch_twice),
    };
    const int failed = cmocka_run_group_tests_name("measure", tests, NULL, NULL);
    test_opencl_close(&opencl);
    return failed;
}
