// Counts failures by kind.
#include "failures.h"

#include "memory.h"
#include "status.h"

#include <stdio.h>
#include <string.h>

void failures_add(struct failures *failures, enum fcl_status status, const char *bad,
                  const char *reason)
{
    const char *name = bad[0] != '\0' ? bad : status_word(status);
    size_t at = 0;
    while (at < failures->count && strcmp(failures->kinds[at].name, name) != 0) {
        at++;
    }
    if (status == FCL_OK || at == FAILURES_LIMIT) {
        return;
    }
    struct failure_kind *kind = &failures->kinds[at];
    if (at == failures->count) {
        failures->count++;
        kind->count = 0;
        snprintf(kind->name, sizeof(kind->name), "%s", name);
        snprintf(kind->first, sizeof(kind->first), "%s", reason);
    }
    kind->count++;
}

char *failures_list(const struct failures *failures)
{
    char *text = NULL;
    for (size_t i = 0; i < failures->count; i++) {
        memory_append(&text, "%s%zu %s", i > 0 ? ", " : "", failures->kinds[i].count,
                      failures->kinds[i].name);
    }
    return text;
}
