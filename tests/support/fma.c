// Multiply-adds by the compiler's vector extension, as wide as the machine that builds this: the
// file is compiled for that machine.
#include "cmocka_all.h"

#include <math.h>
#include <pthread.h>
#include <time.h>

#include "core/common.h"
#include "fma.h"

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX__) || defined(__aarch64__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

#define CHAINS 12
#define MOST_THREADS 1024
#define QUIET 0.98

typedef float wide __attribute__((vector_size(VECTOR_BYTES)));

// Shared by the threads of a run.
struct run {
    pthread_barrier_t start;
    int rounds;          // even
    volatile float a, b; // -1 and 1: as in kernels/peak.cl
};

struct worker {
    struct run *run;
    pthread_t thread;
    double begin, end, processor; // ms
    float result;
};

static float multiply_add(int rounds, float a, float b)
{
    wide x[CHAINS], sum = {0};
    float result = 0;
    for (int n = 0; n < CHAINS; n++)
        x[n] = (wide){0} + (float)n / 16;
    for (int i = 0; i < rounds; i++)
        for (int n = 0; n < CHAINS; n++)
            x[n] = x[n] * a + b;
    for (int n = 0; n < CHAINS; n++)
        sum += x[n];
    for (unsigned lane = 0; lane < sizeof sum / sizeof(float); lane++)
        result += sum[lane];
    return result;
}

static double processor_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static void *work(void *user)
{
    struct worker *worker = user;
    pthread_barrier_wait(&worker->run->start);
    const double start = processor_ms();
    worker->begin = fcl_now_ms();
    worker->result = multiply_add(worker->run->rounds, worker->run->a, worker->run->b);
    worker->end = fcl_now_ms();
    worker->processor = processor_ms() - start;
    return NULL;
}

struct test_fma test_fma_run(int threads, int rounds)
{
    static struct worker workers[MOST_THREADS];
    struct run run = {.rounds = rounds, .a = -1, .b = 1};
    const unsigned lanes = VECTOR_BYTES / sizeof(float);
    assert_in_range(threads, 1, MOST_THREADS);
    assert_int_equal(pthread_barrier_init(&run.start, NULL, (unsigned)threads), 0);
    for (int i = 0; i < threads; i++) {
        workers[i] = (struct worker){.run = &run};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    double begin = HUGE_VAL, end = 0, processor = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_true(workers[i].result == (float)(CHAINS * (CHAINS - 1) / 2 * lanes) / 16);
        begin = fmin(begin, workers[i].begin);
        end = fmax(end, workers[i].end);
        processor += workers[i].processor;
    }
    pthread_barrier_destroy(&run.start);
    return (struct test_fma){.gflops =
                                 2.0 * CHAINS * lanes * rounds * threads / (end - begin) * 1e-6,
                             .quiet = processor > QUIET * (end - begin) * threads};
}
