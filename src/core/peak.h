// A device's peak inside the library: its text form, and its parts. The public side is in tune.h.
#ifndef FCL_CORE_PEAK_H
#define FCL_CORE_PEAK_H

#include "device.h"

// Appends the text form: a `name value` line for each field, in order, six digits each.
void fcl_peak_write(const struct fcl_peak *peak, struct fcl_text *text);

// Reads exactly that form. Returns 0 for anything else; *peak is then untouched.
int fcl_peak_read(const char *text, size_t size, struct fcl_peak *peak);

// The largest step that all stamps are apart by multiples of: what the clock behind them resolves.
// 0 where fewer than two differ.
uint64_t fcl_peak_step(const uint64_t *stamps, size_t count);

// Measures only the multiply-adds, GFLOP/s. Errors: as fcl_device_peak.
enum fcl_status fcl_peak_measure_fma(struct fcl_device *device, double *gflops);

#endif
