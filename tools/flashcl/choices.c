// The library's selection, outside of a plan.
#include "choices.h"

#include "folders.h"
#include "message.h"
#include "status.h"

#include <stdlib.h>
#include <unistd.h>

// The user's wisdom; NULL where there is none. Returns the exit code after an error was reported.
static int load_wisdom(const struct options *options, fcl_wisdom **wisdom)
{
    char reason[512] = "", *no_folder;
    char *path = folders_wisdom(options, &no_folder);
    enum fcl_status status = FCL_OK;
    *wisdom = NULL;
    free(no_folder);
    if (path != NULL && access(path, F_OK) == 0) {
        *wisdom = fcl_wisdom_create();
        status = *wisdom != NULL ? fcl_wisdom_load(*wisdom, path, NULL, reason, sizeof(reason))
                                 : FCL_OUT_OF_MEMORY;
    }
    if (status != FCL_OK) {
        message_error("%s: %s", path, reason[0] != '\0' ? reason : fcl_status_text(status));
    }
    free(path);
    return status_exit(status);
}

int choices_list(const struct options *options, const struct fcl_problem *problem,
                 enum fcl_implementation implementation, const struct fcl_caps *caps,
                 struct fcl_choice *choices, size_t *count, char *reason, size_t size)
{
    fcl_wisdom *wisdom;
    int code = load_wisdom(options, &wisdom);
    *count = 0;
    reason[0] = '\0';
    if (code == EXIT_OK) {
        *count = fcl_select(problem, implementation, caps, wisdom, choices, reason, size);
        code = *count > 0 ? EXIT_OK : EXIT_NO_CONFIGURATION;
    }
    fcl_wisdom_destroy(&wisdom);
    return code;
}
