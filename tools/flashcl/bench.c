// `flashcl bench`: verified, then timed.
#include "copies.h"
#include "memory.h"
#include "message.h"
#include "problems.h"
#include "rivals.h"
#include "status.h"
#include "sweep.h"
#include "traffic.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_ROWS 48
#define CHECK_HEADS 2 // of the keys
#define ROUND_LIMIT 1000
#define SAMPLES 9
#define SAMPLE_LIMIT 10000
#define BATCH_MS_LIMIT 60000

static int run_bench(int argc, const char **argv);

const struct verb verb_bench = {
    .name = "bench",
    .arguments = "[PROBLEM...]",
    .summary = "verified times, of the fused kernel and of the unfused baseline",
    .details =
        "Times each problem with each implementation, after some rows were compared with the\n"
        "reference. Without problems: a few small ones.\n\n"
        "gflops counts 2 operations for each multiply-add on visible pairs. bytes is a formula,\n"
        "not a measurement: each tensor once, and for the unfused form also its scores and\n"
        "probabilities, written and read. byte_ratio is unfused over fused: 1 + N/d for N\n"
        "queries and keys. spread is the quartile distance over the median. clock says where\n"
        "times are from. event: stamps of each launch's start and end, without gaps between\n"
        "launches. wall: the host's clock around whole samples, with gaps; where stamps are\n"
        "unusable, or by --clock wall, which also does without profiling. A problem that does not\n"
        "fit into memory is a row with status oom. With --rounds, all are timed in turn, several\n"
        "times: the median of the medians counts, and the least of all times. launches (in CSV\n"
        "and JSON) is how many made a sample, the fewest of all rounds.\n\n"
        "Launches read the same tensors again and again, so that what fits into caches stays\n"
        "there. With --copies N they take N copies of keys and values in turn, the warm-up, too.\n"
        "For few queries, choose N so that all copies together are many times the last cache.\n\n"
        "intensity is operations a byte. roof says what binds by the roofline model: compute (the\n"
        "peak's gflops) or memory (its read_gbs; bytes as above). fraction_of_peak is the part of\n"
        "that roof that the median reaches: gflops over the peak's, or bytes a second over\n"
        "read_gbs; what fits into caches can exceed 1. The peak is what `flashcl peak` shows,\n"
        "kept from an earlier run or measured now.\n\n"
        "--compare FILE: rows of rivals, in JSON as --json writes them (tools/peers has some).\n"
        "Behind ours stand theirs for the same problems, each once for every implementation of\n"
        "ours (versus); ratio_best and ratio_median are their time over ours: above 1, FlashCL is\n"
        "the faster one.\n\n"
        "Sequences of varlen, used and page have mixed lengths: in turn 8, 3, 6, 1, 4, 7, 2 and 5\n"
        "eighths of q and k, with pages in random order. Figures count what they come to.\n\n"
        "A sweep puts a range of numbers into each problem: q=512:16384:x2 or q=512:4096:+512,\n"
        "for q, k, b, h or d. Keys follow the queries unless the problem names k.\n\n"
        "  flashcl bench --impl fused,unfused --sweep q=512:8192:x2 'fwd h8 q1 d64 f16'\n"
        "  flashcl bench --batch-ms 100 --compare rivals.json 'fwd h8 q1024 d64'",
    .run = run_bench,
};

