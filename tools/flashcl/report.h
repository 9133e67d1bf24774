// The one row model behind every output: columns are declared once, rows are filled by column name,
// and the same rows become a text table, CSV or a JSON array.
#ifndef FLASHCL_TOOL_REPORT_H
#define FLASHCL_TOOL_REPORT_H

#include <stdint.h>
#include <stdio.h>

enum report_format { REPORT_TEXT, REPORT_JSON, REPORT_CSV };

// How the text form looks; CSV and JSON are the same for both.
enum report_layout {
    REPORT_TABLE, // a line a row
    REPORT_BLOCKS // a line a value, an empty line between rows
};

enum report_type {
    REPORT_WORD,       // text, aligned left
    REPORT_INTEGER,    // whole number
    REPORT_FIXED,      // `digits` behind the point
    REPORT_SIGNIFICANT // `digits` significant ones
};

// One column. The type says how the text form aligns and rounds; CSV and JSON hold 9 significant
// digits.
struct report_column {
    const char *name;
    enum report_type type;
    int digits;
    int hidden_in_text; // 1: only in CSV and JSON; or text says it elsewhere, as the device
};

struct report_value;

// Rows under way. Fields are the module's own.
struct report {
    FILE *out;
    enum report_format format;
    enum report_layout layout;
    const struct report_column *columns;
    size_t column_count;
    struct report_value *values; // row by row
    size_t row_count, row_capacity;
};

// Starts an empty report; `columns` must outlive it.
void report_init(struct report *report, FILE *out, enum report_format format,
                 enum report_layout layout, const struct report_column *columns,
                 size_t column_count);

// Starts a row whose values are all missing.
void report_row(struct report *report);

// Sets a value of the current row; texts are copied, NULL stays missing. Any column takes any kind
// of value, so that a reason can stand where a number is missing.
void report_set_text(struct report *report, const char *column, const char *text);
void report_set_integer(struct report *report, const char *column, int64_t value);
void report_set_real(struct report *report, const char *column, double value);

// Ends the current row. CSV rows are written at once, so that a run that is stopped keeps them.
void report_row_end(struct report *report);

// Writes what is not written yet and frees the rows. Missing values are `-` in text, empty in CSV,
// null in JSON; JSON has null for NaN and infinities too.
void report_finish(struct report *report);

#endif
