// .npy files: what is read, what is refused and with which sentence, truncation at every byte,
// random damage, and writing.
#include "cmocka_all.h"

#include <stdio.h>
#include <unistd.h>

#include "files.h"
#include "npy.h"

#define FILE_LIMIT 4096

// A file in memory.
struct image {
    unsigned char bytes[FILE_LIMIT];
    size_t size;
};

static void add(struct image *image, const void *bytes, size_t size)
{
    assert_true(image->size + size <= FILE_LIMIT);
    memcpy(image->bytes + image->size, bytes, size);
    image->size += size;
}

// Magic, version, length and the dictionary, then `data` bytes.
static struct image make(int major, const char *dictionary, size_t data)
{
    struct image image = {.size = 0};
    static const unsigned char zeros[256];
    size_t length = strlen(dictionary);
    const unsigned char version[] = {(unsigned char)major, 0};
    const unsigned char lengths[] = {(unsigned char)(length & 0xff), (unsigned char)(length >> 8),
                                     0, 0};
    add(&image, "\x93NUMPY", 6);
    add(&image, version, 2);
    add(&image, lengths, major == 1 ? 2 : 4);
    add(&image, dictionary, length);
    add(&image, zeros, data);
    return image;
}

#define GOOD "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }          \n"

// Parses a copy of exactly the size, so that a read behind the end is seen by a sanitiser.
static int parse(const struct image *image, size_t size, struct npy_header *header, char *reason,
                 size_t reason_size)
{
    unsigned char *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, image->bytes, size);
    int good = npy_parse(copy, size, header, reason, reason_size);
    free(copy);
    return good;
}

static void headers_that_are_right(void **state)
{
    (void)state;
    static const struct {
        const char *dictionary;
        enum npy_type type;
        int rank;
        int64_t shape[NPY_RANK_LIMIT];
        size_t data_size;
    } cases[] = {
        {GOOD, NPY_F4, 2, {2, 3}, 24},
        {"{'descr': '<f2', 'fortran_order': False, 'shape': (5,), }", NPY_F2, 1, {5}, 10},
        {"{\"shape\":(1,2,3,4),\"fortran_order\":False,\"descr\":\"<u2\"}",
         NPY_U2,
         4,
         {1, 2, 3, 4},
         48},
        {"{ 'descr' : '<f4' , 'fortran_order' : False , 'shape' : ( 0 , 7 ) }",
         NPY_F4,
         2,
         {0, 7},
         0},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': ()}", NPY_F4, 0, {0}, 4},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 0)}",
         NPY_F4,
         2,
         {INT64_MAX, 0},
         0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int major = 1; major <= 3; major++) {
            struct image image = make(major, cases[i].dictionary, 0);
            struct npy_header header;
            char reason[256] = "";
            if (!parse(&image, image.size, &header, reason, sizeof(reason))) {
                fail_msg("%s: %s", cases[i].dictionary, reason);
            }
            assert_int_equal(header.type, cases[i].type);
            assert_int_equal(header.rank, cases[i].rank);
            assert_memory_equal(header.shape, cases[i].shape, sizeof(header.shape));
            assert_int_equal(header.data_size, cases[i].data_size);
            assert_int_equal(header.data_offset, image.size);
        }
    }
}

