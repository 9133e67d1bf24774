// Configurations on trial: built, verified on real inputs, timed. What fcl_attention_tune does with
// each point of its space, in its own process or, by way of the public functions, in another one.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "core/timing.h"
#include "problem.h"
#include "reference.h"
#include "trials.h"

#define KEPT 6         // plans of the best, ready for finals
#define FINAL_ROUNDS 5 // each finalist once a round, in turn
#define VERIFY_ROWS 48 // of the first candidate, against double precision
#define REPEAT_ROWS 8  // of the others, all of whose rows are compared with the first one's
#define HOPELESS 2.5   // a probe this many times slower than the best is not timed further
#define TRIAL_SEED 20220527

struct kept {
    struct fcl_config config;
    struct fcl_plan *plan;
    double median_ms;
};

struct fcl_trials {
    fcl_device *device;
    struct fcl_problem problem;
    enum fcl_implementation implementation;
    struct fcl_bench bench;
    struct kept kept[KEPT];    // plan NULL: free
    unsigned char *accepted_o; // outputs of the first candidate that passed
    float *accepted_lse;
};

enum fcl_status fcl_trials_create(fcl_device *device, const struct fcl_problem *problem,
                                  enum fcl_implementation implementation, fcl_trials **trials)
{
    char reason[256];
    if (!device || !problem || !trials)
        return device ? fcl_device_fail(device, FCL_INVALID_ARGUMENT, "%s is NULL",
                                        problem ? "trials" : "problem")
                      : FCL_INVALID_ARGUMENT;
    *trials = NULL;
    fcl_trials *t = calloc(1, sizeof *t);
    if (!t)
        return FCL_OUT_OF_MEMORY;
    t->device = device;
    t->implementation = implementation;
    enum fcl_status status = fcl_problem_complete(problem, &t->problem, reason, sizeof reason);
    if (status)
        fcl_device_fail(device, status, "%s", reason);
    else if (t->problem.batch == 0 || t->problem.q_len == 0)
        status =
            fcl_device_fail(device, FCL_INVALID_ARGUMENT,
                            "problem.batch and q_len are %lld and %lld: tuning needs work to time",
                            (long long)t->problem.batch, (long long)t->problem.q_len);
    if (!status)
        status = fcl_bench_init(&t->bench, device, &t->problem, FCL_FILL_UNBALANCED, TRIAL_SEED);
    *trials = t;
    if (status)
        fcl_trials_destroy(trials);
    return status;
}

void fcl_trials_destroy(fcl_trials **trials)
{
    fcl_trials *t = trials ? *trials : NULL;
    if (!t)
        return;
    for (int i = 0; i < KEPT; i++)
        fcl_plan_destroy(&t->kept[i].plan);
    free(t->accepted_o);
    free(t->accepted_lse);
    fcl_bench_finish(&t->bench);
    free(t);
    *trials = NULL;
}

// ---- plans

// Keeps a plan that was timed, in place of the slowest.
static void keep(struct fcl_trials *t, const struct fcl_config *config, struct fcl_plan *plan,
                 double median_ms)
{
    struct kept *slowest = t->kept;
    for (int i = 0; i < KEPT && slowest->plan; i++)
        if (!t->kept[i].plan || t->kept[i].median_ms > slowest->median_ms)
            slowest = &t->kept[i];
    if (slowest->plan && slowest->median_ms <= median_ms) {
        fcl_plan_destroy(&plan);
        return;
    }
    fcl_plan_destroy(&slowest->plan);
    *slowest = (struct kept){*config, plan, median_ms};
}

static enum fcl_status build(struct fcl_trials *t, const struct fcl_config *config,
                             struct fcl_plan **plan)
{
    const struct fcl_choice choice = {*config, "tuning"};
    return fcl_plan_build(t->device, &t->problem, t->implementation, &choice, 1, plan);
}

void fcl_attention_build(fcl_device *device, const struct fcl_problem *problem,
                         enum fcl_implementation implementation, const struct fcl_config *config,
                         int keep, struct fcl_evaluation *evaluation)
{
    struct fcl_problem full;
    struct fcl_plan *plan = NULL;
    if (!evaluation)
        return;
    *evaluation = (struct fcl_evaluation){.status = FCL_INVALID_ARGUMENT};
    if (!device || !problem || !config) {
        snprintf(evaluation->reason, sizeof evaluation->reason, "%s is NULL",
                 !device    ? "device"
                 : !problem ? "problem"
                            : "config");
        return;
    }
    evaluation->status =
        fcl_problem_complete(problem, &full, evaluation->reason, sizeof evaluation->reason);
    if (evaluation->status)
        return;
    const struct fcl_choice choice = {*config, "tuning"};
    evaluation->status = fcl_plan_build(device, &full, implementation, &choice, 1, &plan);
    if (!evaluation->status && keep)
        evaluation->status = fcl_plan_store(plan);
    if (evaluation->status)
        snprintf(evaluation->reason, sizeof evaluation->reason, "%s",
                 fcl_status_text(evaluation->status));
    else
        evaluation->build_ms = plan->plan_ms;
    fcl_plan_destroy(&plan);
}

