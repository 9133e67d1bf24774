// Parses sweeps and writes the problem texts that they stand for.
#include "sweep.h"

#include "memory.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POINT_LIMIT 1000

// Takes a number of at least 1 at *text, and the character behind it.
static int take_number(const char **text, char behind, int64_t *value)
{
    char *end;
    if (!isdigit((unsigned char)**text)) {
        return 0;
    }
    errno = 0;
    long long number = strtoll(*text, &end, 10);
    if (errno != 0 || number < 1 || *end != behind) {
        return 0;
    }
    *value = number;
    *text = end + (behind != '\0');
    return 1;
}

static int count_points(const struct sweep *sweep)
{
    int count = 1;
    int64_t value = sweep->from;
    while (count <= POINT_LIMIT && sweep_next(sweep, &value)) {
        count++;
    }
    return count;
}

int sweep_parse(const char *text, struct sweep *sweep, char *reason, size_t size)
{
    const char *next = text + 2;
    struct sweep parsed = {.field = text[0]};
    if (text[0] == '\0' || strchr("qkbhd", text[0]) == NULL || text[1] != '=' ||
        !take_number(&next, ':', &parsed.from) || !take_number(&next, ':', &parsed.to) ||
        (*next != 'x' && *next != '+')) {
        snprintf(reason, size,
                 "FIELD=FROM:TO:STEP is allowed, where FIELD is q, k, b, h or d, FROM and TO are "
                 "at least 1 and STEP is x2 or +512");
        return 0;
    }
    parsed.multiply = *next++ == 'x';
    if (!take_number(&next, '\0', &parsed.step) || (parsed.multiply && parsed.step < 2)) {
        snprintf(reason, size, "the step must be x2 or more, or +1 or more");
        return 0;
    }
    if (parsed.from > parsed.to) {
        snprintf(reason, size, "it starts at %" PRId64 ", above its end %" PRId64, parsed.from,
                 parsed.to);
        return 0;
    }
    if (count_points(&parsed) > POINT_LIMIT) {
        snprintf(reason, size, "it has more than %d points", POINT_LIMIT);
        return 0;
    }
    *sweep = parsed;
    return 1;
}

int sweep_next(const struct sweep *sweep, int64_t *value)
{
    if (sweep->multiply ? *value > sweep->to / sweep->step : *value > sweep->to - sweep->step) {
        return 0;
    }
    *value = sweep->multiply ? *value * sweep->step : *value + sweep->step;
    return 1;
}

// Whether a word of a problem text is the swept field: its letter, then a digit.
static int is_field(const struct sweep *sweep, const char *word)
{
    return word[0] == sweep->field && isdigit((unsigned char)word[1]);
}

char *sweep_apply(const struct sweep *sweep, int64_t value, const char *text)
{
    char *copy = memory_print("%s", text), *result = NULL, *rest = NULL;
    int replaced = 0;
    for (char *word = strtok_r(copy, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest)) {
        const char *space = result != NULL ? " " : "";
        if (is_field(sweep, word)) {
            const char *slash = strchr(word, '/');
            memory_append(&result, "%s%c%" PRId64 "%s", space, sweep->field, value,
                          slash != NULL ? slash : "");
            replaced = 1;
        } else {
            memory_append(&result, "%s%s", space, word);
        }
    }
    if (!replaced) {
        memory_append(&result, " %c%" PRId64, sweep->field, value);
    }
    free(copy);
    return result;
}
