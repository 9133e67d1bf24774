// The binary cache: what it keeps and shares, damaged entries, callbacks, threads.
#include "cmocka_all.h"

#include <flashcl/flashcl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache_fixture.h"

// ---- Keeping ----------------------------------------------------------------------------------

static void memory_keeps_entries(void **state)
{
    (void)state;
    struct fcl_cache *cache = fcl_cache_create(NULL, 0, NULL, NULL);
    assert_false(cache_holds(cache, KEY, DATA));
    cache_put(cache, KEY, DATA);
    cache_put(cache, "other", "");
    assert_true(cache_holds(cache, KEY, DATA));
    assert_true(cache_holds(cache, "other", ""));
    cache_put(cache, KEY, "newer");
    assert_true(cache_holds(cache, KEY, "newer"));
    fcl_cache_drop(cache, KEY);
    assert_false(cache_holds(cache, KEY, DATA));
    assert_true(cache_holds(cache, "other", ""));
    fcl_cache_destroy(cache);
    fcl_cache_destroy(NULL);
}

static void memory_is_limited_to_the_most_recent(void **state)
{
    (void)state;
    char data[1001];
    memset(data, 'd', sizeof data - 1);
    data[1000] = 0;
    struct fcl_cache *cache = fcl_cache_create(NULL, 3500, NULL, NULL);
    cache_put(cache, "a", data);
    cache_put(cache, "b", data);
    cache_put(cache, "c", data);
    assert_true(cache_holds(cache, "a", data));
    cache_put(cache, "d", data);
    assert_false(cache_holds(cache, "b", data));
    assert_true(cache_holds(cache, "a", data));
    assert_true(cache_holds(cache, "c", data));
    assert_true(cache_holds(cache, "d", data));
    fcl_cache_destroy(cache);
}

