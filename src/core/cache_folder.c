// Files of the cache folder: safe creation of the folder, bounded reading, atomic replacement.
#include "cache_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "text.h"

#define ATTEMPTS 16

void fcl_folder_file_name(char file[FCL_FILE_NAME_SIZE], const char *name)
{
    snprintf(file, FCL_FILE_NAME_SIZE, "%s" FCL_ENTRY_END, name);
}

// A name that no other writer is likely to choose, on this machine or another; O_EXCL settles the
// rest.
static void temporary_file_name(char file[FCL_FILE_NAME_SIZE], const char *name, int attempt)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const uint64_t parts[] = {(uint64_t)getpid(), (uint64_t)now.tv_sec, (uint64_t)now.tv_nsec,
                              (uint64_t)(uintptr_t)&now, (uint64_t)attempt};
    snprintf(file, FCL_FILE_NAME_SIZE, "%s.%016llx" FCL_TEMPORARY_END, name,
             (unsigned long long)XXH64(parts, sizeof parts, 0));
}

// The path without slashes at its end: "link/" would follow the symbolic link.
static char *copy_path(const char *folder)
{
    char *path = fcl_text_copy(folder);
    for (size_t length = path != NULL ? strlen(path) : 0; length > 1 && path[length - 1] == '/';)
        path[--length] = 0;
    return path;
}

int fcl_folder_open(const char *folder)
{
    char *path = copy_path(folder);
    if (path == NULL) {
        errno = ENOMEM;
        return -1;
    }
    struct stat status;
    int descriptor = -1;
    if (lstat(path, &status) == 0) {
        if (S_ISLNK(status.st_mode))
            errno = ELOOP;
        else
            descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    const int error = errno;
    free(path);
    errno = error;
    return descriptor;
}

// Makes the last folder of the path, and before it its missing parents. Changes the path while it
// works.
static int make_folders(char *path)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return 0;
    if (errno != ENOENT)
        return errno;
    char *slash = strrchr(path, '/');
    if (slash == NULL || slash == path)
        return ENOENT;
    *slash = 0;
    const int error = make_folders(path);
    *slash = '/';
    if (error != 0)
        return error;
    return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : errno;
}

int fcl_folder_prepare(const char *folder)
{
    int descriptor = fcl_folder_open(folder);
    if (descriptor < 0 && errno == ENOENT) {
        char *path = copy_path(folder);
        const int error = path != NULL ? make_folders(path) : ENOMEM;
        free(path);
        if (error != 0)
            return error;
        descriptor = fcl_folder_open(folder);
    }
    if (descriptor < 0)
        return errno;
    const int denied = faccessat(descriptor, ".", R_OK | W_OK | X_OK, AT_EACCESS) != 0 ? errno : 0;
    close(descriptor);
    return denied;
}

static int read_all(int descriptor, unsigned char *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t got = read(descriptor, bytes + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? errno : EBADMSG;
        done += (size_t)got;
    }
    return 0;
}

// The header is read first: a huge foreign file must not be read to be refused.
static int read_entry(int file, unsigned char **bytes, size_t *size)
{
    struct stat status;
    unsigned char header[FCL_ENTRY_HEADER_SIZE];
    if (fstat(file, &status) != 0)
        return errno;
    if (!S_ISREG(status.st_mode) || status.st_size < (off_t)sizeof header)
        return EBADMSG;
    int error = read_all(file, header, sizeof header);
    if (error != 0)
        return error;
    *size = (size_t)status.st_size;
    if (fcl_entry_announced_size(header) != (uint64_t)status.st_size)
        return EBADMSG;
    *bytes = malloc(*size);
    if (*bytes == NULL)
        return ENOMEM;
    memcpy(*bytes, header, sizeof header);
    error = read_all(file, *bytes + sizeof header, *size - sizeof header);
    if (error != 0) {
        free(*bytes);
        *bytes = NULL;
    }
    return error;
}

int fcl_folder_read_at(int folder, const char *file_name, unsigned char **bytes, size_t *size)
{
    // O_NONBLOCK: a pipe of that name must not block us.
    const int file = openat(folder, file_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return errno;
    const int error = read_entry(file, bytes, size);
    close(file);
    return error;
}

int fcl_folder_read(const char *folder, const char *name, unsigned char **bytes, size_t *size)
{
    const int descriptor = fcl_folder_open(folder);
    if (descriptor < 0)
        return errno;
    char file_name[FCL_FILE_NAME_SIZE];
    fcl_folder_file_name(file_name, name);
    const int error = fcl_folder_read_at(descriptor, file_name, bytes, size);
    if (error == 0)
        utimensat(descriptor, file_name, NULL, AT_SYMLINK_NOFOLLOW);
    close(descriptor);
    return error;
}

static int write_all(int file, const unsigned char *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t put = write(file, bytes + done, size - done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return put < 0 ? errno : ENOSPC;
        done += (size_t)put;
    }
    return 0;
}

// Opens a new temporary file; its name is written to `temporary`. -1 and errno on failure.
static int open_temporary(int folder, const char *name, char temporary[FCL_FILE_NAME_SIZE])
{
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        temporary_file_name(temporary, name, attempt);
        const int file =
            openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file >= 0 || errno != EEXIST)
            return file;
    }
    return -1;
}

static int write_at(int folder, const char *name, const unsigned char *bytes, size_t size)
{
    char temporary[FCL_FILE_NAME_SIZE], final[FCL_FILE_NAME_SIZE];
    const int file = open_temporary(folder, name, temporary);
    if (file < 0)
        return errno;
    fcl_folder_file_name(final, name);
    int error = write_all(file, bytes, size);
    if (close(file) != 0 && error == 0)
        error = errno;
    if (error == 0 && renameat(folder, temporary, folder, final) != 0)
        error = errno;
    if (error != 0)
        unlinkat(folder, temporary, 0);
    return error;
}

int fcl_folder_write(const char *folder, const char *name, const unsigned char *bytes, size_t size,
                     uint64_t limit)
{
    if (size > limit)
        return 0;
    int descriptor = fcl_folder_open(folder);
    if (descriptor < 0 && errno == ENOENT) {
        // Somebody removed it since.
        const int error = fcl_folder_prepare(folder);
        if (error != 0)
            return error;
        descriptor = fcl_folder_open(folder);
    }
    if (descriptor < 0)
        return errno;
    const int error = write_at(descriptor, name, bytes, size);
    if (error == 0)
        fcl_folder_evict(descriptor, name, size, limit);
    close(descriptor);
    return error;
}

void fcl_folder_remove(const char *folder, const char *name)
{
    const int descriptor = fcl_folder_open(folder);
    if (descriptor < 0)
        return;
    char file_name[FCL_FILE_NAME_SIZE];
    fcl_folder_file_name(file_name, name);
    unlinkat(descriptor, file_name, 0);
    close(descriptor);
}
