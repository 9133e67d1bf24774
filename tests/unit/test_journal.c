// Journals: what was recorded comes back, what was in flight counts as failed.
#include "cmocka_all.h"

#include "files.h"
#include "journal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fixture {
    char path[TEST_PATH_SIZE], reason[512];
    json_t *about;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    test_file_create(f->path);
    f->about = json_pack("{s:s}", "problem", "fwd q8");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    json_decref(f->about);
    unlink(f->path);
    free(f);
    return 0;
}

static struct journal *reopen(struct fixture *f, int resume)
{
    return journal_open(f->path, f->about, "/tmp/x", resume, f->reason, sizeof f->reason);
}

static void write_text(const struct fixture *f, const char *mode, const char *text)
{
    FILE *out = fopen(f->path, mode);
    fputs(text, out);
    fclose(out);
}

static const struct fcl_evaluation good = {.status = FCL_OK,
                                           .ratio = 0.25,
                                           .build_ms = 12.5,
                                           .verify_ms = 1.5,
                                           .timing = {.median_ms = 1.5,
                                                      .min_ms = 1,
                                                      .spread = 0.125,
                                                      .clock = FCL_CLOCK_WALL,
                                                      .samples = 5,
                                                      .batch = 7}};

// Three candidates: one has an outcome, one is in flight, one was only built.
static void record_three(struct fixture *f)
{
    struct journal *journal = reopen(f, 0);
    assert_non_null(journal);
    journal_start(journal, "a");
    journal_record(journal, "a", &good);
    journal_start(journal, "b");
    journal_start(journal, "c");
    journal_end(journal, "c");
    journal_close(&journal, 0);
}

static void outcomes_come_back(void **state)
{
    struct fixture *f = *state;
    struct fcl_evaluation e;
    record_three(f);
    struct journal *journal = reopen(f, 1);
    assert_non_null(journal);
    assert_true(journal_was_unfinished(journal));
    assert_string_equal(journal_folder(journal), "/tmp/x");
    assert_int_equal(journal_count(journal), 2);
    assert_true(journal_find(journal, "a", &e));
    assert_memory_equal(&e.timing, &good.timing, sizeof e.timing);
    assert_true(e.ratio == good.ratio && e.build_ms == good.build_ms &&
                e.verify_ms == good.verify_ms);
    assert_int_equal(e.status, FCL_OK);
    assert_true(journal_find(journal, "b", &e));
    assert_int_equal(e.status, FCL_DEVICE_ERROR);
    assert_string_equal(e.reason, "in flight when tuning ended");
    assert_string_equal(e.bad, "in-flight");
    assert_false(journal_find(journal, "c", &e));
    journal_close(&journal, 1);
    assert_int_equal(access(f->path, F_OK), -1);
}

static void of_several_in_flight_none_is_judged(void **state)
{
    struct fixture *f = *state;
    struct fcl_evaluation e;
    struct journal *journal = reopen(f, 0);
    assert_non_null(journal);
    journal_start(journal, "a");
    journal_start(journal, "b");
    assert_false(journal_suspects(journal, "a"));
    journal_close(&journal, 0);
    journal = reopen(f, 1);
    assert_non_null(journal);
    assert_false(journal_find(journal, "a", &e) || journal_find(journal, "b", &e));
    assert_true(journal_suspects(journal, "a") && journal_suspects(journal, "b"));
    assert_false(journal_suspects(journal, "c") || journal_suspects(NULL, "a"));
    journal_start(journal, "b"); // tried again, alone
    journal_close(&journal, 0);
    journal = reopen(f, 1);
    assert_non_null(journal);
    assert_false(journal_find(journal, "a", &e));
    assert_true(journal_find(journal, "b", &e));
    journal_close(&journal, 1);
}

// Also when the second run ends at once: the judgement is recorded.
static void what_was_in_flight_stays_failed(void **state)
{
    struct fixture *f = *state;
    struct fcl_evaluation e;
    record_three(f);
    struct journal *journal = reopen(f, 1);
    journal_start(journal, "c");
    journal_close(&journal, 0);
    journal = reopen(f, 1);
    assert_int_equal(journal_count(journal), 3);
    assert_true(journal_find(journal, "b", &e) && journal_find(journal, "c", &e));
    journal_close(&journal, 0);
}

static void a_line_that_is_cut_short_is_ignored(void **state)
{
    struct fixture *f = *state;
    struct fcl_evaluation e;
    record_three(f);
    write_text(f, "a", "{\"start\":\"d\"");
    struct journal *journal = reopen(f, 1);
    assert_int_equal(journal_count(journal), 2);
    journal_record(journal, "e", &good);
    journal_close(&journal, 0);
    journal = reopen(f, 1);
    assert_false(journal_find(journal, "d", &e));
    assert_true(journal_find(journal, "e", &e));
    journal_close(&journal, 0);
    write_text(f, "w", "{\"flashcl-journal\":1,\"fol");
    journal = reopen(f, 1);
    assert_non_null(journal);
    assert_false(journal_was_unfinished(journal));
    journal_close(&journal, 0);
}

static void other_files_are_left_alone(void **state)
{
    struct fixture *f = *state;
    char text[16] = "";
    write_text(f, "w", "notes\n");
    assert_null(reopen(f, 0));
    assert_null(reopen(f, 1));
    assert_non_null(strstr(f->reason, "no journal"));
    FILE *in = fopen(f->path, "r");
    assert_non_null(fgets(text, sizeof text, in));
    assert_string_equal(text, "notes\n");
    fclose(in);
}

static void another_tuning_is_refused_or_replaced(void **state)
{
    struct fixture *f = *state;
    record_three(f);
    json_object_set_new(f->about, "problem", json_string("fwd q16"));
    assert_null(reopen(f, 1));
    assert_non_null(strstr(f->reason, "its problem is fwd q8, here it is fwd q16"));
    struct journal *journal = reopen(f, 0);
    assert_non_null(journal);
    assert_null(reopen(f, 1));
    assert_non_null(strstr(f->reason, "in use"));
    journal_close(&journal, 0);
    journal = reopen(f, 1);
    assert_int_equal(journal_count(journal), 0);
    journal_close(&journal, 0);
}

static void infinite_figures_survive(void **state)
{
    struct fixture *f = *state;
    struct fcl_evaluation e = {.status = FCL_WRONG_RESULT, .reason = "\"\xff\"", .ratio = INFINITY};
    struct journal *journal = reopen(f, 0);
    journal_record(journal, "a", &e);
    journal_close(&journal, 0);
    journal = reopen(f, 1);
    assert_true(journal_find(journal, "a", &e));
    assert_true(isinf(e.ratio));
    assert_int_equal(e.status, FCL_WRONG_RESULT);
    assert_string_equal(e.reason, "\" \"");
    journal_close(&journal, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(outcomes_come_back),
        TEST(of_several_in_flight_none_is_judged),
        TEST(what_was_in_flight_stays_failed),
        TEST(a_line_that_is_cut_short_is_ignored),
        TEST(other_files_are_left_alone),
        TEST(another_tuning_is_refused_or_replaced),
        TEST(infinite_figures_survive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