// The last ones only with --compare.
static const struct report_column columns[] = {{"problem", REPORT_WORD, 0, 0},
                                               {"device", REPORT_WORD, 0, 1},
                                               {"driver", REPORT_WORD, 0, 1},
                                               {"impl", REPORT_WORD, 0, 0},
                                               {"config", REPORT_WORD, 0, 0},
                                               {"status", REPORT_WORD, 0, 0},
                                               {"median_ms", REPORT_FIXED, 4, 0},
                                               {"min_ms", REPORT_FIXED, 4, 0},
                                               {"spread", REPORT_FIXED, 3, 0},
                                               {"gflops", REPORT_FIXED, 2, 0},
                                               {"bytes", REPORT_INTEGER, 0, 0},
                                               {"byte_ratio", REPORT_FIXED, 3, 0},
                                               {"error", REPORT_SIGNIFICANT, 3, 0},
                                               {"clock", REPORT_WORD, 0, 0},
                                               {"build_ms", REPORT_FIXED, 1, 0},
                                               {"plan_ms", REPORT_FIXED, 1, 0},
                                               {"fraction_of_peak", REPORT_FIXED, 3, 0},
                                               {"roof", REPORT_WORD, 0, 0},
                                               {"intensity", REPORT_FIXED, 1, 0},
                                               {"copies", REPORT_INTEGER, 0, 1},
                                               {"launches", REPORT_INTEGER, 0, 1},
                                               {"versus", REPORT_WORD, 0, 0},
                                               {"ratio_best", REPORT_FIXED, 2, 0},
                                               {"ratio_median", REPORT_FIXED, 2, 0}};

#define COLUMN_COUNT (sizeof(columns) / sizeof(columns[0]))
#define COMPARE_COLUMNS 3

static const char *const default_problems[] = {
    "fwd h8 q512 d64 f32",
    "fwd h8 q512 d64 f32 causal-tl",
    "fwd h8 q512 d128 f16",
    "fwd h8/2 q1 k2048 d64 f16",
};

static const char *const default_swept[] = {"fwd h8 q1024 d64 f32"};

// One problem with one implementation.
struct bench_case {
    const struct problem_entry *entry;
    enum fcl_implementation implementation;
    fcl_plan *plan;
    struct fcl_plan_info info;
    enum fcl_status status;
    double error;
    struct fcl_timing *rounds; // one each
    int round_count;
};

struct bench {
    // From the command line.
    char *impl_text, *sweep_text, *compare_path, *clock_text;
    long long rounds, samples, copies;
    double batch_ms;
    enum fcl_clock clock;
    struct sweep sweep;
    struct problem_list problems;
    size_t points; // problems of one sweep, one after the other; 1 without a sweep
    struct implementation_list implementations;
    struct fcl_config config;
    const struct fcl_config *chosen;
    struct rivals *rivals; // NULL: none
    // Under way.
    const struct options *options;
    struct session session;
    struct fcl_peak peak;     // zeros: not known
    struct bench_case *cases; // by problem, then implementation
    size_t case_count;
    struct report report;
    int code;
};

// ---- Options ----------------------------------------------------------------------------------

static int add_swept(struct bench *bench, const char *text)
{
    int64_t value = bench->sweep.from;
    int code;
    bench->points = 0;
    do {
        char *swept = sweep_apply(&bench->sweep, value, text);
        code = problems_add(&bench->problems, &verb_bench, swept);
        free(swept);
        bench->points++;
    } while (code == EXIT_OK && sweep_next(&bench->sweep, &value));
    return code;
}

static int read_problems(struct bench *bench)
{
    const struct options *options = bench->options;
    char reason[256];
    bench->points = 1;
    if (bench->sweep_text == NULL) {
        return problems_read(&bench->problems, &verb_bench, options, 0, default_problems,
                             sizeof(default_problems) / sizeof(default_problems[0]));
    }
    if (!sweep_parse(bench->sweep_text, &bench->sweep, reason, sizeof(reason))) {
        return options_usage(&verb_bench, "--sweep %s: %s", bench->sweep_text, reason);
    }
    size_t count = options->argument_count > 0 ? options->argument_count : 1;
    int code = EXIT_OK;
    for (size_t i = 0; i < count && code == EXIT_OK; i++) {
        code = add_swept(bench,
                         options->argument_count > 0 ? options->arguments[i] : default_swept[0]);
    }
    return code;
}

static int read_rivals(struct bench *bench)
{
    char reason[1024] = "";
    if (bench->compare_path == NULL) {
        return EXIT_OK;
    }
    bench->rivals = rivals_read(bench->compare_path, reason, sizeof(reason));
    return bench->rivals != NULL
               ? EXIT_OK
               : options_usage(&verb_bench, "--compare %s: %s", bench->compare_path, reason);
}

