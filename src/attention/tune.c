// Exhaustive tuning: every valid configuration is built, verified and timed; the best meet the
// default again.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "core/timing.h"
#include "core/wisdom.h"
#include "problem.h"

#define FINALISTS 4    // the default not counted
#define FINAL_ROUNDS 5 // each finalist once a round, in turn
#define VERIFY_ROWS 48 // against double precision
#define HOPELESS 2.5   // a probe this many times slower than the best is not timed further
#define TUNE_SEED 20220527

struct candidate {
    struct fcl_config config;
    struct fcl_plan *plan; // kept while it may become a finalist
    struct fcl_timing timing;
};

struct tuning {
    fcl_device *device;
    struct fcl_problem problem;
    struct fcl_tune_options options;
    struct fcl_tune_result *result;
    struct fcl_bench bench;
    struct candidate *candidates; // the default first
    size_t count, capacity;
    struct candidate *finalists[FINALISTS + 1]; // by time; the default is always among them
    size_t finalist_count;
    unsigned char *accepted_o; // outputs of the first candidate that passed
    float *accepted_lse;
    double started_ms;
    int failed; // out of memory while listing
};

// ---- candidates

static void add_candidate(struct tuning *t, const struct fcl_config *config)
{
    if (t->count == t->capacity) {
        const size_t capacity = t->capacity ? 2 * t->capacity : 64;
        struct candidate *grown = realloc(t->candidates, capacity * sizeof *grown);
        if (!grown) {
            t->failed = 1;
            return;
        }
        t->candidates = grown;
        t->capacity = capacity;
    }
    t->candidates[t->count++] = (struct candidate){.config = *config};
}

static void report(struct tuning *t, const struct fcl_config *config, enum fcl_status status,
                   const char *reason, const struct fcl_comparison *comparison,
                   const struct fcl_timing *timing)
{
    char text[96];
    if (!t->options.progress)
        return;
    fcl_config_format(config, text, sizeof text);
    struct fcl_trial trial = {.config = text,
                              .status = status,
                              .reason = reason,
                              .ratio = comparison ? comparison->ratio : 0.0,
                              .number = t->result->tried,
                              .total = t->count};
    if (timing)
        trial.timing = *timing;
    t->options.progress(t->options.user, &trial);
}

static int visit_config(void *user, const struct fcl_config *config, enum fcl_status status,
                        const char *reason)
{
    struct tuning *t = user;
    if (!status && config->family != t->candidates[0].config.family) {
        status = FCL_UNSUPPORTED;
        reason = "an abler family is usable on this device";
    }
    if (status) {
        t->result->pruned++;
        report(t, config, status, reason, NULL, NULL);
    } else if (memcmp(config, &t->candidates[0].config, sizeof *config)) {
        add_candidate(t, config);
    }
    return t->failed;
}

static enum fcl_status list_candidates(struct tuning *t)
{
    struct fcl_choice choices[FCL_CHOICES];
    char reason[256] = "";
    if (!fcl_select(&t->problem, t->options.implementation, &t->device->caps, NULL, choices, reason,
                    sizeof reason))
        return fcl_device_fail(t->device, FCL_NO_CONFIGURATION, "%s", reason);
    add_candidate(t, &choices[0].config);
    if (t->failed)
        return FCL_OUT_OF_MEMORY;
    fcl_config_format(&choices[0].config, t->result->default_config,
                      sizeof t->result->default_config);
    fcl_config_space(&t->problem, &t->device->caps, visit_config, t);
    return t->failed ? FCL_OUT_OF_MEMORY : FCL_OK;
}

// ---- verification

