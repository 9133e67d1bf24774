// Times launches. Drivers' event stamps are not trusted: they are compared with the host's clock
// over the same launches, and where the two disagree the host's clock is used and said to be used.
// The host's clock may also be asked for; then no launch is profiled.
#include "timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_EXCESS 1.05       // of event time over wall time
#define SHORTEST_SHARE 0.2        // of event time in wall time
#define SHARE_APPLIES_FROM_MS 5.0 // shorter: the launches' own cost may be most of the wall time
#define BATCH_MS 1.0
#define BATCH_RESOLUTIONS 100
#define BATCH_LIMIT 65536
#define GROWTHS 3        // of a batch whose samples are too short
#define GROWTH_SPARE 1.1 // launches beyond what the short one says
#define FLUSH_LAUNCHES 16
#define WARM_UP_MS 20.0
#define WARM_UP_LAUNCHES 2
#define DEFAULT_SAMPLES 9

// ---- Judging: pure functions ------------------------------------------------------------------

const char *fcl_clock_text(enum fcl_clock clock)
{
    return clock == FCL_CLOCK_EVENT ? "event" : clock == FCL_CLOCK_WALL ? "wall" : "unknown clock";
}

double fcl_stamps_ms(struct fcl_stamps stamps)
{
    if (!stamps.valid || stamps.start == 0 || stamps.end <= stamps.start)
        return -1;
    return (double)(stamps.end - stamps.start) * 1e-6;
}

enum fcl_clock fcl_timing_judge(double event_ms, double wall_ms)
{
    // Written so that a NaN fails.
    if (!(event_ms > 0) || !(wall_ms > 0) || !(event_ms <= wall_ms * LONGEST_EXCESS))
        return FCL_CLOCK_WALL;
    if (wall_ms >= SHARE_APPLIES_FROM_MS && event_ms < wall_ms * SHORTEST_SHARE)
        return FCL_CLOCK_WALL;
    return FCL_CLOCK_EVENT;
}

double fcl_timing_least(uint64_t resolution_ns, double batch_ms, int samples)
{
    const double resolutions_ms = (double)resolution_ns * 1e-6 * BATCH_RESOLUTIONS;
    return fmax(fmax(fmax(resolutions_ms, BATCH_MS), batch_ms), SHARE_APPLIES_FROM_MS / samples);
}

int fcl_timing_batch(double one_ms, double least_ms)
{
    if (!(one_ms > least_ms / BATCH_LIMIT))
        return BATCH_LIMIT;
    return one_ms >= least_ms ? 1 : (int)ceil(least_ms / one_ms);
}

