// Problems as text: the parser and the formatter, driven by the table of fields, and the class that
// wisdom files a problem under.
#include "problem.h"

#include <string.h>

#include <flashcl/tune.h>

#include "core/number.h"
#include "core/text.h"
#include "problem_fields.h"

#define WORD_SHOWN 48 // characters of a wrong word that a message repeats

// ---- Writing ----------------------------------------------------------------------------------

// What a field is when the text does not name it; values outside of every range where it must.
static struct fcl_problem_values text_defaults(const struct fcl_problem *full)
{
    struct fcl_problem_values defaults = {{0}};
    defaults.of[FIELD_batch] = 1;
    defaults.of[FIELD_heads_q] = 1;
    defaults.of[FIELD_heads_kv] = 1;
    defaults.of[FIELD_q_len] = INT64_MIN;
    defaults.of[FIELD_k_len] = full->q_len;
    defaults.of[FIELD_head_dim_qk] = INT64_MIN;
    defaults.of[FIELD_lse] = full->pass == FCL_PASS_STATISTICS;
    defaults.of[FIELD_used] = full->page > 0;
    defaults.of[FIELD_layout] = full->varlen ? FCL_LAYOUT_BSHD : FCL_LAYOUT_BHSD;
    defaults.of[FIELD_alignment] = fcl_problem_natural_alignment(full);
    return defaults;
}

static void add_pair(struct fcl_text *text, const char *key, int64_t first, int64_t second)
{
    fcl_text_add(text, " %s%lld", key, (long long)first);
    if (second != first)
        fcl_text_add(text, "/%lld", (long long)second);
}

static const char *choice_text(const struct fcl_problem_field *field, int64_t value)
{
    return value >= field->smallest && value <= field->largest ? field->words[value] : "?";
}

// One word for equal types, else one for each tensor in use.
static void add_dtypes(struct fcl_text *text, const struct fcl_problem *full, int even_default)
{
    struct fcl_problem_tensor tensors[4];
    const size_t count = fcl_problem_tensors(full, tensors);
    int equal = 1;
    for (size_t i = 1; i < count; i++)
        equal = equal && tensors[i].dtype == tensors[0].dtype;
    for (size_t i = 0; i < count && !equal; i++)
        fcl_text_add(text, " %s:%s", tensors[i].name, fcl_dtype_text(tensors[i].dtype));
    if (equal && (even_default || tensors[0].dtype != FCL_F32))
        fcl_text_add(text, " %s", fcl_dtype_text(tensors[0].dtype));
}

// Appends one field. Types are written once, at the first of them.
static void add_field(struct fcl_text *text, const struct fcl_problem *full, int id)
{
    const struct fcl_problem_field *field = &fcl_problem_fields[id];
    const struct fcl_problem_values values = fcl_problem_to_values(full),
                                    defaults = text_defaults(full);
    const int differs = values.of[id] != defaults.of[id];
    switch (field->kind) {
    case KIND_NUMBER:
        if (differs)
            fcl_text_add(text, " %s%lld", field->key, (long long)values.of[id]);
        break;
    case KIND_PAIR:
        if (differs || values.of[id + 1] != defaults.of[id + 1])
            add_pair(text, field->key, values.of[id], values.of[id + 1]);
        break;
    case KIND_CHOICE:
        if (differs)
            fcl_text_add(text, " %s%s", field->key, choice_text(field, values.of[id]));
        break;
    case KIND_DTYPE:
        if (id == FIELD_dtype_q)
            add_dtypes(text, full, 0);
        break;
    case KIND_FLAG:
        if (differs)
            fcl_text_add(text, " %s", field->key);
        break;
    case KIND_WINDOW:
        if (differs)
            fcl_text_add(text, " %s%lld,%lld", field->key, (long long)values.of[id + 1],
                         (long long)values.of[id + 2]);
        break;
    case KIND_SECOND:
        break;
    }
}

// An empty text where a public format function cannot say anything.
static size_t nothing(char *text, size_t size)
{
    if (text != NULL && size > 0)
        text[0] = 0;
    return 0;
}

size_t fcl_problem_format(const struct fcl_problem *problem, char *text, size_t size)
{
    struct fcl_problem full;
    if (problem == NULL || !fcl_struct_read(&full, sizeof full, problem))
        return nothing(text, size);
    fcl_problem_fill_defaults(&full);
    struct fcl_text out = {0};
    fcl_text_add(&out, "%s", choice_text(&fcl_problem_fields[FIELD_pass], (int64_t)full.pass));
    for (int id = FIELD_pass + 1; id < FIELD_COUNT; id++)
        add_field(&out, &full, id);
    return fcl_text_emit(&out, text, size);
}

