// Checks of metadata on the host.
#include <flashcl/tune.h>

#include "problem.h"

// Where a failure is explained.
struct explaining {
    char *reason;
    size_t size;
};

#define REFUSE(to, ...) fcl_fail((to)->reason, (to)->size, FCL_INVALID_ARGUMENT, __VA_ARGS__)

// First rows of sequences: x is q or k.
static enum fcl_status check_starts(char x, const int32_t *starts, int64_t batch, int64_t total,
                                    int64_t longest, struct explaining *to)
{
    if (starts[0] != 0)
        return REFUSE(to, "cu_%c[0] is %d, allowed is 0", x, starts[0]);
    for (int64_t s = 1; s <= batch; s++) {
        const int64_t length = (int64_t)starts[s] - starts[s - 1];
        if (length < 0)
            return REFUSE(to, "cu_%c[%lld] is %d, less than the %d before it", x, (long long)s,
                          starts[s], starts[s - 1]);
        if (starts[s] > total)
            return REFUSE(to, "cu_%c[%lld] is %d, allowed are up to total_%c, %lld", x,
                          (long long)s, starts[s], x, (long long)total);
        if (length > longest)
            return REFUSE(to,
                          "cu_%c[%lld] is %d and ends %lld rows, allowed are up to %c_len, %lld", x,
                          (long long)s, starts[s], (long long)length, x, (long long)longest);
    }
    return FCL_OK;
}

// Lengths used, up to those of the sequences: `starts` where those differ, else `longest`.
static enum fcl_status check_used(char x, const int32_t *used, const int32_t *starts, int64_t batch,
                                  int64_t longest, struct explaining *to)
{
    for (int64_t s = 0; s < batch; s++) {
        const int64_t limit = starts ? (int64_t)starts[s + 1] - starts[s] : longest;
        if (used[s] < 0 || used[s] > limit)
            return REFUSE(to, "used_%c[%lld] is %d, allowed are 0 to %lld", x, (long long)s,
                          used[s], (long long)limit);
    }
    return FCL_OK;
}

static enum fcl_status check_pages(const struct fcl_problem *p,
                                   const struct fcl_sequences *sequences, struct explaining *to)
{
    const int64_t page = sequences->page ? sequences->page : p->page;
    const int64_t stride =
        sequences->table_stride ? sequences->table_stride : sequences->table_entries;
    for (int64_t s = 0; s < p->batch; s++) {
        const int64_t needed = fcl_div_up(sequences->used_k[s], page);
        if (needed > sequences->table_entries)
            return REFUSE(to, "used_k[%lld] is %d and needs %lld pages, table_entries is %lld",
                          (long long)s, sequences->used_k[s], (long long)needed,
                          (long long)sequences->table_entries);
        for (int64_t n = 0; n < needed; n++) {
            const int32_t number = sequences->table[s * stride + n];
            if (number < 0 || number >= sequences->page_count)
                return REFUSE(to,
                              "table[%lld] (page %lld of sequence %lld) is %d, allowed are 0 to "
                              "%lld",
                              (long long)(s * stride + n), (long long)n, (long long)s, number,
                              (long long)sequences->page_count - 1);
        }
    }
    return FCL_OK;
}

enum fcl_status fcl_sequences_validate(const struct fcl_problem *problem,
                                       const struct fcl_sequences *sequences, char *reason,
                                       size_t size)
{
    struct fcl_problem p;
    struct explaining to = {reason, size};
    enum fcl_status status = fcl_problem_complete(problem, &p, reason, size);
    if (status || !fcl_problem_has_sequences(&p))
        return status;
    const int has_cu_k = p.varlen && !p.page;
    if (!sequences || (p.varlen && !sequences->cu_q) || (has_cu_k && !sequences->cu_k) ||
        (p.used && !sequences->used_k) || (p.page && sequences->table_entries && !sequences->table))
        return REFUSE(&to, "metadata that the problem speaks of are missing");
    if (p.varlen)
        status = check_starts('q', sequences->cu_q, p.batch, sequences->total_q, p.q_len, &to);
    if (!status && has_cu_k)
        status = check_starts('k', sequences->cu_k, p.batch, sequences->total_k, p.k_len, &to);
    if (!status && p.used && sequences->used_q)
        status = check_used('q', sequences->used_q, p.varlen ? sequences->cu_q : NULL, p.batch,
                            p.q_len, &to);
    if (!status && p.used)
        status = check_used('k', sequences->used_k, has_cu_k ? sequences->cu_k : NULL, p.batch,
                            p.k_len, &to);
    return !status && p.page ? check_pages(&p, sequences, &to) : status;
}
