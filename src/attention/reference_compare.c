// Judges one row of a result. The error allowed is no constant: it follows what the same arithmetic
// does on the host, so that it scales with type, length and magnitudes.
//
//     value    max over d of |o_d - reference_d| / magnitude_d, magnitude = sum P |V|
//     allowed  2 x (value of the host model) + max(4 u_o, u_v) + c x 2^-24 x max |score|
//     ratio    value / allowed
//     lse      |lse - reference| / (2^-24 x (c x (1 + max(|score|, s)) + sqrt(visible keys)))
//
// c = max(8, sqrt(d_qk)) is what rounding does to a score, a sum of d_qk fp32 products; s is the
// size that its partial sums reach, |scale| x sqrt(sum (q_d k_d)^2), which counts where the only
// key of a row has a score that cancels. u is the unit roundoff of a type. 4 u_o alone would be too
// little where O is wider than V: P rounded to V's type errs by up to u_v, and the model, whose P
// are relative to another maximum, may be lucky. The square root is what rounding does to a sum of
// so many fp32 terms; without it, and with scores near 0, not even the exact LSE of 8000 keys
// stored as fp32 would always pass. The unfused path stores scores and probabilities in Q's type: 4
// u_q x max(1, max |score|) more.
//
// Half of the output type's smallest number is taken off every error first: results below it round
// to 0. With V of unit scale and scores of moderate size, `allowed` stays well below the 2e-2 (f16)
// and 5e-2 (bf16) that a user expects; with huge scores it grows as it must, since fp32 knows them
// only to 2^-24.
#include "reference.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "core/element.h"
#include "problem.h"

#define F32_ROUNDOFF 0x1p-24

// |value - exact|: 0 for equal NaNs and infinities, infinite where only one is NaN or infinite. An
// infinity is right where the exact value is beyond the type.
static double error_of(enum fcl_dtype dtype, double value, double exact)
{
    if (value == exact || (isnan(value) && isnan(exact)))
        return 0;
    if (isinf(value) && isfinite(exact) && (value > 0) == (exact > 0) &&
        fabs(exact) >= fcl_element_overflow(dtype))
        return 0;
    return isfinite(value) && isfinite(exact) ? fabs(value - exact) : INFINITY;
}

// Error of column d relative to its magnitude.
static double relative_error(enum fcl_dtype dtype, double value,
                             const struct fcl_reference_row *exact, int d)
{
    const double error = error_of(dtype, value, exact->o[d]) - fcl_element_half_smallest(dtype);
    if (error <= 0)
        return 0;
    return exact->magnitude[d] > 0 && isfinite(error) ? error / exact->magnitude[d] : INFINITY;
}

static double ratio_of(double error, double allowed)
{
    return error == 0 ? 0 : isinf(error) ? INFINITY : error / allowed;
}

static void note(struct fcl_comparison *comparison, double ratio, int64_t b, int64_t h, int64_t i,
                 int64_t d)
{
    if (!(ratio > comparison->ratio))
        return;
    comparison->ratio = ratio;
    comparison->worst_b = b;
    comparison->worst_h = h;
    comparison->worst_i = i;
    comparison->worst_d = d;
}

// Roundings of relative size 2^-24 that a score may have gathered: they grow as a random walk.
static double score_roundings(const struct fcl_problem *problem)
{
    return fmax(8, sqrt((double)problem->head_dim_qk));
}

// What scores in the input type add to the error allowed.
static double storage_error(const struct fcl_problem *problem, int unfused, double score_limit)
{
    return unfused ? 4 * fcl_element_roundoff(problem->dtype_q) * fmax(1, score_limit) : 0;
}

// The error allowed in a row, relative to the magnitude. A model that overflowed allows nothing.
static double allowed_error(const struct fcl_problem *problem,
                            const struct fcl_reference_row *exact,
                            const struct fcl_reference_row *model, int unfused)
{
    double of_model = 0;
    for (int d = 0; d < problem->head_dim_v; d++) {
        const double error = relative_error(problem->dtype_o, model->o[d], exact, d);
        if (isfinite(error) && error > of_model)
            of_model = error;
    }
    const double rounding =
        fmax(4 * fcl_element_roundoff(problem->dtype_o), fcl_element_roundoff(problem->dtype_v));
    return 2 * of_model + rounding + score_roundings(problem) * F32_ROUNDOFF * exact->score_limit +
           storage_error(problem, unfused, exact->score_limit);
}

