// The arithmetic of a problem beside what a device has, with a word on each number.
#include "explanation.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

// ---- Values -----------------------------------------------------------------------------------

static void complete_side(const struct explanation *e, struct explanation_side *side,
                          enum fcl_implementation implementation)
{
    const int launches = fcl_config_kernels(&e->config, implementation);
    if (implementation == FCL_UNFUSED && e->problem->pass == FCL_PASS_STATISTICS) {
        *side = (struct explanation_side){NAN, NAN, 0, {NAN, NAN, NAN, NULL}};
        return; // there is none
    }
    side->bytes = traffic_bytes(e->problem, implementation);
    side->intensity = side->bytes > 0 ? e->operations / side->bytes : NAN;
    side->launches = launches;
    if (e->peak_known) {
        side->limits = traffic_limits(e->problem, implementation, &e->peak, launches);
    }
}

static int64_t outgrows(const struct explanation *e, uint64_t bytes)
{
    return bytes > 0 ? traffic_outgrows(e->problem, bytes) : 0;
}

void explanation_complete(struct explanation *e)
{
    e->operations = traffic_operations(e->problem);
    e->score_bytes = traffic_score_bytes(e->problem);
    e->peak_known = e->peak.gflops > 0 && e->peak.read_gbs > 0;
    e->ridge = e->peak_known ? e->peak.gflops / e->peak.read_gbs : NAN;
    e->cache_n = outgrows(e, e->caps->cache_bytes);
    e->buffer_n = outgrows(e, e->caps->allocation_bytes);
    e->memory_n = outgrows(e, e->caps->global_bytes);
    complete_side(e, &e->fused, FCL_FUSED);
    complete_side(e, &e->unfused, FCL_UNFUSED);
    if (e->origin == NULL ||
        fcl_config_budget(&e->config, e->problem, &e->budget, NULL, 0) != FCL_OK) {
        memset(&e->budget, 0, sizeof(e->budget));
    }
}

// ---- Text -------------------------------------------------------------------------------------

#define COUNT_SIZE 32

// A count with three significant digits and a prefix: `4.19 MB`, `4.19 M pairs`, `64 pairs`.
static const char *count_text(double value, const char *unit, char text[COUNT_SIZE])
{
    if (isnan(value)) {
        return "-";
    }
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    size_t prefix = 0;
    while (value >= 999.5 && prefix + 1 < sizeof(prefixes) / sizeof(prefixes[0])) {
        value /= 1000;
        prefix++;
    }
    const int digits = value >= 99.95 || value == floor(value) ? 0 : value >= 9.995 ? 1 : 2;
    const int joined = prefix == 0 && (unit[0] == ' ' || unit[0] == '\0');
    snprintf(text, COUNT_SIZE, "%.*f%s%s%s", digits, value, joined ? "" : " ", prefixes[prefix],
             unit);
    return text;
}

static void print_work(const struct explanation *e, FILE *out)
{
    const struct fcl_problem *p = e->problem;
    const int has_output = p->pass != FCL_PASS_STATISTICS;
    char pairs[COUNT_SIZE];
    fprintf(out,
            "\nThe work: %" PRId64 " x %" PRId64 " heads, each %" PRId64 " queries by %" PRId64
            " keys, of which %s see each other.\n",
            p->batch, p->heads_q, p->q_len, p->k_len,
            count_text(traffic_pairs(p), " pairs", pairs));
    fprintf(out, "A pair takes %d multiply-adds for its score%s", p->head_dim_qk,
            has_output ? "" : ".\n");
    if (has_output) {
        fprintf(out, " and %d for its part of the output.\n",
                p->head_dim_v > 0 ? p->head_dim_v : p->head_dim_qk);
    }
}

static void print_pair(FILE *out, const char *name, const char *fused, const char *unfused,
                       const char *note)
{
    fprintf(out, "  %-14s %12s %12s%s%s\n", name, fused != NULL ? fused : "-",
            unfused != NULL ? unfused : "-", note[0] != '\0' ? "   " : "", note);
}

static void print_numbers(FILE *out, const char *name, double fused, double unfused,
                          const char *note)
{
    char a[COUNT_SIZE], b[COUNT_SIZE];
    snprintf(a, sizeof(a), "%.4g", fused);
    snprintf(b, sizeof(b), "%.4g", unfused);
    print_pair(out, name, isnan(fused) ? NULL : a, isnan(unfused) ? NULL : b, note);
}

