// The cache of built programs: a list in memory in front of a folder or the application's
// callbacks. No callback runs and no file is touched while the lock is held.
#include "cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <flashcl/flashcl.h>

#include "cache_folder.h"

#define DEFAULT_LIMIT ((uint64_t)256 << 20)

// An entry in memory: its bytes as they would be stored.
struct kept {
    struct kept *next;
    char name[FCL_ENTRY_NAME_SIZE];
    unsigned char *bytes;
    size_t size;
};

struct fcl_cache {
    char *folder; // NULL: none
    uint64_t limit;
    struct fcl_cache_callbacks callbacks;
    struct fcl_log log;
    pthread_mutex_t lock; // guards all below
    struct kept *first;   // most recently used first
    uint64_t total;
    int folder_failed; // 1: memory only from now on
};

// ---- Memory -----------------------------------------------------------------------------------

// Takes the entry of this name out of the list; NULL where there is none. The lock is held.
static struct kept *take(struct fcl_cache *cache, const char *name)
{
    for (struct kept **link = &cache->first; *link != NULL; link = &(*link)->next) {
        struct kept *found = *link;
        if (strcmp(found->name, name) != 0)
            continue;
        *link = found->next;
        cache->total -= found->size;
        return found;
    }
    return NULL;
}

static void put_first(struct fcl_cache *cache, struct kept *kept)
{
    kept->next = cache->first;
    cache->first = kept;
    cache->total += kept->size;
}

static void free_kept(struct kept *kept)
{
    if (kept != NULL)
        free(kept->bytes);
    free(kept);
}

// Drops the least recently used entries beyond the limit. The lock is held.
static void trim(struct fcl_cache *cache)
{
    uint64_t total = 0;
    struct kept **link = &cache->first;
    while (*link != NULL && (*link)->size <= cache->limit - total) {
        total += (*link)->size;
        link = &(*link)->next;
    }
    struct kept *rest = *link;
    *link = NULL;
    cache->total = total;
    while (rest != NULL) {
        struct kept *next = rest->next;
        free_kept(rest);
        rest = next;
    }
}

// Keeps the bytes in memory, which become the list's; frees them where that fails.
static void remember(struct fcl_cache *cache, const char *name, unsigned char *bytes, size_t size)
{
    struct kept *kept = calloc(1, sizeof *kept);
    if (kept == NULL) {
        free(bytes);
        return;
    }
    memcpy(kept->name, name, sizeof kept->name);
    kept->bytes = bytes;
    kept->size = size;
    pthread_mutex_lock(&cache->lock);
    struct kept *older = take(cache, name);
    put_first(cache, kept);
    if (cache->total > cache->limit)
        trim(cache);
    pthread_mutex_unlock(&cache->lock);
    free_kept(older);
}

// ---- Entries ----------------------------------------------------------------------------------

// A copy of the data when the bytes are a sound entry for exactly this key.
static int extract(const unsigned char *bytes, size_t size, const char *key, void **data,
                   size_t *data_size)
{
    struct fcl_entry entry;
    if (!fcl_entry_decode(bytes, size, &entry) || strcmp(entry.key, key) != 0)
        return 0;
    void *copy = malloc(entry.data_size > 0 ? entry.data_size : 1);
    if (copy == NULL)
        return 0;
    memcpy(copy, entry.data, entry.data_size);
    *data = copy;
    *data_size = entry.data_size;
    return 1;
}

static int get_from_memory(struct fcl_cache *cache, const char *name, const char *key, void **data,
                           size_t *size)
{
    int found = 0;
    pthread_mutex_lock(&cache->lock);
    struct kept *kept = take(cache, name);
    if (kept != NULL) {
        put_first(cache, kept);
        found = extract(kept->bytes, kept->size, key, data, size);
    }
    pthread_mutex_unlock(&cache->lock);
    return found;
}

static int folder_usable(struct fcl_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    const int usable = cache->folder != NULL && !cache->folder_failed;
    pthread_mutex_unlock(&cache->lock);
    return usable;
}

// Gives the folder up, with one warning.
static void fail_folder(struct fcl_cache *cache, int error)
{
    pthread_mutex_lock(&cache->lock);
    const int known = cache->folder_failed;
    cache->folder_failed = 1;
    pthread_mutex_unlock(&cache->lock);
    if (!known)
        fcl_log_write(&cache->log, FCL_LOG_WARNING,
                      "cache folder %s cannot be used: %s; built kernels are kept in memory only",
                      cache->folder, error == ELOOP ? "it is a symbolic link" : strerror(error));
}

