// Two texts belong together when they are equal but for whole numbers; each number's range is kept.
#include "reasons.h"

#include "memory.h"

#include <stdlib.h>
#include <string.h>

#define NUMBERS 16 // later ones are compared as texts

struct range {
    unsigned long long low, high;
};

struct reason_group {
    char *text; // the first that was added
    struct range ranges[NUMBERS];
    size_t times;
};

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// Reads the number at *text and moves behind it.
static unsigned long long take_number(const char **text)
{
    char *end;
    const unsigned long long number = strtoull(*text, &end, 10);
    *text = end;
    return number;
}

// Whether the texts belong together; `numbers` become those of the second.
static int belong_together(const char *first, const char *second,
                           unsigned long long numbers[NUMBERS])
{
    size_t count = 0;
    while (*first != '\0' && *second != '\0') {
        if (count < NUMBERS && is_digit(*first) && is_digit(*second)) {
            take_number(&first);
            numbers[count++] = take_number(&second);
        } else if (*first++ != *second++) {
            return 0;
        }
    }
    return *first == *second;
}

static void widen(struct reason_group *group, const unsigned long long numbers[NUMBERS])
{
    for (size_t i = 0; i < NUMBERS; i++) {
        struct range *range = &group->ranges[i];
        range->low = numbers[i] < range->low ? numbers[i] : range->low;
        range->high = numbers[i] > range->high ? numbers[i] : range->high;
    }
    group->times++;
}

void reasons_add(struct reasons *reasons, const char *text)
{
    unsigned long long numbers[NUMBERS] = {0};
    for (size_t i = 0; i < reasons->count; i++) {
        if (belong_together(reasons->groups[i].text, text, numbers)) {
            widen(&reasons->groups[i], numbers);
            return;
        }
    }
    belong_together(text, text, numbers);
    reasons->groups =
        memory_grow(reasons->groups, reasons->count, &reasons->capacity, sizeof(*reasons->groups));
    struct reason_group *group = &reasons->groups[reasons->count++];
    *group = (struct reason_group){.text = memory_print("%s", text), .times = 1};
    for (size_t i = 0; i < NUMBERS; i++) {
        group->ranges[i] = (struct range){numbers[i], numbers[i]};
    }
}

void reasons_sort(struct reasons *reasons)
{
    for (size_t i = 1; i < reasons->count; i++) {
        const struct reason_group group = reasons->groups[i];
        size_t at = i;
        for (; at > 0 && reasons->groups[at - 1].times < group.times; at--) {
            reasons->groups[at] = reasons->groups[at - 1];
        }
        reasons->groups[at] = group;
    }
}

size_t reasons_times(const struct reasons *reasons, size_t index)
{
    return reasons->groups[index].times;
}

char *reasons_text(const struct reasons *reasons, size_t index)
{
    const struct reason_group *group = &reasons->groups[index];
    char *text = NULL;
    size_t count = 0;
    for (const char *c = group->text; *c != '\0';) {
        if (count < NUMBERS && is_digit(*c)) {
            const struct range *range = &group->ranges[count++];
            take_number(&c);
            memory_append(&text, "%llu", range->low);
            if (range->high != range->low) {
                memory_append(&text, "..%llu", range->high);
            }
        } else {
            memory_append(&text, "%c", *c++);
        }
    }
    return text != NULL ? text : memory_print("%s", "");
}

void reasons_free(struct reasons *reasons)
{
    for (size_t i = 0; i < reasons->count; i++) {
        free(reasons->groups[i].text);
    }
    free(reasons->groups);
    *reasons = (struct reasons){.count = 0};
}
