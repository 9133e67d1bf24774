// What a device can do at best: small kernels, built for several vector widths of which the best
// counts, and the place where the figures are kept.
#include "peak.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "program.h"
#include "source.h"
#include "timing.h"

#define KEY_FORMAT 1
#define LABEL "peak"

// As kernels/peak.cl has them.
#define CHAINS 12
#define LOADS 4
#define FMA_SUM ((double)CHAINS * (CHAINS - 1) / 2 / 16) // of a lane after an even number of rounds

#define BUFFER_BYTES ((uint64_t)256 << 20) // larger than most caches
#define FMA_BUFFER_BYTES ((uint64_t)32 << 20)
#define FMA_ROUNDS 64 // to begin with; even, as all multiples of it
#define FMA_ROUNDS_LIMIT (1 << 28)
#define SAMPLES 9
#define WAITED_LAUNCHES 101
#define QUEUED_LAUNCHES 256

static const int widths[] = {4, 8, 16};

// All is measured twice, for other programs may disturb it. Of long launches of multiply-adds the
// beginning and the end do not count; short ones fit in between what others do.
static const struct pass {
    double fma_ms;
    int fma_samples;
} passes[] = {{10, 9}, {1, 99}};

enum kernel { KERNEL_FMA, KERNEL_READ, KERNEL_COPY };

// A measurement under way.
struct bench {
    struct fcl_device *device;
    cl_command_queue queue;
    cl_mem in, out;
    uint64_t bytes; // of each
    size_t items;   // of a work-group
    int width;
    struct pass pass;
    struct fcl_program program;
    enum kernel kernel; // what is launched, in how many work-groups
    size_t groups;
};

// ---- Text form --------------------------------------------------------------------------------

#define FCL_X(name, meaning) +1
enum { FIELDS = 0 FCL_PEAK_FIELDS(FCL_X) };
#undef FCL_X

static const char *const names[] = {
#define FCL_X(name, meaning) #name,
    FCL_PEAK_FIELDS(FCL_X)
#undef FCL_X
};

void fcl_peak_write(const struct fcl_peak *peak, struct fcl_text *text)
{
    const double values[] = {
#define FCL_X(name, meaning) peak->name,
        FCL_PEAK_FIELDS(FCL_X)
#undef FCL_X
    };
    for (int i = 0; i < FIELDS; i++) {
        char value[FCL_REAL_SIZE];
        fcl_real_format(values[i], value);
        fcl_text_add(text, "%s %s\n", names[i], value);
    }
}

int fcl_peak_read(const char *text, size_t size, struct fcl_peak *peak)
{
    const char *at = text, *const end = text + size;
    double values[FIELDS];
    for (int i = 0; i < FIELDS; i++) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        const size_t length = strlen(names[i]);
        if (line_end == NULL || (size_t)(line_end - at) <= length ||
            memcmp(at, names[i], length) != 0 || at[length] != ' ' ||
            !fcl_real_read(at + length + 1, line_end, &values[i]))
            return 0;
        at = line_end + 1;
    }
    if (at != end)
        return 0;
    int i = 0;
#define FCL_X(name, meaning) peak->name = values[i++];
    FCL_PEAK_FIELDS(FCL_X)
#undef FCL_X
    return 1;
}

// ---- Launching --------------------------------------------------------------------------------

static enum fcl_status enqueue(const struct bench *bench, cl_command_queue queue, cl_event *event)
{
    const size_t global = bench->groups * bench->items;
    const cl_int code = clEnqueueNDRangeKernel(queue, bench->program.kernels[bench->kernel], 1,
                                               NULL, &global, &bench->items, 0, NULL, event);
    return code == CL_SUCCESS
               ? FCL_OK
               : fcl_cl_fail(bench->device, code, "clEnqueueNDRangeKernel of a peak");
}

static enum fcl_status launch(void *user, cl_command_queue queue, cl_event *first, cl_event *last)
{
    const enum fcl_status status = enqueue(user, queue, first);
    if (status != FCL_OK)
        return status;
    *last = *first;
    clRetainEvent(*last);
    return FCL_OK;
}

