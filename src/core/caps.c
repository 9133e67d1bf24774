// What a device can do, as a value: text form, masking, and which kernel families can run on it.
#include "caps.h"

#include <string.h>

#include "text.h"

// A fact's name and where it stands in struct fcl_caps.
struct fact {
    const char *name;
    size_t offset;
};

static const struct fact numbers[] = {
#define FCL_X(name, meaning) {#name, offsetof(struct fcl_caps, name)},
    FCL_CAPS_NUMBERS(FCL_X)
#undef FCL_X
};

static const struct fact texts[] = {
#define FCL_X(name, meaning) {#name, offsetof(struct fcl_caps, name)},
    FCL_CAPS_TEXTS(FCL_X)
#undef FCL_X
};

// A piece of the text being read.
struct word {
    const char *start;
    size_t length;
};

#define WORD_PRINT(word) (int)(word).length, (word).start

static uint64_t *number_at(struct fcl_caps *caps, const struct fact *fact)
{
    return (uint64_t *)(void *)((char *)caps + fact->offset);
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct word trim(struct word word)
{
    while (word.length > 0 && is_blank(word.start[word.length - 1]))
        word.length--;
    while (word.length > 0 && is_blank(*word.start)) {
        word.start++;
        word.length--;
    }
    return word;
}

static const struct fact *find_fact(const struct fact *facts, size_t count, struct word name)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(facts[i].name) == name.length &&
            memcmp(facts[i].name, name.start, name.length) == 0)
            return &facts[i];
    return NULL;
}

static int read_number(struct word word, uint64_t *number)
{
    uint64_t value = 0;
    for (size_t i = 0; i < word.length; i++) {
        const char c = word.start[i];
        if (c < '0' || c > '9')
            return 0;
        const uint64_t digit = (uint64_t)(c - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return 0;
        value = value * 10 + digit;
    }
    *number = value;
    return word.length > 0;
}

void fcl_caps_text_clean(char out[FCL_CAPS_TEXT_SIZE], const char *text)
{
    while (*text != 0 && (unsigned char)*text <= ' ')
        text++;
    size_t length = 0;
    for (; text[length] != 0 && length + 1 < FCL_CAPS_TEXT_SIZE; length++)
        out[length] = text[length];
    memset(out + length, 0, FCL_CAPS_TEXT_SIZE - length);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)out[i] < ' ')
            out[i] = ' ';
    while (length > 0 && out[length - 1] == ' ')
        out[--length] = 0;
}

// A text that may come from anywhere: perhaps without its final 0.
static void add_text(struct fcl_text *out, const char *name, const char value[FCL_CAPS_TEXT_SIZE])
{
    char ended[FCL_CAPS_TEXT_SIZE], clean[FCL_CAPS_TEXT_SIZE];
    memcpy(ended, value, sizeof ended);
    ended[sizeof ended - 1] = 0;
    fcl_caps_text_clean(clean, ended);
    fcl_text_add(out, "%s%s%s\n", name, *clean ? " " : "", clean);
}

size_t fcl_caps_format(const struct fcl_caps *caps, char *text, size_t size)
{
    struct fcl_text out = {0};
    if (caps == NULL)
        return fcl_text_emit(&out, text, size);
#define FCL_X(name, meaning) fcl_text_add(&out, #name " %llu\n", (unsigned long long)caps->name);
    FCL_CAPS_NUMBERS(FCL_X)
#undef FCL_X
#define FCL_X(name, meaning) add_text(&out, #name, caps->name);
    FCL_CAPS_TEXTS(FCL_X)
#undef FCL_X
    return fcl_text_emit(&out, text, size);
}

// One line `name value` into *caps; the reason speaks of `line`.
static enum fcl_status read_fact(struct fcl_caps *caps, struct word content, size_t line,
                                 char *reason, size_t size)
{
    struct word name = content;
    for (name.length = 0; name.length < content.length && !is_blank(name.start[name.length]);)
        name.length++;
    const struct word value =
        trim((struct word){name.start + name.length, content.length - name.length});
    const struct fact *number = find_fact(numbers, FCL_COUNT(numbers), name);
    const struct fact *text = find_fact(texts, FCL_COUNT(texts), name);
    if (number == NULL && text == NULL)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "caps line %zu: unknown fact %.*s",
                        line, WORD_PRINT(name));
    if (number != NULL && !read_number(value, number_at(caps, number)))
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "caps line %zu: %s is \"%.*s\"; allowed is a whole number from 0 to 2^64-1",
                        line, number->name, WORD_PRINT(value));
    if (text != NULL && value.length >= FCL_CAPS_TEXT_SIZE)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "caps line %zu: %s has %zu bytes; allowed are %d", line, text->name,
                        value.length, FCL_CAPS_TEXT_SIZE - 1);
    if (text != NULL) {
        char *to = (char *)caps + text->offset;
        memset(to, 0, FCL_CAPS_TEXT_SIZE);
        memcpy(to, value.start, value.length);
    }
    return FCL_OK;
}

