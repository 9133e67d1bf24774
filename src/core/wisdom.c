// Wisdom: a collection of rows, found by (device, driver, problem class), and its text form.
#include "wisdom.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "number.h"

#define HEADER "flashcl-wisdom 1"
#define BAD "bad "

// The texts of a row, in the order of the columns; the two numbers stand behind the first four.
// X(member)
#define TEXTS_BEFORE(X) X(device) X(driver) X(problem_class) X(config)
#define TEXTS_BEHIND(X) X(clock) X(version)
#define COLUMNS 8

struct entry {
    struct fcl_wisdom_row row; // its texts stand in `texts`
    char *texts;
    uint64_t hash;
};

// Entries in insertion order, and an open hash table of their places. Nothing is ever removed.
struct fcl_wisdom {
    struct entry *entries;
    size_t count, capacity;
    size_t *slots;     // place + 1; 0: free
    size_t slot_count; // a power of two, at least twice `capacity`
};

fcl_wisdom *fcl_wisdom_create(void)
{
    return calloc(1, sizeof(fcl_wisdom));
}

void fcl_wisdom_destroy(fcl_wisdom **wisdom)
{
    if (wisdom == NULL || *wisdom == NULL)
        return;
    for (size_t i = 0; i < (*wisdom)->count; i++)
        free((*wisdom)->entries[i].texts);
    free((*wisdom)->entries);
    free((*wisdom)->slots);
    free(*wisdom);
    *wisdom = NULL;
}

// ---- The collection ---------------------------------------------------------------------------

static uint64_t hash_key(const char *device, const char *driver, const char *problem_class)
{
    const uint64_t by_device = XXH64(device, strlen(device), 0);
    const uint64_t by_driver = XXH64(driver, strlen(driver), by_device);
    return XXH64(problem_class, strlen(problem_class), by_driver);
}

// The slot that holds the key, or the free one where it belongs. The table is never full.
static size_t *find_slot(const fcl_wisdom *wisdom, uint64_t hash, const char *device,
                         const char *driver, const char *problem_class)
{
    const size_t mask = wisdom->slot_count - 1;
    for (size_t at = (size_t)hash & mask;; at = (at + 1) & mask) {
        size_t *slot = &wisdom->slots[at];
        if (*slot == 0)
            return slot;
        const struct entry *entry = &wisdom->entries[*slot - 1];
        if (entry->hash == hash && strcmp(entry->row.device, device) == 0 &&
            strcmp(entry->row.driver, driver) == 0 &&
            strcmp(entry->row.problem_class, problem_class) == 0)
            return slot;
    }
}

static size_t *find_slot_of(const fcl_wisdom *wisdom, const struct entry *entry)
{
    return find_slot(wisdom, entry->hash, entry->row.device, entry->row.driver,
                     entry->row.problem_class);
}

// Makes room for `more` entries. Returns 0 when memory is out.
static int reserve(fcl_wisdom *wisdom, size_t more)
{
    if (more <= wisdom->capacity - wisdom->count)
        return 1;
    size_t capacity = wisdom->capacity > 0 ? wisdom->capacity : 16;
    while (capacity < wisdom->count + more)
        capacity *= 2;
    struct entry *entries = realloc(wisdom->entries, capacity * sizeof *entries);
    if (entries == NULL)
        return 0;
    wisdom->entries = entries;
    size_t *slots = calloc(2 * capacity, sizeof *slots);
    if (slots == NULL)
        return 0;
    free(wisdom->slots);
    wisdom->slots = slots;
    wisdom->slot_count = 2 * capacity;
    wisdom->capacity = capacity;
    for (size_t i = 0; i < wisdom->count; i++)
        *find_slot_of(wisdom, &entries[i]) = i + 1;
    return 1;
}

// Takes over the entry and its texts. Room must be reserved.
static void put(fcl_wisdom *wisdom, const struct entry *entry)
{
    size_t *slot = find_slot_of(wisdom, entry);
    if (*slot == 0) {
        wisdom->entries[wisdom->count++] = *entry;
        *slot = wisdom->count;
        return;
    }
    free(wisdom->entries[*slot - 1].texts);
    wisdom->entries[*slot - 1] = *entry;
}

// Copies a row's texts into one block. Returns 0 when memory is out.
static int copy_row(const struct fcl_wisdom_row *row, struct entry *entry)
{
    size_t size = 0;
#define FCL_X(member) size += strlen(row->member) + 1;
    TEXTS_BEFORE(FCL_X)
    TEXTS_BEHIND(FCL_X)
#undef FCL_X
    char *at = malloc(size);
    if (at == NULL)
        return 0;
    *entry = (struct entry){.row = *row, .texts = at};
#define FCL_X(member)                                 \
    entry->row.member = at;                           \
    memcpy(at, row->member, strlen(row->member) + 1); \
    at += strlen(row->member) + 1;
    TEXTS_BEFORE(FCL_X)
    TEXTS_BEHIND(FCL_X)
#undef FCL_X
    entry->hash = hash_key(row->device, row->driver, row->problem_class);
    return 1;
}

