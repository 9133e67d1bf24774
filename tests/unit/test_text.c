// Growable texts, files as texts, and the lines of a source.
#include "cmocka_all.h"

#include <errno.h>

#include "core/text.h"
#include "files.h"

static void grows_as_it_is_written(void **state)
{
    (void)state;
    struct fcl_text text = {0};
    for (int i = 0; i < 10000; i++)
        fcl_text_add(&text, "%d,", i % 10);
    assert_int_equal(text.length, 20000);
    assert_int_equal(strlen(text.data), 20000);
    assert_memory_equal(text.data + 19996, "8,9,", 4);
    fcl_text_free(&text);
    assert_null(text.data);
}

static void holds_any_bytes(void **state)
{
    (void)state;
    struct fcl_text text = {0};
    fcl_text_add_bytes(&text, "a\0b", 3);
    fcl_text_add_bytes(&text, "", 0);
    fcl_text_add(&text, "%s", "c");
    assert_int_equal(text.length, 4);
    assert_memory_equal(text.data, "a\0bc", 5);
    fcl_text_free(&text);
}

static void fails_once_and_stays_failed(void **state)
{
    (void)state;
    struct fcl_text text = {0};
    fcl_text_add(&text, "kept");
    fcl_text_add_bytes(&text, "x", SIZE_MAX - 10);
    assert_true(text.failed);
    fcl_text_add(&text, "ignored");
    fcl_text_add_bytes(&text, "x", 1);
    assert_string_equal(text.data, "kept");
    fcl_text_free(&text);
    assert_false(text.failed);
}

static void emits_cut_to_the_size(void **state)
{
    (void)state;
    char out[8];
    for (size_t size = 0; size <= sizeof out; size++) {
        struct fcl_text text = {0};
        fcl_text_add(&text, "12345");
        memset(out, '#', sizeof out);
        assert_int_equal(fcl_text_emit(&text, out, size), 5);
        assert_null(text.data);
        const size_t kept = size == 0 ? 0 : size > 5 ? 5 : size - 1;
        assert_memory_equal(out, "12345", kept);
        if (size > 0)
            assert_int_equal(out[kept], 0);
        for (size_t i = size == 0 ? 0 : kept + 1; i < sizeof out; i++)
            assert_int_equal(out[i], '#');
    }
    struct fcl_text empty = {0};
    assert_int_equal(fcl_text_emit(&empty, out, sizeof out), 0);
    assert_string_equal(out, "");
    assert_int_equal(fcl_text_emit(&empty, NULL, 0), 0);
}

static void copies(void **state)
{
    (void)state;
    char *copy = fcl_text_copy("some text");
    assert_string_equal(copy, "some text");
    free(copy);
}

static void reads_files_of_any_size(void **state)
{
    (void)state;
    static unsigned char bytes[40000];
    const size_t sizes[] = {0, 1, 16383, 16384, 16385, 32768, sizeof bytes};
    char folder[TEST_PATH_SIZE], path[TEST_PATH_SIZE];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7);
    test_folder_create(folder);
    test_path(path, folder, "file");
    for (size_t i = 0; i < FCL_COUNT(sizes); i++) {
        struct fcl_text text = {0};
        fcl_text_add(&text, "before");
        test_file_write(path, bytes, sizes[i]);
        assert_int_equal(fcl_text_read_file(&text, path), 0);
        assert_int_equal(text.length, 6 + sizes[i]);
        assert_memory_equal(text.data, "before", 6);
        assert_memory_equal(text.data + 6, bytes, sizes[i]);
        assert_int_equal(text.data[text.length], 0);
        fcl_text_free(&text);
    }
    test_folder_remove(folder);
}

static void unreadable_files_leave_the_text_alone(void **state)
{
    (void)state;
    char folder[TEST_PATH_SIZE], path[TEST_PATH_SIZE];
    struct fcl_text text = {0};
    fcl_text_add(&text, "before");
    test_folder_create(folder);
    test_path(path, folder, "missing");
    assert_int_equal(fcl_text_read_file(&text, path), ENOENT);
    assert_int_equal(fcl_text_read_file(&text, folder), EISDIR);
    assert_string_equal(text.data, "before");
    assert_int_equal(text.length, 6);
    fcl_text_free(&text);
    test_folder_remove(folder);
}

static void numbers_lines(void **state)
{
    (void)state;
    struct fcl_text text = {0};
    fcl_text_add_numbered(&text, "one\n\nthree\nfour", 2, 4);
    assert_string_equal(text.data, "    2 | \n    3 | three\n    4 | four\n");
    fcl_text_free(&text);
    fcl_text_add_numbered(&text, "one\n", 2, 9);
    assert_null(text.data);
}

static void numbers_follow_line_directives(void **state)
{
    (void)state;
    struct fcl_text text = {0};
    fcl_text_add_numbered(&text, "a\n#line 40 \"x.clh\"\nb\nc\n  #line 7\nd\n#lines\n#line\n", 1,
                          99);
    assert_string_equal(text.data, "    1 | a\n"
                                   "      | #line 40 \"x.clh\"\n"
                                   "   40 | b\n"
                                   "   41 | c\n"
                                   "      |   #line 7\n"
                                   "    7 | d\n"
                                   "    8 | #lines\n"
                                   "    9 | #line\n");
    fcl_text_free(&text);
}

static void lines_know_their_file(void **state)
{
    (void)state;
    const char *source = "a\n#line 1 \"f.cl\"\nb\n#line 30\nc\n#line 2 \"g.cl\"\nd";
    const struct {
        size_t number;
        const char *file;
    } expected[] = {{1, ""}, {1, "f.cl"}, {30, "f.cl"}, {2, "g.cl"}};
    struct fcl_line line = {0};
    size_t count = 0;
    while (fcl_line_next(&line, source)) {
        if (line.directive)
            continue;
        assert_int_equal(line.number, expected[count].number);
        assert_int_equal(line.file_length, strlen(expected[count].file));
        assert_memory_equal(line.file_length ? line.file : "", expected[count].file,
                            line.file_length);
        count++;
    }
    assert_int_equal(count, FCL_COUNT(expected));
    assert_int_equal(line.place, 7);
    struct fcl_line none = {0};
    assert_false(fcl_line_next(&none, ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_as_it_is_written),
        cmocka_unit_test(holds_any_bytes),
        cmocka_unit_test(fails_once_and_stays_failed),
        cmocka_unit_test(emits_cut_to_the_size),
        cmocka_unit_test(copies),
        cmocka_unit_test(reads_files_of_any_size),
        cmocka_unit_test(unreadable_files_leave_the_text_alone),
        cmocka_unit_test(numbers_lines),
        cmocka_unit_test(numbers_follow_line_directives),
        cmocka_unit_test(lines_know_their_file),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
