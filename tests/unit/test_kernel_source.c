// A user's kernel file and what it includes, as one text.
#include "cmocka_all.h"

#include <flashcl/kernel.h>

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/common.h"
#include "files.h"

struct kernel {
    char folder[TEST_PATH_SIZE];
    char *text;
    char reason[512];
};

static int set_up(void **state)
{
    struct kernel *kernel = calloc(1, sizeof *kernel);
    test_folder_create(kernel->folder);
    *state = kernel;
    return 0;
}

static int tear_down(void **state)
{
    struct kernel *kernel = *state;
    test_folder_remove(kernel->folder);
    free(kernel->text);
    free(kernel);
    return 0;
}

static void put(struct kernel *kernel, const char *name, const char *text)
{
    char path[TEST_PATH_SIZE];
    test_path(path, kernel->folder, name);
    char *slash = strrchr(path, '/');
    *slash = 0;
    assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
    *slash = '/';
    test_file_write(path, text, strlen(text));
}

// Reads k.cl.
static enum fcl_status read_kernel(struct kernel *kernel, const char *options)
{
    char path[TEST_PATH_SIZE];
    test_path(path, kernel->folder, "k.cl");
    free(kernel->text);
    return fcl_kernel_source_read(path, "k.cl", options, &kernel->text, kernel->reason,
                                  sizeof kernel->reason);
}

// What k.cl, of this text, becomes.
static const char *expanded(struct kernel *kernel, const char *text)
{
    put(kernel, "k.cl", text);
    assert_int_equal(read_kernel(kernel, NULL), FCL_OK);
    return kernel->text;
}

static void a_file_without_includes_stays_as_it_is(void **state)
{
    struct kernel *kernel = *state;
    put(kernel, "a.h", "A\n");
    const char *const texts[] = {
        "",
        "no newline",
        "dos\r\n#pragma once\r\n",
        "#include <a.h>\n#include A\n#include\n#include \"none.h\" // why\n",
        "#include_next \"a.h\"\n#includes\n# define include \"a.h\"\n#include \"a.h\n",
        "// #include \"a.h\"\n/*\n#include \"a.h\"\n*/ #include \"a.h\"\n",
        "// goes on \\\n#include \"a.h\"\n// and on \\\r\n#include \"a.h\"\r\n",
        "#define B \\\n#include \"a.h\"\n",
        "char c[] = \"\\\"/*\\\n#include \"; // '\n",
        "#include \"..\"\n#include \"\"\n",
    };
    for (size_t i = 0; i < FCL_COUNT(texts); i++)
        assert_string_equal(expanded(kernel, texts[i]), texts[i]);
}

static void includes_are_found_everywhere_else(void **state)
{
    struct kernel *kernel = *state;
    put(kernel, "a.h", "A");
    const char *const texts[] = {"#include \"a.h\"",
                                 "\t# include\"a.h\"\r\n",
                                 "/* x */ #/**/include /* y */ \"a.h\"\n",
                                 "'\"'; // /*\n#include \"a.h\"\n",
                                 "#error don't\n#include \"a.h\"\n",
                                 "\"/*\\\n/*\" // \\ \n\n#include \"a.h\"\n",
                                 "#if 0\n#include \"a.h\"\n#endif\n"};
    for (size_t i = 0; i < FCL_COUNT(texts); i++)
        assert_non_null(strstr(expanded(kernel, texts[i]), "#line 1 \"a.h\"\nA\n#line "));
}

static void names_and_lines_hold(void **state)
{
    struct kernel *kernel = *state;
    put(kernel, "lib/a.h", "a1\n#include \"b.h\"\na3");
    put(kernel, "lib/b.h", "b1\n");
    assert_string_equal(expanded(kernel, "k1\n#include \"lib/a.h\" /* a\n*/ k3\n"
                                         "#line 70 \"y.y\"\n#include \"lib/b.h\"\nend"),
                        "k1\n"
                        "#line 1 \"lib/a.h\"\na1\n"
                        "#line 1 \"lib/b.h\"\nb1\n"
                        "#line 2 \"lib/a.h\"\n\na3\n"
                        "#line 2 \"k.cl\"\n /* a\n*/ k3\n"
                        "#line 70 \"y.y\"\n"
                        "#line 1 \"lib/b.h\"\nb1\n"
                        "#line 70 \"y.y\"\n\nend");
}

static void files_are_searched_in_order(void **state)
{
    struct kernel *kernel = *state;
    char options[4 * TEST_PATH_SIZE], folder[TEST_PATH_SIZE];
    put(kernel, "k.cl", "#include \"a.h\"\n");
    put(kernel, "one/a.h", "one\n");
    put(kernel, "two two/a.h", "two\n");
    assert_non_null(getcwd(folder, sizeof folder));
    assert_int_equal(chdir(kernel->folder), 0);
    snprintf(options, sizeof options, "-w -I  \"two two\" -Ione -DA=\"-Inone b\" -I");
    assert_int_equal(read_kernel(kernel, options), FCL_OK);
    assert_string_equal(kernel->text, "#line 1 \"two two/a.h\"\ntwo\n#line 1 \"k.cl\"\n\n");
    snprintf(options, sizeof options, "-I nowhere\t-I%s/one", kernel->folder);
    assert_int_equal(read_kernel(kernel, options), FCL_OK);
    assert_non_null(strstr(kernel->text, "/one/a.h\"\none\n"));
    // In the current folder, which is none of these, only where nothing else is.
    put(kernel, "k.cl", "#include \"lib/b.h\"\n");
    put(kernel, "lib/b.h", "#include \"c.h\"\n");
    put(kernel, "c.h", "current\n");
    assert_int_equal(read_kernel(kernel, NULL), FCL_OK);
    assert_non_null(strstr(kernel->text, "#line 1 \"c.h\"\ncurrent\n"));
    put(kernel, "one/c.h", "folder\n");
    assert_int_equal(read_kernel(kernel, "-I one"), FCL_OK);
    assert_non_null(strstr(kernel->text, "\"one/c.h\"\nfolder\n"));
    put(kernel, "lib/c.h", "beside\n");
    assert_int_equal(read_kernel(kernel, "-I one"), FCL_OK);
    assert_non_null(strstr(kernel->text, "#line 1 \"lib/c.h\"\nbeside\n"));
    assert_int_equal(chdir(folder), 0);
}

