// Threads that wait for work. Tasks are long, so that one lock for everything costs nothing.
#include "pool.h"

#include <pthread.h>
#include <stdlib.h>

struct member {
    struct pool *pool;
    pthread_t id;
    int number;
};

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    struct member *members; // all but the caller
    int member_count;
    // Under the lock.
    pool_task task;
    void *user;
    int64_t next, tasks;
    uint64_t generation; // counts calls, so that a member joins each only once
    int busy;            // members that have not finished this generation
    int stop;
};

static void work_off(struct pool *pool, int thread)
{
    while (pool->next < pool->tasks) {
        int64_t index = pool->next++;
        pthread_mutex_unlock(&pool->lock);
        pool->task(pool->user, thread, index);
        pthread_mutex_lock(&pool->lock);
    }
}

static void *serve(void *argument)
{
    struct member *member = argument;
    struct pool *pool = member->pool;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->generation == seen && !pool->stop) {
            pthread_cond_wait(&pool->work, &pool->lock);
        }
        if (pool->stop) {
            break;
        }
        seen = pool->generation;
        work_off(pool, member->number);
        if (--pool->busy == 0) {
            pthread_cond_signal(&pool->done);
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

struct pool *pool_create(int threads)
{
    struct pool *pool = calloc(1, sizeof(*pool));
    if (pool == NULL) {
        return NULL;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->members = calloc((size_t)threads, sizeof(*pool->members));
    while (pool->members != NULL && pool->member_count < threads - 1) {
        struct member *member = &pool->members[pool->member_count];
        *member = (struct member){.pool = pool, .number = pool->member_count + 1};
        if (pthread_create(&member->id, NULL, serve, member) != 0) {
            break;
        }
        pool->member_count++;
    }
    if (pool->member_count < threads - 1) {
        pool_destroy(pool);
        return NULL;
    }
    return pool;
}

void pool_run(struct pool *pool, int64_t tasks, pool_task task, void *user)
{
    pthread_mutex_lock(&pool->lock);
    pool->task = task;
    pool->user = user;
    pool->next = 0;
    pool->tasks = tasks;
    pool->busy = pool->member_count;
    pool->generation++;
    pthread_cond_broadcast(&pool->work);
    work_off(pool, 0);
    while (pool->busy > 0) {
        pthread_cond_wait(&pool->done, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
}

void pool_destroy(struct pool *pool)
{
    if (pool == NULL) {
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->stop = 1;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->member_count; i++) {
        pthread_join(pool->members[i].id, NULL);
    }
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->done);
    pthread_mutex_destroy(&pool->lock);
    free(pool->members);
    free(pool);
}
