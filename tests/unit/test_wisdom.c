// Wisdom: rows, text form, and files that several processes share.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // F_OFD_SETLK
#endif

#include "cmocka_all.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/wisdom.h"
#include "files.h"

#define HEADER "flashcl-wisdom 1\n"
#define CONFIG "vector_m64n32l16k4c8"
#define ROW(device, class) device "\td1\t" class "\t" CONFIG "\t1.5\t0.02\tevent\t0.1.0\n"

static struct fcl_wisdom_row make_row(const char *device, const char *problem_class,
                                      double median_ms)
{
    return (struct fcl_wisdom_row){device,    "d1", problem_class, CONFIG,
                                   median_ms, 0.02, "event",       "0.1.0"};
}

static void add(fcl_wisdom *wisdom, const char *device, const char *problem_class, double median_ms)
{
    const struct fcl_wisdom_row row = make_row(device, problem_class, median_ms);
    assert_int_equal(fcl_wisdom_add(wisdom, &row), FCL_OK);
}

static fcl_wisdom *imported(const char *text)
{
    fcl_wisdom *wisdom = fcl_wisdom_create();
    char reason[256] = "";
    if (fcl_wisdom_import(wisdom, text, NULL, reason, sizeof reason) != FCL_OK)
        fail_msg("%s", reason);
    return wisdom;
}

static void rows_are_copied_replaced_and_kept_in_order(void **state)
{
    (void)state;
    fcl_wisdom *wisdom = fcl_wisdom_create();
    char device[8] = "first";
    add(wisdom, device, "class a", 1);
    memcpy(device, "other", 6);
    add(wisdom, "second", "class a", 2);
    add(wisdom, "first", "class b", 3);
    add(wisdom, "first", "class a", 4);
    assert_int_equal(fcl_wisdom_count(wisdom), 3);
    const struct fcl_wisdom_row row = fcl_wisdom_at(wisdom, 0);
    assert_string_equal(row.device, "first");
    assert_string_equal(row.driver, "d1");
    assert_string_equal(row.problem_class, "class a");
    assert_string_equal(row.config, CONFIG);
    assert_string_equal(row.clock, "event");
    assert_string_equal(row.version, "0.1.0");
    assert_true(row.median_ms == 4 && row.spread == 0.02);
    assert_string_equal(fcl_wisdom_at(wisdom, 1).device, "second");
    assert_string_equal(fcl_wisdom_at(wisdom, 2).problem_class, "class b");
    assert_string_equal(fcl_wisdom_at(wisdom, 3).config, "");
    fcl_wisdom_destroy(&wisdom);
    assert_null(wisdom);
    fcl_wisdom_destroy(&wisdom);
    fcl_wisdom_destroy(NULL);
    assert_int_equal(fcl_wisdom_count(NULL), 0);
}

static void rows_that_no_text_can_hold_are_refused(void **state)
{
    (void)state;
    fcl_wisdom *wisdom = fcl_wisdom_create();
    const struct fcl_wisdom_row good = make_row("dev", "class", 1);
    struct fcl_wisdom_row bad[11];
    for (size_t i = 0; i < FCL_COUNT(bad); i++)
        bad[i] = good;
    bad[0].device = "a\tb";
    bad[1].driver = "a\nb";
    bad[2].version = "a\r";
    bad[3].clock = NULL;
    bad[4].device = "#dev";
    bad[5].problem_class = "";
    bad[6].config = "";
    bad[7].median_ms = NAN;
    bad[8].median_ms = -1;
    bad[9].spread = INFINITY;
    bad[10].config = "bad\tbuild";
    for (size_t i = 0; i < FCL_COUNT(bad); i++)
        assert_int_equal(fcl_wisdom_add(wisdom, &bad[i]), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_wisdom_add(NULL, &good), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_wisdom_add(wisdom, NULL), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_wisdom_count(wisdom), 0);
    fcl_wisdom_destroy(&wisdom);
}

