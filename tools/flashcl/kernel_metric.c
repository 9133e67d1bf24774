// The metric of `flashcl tune-kernel`.
#include "kernel_metric.h"

#include "memory.h"
#include "status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int kernel_metric_read(struct kernel_metric *metric, const char *text, const fcl_space *space)
{
    const char *names[FCL_SPACE_NAMES + 1];
    const char *equals = text != NULL ? strchr(text, '=') : NULL;
    char why[256];
    size_t count = fcl_space_parameters(space);
    if (text == NULL) {
        return EXIT_OK;
    }
    if (equals == NULL || equals == text) {
        return options_usage(&verb_tune_kernel, "--metric %s: NAME=EXPRESSION is allowed", text);
    }
    for (size_t i = 0; i < count; i++) {
        names[i] = fcl_space_parameter_name(space, i);
    }
    names[count] = "time_ms";
    if (fcl_expression_compile(equals + 1, names, count + 1, &metric->expression, why,
                               sizeof(why)) != FCL_OK) {
        return options_usage(&verb_tune_kernel, "--metric %s: %s", text, why);
    }
    metric->name = memory_print("%.*s", (int)(equals - text), text);
    return EXIT_OK;
}

double kernel_metric_compute(const struct kernel_metric *metric, const fcl_space *space,
                             uint64_t point, double ms)
{
    struct fcl_value values[FCL_SPACE_NAMES + 1], result;
    size_t count = fcl_space_parameters(space);
    if (metric->expression == NULL) {
        return NAN;
    }
    for (size_t i = 0; i < count; i++) {
        values[i] = fcl_space_value(space, i, fcl_point_place(space, point, i));
    }
    values[count] = fcl_value_real(ms);
    if (fcl_expression_evaluate(metric->expression, values, &result, NULL, 0) != FCL_OK ||
        result.kind == FCL_VALUE_TEXT) {
        return NAN;
    }
    return result.kind == FCL_VALUE_REAL ? result.real : (double)result.integer;
}

void kernel_metric_free(struct kernel_metric *metric)
{
    fcl_expression_destroy(&metric->expression);
    free(metric->name);
    *metric = (struct kernel_metric){.name = NULL};
}