// Whether a row agrees with that of the first accepted candidate, within rounding relative to its
// largest number.
static int row_agrees(const void *a, const void *b, enum fcl_dtype dtype, size_t first,
                      size_t count)
{
    static const double roundoff[] = {
        [FCL_F32] = 0x1p-24, [FCL_F16] = 0x1p-11, [FCL_BF16] = 0x1p-8};
    double most = 0.0, worst = 0.0;
    for (size_t i = first; i < first + count; i++) {
        const double x = fcl_element_load(a, dtype, (int64_t)i);
        const double y = fcl_element_load(b, dtype, (int64_t)i);
        if (x == y || (isnan(x) && isnan(y)))
            continue;
        if (!isfinite(x) || !isfinite(y))
            return 0;
        most = fmax(most, fabs(x));
        worst = fmax(worst, fabs(x - y));
    }
    return worst <= (8 * roundoff[dtype] + 0x1p-16) * most;
}

static int all_agree(const void *a, const void *b, enum fcl_dtype dtype, size_t count, size_t row)
{
    for (size_t first = 0; first < count; first += row)
        if (!row_agrees(a, b, dtype, first, row))
            return 0;
    return 1;
}

// Runs a candidate once and judges its outputs; takes them as the standard if they are the first.
static enum fcl_status verify(struct tuning *t, const struct fcl_plan *plan,
                              struct fcl_comparison *comparison, const char **reason)
{
    const struct fcl_problem *p = &t->problem;
    unsigned char *o = NULL;
    float *lse = NULL;
    *comparison = (struct fcl_comparison){0};
    enum fcl_status status = fcl_bench_run(&t->bench, plan, &o, &lse);
    if (!status)
        status = fcl_bench_compare(&t->bench, plan, TUNE_SEED, VERIFY_ROWS, o, lse, comparison);
    *reason = status == FCL_WRONG_RESULT ? "differs from the reference" : fcl_status_text(status);
    const size_t o_count = t->bench.o_bytes / fcl_dtype_size(p->dtype_o);
    const size_t lse_count = t->bench.lse_bytes / sizeof(float);
    if (!status && t->accepted_o &&
        !all_agree(t->accepted_o, o, p->dtype_o, o_count, (size_t)p->head_dim_v))
        status = FCL_WRONG_RESULT;
    if (!status && t->accepted_lse &&
        !all_agree(t->accepted_lse, lse, FCL_F32, lse_count, lse_count))
        status = FCL_WRONG_RESULT;
    if (status == FCL_WRONG_RESULT && comparison->ratio <= 1.0)
        *reason = "differs from the first accepted candidate";
    if (!status && !t->accepted_o && !t->accepted_lse) {
        t->accepted_o = o;
        t->accepted_lse = lse;
        return FCL_OK;
    }
    free(o);
    free(lse);
    return status;
}

// ---- timing

struct timed_launch {
    const struct fcl_plan *plan;
    const struct fcl_attention_args *args;
};

static enum fcl_status launch_timed(void *user, cl_command_queue queue, cl_event *first,
                                    cl_event *last)
{
    const struct timed_launch *timed = user;
    return fcl_plan_launch(timed->plan, queue, timed->args, 0, NULL, first, last);
}

enum fcl_status fcl_attention_time(const fcl_plan *plan, const struct fcl_attention_args *args,
                                   int samples, double batch_ms, struct fcl_timing *timing)
{
    struct timed_launch timed = {plan, args};
    if (!plan || !args || !timing)
        return plan ? fcl_device_fail(plan->device, FCL_INVALID_ARGUMENT, "%s is NULL",
                                      args ? "timing" : "args")
                    : FCL_INVALID_ARGUMENT;
    return fcl_timing_measure(plan->device, launch_timed, &timed, samples, batch_ms, timing);
}

static double best_ms(const struct tuning *t)
{
    return t->finalist_count ? t->finalists[0]->timing.median_ms : INFINITY;
}

// A probe, and a full measurement unless the probe is hopeless.
static enum fcl_status measure(struct tuning *t, struct candidate *c, const char **reason)
{
    struct timed_launch timed = {c->plan, &t->bench.args};
    double probe;
    enum fcl_status status = fcl_timing_probe(t->device, launch_timed, &timed, &probe);
    if (!status && probe > HOPELESS * best_ms(t)) {
        c->timing = (struct fcl_timing){
            .median_ms = probe, .min_ms = probe, .clock = FCL_CLOCK_WALL, .samples = 1, .batch = 1};
        return FCL_OK;
    }
    if (!status)
        status = fcl_timing_measure(t->device, launch_timed, &timed, 5, 0, &c->timing);
    *reason = fcl_status_text(status);
    return status;
}