static void rows_are_found_by_device_driver_and_class(void **state)
{
    (void)state;
    fcl_wisdom *wisdom = imported(HEADER "dev\told\tc\t" CONFIG "\t1\t0\tevent\t0.1.0\n"
                                         "dev\tnew\tc\t" CONFIG "\t2\t0\tevent\t0.1.0\n"
                                         "dev\tnewest\tc\tbad build\t0\t0\tevent\t0.1.0\n"
                                         "dev2\tnew\tc2\tbad build\t0\t0\tevent\t0.1.0\n");
    assert_true(fcl_wisdom_find(wisdom, "dev", "old", "c")->median_ms == 1);
    assert_true(fcl_wisdom_find(wisdom, "dev", "new", "c")->median_ms == 2);
    assert_string_equal(fcl_wisdom_find(wisdom, "dev", "newest", "c")->config, "bad build");
    // The last one of any driver that names a configuration.
    assert_true(fcl_wisdom_find(wisdom, "dev", NULL, "c")->median_ms == 2);
    assert_null(fcl_wisdom_find(wisdom, "dev2", NULL, "c2"));
    assert_null(fcl_wisdom_find(wisdom, "dev", "other", "c"));
    assert_null(fcl_wisdom_find(wisdom, "dev", "old", "d"));
    assert_null(fcl_wisdom_find(wisdom, "de", "vold", "c"));
    assert_null(fcl_wisdom_find(NULL, "dev", "old", "c"));
    fcl_wisdom_destroy(&wisdom);
    fcl_wisdom *empty = fcl_wisdom_create();
    assert_null(fcl_wisdom_find(empty, "dev", "old", "c"));
    fcl_wisdom_destroy(&empty);
}

static void text_round_trips(void **state)
{
    (void)state;
    const char *text = HEADER "A device (TM)\t1.2.3\tfused fwd d64 f32 bh3 q10 k10 g1\t" CONFIG
                              "\t0.123457\t1.5e-05\twall\t0.1.0\n"
                              "B\t\tc\tbad build\t0\t0\t\t\n";
    fcl_wisdom *wisdom = imported(text);
    struct fcl_text written = {0};
    fcl_wisdom_write(wisdom, &written);
    assert_string_equal(written.data, text);
    fcl_text_free(&written);
    const struct fcl_wisdom_row row = fcl_wisdom_at(wisdom, 1);
    char line[16] = "###############";
    assert_int_equal(fcl_wisdom_format(&row, line, 8), strlen("B\t\tc\tbad build\t0\t0\t\t"));
    assert_string_equal(line, "B\t\tc\tba");
    fcl_wisdom_destroy(&wisdom);
}

static void comments_blank_lines_and_dos_ends_are_allowed(void **state)
{
    (void)state;
    fcl_wisdom *wisdom =
        imported("# tuned on a Tuesday\n\n  \t\n" HEADER "\n# a row\n" ROW("dev", "c") "\r\n");
    assert_int_equal(fcl_wisdom_count(wisdom), 1);
    fcl_wisdom_destroy(&wisdom);
    wisdom = imported("flashcl-wisdom 1\r\ndev\td1\tc\t" CONFIG "\t1\t0\tevent\t0.1.0\r\n");
    assert_string_equal(fcl_wisdom_at(wisdom, 0).version, "0.1.0");
    fcl_wisdom_destroy(&wisdom);
}

