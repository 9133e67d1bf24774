// Cache folder, wisdom file and folder of journals by option, XDG variable or HOME.
#include "folders.h"

#include "memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// One kind of folder: the variable that names it and where it is below HOME otherwise.
struct place {
    const char *variable, *below_home, *leaf;
};

static const struct place cache_place = {"XDG_CACHE_HOME", ".cache", "flashcl"};
static const struct place state_place = {"XDG_STATE_HOME", ".local/state", "flashcl"};
static const struct place wisdom_place = {"XDG_CONFIG_HOME", ".config", "flashcl/wisdom.txt"};

// The value of an environment variable, NULL when it is not set or empty.
static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static char *resolve(const struct place *place, char **reason)
{
    const char *base = environment(place->variable);
    const char *home = environment("HOME");
    if (base == NULL && home == NULL) {
        *reason = memory_print("neither %s nor HOME is set", place->variable);
        return NULL;
    }
    const char *start = base != NULL ? base : home;
    if (start[0] != '/') {
        *reason = memory_print("%s is %s, not an absolute path",
                               base != NULL ? place->variable : "HOME", start);
        return NULL;
    }
    return base != NULL ? memory_print("%s/%s", base, place->leaf)
                        : memory_print("%s/%s/%s", home, place->below_home, place->leaf);
}

static char *choose(const struct place *place, const char *explicit, int none, char **reason)
{
    *reason = NULL;
    if (none) {
        return NULL;
    }
    return explicit != NULL ? memory_print("%s", explicit) : resolve(place, reason);
}

char *folders_cache(const struct options *options, char **reason)
{
    return choose(&cache_place, options->cache_folder, options->no_cache, reason);
}

char *folders_wisdom(const struct options *options, char **reason)
{
    return choose(&wisdom_place, options->wisdom, options->no_wisdom, reason);
}

char *folders_state(char **reason)
{
    return choose(&state_place, NULL, 0, reason);
}

void folders_make_parents(const char *path)
{
    char *part = memory_print("%s", path);
    for (char *slash = strchr(part + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(part, 0700); // whoever uses the path reports what is wrong with it
        *slash = '/';
    }
    free(part);
}