// ---- finals

// Enters a timed candidate among the finalists, which are in order of time; the plan of whoever
// falls out goes. Place 0 of the candidates, the default, never falls out.
static void enter_finals(struct tuning *t, struct candidate *c)
{
    size_t at = t->finalist_count;
    for (; at > 0 && t->finalists[at - 1]->timing.median_ms > c->timing.median_ms; at--)
        t->finalists[at] = t->finalists[at - 1];
    t->finalists[at] = c;
    if (++t->finalist_count <= FINALISTS)
        return;
    size_t out = t->finalist_count - 1;
    if (t->finalists[out] == t->candidates)
        out--;
    fcl_plan_destroy(&t->finalists[out]->plan);
    memmove(&t->finalists[out], &t->finalists[out + 1],
            (t->finalist_count - 1 - out) * sizeof *t->finalists);
    t->finalist_count--;
}

static enum fcl_status run_finals(struct tuning *t)
{
    double medians[FINALISTS][FINAL_ROUNDS];
    for (int round = 0; round < FINAL_ROUNDS; round++)
        for (size_t i = 0; i < t->finalist_count; i++) {
            struct timed_launch timed = {t->finalists[i]->plan, &t->bench.args};
            const enum fcl_status status =
                fcl_timing_measure(t->device, launch_timed, &timed, 3, 0, &t->finalists[i]->timing);
            if (status)
                return status;
            medians[i][round] = t->finalists[i]->timing.median_ms;
        }
    for (size_t i = 0; i < t->finalist_count; i++)
        fcl_timing_summarise(medians[i], FINAL_ROUNDS, &t->finalists[i]->timing);
    return FCL_OK;
}

static struct candidate *find_winner(const struct tuning *t)
{
    struct candidate *winner = t->finalists[0];
    for (size_t i = 1; i < t->finalist_count; i++)
        if (t->finalists[i]->timing.median_ms < winner->timing.median_ms)
            winner = t->finalists[i];
    return winner;
}

// ---- the result

static enum fcl_status store_winner(struct tuning *t, const struct candidate *winner,
                                    const struct fcl_wisdom_row *row)
{
    fcl_device *device = t->device;
    char reason[256] = "";
    pthread_mutex_lock(&device->wisdom_lock);
    enum fcl_status status = fcl_wisdom_add(device->wisdom, row);
    if (!status && device->wisdom_file)
        status = fcl_wisdom_save(device->wisdom, device->wisdom_file, reason, sizeof reason);
    pthread_mutex_unlock(&device->wisdom_lock);
    if (status)
        return fcl_device_fail(device, status, "wisdom was not written: %s", reason);
    t->result->stored = 1;
    return fcl_plan_store(winner->plan);
}

static enum fcl_status conclude(struct tuning *t)
{
    struct fcl_tune_result *result = t->result;
    if (!t->finalist_count)
        return fcl_device_fail(t->device, FCL_NO_CONFIGURATION,
                               "none of %zu configurations built, ran and gave the right result",
                               result->tried);
    enum fcl_status status = run_finals(t);
    if (status)
        return status;
    const struct candidate *winner = find_winner(t), *standard = &t->candidates[0];
    char problem_class[256];
    fcl_problem_class(&t->problem, t->options.implementation, problem_class, sizeof problem_class);
    fcl_config_format(&winner->config, result->config, sizeof result->config);
    result->timing = winner->timing;
    result->default_timing = standard->timing;
    const struct fcl_wisdom_row row = {.device = t->device->caps.name,
                                       .driver = t->device->caps.driver,
                                       .problem_class = problem_class,
                                       .config = result->config,
                                       .median_ms = winner->timing.median_ms,
                                       .spread = winner->timing.spread,
                                       .clock = fcl_clock_text(winner->timing.clock),
                                       .version = FCL_VERSION};
    fcl_wisdom_format(&row, result->row, sizeof result->row);
    const double noise = fmax(winner->timing.spread, standard->timing.spread);
    const int better =
        !standard->plan || winner->timing.median_ms * (1.0 + noise) < standard->timing.median_ms;
    return t->options.store && winner != standard && better ? store_winner(t, winner, &row)
                                                            : FCL_OK;
}