static enum fcl_status compare_output(const struct fcl_reference *reference,
                                      const struct fcl_problem *problem, int64_t b, int64_t h,
                                      int64_t i, const void *o, int64_t stride, int unfused,
                                      struct fcl_reference_row *exact,
                                      struct fcl_comparison *comparison)
{
    const int dims = problem->head_dim_v;
    double *numbers = malloc(3 * (size_t)dims * sizeof *numbers);
    if (numbers == NULL)
        return FCL_OUT_OF_MEMORY;
    exact->o = numbers;
    exact->magnitude = numbers + dims;
    struct fcl_reference_row model = {.o = numbers + 2 * dims};
    enum fcl_status status = fcl_reference_dense(reference, b, h, i, exact);
    if (status == FCL_OK)
        status = fcl_reference_model(reference, b, h, i, &model);
    if (status == FCL_OK) {
        const double allowed = allowed_error(problem, exact, &model, unfused);
        for (int d = 0; d < dims; d++) {
            const double value = (double)fcl_element_load(o, problem->dtype_o, d * stride);
            note(comparison, ratio_of(relative_error(problem->dtype_o, value, exact, d), allowed),
                 b, h, i, d);
            comparison->error =
                fmax(comparison->error, error_of(problem->dtype_o, value, exact->o[d]));
        }
    }
    free(numbers);
    return status;
}

enum fcl_status fcl_reference_compare(const struct fcl_reference *reference, int64_t b, int64_t h,
                                      int64_t i, const void *o, int64_t stride, const float *lse,
                                      int unfused, struct fcl_comparison *comparison)
{
    struct fcl_problem problem;
    if (reference == NULL || comparison == NULL || (o == NULL && lse == NULL) ||
        fcl_problem_complete(reference->problem, &problem, NULL, 0) != FCL_OK)
        return FCL_INVALID_ARGUMENT;
    struct fcl_reference_row exact = {0};
    const enum fcl_status status = o != NULL ? compare_output(reference, &problem, b, h, i, o,
                                                              stride, unfused, &exact, comparison)
                                             : fcl_reference_dense(reference, b, h, i, &exact);
    if (status != FCL_OK)
        return status;
    comparison->rows++;
    if (lse == NULL)
        return FCL_OK;
    const double error = error_of(FCL_F32, (double)*lse, exact.lse);
    int64_t first;
    struct fcl_sequence_rows rows;
    if (fcl_sequences_rows(&problem, reference->sequences, b, &rows) != FCL_OK)
        return FCL_INVALID_ARGUMENT;
    problem.q_len = rows.q_len;
    problem.k_len = rows.k_len;
    const int64_t visible = fcl_reference_visible(&problem, i, &first);
    // Keys so far below a sink that they do not matter to LSE are all that O is made of.
    const double reach = fabs(exact.lse) + FCL_SCORE_REACH;
    const double limit =
        exact.score_limit > reach ? reach : fmax(exact.score_limit, exact.score_size);
    const double allowed =
        F32_ROUNDOFF * (score_roundings(&problem) * (1 + limit) + sqrt((double)visible)) +
        storage_error(&problem, unfused, limit);
    comparison->lse_error = fmax(comparison->lse_error, error);
    note(comparison, ratio_of(error, allowed), b, h, i, -1);
    return FCL_OK;
}

// ---- two results

#define CHUNK 256 // elements compared at once

// What two pieces of a row differ by at most, and the largest number of the first.
struct difference {
    float most, worst;
    int other; // 1: a number that is not finite on one side, and not the same on the other
};

static void add_difference(const float *x, const float *y, int count, struct difference *d)
{
    for (int i = 0; i < count; i++) {
        const float size = fabsf(x[i]), off = fabsf(x[i] - y[i]);
        const int same = x[i] == y[i] || (isnan(x[i]) && isnan(y[i]));
        d->most = size <= FLT_MAX && size > d->most ? size : d->most;
        d->worst = !same && off > d->worst ? off : d->worst;
        d->other |= !same && !(off <= FLT_MAX);
    }
}

// Numbers too small to be normal are rounded to whole steps.
static int row_agrees(const void *a, const void *b, enum fcl_dtype dtype, size_t first,
                      size_t count)
{
    static const double roundoff[] = {
        [FCL_F32] = 0x1p-24, [FCL_F16] = 0x1p-11, [FCL_BF16] = 0x1p-8};
    static const double step[] = {[FCL_F32] = 0x1p-149, [FCL_F16] = 0x1p-24, [FCL_BF16] = 0x1p-133};
    struct difference d = {0};
    for (size_t i = 0; i < count; i += CHUNK) {
        float x[CHUNK], y[CHUNK];
        const int part = (int)(count - i < CHUNK ? count - i : CHUNK);
        fcl_element_load_row(a, dtype, (int64_t)(first + i), 1, part, x);
        fcl_element_load_row(b, dtype, (int64_t)(first + i), 1, part, y);
        add_difference(x, y, part, &d);
    }
    return !d.other &&
           (double)d.worst <= (8 * roundoff[dtype] + 0x1p-16) * (double)d.most + 4 * step[dtype];
}

int fcl_rows_agree(const void *a, const void *b, enum fcl_dtype dtype, size_t count, size_t row)
{
    for (size_t first = 0; first < count; first += row)
        if (!row_agrees(a, b, dtype, first, row))
            return 0;
    return 1;
}
