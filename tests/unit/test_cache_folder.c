// The cache folder: unusable folders, eviction, listing and clearing.
#include "cmocka_all.h"

#include <flashcl/tune.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache_fixture.h"

// ---- Unusable folders -------------------------------------------------------------------------

// Everything works in memory, after exactly one warning that names the folder.
static void must_go_on_in_memory(struct fixture *fixture, const char *folder)
{
    memset(&fixture->capture, 0, sizeof fixture->capture);
    struct fcl_cache *cache = fcl_cache_create(folder, 0, NULL, &fixture->log);
    cache_put(cache, KEY, DATA);
    cache_put(cache, "other", DATA);
    assert_true(cache_holds(cache, KEY, DATA));
    assert_true(cache_holds(cache, "other", DATA));
    assert_false(cache_holds(cache, "none", DATA));
    fcl_cache_drop(cache, KEY);
    assert_false(cache_holds(cache, KEY, DATA));
    fcl_cache_destroy(cache);
    assert_int_equal(fixture->capture.counts[FCL_LOG_WARNING], 1);
    assert_int_equal(fixture->capture.counts[FCL_LOG_ERROR], 0);
    assert_non_null(strstr(fixture->capture.text, folder));
}

static void folders_that_cannot_be_made(void **state)
{
    struct fixture *fixture = *state;
    char file[TEST_PATH_SIZE], below[TEST_PATH_SIZE];
    test_path(file, fixture->base, "file");
    test_file_write(file, "x", 1);
    test_path(below, file, "cache");
    must_go_on_in_memory(fixture, file);
    must_go_on_in_memory(fixture, below);
    must_go_on_in_memory(fixture, "/proc/self/no/such/folder");
    must_go_on_in_memory(fixture, "");
    assert_int_equal(test_folder_count(fixture->base, "", NULL), 3);
}

static void symbolic_links_are_not_followed(void **state)
{
    struct fixture *fixture = *state;
    char real[TEST_PATH_SIZE], link[TEST_PATH_SIZE], slash[TEST_PATH_SIZE], gone[TEST_PATH_SIZE];
    test_path(real, fixture->base, "real");
    test_path(link, fixture->base, "link");
    test_path(slash, fixture->base, "link//");
    test_path(gone, fixture->base, "gone");
    assert_int_equal(mkdir(real, 0700), 0);
    assert_int_equal(symlink(real, link), 0);
    assert_int_equal(symlink("nowhere", gone), 0);
    must_go_on_in_memory(fixture, link);
    assert_non_null(strstr(fixture->capture.text, "symbolic link"));
    must_go_on_in_memory(fixture, slash);
    must_go_on_in_memory(fixture, gone);
    assert_int_equal(test_folder_count(real, "", NULL), 2);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(unlink(gone), 0);
}