static int read_values(struct bench *bench)
{
    if (bench->rounds < 1 || bench->rounds > ROUND_LIMIT) {
        return options_usage(&verb_bench, "--rounds %lld: 1 to %d are allowed", bench->rounds,
                             ROUND_LIMIT);
    }
    if (bench->samples < 1 || bench->samples > SAMPLE_LIMIT) {
        return options_usage(&verb_bench, "--samples %lld: 1 to %d are allowed", bench->samples,
                             SAMPLE_LIMIT);
    }
    if (bench->copies < 1 || bench->copies > COPIES_LIMIT) {
        return options_usage(&verb_bench, "--copies %lld: 1 to %d are allowed", bench->copies,
                             COPIES_LIMIT);
    }
    if (!(bench->batch_ms >= 0 && bench->batch_ms <= BATCH_MS_LIMIT)) {
        return options_usage(&verb_bench, "--batch-ms %g: 0 to %d are allowed", bench->batch_ms,
                             BATCH_MS_LIMIT);
    }
    const char *clock = bench->clock_text != NULL ? bench->clock_text : "event";
    bench->clock = strcmp(clock, "wall") == 0 ? FCL_CLOCK_WALL : FCL_CLOCK_EVENT;
    if (strcmp(clock, fcl_clock_text(bench->clock)) != 0) {
        return options_usage(&verb_bench, "--clock %s: event and wall are allowed", clock);
    }
    return EXIT_OK;
}

static int read_own(struct bench *bench)
{
    int code = read_values(bench);
    if (code == EXIT_OK) {
        code = read_rivals(bench);
    }
    if (code == EXIT_OK) {
        code = implementations_read(&bench->implementations, &verb_bench, bench->impl_text);
    }
    if (code == EXIT_OK) {
        code = config_read(bench->options, &verb_bench, &bench->config, &bench->chosen);
    }
    return code == EXIT_OK ? read_problems(bench) : code;
}

// ---- Timing -----------------------------------------------------------------------------------

// As much of a problem as shows whether a kernel is right at its lengths: making and comparing more
// would take longer than timing.
static struct fcl_problem part_of(const struct fcl_problem *problem)
{
    struct fcl_problem part = *problem;
    int64_t heads_kv = problem->heads_kv > 0 ? problem->heads_kv : problem->heads_q;
    if (heads_kv > CHECK_HEADS) {
        part.heads_q = CHECK_HEADS * (problem->heads_q / heads_kv);
        part.heads_kv = CHECK_HEADS;
    }
    part.batch = problem->batch > 1 ? 1 : problem->batch;
    return part;
}

// Makes the plan and compares a few rows: a time counts only for a right result.
static enum fcl_status prepare_case(struct bench *bench, struct bench_case *one)
{
    const struct fcl_problem *problem = &one->entry->problem;
    struct fcl_comparison comparison = {.rows = 0};
    enum fcl_status status = fcl_plan_create(
        bench->session.device, problem,
        fcl_plan_options(.implementation = one->implementation, .config = bench->chosen),
        &one->plan);
    if (status != FCL_OK) {
        return status;
    }
    fcl_plan_describe(one->plan, &one->info);
    const struct fcl_problem part = part_of(problem);
    status = fcl_attention_check(one->plan, &part, FCL_FILL_UNBALANCED, 1, CHECK_ROWS, &comparison);
    one->error = problem->pass == FCL_PASS_STATISTICS ? comparison.lse_error : comparison.error;
    return status;
}

static enum fcl_status time_case(struct bench *bench, struct bench_case *one)
{
    const struct fcl_problem *problem = &one->entry->problem;
    struct session *session = &bench->session;
    struct fcl_sequences sequences;
    struct copies copies;
    enum fcl_status status = fcl_sequences_create(problem, 1, &sequences);
    if (status != FCL_OK) {
        return status;
    }
    status = copies_create(session, one->plan, problem, &sequences, (int)bench->copies, &copies);
    if (status == FCL_OK) {
        status = fcl_attention_time(one->plan, copies.turns, copies.count,
                                    fcl_timing_options(.samples = (int)bench->samples,
                                                       .batch_ms = bench->batch_ms,
                                                       .clock = bench->clock),
                                    &one->rounds[one->round_count]);
        one->round_count += status == FCL_OK;
    }
    copies_free(&copies);
    fcl_sequences_free(&sequences);
    return status;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(*values), compare_doubles);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

