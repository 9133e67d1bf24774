// The rate of multiply-adds that plain C reaches, to compare a device's peak with.
#ifndef FCL_TESTS_FMA_H
#define FCL_TESTS_FMA_H

struct test_fma {
    double gflops; // all threads by the host's clock
    int quiet;     // 1: other programs took next to nothing of that time
};

// Independent chains of vector multiply-adds on registers, over so many threads at once; a million
// rounds take a millisecond or two. Ends the test on a failure.
struct test_fma test_fma_run(int threads, int rounds);

#endif
