// Reads what `flashcl info --caps` writes.
#include "caps_file.h"

#include "memory.h"
#include "message.h"
#include "status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_LIMIT 65536

// The file as a text of its own; NULL after the error was reported.
static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = memory_get(SIZE_LIMIT + 1, 1);
    size_t size = file != NULL ? fread(text, 1, SIZE_LIMIT + 1, file) : 0;
    if (file == NULL || ferror(file)) {
        message_error("%s: cannot be read: %s", path, strerror(errno));
    } else if (size > SIZE_LIMIT || memchr(text, '\0', size) != NULL) {
        message_error("%s: not the text of `flashcl info --caps`", path);
    } else {
        fclose(file);
        return text;
    }
    if (file != NULL) {
        fclose(file);
    }
    free(text);
    return NULL;
}

int caps_file_read(const char *path, const struct options *options, const struct verb *verb,
                   struct fcl_caps *caps)
{
    char reason[512];
    char *text = read_text(path);
    if (text == NULL) {
        return EXIT_USAGE;
    }
    enum fcl_status status = fcl_caps_parse(text, caps, reason, sizeof(reason));
    free(text);
    if (status != FCL_OK) {
        message_error("%s: %s", path, reason);
        return EXIT_USAGE;
    }
    if (options->caps_mask != NULL &&
        fcl_caps_mask(caps, options->caps_mask, reason, sizeof(reason)) != FCL_OK) {
        return options_usage(verb, "--caps-mask: %s", reason);
    }
    return EXIT_OK;
}