// A branch that is not taken must not take the file from the one that is.
static void pragma_once_becomes_a_guard(void **state)
{
    struct kernel *kernel = *state;
    put(kernel, "a.h", "# pragma  once // so\nA\n");
    put(kernel, "b.h", "/*\n#pragma once\n*/\n");
    put(kernel, "c.h", "#pragma once\n");
    assert_string_equal(
        expanded(kernel,
                 "#include \"a.h\"\n#include \"b.h\"\n#include \"c.h\"\n#include \"./a.h\"\n"),
        "#ifndef FCL_ONCE_0\n#define FCL_ONCE_0\n#line 1 \"a.h\"\n\nA\n#endif\n"
        "#line 1 \"k.cl\"\n\n"
        "#line 1 \"b.h\"\n/*\n#pragma once\n*/\n#line 2 \"k.cl\"\n\n"
        "#ifndef FCL_ONCE_1\n#define FCL_ONCE_1\n#line 1 \"c.h\"\n\n#endif\n"
        "#line 3 \"k.cl\"\n\n"
        "#ifndef FCL_ONCE_0\n#define FCL_ONCE_0\n#line 1 \"./a.h\"\n\nA\n#endif\n"
        "#line 4 \"k.cl\"\n\n");
}

// With guards each includes the other, as C allows.
static void a_file_within_itself_keeps_its_includes(void **state)
{
    struct kernel *kernel = *state;
    put(kernel, "a.h", "#include \"b.h\"\nA\n");
    char path[TEST_PATH_SIZE];
    test_path(path, kernel->folder, "x");
    assert_int_equal(symlink(kernel->folder, path), 0);
    put(kernel, "b.h", "#include \"x/a.h\"\nB\n");
    assert_string_equal(expanded(kernel, "#include \"a.h\"\n"),
                        "#line 1 \"a.h\"\n"
                        "#line 1 \"b.h\"\n"
                        "#line 1 \"x/a.h\"\n#include \"b.h\"\nA\n"
                        "#line 1 \"b.h\"\n\nB\n"
                        "#line 1 \"a.h\"\n\nA\n"
                        "#line 1 \"k.cl\"\n\n");
    assert_int_equal(unlink(path), 0);
}

static void depth_and_size_are_limited(void **state)
{
    struct kernel *kernel = *state;
    char name[16], text[64];
    for (int i = 0; i <= 33; i++) {
        snprintf(name, sizeof name, "f%d", i);
        snprintf(text, sizeof text, "#include \"f%d\"\n", i + 1);
        put(kernel, name, i < 33 ? text : "end\n");
    }
    put(kernel, "k.cl", "#include \"f1\"\n");
    assert_int_equal(read_kernel(kernel, NULL), FCL_INVALID_ARGUMENT);
    assert_string_equal(kernel->reason, "f33, included by f32, is nested more than 32 deep");
    assert_null(kernel->text);
    assert_non_null(strstr(expanded(kernel, "#include \"f2\"\n"), "\nend\n")); // exactly 32 deep
    for (int i = 1; i <= 30; i++) {
        snprintf(name, sizeof name, "f%d", i);
        snprintf(text, sizeof text, "#include \"f%d\"\n#include \"f%d\"\n", i + 1, i + 1);
        put(kernel, name, text);
    }
    put(kernel, "k.cl", "#include \"f1\"\n");
    char *large = calloc((1 << 20) + 1, 1);
    memset(large, '\n', 1 << 20);
    put(kernel, "f31", large);
    free(large);
    assert_int_equal(read_kernel(kernel, NULL), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(kernel->reason, "the kernel source is larger than 16777216 bytes"));
}

static void failures_are_told(void **state)
{
    struct kernel *kernel = *state;
    char path[TEST_PATH_SIZE];
    assert_int_equal(read_kernel(kernel, NULL), FCL_IO_ERROR);
    assert_non_null(strstr(kernel->reason, "k.cl: cannot be read: No such file"));
    assert_null(kernel->text);
    put(kernel, "k.cl", "#include \"a.h\"\n");
    test_path(path, kernel->folder, "a.h");
    test_file_write(path, "a\0b\n", 4);
    assert_int_equal(read_kernel(kernel, NULL), FCL_IO_ERROR);
    assert_string_equal(kernel->reason, "a.h holds a 0 byte: it is no source text");
    char *text;
    assert_int_equal(fcl_kernel_source_read(NULL, "k", NULL, &text, NULL, 0), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_kernel_source_read(path, NULL, NULL, &text, NULL, 0),
                     FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_kernel_source_read(path, "k", NULL, NULL, NULL, 0), FCL_INVALID_ARGUMENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_without_includes_stays_as_it_is),
        TEST(includes_are_found_everywhere_else),
        TEST(names_and_lines_hold),
        TEST(files_are_searched_in_order),
        TEST(pragma_once_becomes_a_guard),
        TEST(a_file_within_itself_keeps_its_includes),
        TEST(depth_and_size_are_limited),
        TEST(failures_are_told),
    };
    return cmocka_run_group_tests_name("kernel source", tests, NULL, NULL);
}