static void print_traffic(const struct explanation *e, FILE *out)
{
    char a[COUNT_SIZE], b[COUNT_SIZE];
    print_pair(out, "", "fused", "unfused", "");
    print_pair(out, "operations", count_text(e->operations, "", a),
               e->unfused.launches > 0 ? a : NULL, "2 for each multiply-add");
    print_pair(out, "bytes moved", count_text(e->fused.bytes, "", a),
               count_text(e->unfused.bytes, "", b),
               "each tensor once; unfused also scores and probabilities, written and read");
    print_numbers(out, "intensity", e->fused.intensity, e->unfused.intensity, "operations a byte");
    print_numbers(out, "launches", e->fused.launches,
                  e->unfused.launches > 0 ? e->unfused.launches : NAN,
                  e->fused.launches > 1
                      ? "the second joins the parts of split keys, whose bytes are not counted"
                      : "");
}

static void print_limit(FILE *out, const char *what, uint64_t bytes, int64_t n)
{
    char text[COUNT_SIZE];
    if (bytes == 0) {
        fprintf(out, "  %-22s not told\n", what);
    } else if (n == 0) {
        fprintf(out, "  %-22s never\n", what);
    } else {
        fprintf(out, "  %-22s from N = %-10" PRId64 " it has %s\n", what, n,
                count_text((double)bytes, "B", text));
    }
}

static void print_matrix(const struct explanation *e, FILE *out)
{
    char text[COUNT_SIZE];
    fprintf(out, "\nThe score matrix has %s. Fused, it is never in memory.",
            count_text(e->score_bytes, "B", text));
    if (e->unfused.launches == 0) {
        fprintf(out, " There is no unfused form of statistics.\n");
        return;
    }
    fprintf(out, " Unfused, with N %s it is larger than\n",
            e->problem->q_len == e->problem->k_len ? "queries and N keys" : "keys");
    print_limit(out, "the last-level cache", e->caps->cache_bytes, e->cache_n);
    print_limit(out, "a single buffer", e->caps->allocation_bytes, e->buffer_n);
    print_limit(out, "device memory", e->caps->global_bytes, e->memory_n);
}

static void print_roof(const struct explanation *e, FILE *out)
{
    if (!e->peak_known) {
        fprintf(out, "\nThe device's peak is not known, so nothing is said of what limits it.\n");
        return;
    }
    fprintf(out,
            "\nThe device does %.4g GFLOP/s, reads %.4g GB/s and takes %.4g us for a launch. Its "
            "ridge point\nis %.3g operations a byte: work of less is limited by memory, of more by "
            "arithmetic.\n",
            e->peak.gflops, e->peak.read_gbs, e->peak.launch_us, e->ridge);
    print_pair(out, "at least, ms", "fused", "unfused", "");
    print_numbers(out, "compute", e->fused.limits.compute_ms, e->unfused.limits.compute_ms,
                  "exponentials and masks come on top");
    print_numbers(out, "memory", e->fused.limits.memory_ms, e->unfused.limits.memory_ms,
                  e->score_bytes < (double)e->caps->cache_bytes
                      ? "as if nothing stayed in the cache, where the score matrix has room"
                      : "as if nothing stayed in the cache");
    print_numbers(out, "launch", e->fused.limits.launch_ms, e->unfused.limits.launch_ms, "");
    print_pair(out, "limited by", e->fused.limits.name, e->unfused.limits.name, "");
}

static void print_config(const struct explanation *e, FILE *out)
{
    char text[128];
    if (e->origin == NULL) {
        fprintf(out, "\nNo configuration is valid on this device.\n");
        return;
    }
    fcl_config_format(&e->config, text, sizeof(text));
    fprintf(out, "\nThe configuration that would be used: %s (%s)\n", text, e->origin);
#define FCL_X(field, key, macro, families, meaning)                            \
    if (((families) >> e->config.family & 1u) != 0) {                          \
        fprintf(out, "  %-14s %12d   %s\n", #field, e->config.field, meaning); \
    }
    FCL_CONFIG_FIELDS(FCL_X)
#undef FCL_X
    fprintf(out, "and what a work-group of it keeps on the chip\n");
#define FCL_X(name, meaning) \
    fprintf(out, "  %-14s %12" PRId64 "   %s\n", #name, e->budget.name, meaning);
    FCL_BUDGET_FIELDS(FCL_X)
#undef FCL_X
}

void explanation_print(const struct explanation *explanation, FILE *out)
{
    print_work(explanation, out);
    print_traffic(explanation, out);
    print_matrix(explanation, out);
    print_roof(explanation, out);
    print_config(explanation, out);
}
