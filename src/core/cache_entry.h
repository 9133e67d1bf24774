// The bytes of one cache entry, and its name. No files here: the same bytes go to a folder or to
// the application's callbacks.
#ifndef FCL_CORE_CACHE_ENTRY_H
#define FCL_CORE_CACHE_ENTRY_H

#include "common.h"

#define FCL_ENTRY_FORMAT 1
#define FCL_ENTRY_HEADER_SIZE 48
#define FCL_ENTRY_NAME_SIZE 33 // 32 hexadecimal digits and a 0

// A sound entry; everything points into its bytes. key and label are 0-terminated.
struct fcl_entry {
    const char *key, *label;
    const void *data;
    size_t data_size;
};

// The name that a key has: its 128-bit hash.
void fcl_entry_name(const char *key, char name[FCL_ENTRY_NAME_SIZE]);

// The entry as bytes from malloc; NULL when memory is out.
unsigned char *fcl_entry_encode(const struct fcl_entry *entry, size_t *size);

// The whole size that a header announces; 0 where it is none of ours.
uint64_t fcl_entry_announced_size(const unsigned char header[FCL_ENTRY_HEADER_SIZE]);

// 1 when the bytes are a sound entry, else 0: truncated, altered, foreign, another format.
int fcl_entry_decode(const unsigned char *bytes, size_t size, struct fcl_entry *entry);

#endif
