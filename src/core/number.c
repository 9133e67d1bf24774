// Numbers in text forms. The C library's strtod and printf follow the process's locale, which
// belongs to the application; files must not.
#include "number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Beyond these, every double is 0 or infinite.
#define EXPONENT_LIMIT 400

// More digits than a double can tell apart; the rest only moves the exponent.
#define MANTISSA_LIMIT 100000000000000000

// Ten to this power, and every smaller one, is exact in a double.
#define EXACT_POWER 22

static int is_digit(const char *at, const char *end)
{
    return at < end && *at >= '0' && *at <= '9';
}

int fcl_number_read(const char **cursor, const char *end, int64_t largest, int64_t *number)
{
    int64_t value = 0;
    const char *at = *cursor;
    for (; is_digit(at, end); at++) {
        const int digit = *at - '0';
        if (digit > largest || value > (largest - digit) / 10)
            return 0;
        value = value * 10 + digit;
    }
    if (at == *cursor)
        return 0;
    *cursor = at;
    *number = value;
    return 1;
}

// Adds the digits at *cursor to the mantissa. `behind` is 1 after the point.
static void read_mantissa(const char **cursor, const char *end, int behind, int64_t *mantissa,
                          int64_t *exponent)
{
    for (; is_digit(*cursor, end); (*cursor)++) {
        const int kept = *mantissa < MANTISSA_LIMIT;
        if (kept)
            *mantissa = *mantissa * 10 + (**cursor - '0');
        *exponent += !kept - behind;
    }
}

static int read_exponent(const char **cursor, const char *end, int64_t *exponent)
{
    const char *at = *cursor + 1;
    const int negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    int64_t value;
    if (!fcl_number_read(&at, end, EXPONENT_LIMIT, &value))
        return 0;
    *exponent += negative ? -value : value;
    *cursor = at;
    return 1;
}

static double times_power_of_ten(double value, int64_t exponent)
{
    int64_t left = exponent < 0 ? -exponent : exponent;
    while (left > 0) {
        double power = 1;
        for (int i = 0; i < EXACT_POWER && left > 0; i++, left--)
            power *= 10;
        value = exponent < 0 ? value / power : value * power;
    }
    return value;
}

int fcl_real_read(const char *text, const char *end, double *real)
{
    int64_t mantissa = 0, exponent = 0;
    if (!is_digit(text, end))
        return 0;
    read_mantissa(&text, end, 0, &mantissa, &exponent);
    if (text < end && *text == '.') {
        text++;
        if (!is_digit(text, end))
            return 0;
        read_mantissa(&text, end, 1, &mantissa, &exponent);
    }
    if (text < end && *text == 'e' && !read_exponent(&text, end, &exponent))
        return 0;
    if (text != end || exponent > EXPONENT_LIMIT || exponent < -EXPONENT_LIMIT)
        return 0;
    const double value = times_power_of_ten((double)mantissa, exponent);
    if (!isfinite(value))
        return 0;
    *real = value;
    return 1;
}

void fcl_real_format(double real, char text[FCL_REAL_SIZE])
{
    fcl_real_write(real, 6, text);
}

void fcl_real_write(double real, int digits, char text[FCL_REAL_SIZE])
{
    char local[FCL_REAL_SIZE] = {0};
    snprintf(local, sizeof local, "%.*g", digits, real);
    if (!isfinite(real)) {
        memcpy(text, local, sizeof local);
        return;
    }
    // Whatever is no digit, sign or exponent is the locale's point, of one byte or several.
    size_t length = 0;
    for (const char *at = local; *at != 0;) {
        const size_t plain = strspn(at, "0123456789+-e");
        memcpy(text + length, at, plain);
        length += plain;
        at += plain;
        if (*at != 0)
            text[length++] = '.';
        at += strcspn(at, "0123456789+-e");
    }
    text[length] = 0;
}
