// What the cache's tests share: a folder, a log, and putting and finding entries.
#ifndef FCL_TESTS_CACHE_FIXTURE_H
#define FCL_TESTS_CACHE_FIXTURE_H

#include "capture.h"
#include "core/cache.h"
#include "core/cache_entry.h"
#include "files.h"

#define KEY "key text\nof several lines"
#define DATA "sixteen bytes..."

// A temporary folder, a cache folder (not yet made) below it, and a log.
struct fixture {
    char base[TEST_PATH_SIZE], folder[TEST_PATH_SIZE];
    struct test_capture capture;
    struct fcl_log log;
};

int fixture_set_up(void **state);
int fixture_tear_down(void **state);

// A test that gets a fresh fixture.
#define FIXTURE_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

// A new cache on the fixture's folder: as another process would have it.
struct fcl_cache *fixture_open(struct fixture *fixture);

void cache_put(struct fcl_cache *cache, const char *key, const char *data);

// 1 when the cache holds exactly this data for the key, 0 for a miss.
int cache_holds(struct fcl_cache *cache, const char *key, const char *data);

// The same through a cache of its own.
void fixture_put(struct fixture *fixture, const char *key, const char *data);
int fixture_holds(struct fixture *fixture, const char *key, const char *data);

// Where the entry of the key is kept.
void fixture_path(const struct fixture *fixture, const char *key, char path[TEST_PATH_SIZE]);

#endif