static int compare_times(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

// The value at a fraction of the sorted times, between two of them by their distance.
static double quantile(const double *sorted, int count, double fraction)
{
    const double at = fraction * (count - 1);
    const int below = (int)at;
    const int above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

void fcl_timing_summarise(double *times, int count, struct fcl_timing *timing)
{
    timing->median_ms = timing->min_ms = timing->spread = 0;
    timing->samples = count;
    timing->kept = (int)fcl_max(0, fcl_min(count, FCL_TIMING_KEPT));
    if (count <= 0)
        return;
    memcpy(timing->times_ms, times, (size_t)timing->kept * sizeof *times);
    qsort(times, (size_t)count, sizeof *times, compare_times);
    timing->min_ms = times[0];
    timing->median_ms = quantile(times, count, 0.5);
    if (timing->median_ms > 0)
        timing->spread =
            (quantile(times, count, 0.75) - quantile(times, count, 0.25)) / timing->median_ms;
}

// ---- Measuring --------------------------------------------------------------------------------

// A measurement under way.
struct measure {
    struct fcl_device *device;
    enum fcl_clock clock; // that was asked for
    fcl_timing_launch launch;
    void *user;
    cl_command_queue queue;
    cl_event *events; // first and last of each launch of a batch; wall: only the last one
    int capacity;     // launches that `events` holds
};

// One batch on both clocks; event_ms is negative where any stamp was unusable.
struct batch_times {
    double event_ms, wall_ms;
};

static enum fcl_status start(struct measure *measure, struct fcl_device *device,
                             enum fcl_clock clock, fcl_timing_launch launch, void *user)
{
    cl_int code;
    *measure = (struct measure){.device = device, .clock = clock, .launch = launch, .user = user};
    measure->queue = clock == FCL_CLOCK_WALL
                         ? clCreateCommandQueue(device->context, device->id, 0, &code)
                         : fcl_device_queue(device, &code);
    return measure->queue != NULL ? FCL_OK : fcl_cl_fail(device, code, "clCreateCommandQueue");
}

static void stop(struct measure *measure)
{
    if (measure->queue != NULL)
        clReleaseCommandQueue(measure->queue);
    free(measure->events);
}

static enum fcl_status reserve(struct measure *measure, int launches)
{
    if (launches <= measure->capacity)
        return FCL_OK;
    cl_event *events = realloc(measure->events, 2 * (size_t)launches * sizeof *events);
    if (events == NULL)
        return fcl_device_fail(measure->device, FCL_OUT_OF_MEMORY, "no memory for %d events",
                               2 * launches);
    measure->events = events;
    measure->capacity = launches;
    return FCL_OK;
}

static int read_stamp(cl_event event, cl_profiling_info what, uint64_t *stamp)
{
    cl_ulong value = 0;
    const cl_int code = clGetEventProfilingInfo(event, what, sizeof value, &value, NULL);
    *stamp = value;
    return code == CL_SUCCESS;
}

static double launch_ms(cl_event first, cl_event last)
{
    struct fcl_stamps stamps = {0};
    if (first == NULL || last == NULL)
        return -1;
    stamps.valid = read_stamp(first, CL_PROFILING_COMMAND_START, &stamps.start) &&
                   read_stamp(last, CL_PROFILING_COMMAND_END, &stamps.end);
    return fcl_stamps_ms(stamps);
}

// Sum over the launches; negative when any is unusable.
static double sum_events(const struct measure *measure, int launches)
{
    double sum = 0;
    for (int i = 0; i < launches; i++) {
        const double ms = launch_ms(measure->events[2 * i], measure->events[2 * i + 1]);
        if (ms < 0)
            return -1;
        sum += ms;
    }
    return sum;
}

static void release_events(const struct measure *measure, int launches)
{
    for (int i = 0; i < 2 * launches; i++)
        if (measure->events[i] != NULL)
            clReleaseEvent(measure->events[i]);
}

// A kernel that failed on the device has stamps too.
static enum fcl_status check_launch(const struct measure *measure, cl_event last)
{
    cl_int state = CL_COMPLETE;
    if (last == NULL)
        return FCL_OK;
    const cl_int code =
        clGetEventInfo(last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    if (code == CL_SUCCESS && state < 0)
        return fcl_cl_fail(measure->device, state, "a timed kernel");
    return FCL_OK;
}

// For the host's clock only the last launch has an event, which tells whether it failed; and the
// device starts before all are enqueued.
static enum fcl_status enqueue_batch(const struct measure *measure, int launches)
{
    const int wall = measure->clock == FCL_CLOCK_WALL;
    enum fcl_status status = FCL_OK;
    for (int i = 0; i < launches && status == FCL_OK; i++) {
        cl_event *events = measure->events + 2 * (size_t)i;
        status = measure->launch(measure->user, measure->queue, wall ? NULL : &events[0],
                                 wall && i + 1 < launches ? NULL : &events[1]);
        if (wall && i % FLUSH_LAUNCHES == 0)
            clFlush(measure->queue);
    }
    return status;
}

static enum fcl_status run_batch(struct measure *measure, int launches, struct batch_times *times)
{
    enum fcl_status status = reserve(measure, launches);
    if (status != FCL_OK)
        return status;
    for (int i = 0; i < 2 * launches; i++)
        measure->events[i] = NULL;
    const double begin = fcl_now_ms();
    status = enqueue_batch(measure, launches);
    const cl_int code = clFinish(measure->queue);
    times->wall_ms = fcl_now_ms() - begin;
    if (status == FCL_OK && code != CL_SUCCESS)
        status = fcl_cl_fail(measure->device, code, "clFinish");
    if (status == FCL_OK)
        status = check_launch(measure, measure->events[2 * launches - 1]);
    times->event_ms = status == FCL_OK ? sum_events(measure, launches) : -1;
    release_events(measure, launches);
    return status;
}

// A batch's time by the clock that can be believed.
static double judged_ms(const struct batch_times *times)
{
    return fcl_timing_judge(times->event_ms, times->wall_ms) == FCL_CLOCK_EVENT ? times->event_ms
                                                                                : times->wall_ms;
}

// Launches until caches and clock speeds have settled. *one_ms is the shortest time seen for one
// launch, on either clock.
static enum fcl_status warm_up(struct measure *measure, double *one_ms)
{
    const double begin = fcl_now_ms();
    *one_ms = HUGE_VAL;
    for (int i = 0; i < WARM_UP_LAUNCHES || fcl_now_ms() - begin < WARM_UP_MS; i++) {
        struct batch_times times;
        const enum fcl_status status = run_batch(measure, 1, &times);
        if (status != FCL_OK)
            return status;
        *one_ms = fmin(*one_ms, times.wall_ms);
        if (times.event_ms > 0)
            *one_ms = fmin(*one_ms, times.event_ms);
    }
    return FCL_OK;
}

// Takes the samples; `event` and `wall` receive ms for one launch. One clock holds for all.
// Launches in a batch can be faster than those of the warm-up: where a sample is too short, batches
// grow.
static enum fcl_status take_samples(struct measure *measure, double least_ms, int samples,
                                    double *event, double *wall, struct fcl_timing *timing)
{
    struct batch_times sum = {0, 0};
    int growths = 0;
    for (int i = 0; i < samples; i++) {
        struct batch_times times;
        const enum fcl_status status = run_batch(measure, timing->batch, &times);
        if (status != FCL_OK)
            return status;
        const double ms = judged_ms(&times);
        if (ms < least_ms && timing->batch < BATCH_LIMIT && growths++ < GROWTHS) {
            timing->batch = fcl_timing_batch(ms / timing->batch / GROWTH_SPARE, least_ms);
            sum = (struct batch_times){0, 0};
            i = -1; // again from the first one
            continue;
        }
        event[i] = times.event_ms / timing->batch;
        wall[i] = times.wall_ms / timing->batch;
        sum.wall_ms += times.wall_ms;
        sum.event_ms = sum.event_ms < 0 || times.event_ms < 0 ? -1 : sum.event_ms + times.event_ms;
    }
    timing->clock = fcl_timing_judge(sum.event_ms, sum.wall_ms);
    fcl_timing_summarise(timing->clock == FCL_CLOCK_EVENT ? event : wall, samples, timing);
    return FCL_OK;
}

// A warning for each of a tuning run's kernels would say nothing new.
static void warn_once(struct fcl_device *device)
{
    pthread_mutex_lock(&device->lock);
    const int warned = device->clock_warned;
    device->clock_warned = 1;
    pthread_mutex_unlock(&device->lock);
    if (!warned)
        fcl_log_write(&device->log, FCL_LOG_WARNING,
                      "event stamps disagree with the host's clock; the host's is used");
}

enum fcl_status fcl_timing_measure(struct fcl_device *device, fcl_timing_launch launch, void *user,
                                   const struct fcl_timing_options *options,
                                   struct fcl_timing *timing)
{
    struct measure measure;
    struct fcl_timing result = {0};
    double one_ms = 0;
    const int count = options->samples > 0 ? options->samples : DEFAULT_SAMPLES;
    const double least_ms = fcl_timing_least(device->caps.timer_ns, options->batch_ms, count);
    double *times = malloc(2 * (size_t)count * sizeof *times);
    if (times == NULL)
        return fcl_device_fail(device, FCL_OUT_OF_MEMORY, "no memory for %d samples", count);
    enum fcl_status status = start(&measure, device, options->clock, launch, user);
    if (status == FCL_OK)
        status = warm_up(&measure, &one_ms);
    if (status == FCL_OK) {
        result.batch = fcl_timing_batch(one_ms, least_ms);
        status = take_samples(&measure, least_ms, count, times, times + count, &result);
    }
    stop(&measure);
    free(times);
    if (status != FCL_OK)
        return status;
    if (result.clock != options->clock)
        warn_once(device);
    *timing = result;
    return FCL_OK;
}

enum fcl_status fcl_timing_probe(struct fcl_device *device, fcl_timing_launch launch, void *user,
                                 double *ms)
{
    struct measure measure;
    struct batch_times times = {0, 0};
    enum fcl_status status = start(&measure, device, FCL_CLOCK_EVENT, launch, user);
    for (int i = 0; i < 2 && status == FCL_OK; i++)
        status = run_batch(&measure, 1, &times);
    stop(&measure);
    if (status == FCL_OK)
        *ms = judged_ms(&times);
    return status;
}