static void malformed_texts_change_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"", "another signature"},
        {"flashcl-wisdom 2\n" ROW("dev", "c"), "another signature"},
        {"flashcl-wisdom 10\n", "another signature"},
        {"other-wisdom 1\n", "another signature"},
        {ROW("dev", "c"), "another signature"},
        {"# comment\n", "another signature"},
        {"flashcl-wisdom 1", "line 1 of the wisdom is cut short"},
        {HEADER "dev\td1\tc\t" CONFIG "\t1\t0\tevent\t0.1.0", "line 2 of the wisdom is cut short"},
        {HEADER ROW("dev", "c") "dev\td1\tc\t" CONFIG "\t1\t0\tevent\n", "line 3"},
        {HEADER ROW("dev", "c") "dev\td1\tc\t" CONFIG "\t1\t0\tevent\t0.1.0\tx\n", "9 columns"},
        {HEADER ROW("dev", "c") "hello\n", "1 columns; allowed are 8"},
        {HEADER ROW("dev", "c") "dev\td1\tc\t" CONFIG "\t1,5\t0\tevent\t0.1.0\n", "`1,5`"},
        {HEADER ROW("dev", "c") "dev\td1\tc\t" CONFIG "\t\t0\tevent\t0.1.0\n", "median"},
        {HEADER ROW("dev", "c") "dev\td1\tc\t" CONFIG "\t1\t-2\tevent\t0.1.0\n", "`-2`"},
        {HEADER ROW("dev", "c") "dev\td1\tc\t" CONFIG "\tnan\t0\tevent\t0.1.0\n", "`nan`"},
        {HEADER ROW("dev", "c") "dev\td1\t\t" CONFIG "\t1\t0\tevent\t0.1.0\n", "problem class"},
        {HEADER ROW("dev", "c") "dev\td1\tc\t\t1\t0\tevent\t0.1.0\n", "configuration"},
        {HEADER ROW("dev", "c") HEADER, "line 3"},
    };
    fcl_wisdom *wisdom = imported(HEADER ROW("mine", "c"));
    for (size_t i = 0; i < FCL_COUNT(cases); i++) {
        char reason[256] = "";
        size_t skipped = 7;
        assert_int_equal(fcl_wisdom_import(wisdom, cases[i].text, &skipped, reason, sizeof reason),
                         FCL_IO_ERROR);
        if (strstr(reason, cases[i].reason) == NULL)
            fail_msg("case %zu: `%s` lacks `%s`", i, reason, cases[i].reason);
        assert_int_equal(skipped, 0);
        assert_int_equal(fcl_wisdom_count(wisdom), 1);
        assert_string_equal(fcl_wisdom_at(wisdom, 0).device, "mine");
    }
    assert_int_equal(fcl_wisdom_import(wisdom, NULL, NULL, NULL, 0), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_wisdom_import(NULL, HEADER, NULL, NULL, 0), FCL_INVALID_ARGUMENT);
    fcl_wisdom_destroy(&wisdom);
}

static void rows_of_unknown_configurations_are_skipped(void **state)
{
    (void)state;
    fcl_wisdom *wisdom = fcl_wisdom_create();
    size_t skipped = 0;
    const char *text = HEADER "dev\td1\ta\tfuture_m64q3\t1\t0\tevent\t9.0.0\n"
                              "dev\td1\tb\tbad spill\t0\t0\tevent\t0.1.0\n"
                              "dev\td1\tc\tbad\t1\t0\tevent\t0.1.0\n"
                              "dev\td1\td\tvector_m64\t1\t0\tevent\t0.1.0\n" ROW(
                                  "dev", "e") "dev\td1\tkernel k 1 #2\tBM=16\t1\t0\tevent\t0.1.0\n";
    assert_int_equal(fcl_wisdom_import(wisdom, text, &skipped, NULL, 0), FCL_OK);
    assert_int_equal(skipped, 3);
    assert_int_equal(fcl_wisdom_count(wisdom), 3);
    assert_string_equal(fcl_wisdom_at(wisdom, 0).config, "bad spill");
    assert_string_equal(fcl_wisdom_at(wisdom, 1).problem_class, "e");
    assert_string_equal(fcl_wisdom_at(wisdom, 2).config, "BM=16"); // only its space can judge
    fcl_wisdom_destroy(&wisdom);
}

