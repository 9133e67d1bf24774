// Pairs the rows of two wisdom files: of the same device and driver first, then of the same class
// on different ones.
#include "wisdom_diff.h"

#include "memory.h"
#include "wisdom_why.h"

#include <stdlib.h>
#include <string.h>

static const struct report_column columns[] = {
    {"difference", REPORT_WORD, 0, 0},   {"class", REPORT_WORD, 0, 0},
    {"device_a", REPORT_WORD, 0, 0},     {"device_b", REPORT_WORD, 0, 0},
    {"driver_a", REPORT_WORD, 0, 1},     {"driver_b", REPORT_WORD, 0, 1},
    {"config_a", REPORT_WORD, 0, 0},     {"config_b", REPORT_WORD, 0, 0},
    {"median_ms_a", REPORT_FIXED, 4, 0}, {"median_ms_b", REPORT_FIXED, 4, 0},
    {"why", REPORT_WORD, 0, 0}};

#define NONE SIZE_MAX

struct diff {
    const fcl_wisdom *wisdom[2]; // A and B
    size_t *partners[2];         // for each row the number of its partner; NONE: it has none
    const struct fcl_caps *caps;
    size_t caps_count;
    struct report report;
};

// How near the devices of two rows of one class are: 2 the same driver, 1 the same device.
static int nearness(const struct fcl_wisdom_row *a, const struct fcl_wisdom_row *b)
{
    const int same = strcmp(a->device, b->device) == 0;
    return same ? 1 + (strcmp(a->driver, b->driver) == 0) : 0;
}

// Pairs rows that have no partner yet and are so near.
static void pair(struct diff *diff, int wanted)
{
    for (size_t i = 0; i < fcl_wisdom_count(diff->wisdom[0]); i++) {
        const struct fcl_wisdom_row a = fcl_wisdom_at(diff->wisdom[0], i);
        for (size_t j = 0; diff->partners[0][i] == NONE && j < fcl_wisdom_count(diff->wisdom[1]);
             j++) {
            const struct fcl_wisdom_row b = fcl_wisdom_at(diff->wisdom[1], j);
            if (diff->partners[1][j] == NONE && nearness(&a, &b) == wanted &&
                strcmp(a.problem_class, b.problem_class) == 0) {
                diff->partners[0][i] = j;
                diff->partners[1][j] = i;
            }
        }
    }
}

static const struct fcl_caps *find_caps(const struct diff *diff, const char *device)
{
    for (size_t i = 0; i < diff->caps_count; i++) {
        if (strcmp(diff->caps[i].name, device) == 0) {
            return &diff->caps[i];
        }
    }
    return NULL;
}

static void set_side(struct report *report, const struct fcl_wisdom_row *row, int b)
{
    report_set_text(report, b ? "device_b" : "device_a", row->device);
    report_set_text(report, b ? "driver_b" : "driver_a", row->driver);
    report_set_text(report, b ? "config_b" : "config_a", row->config);
    report_set_real(report, b ? "median_ms_b" : "median_ms_a", row->median_ms);
}

// A row that only one file has.
static void add_single(struct diff *diff, int b, size_t index)
{
    struct report *report = &diff->report;
    const struct fcl_wisdom_row row = fcl_wisdom_at(diff->wisdom[b], index);
    report_row(report);
    report_set_text(report, "difference", b ? "only-b" : "only-a");
    report_set_text(report, "class", row.problem_class);
    set_side(report, &row, b);
    report_row_end(report);
}

static void add_pair(struct diff *diff, size_t index)
{
    struct report *report = &diff->report;
    struct wisdom_side a = {.name = "A", .row = fcl_wisdom_at(diff->wisdom[0], index)};
    struct wisdom_side b = {.name = "B",
                            .row = fcl_wisdom_at(diff->wisdom[1], diff->partners[0][index])};
    if (strcmp(a.row.config, b.row.config) == 0) {
        return;
    }
    a.caps = find_caps(diff, a.row.device);
    b.caps = find_caps(diff, b.row.device);
    char *why = wisdom_why(&a, &b);
    report_row(report);
    report_set_text(report, "difference", "differs");
    report_set_text(report, "class", a.row.problem_class);
    set_side(report, &a.row, 0);
    set_side(report, &b.row, 1);
    report_set_text(report, "why", why);
    report_row_end(report);
    free(why);
}

static size_t *no_partners(const fcl_wisdom *wisdom)
{
    const size_t count = fcl_wisdom_count(wisdom);
    size_t *partners = memory_get(count, sizeof(*partners));
    for (size_t i = 0; i < count; i++) {
        partners[i] = NONE;
    }
    return partners;
}

void wisdom_diff(const fcl_wisdom *a, const fcl_wisdom *b, const struct fcl_caps *caps,
                 size_t count, enum report_format format)
{
    struct diff diff = {.wisdom = {a, b},
                        .partners = {no_partners(a), no_partners(b)},
                        .caps = caps,
                        .caps_count = count};
    for (int wanted = 2; wanted >= 0; wanted--) {
        pair(&diff, wanted);
    }
    report_init(&diff.report, stdout, format, REPORT_TABLE, columns,
                sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < fcl_wisdom_count(a); i++) {
        if (diff.partners[0][i] != NONE) {
            add_pair(&diff, i);
        } else {
            add_single(&diff, 0, i);
        }
    }
    for (size_t i = 0; i < fcl_wisdom_count(b); i++) {
        if (diff.partners[1][i] == NONE) {
            add_single(&diff, 1, i);
        }
    }
    report_finish(&diff.report);
    free(diff.partners[0]);
    free(diff.partners[1]);
}