static void headers_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        int major;
        const char *dictionary, *reason; // a part of it
    } cases[] = {
        {0, GOOD, "format version 0.0; 1.0, 2.0 and 3.0"},
        {4, GOOD, "format version 4.0"},
        {1, "", "not a Python dictionary"},
        {1, "[]", "not a Python dictionary"},
        {1, "{", "not a Python dictionary"},
        {1, "{'descr'", "not a Python dictionary"},
        {1, "{'descr': '<f4' 'shape'", "not a Python dictionary"},
        {1, "{}", "lacks one of"},
        {1, "{'descr': '<f4', 'shape': (1,)}", "lacks one of"},
        {1, "{'descr': '<f4', 'descr': '<f4'}", "'descr' is there twice"},
        {1, "{'other': 1}", "'other' is unknown"},
        {1, "{'descr': 4}", "not a quoted text"},
        {1, "{'descr': '<f4", "not a quoted text"},
        {1, "{'descr': '>f4'}", "'>f4' (big-endian)"},
        {1, "{'descr': '<f8'}", "'<f8'; '<f4', '<f2', '<u2', '<i4', '|u1' and '|b1'"},
        {1, "{'descr': '<i8'}", "'<i8'"},
        {1, "{'descr': '|b2'}", "'|b2'"},
        {1, "{'descr': '<f4xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'}", "'<f4xxx"},
        {1, "{'descr': [('a', '<f4')]}", "a structure"},
        {1, "{'fortran_order': True}", "Fortran order"},
        {1, "{'fortran_order': 0}", "neither True nor False"},
        {1, "{'shape': 3}", "not a tuple"},
        {1, "{'shape': (3)}", "not a tuple"},
        {1, "{'shape': (3", "not a tuple"},
        {1, "{'shape': (3,", "not a whole number"},
        {1, "{'shape': (-3,)}", "not a whole number"},
        {1, "{'shape': (3.5,)}", "not a tuple"},
        {1, "{'shape': (,)}", "not a whole number"},
        {1, "{'shape': (9223372036854775808,)}", "exceeds 9223372036854775807"},
        {1, "{'shape': (1,1,1,1,1,1,1,1,1)}", "more than 8 dimensions"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 2)}",
         "more bytes than memory"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
         "more bytes than memory"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} 1", "something follows"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct image image = make(cases[i].major, cases[i].dictionary, 0);
        struct npy_header header = {.rank = 77};
        char reason[256] = "";
        assert_false(parse(&image, image.size, &header, reason, sizeof(reason)));
        if (strstr(reason, cases[i].reason) == NULL) {
            fail_msg("%s: '%s' does not say '%s'", cases[i].dictionary, reason, cases[i].reason);
        }
        assert_int_equal(header.rank, 77); // untouched
    }
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    for (int major = 1; major <= 3; major++) {
        struct image image = make(major, GOOD, 0);
        for (size_t size = 0; size < image.size; size++) {
            struct npy_header header;
            char reason[256] = "";
            assert_false(parse(&image, size, &header, reason, sizeof(reason)));
            assert_true(reason[0] != '\0');
        }
    }
}

static void header_length_is_limited(void **state)
{
    (void)state;
    static const unsigned char bytes[] = "\x93NUMPY\x02\x00\xff\xff\xff\xff{}";
    struct npy_header header;
    char reason[256] = "";
    assert_false(npy_parse(bytes, sizeof(bytes) - 1, &header, reason, sizeof(reason)));
    assert_non_null(strstr(reason, "claims 4294967295 bytes"));
}