static void folder_keeps_entries_for_others(void **state)
{
    struct fixture *fixture = *state;
    struct stat status;
    char path[TEST_PATH_SIZE];
    test_path(fixture->folder, fixture->base, "new/n\xc3\xa4me/cache"); // parents are made, too
    fixture_put(fixture, KEY, DATA);
    assert_true(fixture_holds(fixture, KEY, DATA));
    assert_false(fixture_holds(fixture, KEY "x", DATA));
    assert_int_equal(stat(fixture->folder, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    test_path(path, fixture->base, "new");
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    fixture_path(fixture, KEY, path);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(test_folder_count(fixture->folder, "", NULL), 3); // with . and ..
    assert_int_equal(fixture->capture.counts[FCL_LOG_WARNING], 0);
}

static void dropped_entries_are_gone_everywhere(void **state)
{
    struct fixture *fixture = *state;
    struct fcl_cache *cache = fixture_open(fixture);
    cache_put(cache, KEY, DATA);
    cache_put(cache, "other", DATA);
    fcl_cache_drop(cache, KEY);
    fcl_cache_drop(cache, "never there");
    assert_false(cache_holds(cache, KEY, DATA));
    fcl_cache_destroy(cache);
    assert_false(fixture_holds(fixture, KEY, DATA));
    assert_true(fixture_holds(fixture, "other", DATA));
}

static void a_removed_folder_is_made_again(void **state)
{
    struct fixture *fixture = *state;
    struct fcl_cache *cache = fixture_open(fixture);
    cache_put(cache, "a", DATA);
    test_folder_remove(fixture->folder);
    cache_put(cache, "b", DATA);
    fcl_cache_destroy(cache);
    assert_true(fixture_holds(fixture, "b", DATA));
    assert_int_equal(fixture->capture.counts[FCL_LOG_WARNING], 0);
}

// ---- Damage -----------------------------------------------------------------------------------

// Writes the bytes in place of the entry; it must be a miss without a warning, and replaceable.
static void must_miss_and_be_replaced(struct fixture *fixture, const void *bytes, size_t size)
{
    char path[TEST_PATH_SIZE];
    fixture_path(fixture, KEY, path);
    test_file_write(path, bytes, size);
    struct fcl_cache *cache = fixture_open(fixture);
    assert_false(cache_holds(cache, KEY, DATA));
    cache_put(cache, KEY, DATA);
    assert_true(cache_holds(cache, KEY, DATA));
    fcl_cache_destroy(cache);
    assert_true(fixture_holds(fixture, KEY, DATA));
    assert_int_equal(fixture->capture.counts[FCL_LOG_WARNING], 0);
}

static void truncation_at_every_byte_is_a_miss(void **state)
{
    struct fixture *fixture = *state;
    char path[TEST_PATH_SIZE];
    size_t size;
    fixture_put(fixture, KEY, DATA);
    fixture_path(fixture, KEY, path);
    unsigned char *bytes = test_file_read(path, &size);
    for (size_t kept = 0; kept < size; kept++)
        must_miss_and_be_replaced(fixture, bytes, kept);
    free(bytes);
}

static void every_flipped_bit_is_a_miss(void **state)
{
    struct fixture *fixture = *state;
    char path[TEST_PATH_SIZE];
    size_t size;
    fixture_put(fixture, KEY, DATA);
    fixture_path(fixture, KEY, path);
    unsigned char *bytes = test_file_read(path, &size);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        must_miss_and_be_replaced(fixture, bytes, size);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    free(bytes);
}

static void foreign_and_longer_files_are_misses(void **state)
{
    struct fixture *fixture = *state;
    char path[TEST_PATH_SIZE];
    size_t size;
    fixture_put(fixture, KEY, DATA);
    static const char foreign[] = "FCLCACHE is a word, and this is a text file of another program";
    must_miss_and_be_replaced(fixture, foreign, sizeof foreign);
    fixture_path(fixture, KEY, path);
    unsigned char *bytes = test_file_read(path, &size);
    bytes[size] = 0;
    must_miss_and_be_replaced(fixture, bytes, size + 1);
    free(bytes);
}

// Another driver, library or source gives another key. Whatever file has the name of a key's hash,
// its own key decides.
static void an_entry_of_another_key_is_a_miss(void **state)
{
    struct fixture *fixture = *state;
    const char *const others[] = {"", "key text\nof several line", KEY "s",
                                  "key text\nof severaI lines"};
    for (size_t i = 0; i < FCL_COUNT(others); i++) {
        size_t size;
        const struct fcl_entry entry = {others[i], "label", DATA, strlen(DATA)};
        fixture_put(fixture, KEY, DATA);
        unsigned char *bytes = fcl_entry_encode(&entry, &size);
        must_miss_and_be_replaced(fixture, bytes, size);
        free(bytes);
    }
}

// Without a folder to look at the file's size first, as the bytes of a callback are.
static void decoding_trusts_no_byte(void **state)
{
    (void)state;
    const struct fcl_entry entry = {KEY, "label", DATA, strlen(DATA)};
    struct fcl_entry decoded;
    size_t size;
    unsigned char *bytes = fcl_entry_encode(&entry, &size);
    for (size_t kept = 0; kept < size; kept++) {
        unsigned char *cut = malloc(kept > 0 ? kept : 1); // so that sanitizers see the end
        memcpy(cut, bytes, kept);
        assert_false(fcl_entry_decode(cut, kept, &decoded));
        free(cut);
    }
    for (size_t bit = 0; bit < 8 * size; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_false(fcl_entry_decode(bytes, size, &decoded));
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    assert_true(fcl_entry_decode(bytes, size, &decoded));
    free(bytes);
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    struct fcl_entry entry = {"key", "label", "data", 4}, decoded;
    size_t size;
    unsigned char *bytes = fcl_entry_encode(&entry, &size);
    assert_true(fcl_entry_decode(bytes, size, &decoded));
    assert_string_equal(decoded.key, "key");
    assert_string_equal(decoded.label, "label");
    assert_int_equal(decoded.data_size, 4);
    assert_memory_equal(decoded.data, "data", 4);
    assert_int_equal(fcl_entry_announced_size(bytes), size);
    memset(bytes + 24, 0xff, 24); // sizes that overflow when they are added
    assert_int_equal(fcl_entry_announced_size(bytes), 0);
    assert_false(fcl_entry_decode(bytes, size, &decoded));
    free(bytes);
}

static void things_that_are_no_files_are_misses(void **state)
{
    struct fixture *fixture = *state;
    char path[TEST_PATH_SIZE], target[TEST_PATH_SIZE];
    fixture_put(fixture, KEY, DATA);
    fixture_path(fixture, KEY, path);
    test_path(target, fixture->base, "target");
    assert_int_equal(rename(path, target), 0);
    assert_int_equal(symlink(target, path), 0); // even to a sound entry
    assert_false(fixture_holds(fixture, KEY, DATA));
    fixture_put(fixture, KEY, DATA);
    assert_true(fixture_holds(fixture, KEY, DATA));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0); // must not block
    assert_false(fixture_holds(fixture, KEY, DATA));
}

// ---- Callbacks --------------------------------------------------------------------------------

// Storage of one entry.
struct storage {
    char name[FCL_ENTRY_NAME_SIZE];
    unsigned char *bytes;
    size_t size;
    int gets, puts;
};

static size_t storage_get(void *user, const char *name, void **data)
{
    struct storage *storage = user;
    storage->gets++;
    if (storage->bytes == NULL || strcmp(storage->name, name) != 0)
        return 0;
    *data = malloc(storage->size);
    memcpy(*data, storage->bytes, storage->size);
    return storage->size;
}

static void storage_put(void *user, const char *name, const void *data, size_t size)
{
    struct storage *storage = user;
    storage->puts++;
    free(storage->bytes);
    storage->bytes = malloc(size);
    memcpy(storage->bytes, data, size);
    storage->size = size;
    snprintf(storage->name, sizeof storage->name, "%s", name);
}

static void callbacks_replace_the_folder(void **state)
{
    struct fixture *fixture = *state;
    struct storage storage = {0};
    const struct fcl_cache_callbacks callbacks = {storage_get, storage_put, &storage};
    struct fcl_cache *cache = fcl_cache_create(fixture->folder, 0, &callbacks, &fixture->log);
    assert_false(cache_holds(cache, KEY, DATA));
    cache_put(cache, KEY, DATA);
    assert_true(cache_holds(cache, KEY, DATA)); // from memory
    assert_int_equal(storage.gets, 1);
    assert_int_equal(storage.puts, 1);
    assert_int_equal(strspn(storage.name, "0123456789abcdef"), 32);
    fcl_cache_destroy(cache);
    cache = fcl_cache_create(NULL, 0, &callbacks, &fixture->log);
    assert_true(cache_holds(cache, KEY, DATA)); // from the callback
    fcl_cache_destroy(cache);
    storage.bytes[storage.size - 1] ^= 1;
    cache = fcl_cache_create(NULL, 0, &callbacks, &fixture->log);
    assert_false(cache_holds(cache, KEY, DATA));
    cache_put(cache, KEY, "newer");
    fcl_cache_destroy(cache);
    cache = fcl_cache_create(NULL, 0, &callbacks, &fixture->log);
    assert_true(cache_holds(cache, KEY, "newer"));
    fcl_cache_destroy(cache);
    free(storage.bytes);
    assert_false(test_file_exists(fixture->folder));
}

static void callbacks_may_only_read(void **state)
{
    struct fixture *fixture = *state;
    struct storage storage = {0};
    const struct fcl_cache_callbacks callbacks = {storage_get, NULL, &storage};
    struct fcl_cache *cache = fcl_cache_create(NULL, 0, &callbacks, &fixture->log);
    cache_put(cache, KEY, DATA);
    assert_true(cache_holds(cache, KEY, DATA));
    fcl_cache_drop(cache, KEY);
    assert_false(cache_holds(cache, KEY, DATA));
    fcl_cache_destroy(cache);
}

// ---- Threads ----------------------------------------------------------------------------------

#define THREADS 4
#define ROUNDS 300

static void *hammer(void *user)
{
    struct fcl_cache *cache = user;
    size_t wrong = 0;
    for (int i = 0; i < ROUNDS; i++) {
        char key[16], data[16];
        snprintf(key, sizeof key, "key %d", i % 7);
        snprintf(data, sizeof data, "data %d", i % 7);
        void *found;
        size_t size;
        if (i % 11 == 0)
            fcl_cache_drop(cache, key);
        else if (!fcl_cache_get(cache, key, &found, &size))
            cache_put(cache, key, data);
        else {
            wrong += size != strlen(data) || memcmp(found, data, size) != 0;
            free(found);
        }
    }
    return wrong == 0 ? cache : NULL;
}

static void threads_share_a_cache(void **state)
{
    struct fixture *fixture = *state;
    pthread_t threads[THREADS];
    struct fcl_cache *cache = fcl_cache_create(fixture->folder, 400, NULL, NULL);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, cache), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, cache);
    }
    fcl_cache_destroy(cache);
    assert_int_equal(test_folder_count(fixture->folder, ".fcltmp", NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_keeps_entries),
        cmocka_unit_test(memory_is_limited_to_the_most_recent),
        FIXTURE_TEST(folder_keeps_entries_for_others),
        FIXTURE_TEST(dropped_entries_are_gone_everywhere),
        FIXTURE_TEST(a_removed_folder_is_made_again),
        FIXTURE_TEST(truncation_at_every_byte_is_a_miss),
        FIXTURE_TEST(every_flipped_bit_is_a_miss),
        FIXTURE_TEST(foreign_and_longer_files_are_misses),
        FIXTURE_TEST(an_entry_of_another_key_is_a_miss),
        cmocka_unit_test(decoding_trusts_no_byte),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        FIXTURE_TEST(things_that_are_no_files_are_misses),
        FIXTURE_TEST(callbacks_replace_the_folder),
        FIXTURE_TEST(callbacks_may_only_read),
        FIXTURE_TEST(threads_share_a_cache),
    };
    return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