// All rounds as one: the median of medians and of spreads, the least time and the fewest launches.
static struct fcl_timing summarise(const struct bench_case *one)
{
    struct fcl_timing summary = one->rounds[0];
    double *medians = memory_get((size_t)one->round_count, sizeof(*medians));
    double *spreads = memory_get((size_t)one->round_count, sizeof(*spreads));
    for (int i = 0; i < one->round_count; i++) {
        const struct fcl_timing *round = &one->rounds[i];
        medians[i] = round->median_ms;
        spreads[i] = round->spread;
        summary.min_ms = round->min_ms < summary.min_ms ? round->min_ms : summary.min_ms;
        summary.batch = round->batch < summary.batch ? round->batch : summary.batch;
        summary.clock = round->clock == FCL_CLOCK_WALL ? FCL_CLOCK_WALL : summary.clock;
    }
    summary.median_ms = median(medians, one->round_count);
    summary.spread = median(spreads, one->round_count);
    free(medians);
    free(spreads);
    return summary;
}

// ---- Output -----------------------------------------------------------------------------------

static void set_timing(struct report *report, const struct bench_case *one)
{
    const struct fcl_timing timing = summarise(one);
    report_set_real(report, "median_ms", timing.median_ms);
    report_set_real(report, "min_ms", timing.min_ms);
    report_set_real(report, "spread", timing.spread);
    report_set_text(report, "clock", fcl_clock_text(timing.clock));
    report_set_integer(report, "launches", timing.batch);
    if (timing.median_ms > 0) {
        report_set_real(report, "gflops",
                        traffic_operations(&one->entry->problem) / timing.median_ms * 1e-6);
    }
}

static void set_roof(struct bench *bench, const struct bench_case *one)
{
    struct report *report = &bench->report;
    struct traffic_roof roof;
    if (!traffic_roof(&one->entry->problem, one->implementation, &bench->peak, &roof)) {
        return;
    }
    report_set_text(report, "roof", roof.name);
    report_set_real(report, "intensity", roof.intensity);
    double median_ms = one->status == FCL_OK ? summarise(one).median_ms : 0;
    if (median_ms > 0) {
        report_set_real(report, "fraction_of_peak", roof.ms / median_ms);
    }
}

static void add_row(struct bench *bench, const struct bench_case *one)
{
    struct report *report = &bench->report;
    const struct fcl_problem *problem = &one->entry->problem;
    double fused = traffic_bytes(problem, FCL_FUSED);
    double bytes = traffic_bytes(problem, one->implementation);
    report_row(report);
    report_set_text(report, "problem", one->entry->text);
    report_set_text(report, "device", bench->session.entry->name);
    report_set_text(report, "driver", bench->session.caps->driver);
    report_set_text(report, "impl", implementation_text(one->implementation));
    report_set_text(report, "config", one->info.config);
    report_set_text(report, "status", status_word(one->status));
    report_set_integer(report, "copies", bench->copies);
    if (one->status == FCL_OK) {
        set_timing(report, one);
    }
    if (bytes < 9e18) {
        report_set_integer(report, "bytes", (int64_t)bytes);
    }
    if (fused > 0) {
        report_set_real(report, "byte_ratio", traffic_bytes(problem, FCL_UNFUSED) / fused);
    }
    if (one->status == FCL_OK || one->status == FCL_WRONG_RESULT) {
        report_set_real(report, "error", one->error);
    }
    if (one->plan != NULL) {
        report_set_real(report, "build_ms", one->info.build_ms);
        report_set_real(report, "plan_ms", one->info.plan_ms);
    }
    set_roof(bench, one);
    report_row_end(report);
    // That the baseline needs too much memory is a result.
    if (one->status != FCL_OUT_OF_MEMORY || one->implementation == FCL_FUSED) {
        bench->code = status_graver(bench->code, status_exit(one->status));
    }
}

