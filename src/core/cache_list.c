// Listing a cache folder: least-recently-used eviction, and the public housekeeping functions. Only
// files that bear the cache's own names are ever touched.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <flashcl/tune.h>

#include "cache_folder.h"

#define NAME_DIGITS (FCL_ENTRY_NAME_SIZE - 1)
#define LEFT_OVER_SECONDS 3600 // an older temporary file has no writer any more

// What a file's name says that it is.
enum kind { KIND_FOREIGN, KIND_ENTRY, KIND_TEMPORARY };

// One file of ours.
struct file {
    char name[FCL_FILE_NAME_SIZE];
    enum kind kind;
    uint64_t bytes;
    struct timespec used;
};

struct listing {
    struct file *files;
    size_t count, capacity;
};

static size_t hex_digits(const char *text)
{
    return strspn(text, "0123456789abcdef");
}

static enum kind kind_of(const char *name)
{
    if (strlen(name) >= FCL_FILE_NAME_SIZE || hex_digits(name) != NAME_DIGITS)
        return KIND_FOREIGN;
    const char *end = name + NAME_DIGITS;
    if (strcmp(end, FCL_ENTRY_END) == 0)
        return KIND_ENTRY;
    if (*end == '.' && hex_digits(end + 1) == FCL_TEMPORARY_DIGITS &&
        strcmp(end + 1 + FCL_TEMPORARY_DIGITS, FCL_TEMPORARY_END) == 0)
        return KIND_TEMPORARY;
    return KIND_FOREIGN;
}

