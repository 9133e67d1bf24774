// Threads that stay: one call hands out numbered tasks and returns when all are done.
#ifndef FLASHCL_PEERS_POOL_H
#define FLASHCL_PEERS_POOL_H

#include <stdint.h>

struct pool;

// Runs task `index` as thread number `thread` (0 to threads - 1, for memory of its own).
typedef void (*pool_task)(void *user, int thread, int64_t index);

// `threads` counts the caller, who works too. NULL where threads or memory are out.
struct pool *pool_create(int threads);

// Tasks are taken in rising order. One caller at a time.
void pool_run(struct pool *pool, int64_t tasks, pool_task task, void *user);

// Ends the threads; NULL is fine.
void pool_destroy(struct pool *pool);

#endif