// Sets what the next launches are.
static enum fcl_status prepare(struct bench *bench, enum kernel kernel, size_t groups,
                               cl_int rounds)
{
    const cl_float a = -1, b = 1;
    const struct {
        size_t size;
        const void *value;
    } arguments[] = {{sizeof(cl_mem), &bench->in},
                     {sizeof(cl_mem), &bench->out},
                     {sizeof rounds, &rounds},
                     {sizeof a, &a},
                     {sizeof b, &b}};
    const cl_uint count = kernel == KERNEL_FMA ? 5 : 3;
    bench->kernel = kernel;
    bench->groups = groups;
    for (cl_uint i = 0; i < count; i++) {
        const cl_int code = clSetKernelArg(bench->program.kernels[kernel], i, arguments[i].size,
                                           arguments[i].value);
        if (code != CL_SUCCESS)
            return fcl_cl_fail(bench->device, code, "clSetKernelArg of a peak");
    }
    return FCL_OK;
}

// Whether the last launch left this number in the first element of every work-item.
static enum fcl_status expect(const struct bench *bench, double expected)
{
    const size_t count = bench->groups * bench->items;
    float *found = malloc(count * sizeof *found);
    if (found == NULL)
        return fcl_device_fail(bench->device, FCL_OUT_OF_MEMORY, "no memory for %zu results",
                               count);
    enum fcl_status status = FCL_OK;
    const cl_int code = clEnqueueReadBuffer(bench->queue, bench->out, CL_TRUE, 0,
                                            count * sizeof *found, found, 0, NULL, NULL);
    if (code != CL_SUCCESS)
        status = fcl_cl_fail(bench->device, code, "clEnqueueReadBuffer of a peak");
    for (size_t i = 0; i < count && status == FCL_OK; i++)
        if (!(fabs(found[i] - expected) <= 1e-3 * expected))
            status =
                fcl_device_fail(bench->device, FCL_WRONG_RESULT,
                                "a kernel of the peak gave %g instead of %g", found[i], expected);
    free(found);
    return status;
}

// The shortest time of what was prepared, after whose last launch every item must have left
// `expected`.
static enum fcl_status time_best(struct bench *bench, int samples, double expected, double *ms)
{
    struct fcl_timing timing = {0};
    enum fcl_status status = fcl_timing_measure(bench->device, launch, bench,
                                                fcl_timing_options(.samples = samples), &timing);
    if (status == FCL_OK)
        status = expect(bench, expected);
    *ms = timing.min_ms;
    return status;
}

// ---- What is measured -------------------------------------------------------------------------

static int is_cpu(const struct bench *bench)
{
    return bench->device->caps.cpu != 0;
}

// Work-groups: so many for each compute unit, and no more than `limit`.
static size_t count_groups(const struct bench *bench, int64_t for_cpu, int64_t for_others,
                           uint64_t limit)
{
    const int64_t units = fcl_max((int64_t)bench->device->caps.compute_units, 1);
    const int64_t wanted = units * (is_cpu(bench) ? for_cpu : for_others);
    return (size_t)fcl_max(fcl_min(wanted, (int64_t)limit), 1);
}

// Finds how many rounds last long enough.
static enum fcl_status find_rounds(struct bench *bench, size_t groups, cl_int *rounds)
{
    for (*rounds = FMA_ROUNDS;; *rounds *= 2) {
        double ms = 0;
        enum fcl_status status = prepare(bench, KERNEL_FMA, groups, *rounds);
        if (status == FCL_OK)
            status = fcl_timing_probe(bench->device, launch, bench, &ms);
        if (status != FCL_OK || ms >= bench->pass.fma_ms || *rounds >= FMA_ROUNDS_LIMIT)
            return status;
    }
}

static enum fcl_status time_fma(struct bench *bench, double *gflops)
{
    const size_t groups = count_groups(bench, 16, 512, bench->bytes / sizeof(float) / bench->items);
    cl_int rounds;
    double ms;
    enum fcl_status status = find_rounds(bench, groups, &rounds);
    if (status == FCL_OK)
        status = time_best(bench, bench->pass.fma_samples, FMA_SUM * bench->width, &ms);
    if (status != FCL_OK)
        return status;
    const double operations =
        2.0 * CHAINS * bench->width * rounds * (double)(groups * bench->items);
    *gflops = fmax(*gflops, operations / ms * 1e-6);
    return FCL_OK;
}