// Whether fused is faster at a point where fused was timed; an unfused that cannot run is slower.
// -1: not known.
static int fused_wins(const struct bench_case *pair)
{
    const struct bench_case *fused = pair, *unfused = pair + 1;
    if (fused->implementation != FCL_FUSED) {
        fused = pair + 1;
        unfused = pair;
    }
    if (fused->status != FCL_OK ||
        (unfused->status != FCL_OK && unfused->status != FCL_OUT_OF_MEMORY)) {
        return -1;
    }
    return unfused->status != FCL_OK || summarise(fused).median_ms < summarise(unfused).median_ms;
}

// Says from which point of one sweep on fused is the faster one at all later points.
static void print_crossover(const struct bench *bench, size_t first_problem)
{
    int64_t value = bench->sweep.from, overtakes = 0;
    int known = 0, always = 1;
    for (size_t i = 0; i < bench->points; i++) {
        int wins = fused_wins(&bench->cases[(first_problem + i) * bench->implementations.count]);
        if (wins == 0) {
            overtakes = 0;
            always = 0;
        } else if (wins == 1 && overtakes == 0) {
            overtakes = value;
        }
        known |= wins >= 0;
        sweep_next(&bench->sweep, &value);
    }
    char field = bench->sweep.field;
    printf("sweep from '%s': ", bench->problems.entries[first_problem].text);
    if (!known) {
        printf("no point where both can be compared\n");
    } else if (overtakes == 0) {
        printf("fused does not overtake unfused up to %c=%" PRId64 "\n", field, value);
    } else if (always) {
        printf("fused is faster than unfused at every %c measured\n", field);
    } else {
        printf("fused overtakes unfused at %c=%" PRId64 "\n", field, overtakes);
    }
}

static void print_crossovers(const struct bench *bench)
{
    if (bench->sweep_text == NULL || bench->implementations.count < IMPLEMENTATION_COUNT ||
        bench->options->format != REPORT_TEXT) {
        return;
    }
    for (size_t i = 0; i < bench->problems.count; i += bench->points) {
        print_crossover(bench, i);
    }
}

static void add_rivals(struct bench *bench)
{
    size_t count = 0;
    for (size_t i = 0; i < bench->case_count && bench->rivals != NULL; i++) {
        const struct bench_case *one = &bench->cases[i];
        struct fcl_timing timing;
        if (one->status == FCL_OK) {
            timing = summarise(one);
        }
        count +=
            rivals_add(bench->rivals, one->entry->text, implementation_text(one->implementation),
                       one->status == FCL_OK ? &timing : NULL, &bench->report);
    }
    if (bench->rivals != NULL && count == 0) {
        message_warning("--compare %s: it has no row for any of the problems", bench->compare_path);
    }
}

// ---- The verb ---------------------------------------------------------------------------------

static void find_peak(struct bench *bench)
{
    message_progress("bench: the device's peak");
    session_forget(&bench->session);
    enum fcl_status status = fcl_device_peak(bench->session.device, 0, &bench->peak);
    if (status != FCL_OK) {
        message_note("the device's peak is not known: %s",
                     session_sentence(&bench->session, status));
    }
    message_progress_end();
}

static void run_case(struct bench *bench, struct bench_case *one, long long round)
{
    const char *impl = implementation_text(one->implementation);
    message_progress("bench %zu/%zu, round %lld/%lld: %s (%s)", (size_t)(one - bench->cases) + 1,
                     bench->case_count, round + 1, bench->rounds, one->entry->text, impl);
    session_forget(&bench->session);
    one->status = round == 0 ? prepare_case(bench, one) : FCL_OK;
    if (one->status == FCL_OK) {
        one->status = time_case(bench, one);
    }
    if (one->status != FCL_OK) {
        message_note("%s (%s): %s", one->entry->text, impl,
                     session_sentence(&bench->session, one->status));
    }
}

static void run_round(struct bench *bench, long long round)
{
    for (size_t i = 0; i < bench->case_count; i++) {
        if (bench->cases[i].status == FCL_OK) {
            run_case(bench, &bench->cases[i], round);
        }
        if (round + 1 == bench->rounds) {
            add_row(bench, &bench->cases[i]);
        }
    }
}

