// What the cache's tests share.
#include "cache_fixture.h"

#include <stdio.h>

#include "cmocka_all.h"

int fixture_set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    test_folder_create(fixture->base);
    test_path(fixture->folder, fixture->base, "cache");
    fixture->log = test_capture_log(&fixture->capture);
    *state = fixture;
    return 0;
}

int fixture_tear_down(void **state)
{
    struct fixture *fixture = *state;
    test_folder_remove(fixture->base);
    free(fixture);
    return 0;
}

struct fcl_cache *fixture_open(struct fixture *fixture)
{
    struct fcl_cache *cache = fcl_cache_create(fixture->folder, 0, NULL, &fixture->log);
    assert_non_null(cache);
    return cache;
}

void cache_put(struct fcl_cache *cache, const char *key, const char *data)
{
    fcl_cache_put(cache, key, "label", data, strlen(data));
}

int cache_holds(struct fcl_cache *cache, const char *key, const char *data)
{
    void *found = NULL;
    size_t size = 0;
    if (!fcl_cache_get(cache, key, &found, &size))
        return 0;
    assert_int_equal(size, strlen(data));
    assert_memory_equal(found, data, size);
    free(found);
    return 1;
}

void fixture_put(struct fixture *fixture, const char *key, const char *data)
{
    struct fcl_cache *cache = fixture_open(fixture);
    cache_put(cache, key, data);
    fcl_cache_destroy(cache);
}

int fixture_holds(struct fixture *fixture, const char *key, const char *data)
{
    struct fcl_cache *cache = fixture_open(fixture);
    const int found = cache_holds(cache, key, data);
    fcl_cache_destroy(cache);
    return found;
}

void fixture_path(const struct fixture *fixture, const char *key, char path[TEST_PATH_SIZE])
{
    char name[FCL_ENTRY_NAME_SIZE], file[64];
    fcl_entry_name(key, name);
    snprintf(file, sizeof file, "%s.fclbin", name);
    test_path(path, fixture->folder, file);
}
