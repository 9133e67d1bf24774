// Operations and bytes of a problem.
#include "traffic.h"

#include <math.h>

// Which keys a query i sees: those j with i + before <= j <= i + after, as far as there are such.
struct band {
    double before, after;
};

static struct band band_of(const struct fcl_problem *problem)
{
    double rows = (double)problem->q_len, keys = (double)problem->k_len;
    enum fcl_mask mask = problem->mask;
    int causal = mask == FCL_MASK_CAUSAL_TOP_LEFT || mask == FCL_MASK_CAUSAL_BOTTOM_RIGHT;
    int bottom = mask == FCL_MASK_BOTTOM_RIGHT || mask == FCL_MASK_CAUSAL_BOTTOM_RIGHT;
    double shift = bottom ? keys - rows : 0;
    struct band band = {-rows, keys};
    if (problem->window && problem->window_left >= 0) {
        band.before = shift - (double)problem->window_left;
    }
    if (causal) {
        band.after = shift;
    } else if (problem->window && problem->window_right >= 0) {
        band.after = shift + (double)problem->window_right;
    }
    return band;
}

// Pairs of a query i and a key j <= i + shift: none before row -shift, all from row k_len - 1 -
// shift.
static double pairs_up_to(double rows, double keys, double shift)
{
    double first = shift < 0 ? -shift : 0;
    double full = keys - 1 - shift;
    full = full < first ? first : full > rows ? rows : full;
    if (first >= rows) {
        return 0;
    }
    // Rows first .. full - 1 see first + shift + 1, one more each, .. full + shift keys.
    return (full - first) * (first + full + 1 + 2 * shift) / 2 + (rows - full) * keys;
}

double traffic_pairs(const struct fcl_problem *problem)
{
    double rows = (double)problem->q_len, keys = (double)problem->k_len;
    struct band band = band_of(problem);
    return pairs_up_to(rows, keys, band.after) - pairs_up_to(rows, keys, band.before - 1);
}

// Keys that some query sees, with a window; else all.
static double keys_seen(const struct fcl_problem *problem)
{
    double keys = (double)problem->k_len;
    struct band band = band_of(problem);
    double end = fmin((double)problem->q_len + band.after, keys);
    return problem->window ? fmax(end - fmax(band.before, 0), 0) : keys;
}

static int has_output(const struct fcl_problem *problem)
{
    return problem->pass != FCL_PASS_STATISTICS;
}

static double operations_of(const struct fcl_problem *problem, enum fcl_implementation unused)
{
    double width = problem->head_dim_qk + (has_output(problem) ? problem->head_dim_v : 0);
    (void)unused;
    return 2 * (double)problem->batch * (double)problem->heads_q * traffic_pairs(problem) * width;
}

static double bytes_of(const struct fcl_problem *problem, enum fcl_implementation implementation)
{
    double queries = (double)problem->batch * (double)problem->heads_q * (double)problem->q_len;
    double keys = (double)problem->batch * (double)problem->heads_kv * keys_seen(problem);
    double q = (double)fcl_dtype_size(problem->dtype_q),
           k = (double)fcl_dtype_size(problem->dtype_k);
    double v = (double)fcl_dtype_size(problem->dtype_v),
           o = (double)fcl_dtype_size(problem->dtype_o);
    double bytes = queries * problem->head_dim_qk * q + keys * problem->head_dim_qk * k;
    if (has_output(problem)) {
        bytes += keys * problem->head_dim_v * v + queries * problem->head_dim_v * o;
    }
    if (problem->lse || !has_output(problem)) {
        bytes += queries * sizeof(float);
    }
    if (problem->bias != FCL_BIAS_NONE) { // one for all of the batch
        bytes += (problem->bias == FCL_BIAS_F32 ? 4 : 2) * (double)problem->heads_q *
                 traffic_pairs(problem);
    }
    if (problem->visible) { // one for all heads
        bytes += (double)problem->batch * traffic_pairs(problem);
    }
    if (implementation == FCL_UNFUSED) {
        bytes += 4 * queries * (double)problem->k_len * q;
    }
    return bytes;
}

