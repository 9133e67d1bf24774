// Results of tuning in T4, the autotuning community's exchange form: an object with an array
// `results` of {configuration, times, invalidity, correctness, measurements, objectives}. Times are
// milliseconds. What is written follows the schema; what is read may follow Kernel Tuner's own
// spelling, too.
#ifndef FLASHCL_TOOL_RESULTS_H
#define FLASHCL_TOOL_RESULTS_H

#include <flashcl/tune.h>

#include <stdio.h>

// The value of one parameter.
struct results_setting {
    const char *name;
    struct fcl_value value;
};

// A list of parameters with their values; an array of the caller's.
struct results_settings {
    const struct results_setting *items;
    size_t count;
};

// Something that was measured.
struct results_measurement {
    const char *name, *unit;
    double value;
};

// ---- Writing ----------------------------------------------------------------------------------

// What became of a configuration. Texts and arrays are the caller's.
struct results_entry {
    struct results_settings configuration;
    enum fcl_status status;                  // as results_status says
    const char *timestamp;                   // ISO 8601; NULL: none
    const char *reason;                      // why not OK; NULL: none
    double compilation_ms;                   // NAN: not known
    const struct results_measurement *times; // other times than those of building and running, ms
    size_t time_count;
    const double *runtimes_ms;
    size_t runtime_count;
    const struct results_measurement *measurements; // where the status is OK, one is "time"
    size_t measurement_count;
};

// The status of an entry: BUDGET_REACHED where an evaluation was `bad` because it took too long.
enum fcl_status results_status(enum fcl_status status, const char *bad);

// A file under way. Fields are the module's own.
struct results_writer {
    FILE *file;
    const char *path;
    size_t count;
};

// Starts the file `path`, which must outlive the writer. `metadata` (may be empty) becomes an
// object of that name, and `standard`, the configuration that is used without tuning (empty: the
// first entry is that), its member `default`. Returns 1, or 0 after the error was reported.
int results_begin(struct results_writer *writer, const char *path, struct results_settings metadata,
                  struct results_settings standard);

// Appends an entry, on a line of its own. The file is valid JSON after each. Returns 1, or 0 after
// the error was reported; then nothing more can be added.
int results_add(struct results_writer *writer, const struct results_entry *entry);

// Closes the file. Returns 1, or 0 after the error was reported, now or before. A zeroed writer is
// fine.
int results_end(struct results_writer *writer);

// ---- Reading ----------------------------------------------------------------------------------

// A configuration that was tried.
struct results_point {
    struct results_setting *configuration;
    size_t configuration_count;
    double time; // the measurement "time", else the median of the run times; INFINITY: it failed
};

struct results {
    struct results_point *points; // in the order of the file
    size_t count;
    struct results_point standard; // what is used without tuning; its time does not count
    void *document;                // the module's own; owns the texts
};

// Reads a file. Every entry must have a configuration of numbers, bools and texts, and be either
// invalid or have a time above 0. Returns 1, or 0 with the reason: then nothing is to be freed.
int results_read(struct results *results, const char *path, char *reason, size_t size);
void results_free(struct results *results);

#endif
