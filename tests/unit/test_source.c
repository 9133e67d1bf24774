// Expansion of includes from a folder and from the embedded files.
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "core/source.h"
#include "files.h"

// A folder of kernel files, the text expanded from it, and the reason of a failure.
struct kernels {
    char folder[TEST_PATH_SIZE];
    struct fcl_text text;
    char reason[512];
};

static int set_up(void **state)
{
    struct kernels *kernels = calloc(1, sizeof *kernels);
    test_folder_create(kernels->folder);
    *state = kernels;
    return 0;
}

static int tear_down(void **state)
{
    struct kernels *kernels = *state;
    test_folder_remove(kernels->folder);
    fcl_text_free(&kernels->text);
    free(kernels);
    return 0;
}

static void put(struct kernels *kernels, const char *name, const char *text)
{
    char path[TEST_PATH_SIZE];
    test_path(path, kernels->folder, name);
    char *slash = strrchr(path, '/');
    *slash = 0;
    assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
    *slash = '/';
    test_file_write(path, text, strlen(text));
}

static enum fcl_status expand(struct kernels *kernels, const char *name, const char *const *macros)
{
    fcl_text_free(&kernels->text);
    kernels->reason[0] = 0;
    return fcl_source_expand(name, kernels->folder, macros, &kernels->text, kernels->reason,
                             sizeof kernels->reason);
}

static void expands_in_place_with_line_numbers(void **state)
{
    struct kernels *kernels = *state;
    put(kernels, "main.cl", "first\n#include \"lib/a.clh\"\n  #  include\t\"b.clh\"  // why\nlast");
    put(kernels, "lib/a.clh", "a1\n#include \"b.clh\"\na3\n");
    put(kernels, "b.clh", "b1\n");
    assert_int_equal(expand(kernels, "main.cl", NULL), FCL_OK);
    assert_string_equal(kernels->text.data, "#line 1 \"main.cl\"\n"
                                            "first\n"
                                            "#line 1 \"lib/a.clh\"\n"
                                            "a1\n"
                                            "#line 1 \"b.clh\"\n"
                                            "b1\n"
                                            "#line 3 \"lib/a.clh\"\n"
                                            "a3\n"
                                            "#line 3 \"main.cl\"\n"
                                            "\n"
                                            "last\n");
}

static void appends_to_what_is_there(void **state)
{
    struct kernels *kernels = *state;
    put(kernels, "main.cl", "x\n");
    fcl_text_add(&kernels->text, "#define A 1\n");
    assert_int_equal(fcl_source_expand("main.cl", kernels->folder, NULL, &kernels->text, NULL, 0),
                     FCL_OK);
    assert_string_equal(kernels->text.data, "#define A 1\n#line 1 \"main.cl\"\nx\n");
}

static void a_file_that_includes_itself_is_taken_once(void **state)
{
    struct kernels *kernels = *state;
    put(kernels, "main.cl", "#include \"other.cl\"\nm\n");
    put(kernels, "other.cl", "#include \"main.cl\"\no\n");
    assert_int_equal(expand(kernels, "main.cl", NULL), FCL_OK);
    assert_string_equal(kernels->text.data, "#line 1 \"main.cl\"\n"
                                            "#line 1 \"other.cl\"\n\no\n"
                                            "#line 2 \"main.cl\"\nm\n");
}

static void macros_stand_for_files(void **state)
{
    struct kernels *kernels = *state;
    const char *const macros[] = {"TILE_FILE_2", "b.clh", "TILE_FILE", "a.clh", NULL};
    put(kernels, "main.cl", "#include TILE_FILE\r\n");
    put(kernels, "a.clh", "a\n");
    assert_int_equal(expand(kernels, "main.cl", macros), FCL_OK);
    assert_non_null(strstr(kernels->text.data, "#line 1 \"a.clh\"\na\n"));
}

static void includes_that_make_no_sense_are_named(void **state)
{
    struct kernels *kernels = *state;
    const char *const macros[] = {"TILE_FILE", "a.clh", NULL};
    const char *const bad[] = {"<math.h>", "OTHER", "TILE_FILE_2", "TILE_FIL", "\"open", "7"};
    for (size_t i = 0; i < FCL_COUNT(bad); i++) {
        char text[64];
        snprintf(text, sizeof text, "\n#include %s\n", bad[i]);
        put(kernels, "main.cl", text);
        assert_int_equal(expand(kernels, "main.cl", macros), FCL_IO_ERROR);
        assert_non_null(strstr(kernels->reason, "main.cl line 2 includes"));
        assert_non_null(strstr(kernels->reason, bad[i]));
    }
}