static enum fcl_status time_memory(struct bench *bench, enum kernel kernel, double *gbs)
{
    const uint64_t round_floats = bench->items * (uint64_t)(LOADS * bench->width);
    const uint64_t limit = bench->bytes / sizeof(float) / round_floats;
    const size_t groups = count_groups(bench, 16, 32, limit);
    const cl_int rounds = (cl_int)(limit / groups);
    double ms;
    enum fcl_status status = prepare(bench, kernel, groups, rounds);
    const double expected = kernel == KERNEL_READ ? (double)rounds * LOADS * bench->width : 1;
    if (status == FCL_OK)
        status = time_best(bench, SAMPLES, expected, &ms);
    if (status != FCL_OK)
        return status;
    const double bytes = (double)(groups * round_floats) * rounds * sizeof(float);
    *gbs = fmax(*gbs, bytes * (kernel == KERNEL_COPY ? 2 : 1) / ms * 1e-6);
    return FCL_OK;
}

uint64_t fcl_peak_step(const uint64_t *stamps, size_t count)
{
    uint64_t step = 0;
    for (size_t i = 1; i < count; i++) {
        uint64_t rest = stamps[i] > stamps[0] ? stamps[i] - stamps[0] : stamps[0] - stamps[i];
        while (rest != 0) {
            const uint64_t next = step % rest;
            step = rest;
            rest = next;
        }
    }
    return step;
}