static int add_copy(fcl_wisdom *wisdom, const struct fcl_wisdom_row *row)
{
    struct entry entry;
    if (!reserve(wisdom, 1) || !copy_row(row, &entry))
        return 0;
    put(wisdom, &entry);
    return 1;
}

// Moves every entry of `from`, which becomes empty. Returns 0, with nothing changed, when memory is
// out.
static int move_all(fcl_wisdom *wisdom, fcl_wisdom *from)
{
    if (!reserve(wisdom, from->count))
        return 0;
    for (size_t i = 0; i < from->count; i++)
        put(wisdom, &from->entries[i]);
    from->count = 0;
    return 1;
}

int fcl_wisdom_merge(fcl_wisdom *wisdom, const fcl_wisdom *from)
{
    fcl_wisdom *copy = fcl_wisdom_create();
    int done = copy != NULL;
    for (size_t i = 0; i < from->count && done; i++)
        done = add_copy(copy, &from->entries[i].row);
    done = done && move_all(wisdom, copy);
    fcl_wisdom_destroy(&copy);
    return done;
}

// Whether a text can stand in a column.
static int is_column(const char *text)
{
    return text != NULL && strpbrk(text, "\t\r\n") == NULL;
}

static int is_amount(double number)
{
    return isfinite(number) && number >= 0;
}

enum fcl_status fcl_wisdom_add(fcl_wisdom *wisdom, const struct fcl_wisdom_row *row)
{
    int writable = wisdom != NULL && row != NULL;
#define FCL_X(member) writable = writable && is_column(row->member);
    TEXTS_BEFORE(FCL_X)
    TEXTS_BEHIND(FCL_X)
#undef FCL_X
    // What begins with # would be read back as a comment.
    if (!writable || row->device[0] == '#' || row->problem_class[0] == 0 || row->config[0] == 0 ||
        !is_amount(row->median_ms) || !is_amount(row->spread))
        return FCL_INVALID_ARGUMENT;
    return add_copy(wisdom, row) ? FCL_OK : FCL_OUT_OF_MEMORY;
}

size_t fcl_wisdom_count(const fcl_wisdom *wisdom)
{
    return wisdom != NULL ? wisdom->count : 0;
}

struct fcl_wisdom_row fcl_wisdom_at(const fcl_wisdom *wisdom, size_t index)
{
    if (index >= fcl_wisdom_count(wisdom))
        return (struct fcl_wisdom_row){"", "", "", "", 0, 0, "", ""};
    return wisdom->entries[index].row;
}

int fcl_wisdom_is_bad(const struct fcl_wisdom_row *row)
{
    return strncmp(row->config, BAD, strlen(BAD)) == 0 && row->config[strlen(BAD)] != 0;
}

const struct fcl_wisdom_row *fcl_wisdom_find(const fcl_wisdom *wisdom, const char *device,
                                             const char *driver, const char *problem_class)
{
    if (fcl_wisdom_count(wisdom) == 0)
        return NULL;
    if (driver != NULL) {
        const uint64_t hash = hash_key(device, driver, problem_class);
        const size_t place = *find_slot(wisdom, hash, device, driver, problem_class);
        return place > 0 ? &wisdom->entries[place - 1].row : NULL;
    }
    for (size_t i = wisdom->count; i-- > 0;) {
        const struct fcl_wisdom_row *row = &wisdom->entries[i].row;
        if (strcmp(row->problem_class, problem_class) == 0 && strcmp(row->device, device) == 0 &&
            !fcl_wisdom_is_bad(row))
            return row;
    }
    return NULL;
}

// ---- Text form --------------------------------------------------------------------------------

static void add_row(struct fcl_text *text, const struct fcl_wisdom_row *row)
{
    char median[FCL_REAL_SIZE], spread[FCL_REAL_SIZE];
    fcl_real_format(row->median_ms, median);
    fcl_real_format(row->spread, spread);
#define FCL_X(member) fcl_text_add(text, "%s\t", row->member != NULL ? row->member : "");
    TEXTS_BEFORE(FCL_X)
#undef FCL_X
    fcl_text_add(text, "%s\t%s", median, spread);
#define FCL_X(member) fcl_text_add(text, "\t%s", row->member != NULL ? row->member : "");
    TEXTS_BEHIND(FCL_X)
#undef FCL_X
}

size_t fcl_wisdom_format(const struct fcl_wisdom_row *row, char *text, size_t size)
{
    struct fcl_text out = {0};
    add_row(&out, row);
    return fcl_text_emit(&out, text, size);
}

void fcl_wisdom_write(const fcl_wisdom *wisdom, struct fcl_text *text)
{
    fcl_text_add(text, HEADER "\n");
    for (size_t i = 0; i < wisdom->count; i++) {
        add_row(text, &wisdom->entries[i].row);
        fcl_text_add(text, "\n");
    }
}

// Cuts the line at its tabs. Returns how many columns it has, of which at most COLUMNS are stored.
static size_t split(char *line, char *columns[COLUMNS])
{
    size_t count = 0;
    for (char *at = line; at != NULL; count++) {
        char *tab = strchr(at, '\t');
        if (tab != NULL)
            *tab = 0;
        if (count < COLUMNS)
            columns[count] = at;
        at = tab != NULL ? tab + 1 : NULL;
    }
    return count;
}