// ceil(log2(count)); 0 for 0.
static int bucket(int64_t count)
{
    int power = 0;
    while (power < 62 && (INT64_C(1) << power) < count)
        power++;
    return power;
}

// A side of a window, rounded up to a power of two; -1 stays unbounded, 0 is a power of its own.
static int64_t window_bucket(int64_t reach)
{
    return reach < 1 ? reach : INT64_C(1) << bucket(reach);
}

size_t fcl_problem_class(const struct fcl_problem *problem, enum fcl_implementation implementation,
                         char *text, size_t size)
{
    struct fcl_problem full;
    if (fcl_problem_complete(problem, &full, NULL, 0) != FCL_OK)
        return nothing(text, size);
    struct fcl_text out = {0};
    fcl_text_add(&out, "%s %s", implementation == FCL_UNFUSED ? "unfused" : "fused",
                 choice_text(&fcl_problem_fields[FIELD_pass], (int64_t)full.pass));
    add_pair(&out, "d", full.head_dim_qk, full.head_dim_v);
    add_dtypes(&out, &full, 1);
    // Both alignments of the diagonal share one kernel.
    if (fcl_problem_is_causal(&full))
        fcl_text_add(&out, " causal");
    if (full.window)
        fcl_text_add(&out, " win=%lld,%lld", (long long)window_bucket(full.window_left),
                     (long long)window_bucket(full.window_right));
    if (full.softcap > 0)
        fcl_text_add(&out, " softcap=1"); // whatever it is
    add_field(&out, &full, FIELD_bias);
    add_field(&out, &full, FIELD_alibi);
    add_field(&out, &full, FIELD_visible);
    add_field(&out, &full, FIELD_sink);
    add_field(&out, &full, FIELD_varlen);
    add_field(&out, &full, FIELD_used);
    if (full.page > 0)
        fcl_text_add(&out, " page=1"); // whatever it is
    add_field(&out, &full, FIELD_lse);
    add_field(&out, &full, FIELD_guard_v);
    add_field(&out, &full, FIELD_strided);
    add_field(&out, &full, FIELD_alignment);
    fcl_text_add(&out, " bh%d q%d k%d g%lld", bucket(full.batch * full.heads_q), bucket(full.q_len),
                 bucket(full.k_len), (long long)(full.heads_q / full.heads_kv));
    return fcl_text_emit(&out, text, size);
}

// ---- Reading ----------------------------------------------------------------------------------

struct word {
    const char *start, *end;
};

// For "%.*s": a wrong word as messages repeat it.
#define SHOWN(word) (int)fcl_min((word).end - (word).start, WORD_SHOWN), (word).start

// What was read so far, and where a failure is explained.
struct reading {
    struct fcl_problem_values values;
    int given[FIELD_COUNT]; // not of a window's sides
    char *reason;
    size_t size;
};

static int word_is(struct word word, const char *text)
{
    const size_t length = (size_t)(word.end - word.start);
    return strlen(text) == length && memcmp(word.start, text, length) == 0;
}

// The word behind a key; its start is NULL where it does not begin with the key.
static struct word behind(struct word word, const char *key)
{
    const size_t length = strlen(key);
    if ((size_t)(word.end - word.start) < length || memcmp(word.start, key, length) != 0)
        return (struct word){NULL, NULL};
    return (struct word){word.start + length, word.end};
}

static int index_of(const char *const *words, struct word word)
{
    for (int i = 0; words[i] != NULL; i++)
        if (word_is(word, words[i]))
            return i;
    return -1;
}

static struct word next_word(const char *text)
{
    const char *const spaces = " \t\n\r\f\v";
    const char *start = text + strspn(text, spaces);
    return (struct word){start, start + strcspn(start, spaces)};
}

static void add_words(struct fcl_text *text, const char *before, const char *const *words)
{
    for (int i = 0; words[i] != NULL; i++)
        fcl_text_add(text, "%s%s", i == 0 ? before : "|", words[i]);
}

// Appends what may be written for a field, such as hN[/N] or layout=bhsd|bshd.
static void add_usage(struct fcl_text *text, const struct fcl_problem_field *field)
{
    if (field->kind == KIND_SECOND)
        return;
    fcl_text_add(text, " %s", field->key);
    if (field->kind == KIND_NUMBER || field->kind == KIND_PAIR)
        fcl_text_add(text, field->kind == KIND_PAIR ? "N[/N]" : "N");
    if (field->kind == KIND_WINDOW)
        fcl_text_add(text, "LEFT,RIGHT");
    if (field->words != NULL)
        add_words(text, "", field->words);
}

