// Temporary folders and small files for tests.
#include "files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void demand(int holds, const char *what, const char *path)
{
    if (holds)
        return;
    perror(path);
    fprintf(stderr, "test support: cannot %s\n", what);
    exit(1);
}

static void make_template(char path[TEST_PATH_SIZE])
{
    const char *base = getenv("TMPDIR");
    snprintf(path, TEST_PATH_SIZE, "%s/flashcl-test-XXXXXX", base != NULL ? base : "/tmp");
}

void test_folder_create(char path[TEST_PATH_SIZE])
{
    make_template(path);
    demand(mkdtemp(path) != NULL, "make a temporary folder", path);
}

void test_file_create(char path[TEST_PATH_SIZE])
{
    make_template(path);
    const int file = mkstemp(path);
    demand(file >= 0 && close(file) == 0, "make a temporary file", path);
}

void test_path(char path[TEST_PATH_SIZE], const char *folder, const char *name)
{
    const int length = snprintf(path, TEST_PATH_SIZE, "%s/%s", folder, name);
    demand(length < TEST_PATH_SIZE, "hold so long a path", folder);
}

void test_folder_remove(const char *path)
{
    DIR *stream = opendir(path);
    demand(stream != NULL, "open the folder", path);
    for (const struct dirent *found = readdir(stream); found != NULL; found = readdir(stream)) {
        char inner[TEST_PATH_SIZE];
        struct stat status;
        if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0)
            continue;
        test_path(inner, path, found->d_name);
        if (lstat(inner, &status) == 0 && S_ISDIR(status.st_mode))
            test_folder_remove(inner);
        else
            demand(unlink(inner) == 0, "remove", inner);
    }
    closedir(stream);
    demand(rmdir(path) == 0, "remove", path);
}

void test_file_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    demand(file != NULL, "create", path);
    demand(size == 0 || fwrite(bytes, 1, size, file) == size, "write", path);
    demand(fclose(file) == 0, "write", path);
}

unsigned char *test_file_read(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    demand(file != NULL, "open", path);
    demand(fseek(file, 0, SEEK_END) == 0, "measure", path);
    const long length = ftell(file);
    rewind(file);
    unsigned char *bytes = malloc((size_t)length + 1);
    demand(bytes != NULL, "get memory for", path);
    demand(fread(bytes, 1, (size_t)length, file) == (size_t)length, "read", path);
    fclose(file);
    *size = (size_t)length;
    return bytes;
}

int test_file_exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

void test_file_age(const char *path, long seconds)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - seconds}};
    demand(utimensat(AT_FDCWD, path, times, 0) == 0, "set the time of", path);
}

size_t test_folder_count(const char *folder, const char *end, char name[TEST_PATH_SIZE])
{
    size_t count = 0;
    DIR *stream = opendir(folder);
    demand(stream != NULL, "open the folder", folder);
    for (const struct dirent *found = readdir(stream); found != NULL; found = readdir(stream)) {
        const size_t length = strlen(found->d_name);
        if (length < strlen(end) || strcmp(found->d_name + length - strlen(end), end) != 0)
            continue;
        count++;
        if (name != NULL)
            snprintf(name, TEST_PATH_SIZE, "%s", found->d_name);
    }
    closedir(stream);
    return count;
}
