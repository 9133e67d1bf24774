// Texts that may not be UTF-8.
#include "json_text.h"

#include "memory.h"

#include <stdlib.h>

json_t *json_text(const char *text)
{
    json_t *json = json_string(text);
    if (json == NULL) {
        char *plain = memory_print("%s", text);
        for (char *c = plain; *c != '\0'; c++) {
            if ((unsigned char)*c >= 0x80) {
                *c = '?';
            }
        }
        json = json_string(plain);
        free(plain);
    }
    return json;
}
