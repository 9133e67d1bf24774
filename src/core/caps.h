// Making caps: the public part is in tune.h.
#ifndef FCL_CORE_CAPS_H
#define FCL_CORE_CAPS_H

#include <flashcl/tune.h>

// Copies a driver's text as caps hold it: on one line, without blanks around it, cut at the size.
void fcl_caps_text_clean(char out[FCL_CAPS_TEXT_SIZE], const char *text);

#endif
