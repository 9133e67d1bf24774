// The rate of multiply-adds that plain C reaches, to compare a device's peak with.
#ifndef FCL_TESTS_FMA_H
#define FCL_TESTS_FMA_H

// GFLOP/s of independent chains of vector multiply-adds on registers, over so many threads: one run
// of about ten milliseconds. Ends the test on a failure.
double test_fma_gflops(int threads);

#endif
