// Numbers in text forms: strict, overflow-safe and the same in every locale.
#ifndef FCL_CORE_NUMBER_H
#define FCL_CORE_NUMBER_H

#include "common.h"

// Reads the decimal digits at *cursor, before `end`, and moves the cursor behind them. Returns 0
// where there is no digit or the number is above `largest`.
int fcl_number_read(const char **cursor, const char *end, int64_t largest, int64_t *number);

// Reads the whole of text..end as digits[.digits][e[+-]digits]: no sign, a point in every locale.
// Returns 0 for anything else and for what a double cannot hold.
int fcl_real_read(const char *text, const char *end, double *real);

#define FCL_REAL_SIZE 32

// Writes six significant digits, with a point in every locale.
void fcl_real_format(double real, char text[FCL_REAL_SIZE]);

// The same with 1 to 17 significant digits.
void fcl_real_write(double real, int digits, char text[FCL_REAL_SIZE]);

#endif
