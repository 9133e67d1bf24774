// Parser and writer of .npy files. A header is a magic, a version, a length and a Python literal:
//     {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
// Nothing in it is trusted: each step checks against the bytes at hand.
#include "npy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAGIC "\x93NUMPY"
#define MAGIC_SIZE 6
// NumPy pads headers to a multiple of 64 and stays far below this.
#define HEADER_LIMIT 65536
#define WORD_SIZE 32

static const struct {
    const char *text, *descr;
    size_t size;
} types[] = {
    [NPY_F4] = {"f4", "<f4", 4}, [NPY_F2] = {"f2", "<f2", 2}, [NPY_U2] = {"u2", "<u2", 2},
    [NPY_I4] = {"i4", "<i4", 4}, [NPY_U1] = {"u1", "|u1", 1}, [NPY_B1] = {"b1", "|b1", 1},
};

#define TYPE_COUNT (sizeof(types) / sizeof(types[0]))
#define DESCRS "'<f4', '<f2', '<u2', '<i4', '|u1' and '|b1'"

const char *npy_type_text(enum npy_type type)
{
    return types[type].text;
}

size_t npy_type_size(enum npy_type type)
{
    return types[type].size;
}

// The text still to be read, and where to say what is wrong with it.
struct cursor {
    const char *next, *end;
    char *reason;
    size_t reason_size;
};

__attribute__((format(printf, 2, 3))) static int fail(struct cursor *cursor, const char *format,
                                                      ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cursor->reason, cursor->reason_size, format, arguments);
    va_end(arguments);
    return 0;
}

static void skip_space(struct cursor *cursor)
{
    while (cursor->next < cursor->end && strchr(" \t\r\n", *cursor->next) != NULL &&
           *cursor->next != '\0') {
        cursor->next++;
    }
}

// Takes one character, after spaces, if it is the next.
static int take(struct cursor *cursor, char wanted)
{
    skip_space(cursor);
    if (cursor->next < cursor->end && *cursor->next == wanted) {
        cursor->next++;
        return 1;
    }
    return 0;
}

// A quoted text without escapes, cut to a word's size: none that is known is longer.
static int take_string(struct cursor *cursor, char word[WORD_SIZE])
{
    skip_space(cursor);
    if (cursor->next == cursor->end || (*cursor->next != '\'' && *cursor->next != '"')) {
        return 0;
    }
    char quote = *cursor->next++;
    size_t length = 0;
    while (cursor->next < cursor->end && *cursor->next != quote) {
        char c = *cursor->next++;
        if (length < WORD_SIZE - 1) {
            word[length++] = c >= ' ' && c <= '~' ? c : '?';
        }
    }
    word[length] = '\0';
    return take(cursor, quote);
}

static int take_word(struct cursor *cursor, const char *word)
{
    skip_space(cursor);
    size_t length = strlen(word);
    if ((size_t)(cursor->end - cursor->next) < length || memcmp(cursor->next, word, length) != 0) {
        return 0;
    }
    cursor->next += length;
    return 1;
}

static int parse_descr(struct cursor *cursor, struct npy_header *header)
{
    char descr[WORD_SIZE];
    skip_space(cursor);
    if (cursor->next < cursor->end && *cursor->next == '[') {
        return fail(cursor, "the element type is a structure; " DESCRS " are allowed");
    }
    if (!take_string(cursor, descr)) {
        return fail(cursor, "the header's 'descr' is not a quoted text");
    }
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        if (strcmp(descr, types[i].descr) == 0) {
            header->type = (enum npy_type)i;
            return 1;
        }
    }
    return fail(cursor, "the element type is '%s'%s; " DESCRS " are allowed", descr,
                descr[0] == '>' ? " (big-endian)" : "");
}

static int parse_order(struct cursor *cursor)
{
    if (take_word(cursor, "False")) {
        return 1;
    }
    if (take_word(cursor, "True")) {
        return fail(cursor, "the array is in Fortran order; C order is allowed "
                            "(numpy.ascontiguousarray)");
    }
    return fail(cursor, "the header's 'fortran_order' is neither True nor False");
}

static int parse_dimension(struct cursor *cursor, int64_t *dimension)
{
    skip_space(cursor);
    if (cursor->next == cursor->end || *cursor->next < '0' || *cursor->next > '9') {
        return fail(cursor, "the header's 'shape' holds something that is not a whole number");
    }
    int64_t value = 0;
    for (; cursor->next < cursor->end && *cursor->next >= '0' && *cursor->next <= '9';
         cursor->next++) {
        int digit = *cursor->next - '0';
        if (value > (INT64_MAX - digit) / 10) {
            return fail(cursor, "a dimension of the header's 'shape' exceeds %" PRId64, INT64_MAX);
        }
        value = value * 10 + digit;
    }
    *dimension = value;
    return 1;
}