static int read_real(const char *text, double *real)
{
    return fcl_real_read(text, text + strlen(text), real);
}

// Where a text is being read to, and where a failure is explained.
struct reading {
    fcl_wisdom *rows;
    int keep_unknown;
    size_t line, skipped;
    char *reason;
    size_t size;
};

static int is_readable(const struct fcl_wisdom_row *row)
{
    struct fcl_config config;
    return fcl_wisdom_is_bad(row) ||
           strncmp(row->problem_class, FCL_KERNEL_CLASS, strlen(FCL_KERNEL_CLASS)) == 0 ||
           fcl_config_parse(row->config, &config, NULL, 0) == FCL_OK;
}

static enum fcl_status read_row(struct reading *reading, char *line)
{
    char *columns[COLUMNS];
    const size_t count = split(line, columns);
    if (count != COLUMNS)
        return fcl_fail(reading->reason, reading->size, FCL_IO_ERROR,
                        "line %zu of the wisdom has %zu columns; allowed are %d, separated by tabs",
                        reading->line, count, COLUMNS);
    struct fcl_wisdom_row row = {.device = columns[0],
                                 .driver = columns[1],
                                 .problem_class = columns[2],
                                 .config = columns[3],
                                 .clock = columns[6],
                                 .version = columns[7]};
    if (row.problem_class[0] == 0 || row.config[0] == 0)
        return fcl_fail(reading->reason, reading->size, FCL_IO_ERROR,
                        "line %zu of the wisdom has no %s", reading->line,
                        row.config[0] == 0 ? "configuration" : "problem class");
    if (!read_real(columns[4], &row.median_ms) || !read_real(columns[5], &row.spread))
        return fcl_fail(reading->reason, reading->size, FCL_IO_ERROR,
                        "line %zu of the wisdom has `%.40s` and `%.40s` where median and spread "
                        "stand; allowed are numbers such as 0.125",
                        reading->line, columns[4], columns[5]);
    if (!reading->keep_unknown && !is_readable(&row)) {
        reading->skipped++;
        return FCL_OK;
    }
    if (!add_copy(reading->rows, &row))
        return fcl_fail(reading->reason, reading->size, FCL_OUT_OF_MEMORY,
                        "no memory for line %zu of the wisdom", reading->line);
    return FCL_OK;
}

// Ends the line that starts at `line` and returns what follows it, or NULL where it has no end.
static char *end_line(char *line)
{
    char *end = strchr(line, '\n');
    if (end == NULL)
        return NULL;
    *end = 0;
    if (end > line && end[-1] == '\r')
        end[-1] = 0;
    return end + 1;
}

// Reads all lines; the text is cut up.
static enum fcl_status read_lines(struct reading *reading, char *text)
{
    int signed_text = 0;
    char *next = text;
    for (char *line = text; *line != 0; line = next) {
        reading->line++;
        next = end_line(line);
        if (next == NULL)
            return fcl_fail(reading->reason, reading->size, FCL_IO_ERROR,
                            "line %zu of the wisdom is cut short: the text does not end with a "
                            "newline",
                            reading->line);
        if (line[0] == '#' || line[strspn(line, " \t")] == 0)
            continue;
        if (!signed_text && strcmp(line, HEADER) != 0)
            break;
        if (signed_text) {
            const enum fcl_status status = read_row(reading, line);
            if (status != FCL_OK)
                return status;
        }
        signed_text = 1;
    }
    if (!signed_text)
        return fcl_fail(reading->reason, reading->size, FCL_IO_ERROR,
                        "the wisdom has another signature or none; its first line must be `%s`",
                        HEADER);
    return FCL_OK;
}

enum fcl_status fcl_wisdom_read(fcl_wisdom *wisdom, const char *text, int keep_unknown,
                                size_t *skipped, char *reason, size_t size)
{
    if (skipped != NULL)
        *skipped = 0;
    if (wisdom == NULL || text == NULL)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%s is NULL",
                        wisdom == NULL ? "wisdom" : "text");
    char *copy = fcl_text_copy(text);
    struct reading reading = {
        .rows = fcl_wisdom_create(), .keep_unknown = keep_unknown, .reason = reason, .size = size};
    enum fcl_status status = FCL_OUT_OF_MEMORY;
    if (copy == NULL || reading.rows == NULL)
        fcl_fail(reason, size, status, "no memory for the wisdom");
    else
        status = read_lines(&reading, copy);
    if (status == FCL_OK && !move_all(wisdom, reading.rows))
        status = fcl_fail(reason, size, FCL_OUT_OF_MEMORY, "no memory for the wisdom");
    if (status == FCL_OK && skipped != NULL)
        *skipped = reading.skipped;
    fcl_wisdom_destroy(&reading.rows);
    free(copy);
    return status;
}

enum fcl_status fcl_wisdom_import(fcl_wisdom *wisdom, const char *text, size_t *skipped,
                                  char *reason, size_t size)
{
    return fcl_wisdom_read(wisdom, text, 0, skipped, reason, size);
}