// The stored bytes of this name, from malloc, or NULL.
static unsigned char *load(struct fcl_cache *cache, const char *name, size_t *size)
{
    if (cache->callbacks.get != NULL) {
        void *bytes = NULL;
        *size = cache->callbacks.get(cache->callbacks.user, name, &bytes);
        return *size > 0 ? bytes : NULL;
    }
    unsigned char *bytes = NULL;
    if (!folder_usable(cache) || fcl_folder_read(cache->folder, name, &bytes, size) != 0)
        return NULL;
    return bytes;
}

static void store(struct fcl_cache *cache, const char *name, const unsigned char *bytes,
                  size_t size)
{
    if (cache->callbacks.get != NULL) {
        if (cache->callbacks.put != NULL)
            cache->callbacks.put(cache->callbacks.user, name, bytes, size);
        return;
    }
    if (!folder_usable(cache))
        return;
    const int error = fcl_folder_write(cache->folder, name, bytes, size, cache->limit);
    if (error != 0)
        fail_folder(cache, error);
}

// ---- The module's functions -------------------------------------------------------------------

struct fcl_cache *fcl_cache_create(const char *folder, uint64_t limit,
                                   const struct fcl_cache_callbacks *callbacks,
                                   const struct fcl_log *log)
{
    struct fcl_cache *cache = calloc(1, sizeof *cache);
    if (cache == NULL || pthread_mutex_init(&cache->lock, NULL) != 0) {
        free(cache);
        return NULL;
    }
    cache->limit = limit > 0 ? limit : DEFAULT_LIMIT;
    if (log != NULL)
        cache->log = *log;
    if (callbacks != NULL && callbacks->get != NULL) {
        cache->callbacks = *callbacks;
        return cache;
    }
    if (folder == NULL)
        return cache;
    cache->folder = fcl_text_copy(folder);
    if (cache->folder == NULL) {
        fcl_cache_destroy(cache);
        return NULL;
    }
    const int error = fcl_folder_prepare(folder);
    if (error != 0)
        fail_folder(cache, error);
    return cache;
}

void fcl_cache_destroy(struct fcl_cache *cache)
{
    if (cache == NULL)
        return;
    while (cache->first != NULL) {
        struct kept *next = cache->first->next;
        free_kept(cache->first);
        cache->first = next;
    }
    pthread_mutex_destroy(&cache->lock);
    free(cache->folder);
    free(cache);
}

int fcl_cache_get(struct fcl_cache *cache, const char *key, void **data, size_t *size)
{
    char name[FCL_ENTRY_NAME_SIZE];
    fcl_entry_name(key, name);
    if (get_from_memory(cache, name, key, data, size))
        return 1;
    size_t stored_size = 0;
    unsigned char *stored = load(cache, name, &stored_size);
    if (stored == NULL)
        return 0;
    if (!extract(stored, stored_size, key, data, size)) {
        fcl_log_write(&cache->log, FCL_LOG_DEBUG, "cache entry %s is damaged or another's", name);
        free(stored);
        return 0;
    }
    remember(cache, name, stored, stored_size);
    return 1;
}

void fcl_cache_put(struct fcl_cache *cache, const char *key, const char *label, const void *data,
                   size_t size)
{
    char name[FCL_ENTRY_NAME_SIZE];
    size_t entry_size = 0;
    const struct fcl_entry entry = {key, label, data, size};
    unsigned char *bytes = fcl_entry_encode(&entry, &entry_size);
    if (bytes == NULL)
        return;
    fcl_entry_name(key, name);
    store(cache, name, bytes, entry_size);
    remember(cache, name, bytes, entry_size);
}

void fcl_cache_drop(struct fcl_cache *cache, const char *key)
{
    char name[FCL_ENTRY_NAME_SIZE];
    fcl_entry_name(key, name);
    pthread_mutex_lock(&cache->lock);
    struct kept *kept = take(cache, name);
    pthread_mutex_unlock(&cache->lock);
    free_kept(kept);
    if (folder_usable(cache))
        fcl_folder_remove(cache->folder, name);
}