static int parse_shape(struct cursor *cursor, struct npy_header *header)
{
    if (!take(cursor, '(')) {
        return fail(cursor, "the header's 'shape' is not a tuple");
    }
    header->rank = 0;
    while (!take(cursor, ')')) {
        int64_t dimension = 0;
        if (!parse_dimension(cursor, &dimension)) {
            return 0;
        }
        if (header->rank == NPY_RANK_LIMIT) {
            return fail(cursor, "the array has more than %d dimensions", NPY_RANK_LIMIT);
        }
        header->shape[header->rank++] = dimension;
        if (!take(cursor, ',')) {
            // (3) without a comma is a number in Python, not a tuple.
            if (header->rank > 1 && take(cursor, ')')) {
                return 1;
            }
            return fail(cursor, "the header's 'shape' is not a tuple");
        }
    }
    return 1;
}

// One `key: value` of the dictionary; `seen` has a bit for each key.
static int parse_entry(struct cursor *cursor, struct npy_header *header, unsigned *seen)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    char key[WORD_SIZE];
    if (!take_string(cursor, key) || !take(cursor, ':')) {
        return fail(cursor, "the header is not a Python dictionary");
    }
    unsigned index = 0;
    while (index < 3 && strcmp(key, keys[index]) != 0) {
        index++;
    }
    if (index == 3 || (*seen & 1u << index) != 0) {
        return fail(cursor,
                    "the header's key '%s' is %s; 'descr', 'fortran_order' and 'shape' are "
                    "allowed, once each",
                    key, index == 3 ? "unknown" : "there twice");
    }
    *seen |= 1u << index;
    return index == 0   ? parse_descr(cursor, header)
           : index == 1 ? parse_order(cursor)
                        : parse_shape(cursor, header);
}

static int parse_dictionary(struct cursor *cursor, struct npy_header *header)
{
    if (!take(cursor, '{')) {
        return fail(cursor, "the header is not a Python dictionary");
    }
    unsigned seen = 0;
    while (!take(cursor, '}')) {
        if (!parse_entry(cursor, header, &seen)) {
            return 0;
        }
        if (!take(cursor, ',')) {
            if (take(cursor, '}')) {
                break;
            }
            return fail(cursor, "the header is not a Python dictionary");
        }
    }
    skip_space(cursor);
    if (cursor->next != cursor->end) {
        return fail(cursor, "something follows the header's dictionary");
    }
    if (seen != 7) {
        return fail(cursor, "the header lacks one of 'descr', 'fortran_order' and 'shape'");
    }
    return 1;
}

// Bytes of the data, where they can be counted at all.
static int compute_size(struct cursor *cursor, struct npy_header *header)
{
    size_t size = types[header->type].size;
    int empty = 0;
    for (int i = 0; i < header->rank; i++) {
        empty |= header->shape[i] == 0;
    }
    for (int i = 0; i < header->rank && !empty; i++) {
        if ((uint64_t)header->shape[i] > (SIZE_MAX / 2) / size) {
            return fail(cursor, "the shape needs more bytes than memory can address");
        }
        size *= (size_t)header->shape[i];
    }
    header->data_size = empty ? 0 : size;
    return 1;
}

static uint32_t load_little_endian(const unsigned char *bytes, int count)
{
    uint32_t value = 0;
    for (int i = count - 1; i >= 0; i--) {
        value = value << 8 | bytes[i];
    }
    return value;
}

int npy_parse(const void *bytes, size_t size, struct npy_header *header, char *reason,
              size_t reason_size)
{
    const unsigned char *start = bytes;
    struct cursor cursor = {.reason = reason, .reason_size = reason_size};
    if (size < MAGIC_SIZE || memcmp(start, MAGIC, MAGIC_SIZE) != 0) {
        return fail(&cursor, "not a .npy file: it does not start with \\x93NUMPY");
    }
    if (size < MAGIC_SIZE + 2) {
        return fail(&cursor, "the file ends within the header");
    }
    int major = start[MAGIC_SIZE], minor = start[MAGIC_SIZE + 1];
    if (major < 1 || major > 3 || minor != 0) {
        return fail(&cursor, "format version %d.%d; 1.0, 2.0 and 3.0 are allowed", major, minor);
    }
    int length_size = major == 1 ? 2 : 4;
    size_t text_offset = MAGIC_SIZE + 2 + (size_t)length_size;
    if (size < text_offset) {
        return fail(&cursor, "the file ends within the header");
    }
    uint32_t length = load_little_endian(start + MAGIC_SIZE + 2, length_size);
    if (length > HEADER_LIMIT) {
        return fail(&cursor, "the header claims %" PRIu32 " bytes; at most %d are allowed", length,
                    HEADER_LIMIT);
    }
    if (size - text_offset < length) {
        return fail(&cursor, "the file ends within the header");
    }
    cursor.next = (const char *)start + text_offset;
    cursor.end = cursor.next + length;
    struct npy_header parsed = {.data_offset = text_offset + length};
    if (!parse_dictionary(&cursor, &parsed) || !compute_size(&cursor, &parsed)) {
        return 0;
    }
    *header = parsed;
    return 1;
}