static enum fcl_status fail_unknown(const struct reading *reading, struct word word)
{
    struct fcl_text usage = {0};
    add_words(&usage, " ", fcl_problem_fields[FIELD_dtype_q].words);
    for (int id = FIELD_pass + 1; id < FIELD_COUNT; id++)
        add_usage(&usage, &fcl_problem_fields[id]);
    const enum fcl_status status =
        fcl_fail(reading->reason, reading->size, FCL_INVALID_ARGUMENT,
                 "`%.*s` is unknown; allowed are%s", SHOWN(word), usage.failed ? "" : usage.data);
    fcl_text_free(&usage);
    return status;
}

static enum fcl_status fail_usage(const struct reading *reading, struct word word, int id,
                                  enum fcl_status status)
{
    const struct fcl_problem_field *field = &fcl_problem_fields[id];
    struct fcl_text usage = {0};
    add_usage(&usage, field);
    if (field->kind == KIND_NUMBER || field->kind == KIND_PAIR)
        fcl_text_add(&usage, " with N from %lld to %lld", (long long)field->smallest,
                     (long long)field->largest);
    if (field->kind == KIND_WINDOW)
        fcl_text_add(&usage, ", numbers of keys from 0 to %lld, or -1 for no bound",
                     (long long)field[1].largest);
    fcl_fail(reading->reason, reading->size, status, "`%.*s` is not allowed; allowed is%s",
             SHOWN(word), usage.failed ? "" : usage.data);
    fcl_text_free(&usage);
    return status;
}

static enum fcl_status take(struct reading *reading, struct word word, int id, int64_t value)
{
    if (reading->given[id])
        return fcl_fail(reading->reason, reading->size, FCL_INVALID_ARGUMENT,
                        "`%.*s`: %s is given twice; allowed is once", SHOWN(word),
                        fcl_problem_fields[id].name);
    reading->given[id] = 1;
    reading->values.of[id] = value;
    return FCL_OK;
}

// Reads the numbers of a field from the word behind the key.
static enum fcl_status read_numbers(struct reading *reading, struct word word, int id)
{
    const int count = fcl_problem_fields[id].kind == KIND_PAIR ? 2 : 1;
    const char *cursor = behind(word, fcl_problem_fields[id].key).start;
    int64_t number = 0;
    enum fcl_status status = FCL_OK;
    for (int i = 0; i < count && status == FCL_OK; i++) {
        if (i == 0 || cursor < word.end) {
            if (i > 0 && *cursor++ != '/')
                return fail_usage(reading, word, id, FCL_INVALID_ARGUMENT);
            if (!fcl_number_read(&cursor, word.end, INT64_MAX, &number))
                return fail_usage(reading, word, id, FCL_INVALID_ARGUMENT);
        }
        status = fcl_problem_range_status(id, number);
        if (status != FCL_OK)
            return fail_usage(reading, word, id, status);
        status = take(reading, word, id + i, number);
    }
    if (status == FCL_OK && cursor != word.end)
        return fail_usage(reading, word, id, FCL_INVALID_ARGUMENT);
    return status;
}

// Reads the two sides of a window.
static enum fcl_status read_window(struct reading *reading, struct word word, int id)
{
    const char *cursor = behind(word, fcl_problem_fields[id].key).start;
    enum fcl_status status = take(reading, word, id, 1);
    for (int side = 1; side <= 2 && status == FCL_OK; side++) {
        int64_t reach = -1;
        if (side == 2 && (cursor == word.end || *cursor++ != ','))
            return fail_usage(reading, word, id, FCL_INVALID_ARGUMENT);
        if (word.end - cursor >= 2 && memcmp(cursor, "-1", 2) == 0)
            cursor += 2;
        else if (!fcl_number_read(&cursor, word.end, INT64_MAX, &reach))
            return fail_usage(reading, word, id, FCL_INVALID_ARGUMENT);
        if (fcl_problem_range_status(id + side, reach) != FCL_OK)
            return fail_usage(reading, word, id, FCL_INVALID_ARGUMENT);
        reading->values.of[id + side] = reach;
    }
    return status == FCL_OK && cursor != word.end
               ? fail_usage(reading, word, id, FCL_INVALID_ARGUMENT)
               : status;
}