// Appends the file when it is one of ours. 0 or ENOMEM.
static int list_file(struct listing *listing, int folder, const char *name)
{
    struct file file = {.kind = kind_of(name)};
    struct stat status;
    if (file.kind == KIND_FOREIGN || fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    if (listing->count == listing->capacity) {
        const size_t capacity = listing->capacity > 0 ? 2 * listing->capacity : 64;
        struct file *files = realloc(listing->files, capacity * sizeof *files);
        if (files == NULL)
            return ENOMEM;
        listing->files = files;
        listing->capacity = capacity;
    }
    memcpy(file.name, name, strlen(name) + 1); // kind_of looked at its length
    file.bytes = (uint64_t)status.st_size;
    file.used = status.st_mtim;
    listing->files[listing->count++] = file;
    return 0;
}

static int newest_first(const void *left, const void *right)
{
    const struct file *a = left, *b = right;
    if (a->used.tv_sec != b->used.tv_sec)
        return a->used.tv_sec < b->used.tv_sec ? 1 : -1;
    if (a->used.tv_nsec != b->used.tv_nsec)
        return a->used.tv_nsec < b->used.tv_nsec ? 1 : -1;
    return strcmp(a->name, b->name);
}

// All files of ours, most recently used first. The caller frees listing->files.
static int list_folder(int folder, struct listing *listing)
{
    const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = copy >= 0 ? fdopendir(copy) : NULL;
    if (stream == NULL) {
        const int error = errno;
        if (copy >= 0)
            close(copy);
        return error;
    }
    int error = 0;
    while (error == 0) {
        errno = 0;
        const struct dirent *found = readdir(stream);
        if (found == NULL) {
            error = errno;
            break;
        }
        error = list_file(listing, folder, found->d_name);
    }
    closedir(stream);
    if (error == 0 && listing->count > 0)
        qsort(listing->files, listing->count, sizeof *listing->files, newest_first);
    return error;
}

static int is_left_over(const struct file *file)
{
    return file->kind == KIND_TEMPORARY && file->used.tv_sec < time(NULL) - LEFT_OVER_SECONDS;
}

void fcl_folder_evict(int folder, const char *name, uint64_t size, uint64_t limit)
{
    struct listing listing = {0};
    char kept[FCL_FILE_NAME_SIZE];
    fcl_folder_file_name(kept, name);
    uint64_t total = size;
    int full = 0;
    if (list_folder(folder, &listing) == 0) {
        for (size_t i = 0; i < listing.count; i++) {
            const struct file *file = &listing.files[i];
            if (file->kind == KIND_TEMPORARY) {
                if (is_left_over(file))
                    unlinkat(folder, file->name, 0);
                continue;
            }
            if (strcmp(file->name, kept) == 0)
                continue;
            full = full || file->bytes > limit - total;
            if (!full)
                total += file->bytes;
            else
                unlinkat(folder, file->name, 0);
        }
    }
    free(listing.files);
}

// The file's entry, or 0 where it is damaged: also when another entry's file was given its name.
// *bytes is the caller's to free.
static int decode_file(int folder, const struct file *file, unsigned char **bytes,
                       struct fcl_entry *entry)
{
    size_t size = 0;
    char name[FCL_ENTRY_NAME_SIZE];
    if (fcl_folder_read_at(folder, file->name, bytes, &size) != 0 ||
        !fcl_entry_decode(*bytes, size, entry))
        return 0;
    fcl_entry_name(entry->key, name);
    return strncmp(name, file->name, NAME_DIGITS) == 0;
}

// Opens and lists the folder. A missing one gives descriptor -1 and FCL_OK.
static enum fcl_status open_listing(const char *folder, int *descriptor, struct listing *listing)
{
    *descriptor = -1;
    if (folder == NULL)
        return FCL_INVALID_ARGUMENT;
    *descriptor = fcl_folder_open(folder);
    if (*descriptor < 0)
        return errno == ENOENT ? FCL_OK : errno == ENOMEM ? FCL_OUT_OF_MEMORY : FCL_IO_ERROR;
    const int error = list_folder(*descriptor, listing);
    return error == 0 ? FCL_OK : error == ENOMEM ? FCL_OUT_OF_MEMORY : FCL_IO_ERROR;
}

static void close_listing(int descriptor, struct listing *listing)
{
    free(listing->files);
    if (descriptor >= 0)
        close(descriptor);
}

static int visit_file(int folder, const struct file *file, fcl_cache_visit visit, void *user)
{
    unsigned char *bytes = NULL;
    struct fcl_entry entry;
    struct fcl_cache_entry shown = {.name = file->name,
                                    .label = "",
                                    .key = "",
                                    .bytes = file->bytes,
                                    .used = (int64_t)file->used.tv_sec,
                                    .damaged = 1};
    if (decode_file(folder, file, &bytes, &entry)) {
        shown.label = entry.label;
        shown.key = entry.key;
        shown.damaged = 0;
    }
    const int stop = visit(user, &shown);
    free(bytes);
    return stop;
}

enum fcl_status fcl_cache_list(const char *folder, fcl_cache_visit visit, void *user)
{
    int descriptor;
    struct listing listing = {0};
    const enum fcl_status status = open_listing(folder, &descriptor, &listing);
    int stop = status != FCL_OK;
    for (size_t i = 0; i < listing.count && !stop; i++)
        if (listing.files[i].kind == KIND_ENTRY)
            stop = visit_file(descriptor, &listing.files[i], visit, user);
    close_listing(descriptor, &listing);
    return status;
}

static int should_clear(int folder, const struct file *file, int only_damaged)
{
    if (file->kind == KIND_TEMPORARY)
        return is_left_over(file);
    if (!only_damaged)
        return 1;
    unsigned char *bytes = NULL;
    struct fcl_entry entry;
    const int sound = decode_file(folder, file, &bytes, &entry);
    free(bytes);
    return !sound;
}

enum fcl_status fcl_cache_clear(const char *folder, int only_damaged, size_t *removed)
{
    int descriptor;
    struct listing listing = {0};
    size_t count = 0;
    enum fcl_status status = open_listing(folder, &descriptor, &listing);
    const size_t total = status == FCL_OK ? listing.count : 0;
    for (size_t i = 0; i < total; i++) {
        if (!should_clear(descriptor, &listing.files[i], only_damaged))
            continue;
        if (unlinkat(descriptor, listing.files[i].name, 0) == 0)
            count++;
        else if (errno != ENOENT)
            status = FCL_IO_ERROR;
    }
    close_listing(descriptor, &listing);
    if (removed != NULL)
        *removed = count;
    return status;
}
