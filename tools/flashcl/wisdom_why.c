// Compares two winners of one class by what they need and what the devices have.
#include "wisdom_why.h"

#include "memory.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void say(char **text, const char *format, ...)
{
    va_list arguments;
    char part[512];
    va_start(arguments, format);
    vsnprintf(part, sizeof(part), format, arguments);
    va_end(arguments);
    memory_append(text, "%s%s", *text != NULL ? "; " : "", part);
}

// ---- problems of a class

// Reads the sizes that a class ends with, powers of two. Returns the length of what is before.
static size_t read_sizes(const char *problem_class, int sizes[4])
{
    const char *end = strstr(problem_class, " bh");
    int length = 0;
    if (end == NULL ||
        sscanf(end, " bh%d q%d k%d g%d%n", &sizes[0], &sizes[1], &sizes[2], &sizes[3], &length) !=
            4 ||
        end[length] != '\0' || sizes[0] < 0 || sizes[1] < 0 || sizes[2] < 0 || sizes[0] > 30 ||
        sizes[1] > 30 || sizes[2] > 30 || sizes[3] < 1) {
        return 0;
    }
    return (size_t)(end - problem_class);
}

// The largest problem of a class such as `fused fwd d64 f32 causal bh3 q10 k10 g1`.
static int read_class(const char *problem_class, struct fcl_problem *problem)
{
    int sizes[4];
    size_t length = read_sizes(problem_class, sizes);
    const char *pass = strchr(problem_class, ' ');
    if (length == 0 || pass == NULL || pass >= problem_class + length) {
        return 0;
    }
    char *baked =
        memory_print("%.*s", (int)(length - (size_t)(pass + 1 - problem_class)), pass + 1);
    char *causal = strstr(baked, " causal");
    char *text = memory_print("%.*s%s%s b%d h%d/1 q%d k%d",
                              causal != NULL ? (int)(causal - baked) : (int)strlen(baked), baked,
                              causal != NULL                   ? " causal-tl"
                              : strstr(baked, " win=") != NULL ? " tl"
                                                               : "",
                              causal != NULL ? causal + strlen(" causal") : "",
                              (1 << sizes[0]) / sizes[3], sizes[3], 1 << sizes[1], 1 << sizes[2]);
    enum fcl_status status = fcl_problem_parse(text, problem, NULL, 0);
    free(text);
    free(baked);
    return status == FCL_OK;
}

// ---- configurations of attention

// Whether the device of one side can run the winner of the other; says why not.
static int fits(char **text, const struct wisdom_side *device, const struct wisdom_side *winner,
                const struct fcl_config *config, const struct fcl_problem *problem)
{
    char reason[256];
    if (fcl_config_validate(config, problem, device->caps, reason, sizeof(reason)) == FCL_OK) {
        return 1;
    }
    say(text, "%s's does not fit on %s: %s", winner->name, device->name, reason);
    return 0;
}

static void compare_limits(char **text, const struct wisdom_side *a, const struct wisdom_side *b,
                           const struct fcl_config configs[2], const struct fcl_problem *problem)
{
    int b_on_a = a->caps != NULL && fits(text, a, b, &configs[1], problem);
    int a_on_b = b->caps != NULL && fits(text, b, a, &configs[0], problem);
    if (b_on_a && a_on_b) {
        say(text, "both fit on both: only timing tells");
    } else if (b_on_a && b->caps == NULL) {
        say(text, "%s's fits on %s, too", b->name, a->name);
    } else if (a_on_b && a->caps == NULL) {
        say(text, "%s's fits on %s, too", a->name, b->name);
    }
}

static void compare_figure(char **text, const char *name, int64_t a, int64_t b, const char *unit)
{
    if (a != b) {
        say(text, "%s %" PRId64 " against %" PRId64 "%s", name, a, b, unit);
    }
}

static void compare_figures(char **text, const struct fcl_config configs[2],
                            const struct fcl_problem *problem)
{
    struct fcl_budget budgets[2];
    if (configs[0].family != configs[1].family) {
        say(text, "family %s against %s", fcl_family_text(configs[0].family),
            fcl_family_text(configs[1].family));
    }
    for (int i = 0; i < 2; i++) {
        if (fcl_config_budget(&configs[i], problem, &budgets[i], NULL, 0) != FCL_OK) {
            return;
        }
    }
    compare_figure(text, "vector width", budgets[0].lanes, budgets[1].lanes, "");
    compare_figure(text, "registers", budgets[0].registers, budgets[1].registers, "");
    compare_figure(text, "local memory", budgets[0].local_bytes, budgets[1].local_bytes, " bytes");
    compare_figure(text, "private arrays", budgets[0].private_bytes, budgets[1].private_bytes,
                   " bytes");
    compare_figure(text, "work-group", budgets[0].group_size, budgets[1].group_size, "");
}

// ---- points of a user's kernel

// Takes the first word, whose spaces may be in quotes; returns its length.
static size_t word_length(const char *text)
{
    char quote = '\0';
    size_t length = 0;
    for (; text[length] != '\0' && (quote != '\0' || text[length] != ' '); length++) {
        if (text[length] == quote) {
            quote = '\0';
        } else if (quote == '\0' && (text[length] == '\'' || text[length] == '"')) {
            quote = text[length];
        }
    }
    return length;
}

// Parameters of the two points, in the same order, that differ.
static void compare_points(char **text, const char *a, const char *b)
{
    while (*a != '\0' && *b != '\0') {
        const size_t length_a = word_length(a), length_b = word_length(b);
        const size_t name = strcspn(a, "=");
        if ((length_a != length_b || strncmp(a, b, length_a) != 0) && name < length_a &&
            name < length_b && strncmp(a, b, name + 1) == 0) {
            say(text, "%.*s %.*s against %.*s", (int)name, a, (int)(length_a - name - 1),
                a + name + 1, (int)(length_b - name - 1), b + name + 1);
        }
        a += length_a + strspn(a + length_a, " ");
        b += length_b + strspn(b + length_b, " ");
    }
}

// ---- rows

static int is_bad(const struct wisdom_side *side, char **text)
{
    if (strncmp(side->row.config, "bad ", 4) != 0) {
        return 0;
    }
    say(text, "failed on %s: %s", side->name, side->row.config + 4);
    return 1;
}

char *wisdom_why(const struct wisdom_side *a, const struct wisdom_side *b)
{
    struct fcl_config configs[2];
    struct fcl_problem problem;
    char *text = NULL;
    const int bad = is_bad(a, &text) + is_bad(b, &text);
    if (bad > 0) {
        return text;
    }
    if (strncmp(a->row.problem_class, "kernel ", 7) == 0) {
        compare_points(&text, a->row.config, b->row.config);
    } else if (fcl_config_parse(a->row.config, &configs[0], NULL, 0) == FCL_OK &&
               fcl_config_parse(b->row.config, &configs[1], NULL, 0) == FCL_OK &&
               read_class(a->row.problem_class, &problem)) {
        compare_limits(&text, a, b, configs, &problem);
        compare_figures(&text, configs, &problem);
    }
    return text;
}