// root may write anywhere: it becomes another user for a while.
static void read_only_folders(void **state)
{
    struct fixture *fixture = *state;
    const int is_root = geteuid() == 0;
    assert_int_equal(mkdir(fixture->folder, 0555), 0);
    assert_int_equal(chmod(fixture->base, 0755), 0);
    if (is_root && seteuid(65534) != 0) {
        print_message("root without another user: a read-only folder cannot be tested\n");
        skip();
    }
    must_go_on_in_memory(fixture, fixture->folder);
    if (is_root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(test_folder_count(fixture->folder, "", NULL), 2);
}

// A file size limit stands for a full disk: writing fails in the middle.
static void a_full_disk_leaves_nothing_behind(void **state)
{
    struct fixture *fixture = *state;
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 60;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct fcl_cache *cache = fixture_open(fixture);
    cache_put(cache, KEY, DATA);
    cache_put(cache, "other", DATA);
    const int kept = cache_holds(cache, KEY, DATA) && cache_holds(cache, "other", DATA);
    fcl_cache_destroy(cache);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_true(kept);
    assert_int_equal(fixture->capture.counts[FCL_LOG_WARNING], 1);
    assert_int_equal(test_folder_count(fixture->folder, "", NULL), 2);
}

// ---- Eviction ---------------------------------------------------------------------------------

static void the_least_recently_used_entries_go(void **state)
{
    struct fixture *fixture = *state;
    char path[TEST_PATH_SIZE];
    const char *const keys[] = {"a", "b", "c"};
    for (long i = 0; i < 3; i++) {
        fixture_put(fixture, keys[i], DATA);
        fixture_path(fixture, keys[i], path);
        test_file_age(path, 300 - 100 * i);
    }
    assert_true(fixture_holds(fixture, "a", DATA)); // now the most recent one
    size_t size;
    free(test_file_read(path, &size));
    struct fcl_cache *cache = fcl_cache_create(fixture->folder, 3 * size, NULL, &fixture->log);
    cache_put(cache, "d", DATA);
    fcl_cache_destroy(cache);
    assert_false(fixture_holds(fixture, "b", DATA));
    assert_true(fixture_holds(fixture, "a", DATA));
    assert_true(fixture_holds(fixture, "c", DATA));
    assert_true(fixture_holds(fixture, "d", DATA));
}

static void older_entries_do_not_outlive_newer_ones(void **state)
{
    struct fixture *fixture = *state;
    char path[TEST_PATH_SIZE], large[400];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = 0;
    fixture_put(fixture, "small and oldest", DATA);
    fixture_path(fixture, "small and oldest", path);
    test_file_age(path, 200);
    fixture_put(fixture, "large", large);
    fixture_path(fixture, "large", path);
    test_file_age(path, 100);
    struct fcl_cache *cache = fcl_cache_create(fixture->folder, 400, NULL, &fixture->log);
    cache_put(cache, "new", DATA); // fits together with the small one, not with the large one
    fcl_cache_destroy(cache);
    assert_true(fixture_holds(fixture, "new", DATA));
    assert_false(fixture_holds(fixture, "large", large));
    assert_false(fixture_holds(fixture, "small and oldest", DATA));
}

static void a_clock_that_ran_ahead_does_not_evict_the_new_entry(void **state)
{
    struct fixture *fixture = *state;
    char path[TEST_PATH_SIZE];
    size_t size;
    fixture_put(fixture, "a", DATA);
    fixture_path(fixture, "a", path);
    test_file_age(path, -1000000);
    free(test_file_read(path, &size));
    struct fcl_cache *cache = fcl_cache_create(fixture->folder, size, NULL, &fixture->log);
    cache_put(cache, "b", DATA);
    fcl_cache_destroy(cache);
    assert_true(fixture_holds(fixture, "b", DATA));
    assert_false(fixture_holds(fixture, "a", DATA));
}

static void entries_beyond_the_limit_are_not_kept(void **state)
{
    struct fixture *fixture = *state;
    fixture_put(fixture, "a", DATA);
    struct fcl_cache *cache = fcl_cache_create(fixture->folder, 20, NULL, &fixture->log);
    cache_put(cache, "b", DATA);
    assert_false(cache_holds(cache, "b", DATA));
    fcl_cache_destroy(cache);
    assert_true(fixture_holds(fixture, "a", DATA));
    assert_int_equal(fixture->capture.counts[FCL_LOG_WARNING], 0);
}

#define DIGITS "0123456789abcdef0123456789abcdef"

// Names in the folder, and whether eviction and housekeeping may remove them when they are old.
static const struct {
    const char *name;
    int ours;
} neighbours[] = {
    {"readme.txt", 0},
    {DIGITS, 0},
    {DIGITS "0.fclbin", 0},
    {"0123456789ABCDEF0123456789abcdef.fclbin", 0},
    {DIGITS ".fclbin.old", 0},
    {DIGITS ".0123456789abcde.fcltmp", 0},
    {DIGITS ".0123456789abcdefg.fcltmp", 0},
    {DIGITS ".0123456789abcdeg.fcltmp", 0},
    {DIGITS ".0123456789abcdef.tmp", 0},
    {DIGITS ".0123456789abcdef.fcltmp", 1},
    {DIGITS ".fclbin", 1},
};

static void make_neighbours(struct fixture *fixture, long age)
{
    for (size_t i = 0; i < FCL_COUNT(neighbours); i++) {
        char path[TEST_PATH_SIZE];
        test_path(path, fixture->folder, neighbours[i].name);
        test_file_write(path, "some bytes that are no entry", 28);
        test_file_age(path, age);
    }
}

static void only_ours_are_gone(struct fixture *fixture)
{
    for (size_t i = 0; i < FCL_COUNT(neighbours); i++) {
        char path[TEST_PATH_SIZE];
        test_path(path, fixture->folder, neighbours[i].name);
        if (test_file_exists(path) == neighbours[i].ours)
            fail_msg("%s", neighbours[i].name);
    }
}

static void foreign_files_are_never_evicted(void **state)
{
    struct fixture *fixture = *state;
    fixture_put(fixture, "a", DATA);
    make_neighbours(fixture, 3700);
    struct fcl_cache *cache = fcl_cache_create(fixture->folder, 100, NULL, &fixture->log);
    cache_put(cache, "b", DATA);
    fcl_cache_destroy(cache);
    only_ours_are_gone(fixture);
    assert_false(fixture_holds(fixture, "a", DATA));
    assert_true(fixture_holds(fixture, "b", DATA));
}

static void temporary_files_of_living_writers_stay(void **state)
{
    struct fixture *fixture = *state;
    char path[TEST_PATH_SIZE];
    fixture_put(fixture, "a", DATA);
    test_path(path, fixture->folder, DIGITS ".0123456789abcdef.fcltmp");
    test_file_write(path, "x", 1);
    test_file_age(path, 3500);
    fixture_put(fixture, "b", DATA);
    assert_true(test_file_exists(path));
    test_file_age(path, 3700);
    fixture_put(fixture, "c", DATA);
    assert_false(test_file_exists(path));
}

// ---- Housekeeping -----------------------------------------------------------------------------

// What a visit saw, one entry a line.
struct visits {
    char text[1024];
    int count, stop_at;
};

static int visit(void *user, const struct fcl_cache_entry *entry)
{
    struct visits *visits = user;
    const size_t length = strlen(visits->text);
    snprintf(visits->text + length, sizeof visits->text - length, "%s|%s|%d|%llu\n", entry->label,
             entry->key, entry->damaged, (unsigned long long)entry->bytes);
    assert_int_equal(strspn(entry->name, "0123456789abcdef"), 32);
    assert_true(entry->used > 0);
    visits->count++;
    return visits->count == visits->stop_at;
}

static void lists_most_recent_first(void **state)
{
    struct fixture *fixture = *state;
    char path[TEST_PATH_SIZE];
    struct visits visits = {0};
    fixture_put(fixture, "old", "1");
    fixture_path(fixture, "old", path);
    test_file_age(path, 50);
    fixture_put(fixture, "oldest", "22");
    fixture_path(fixture, "oldest", path);
    test_file_age(path, 99);
    fixture_put(fixture, "new", "333");
    test_path(path, fixture->folder, "readme.txt");
    test_file_write(path, "x", 1);
    assert_int_equal(fcl_cache_list(fixture->folder, visit, &visits), FCL_OK);
    assert_string_equal(visits.text, "label|new|0|61\nlabel|old|0|59\nlabel|oldest|0|63\n");
    struct visits two = {.stop_at = 2};
    assert_int_equal(fcl_cache_list(fixture->folder, visit, &two), FCL_OK);
    assert_int_equal(two.count, 2);
}

// Writes one sound entry, one cut short, and one under another's name.
static void make_damage(struct fixture *fixture)
{
    char path[TEST_PATH_SIZE], other[TEST_PATH_SIZE];
    size_t size;
    fixture_put(fixture, "sound", "1");
    fixture_put(fixture, "cut", "1");
    fixture_path(fixture, "cut", path);
    unsigned char *bytes = test_file_read(path, &size);
    test_file_write(path, bytes, 10);
    fixture_path(fixture, "sound", path);
    fixture_path(fixture, "renamed", other);
    free(bytes);
    bytes = test_file_read(path, &size);
    test_file_write(other, bytes, size);
    free(bytes);
}

static void lists_damage(void **state)
{
    struct fixture *fixture = *state;
    struct visits visits = {0};
    make_damage(fixture);
    assert_int_equal(fcl_cache_list(fixture->folder, visit, &visits), FCL_OK);
    assert_int_equal(visits.count, 3);
    assert_non_null(strstr(visits.text, "label|sound|0|61\n"));
    assert_non_null(strstr(visits.text, "||1|10\n"));
    assert_non_null(strstr(visits.text, "||1|61\n"));
}

static void clears_damage_only_when_asked(void **state)
{
    struct fixture *fixture = *state;
    size_t removed = 99;
    make_damage(fixture);
    assert_int_equal(fcl_cache_clear(fixture->folder, 1, &removed), FCL_OK);
    assert_int_equal(removed, 2);
    assert_true(fixture_holds(fixture, "sound", "1"));
    assert_int_equal(fcl_cache_clear(fixture->folder, 1, &removed), FCL_OK);
    assert_int_equal(removed, 0);
    make_neighbours(fixture, 3700);
    assert_int_equal(fcl_cache_clear(fixture->folder, 0, &removed), FCL_OK);
    assert_int_equal(removed, 3); // the sound one and two neighbours
    only_ours_are_gone(fixture);
    assert_int_equal(fcl_cache_clear(fixture->folder, 0, NULL), FCL_OK);
}

static void missing_folders_are_empty_and_others_an_error(void **state)
{
    struct fixture *fixture = *state;
    char file[TEST_PATH_SIZE];
    struct visits visits = {0};
    size_t removed = 99;
    assert_int_equal(fcl_cache_list(fixture->folder, visit, &visits), FCL_OK);
    assert_int_equal(fcl_cache_clear(fixture->folder, 0, &removed), FCL_OK);
    assert_int_equal(removed, 0);
    test_path(file, fixture->base, "file");
    test_file_write(file, "x", 1);
    assert_int_equal(fcl_cache_list(file, visit, &visits), FCL_IO_ERROR);
    assert_int_equal(fcl_cache_clear(file, 0, &removed), FCL_IO_ERROR);
    assert_int_equal(fcl_cache_list(NULL, visit, &visits), FCL_INVALID_ARGUMENT);
    assert_int_equal(visits.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(folders_that_cannot_be_made),
        FIXTURE_TEST(symbolic_links_are_not_followed),
        FIXTURE_TEST(read_only_folders),
        FIXTURE_TEST(a_full_disk_leaves_nothing_behind),
        FIXTURE_TEST(the_least_recently_used_entries_go),
        FIXTURE_TEST(older_entries_do_not_outlive_newer_ones),
        FIXTURE_TEST(a_clock_that_ran_ahead_does_not_evict_the_new_entry),
        FIXTURE_TEST(entries_beyond_the_limit_are_not_kept),
        FIXTURE_TEST(foreign_files_are_never_evicted),
        FIXTURE_TEST(temporary_files_of_living_writers_stay),
        FIXTURE_TEST(lists_most_recent_first),
        FIXTURE_TEST(lists_damage),
        FIXTURE_TEST(clears_damage_only_when_asked),
        FIXTURE_TEST(missing_folders_are_empty_and_others_an_error),
    };
    return cmocka_run_group_tests_name("cache folder", tests, NULL, NULL);
}
