// Configurations as text. Everything but the two defaults comes from FCL_FAMILY_LIST and
// FCL_CONFIG_FIELDS: a row added there needs no change here.
#include <limits.h>
#include <stddef.h>
#include <string.h>

#include <flashcl/tune.h>

#include "core/common.h"
#include "core/number.h"
#include "core/text.h"

#define SHOWN 48 // characters of a wrong text that a message repeats

static const struct tunable {
    size_t offset;
    const char *name, *key, *meaning;
    unsigned families;
} tunables[] = {
#define FCL_X(field, key, macro, families, meaning) \
    {offsetof(struct fcl_config, field), #field, key, meaning, families},
    FCL_CONFIG_FIELDS(FCL_X)
#undef FCL_X
};

// The tunables that a text may leave out, and what they are then.
static const struct {
    size_t offset;
    int value;
} defaults[] = {
    {offsetof(struct fcl_config, held), 0},     {offsetof(struct fcl_config, stages), 1},
    {offsetof(struct fcl_config, k_chunk), 0},  {offsetof(struct fcl_config, dv_split), 1},
    {offsetof(struct fcl_config, packed), 0},   {offsetof(struct fcl_config, splits), 1},
    {offsetof(struct fcl_config, visit), 0},    {offsetof(struct fcl_config, ahead), 0},
    {offsetof(struct fcl_config, resident), 0},
};

static int *value_at(struct fcl_config *config, const struct tunable *tunable)
{
    return (int *)(void *)((char *)config + tunable->offset);
}

static int is_used(const struct tunable *tunable, enum fcl_family family)
{
    return (tunable->families >> family & 1u) != 0;
}

// The value of a tunable that the text does not name; -1 where it must be named.
static int default_of(const struct tunable *tunable)
{
    for (size_t i = 0; i < FCL_COUNT(defaults); i++)
        if (defaults[i].offset == tunable->offset)
            return defaults[i].value;
    return -1;
}

size_t fcl_config_format(const struct fcl_config *config, char *text, size_t size)
{
    struct fcl_text out = {0};
    if (config == NULL)
        return fcl_text_emit(&out, text, size);
    struct fcl_config copy = *config;
    const char *family = fcl_family_text(config->family);
    fcl_text_add(&out, "%s_", family != NULL ? family : "?");
    for (size_t i = 0; i < FCL_COUNT(tunables); i++) {
        const int value = *value_at(&copy, &tunables[i]);
        if (value != 0 && value != default_of(&tunables[i]))
            fcl_text_add(&out, "%s%d", tunables[i].key, value);
    }
    return fcl_text_emit(&out, text, size);
}

// What was read so far, and where a failure is explained.
struct reading {
    struct fcl_config config;
    int given[FCL_COUNT(tunables)];
    const char *text; // the whole
    char *reason;
    size_t size;
};

// Finds the longest family name that stands before a '_' at the start of the text, so that one
// family's name may begin with another's. Returns what follows, or NULL.
static const char *read_family(const char *text, enum fcl_family *family)
{
    size_t longest = 0;
    for (int i = 0; i < FCL_FAMILY_COUNT; i++) {
        const char *name = fcl_family_text((enum fcl_family)i);
        const size_t length = strlen(name);
        if (length <= longest || strncmp(text, name, length) != 0 || text[length] != '_')
            continue;
        longest = length;
        *family = (enum fcl_family)i;
    }
    return longest > 0 ? text + longest + 1 : NULL;
}

static enum fcl_status fail_family(const struct reading *reading)
{
    struct fcl_text names = {0};
    for (int i = 0; i < FCL_FAMILY_COUNT; i++)
        fcl_text_add(&names, " %s_", fcl_family_text((enum fcl_family)i));
    fcl_fail(reading->reason, reading->size, FCL_INVALID_ARGUMENT,
             "`%.*s` begins with no family; allowed are%s", SHOWN, reading->text,
             names.failed ? "" : names.data);
    fcl_text_free(&names);
    return FCL_INVALID_ARGUMENT;
}

static enum fcl_status fail_key(const struct reading *reading, const char *key, int length)
{
    struct fcl_text keys = {0};
    for (size_t i = 0; i < FCL_COUNT(tunables); i++)
        if (is_used(&tunables[i], reading->config.family))
            fcl_text_add(&keys, " %s", tunables[i].key);
    fcl_fail(reading->reason, reading->size, FCL_INVALID_ARGUMENT,
             "`%.*s` in `%.*s` is no key of %s; allowed are%s", length < SHOWN ? length : SHOWN,
             key, SHOWN, reading->text, fcl_family_text(reading->config.family),
             keys.failed ? "" : keys.data);
    fcl_text_free(&keys);
    return FCL_INVALID_ARGUMENT;
}

// The tunable of this key that the family uses, or NULL.
static const struct tunable *find_tunable(enum fcl_family family, const char *key, size_t length)
{
    for (size_t i = 0; i < FCL_COUNT(tunables); i++)
        if (strlen(tunables[i].key) == length && memcmp(tunables[i].key, key, length) == 0 &&
            is_used(&tunables[i], family))
            return &tunables[i];
    return NULL;
}

// Reads one key and its number at *cursor and moves on.
static enum fcl_status read_tunable(struct reading *reading, const char **cursor)
{
    const char *key = *cursor;
    const size_t length = strspn(key, "abcdefghijklmnopqrstuvwxyz");
    const struct tunable *tunable = find_tunable(reading->config.family, key, length);
    if (tunable == NULL)
        return fail_key(reading, key, length > 0 ? (int)fcl_min((int64_t)length, SHOWN) : 1);
    int64_t value;
    *cursor = key + length;
    const int read = fcl_number_read(cursor, *cursor + strlen(*cursor), INT_MAX, &value);
    const int smallest = default_of(tunable) == 0 ? 0 : 1;
    if (!read || value < smallest)
        return fcl_fail(reading->reason, reading->size, FCL_INVALID_ARGUMENT,
                        "%s (%s) in `%.*s` needs a whole number; allowed are %d to %d",
                        tunable->key, tunable->meaning, SHOWN, reading->text, smallest, INT_MAX);
    if (reading->given[tunable - tunables]++)
        return fcl_fail(reading->reason, reading->size, FCL_INVALID_ARGUMENT,
                        "%s (%s) stands twice in `%.*s`; allowed is once", tunable->key,
                        tunable->meaning, SHOWN, reading->text);
    *value_at(&reading->config, tunable) = (int)value;
    return FCL_OK;
}

static enum fcl_status fill_defaults(struct reading *reading)
{
    for (size_t i = 0; i < FCL_COUNT(tunables); i++) {
        if (reading->given[i] || !is_used(&tunables[i], reading->config.family))
            continue;
        const int value = default_of(&tunables[i]);
        if (value < 0)
            return fcl_fail(reading->reason, reading->size, FCL_INVALID_ARGUMENT,
                            "`%.*s` lacks %s, %s (%s)", SHOWN, reading->text, tunables[i].key,
                            tunables[i].name, tunables[i].meaning);
        *value_at(&reading->config, &tunables[i]) = value;
    }
    return FCL_OK;
}

enum fcl_status fcl_config_parse(const char *text, struct fcl_config *config, char *reason,
                                 size_t size)
{
    if (text == NULL || config == NULL)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%s is NULL",
                        text == NULL ? "text" : "config");
    struct reading reading = {.text = text, .reason = reason, .size = size};
    const char *cursor = read_family(text, &reading.config.family);
    if (cursor == NULL)
        return fail_family(&reading);
    enum fcl_status status = FCL_OK;
    while (*cursor != 0 && status == FCL_OK)
        status = read_tunable(&reading, &cursor);
    if (status == FCL_OK)
        status = fill_defaults(&reading);
    if (status == FCL_OK)
        *config = reading.config;
    return status;
}