static void make_cases(struct bench *bench)
{
    size_t per_problem = bench->implementations.count;
    bench->case_count = bench->problems.count * per_problem;
    bench->cases = memory_get(bench->case_count, sizeof(*bench->cases));
    for (size_t i = 0; i < bench->case_count; i++) {
        bench->cases[i] = (struct bench_case){
            .entry = &bench->problems.entries[i / per_problem],
            .implementation = bench->implementations.entries[i % per_problem],
            .rounds = memory_get((size_t)bench->rounds, sizeof(struct fcl_timing)),
        };
    }
}

static void free_cases(struct bench *bench)
{
    for (size_t i = 0; i < bench->case_count; i++) {
        fcl_plan_destroy(&bench->cases[i].plan);
        free(bench->cases[i].rounds);
    }
    free(bench->cases);
}

static int bench_all(struct bench *bench)
{
    int code = session_open(&bench->session, bench->options);
    if (code != EXIT_OK) {
        return code;
    }
    session_print_device(&bench->session, bench->options);
    if (bench->options->format == REPORT_TEXT) {
        printf("driver: %s\n", bench->session.caps->driver);
        if (bench->copies > 1) {
            printf("copies: %lld of keys and values, in turn\n", bench->copies);
        }
    }
    find_peak(bench);
    make_cases(bench);
    report_init(&bench->report, stdout, bench->options->format, REPORT_TABLE, columns,
                bench->rivals != NULL ? COLUMN_COUNT : COLUMN_COUNT - COMPARE_COLUMNS);
    for (long long round = 0; round < bench->rounds; round++) {
        run_round(bench, round);
    }
    add_rivals(bench);
    message_progress_end();
    report_finish(&bench->report);
    print_crossovers(bench);
    return bench->code;
}

static int run_bench(int argc, const char **argv)
{
    struct options options = {.context = NULL};
    struct bench bench = {.options = &options, .rounds = 1, .samples = SAMPLES, .copies = 1};
    struct poptOption table[] = {
        {"impl", '\0', POPT_ARG_STRING, &bench.impl_text, 0,
         "fused: one kernel; unfused: three kernels over a score matrix (default: fused)",
         "fused,unfused"},
        {"rounds", '\0', POPT_ARG_LONGLONG, &bench.rounds, 0,
         "times that everything is measured, in turn (default: 1)", "N"},
        {"samples", '\0', POPT_ARG_LONGLONG, &bench.samples, 0,
         "samples that are taken of each in a round (default: 9)", "N"},
        {"batch-ms", '\0', POPT_ARG_DOUBLE, &bench.batch_ms, 0,
         "a sample is launches back to back for at least this time (default: as long as the clock "
         "needs, 1 ms or more)",
         "MS"},
        {"clock", '\0', POPT_ARG_STRING, &bench.clock_text, 0,
         "event: each launch; wall: whole samples, with gaps between launches (default: event)",
         "event|wall"},
        {"copies", '\0', POPT_ARG_LONGLONG, &bench.copies, 0,
         "copies of keys and values that launches take in turn, for what caches would hold "
         "(default: 1)",
         "N"},
        {"compare", '\0', POPT_ARG_STRING, &bench.compare_path, 0,
         "also print the rows of rivals in this file, and the ratios to ours", "FILE"},
        {"sweep", '\0', POPT_ARG_STRING, &bench.sweep_text, 0,
         "put each number of a range into each problem, such as q=512:16384:x2", "RANGE"},
        OPTION_CONFIG(&options),
        POPT_TABLEEND,
    };
    int code = options_parse(&options, &verb_bench, table, argc, argv);
    if (code == OPTIONS_PROCEED) {
        code = read_own(&bench);
        code = code == EXIT_OK ? bench_all(&bench) : code;
    }
    free_cases(&bench);
    session_close(&bench.session);
    problems_free(&bench.problems);
    options_free(&options);
    free(bench.impl_text);
    free(bench.sweep_text);
    free(bench.compare_path);
    free(bench.clock_text);
    rivals_free(bench.rivals);
    return code;
}
