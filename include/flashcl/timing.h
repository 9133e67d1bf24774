// How long a launch takes, and what a device can do at best: part of tune.h. No OpenCL header is
// needed.
#ifndef FLASHCL_TIMING_H
#define FLASHCL_TIMING_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Timing -----------------------------------------------------------------------------------

enum fcl_clock {
    FCL_CLOCK_EVENT = 0, // OpenCL event stamps, which agreed with the wall clock
    FCL_CLOCK_WALL       // host clock around batches: asked for, or because stamps are unusable
};

FCL_API const char *fcl_clock_text(enum fcl_clock clock); // "event", "wall". Thread-safety: safe

#define FCL_TIMING_KEPT 16

struct fcl_timing {
    double median_ms, min_ms;
    double spread; // (third quartile - first quartile) / median
    enum fcl_clock clock;
    int samples, batch;               // samples taken; launches in each
    double times_ms[FCL_TIMING_KEPT]; // the first samples, for one launch each, as they came
    int kept;                         // how many these are
};

// How to time. A zeroed struct (with struct_size) is the default.
struct fcl_timing_options {
    size_t struct_size;
    int samples;     // 0: 9
    double batch_ms; // a sample is launches back to back for at least this time, and for as long as
                     // the clock needs (1 ms and 100 resolutions); at most 65536 launches
    // FCL_CLOCK_EVENT: the time from start to end of each launch, without gaps between launches; by
    // the host's clock where event stamps are unusable. FCL_CLOCK_WALL: whole samples by the host's
    // clock, on a queue without profiling and with one event a sample: gaps count.
    enum fcl_clock clock;
};

#ifndef __cplusplus
#define fcl_timing_options(...) \
    (&(struct fcl_timing_options){.struct_size = sizeof(struct fcl_timing_options), __VA_ARGS__})
#endif

struct fcl_attention_args;

// Times a plan with the caller's arguments on a queue of its own (options NULL: defaults): warm-up,
// then samples, which begin again with more launches, up to three times, where one was too short.
// Launches take the `count` (1 or more) arguments in turn, so that with other tensors in each the
// device's caches hold none of them. Blocks. Errors: those of fcl_attention_enqueue. Thread-safety:
// safe, but concurrent work on the device spoils the figures.
FCL_API enum fcl_status fcl_attention_time(const fcl_plan *plan,
                                           const struct fcl_attention_args *const *args, int count,
                                           const struct fcl_timing_options *options,
                                           struct fcl_timing *timing);

// ---- A device's peak --------------------------------------------------------------------------

// What a device can do at best. Rates are the best of several launches. X(name, unit and meaning)
#define FCL_PEAK_FIELDS(X)                                                             \
    X(gflops, "GFLOP/s of fp32 multiply-adds on registers, 2 for each")                \
    X(read_gbs, "GB/s (1e9 bytes) of reading a buffer that is larger than the caches") \
    X(copy_gbs, "GB/s of copying one, bytes read and bytes written")                   \
    X(launch_us, "microseconds from enqueueing an empty kernel to its end, median")    \
    X(queued_us, "microseconds of an empty kernel among others in a queue, median")    \
    X(timer_ns, "nanoseconds that event stamps really resolve; 0: the stamps are not usable")

struct fcl_peak {
#define FCL_X(name, meaning) double name;
    FCL_PEAK_FIELDS(FCL_X)
#undef FCL_X
};

// Gives the peak of a device. It is measured once, by small kernels in a few seconds, and then kept
// where the device keeps built kernels: in the cache folder, so that later processes find it, or in
// memory; `again` 1 measures in any case and replaces what was kept. Blocks. Errors:
// INVALID_ARGUMENT, OUT_OF_MEMORY, BUILD_FAILED, DEVICE_ERROR, WRONG_RESULT; then *peak is
// untouched. Thread-safety: safe, but concurrent work on the device spoils the figures.
FCL_API enum fcl_status fcl_device_peak(fcl_device *device, int again, struct fcl_peak *peak);

#ifdef __cplusplus
}
#endif

#endif
