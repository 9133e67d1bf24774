// Wisdom in files that many processes share: locked, merged, written aside and renamed.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // realpath and, where the system has them, locks that also hold between threads
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "wisdom.h"

#define LOCK_WAIT_MS 10000
#define LOCK_POLL_NS 5000000
#define MODE 0600

// A plain fcntl lock belongs to the whole process; one of the open file also keeps threads apart.
#ifdef F_OFD_SETLK
#define SET_LOCK F_OFD_SETLK
#else
#define SET_LOCK F_SETLK
#endif

static enum fcl_status fail_file(char *reason, size_t size, const char *action, const char *path,
                                 int error)
{
    return fcl_fail(reason, size, error == ENOMEM ? FCL_OUT_OF_MEMORY : FCL_IO_ERROR,
                    "cannot %s %s: %s", action, path, strerror(error));
}

// Adds the rows of a file.
static enum fcl_status read_file(fcl_wisdom *wisdom, const char *path, int keep_unknown,
                                 size_t *skipped, char *reason, size_t size)
{
    struct fcl_text text = {0};
    enum fcl_status status = FCL_OK;
    const int error = fcl_text_read_file(&text, path);
    if (error != 0)
        status = fail_file(reason, size, "read", path, error);
    else if (text.length > 0 && strlen(text.data) != text.length)
        status = fcl_fail(reason, size, FCL_IO_ERROR, "%s is no text: it holds a zero byte", path);
    else
        status = fcl_wisdom_read(wisdom, text.length > 0 ? text.data : "", keep_unknown, skipped,
                                 reason, size);
    fcl_text_free(&text);
    return status;
}

enum fcl_status fcl_wisdom_load(fcl_wisdom *wisdom, const char *path, size_t *skipped, char *reason,
                                size_t size)
{
    if (skipped != NULL)
        *skipped = 0;
    if (wisdom == NULL || path == NULL)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%s is NULL",
                        wisdom == NULL ? "wisdom" : "path");
    return read_file(wisdom, path, 0, skipped, reason, size);
}

// The path with an end, from malloc; NULL when memory is out.
static char *with_end(const char *path, const char *end)
{
    struct fcl_text text = {0};
    fcl_text_add(&text, "%s%s", path, end);
    if (text.failed)
        fcl_text_free(&text);
    return text.data;
}

// Waits for the lock that guards the file. Returns a descriptor whose closing frees it, or -1 with
// errno. The lock's file stays: removing it would let two processes lock two different ones.
static int lock_file(const char *lock_path)
{
    const int file = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, MODE);
    if (file < 0)
        return -1;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const struct timespec pause = {.tv_nsec = LOCK_POLL_NS};
    const double start = fcl_now_ms();
    int error = 0;
    while (fcntl(file, SET_LOCK, &lock) != 0) {
        error = errno;
        const int held = error == EACCES || error == EAGAIN || error == EINTR;
        if (!held || fcl_now_ms() - start > LOCK_WAIT_MS)
            break;
        nanosleep(&pause, NULL);
        error = 0;
    }
    if (error == 0)
        return file;
    close(file);
    errno = error;
    return -1;
}

static int write_all(int file, const char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t written = write(file, bytes, size);
        if (written < 0 && errno != EINTR)
            return errno;
        if (written > 0) {
            bytes += written;
            size -= (size_t)written;
        }
    }
    return 0;
}

// Writes the text beside the path, under the mode of the file there, and renames it. `temporary`
// ends in XXXXXX. Returns 0 or an errno.
static int replace_file(const char *path, char *temporary, const struct fcl_text *text)
{
    const int file = mkstemp(temporary);
    if (file < 0)
        return errno;
    struct stat present;
    int error = 0;
    if (stat(path, &present) == 0 && fchmod(file, present.st_mode & 0777) != 0)
        error = errno;
    if (error == 0)
        error = write_all(file, text->data, text->length);
    if (error == 0 && fsync(file) != 0)
        error = errno;
    if (close(file) != 0 && error == 0)
        error = errno;
    if (error == 0 && rename(temporary, path) != 0)
        error = errno;
    if (error != 0)
        unlink(temporary);
    return error;
}

// What the file holds and ours on top. A missing or empty file holds nothing; one that cannot be
// understood is left alone.
static enum fcl_status merge_file(const fcl_wisdom *ours, const char *path, struct fcl_text *text,
                                  char *reason, size_t size)
{
    fcl_wisdom *merged = fcl_wisdom_create();
    struct stat present;
    enum fcl_status status = FCL_OK;
    if (merged != NULL && stat(path, &present) == 0 && present.st_size > 0)
        status = read_file(merged, path, 1, NULL, reason, size);
    if (status == FCL_OK && merged != NULL && fcl_wisdom_merge(merged, ours))
        fcl_wisdom_write(merged, text);
    else if (status == FCL_OK)
        text->failed = 1;
    fcl_wisdom_destroy(&merged);
    return status;
}

static enum fcl_status save(const fcl_wisdom *wisdom, const char *path, const char *lock_path,
                            char *temporary, char *reason, size_t size)
{
    const int lock = lock_file(lock_path);
    if (lock < 0)
        return fail_file(reason, size, "lock", lock_path, errno);
    struct fcl_text text = {0};
    enum fcl_status status = merge_file(wisdom, path, &text, reason, size);
    if (status == FCL_OK && text.failed)
        status = fcl_fail(reason, size, FCL_OUT_OF_MEMORY, "no memory for the wisdom");
    if (status == FCL_OK) {
        const int error = replace_file(path, temporary, &text);
        if (error != 0)
            status = fail_file(reason, size, "write", path, error);
    }
    fcl_text_free(&text);
    close(lock);
    return status;
}

enum fcl_status fcl_wisdom_save(const fcl_wisdom *wisdom, const char *path, char *reason,
                                size_t size)
{
    if (wisdom == NULL || path == NULL)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%s is NULL",
                        wisdom == NULL ? "wisdom" : "path");
    // Renaming onto a symbolic link would replace the link instead of the file.
    char *real = realpath(path, NULL);
    const char *target = real != NULL ? real : path;
    char *lock_path = with_end(target, ".lock");
    char *temporary = with_end(target, ".XXXXXX");
    enum fcl_status status;
    if (lock_path == NULL || temporary == NULL)
        status = fcl_fail(reason, size, FCL_OUT_OF_MEMORY, "no memory for the wisdom");
    else
        status = save(wisdom, target, lock_path, temporary, reason, size);
    free(temporary);
    free(lock_path);
    free(real);
    return status;
}
