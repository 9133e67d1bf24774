// PTX for sm_90 made PTX for sm_90a, on the text of a driver.
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/retarget.h"
#include "files.h"

#define GOOD ".target sm_90\n.entry x()\n.reqntid 384\n{ ret; }\n"

static size_t count(const char *text, const char *what)
{
    size_t found = 0;
    for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what))
        found++;
    return found;
}

static void a_drivers_text_gets_two_edits(void **state)
{
    (void)state;
    char path[TEST_PATH_SIZE], reason[256] = "";
    const char *folder = getenv("FCL_TEST_DATA");
    struct fcl_text edited = {0};
    size_t size;
    assert_non_null(folder);
    test_path(path, folder, "data/ptx/sm_90.ptx");
    unsigned char *ptx = test_file_read(path, &size);
    assert_int_equal(fcl_retarget(ptx, size, &edited, reason, sizeof reason), FCL_OK);
    assert_non_null(strstr(edited.data, "\n.target sm_90a, texmode_independent\n.address_size 64"));
    assert_non_null(strstr(edited.data, ")\n.minnctapersm 1\n.reqntid 512, 1, 1\n{"));
    assert_non_null(strstr(edited.data, ")\n.minnctapersm 1\n.reqntid 64, 1, 1\n{"));
    assert_non_null(strstr(edited.data, "// .target sm_90 and .reqntid in a comment stay\n"));
    assert_int_equal(edited.length, size + 1 + 2 * strlen(".minnctapersm 1\n"));
    fcl_text_free(&edited);
    free(ptx);
}

static void what_is_no_such_text_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *ptx, *reason;
    } rows[] = {
        {"", "has 0 .target"},
        {"\x7f"
         "ELF",
         "has 0 .target"},
        {".entry x()\n.reqntid 384\n", "has 0 .target"},
        {".target sm_90\n.entry x()\n{ ret; }\n", "0 .reqntid"},
        {".target sm_90\n.target sm_90\n.reqntid 384\n", "has 2 .target"},
        {".target sm_90a\n.reqntid 384\n", "is not for sm_90: .target sm_90a"},
        {".target sm_80\n.reqntid 384\n", "is not for sm_90: .target sm_80"},
        {".target", "is not for sm_90: .target"},
        {".target sm_90\n.minnctapersm 1\n.reqntid 384\n", "1 .minnctapersm"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fcl_text edited = {0};
        char reason[256] = "";
        assert_int_equal(
            fcl_retarget(rows[i].ptx, strlen(rows[i].ptx), &edited, reason, sizeof reason),
            FCL_UNSUPPORTED);
        if (strstr(reason, rows[i].reason) == NULL)
            fail_msg("row %d: %s", (int)i, reason);
        fcl_text_free(&edited);
    }
    struct fcl_text edited = {0};
    assert_int_equal(fcl_retarget(NULL, 0, &edited, NULL, 0), FCL_UNSUPPORTED);
    fcl_text_free(&edited);
}

// Some drivers count a final 0, some end without a newline; nothing behind the size is read.
static void a_text_ends_where_its_size_or_a_0_says(void **state)
{
    (void)state;
    static const char expected[] =
        ".target sm_90a\n.entry x()\n.minnctapersm 1\n.reqntid 384\n{ ret; }\n";
    for (size_t cut = 0; cut < 2; cut++) {
        char *exact = malloc(sizeof GOOD - 1 - cut);
        struct fcl_text edited = {0};
        assert_non_null(exact);
        memcpy(exact, GOOD, sizeof GOOD - 1 - cut);
        assert_int_equal(fcl_retarget(exact, sizeof GOOD - 1 - cut, &edited, NULL, 0), FCL_OK);
        assert_int_equal(edited.length, sizeof expected - 1 - cut);
        assert_memory_equal(edited.data, expected, edited.length);
        fcl_text_free(&edited);
        free(exact);
    }
    struct fcl_text edited = {0};
    assert_int_equal(fcl_retarget(GOOD, sizeof GOOD, &edited, NULL, 0), FCL_OK);
    assert_string_equal(edited.data, expected);
    assert_int_equal(count(edited.data, ".minnctapersm"), 1);
    fcl_text_free(&edited);
}

static void warnings_that_count_are_found(void **state)
{
    (void)state;
    char line[64] = "";
    assert_true(fcl_retarget_warning("ptxas info : x\n"
                                     "ptxas warning : (C7512) Potential Performance Loss: wgmma "
                                     "serialized\nptxas info : y\n",
                                     line, 30));
    assert_string_equal(line, "ptxas warning : (C7512) Poten");
    static const char *const codes[] = {"C7511", "C7513", "C7515"};
    for (size_t i = 0; i < 3; i++) {
        char log[64];
        snprintf(log, sizeof log, "info\r\n%s\r\nmore", codes[i]);
        assert_true(fcl_retarget_warning(log, line, sizeof line));
        assert_string_equal(line, codes[i]);
    }
    assert_false(fcl_retarget_warning("ptxas warning : C7519, C751", line, sizeof line));
    assert_false(fcl_retarget_warning("", line, sizeof line));
    assert_false(fcl_retarget_warning(NULL, line, sizeof line));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_drivers_text_gets_two_edits),
        cmocka_unit_test(what_is_no_such_text_is_refused),
        cmocka_unit_test(a_text_ends_where_its_size_or_a_0_says),
        cmocka_unit_test(warnings_that_count_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
