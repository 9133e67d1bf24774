// Encodes and decodes cache entries. Numbers are little-endian on every machine. The checksum
// covers all that follows it, sizes included, and everything before it has just one right value: so
// no bit of an entry can change unnoticed.
#include "cache_entry.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

// Offsets in the header.
enum {
    AT_MAGIC = 0,
    AT_FORMAT = 8,
    AT_CHECKSUM = 16,
    AT_KEY_SIZE = 24, // with its final 0, as the label
    AT_LABEL_SIZE = 32,
    AT_DATA_SIZE = 40
};

static const unsigned char magic[8] = {'F', 'C', 'L', 'C', 'A', 'C', 'H', 'E'};

static void put_number(unsigned char *at, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        at[i] = (unsigned char)(number >> (8 * i));
}

static uint64_t get_number(const unsigned char *at)
{
    uint64_t number = 0;
    for (int i = 0; i < 8; i++)
        number |= (uint64_t)at[i] << (8 * i);
    return number;
}

static uint64_t checksum(const unsigned char *bytes, size_t size)
{
    return XXH64(bytes + AT_KEY_SIZE, size - AT_KEY_SIZE, FCL_ENTRY_FORMAT);
}

void fcl_entry_name(const char *key, char name[FCL_ENTRY_NAME_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    XXH128_canonical_t hash;
    XXH128_canonicalFromHash(&hash, XXH3_128bits(key, strlen(key)));
    for (size_t i = 0; i < sizeof hash.digest; i++) {
        name[2 * i] = digits[hash.digest[i] >> 4];
        name[2 * i + 1] = digits[hash.digest[i] & 15];
    }
    name[FCL_ENTRY_NAME_SIZE - 1] = 0;
}

unsigned char *fcl_entry_encode(const struct fcl_entry *entry, size_t *size)
{
    const size_t key_size = strlen(entry->key) + 1;
    const size_t label_size = strlen(entry->label) + 1;
    if (entry->data_size > SIZE_MAX / 2 - key_size - label_size - FCL_ENTRY_HEADER_SIZE)
        return NULL;
    *size = FCL_ENTRY_HEADER_SIZE + key_size + label_size + entry->data_size;
    unsigned char *bytes = malloc(*size);
    if (bytes == NULL)
        return NULL;
    memcpy(bytes + AT_MAGIC, magic, sizeof magic);
    put_number(bytes + AT_FORMAT, FCL_ENTRY_FORMAT);
    put_number(bytes + AT_KEY_SIZE, key_size);
    put_number(bytes + AT_LABEL_SIZE, label_size);
    put_number(bytes + AT_DATA_SIZE, entry->data_size);
    unsigned char *at = bytes + FCL_ENTRY_HEADER_SIZE;
    memcpy(at, entry->key, key_size);
    memcpy(at + key_size, entry->label, label_size);
    if (entry->data_size > 0)
        memcpy(at + key_size + label_size, entry->data, entry->data_size);
    put_number(bytes + AT_CHECKSUM, checksum(bytes, *size));
    return bytes;
}

uint64_t fcl_entry_announced_size(const unsigned char header[FCL_ENTRY_HEADER_SIZE])
{
    if (memcmp(header + AT_MAGIC, magic, sizeof magic) != 0 ||
        get_number(header + AT_FORMAT) != FCL_ENTRY_FORMAT)
        return 0;
    uint64_t size = FCL_ENTRY_HEADER_SIZE;
    for (int at = AT_KEY_SIZE; at <= AT_DATA_SIZE; at += 8) {
        const uint64_t part = get_number(header + at);
        if (part > UINT64_MAX - size)
            return 0;
        size += part;
    }
    return size;
}

// Whether the text of this size is 0-terminated, at its end only.
static int is_text(const char *text, size_t size)
{
    return size > 0 && memchr(text, 0, size) == text + size - 1;
}

int fcl_entry_decode(const unsigned char *bytes, size_t size, struct fcl_entry *entry)
{
    if (size < FCL_ENTRY_HEADER_SIZE || fcl_entry_announced_size(bytes) != size ||
        get_number(bytes + AT_CHECKSUM) != checksum(bytes, size))
        return 0;
    const size_t key_size = (size_t)get_number(bytes + AT_KEY_SIZE);
    const size_t label_size = (size_t)get_number(bytes + AT_LABEL_SIZE);
    entry->key = (const char *)bytes + FCL_ENTRY_HEADER_SIZE;
    entry->label = entry->key + key_size;
    entry->data = entry->label + label_size;
    entry->data_size = (size_t)get_number(bytes + AT_DATA_SIZE);
    return is_text(entry->key, key_size) && is_text(entry->label, label_size);
}