// Whether the word was meant for this field, well formed or not.
static int claims(const struct fcl_problem_field *field, struct word word)
{
    if (field->kind == KIND_SECOND)
        return 0;
    const struct word rest = behind(word, field->key);
    if (rest.start == NULL)
        return 0;
    if (field->kind == KIND_FLAG)
        return rest.start == rest.end;
    if (field->kind == KIND_NUMBER || field->kind == KIND_PAIR)
        return rest.start == rest.end || field->key[strlen(field->key) - 1] == '=' ||
               strchr("0123456789+-./", *rest.start) != NULL;
    return field->key[0] != 0 || index_of(field->words, rest) >= 0;
}

static enum fcl_status read_field(struct reading *reading, struct word word, int id)
{
    const struct fcl_problem_field *field = &fcl_problem_fields[id];
    if (field->kind == KIND_NUMBER || field->kind == KIND_PAIR)
        return read_numbers(reading, word, id);
    if (field->kind == KIND_WINDOW)
        return read_window(reading, word, id);
    if (field->kind == KIND_FLAG)
        return take(reading, word, id, 1);
    const int index = index_of(field->words, behind(word, field->key));
    if (index < 0)
        return fail_usage(reading, word, id, FCL_INVALID_ARGUMENT);
    return take(reading, word, id, index);
}

static enum fcl_status read_word(struct reading *reading, struct word word)
{
    if (word_is(word, "causal"))
        return fcl_fail(reading->reason, reading->size, FCL_INVALID_ARGUMENT,
                        "`causal` does not say which corner the diagonal meets; allowed are "
                        "causal-tl (top left) and causal-br (bottom right)");
    const int dtype = index_of(fcl_problem_fields[FIELD_dtype_q].words, word);
    if (dtype >= 0) {
        enum fcl_status status = FCL_OK;
        for (int id = FIELD_dtype_q; id <= FIELD_dtype_o && status == FCL_OK; id++)
            status = take(reading, word, id, dtype);
        return status;
    }
    for (int id = FIELD_pass + 1; id < FIELD_COUNT; id++)
        if (claims(&fcl_problem_fields[id], word))
            return read_field(reading, word, id);
    return fail_unknown(reading, word);
}

// Fills in what the text may leave out and refuses what it may not.
static enum fcl_status close_reading(struct reading *reading)
{
    if (!reading->given[FIELD_q_len] || !reading->given[FIELD_head_dim_qk])
        return fcl_fail(reading->reason, reading->size, FCL_INVALID_ARGUMENT,
                        "`%s` is missing; every problem names q, the number of queries, and d, the "
                        "head dimension",
                        reading->given[FIELD_q_len] ? "d" : "q");
    if (!reading->given[FIELD_k_len])
        reading->values.of[FIELD_k_len] = reading->values.of[FIELD_q_len];
    const int last =
        reading->values.of[FIELD_pass] == FCL_PASS_STATISTICS ? FIELD_dtype_k : FIELD_dtype_o;
    int given = 0;
    for (int id = FIELD_dtype_q; id <= last; id++)
        given += reading->given[id];
    for (int id = FIELD_dtype_q; id <= last && given > 0; id++)
        if (!reading->given[id])
            return fcl_fail(reading->reason, reading->size, FCL_INVALID_ARGUMENT,
                            "`%s` is missing; allowed are one type for all tensors or one for each",
                            fcl_problem_fields[id].key);
    return FCL_OK;
}

enum fcl_status fcl_problem_parse(const char *text, struct fcl_problem *problem, char *reason,
                                  size_t size)
{
    if (text == NULL || problem == NULL)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%s is NULL",
                        text == NULL ? "text" : "problem");
    struct reading reading = {.reason = reason, .size = size};
    reading.values.of[FIELD_batch] = 1;
    reading.values.of[FIELD_heads_q] = 1;
    struct word word = next_word(text);
    const int pass = index_of(fcl_problem_fields[FIELD_pass].words, word);
    if (pass < 0)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "a problem begins with its pass, not with `%.*s`; allowed are fwd and lse",
                        SHOWN(word));
    reading.values.of[FIELD_pass] = pass;
    enum fcl_status status = FCL_OK;
    for (word = next_word(word.end); word.start != word.end && status == FCL_OK;
         word = next_word(word.end))
        status = read_word(&reading, word);
    if (status == FCL_OK)
        status = close_reading(&reading);
    if (status != FCL_OK)
        return status;
    const struct fcl_problem given = fcl_problem_from_values(&reading.values);
    struct fcl_problem full;
    status = fcl_problem_complete(&given, &full, reason, size);
    if (status == FCL_OK)
        *problem = full;
    return status;
}