// ---- the loop

static int budget_reached(const struct tuning *t)
{
    const struct fcl_tune_options *o = &t->options;
    return (o->evaluations && t->result->tried >= o->evaluations) ||
           (o->seconds > 0.0 && fcl_now_ms() - t->started_ms > 1000.0 * o->seconds);
}

static void try_candidate(struct tuning *t, struct candidate *c)
{
    const struct fcl_choice choice = {c->config, "tuning"};
    struct fcl_comparison comparison = {0};
    const char *reason = "";
    t->result->tried++;
    enum fcl_status status =
        fcl_plan_build(t->device, &t->problem, t->options.implementation, &choice, 1, &c->plan);
    if (status)
        reason = fcl_status_text(status);
    else
        status = verify(t, c->plan, &comparison, &reason);
    if (!status)
        status = measure(t, c, &reason);
    t->result->failed += status != FCL_OK;
    report(t, &c->config, status, status ? reason : "", &comparison, &c->timing);
    if (status)
        fcl_plan_destroy(&c->plan);
    else
        enter_finals(t, c);
}

static enum fcl_status tune(struct tuning *t)
{
    enum fcl_status status = list_candidates(t);
    if (!status)
        status = fcl_bench_init(&t->bench, t->device, &t->problem, FCL_FILL_UNBALANCED, TUNE_SEED);
    if (status)
        return status;
    size_t i = 0;
    for (; i < t->count && !budget_reached(t); i++)
        try_candidate(t, &t->candidates[i]);
    if (i < t->count && !t->finalist_count)
        return fcl_device_fail(t->device, FCL_BUDGET_REACHED,
                               "%zu of %zu configurations were tried in the budget, none passed", i,
                               t->count);
    status = conclude(t);
    return status ? status : i < t->count ? FCL_BUDGET_REACHED : FCL_OK;
}

enum fcl_status fcl_attention_tune(fcl_device *device, const struct fcl_problem *problem,
                                   const struct fcl_tune_options *options,
                                   struct fcl_tune_result *result)
{
    char reason[256];
    if (!device || !problem || !result)
        return device ? fcl_device_fail(device, FCL_INVALID_ARGUMENT, "%s is NULL",
                                        problem ? "result" : "problem")
                      : FCL_INVALID_ARGUMENT;
    *result = (struct fcl_tune_result){0};
    struct tuning t = {.device = device, .result = result, .started_ms = fcl_now_ms()};
    if (options && !fcl_struct_read(&t.options, sizeof t.options, options))
        return fcl_device_fail(device, FCL_INVALID_ARGUMENT,
                               "options.struct_size is %zu, allowed are 8 to %zu",
                               options->struct_size, sizeof t.options);
    enum fcl_status status = fcl_problem_complete(problem, &t.problem, reason, sizeof reason);
    if (status)
        return fcl_device_fail(device, status, "%s", reason);
    if (t.problem.batch == 0 || t.problem.q_len == 0)
        return fcl_device_fail(
            device, FCL_INVALID_ARGUMENT,
            "problem.batch and q_len are %lld and %lld: tuning needs work to time",
            (long long)t.problem.batch, (long long)t.problem.q_len);
    status = tune(&t);
    for (size_t i = 0; i < t.count; i++)
        fcl_plan_destroy(&t.candidates[i].plan);
    free(t.candidates);
    free(t.accepted_o);
    free(t.accepted_lse);
    fcl_bench_finish(&t.bench);
    return status;
}
