// Reads and applies planted faults.
#include "faults.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// ---- reading

struct reading {
    struct test_fault *fault;
    char **section; // text that '|' lines go to; NULL before the first
    int has_detector;
};

// The rest of the line where it begins with `key`, else NULL.
static const char *value_of(const char *line, const char *key)
{
    const size_t length = strlen(key);
    return strncmp(line, key, length) ? NULL : line + length + strspn(line + length, " ");
}

static int begin_section(struct reading *reading, char **section)
{
    if (*section)
        return 0;
    *section = calloc(1, 1);
    reading->section = section;
    return *section != NULL;
}

// Adds a line to the section; lines are joined by newlines.
static int add_line(struct reading *reading, const char *line, int is_first)
{
    if (!reading->section)
        return 0;
    const size_t length = strlen(*reading->section);
    char *longer = realloc(*reading->section, length + strlen(line) + 2);
    if (!longer)
        return 0;
    sprintf(longer + length, "%s%s", is_first ? "" : "\n", line);
    *reading->section = longer;
    return 1;
}

static int read_detector(struct reading *reading, const char *value)
{
    static const char *const words[] = {"check", "race", "uninitialised"};
    for (int i = 0; i < 3 && !reading->has_detector; i++)
        if (!strcmp(value, words[i])) {
            reading->fault->detector = i;
            reading->has_detector = 1;
        }
    return reading->has_detector;
}

// 0 where the line means nothing. *in_section counts the '|' lines of the section so far.
static int read_line(struct reading *reading, const char *line, int *in_section)
{
    struct test_fault *fault = reading->fault;
    const char *value;
    if (!*line || *line == '#')
        return 1;
    if (*line == '|')
        return add_line(reading, line + 1, (*in_section)++ == 0);
    *in_section = 0;
    if ((value = value_of(line, "file:")))
        return snprintf(fault->file, sizeof fault->file, "%s", value) > 0;
    if ((value = value_of(line, "why:")))
        return snprintf(fault->why, sizeof fault->why, "%s", value) > 0;
    if ((value = value_of(line, "detector:")))
        return read_detector(reading, value);
    if (!strcmp(line, "needle:"))
        return begin_section(reading, &fault->needle);
    if (!strcmp(line, "replacement:"))
        return begin_section(reading, &fault->replacement);
    return 0;
}

static void name_fault(const char *path, struct test_fault *fault)
{
    const char *slash = strrchr(path, '/');
    snprintf(fault->name, sizeof fault->name, "%s", slash ? slash + 1 : path);
    char *dot = strrchr(fault->name, '.');
    if (dot)
        *dot = 0;
}

int test_fault_read(const char *path, struct test_fault *fault, char *reason, size_t size)
{
    size_t length;
    int number = 0, in_section = 0, good = 1;
    *fault = (struct test_fault){.name = ""};
    struct reading reading = {.fault = fault};
    char *text = (char *)test_file_read(path, &length);
    text[length] = 0;
    name_fault(path, fault);
    for (char *line = text; good && line;) {
        char *end = strchr(line, '\n');
        if (end)
            *end++ = 0;
        number++;
        good = read_line(&reading, line, &in_section);
        line = end;
    }
    free(text);
    if (!good)
        snprintf(reason, size, "%s: line %d is not understood", path, number);
    else if (!*fault->file || !*fault->why || !reading.has_detector || !fault->needle ||
             !*fault->needle || !fault->replacement) {
        snprintf(reason, size, "%s: file, why, detector, needle or replacement is missing", path);
        good = 0;
    }
    return good;
}

void test_fault_free(struct test_fault *fault)
{
    free(fault->needle);
    free(fault->replacement);
    *fault = (struct test_fault){.name = ""};
}

// ---- applying

void test_kernel_folder_copy(const char *from, const char *to)
{
    DIR *stream = opendir(from);
    if (!stream) {
        perror(from);
        exit(1);
    }
    for (const struct dirent *found = readdir(stream); found; found = readdir(stream)) {
        char source[TEST_PATH_SIZE], target[TEST_PATH_SIZE];
        struct stat status;
        size_t size;
        if (found->d_name[0] == '.')
            continue;
        test_path(source, from, found->d_name);
        test_path(target, to, found->d_name);
        if (stat(source, &status) == 0 && S_ISDIR(status.st_mode)) {
            mkdir(target, 0777);
            test_kernel_folder_copy(source, target);
        } else {
            unsigned char *bytes = test_file_read(source, &size);
            test_file_write(target, bytes, size);
            free(bytes);
        }
    }
    closedir(stream);
}

int test_fault_apply(const struct test_fault *fault, const char *folder, char *reason, size_t size)
{
    char path[TEST_PATH_SIZE];
    size_t length, count = 0;
    test_path(path, folder, fault->file);
    char *text = (char *)test_file_read(path, &length);
    text[length] = 0;
    for (const char *at = text; (at = strstr(at, fault->needle)); at++)
        count++;
    if (count != 1) {
        snprintf(reason, size, "%s: the needle occurs %zu times in %s, must be once", fault->name,
                 count, fault->file);
        free(text);
        return 0;
    }
    const size_t before = (size_t)(strstr(text, fault->needle) - text);
    const char *after = text + before + strlen(fault->needle);
    const size_t new_length = strlen(fault->replacement);
    char *patched = malloc(length + new_length + 1);
    if (!patched)
        exit(1);
    memcpy(patched, text, before);
    memcpy(patched + before, fault->replacement, new_length);
    strcpy(patched + before + new_length, after);
    test_file_write(path, patched, strlen(patched));
    free(patched);
    free(text);
    return 1;
}