// The plan of a configuration, which then counts as taken out of the kept ones.
static enum fcl_status take(struct fcl_trials *t, const struct fcl_config *config,
                            struct fcl_plan **plan)
{
    for (int i = 0; i < KEPT; i++)
        if (t->kept[i].plan && !memcmp(&t->kept[i].config, config, sizeof *config)) {
            *plan = t->kept[i].plan;
            t->kept[i].plan = NULL;
            return FCL_OK;
        }
    return build(t, config, plan);
}

enum fcl_status fcl_trials_store(fcl_trials *t, const struct fcl_config *config)
{
    struct fcl_plan *plan = NULL;
    enum fcl_status status = take(t, config, &plan);
    if (!status)
        status = fcl_plan_store(plan);
    fcl_plan_destroy(&plan);
    return status;
}

// ---- verification

// Runs a candidate once and judges its outputs; takes them as the standard if they are the first.
static enum fcl_status verify(struct fcl_trials *t, const struct fcl_plan *plan,
                              struct fcl_comparison *comparison, const char **reason)
{
    const struct fcl_problem *p = &t->problem;
    const int64_t rows = t->accepted_o || t->accepted_lse ? REPEAT_ROWS : VERIFY_ROWS;
    unsigned char *o = NULL;
    float *lse = NULL;
    *comparison = (struct fcl_comparison){0};
    enum fcl_status status = fcl_bench_run(&t->bench, plan, &o, &lse);
    if (!status)
        status = fcl_bench_compare(&t->bench, plan, TRIAL_SEED, rows, o, lse, comparison);
    *reason = status == FCL_WRONG_RESULT ? "differs from the reference" : fcl_status_text(status);
    const size_t o_count = t->bench.o_bytes / fcl_dtype_size(p->dtype_o);
    const size_t lse_count = t->bench.lse_bytes / sizeof(float);
    if (!status && t->accepted_o &&
        !fcl_rows_agree(t->accepted_o, o, p->dtype_o, o_count, (size_t)p->head_dim_v))
        status = FCL_WRONG_RESULT;
    if (!status && t->accepted_lse &&
        !fcl_rows_agree(t->accepted_lse, lse, FCL_F32, lse_count, lse_count))
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

// Launches that take arguments in turn.
struct turns {
    const struct fcl_plan *plan;
    const struct fcl_attention_args *const *args;
    int count, next;
};

static enum fcl_status launch_in_turn(void *user, cl_command_queue queue, cl_event *first,
                                      cl_event *last)
{
    struct turns *turns = user;
    const struct fcl_attention_args *args = turns->args[turns->next];
    turns->next = (turns->next + 1) % turns->count;
    return fcl_plan_launch(turns->plan, queue, args, 0, NULL, first, last);
}

static enum fcl_status read_options(fcl_device *device, const struct fcl_timing_options *given,
                                    struct fcl_timing_options *options)
{
    *options = (struct fcl_timing_options){0};
    if (given && !fcl_struct_read(options, sizeof *options, given))
        return fcl_device_fail(device, FCL_INVALID_ARGUMENT,
                               "options.struct_size is %zu, allowed are 8 to %zu",
                               given->struct_size, sizeof *options);
    if (options->samples < 0)
        return fcl_device_fail(device, FCL_INVALID_ARGUMENT,
                               "options.samples is %d, allowed are 0 (9) and more",
                               options->samples);
    if (!(options->batch_ms >= 0 && isfinite(options->batch_ms)))
        return fcl_device_fail(device, FCL_INVALID_ARGUMENT,
                               "options.batch_ms is %g, allowed are 0 and more", options->batch_ms);
    if (options->clock != FCL_CLOCK_EVENT && options->clock != FCL_CLOCK_WALL)
        return fcl_device_fail(device, FCL_INVALID_ARGUMENT,
                               "options.clock is %d, allowed are 0 (event) and 1 (wall)",
                               (int)options->clock);
    return FCL_OK;
}

enum fcl_status fcl_attention_time(const fcl_plan *plan,
                                   const struct fcl_attention_args *const *args, int count,
                                   const struct fcl_timing_options *options,
                                   struct fcl_timing *timing)
{
    struct fcl_timing_options today;
    struct turns turns = {plan, args, count, 0};
    if (!plan)
        return FCL_INVALID_ARGUMENT;
    if (!args || !timing)
        return fcl_device_fail(plan->device, FCL_INVALID_ARGUMENT, "%s is NULL",
                               args ? "timing" : "args");
    if (count < 1)
        return fcl_device_fail(plan->device, FCL_INVALID_ARGUMENT,
                               "count is %d, allowed are 1 and more", count);
    const enum fcl_status status = read_options(plan->device, options, &today);
    return status ? status
                  : fcl_timing_measure(plan->device, launch_in_turn, &turns, &today, timing);
}

// A probe, and a full measurement unless the probe is hopeless.
static enum fcl_status measure(struct fcl_trials *t, const struct fcl_plan *plan, double best_ms,
                               struct fcl_timing *timing)
{
    const struct fcl_attention_args *const args = &t->bench.args;
    struct turns turns = {plan, &args, 1, 0};
    double probe;
    const enum fcl_status status = fcl_timing_probe(t->device, launch_in_turn, &turns, &probe);
    if (status || probe <= HOPELESS * best_ms)
        return status ? status
                      : fcl_timing_measure(t->device, launch_in_turn, &turns,
                                           fcl_timing_options(.samples = 5), timing);
    *timing = (struct fcl_timing){.median_ms = probe,
                                  .min_ms = probe,
                                  .clock = FCL_CLOCK_WALL,
                                  .samples = 1,
                                  .batch = 1,
                                  .times_ms = {probe},
                                  .kept = 1};
    return FCL_OK;
}

void fcl_trials_evaluate(fcl_trials *t, const struct fcl_config *config, double best_ms,
                         struct fcl_evaluation *evaluation)
{
    struct fcl_comparison comparison = {0};
    struct fcl_plan *plan = NULL;
    const char *reason = "";
    *evaluation = (struct fcl_evaluation){.status = build(t, config, &plan)};
    if (!evaluation->status) {
        evaluation->build_ms = plan->plan_ms;
        evaluation->status = verify(t, plan, &comparison, &reason);
        evaluation->ratio = comparison.ratio;
    }
    if (!evaluation->status)
        evaluation->status = measure(t, plan, best_ms, &evaluation->timing);
    if (!evaluation->status) {
        keep(t, config, plan, evaluation->timing.median_ms);
        return;
    }
    snprintf(evaluation->reason, sizeof evaluation->reason, "%s",
             *reason ? reason : fcl_status_text(evaluation->status));
    fcl_plan_destroy(&plan);
}

static enum fcl_status compare_plans(struct fcl_trials *t, struct fcl_plan *const *plans,
                                     size_t count, struct fcl_timing *timings)
{
    double medians[FCL_TRIALS_COMPARED][FINAL_ROUNDS];
    const struct fcl_attention_args *const args = &t->bench.args;
    for (int round = 0; round < FINAL_ROUNDS; round++)
        for (size_t i = 0; i < count; i++) {
            struct turns turns = {plans[i], &args, 1, 0};
            const enum fcl_status status = fcl_timing_measure(
                t->device, launch_in_turn, &turns, fcl_timing_options(.samples = 3), &timings[i]);
            if (status)
                return status;
            medians[i][round] = timings[i].median_ms;
        }
    for (size_t i = 0; i < count; i++)
        fcl_timing_summarise(medians[i], FINAL_ROUNDS, &timings[i]);
    return FCL_OK;
}

enum fcl_status fcl_trials_compare(fcl_trials *t, const struct fcl_config *configs, size_t count,
                                   struct fcl_timing *timings)
{
    struct fcl_plan *plans[FCL_TRIALS_COMPARED] = {0};
    enum fcl_status status = FCL_OK;
    if (count > FCL_TRIALS_COMPARED)
        return fcl_device_fail(t->device, FCL_INVALID_ARGUMENT,
                               "count is %zu, allowed are up to %d", count, FCL_TRIALS_COMPARED);
    for (size_t i = 0; i < count && !status; i++) {
        status = take(t, &configs[i], &plans[i]);
        if (!status)
            status = fcl_bench_prepare(&t->bench, plans[i]);
    }
    if (!status)
        status = compare_plans(t, plans, count, timings);
    for (size_t i = 0; i < count; i++) {
        if (plans[i])
            keep(t, &configs[i], plans[i], status ? INFINITY : timings[i].median_ms);
    }
    return status;
}
