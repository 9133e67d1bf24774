// JSON forms of what workers tell.
#include "exchange.h"

#include "status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

json_t *exchange_real(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

json_t *exchange_timing(const struct fcl_timing *timing)
{
    json_t *times = json_array();
    for (int i = 0; i < timing->kept; i++) {
        json_array_append_new(times, exchange_real(timing->times_ms[i]));
    }
    return json_pack("{s:o,s:o,s:o,s:s,s:i,s:i,s:o}", "median_ms", exchange_real(timing->median_ms),
                     "min_ms", exchange_real(timing->min_ms), "spread",
                     exchange_real(timing->spread), "clock", fcl_clock_text(timing->clock),
                     "samples", timing->samples, "batch", timing->batch, "times_ms", times);
}

// A driver's words need not be UTF-8, which JSON wants.
static void copy_ascii(char *to, size_t size, const char *from)
{
    size_t length = 0;
    for (; length + 1 < size && from[length] != '\0'; length++) {
        to[length] = from[length] >= ' ' && from[length] <= '~' ? from[length] : ' ';
    }
    to[length] = '\0';
}

json_t *exchange_evaluation(const struct fcl_evaluation *evaluation)
{
    char reason[sizeof(evaluation->reason)];
    copy_ascii(reason, sizeof(reason), evaluation->reason);
    return json_pack(
        "{s:s,s:s,s:s,s:o,s:o,s:o,s:o}", "status", status_word(evaluation->status), "reason",
        reason, "bad", evaluation->bad, "ratio", exchange_real(evaluation->ratio), "build_ms",
        exchange_real(evaluation->build_ms), "verify_ms", exchange_real(evaluation->verify_ms),
        "timing", exchange_timing(&evaluation->timing));
}

int exchange_read_real(const json_t *object, const char *name, double *number)
{
    const json_t *value = json_object_get(object, name);
    *number = json_is_number(value) ? json_number_value(value) : INFINITY;
    return json_is_number(value) || json_is_null(value);
}

// At most as many as there is room for.
static void read_times(const json_t *list, struct fcl_timing *timing)
{
    for (size_t i = 0; i < json_array_size(list) && i < FCL_TIMING_KEPT; i++) {
        timing->times_ms[timing->kept++] = json_number_value(json_array_get(list, i));
    }
}

int exchange_read_timing(const json_t *object, struct fcl_timing *timing)
{
    const char *clock = json_string_value(json_object_get(object, "clock"));
    *timing =
        (struct fcl_timing){.samples = (int)json_integer_value(json_object_get(object, "samples")),
                            .batch = (int)json_integer_value(json_object_get(object, "batch"))};
    if (clock != NULL && strcmp(clock, fcl_clock_text(FCL_CLOCK_WALL)) == 0) {
        timing->clock = FCL_CLOCK_WALL;
    }
    read_times(json_object_get(object, "times_ms"), timing);
    return clock != NULL && exchange_read_real(object, "median_ms", &timing->median_ms) &&
           exchange_read_real(object, "min_ms", &timing->min_ms) &&
           exchange_read_real(object, "spread", &timing->spread);
}

int exchange_read_evaluation(const json_t *object, struct fcl_evaluation *evaluation)
{
    const char *word = json_string_value(json_object_get(object, "status"));
    const char *reason = json_string_value(json_object_get(object, "reason"));
    const char *bad = json_string_value(json_object_get(object, "bad"));
    *evaluation = (struct fcl_evaluation){.ratio = 0};
    if (word == NULL || reason == NULL || bad == NULL || !status_read(word, &evaluation->status)) {
        return 0;
    }
    snprintf(evaluation->reason, sizeof(evaluation->reason), "%s", reason);
    snprintf(evaluation->bad, sizeof(evaluation->bad), "%s", bad);
    return exchange_read_real(object, "ratio", &evaluation->ratio) &&
           exchange_read_real(object, "build_ms", &evaluation->build_ms) &&
           exchange_read_real(object, "verify_ms", &evaluation->verify_ms) &&
           exchange_read_timing(json_object_get(object, "timing"), &evaluation->timing);
}