enum fcl_status fcl_caps_parse(const char *text, struct fcl_caps *caps, char *reason, size_t size)
{
    if (text == NULL || caps == NULL)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "text and caps must not be NULL");
    struct fcl_caps read = {0};
    struct fcl_line line = {0};
    while (fcl_line_next(&line, text)) {
        const struct word content = trim((struct word){line.start, line.length});
        if (content.length == 0 || *content.start == '#')
            continue;
        const enum fcl_status status = read_fact(&read, content, line.place, reason, size);
        if (status != FCL_OK)
            return status;
    }
    *caps = read;
    return FCL_OK;
}

// Lowers one number. A device without its kind becomes the other kind.
static void lower(struct fcl_caps *caps, const struct fact *fact, uint64_t limit)
{
    uint64_t *number = number_at(caps, fact);
    if (*number <= limit)
        return;
    *number = limit;
    if (number == &caps->cpu)
        caps->gpu = 1;
    if (number == &caps->gpu)
        caps->cpu = 1;
}

static enum fcl_status mask_word(struct fcl_caps *caps, struct word word, char *reason, size_t size)
{
    const char *equals = memchr(word.start, '=', word.length);
    if (equals == NULL)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "caps mask: \"%.*s\" is not of the form name=number", WORD_PRINT(word));
    const struct word name = {word.start, (size_t)(equals - word.start)};
    const struct word value = {equals + 1, word.length - name.length - 1};
    if (find_fact(texts, FCL_COUNT(texts), name) != NULL)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "caps mask: %.*s is a text; only numbers can be lowered", WORD_PRINT(name));
    const struct fact *fact = find_fact(numbers, FCL_COUNT(numbers), name);
    if (fact == NULL)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "caps mask: unknown fact \"%.*s\"",
                        WORD_PRINT(name));
    uint64_t limit;
    if (!read_number(value, &limit))
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "caps mask: %s is \"%.*s\"; allowed is a whole number from 0 to 2^64-1",
                        fact->name, WORD_PRINT(value));
    lower(caps, fact, limit);
    return FCL_OK;
}

enum fcl_status fcl_caps_mask(struct fcl_caps *caps, const char *mask, char *reason, size_t size)
{
    if (caps == NULL || mask == NULL)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "caps and mask must not be NULL");
    struct fcl_caps masked = *caps;
    for (const char *at = mask; *at != 0;) {
        if (is_blank(*at)) {
            at++;
            continue;
        }
        struct word word = {at, 0};
        while (at[word.length] != 0 && !is_blank(at[word.length]))
            word.length++;
        const enum fcl_status status = mask_word(&masked, word, reason, size);
        if (status != FCL_OK)
            return status;
        at += word.length;
    }
    *caps = masked;
    return FCL_OK;
}

const char *fcl_family_text(enum fcl_family family)
{
    static const char *const names[] = {
#define FCL_X(name, text) text,
        FCL_FAMILY_LIST(FCL_X)
#undef FCL_X
    };
    return (unsigned)family < FCL_FAMILY_COUNT ? names[family] : NULL;
}

static enum fcl_status refuse_capability(const char *family, const char *needed,
                                         const struct fcl_caps *caps, char *reason, size_t size)
{
    const unsigned long long have = caps->nvidia_capability;
    if (have == 0)
        return fcl_fail(reason, size, FCL_UNSUPPORTED,
                        "%s is for NVIDIA GPUs of compute capability %s; this device is none",
                        family, needed);
    return fcl_fail(reason, size, FCL_UNSUPPORTED,
                    "%s needs compute capability %s; the device has %llu.%llu", family, needed,
                    have / 10, have % 10);
}

enum fcl_status fcl_family_usable(enum fcl_family family, const struct fcl_caps *caps, char *reason,
                                  size_t size)
{
    const char *name = fcl_family_text(family);
    if (name == NULL || caps == NULL)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT,
                        "family is %d and caps %s; allowed are families 0 to %d and caps", family,
                        caps == NULL ? "NULL" : "given", FCL_FAMILY_COUNT - 1);
    if (caps->c_version != 0 && caps->c_version < 120)
        return fcl_fail(reason, size, FCL_UNSUPPORTED,
                        "%s needs OpenCL C 1.2; the device has version number %llu, not 120", name,
                        (unsigned long long)caps->c_version);
    if (caps->group_size < 1)
        return fcl_fail(reason, size, FCL_UNSUPPORTED,
                        "%s needs work-groups of at least 1 work-item; the device allows 0", name);
    if (family == FCL_FAMILY_NVIDIA_MMA && caps->nvidia_capability < 80)
        return refuse_capability(name, "8.0 or later", caps, reason, size);
    if (family == FCL_FAMILY_NVIDIA_WGMMA && caps->nvidia_capability != 90)
        return refuse_capability(name, "9.0 exactly", caps, reason, size);
    if ((family == FCL_FAMILY_VECTOR || family == FCL_FAMILY_ROW) && caps->cpu == 0)
        return fcl_fail(reason, size, FCL_UNSUPPORTED, "%s is for CPU devices; this device is none",
                        name);
    return FCL_OK;
}
