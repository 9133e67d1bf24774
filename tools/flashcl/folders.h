// Where the command keeps things: the environment's cache, configuration and state folders. The
// library reads no environment, so this is the command's part.
#ifndef FLASHCL_TOOL_FOLDERS_H
#define FLASHCL_TOOL_FOLDERS_H

#include "options.h"

// The cache folder, of its own memory; NULL: memory only, because the user said so or (then *reason
// says why, also of its own memory) the environment gives none.
char *folders_cache(const struct options *options, char **reason);

// The wisdom file, in the same way.
char *folders_wisdom(const struct options *options, char **reason);

// The folder of journals, in the same way; `reason` is only set where the environment gives none.
char *folders_state(char **reason);

// Makes the folders above a file or folder, as far as that works.
void folders_make_parents(const char *path);

#endif