// Appends the stamps of a launch, where it has any.
static void read_stamps(cl_event event, uint64_t *stamps, size_t *count)
{
    static const cl_profiling_info which[] = {CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
    for (size_t i = 0; i < FCL_COUNT(which); i++) {
        cl_ulong stamp = 0;
        if (clGetEventProfilingInfo(event, which[i], sizeof stamp, &stamp, NULL) == CL_SUCCESS &&
            stamp != 0)
            stamps[(*count)++] = stamp;
    }
}

// Launches so often, waits for the end, and gives the time of one. `last` (may be NULL) receives
// the last event.
static enum fcl_status time_launches(struct bench *bench, int launches, double *ms, cl_event *last)
{
    enum fcl_status status = FCL_OK;
    const double start = fcl_now_ms();
    for (int i = 0; i < launches && status == FCL_OK; i++)
        status = enqueue(bench, bench->queue, i + 1 == launches ? last : NULL);
    const cl_int code = clFinish(bench->queue);
    *ms = (fcl_now_ms() - start) / launches;
    if (status == FCL_OK && code != CL_SUCCESS)
        status = fcl_cl_fail(bench->device, code, "clFinish");
    return status;
}

// The empty kernel is a copy of no rounds.
static enum fcl_status time_overhead(struct bench *bench, struct fcl_peak *peak)
{
    double waited[WAITED_LAUNCHES], queued[SAMPLES];
    uint64_t stamps[2 * WAITED_LAUNCHES];
    size_t stamp_count = 0;
    struct fcl_timing timing;
    enum fcl_status status = prepare(bench, KERNEL_COPY, 1, 0);
    for (int i = 0; i < WAITED_LAUNCHES && status == FCL_OK; i++) {
        cl_event event = NULL;
        status = time_launches(bench, 1, &waited[i], &event);
        if (event != NULL) {
            read_stamps(event, stamps, &stamp_count);
            clReleaseEvent(event);
        }
    }
    for (int i = 0; i < SAMPLES && status == FCL_OK; i++)
        status = time_launches(bench, QUEUED_LAUNCHES, &queued[i], NULL);
    if (status != FCL_OK)
        return status;
    fcl_timing_summarise(waited, WAITED_LAUNCHES, &timing);
    peak->launch_us = timing.median_ms * 1e3;
    fcl_timing_summarise(queued, SAMPLES, &timing);
    peak->queued_us = timing.median_ms * 1e3;
    peak->timer_ns = (double)fcl_peak_step(stamps, stamp_count);
    return FCL_OK;
}

// ---- A measurement ----------------------------------------------------------------------------

// The embedded kernels in any case: a device's peak is not what the application's kernel folder
// says.
static enum fcl_status build(struct bench *bench)
{
    char label[32], reason[256] = "";
    struct fcl_text source = {0};
    snprintf(label, sizeof label, LABEL "_float%d", bench->width);
    fcl_text_add(&source, "#define FCL_WIDE float%d\n#define FCL_WIDTH %d\n#define FCL_ITEMS %zu\n",
                 bench->width, bench->width, bench->items);
    enum fcl_status status =
        fcl_source_expand("peak.cl", NULL, NULL, &source, reason, sizeof reason);
    if (status == FCL_OK && source.failed)
        status = FCL_OUT_OF_MEMORY;
    if (status != FCL_OK)
        status = fcl_device_fail(bench->device, status, "peak.cl: %s", reason);
    const struct fcl_program_request request = {.label = label,
                                                .source = source.data,
                                                .flags = "",
                                                .kernels = {"peak_fma", "peak_read", "peak_copy"},
                                                .quiet = 1,
                                                .read_only = 1};
    if (status == FCL_OK)
        status = fcl_program_create(bench->device, &request, &bench->program);
    fcl_text_free(&source);
    return status;
}

// What one vector width reaches, where it is better than what stands in *peak.
static enum fcl_status measure_width(struct bench *bench, int only_fma, struct fcl_peak *peak)
{
    enum fcl_status status = build(bench);
    if (status == FCL_OK)
        status = time_fma(bench, &peak->gflops);
    if (status == FCL_OK && !only_fma)
        status = time_memory(bench, KERNEL_READ, &peak->read_gbs);
    if (status == FCL_OK && !only_fma)
        status = time_memory(bench, KERNEL_COPY, &peak->copy_gbs);
    if (status == FCL_OK && !only_fma && peak->launch_us == 0)
        status = time_overhead(bench, peak);
    fcl_program_destroy(&bench->program);
    return status;
}

static uint64_t buffer_bytes(const struct fcl_device *device)
{
    const struct fcl_caps *caps = &device->caps;
    uint64_t bytes = BUFFER_BYTES;
    if (bytes > caps->global_bytes / 8)
        bytes = caps->global_bytes / 8;
    return bytes < caps->allocation_bytes ? bytes : caps->allocation_bytes;
}

static enum fcl_status open_bench(struct bench *bench, struct fcl_device *device, uint64_t bytes)
{
    const cl_float one = 1, zero = 0;
    cl_int code;
    *bench = (struct bench){.device = device, .bytes = bytes, .items = 1};
    if (!is_cpu(bench))
        bench->items = (size_t)fcl_max(fcl_min(64, (int64_t)device->caps.group_size), 1);
    bench->queue = fcl_device_queue(device, &code);
    if (bench->queue == NULL)
        return fcl_cl_fail(device, code, "clCreateCommandQueue");
    bench->in = clCreateBuffer(device->context, CL_MEM_READ_ONLY, bytes, NULL, &code);
    if (bench->in != NULL)
        bench->out = clCreateBuffer(device->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (bench->out == NULL)
        return fcl_cl_fail(device, code, "clCreateBuffer of a peak");
    code = clEnqueueFillBuffer(bench->queue, bench->in, &one, sizeof one, 0, bytes, 0, NULL, NULL);
    if (code == CL_SUCCESS)
        code = clEnqueueFillBuffer(bench->queue, bench->out, &zero, sizeof zero, 0, bytes, 0, NULL,
                                   NULL);
    if (code == CL_SUCCESS)
        code = clFinish(bench->queue);
    return code == CL_SUCCESS ? FCL_OK : fcl_cl_fail(device, code, "clEnqueueFillBuffer of a peak");
}

static void close_bench(struct bench *bench)
{
    if (bench->in != NULL)
        clReleaseMemObject(bench->in);
    if (bench->out != NULL)
        clReleaseMemObject(bench->out);
    if (bench->queue != NULL)
        clReleaseCommandQueue(bench->queue);
}

// A width that the device cannot do is left out; none is an error.
static enum fcl_status measure(struct fcl_device *device, uint64_t bytes, int only_fma,
                               struct fcl_peak *peak)
{
    struct bench bench;
    *peak = (struct fcl_peak){0};
    enum fcl_status status = open_bench(&bench, device, bytes & ~(uint64_t)4095);
    const int opened = status == FCL_OK;
    int good = 0;
    for (size_t i = 0; i < FCL_COUNT(passes) * FCL_COUNT(widths) && opened; i++) {
        bench.pass = passes[i / FCL_COUNT(widths)];
        bench.width = widths[i % FCL_COUNT(widths)];
        status = measure_width(&bench, only_fma, peak);
        good = good || status == FCL_OK;
    }
    if (good)
        status = FCL_OK;
    close_bench(&bench);
    return status;
}

enum fcl_status fcl_peak_measure_fma(struct fcl_device *device, double *gflops)
{
    struct fcl_peak peak;
    const uint64_t bytes = buffer_bytes(device);
    const enum fcl_status status =
        measure(device, bytes < FMA_BUFFER_BYTES ? bytes : FMA_BUFFER_BYTES, 1, &peak);
    *gflops = peak.gflops;
    return status;
}

// ---- What is kept -----------------------------------------------------------------------------

// What the figures depend on. Not the sizes of memory: some drivers report what is free.
static char *make_key(const struct fcl_device *device)
{
    const struct fcl_caps *caps = &device->caps;
    struct fcl_text key = {0};
    fcl_text_add(&key, "flashcl peak %d\n", KEY_FORMAT);
    fcl_device_add_identity(device, &key);
    fcl_text_add(&key, "cpu %d\ncompute units %llu\ngroup size %llu\nbuffers %llu\n",
                 caps->cpu != 0, (unsigned long long)caps->compute_units,
                 (unsigned long long)caps->group_size, (unsigned long long)buffer_bytes(device));
    if (key.failed)
        fcl_text_free(&key);
    return key.data;
}

static int find(struct fcl_device *device, const char *key, struct fcl_peak *peak)
{
    void *data;
    size_t size;
    if (!fcl_cache_get(device->cache, key, &data, &size))
        return 0;
    const int found = fcl_peak_read(data, size, peak);
    free(data);
    return found;
}

// Keeps the peak, and rounds it as whoever finds it will see it.
static enum fcl_status keep(struct fcl_device *device, const char *key, struct fcl_peak *peak)
{
    struct fcl_text text = {0};
    fcl_peak_write(peak, &text);
    enum fcl_status status = FCL_OK;
    if (text.failed || !fcl_peak_read(text.data, text.length, peak))
        status = fcl_device_fail(device, FCL_OUT_OF_MEMORY, "no memory for a peak");
    else
        fcl_cache_put(device->cache, key, LABEL, text.data, text.length);
    fcl_text_free(&text);
    return status;
}

static enum fcl_status measure_and_keep(struct fcl_device *device, const char *key,
                                        struct fcl_peak *peak)
{
    struct fcl_peak measured;
    const double start = fcl_now_ms();
    enum fcl_status status = measure(device, buffer_bytes(device), 0, &measured);
    if (status == FCL_OK)
        status = keep(device, key, &measured);
    if (status != FCL_OK)
        return status;
    fcl_log_write(&device->log, FCL_LOG_INFO, "the device's peak was measured in %.0f ms",
                  fcl_now_ms() - start);
    *peak = measured;
    return FCL_OK;
}

enum fcl_status fcl_device_peak(fcl_device *device, int again, struct fcl_peak *peak)
{
    if (device == NULL)
        return FCL_INVALID_ARGUMENT;
    if (peak == NULL)
        return fcl_device_fail(device, FCL_INVALID_ARGUMENT, "peak is NULL");
    char *key = make_key(device);
    if (key == NULL)
        return fcl_device_fail(device, FCL_OUT_OF_MEMORY, "no memory for a peak");
    enum fcl_status status = FCL_OK;
    if (again || !find(device, key, peak))
        status = measure_and_keep(device, key, peak);
    free(key);
    return status;
}