static void reasons_are_cut_to_their_buffer(void **state)
{
    (void)state;
    struct image image = make(1, "{'descr': '>f4'}", 0);
    struct npy_header header;
    char reason[10];
    memset(reason, 'x', sizeof(reason));
    assert_false(parse(&image, image.size, &header, reason, 8));
    assert_int_equal(strlen(reason), 7);
    assert_int_equal(reason[8], 'x');
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

// Whatever the bytes, parsing ends, reads nothing behind the end, and gives only what is allowed.
static void damage_never_gives_nonsense(void **state)
{
    (void)state;
    uint32_t random = 1;
    int accepted = 0;
    for (int round = 0; round < 200000; round++) {
        struct image image = make(1 + (int)(next_random(&random) % 3), GOOD, 0);
        int changes = 1 + (int)(next_random(&random) % 2);
        for (int c = 0; c < changes; c++) {
            static const char likely[] = "{}()[]'\",: 0123456789<>fu42FTrue\0\xff";
            size_t at = next_random(&random) % image.size;
            image.bytes[at] = (unsigned char)likely[next_random(&random) % (sizeof(likely) - 1)];
        }
        size_t size = image.size - (next_random(&random) % 4 == 0);
        struct npy_header header;
        char reason[256] = "";
        if (parse(&image, size, &header, reason, sizeof(reason))) {
            accepted++;
            size_t bytes = npy_type_size(header.type);
            assert_in_range(header.rank, 0, NPY_RANK_LIMIT);
            assert_true(header.data_offset <= size);
            for (int i = 0; i < header.rank; i++) {
                assert_true(header.shape[i] >= 0);
                bytes *= (size_t)header.shape[i];
            }
            assert_int_equal(header.data_size, bytes);
        } else {
            assert_true(reason[0] != '\0');
        }
    }
    assert_in_range(accepted, 1000, 199000); // both outcomes were tried
}

// ---- Files ------------------------------------------------------------------------------------

static void save(const char *path, const struct image *image, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(image->bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void refuse_file(const char *path, const char *part)
{
    struct npy_array array;
    char reason[512] = "";
    assert_false(npy_read(path, &array, reason, sizeof(reason)));
    assert_null(array.data);
    assert_int_equal(strncmp(reason, path, strlen(path)), 0);
    if (strstr(reason, part) == NULL) {
        fail_msg("'%s' does not say '%s'", reason, part);
    }
}

static void file_sizes_must_fit_the_shape(void **state)
{
    (void)state;
    char path[TEST_PATH_SIZE];
    test_file_create(path);
    struct image image = make(1, GOOD, 24);
    struct npy_array array;
    char reason[512] = "";
    save(path, &image, image.size);
    assert_true(npy_read(path, &array, reason, sizeof(reason)));
    assert_int_equal(array.header.data_size, 24);
    npy_free(&array);
    assert_null(array.data);
    for (size_t size = 0; size < image.size; size++) {
        save(path, &image, size);
        refuse_file(path, size + 24 < image.size ? "" : "its shape needs 24");
    }
    image = make(1, GOOD, 25);
    save(path, &image, image.size);
    refuse_file(path, "the file holds 25 bytes of data, its shape needs 24");
    image =
        make(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4000000000, 500000000)}", 24);
    save(path, &image, image.size);
    refuse_file(path, "its shape needs 8000000000000000000");
    assert_int_equal(remove(path), 0);
    refuse_file(path, "cannot be opened");
    refuse_file("/tmp", "cannot be read");
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    static const int64_t shape[] = {2, 1, 3, 4};
    char path[TEST_PATH_SIZE];
    unsigned char data[2 * 3 * 4 * 4];
    for (size_t i = 0; i < sizeof(data); i++) {
        data[i] = (unsigned char)(i * 7);
    }
    test_file_create(path);
    static const enum npy_type types[] = {NPY_F4, NPY_F2, NPY_U2, NPY_I4};
    for (size_t t = 0; t < 4; t++) {
        for (int rank = 1; rank <= 4; rank++) {
            FILE *file = fopen(path, "wb");
            assert_non_null(file);
            assert_true(npy_write(file, types[t], rank, shape, data));
            assert_int_equal(fclose(file), 0);
            struct npy_array array;
            char reason[512];
            assert_true(npy_read(path, &array, reason, sizeof(reason)));
            assert_int_equal(array.header.type, types[t]);
            assert_int_equal(array.header.rank, rank);
            assert_memory_equal(array.header.shape, shape, (size_t)rank * sizeof(shape[0]));
            assert_int_equal(array.header.data_offset % 64, 0);
            assert_memory_equal(array.data, data, array.header.data_size);
            npy_free(&array);
        }
    }
    remove(path);
}

static void a_stream_that_fails_is_noticed(void **state)
{
    (void)state;
    static const int64_t shape[] = {64, 64};
    static const float data[64 * 64];
    FILE *file = fopen("/dev/full", "wb");
    if (file == NULL) {
        skip();
    }
    assert_false(npy_write(file, NPY_F4, 2, shape, data));
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_that_are_right),
        cmocka_unit_test(headers_that_are_refused),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(header_length_is_limited),
        cmocka_unit_test(reasons_are_cut_to_their_buffer),
        cmocka_unit_test(damage_never_gives_nonsense),
        cmocka_unit_test(file_sizes_must_fit_the_shape),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(a_stream_that_fails_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
