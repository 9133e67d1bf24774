// Checks the rows of a file before anything is measured, and sets them beside ours.
#include "rivals.h"

#include "memory.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct rivals {
    json_t *rows;
};

// ---- Reading ----------------------------------------------------------------------------------

static const char *text_of(const json_t *row, const char *key)
{
    return json_string_value(json_object_get(row, key));
}

static double number_of(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

static int is_ok(const json_t *row)
{
    return strcmp(text_of(row, "status"), "ok") == 0;
}

// Replaces the row's problem by its shortest text, to be found whoever wrote it. Returns 0 where it
// is no problem.
static int shorten_problem(json_t *row, char *reason, size_t size)
{
    struct fcl_problem problem;
    char text[256];
    if (fcl_problem_parse(text_of(row, "problem"), &problem, reason, size) != FCL_OK) {
        return 0;
    }
    fcl_problem_format(&problem, text, sizeof(text));
    json_object_set_new(row, "problem", json_string(text));
    return 1;
}

static int check_row(json_t *row, char *reason, size_t size)
{
    static const char *const texts[] = {"problem", "impl", "status"};
    static const char *const times[] = {"median_ms", "min_ms"};
    if (!json_is_object(row)) {
        snprintf(reason, size, "it is no object");
        return 0;
    }
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (text_of(row, texts[i]) == NULL) {
            snprintf(reason, size, "it has no text `%s`", texts[i]);
            return 0;
        }
    }
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]) && is_ok(row); i++) {
        if (!(number_of(row, times[i]) > 0)) {
            snprintf(reason, size, "its status is ok, but it has no `%s` above 0", times[i]);
            return 0;
        }
    }
    return shorten_problem(row, reason, size);
}

static int check_rows(const json_t *rows, char *reason, size_t size)
{
    char of_row[512] = "";
    if (!json_is_array(rows)) {
        snprintf(reason, size, "it is no array of rows, as `flashcl bench --json` writes them");
        return 0;
    }
    for (size_t i = 0; i < json_array_size(rows); i++) {
        if (!check_row(json_array_get(rows, i), of_row, sizeof(of_row))) {
            snprintf(reason, size, "row %zu: %s", i + 1, of_row);
            return 0;
        }
    }
    return 1;
}

struct rivals *rivals_read(const char *path, char *reason, size_t size)
{
    json_error_t error;
    json_t *rows = json_load_file(path, 0, &error);
    if (rows == NULL) {
        if (error.line > 0) {
            snprintf(reason, size, "line %d: %s", error.line, error.text);
        } else {
            snprintf(reason, size, "%s", error.text);
        }
        return NULL;
    }
    if (!check_rows(rows, reason, size)) {
        json_decref(rows);
        return NULL;
    }
    struct rivals *rivals = memory_get(1, sizeof(*rivals));
    rivals->rows = rows;
    return rivals;
}

void rivals_free(struct rivals *rivals)
{
    if (rivals != NULL) {
        json_decref(rivals->rows);
    }
    free(rivals);
}

// ---- Comparing --------------------------------------------------------------------------------

static void set_value(struct report *report, const char *column, const json_t *value)
{
    if (json_is_string(value)) {
        report_set_text(report, column, json_string_value(value));
    } else if (json_is_integer(value)) {
        report_set_integer(report, column, json_integer_value(value));
    } else if (json_is_real(value)) {
        report_set_real(report, column, json_real_value(value));
    }
}

static void add_row(const json_t *row, const char *versus, const struct fcl_timing *own,
                    struct report *report)
{
    report_row(report);
    for (size_t i = 0; i < report->column_count; i++) {
        const char *column = report->columns[i].name;
        set_value(report, column, json_object_get(row, column));
    }
    report_set_text(report, "versus", versus);
    if (own != NULL && is_ok(row)) {
        report_set_real(report, "ratio_best", number_of(row, "min_ms") / own->min_ms);
        report_set_real(report, "ratio_median", number_of(row, "median_ms") / own->median_ms);
    }
    report_row_end(report);
}

size_t rivals_add(const struct rivals *rivals, const char *problem, const char *versus,
                  const struct fcl_timing *own, struct report *report)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(rivals->rows); i++) {
        const json_t *row = json_array_get(rivals->rows, i);
        if (strcmp(text_of(row, "problem"), problem) == 0) {
            add_row(row, versus, own, report);
            count++;
        }
    }
    return count;
}