// Cut at every byte: refused whole, or exactly the first rows where it ends with one.
static void half_written_texts_are_refused_whole(void **state)
{
    (void)state;
    const char *text = HEADER ROW("dev", "a") ROW("dev", "b") ROW("dev", "c");
    size_t accepted = 0;
    for (size_t length = 0; length <= strlen(text); length++) {
        char cut[512];
        memcpy(cut, text, length);
        cut[length] = 0;
        fcl_wisdom *wisdom = fcl_wisdom_create();
        const int whole_lines = length >= strlen(HEADER) && cut[length - 1] == '\n';
        const enum fcl_status status = fcl_wisdom_import(wisdom, cut, NULL, NULL, 0);
        assert_int_equal(status, whole_lines ? FCL_OK : FCL_IO_ERROR);
        if (status != FCL_OK)
            assert_int_equal(fcl_wisdom_count(wisdom), 0);
        else
            assert_int_equal(fcl_wisdom_count(wisdom), accepted++);
        fcl_wisdom_destroy(&wisdom);
    }
    assert_int_equal(accepted, 4);
}

// ---- Files ------------------------------------------------------------------------------------

struct folder {
    char path[TEST_PATH_SIZE], file[TEST_PATH_SIZE];
};

static void open_folder(struct folder *folder)
{
    test_folder_create(folder->path);
    test_path(folder->file, folder->path, "wisdom.txt");
}

static void assert_file(const char *path, const char *text)
{
    size_t size;
    unsigned char *bytes = test_file_read(path, &size);
    assert_int_equal(size, strlen(text));
    assert_memory_equal(bytes, text, size);
    free(bytes);
}

static void saving_merges_and_ours_win(void **state)
{
    (void)state;
    struct folder folder;
    open_folder(&folder);
    const char *text = HEADER "# by hand\ndev\td1\ta\tfuture_m1\t7\t0\tevent\t9.0.0\n"
                              "dev\td1\tb\t" CONFIG "\t8\t0\tevent\t0.1.0\n";
    test_file_write(folder.file, text, strlen(text));
    fcl_wisdom *wisdom = fcl_wisdom_create();
    add(wisdom, "dev", "b", 1.5);
    add(wisdom, "dev", "c", 1.5);
    char reason[256] = "";
    assert_int_equal(fcl_wisdom_save(wisdom, folder.file, reason, sizeof reason), FCL_OK);
    // Rows that this program does not understand stay in the file.
    assert_file(folder.file, HEADER "dev\td1\ta\tfuture_m1\t7\t0\tevent\t9.0.0\n" ROW("dev", "b")
                                 ROW("dev", "c"));
    assert_int_equal(fcl_wisdom_count(wisdom), 2);
    assert_int_equal(test_folder_count(folder.path, "", NULL), 4); // . .. the file and its lock
    fcl_wisdom_destroy(&wisdom);
    size_t skipped;
    wisdom = fcl_wisdom_create();
    assert_int_equal(fcl_wisdom_load(wisdom, folder.file, &skipped, NULL, 0), FCL_OK);
    assert_int_equal(skipped, 1);
    assert_int_equal(fcl_wisdom_count(wisdom), 2);
    fcl_wisdom_destroy(&wisdom);
    test_folder_remove(folder.path);
}

static unsigned mode_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 0777u;
}

static void files_keep_their_mode_and_links(void **state)
{
    (void)state;
    struct folder folder;
    char link[TEST_PATH_SIZE];
    open_folder(&folder);
    test_path(link, folder.path, "link");
    fcl_wisdom *wisdom = fcl_wisdom_create();
    add(wisdom, "dev", "a", 1);
    assert_int_equal(fcl_wisdom_save(wisdom, folder.file, NULL, 0), FCL_OK);
    assert_int_equal(mode_of(folder.file), 0600);
    assert_int_equal(chmod(folder.file, 0644), 0);
    assert_int_equal(symlink(folder.file, link), 0);
    add(wisdom, "dev", "b", 1);
    assert_int_equal(fcl_wisdom_save(wisdom, link, NULL, 0), FCL_OK);
    assert_int_equal(mode_of(folder.file), 0644);
    struct stat status;
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    fcl_wisdom_destroy(&wisdom);
    wisdom = fcl_wisdom_create();
    assert_int_equal(fcl_wisdom_load(wisdom, folder.file, NULL, NULL, 0), FCL_OK);
    assert_int_equal(fcl_wisdom_count(wisdom), 2);
    fcl_wisdom_destroy(&wisdom);
    test_folder_remove(folder.path);
}