static void what_looks_like_an_include_is_left_alone(void **state)
{
    struct kernels *kernels = *state;
    const char *text = "// #include \"missing\"\n"
                       "/* text\n#include \"missing\"\n\" */ int a; /* again\n"
                       "#include \"missing\"\n*/\n"
                       "#included \"missing\"\n"
                       "# define include\n"
                       "const char b = '\"'; // /*\n"
                       "char c = \"/*\\\"\";\n"
                       "#include \"real.clh\"\n";
    put(kernels, "main.cl", text);
    put(kernels, "real.clh", "REAL\n");
    assert_int_equal(expand(kernels, "main.cl", NULL), FCL_OK);
    const char *body = kernels->text.data + strlen("#line 1 \"main.cl\"\n");
    assert_memory_equal(body, text, strlen(text) - strlen("#include \"real.clh\"\n"));
    assert_non_null(strstr(body, "\nREAL\n"));
}

static void missing_files_are_named_with_their_includer(void **state)
{
    struct kernels *kernels = *state;
    put(kernels, "main.cl", "\n\n#include \"lib/gone.clh\"\n");
    assert_int_equal(expand(kernels, "main.cl", NULL), FCL_IO_ERROR);
    assert_non_null(strstr(kernels->reason, "lib/gone.clh, included by main.cl line 3"));
    assert_int_equal(expand(kernels, "none.cl", NULL), FCL_IO_ERROR);
    assert_non_null(strstr(kernels->reason, "none.cl"));
    assert_int_equal(fcl_source_expand("none.cl", NULL, NULL, &kernels->text, NULL, 0),
                     FCL_IO_ERROR);
}

static void nesting_is_limited(void **state)
{
    struct kernels *kernels = *state;
    for (int i = 0; i <= 17; i++) {
        char name[16], text[32];
        snprintf(name, sizeof name, "f%d", i);
        snprintf(text, sizeof text, "#include \"f%d\"\n", i + 1);
        put(kernels, name, i < 17 ? text : "end\n");
    }
    assert_int_equal(expand(kernels, "f0", NULL), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(kernels->reason, "f17, included by f16 line 1"));
    assert_int_equal(expand(kernels, "f1", NULL), FCL_OK); // exactly 16 deep
}

static void a_zero_byte_is_no_source(void **state)
{
    struct kernels *kernels = *state;
    char path[TEST_PATH_SIZE];
    test_path(path, kernels->folder, "main.cl");
    test_file_write(path, "a\0b\n", 4);
    assert_int_equal(expand(kernels, "main.cl", NULL), FCL_IO_ERROR);
    assert_non_null(strstr(kernels->reason, "0 byte"));
}

static void empty_files_are_fine(void **state)
{
    struct kernels *kernels = *state;
    put(kernels, "main.cl", "");
    assert_int_equal(expand(kernels, "main.cl", NULL), FCL_OK);
    assert_string_equal(kernels->text.data, "#line 1 \"main.cl\"\n");
}

// The embedded table must hold what tools/embed.py was given: every file reads the same from a
// folder that holds the table's bytes.
static void embedded_files_expand_as_a_folder_does(void **state)
{
    struct kernels *kernels = *state;
    assert_true(fcl_embedded_count > 0);
    for (size_t i = 0; i < fcl_embedded_count; i++) {
        const struct fcl_embedded_file *file = &fcl_embedded_files[i];
        char *text = calloc(file->size + 1, 1);
        memcpy(text, file->data, file->size);
        put(kernels, file->name, text);
        free(text);
        assert_ptr_equal(fcl_embedded_find(file->name), file);
    }
    assert_null(fcl_embedded_find("attention"));
    assert_null(fcl_embedded_find(""));
    size_t expanded = 0;
    for (size_t i = 0; i < fcl_embedded_count; i++) {
        const char *name = fcl_embedded_files[i].name;
        const char *const macros[] = {"FCL_TILE_FILE", name, NULL};
        struct fcl_text embedded = {0};
        const enum fcl_status status = expand(kernels, name, macros);
        assert_int_equal(fcl_source_expand(name, NULL, macros, &embedded, NULL, 0), status);
        if (status == FCL_OK) {
            assert_string_equal(embedded.data, kernels->text.data);
            expanded++;
        }
        fcl_text_free(&embedded);
    }
    assert_true(expanded > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(expands_in_place_with_line_numbers),
        TEST(appends_to_what_is_there),
        TEST(a_file_that_includes_itself_is_taken_once),
        TEST(macros_stand_for_files),
        TEST(includes_that_make_no_sense_are_named),
        TEST(what_looks_like_an_include_is_left_alone),
        TEST(missing_files_are_named_with_their_includer),
        TEST(nesting_is_limited),
        TEST(a_zero_byte_is_no_source),
        TEST(empty_files_are_fine),
        TEST(embedded_files_expand_as_a_folder_does),
    };
    return cmocka_run_group_tests_name("source", tests, NULL, NULL);
}
