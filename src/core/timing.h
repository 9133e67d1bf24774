// Timing launches: which clock can be believed, how long a batch must be, what the samples say.
#ifndef FCL_CORE_TIMING_H
#define FCL_CORE_TIMING_H

#include "device.h"

// One launch's stamps in nanoseconds as a driver reports them; valid 0: it reported none.
struct fcl_stamps {
    int valid;
    uint64_t start, end;
};

// Duration of one launch by its stamps, ms; negative when the stamps cannot be a duration: missing,
// zero, equal or reversed.
double fcl_stamps_ms(struct fcl_stamps stamps);

// Whether event stamps can be believed for a batch: `event_ms` is the sum of its launches'
// durations (negative when any was unusable), `wall_ms` the host's time for the whole. Stamps must
// not exceed the wall time by more than 5 %, nor - in batches of at least 5 ms - fall under a fifth
// of it.
enum fcl_clock fcl_timing_judge(double event_ms, double wall_ms);

// How long a sample must be: at least `batch_ms`, 1 ms and 100 resolutions, and all samples
// together long enough to tell a clock that runs slow, 5 ms.
double fcl_timing_least(uint64_t resolution_ns, double batch_ms, int samples);

// Launches that take `least_ms` together, given the time of one; at most 65536.
int fcl_timing_batch(double one_ms, double least_ms);

// Median, minimum and spread of `count` times (reorders them), and the first ones as they were.
void fcl_timing_summarise(double *times, int count, struct fcl_timing *timing);

// Enqueues once; *first and *last receive events of the first and last kernel (may be the same
// event retained twice). With FCL_CLOCK_WALL, and only then, either may be NULL: not wanted.
typedef enum fcl_status (*fcl_timing_launch)(void *user, cl_command_queue queue, cl_event *first,
                                             cl_event *last);

// Warm-up for at least 20 ms or 2 launches, whichever is longer to reach, then the samples.
enum fcl_status fcl_timing_measure(struct fcl_device *device, fcl_timing_launch launch, void *user,
                                   const struct fcl_timing_options *options,
                                   struct fcl_timing *timing);

// The time of a single launch after one warm-up launch, by the better clock, ms: a probe.
enum fcl_status fcl_timing_probe(struct fcl_device *device, fcl_timing_launch launch, void *user,
                                 double *ms);

#endif
