// What the host references share.
#ifndef FCL_ATTENTION_REFERENCE_H
#define FCL_ATTENTION_REFERENCE_H

#include <flashcl/tune.h>

#include "core/common.h"

// Visible scores are at least this (-2^126 in base 2): a row of -infinities that are visible, not
// hidden, is the plain softmax of equal scores.
#define FCL_SCORE_FLOOR (-0x1p126 * 0.69314718055994530942)

// Below the largest score by this much, a key weighs less than 2e-14 of what that one does: its
// score matters to nothing.
#define FCL_SCORE_REACH 32

// How many keys, from *first on, query i of a completed problem sees.
int64_t fcl_reference_visible(const struct fcl_problem *problem, int64_t i, int64_t *first);

// The scale, or the default where it is 0.
float fcl_reference_scale(float scale, int head_dim_qk);

// Whether two results of `count` elements agree, row by row of `row` elements: within rounding
// relative to the largest number of the first one's row.
int fcl_rows_agree(const void *a, const void *b, enum fcl_dtype dtype, size_t count, size_t row);

#endif
