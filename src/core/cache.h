// Built programs, kept under the text that they were built from, and measured peaks. Memory first,
// then a folder or the application's callbacks. Whatever is wrong with an entry is a miss, never an
// error.
//
// Entry: magic, format number, checksum (xxHash64 of all that follows), sizes of key, label and
// data, then key, label, data. The file's name is the 128-bit xxHash of the key, which only names
// it: the key is compared whole. Files are written under a temporary name and renamed, owner-only.
// On a hit the file's modification time is set to now: our own stamp, by which the least recently
// used go when the folder grows over its limit.
#ifndef FCL_CORE_CACHE_H
#define FCL_CORE_CACHE_H

#include "text.h"

struct fcl_cache;
struct fcl_cache_callbacks;

// folder NULL: memory only (or callbacks, which replace a folder when `get` is set). An unusable
// folder costs one warning and is then forgotten. A folder that is itself a symbolic link is not
// used. limit, of the folder and of the memory, 0: 256 MiB. NULL when memory is out.
struct fcl_cache *fcl_cache_create(const char *folder, uint64_t limit,
                                   const struct fcl_cache_callbacks *callbacks,
                                   const struct fcl_log *log);
void fcl_cache_destroy(struct fcl_cache *cache);

// 1 and a copy from malloc when there is a sound entry for exactly this key, else 0. Thread-safe.
int fcl_cache_get(struct fcl_cache *cache, const char *key, void **data, size_t *size);

// Keeps the data; failures are silent but for one warning a cache. Thread-safe.
void fcl_cache_put(struct fcl_cache *cache, const char *key, const char *label, const void *data,
                   size_t size);

// Forgets the entry everywhere (rejected by the driver). Thread-safe.
void fcl_cache_drop(struct fcl_cache *cache, const char *key);

#endif
