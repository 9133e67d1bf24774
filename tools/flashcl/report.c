// Text table, CSV and JSON from the same rows.
#include "report.h"

#include "json_text.h"
#include "memory.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum value_kind { VALUE_MISSING, VALUE_TEXT, VALUE_INTEGER, VALUE_REAL };

struct report_value {
    enum value_kind kind;
    char *text;
    int64_t integer;
    double real;
};

#define EXACT_DIGITS 9
#define CELL_SIZE 48 // of a formatted number

void report_init(struct report *report, FILE *out, enum report_format format,
                 enum report_layout layout, const struct report_column *columns,
                 size_t column_count)
{
    *report = (struct report){.out = out,
                              .format = format,
                              .layout = layout,
                              .columns = columns,
                              .column_count = column_count};
}

static struct report_value *row_values(const struct report *report, size_t row)
{
    return report->values + row * report->column_count;
}

void report_row(struct report *report)
{
    size_t row_size = report->column_count * sizeof(struct report_value);
    report->values =
        memory_grow(report->values, report->row_count, &report->row_capacity, row_size);
    memset(row_values(report, report->row_count), 0, row_size);
    report->row_count++;
}

// The value of the current row's column. An unknown name is a mistake of the caller.
static struct report_value *find(struct report *report, const char *column)
{
    assert(report->row_count > 0);
    size_t index = 0;
    while (index < report->column_count && strcmp(report->columns[index].name, column) != 0) {
        index++;
    }
    assert(index < report->column_count);
    struct report_value *value = row_values(report, report->row_count - 1) + index;
    free(value->text);
    *value = (struct report_value){.kind = VALUE_MISSING};
    return value;
}

void report_set_text(struct report *report, const char *column, const char *text)
{
    struct report_value *value = find(report, column);
    if (text != NULL) {
        value->kind = VALUE_TEXT;
        value->text = memory_print("%s", text);
    }
}

void report_set_integer(struct report *report, const char *column, int64_t integer)
{
    struct report_value *value = find(report, column);
    value->kind = VALUE_INTEGER;
    value->integer = integer;
}

void report_set_real(struct report *report, const char *column, double real)
{
    struct report_value *value = find(report, column);
    value->kind = VALUE_REAL;
    value->real = real;
}

// ---- CSV --------------------------------------------------------------------------------------

static void print_csv_text(FILE *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"') {
            fputc('"', out);
        }
        fputc(*c, out);
    }
    fputc('"', out);
}

static void print_csv_value(FILE *out, const struct report_value *value)
{
    switch (value->kind) {
    case VALUE_TEXT:
        print_csv_text(out, value->text);
        break;
    case VALUE_INTEGER:
        fprintf(out, "%" PRId64, value->integer);
        break;
    case VALUE_REAL:
        fprintf(out, "%.*g", EXACT_DIGITS, value->real);
        break;
    case VALUE_MISSING:
        break;
    }
}

static void print_csv_header(const struct report *report)
{
    for (size_t i = 0; i < report->column_count; i++) {
        fprintf(report->out, "%s%s", i > 0 ? "," : "", report->columns[i].name);
    }
    fputc('\n', report->out);
}

static void print_csv_row(const struct report *report, size_t row)
{
    for (size_t i = 0; i < report->column_count; i++) {
        if (i > 0) {
            fputc(',', report->out);
        }
        print_csv_value(report->out, row_values(report, row) + i);
    }
    fputc('\n', report->out);
    fflush(report->out);
}

void report_row_end(struct report *report)
{
    if (report->format == REPORT_CSV) {
        if (report->row_count == 1) {
            print_csv_header(report);
        }
        print_csv_row(report, report->row_count - 1);
    }
}

// ---- JSON -------------------------------------------------------------------------------------

static json_t *json_value(const struct report_value *value)
{
    switch (value->kind) {
    case VALUE_TEXT:
        return json_text(value->text);
    case VALUE_INTEGER:
        return json_integer(value->integer);
    case VALUE_REAL:
        return isfinite(value->real) ? json_real(value->real) : json_null();
    case VALUE_MISSING:
        break;
    }
    return json_null();
}

