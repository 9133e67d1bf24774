// A folder of cache entries: one file each, many processes at once, no locks. Functions that return
// int give 0 or an errno, where nothing else is said.
#ifndef FCL_CORE_CACHE_FOLDER_H
#define FCL_CORE_CACHE_FOLDER_H

#include "cache_entry.h"

// An entry's file is its name and FCL_ENTRY_END. While it is written it is called
// name.XXXXXXXXXXXXXXXX and FCL_TEMPORARY_END, with hexadecimal digits.
#define FCL_ENTRY_END ".fclbin"
#define FCL_TEMPORARY_END ".fcltmp"
#define FCL_TEMPORARY_DIGITS 16
#define FCL_FILE_NAME_SIZE 80

void fcl_folder_file_name(char file[FCL_FILE_NAME_SIZE], const char *name);

// Makes the folder and its missing parents, owner-only, and makes sure that it can be used: it is a
// folder, no symbolic link (ELOOP), and files can be made in it.
int fcl_folder_prepare(const char *folder);

// A descriptor of the folder, or -1 and errno; a symbolic link is ELOOP.
int fcl_folder_open(const char *folder);

// A whole file as bytes from malloc. EBADMSG where it cannot be an entry.
int fcl_folder_read_at(int folder, const char *file_name, unsigned char **bytes, size_t *size);

// The file of this entry name, its stamp set to now. ENOENT where there is none.
int fcl_folder_read(const char *folder, const char *name, unsigned char **bytes, size_t *size);

// Writes the file aside and renames it; then evicts. An entry beyond the limit is not kept.
int fcl_folder_write(const char *folder, const char *name, const unsigned char *bytes, size_t size,
                     uint64_t limit);

void fcl_folder_remove(const char *folder, const char *name);

// Removes left-over temporary files, and the least recently used entries until at most `limit`
// bytes are left; never the entry `name` of `size` bytes that was just written, whatever the clocks
// of other machines say.
void fcl_folder_evict(int folder, const char *name, uint64_t size, uint64_t limit);

#endif
