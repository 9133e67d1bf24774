// Metadata of sequences on the host.
#include <stdlib.h>

#include <flashcl/tune.h>

#include "core/random.h"
#include "problem.h"

// ---- reading

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return fcl_min(fcl_max(value, low), high);
}

static int are_there(const struct fcl_problem *p, const struct fcl_sequences *sequences)
{
    if (!fcl_problem_has_sequences(p))
        return 1;
    return sequences && (!p->varlen || (sequences->cu_q && (sequences->cu_k || p->page))) &&
           (!p->used || sequences->used_k) &&
           (!p->page || sequences->table || !sequences->table_entries);
}

static int64_t page_size(const struct fcl_problem *p, const struct fcl_sequences *sequences)
{
    return sequences->page ? sequences->page : p->page;
}

int64_t fcl_sequences_page(const struct fcl_problem *problem, const struct fcl_sequences *sequences,
                           int64_t s, int64_t key)
{
    if (!problem || !problem->page || !sequences || !sequences->table)
        return -1;
    const int64_t number = key / page_size(problem, sequences);
    if (s < 0 || s >= problem->batch || key < 0 || number >= sequences->table_entries)
        return -1;
    const int64_t stride =
        sequences->table_stride ? sequences->table_stride : sequences->table_entries;
    const int32_t page = sequences->table[s * stride + number];
    return page >= 0 && page < sequences->page_count ? page : -1;
}

enum fcl_status fcl_sequences_rows(const struct fcl_problem *problem,
                                   const struct fcl_sequences *sequences, int64_t s,
                                   struct fcl_sequence_rows *rows)
{
    struct fcl_problem p;
    if (!rows || fcl_problem_complete(problem, &p, NULL, 0) || s < 0 || s >= p.batch ||
        !are_there(&p, sequences))
        return FCL_INVALID_ARGUMENT;
    struct fcl_sequence_rows x = {0, p.q_len, 0, p.k_len};
    if (p.varlen) {
        x.q_first = clamp(sequences->cu_q[s], 0, sequences->total_q);
        x.q_len = clamp(sequences->cu_q[s + 1], x.q_first, sequences->total_q) - x.q_first;
        x.q_len = fcl_min(x.q_len, p.q_len);
    }
    if (p.varlen && !p.page) {
        x.k_first = clamp(sequences->cu_k[s], 0, sequences->total_k);
        x.k_len = clamp(sequences->cu_k[s + 1], x.k_first, sequences->total_k) - x.k_first;
        x.k_len = fcl_min(x.k_len, p.k_len);
    }
    if (p.page)
        x.k_len = sequences->page_count
                      ? fcl_min(x.k_len, sequences->table_entries * page_size(&p, sequences))
                      : 0;
    if (p.used && sequences->used_q)
        x.q_len = clamp(sequences->used_q[s], 0, x.q_len);
    if (p.used)
        x.k_len = clamp(sequences->used_k[s], 0, x.k_len);
    *rows = x;
    return FCL_OK;
}

// ---- making

// Of a sequence, so that neighbours differ.
static int64_t some_length(int64_t longest, int64_t s)
{
    static const int eighths[] = {8, 3, 6, 1, 4, 7, 2, 5};
    return fcl_div_up(longest * eighths[s % 8], 8);
}

static int32_t *make_lengths(int64_t batch, int64_t longest)
{
    int32_t *lengths = malloc((size_t)fcl_max(batch, 1) * sizeof *lengths);
    for (int64_t s = 0; lengths && s < batch; s++)
        lengths[s] = (int32_t)some_length(longest, s);
    return lengths;
}

// NULL, too, where the total leaves 32 bits.
static int32_t *make_starts(int64_t batch, int64_t longest, int64_t *total)
{
    int32_t *starts = malloc((size_t)(batch + 1) * sizeof *starts);
    *total = 0;
    for (int64_t s = 0; starts && s <= batch; s++) {
        if (*total > INT32_MAX) {
            free(starts);
            return NULL;
        }
        starts[s] = (int32_t)*total;
        *total += s < batch ? some_length(longest, s) : 0;
    }
    return starts;
}

// Numbers from 0 on in a random order.
static int32_t *make_pages(int64_t count, uint64_t seed)
{
    int32_t *pages = malloc((size_t)fcl_max(count, 1) * sizeof *pages);
    for (int64_t i = 0; pages && i < count; i++) {
        const int64_t other = (int64_t)(fcl_random_mix(seed ^ (uint64_t)i) % (uint64_t)(i + 1));
        pages[i] = pages[other];
        pages[other] = (int32_t)i;
    }
    return pages;
}

enum fcl_status fcl_sequences_create(const struct fcl_problem *problem, uint64_t seed,
                                     struct fcl_sequences *sequences)
{
    struct fcl_problem p;
    if (!sequences)
        return FCL_INVALID_ARGUMENT;
    *sequences = (struct fcl_sequences){0};
    if (fcl_problem_complete(problem, &p, NULL, 0))
        return FCL_INVALID_ARGUMENT;
    if (p.varlen) {
        sequences->cu_q = make_starts(p.batch, p.q_len, &sequences->total_q);
        if (!p.page)
            sequences->cu_k = make_starts(p.batch, p.k_len, &sequences->total_k);
    } else if (p.used) {
        sequences->used_q = make_lengths(p.batch, p.q_len);
    }
    if (p.used)
        sequences->used_k = make_lengths(p.batch, p.k_len);
    for (int64_t s = 0; s < p.batch && sequences->used_k && sequences->cu_k; s++)
        sequences->used_k[s] -= sequences->used_k[s] / 4;
    if (p.page) {
        sequences->table_entries = fcl_div_up(p.k_len, p.page);
        sequences->page_count = p.batch * sequences->table_entries;
        sequences->table = make_pages(sequences->page_count, seed);
    }
    if (are_there(&p, sequences) && (p.varlen || !p.used || sequences->used_q))
        return FCL_OK;
    fcl_sequences_free(sequences);
    return FCL_OUT_OF_MEMORY;
}

void fcl_sequences_free(struct fcl_sequences *sequences)
{
    if (!sequences)
        return;
    free(sequences->cu_q);
    free(sequences->cu_k);
    free(sequences->used_q);
    free(sequences->used_k);
    free(sequences->table);
    *sequences = (struct fcl_sequences){0};
}