static void print_json(const struct report *report)
{
    json_t *rows = json_array();
    for (size_t row = 0; row < report->row_count; row++) {
        json_t *object = json_object();
        for (size_t i = 0; i < report->column_count; i++) {
            json_object_set_new(object, report->columns[i].name,
                                json_value(row_values(report, row) + i));
        }
        json_array_append_new(rows, object);
    }
    json_dumpf(rows, report->out, JSON_INDENT(2) | JSON_REAL_PRECISION(EXACT_DIGITS));
    fputc('\n', report->out);
    json_decref(rows);
}

// ---- Text -------------------------------------------------------------------------------------

// The value as it stands in a table: either its own text or one in `cell`.
static const char *cell_text(const struct report_column *column, const struct report_value *value,
                             char cell[CELL_SIZE])
{
    switch (value->kind) {
    case VALUE_TEXT:
        return value->text;
    case VALUE_INTEGER:
        snprintf(cell, CELL_SIZE, "%" PRId64, value->integer);
        return cell;
    case VALUE_REAL:
        // A large number in fixed form would not fit the cell.
        if (column->type == REPORT_FIXED && fabs(value->real) < 1e15) {
            snprintf(cell, CELL_SIZE, "%.*f", column->digits, value->real);
        } else {
            snprintf(cell, CELL_SIZE, "%.*g", column->digits > 0 ? column->digits : EXACT_DIGITS,
                     value->real);
        }
        return cell;
    case VALUE_MISSING:
        break;
    }
    return "-";
}

// Columns on a terminal: bytes that do not continue a UTF-8 sequence.
static int text_width(const char *text)
{
    int width = 0;
    for (; *text != '\0'; text++) {
        width += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return width;
}

static void print_cell(FILE *out, const char *text, int width, int right, int last)
{
    int padding = width - text_width(text);
    if (right) {
        fprintf(out, "%*s%s", padding, "", text);
    } else {
        fprintf(out, "%s%*s", text, last ? 0 : padding, "");
    }
    fputs(last ? "\n" : "  ", out);
}

static int column_width(const struct report *report, size_t index)
{
    int width = text_width(report->columns[index].name);
    for (size_t row = 0; row < report->row_count; row++) {
        char cell[CELL_SIZE];
        int one =
            text_width(cell_text(&report->columns[index], row_values(report, row) + index, cell));
        width = one > width ? one : width;
    }
    return width;
}

// The index of the last column that the text form shows.
static size_t last_shown(const struct report *report)
{
    size_t last = report->column_count - 1;
    while (last > 0 && report->columns[last].hidden_in_text) {
        last--;
    }
    return last;
}

static void print_table(const struct report *report)
{
    int *widths = memory_get(report->column_count, sizeof(*widths));
    for (size_t i = 0; i < report->column_count; i++) {
        widths[i] = column_width(report, i);
    }
    size_t last = last_shown(report);
    for (size_t line = 0; line <= report->row_count; line++) {
        for (size_t i = 0; i <= last; i++) {
            const struct report_column *column = &report->columns[i];
            char cell[CELL_SIZE];
            if (!column->hidden_in_text) {
                const char *text = line == 0
                                       ? column->name
                                       : cell_text(column, row_values(report, line - 1) + i, cell);
                print_cell(report->out, text, widths[i], column->type != REPORT_WORD, i == last);
            }
        }
    }
    free(widths);
}

static void print_blocks(const struct report *report)
{
    int width = 0;
    for (size_t i = 0; i < report->column_count; i++) {
        int one = text_width(report->columns[i].name);
        width = one > width ? one : width;
    }
    for (size_t row = 0; row < report->row_count; row++) {
        if (row > 0) {
            fputc('\n', report->out);
        }
        for (size_t i = 0; i < report->column_count; i++) {
            char cell[CELL_SIZE];
            if (!report->columns[i].hidden_in_text) {
                print_cell(report->out, report->columns[i].name, width, 0, 0);
                print_cell(report->out,
                           cell_text(&report->columns[i], row_values(report, row) + i, cell), 0, 0,
                           1);
            }
        }
    }
}

void report_finish(struct report *report)
{
    if (report->format == REPORT_JSON) {
        print_json(report);
    } else if (report->format == REPORT_CSV) {
        if (report->row_count == 0) {
            print_csv_header(report);
        }
    } else if (report->layout == REPORT_BLOCKS) {
        print_blocks(report);
    } else if (report->row_count > 0) {
        print_table(report);
    }
    for (size_t i = 0; i < report->row_count * report->column_count; i++) {
        free(report->values[i].text);
    }
    free(report->values);
    report->values = NULL;
    report->row_count = report->row_capacity = 0;
}