static void files_that_are_not_understood_are_left_alone(void **state)
{
    (void)state;
    static const char *const texts[] = {"my diary\n", "flashcl-wisdom 2\n",
                                        HEADER "dev\td1\ta\tvector_m6"};
    struct folder folder;
    open_folder(&folder);
    fcl_wisdom *wisdom = fcl_wisdom_create();
    add(wisdom, "dev", "a", 1);
    for (size_t i = 0; i < FCL_COUNT(texts); i++) {
        char reason[256] = "";
        test_file_write(folder.file, texts[i], strlen(texts[i]));
        assert_int_equal(fcl_wisdom_save(wisdom, folder.file, reason, sizeof reason), FCL_IO_ERROR);
        assert_string_not_equal(reason, "");
        assert_file(folder.file, texts[i]);
        assert_int_equal(fcl_wisdom_load(wisdom, folder.file, NULL, reason, sizeof reason),
                         FCL_IO_ERROR);
    }
    test_file_write(folder.file, HEADER "\0" HEADER, 2 * strlen(HEADER) + 1);
    assert_int_equal(fcl_wisdom_load(wisdom, folder.file, NULL, NULL, 0), FCL_IO_ERROR);
    test_file_write(folder.file, "", 0);
    assert_int_equal(fcl_wisdom_save(wisdom, folder.file, NULL, 0), FCL_OK);
    assert_int_equal(fcl_wisdom_count(wisdom), 1);
    fcl_wisdom_destroy(&wisdom);
    test_folder_remove(folder.path);
}

static void unusable_paths_are_named(void **state)
{
    (void)state;
    struct folder folder;
    char missing[TEST_PATH_SIZE], reason[1024] = "";
    open_folder(&folder);
    test_path(missing, folder.path, "no/such/folder");
    fcl_wisdom *wisdom = fcl_wisdom_create();
    assert_int_equal(fcl_wisdom_load(wisdom, folder.file, NULL, reason, sizeof reason),
                     FCL_IO_ERROR);
    assert_non_null(strstr(reason, folder.file));
    assert_int_equal(fcl_wisdom_save(wisdom, missing, reason, sizeof reason), FCL_IO_ERROR);
    assert_non_null(strstr(reason, missing));
    assert_int_equal(fcl_wisdom_load(wisdom, folder.path, NULL, NULL, 0), FCL_IO_ERROR);
    assert_int_equal(fcl_wisdom_save(wisdom, NULL, NULL, 0), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_wisdom_save(NULL, folder.file, NULL, 0), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_wisdom_load(wisdom, NULL, NULL, NULL, 0), FCL_INVALID_ARGUMENT);
    fcl_wisdom_destroy(&wisdom);
    test_folder_remove(folder.path);
}

#define PROCESSES 6
#define SAVES 20

// One tuner: saves row after row, each from a collection of its own. Returns how many failed.
static int tune(const char *path, int number)
{
    int failed = 0;
    for (int save = 0; save < SAVES; save++) {
        char device[32];
        snprintf(device, sizeof device, "device %d.%d", number, save);
        fcl_wisdom *wisdom = fcl_wisdom_create();
        const struct fcl_wisdom_row row = make_row(device, "class", 1);
        failed += fcl_wisdom_add(wisdom, &row) != FCL_OK;
        failed += fcl_wisdom_save(wisdom, path, NULL, 0) != FCL_OK;
        fcl_wisdom_destroy(&wisdom);
    }
    return failed;
}