// ---- Files ------------------------------------------------------------------------------------

// Reads the data behind the header, of which `at_hand` bytes were read with it.
static int read_data(FILE *file, const unsigned char *head, size_t at_hand, struct npy_array *array,
                     struct cursor *cursor)
{
    const struct npy_header *header = &array->header;
    size_t ready = at_hand - header->data_offset;
    struct stat status;
    if (fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode) &&
        (uint64_t)status.st_size != header->data_offset + (uint64_t)header->data_size) {
        return fail(cursor, "the file holds %" PRIu64 " bytes of data, its shape needs %zu",
                    (uint64_t)status.st_size - header->data_offset, header->data_size);
    }
    if (ready > header->data_size) {
        return fail(cursor, "the file holds more than the %zu bytes of data that its shape needs",
                    header->data_size);
    }
    array->data = malloc(header->data_size > 0 ? header->data_size : 1);
    if (array->data == NULL) {
        return fail(cursor, "no memory for %zu bytes of data", header->data_size);
    }
    memcpy(array->data, head + header->data_offset, ready);
    size_t rest = header->data_size - ready;
    size_t got = fread((char *)array->data + ready, 1, rest, file);
    if (got == rest && fgetc(file) == EOF && !ferror(file)) {
        return 1;
    }
    npy_free(array);
    return ferror(file) ? fail(cursor, "cannot be read: %s", strerror(errno))
                        : fail(cursor, "the file holds %s bytes of data than its shape needs",
                               got < rest ? "fewer" : "more");
}

static int read_open_file(FILE *file, struct npy_array *array, struct cursor *cursor)
{
    size_t limit = HEADER_LIMIT + 2 * MAGIC_SIZE;
    unsigned char *head = malloc(limit);
    if (head == NULL) {
        return fail(cursor, "out of memory");
    }
    size_t at_hand = fread(head, 1, limit, file);
    int good;
    if (ferror(file)) {
        good = fail(cursor, "cannot be read: %s", strerror(errno));
    } else {
        good = npy_parse(head, at_hand, &array->header, cursor->reason, cursor->reason_size) &&
               read_data(file, head, at_hand, array, cursor);
    }
    free(head);
    return good;
}

int npy_read(const char *path, struct npy_array *array, char *reason, size_t reason_size)
{
    char why[256] = "";
    struct cursor cursor = {.reason = why, .reason_size = sizeof(why)};
    *array = (struct npy_array){.data = NULL};
    FILE *file = fopen(path, "rb");
    int good = file != NULL ? read_open_file(file, array, &cursor)
                            : fail(&cursor, "cannot be opened: %s", strerror(errno));
    if (file != NULL) {
        fclose(file);
    }
    if (!good) {
        snprintf(reason, reason_size, "%s: %s", path, why);
    }
    return good;
}

void npy_free(struct npy_array *array)
{
    free(array->data);
    array->data = NULL;
}

int npy_write(FILE *out, enum npy_type type, int rank, const int64_t *shape, const void *data)
{
    char text[256];
    int length = snprintf(text, sizeof(text), "{'descr': '%s', 'fortran_order': False, 'shape': (",
                          types[type].descr);
    size_t count = 1;
    for (int i = 0; i < rank; i++) {
        length += snprintf(text + length, sizeof(text) - (size_t)length, "%" PRId64 ",%s", shape[i],
                           i + 1 < rank ? " " : "");
        count *= (size_t)shape[i];
    }
    length += snprintf(text + length, sizeof(text) - (size_t)length, "), }");
    // Spaces and a newline bring the data to a multiple of 64 bytes.
    size_t before = MAGIC_SIZE + 4;
    size_t padded = (before + (size_t)length + 1 + 63) / 64 * 64 - before;
    fwrite(MAGIC "\x01\x00", 1, MAGIC_SIZE + 2, out);
    fputc((int)(padded & 0xff), out);
    fputc((int)(padded >> 8), out);
    fprintf(out, "%s%*s\n", text, (int)(padded - 1 - (size_t)length), "");
    fwrite(data, types[type].size, count, out);
    return !ferror(out);
}
