#include "pairs.h"
#include "memory.h"

#include <flashcl/tune.h>
#include <stdio.h>
#include <stdlib.h>

#define TEXT_SIZE 256
#define LEVELS 8
#define TRIES 80 // random problems of which the one with most new pairs is taken

// Words of which a problem has one of each line; an empty one is the setting that has no word.
static const char *const factors[][LEVELS] = {
    {"none", "causal-tl", "causal-br", "tl win=17,30", "br win=40,5", "causal-br win=23,-1",
     "causal-tl win=9,-1"},
    {"q65 k129", "q129 k65", "q1 k300", "q33 k33", "q5 k200", "q16 k1"},
    {"f32", "f16", "bf16", "q:f16 k:bf16 v:f32 o:f32"},
    {"d64", "d80", "d40/24", "d128"},
    {"b2 h2", "b2 h4/2", "b3 h6/1"},
    {"", "used", "varlen", "varlen used", "page=16", "varlen page=7"},
    {"", "alibi", "alibi=given"},
    {"", "bias=f32", "bias=f16", "bias=bf16"},
    {"", "mask=u8"},
    {"", "softcap=3"},
    {"", "sink"},
    {"", "lse"},
    {"", "guard-v"},
    {"layout=bhsd", "layout=bshd"},
};
#define FACTORS (sizeof(factors) / sizeof(factors[0]))

struct row {
    size_t level[FACTORS];
};

struct covering {
    unsigned char done[FACTORS][LEVELS][FACTORS][LEVELS];
    unsigned random;
};

static size_t level_count(size_t factor)
{
    size_t count = 0;
    while (count < LEVELS && factors[factor][count] != NULL) {
        count++;
    }
    return count;
}

static struct row random_row(struct covering *covering)
{
    struct row row;
    for (size_t f = 0; f < FACTORS; f++) {
        covering->random = covering->random * 1664525u + 1013904223u;
        row.level[f] = (covering->random >> 16) % level_count(f);
    }
    return row;
}

static void row_text(const struct row *row, char *text, size_t size)
{
    size_t length = (size_t)snprintf(text, size, "fwd");
    for (size_t f = 0; f < FACTORS; f++) {
        const char *word = factors[f][row->level[f]];
        if (*word != '\0' && length < size) {
            length += (size_t)snprintf(text + length, size - length, " %s", word);
        }
    }
}

static int is_valid(const struct row *row)
{
    char text[TEXT_SIZE];
    struct fcl_problem problem;
    row_text(row, text, sizeof(text));
    return fcl_problem_parse(text, &problem, NULL, 0) == FCL_OK &&
           fcl_problem_validate(&problem, NULL, 0) == FCL_OK;
}

// Counts the pairs of a row that no row before has; `take` also notes them.
static size_t new_pairs(struct covering *covering, const struct row *row, int take)
{
    size_t count = 0;
    for (size_t a = 0; a < FACTORS; a++) {
        for (size_t b = a + 1; b < FACTORS; b++) {
            unsigned char *done = &covering->done[a][row->level[a]][b][row->level[b]];
            count += *done == 0;
            *done |= (unsigned char)take;
        }
    }
    return count;
}

// The best of some random rows with one pair. Returns 0 where none is valid: the two do not go
// together.
static int cover(struct covering *covering, size_t a, size_t x, size_t b, size_t y,
                 struct row *best)
{
    size_t most = 0;
    for (int try = 0; try < TRIES; try++) {
        struct row row = random_row(covering);
        row.level[a] = x;
        row.level[b] = y;
        size_t count = new_pairs(covering, &row, 0);
        if (count > most && is_valid(&row)) {
            most = count;
            *best = row;
        }
    }
    return most > 0;
}

static void add_text(const struct row *row, char ***texts, size_t *count, size_t *capacity)
{
    char text[TEXT_SIZE];
    row_text(row, text, sizeof(text));
    *texts = memory_grow(*texts, *count, capacity, sizeof(**texts));
    (*texts)[(*count)++] = memory_print("%s", text);
}

char **pairs_texts(size_t *count)
{
    struct covering *covering = memory_get(1, sizeof(*covering));
    char **texts = NULL;
    size_t capacity = 0;
    *count = 0;
    for (size_t a = 0; a < FACTORS; a++) {
        for (size_t b = a + 1; b < FACTORS; b++) {
            for (size_t pair = 0; pair < level_count(a) * level_count(b); pair++) {
                size_t x = pair / level_count(b), y = pair % level_count(b);
                struct row row;
                if (!covering->done[a][x][b][y] && cover(covering, a, x, b, y, &row)) {
                    new_pairs(covering, &row, 1);
                    add_text(&row, &texts, count, &capacity);
                }
            }
        }
    }
    free(covering);
    return texts;
}
