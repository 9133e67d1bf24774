// Texts as JSON.
#ifndef FLASHCL_TOOL_JSON_TEXT_H
#define FLASHCL_TOOL_JSON_TEXT_H

#include <jansson.h>

// Texts from drivers and file names need not be UTF-8: then every byte beyond ASCII becomes '?'.
json_t *json_text(const char *text);

#endif
