// Temporary name, then rename.
#define _XOPEN_SOURCE 700 // realpath

#include "output.h"

#include "memory.h"
#include "message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(struct output *output)
{
    message_error("%s: cannot be written: %s", output->shown, strerror(errno));
    output_discard(output);
    return 0;
}

// Opens a temporary file next to the final one, with the permissions that a new file gets.
static int open_temporary(struct output *output)
{
    output->temporary = memory_print("%s.XXXXXX", output->path);
    int file = mkstemp(output->temporary);
    if (file < 0) {
        free(output->temporary);
        output->temporary = NULL;
        return 0;
    }
    mode_t mask = umask(0);
    umask(mask);
    fchmod(file, 0666 & ~mask);
    output->file = fdopen(file, "wb");
    return output->file != NULL;
}

int output_begin(struct output *output, const char *path)
{
    *output = (struct output){.shown = path};
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        output->file = fopen(path, "wb");
        return output->file != NULL ? 1 : fail(output);
    }
    output->path = realpath(path, NULL);
    if (output->path == NULL) {
        output->path = memory_print("%s", path);
    }
    return open_temporary(output) ? 1 : fail(output);
}

int output_close(struct output *output)
{
    FILE *file = output->file;
    int failed = ferror(file);
    output->file = NULL;
    return fclose(file) == 0 && !failed ? 1 : fail(output);
}

int output_commit(struct output *output)
{
    if (output->temporary != NULL && rename(output->temporary, output->path) != 0) {
        return fail(output);
    }
    free(output->temporary);
    output->temporary = NULL;
    output_discard(output);
    return 1;
}

// The path as an existing folder and a name in it; without such a folder, the path as it is.
static char *find_place(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    char *parent =
        slash != NULL ? memory_print("%.*s", (int)(name - path), path) : memory_print(".");
    char *folder = realpath(parent, NULL);
    char *place = folder != NULL ? memory_print("%s/%s", folder, name) : memory_print("%s", path);
    free(parent);
    free(folder);
    return place;
}

int output_same(const char *first, const char *second)
{
    struct stat a, b;
    int a_exists = stat(first, &a) == 0, b_exists = stat(second, &b) == 0;
    if (a_exists || b_exists) {
        return a_exists && b_exists && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
    }
    char *first_place = find_place(first), *second_place = find_place(second);
    int same = strcmp(first_place, second_place) == 0;
    free(first_place);
    free(second_place);
    return same;
}

void output_discard(struct output *output)
{
    if (output->file != NULL) {
        fclose(output->file);
    }
    if (output->temporary != NULL) {
        remove(output->temporary);
    }
    free(output->temporary);
    free(output->path);
    *output = (struct output){.shown = NULL};
}