static void assert_nothing_is_lost(const struct folder *folder, size_t tuners)
{
    fcl_wisdom *wisdom = fcl_wisdom_create();
    assert_int_equal(fcl_wisdom_load(wisdom, folder->file, NULL, NULL, 0), FCL_OK);
    assert_int_equal(fcl_wisdom_count(wisdom), tuners * SAVES);
    assert_int_equal(test_folder_count(folder->path, "", NULL), 4); // no temporary file is left
    fcl_wisdom_destroy(&wisdom);
}

static void several_tuners_lose_nothing(void **state)
{
    (void)state;
    struct folder folder;
    pid_t children[PROCESSES];
    open_folder(&folder);
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            _exit(tune(folder.file, i) > 0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_nothing_is_lost(&folder, PROCESSES);
    test_folder_remove(folder.path);
}

#ifdef F_OFD_SETLK
#define THREADS 4

struct tuner {
    const char *path;
    int number, failed;
};

static void *run_tuner(void *argument)
{
    struct tuner *tuner = argument;
    tuner->failed = tune(tuner->path, tuner->number);
    return NULL;
}
#endif

// Where the system has locks that belong to an open file instead of a process.
static void several_threads_lose_nothing(void **state)
{
    (void)state;
#ifdef F_OFD_SETLK
    struct folder folder;
    pthread_t threads[THREADS];
    struct tuner tuners[THREADS];
    open_folder(&folder);
    for (int i = 0; i < THREADS; i++) {
        tuners[i] = (struct tuner){.path = folder.file, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, run_tuner, &tuners[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(tuners[i].failed, 0);
    }
    assert_nothing_is_lost(&folder, THREADS);
    test_folder_remove(folder.path);
#else
    skip();
#endif
}

static void many_rows_are_handled_fast(void **state)
{
    (void)state;
    enum { ROWS = 20000 };
    struct folder folder;
    open_folder(&folder);
    fcl_wisdom *wisdom = fcl_wisdom_create(), *again = fcl_wisdom_create();
    const clock_t start = clock();
    char device[32];
    for (int i = 0; i < ROWS; i++) {
        snprintf(device, sizeof device, "device %d", i);
        add(wisdom, device, "class", i);
    }
    assert_int_equal(fcl_wisdom_save(wisdom, folder.file, NULL, 0), FCL_OK);
    assert_int_equal(fcl_wisdom_save(wisdom, folder.file, NULL, 0), FCL_OK);
    assert_int_equal(fcl_wisdom_load(again, folder.file, NULL, NULL, 0), FCL_OK);
    assert_int_equal(fcl_wisdom_count(again), ROWS);
    for (int i = 0; i < ROWS; i++) {
        snprintf(device, sizeof device, "device %d", i);
        assert_true(fcl_wisdom_find(again, device, "d1", "class")->median_ms == i);
    }
    // A quadratic way needs more than a minute under a sanitizer.
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 10);
    fcl_wisdom_destroy(&wisdom);
    fcl_wisdom_destroy(&again);
    test_folder_remove(folder.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_copied_replaced_and_kept_in_order),
        cmocka_unit_test(rows_that_no_text_can_hold_are_refused),
        cmocka_unit_test(rows_are_found_by_device_driver_and_class),
        cmocka_unit_test(text_round_trips),
        cmocka_unit_test(comments_blank_lines_and_dos_ends_are_allowed),
        cmocka_unit_test(malformed_texts_change_nothing),
        cmocka_unit_test(rows_of_unknown_configurations_are_skipped),
        cmocka_unit_test(half_written_texts_are_refused_whole),
        cmocka_unit_test(saving_merges_and_ours_win),
        cmocka_unit_test(files_keep_their_mode_and_links),
        cmocka_unit_test(files_that_are_not_understood_are_left_alone),
        cmocka_unit_test(unusable_paths_are_named),
        cmocka_unit_test(several_tuners_lose_nothing),
        cmocka_unit_test(several_threads_lose_nothing),
        cmocka_unit_test(many_rows_are_handled_fast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