// A figure of a problem; where sequences differ in length, of each alone, added up.
static double add_up(const struct fcl_problem *problem, enum fcl_implementation implementation,
                     double (*figure)(const struct fcl_problem *problem,
                                      enum fcl_implementation implementation))
{
    struct fcl_sequences sequences;
    double sum = 0;
    if (!problem->varlen && !problem->used) {
        return figure(problem, implementation);
    }
    if (fcl_sequences_create(problem, 1, &sequences) != FCL_OK) {
        return NAN;
    }
    for (int64_t s = 0; s < problem->batch; s++) {
        struct fcl_sequence_rows rows;
        struct fcl_problem one = *problem;
        fcl_sequences_rows(problem, &sequences, s, &rows);
        one.batch = 1;
        one.varlen = one.used = one.page = 0;
        one.q_len = rows.q_len;
        one.k_len = rows.k_len;
        sum += figure(&one, implementation);
    }
    fcl_sequences_free(&sequences);
    return sum;
}

double traffic_operations(const struct fcl_problem *problem)
{
    return add_up(problem, FCL_FUSED, operations_of);
}

double traffic_bytes(const struct fcl_problem *problem, enum fcl_implementation implementation)
{
    return add_up(problem, implementation, bytes_of);
}

int traffic_roof(const struct fcl_problem *problem, enum fcl_implementation implementation,
                 const struct fcl_peak *peak, struct traffic_roof *roof)
{
    double operations = traffic_operations(problem);
    double bytes = traffic_bytes(problem, implementation);
    if (!(bytes > 0 && peak->gflops > 0 && peak->read_gbs > 0)) {
        return 0;
    }
    double compute_ms = operations / peak->gflops * 1e-6;
    double memory_ms = bytes / peak->read_gbs * 1e-6;
    int memory_binds = memory_ms > compute_ms;
    *roof = (struct traffic_roof){.intensity = operations / bytes,
                                  .ms = memory_binds ? memory_ms : compute_ms,
                                  .name = memory_binds ? "memory" : "compute"};
    return 1;
}

double traffic_score_bytes(const struct fcl_problem *problem)
{
    return (double)problem->batch * (double)problem->heads_q * (double)problem->q_len *
           (double)problem->k_len * (double)fcl_dtype_size(problem->dtype_q);
}

int64_t traffic_outgrows(const struct fcl_problem *problem, uint64_t bytes)
{
    const int square = problem->q_len == problem->k_len;
    const double heads = (double)problem->batch * (double)problem->heads_q;
    const double rows = square ? 1 : (double)problem->q_len;
    const double factor = heads * rows * (double)fcl_dtype_size(problem->dtype_q);
    if (!(factor > 0)) {
        return 0;
    }
    const double ratio = (double)bytes / factor;
    double n = floor(square ? sqrt(ratio) : ratio) + 1;
    while (square && n > 1 && factor * (n - 1) * (n - 1) > (double)bytes) {
        n--; // the root was rounded up
    }
    return n < 0x1p62 ? (int64_t)n : 0;
}

struct traffic_limits traffic_limits(const struct fcl_problem *problem,
                                     enum fcl_implementation implementation,
                                     const struct fcl_peak *peak, int launches)
{
    struct traffic_limits limits = {
        .compute_ms = traffic_operations(problem) / peak->gflops * 1e-6,
        .memory_ms = traffic_bytes(problem, implementation) / peak->read_gbs * 1e-6,
        .launch_ms = (peak->launch_us + (launches - 1) * peak->queued_us) * 1e-3,
    };
    limits.name = limits.memory_ms > limits.compute_ms ? "memory" : "compute";
    if (limits.launch_ms > fmax(limits.memory_ms, limits.compute_ms)) {
        limits.name = "launch";
    }
    return limits;
}
