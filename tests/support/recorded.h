// Recorded spaces: settings and their times in milliseconds, for replaying searches.
#ifndef FCL_TESTS_RECORDED_H
#define FCL_TESTS_RECORDED_H

#include <flashcl/search.h>

struct test_recorded {
    fcl_space *space;
    double *values; // by index of the point; INFINITY: failed
    double best;
    uint64_t first; // the point recorded first, which is the default
};

// Reads a file of lines such as `m64n64 0.162`, in the folder of the tests' data.
void test_recorded_load(struct test_recorded *recorded, const char *name);
void test_recorded_free(struct test_recorded *recorded);

// Replays a search of `evaluations` on it, `outstanding` asks at a time; trace[i] becomes the best
// value after i + 1 results divided into the best there is (0: none yet). `seeded`: with the first
// point as a seed point.
void test_replay(const struct test_recorded *recorded, const char *strategy, uint64_t seed,
                 int seeded, size_t outstanding, double *trace, size_t evaluations);

#endif
