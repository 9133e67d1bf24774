// Runs a strategy with many seeds and prints what it reached.
#include "tune_replay.h"

#include "memory.h"
#include "message.h"
#include "replay.h"
#include "status.h"

#include <stdlib.h>

static const struct report_column columns[] = {{"file", REPORT_WORD, 0, 1},
                                               {"points", REPORT_INTEGER, 0, 1},
                                               {"failed", REPORT_INTEGER, 0, 1},
                                               {"optimum", REPORT_FIXED, 4, 1},
                                               {"default", REPORT_FIXED, 4, 1},
                                               {"strategy", REPORT_WORD, 0, 0},
                                               {"seeds", REPORT_INTEGER, 0, 0},
                                               {"evaluations", REPORT_INTEGER, 0, 0},
                                               {"fraction", REPORT_FIXED, 3, 0},
                                               {"first_quartile", REPORT_FIXED, 3, 0},
                                               {"third_quartile", REPORT_FIXED, 3, 0},
                                               {"random", REPORT_FIXED, 3, 0},
                                               {"random_first", REPORT_FIXED, 3, 0},
                                               {"random_third", REPORT_FIXED, 3, 0}};

// Numbers of evaluations after which a search is judged.
static const size_t marks[] = {10, 25, 50, 100, 200};

#define MARKS (sizeof(marks) / sizeof(marks[0]))

struct run {
    const char *path, *strategy;
    uint64_t seed;
    size_t seeds;
    struct replay replay;
    size_t counts[MARKS], count; // the marks up to the number of points
};

// The marks that the space has points for, then the whole of a smaller space.
static void set_counts(struct run *run)
{
    const size_t points = fcl_space_count(run->replay.space);
    while (run->count < MARKS && marks[run->count] < points) {
        run->counts[run->count] = marks[run->count];
        run->count++;
    }
    if (run->count < MARKS) {
        run->counts[run->count++] = points;
    }
}

// The fractions of all seeds: those of mark i from i * seeds on. NULL after the error was reported.
static double *run_seeds(const struct run *run, const char *strategy)
{
    double *fractions = memory_get(MARKS * run->seeds, sizeof(*fractions));
    for (size_t s = 0; s < run->seeds; s++) {
        double of_seed[MARKS];
        char reason[512] = "";
        if (!replay_run(&run->replay, strategy, run->seed + s, run->counts, run->count, of_seed,
                        reason, sizeof(reason))) {
            message_error("%s: %s", run->path, reason[0] != '\0' ? reason : "memory is out");
            free(fractions);
            return NULL;
        }
        for (size_t i = 0; i < run->count; i++) {
            fractions[i * run->seeds + s] = of_seed[i];
        }
    }
    return fractions;
}

static double standard_time(const struct replay *replay)
{
    const size_t index = replay->standard == FCL_NO_POINT
                             ? fcl_space_count(replay->space)
                             : fcl_space_index(replay->space, replay->standard);
    return index < fcl_space_count(replay->space) ? replay->times[index] : 0;
}

static void set_run(struct report *report, const struct run *run)
{
    const double standard = standard_time(&run->replay);
    report_set_text(report, "file", run->path);
    report_set_integer(report, "points", (int64_t)fcl_space_count(run->replay.space));
    report_set_integer(report, "failed", (int64_t)run->replay.failed);
    report_set_real(report, "optimum", run->replay.optimum);
    if (standard > 0) {
        report_set_real(report, "default", standard);
    }
    report_set_text(report, "strategy", run->strategy);
    report_set_integer(report, "seeds", (int64_t)run->seeds);
}

static void print_rows(const struct options *options, const struct run *run, double *own,
                       double *random)
{
    struct report report;
    report_init(&report, stdout, options->format, REPORT_TABLE, columns,
                sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < run->count; i++) {
        double *of_own = own + i * run->seeds, *of_random = random + i * run->seeds;
        report_row(&report);
        set_run(&report, run);
        report_set_integer(&report, "evaluations", (int64_t)run->counts[i]);
        report_set_real(&report, "fraction", replay_quartile(of_own, run->seeds, 2));
        report_set_real(&report, "first_quartile", replay_quartile(of_own, run->seeds, 1));
        report_set_real(&report, "third_quartile", replay_quartile(of_own, run->seeds, 3));
        report_set_real(&report, "random", replay_quartile(of_random, run->seeds, 2));
        report_set_real(&report, "random_first", replay_quartile(of_random, run->seeds, 1));
        report_set_real(&report, "random_third", replay_quartile(of_random, run->seeds, 3));
        report_row_end(&report);
    }
    report_finish(&report);
}

static void print_head(const struct options *options, const struct run *run)
{
    const double standard = standard_time(&run->replay);
    if (options->format != REPORT_TEXT) {
        return;
    }
    printf("file: %s\n%zu points, %zu failed; the optimum takes %.4g", run->path,
           fcl_space_count(run->replay.space), run->replay.failed, run->replay.optimum);
    if (standard > 0) {
        printf(", the default is %.3f of that speed", run->replay.optimum / standard);
    }
    printf("\nfraction: of the optimum's speed, median and quartiles over the seeds\n");
}

static int replay_all(const struct options *options, struct run *run)
{
    set_counts(run);
    if (run->strategy == NULL) {
        run->strategy = fcl_search_default(fcl_space_count(run->replay.space));
    }
    double *own = run_seeds(run, run->strategy);
    double *random = own != NULL ? run_seeds(run, "random") : NULL;
    if (random != NULL) {
        print_head(options, run);
        print_rows(options, run, own, random);
    }
    int code = random != NULL ? EXIT_OK : EXIT_INTERNAL;
    free(own);
    free(random);
    return code;
}

int tune_replay(const struct options *options, const char *path, const char *strategy,
                uint64_t seed, size_t seeds)
{
    struct run run = {.path = path, .strategy = strategy, .seed = seed, .seeds = seeds};
    struct results results;
    char reason[512] = "memory is out";
    if (!results_read(&results, path, reason, sizeof(reason))) {
        message_error("%s: %s", path, reason);
        return EXIT_USAGE;
    }
    int code = EXIT_USAGE;
    if (replay_create(&run.replay, &results, reason, sizeof(reason))) {
        code = replay_all(options, &run);
        replay_destroy(&run.replay);
    } else {
        message_error("%s: %s", path, reason);
    }
    results_free(&results);
    return code;
}
