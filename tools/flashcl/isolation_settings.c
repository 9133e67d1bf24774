// Checks of the options about worker processes.
#include "isolation_settings.h"

#include "message.h"
#include "process.h"
#include "status.h"

#include <stdlib.h>
#include <string.h>

#define BUILD_SECONDS 60.0
#define RUN_SECONDS 20.0
#define SECONDS_LIMIT 86400.0

void isolation_settings_init(struct isolation_settings *settings)
{
    settings->build_seconds = BUILD_SECONDS;
    settings->run_seconds = RUN_SECONDS;
    const struct poptOption rows[] = {
        {"build-timeout", '\0', POPT_ARG_DOUBLE, &settings->build_seconds, 0,
         "give up on a configuration that takes longer to build (attention: and to run once) "
         "(default: 60)",
         "SECONDS"},
        {"run-timeout", '\0', POPT_ARG_DOUBLE, &settings->run_seconds, 0,
         "give up on a configuration that takes longer to be verified and timed (default: 20)",
         "SECONDS"},
        {"journal", '\0', POPT_ARG_STRING, &settings->journal, 0,
         "record here what is done, so that --resume can go on (default: a file for each problem "
         "or kernel in $XDG_STATE_HOME/flashcl, else $HOME/.local/state/flashcl)",
         "FILE"},
        {"resume", '\0', POPT_ARG_NONE, &settings->resume, 0,
         "go on with a tuning that was interrupted", NULL},
        {"in-process", '\0', POPT_ARG_NONE, &settings->in_process, 0,
         "build and run in this process: a configuration that crashes or hangs ends it", NULL},
        POPT_TABLEEND,
    };
    memcpy(settings->table, rows, sizeof(rows));
}

int isolation_settings_check(const struct isolation_settings *settings, const struct verb *verb)
{
    const double limits[] = {settings->build_seconds, settings->run_seconds};
    for (int i = 0; i < 2; i++) {
        if (!(limits[i] > 0) || limits[i] > SECONDS_LIMIT) {
            return options_usage(verb, "--%s-timeout %g: more than 0, up to %g are allowed",
                                 i == 0 ? "build" : "run", limits[i], SECONDS_LIMIT);
        }
    }
    if (settings->in_process && (settings->journal != NULL || settings->resume)) {
        return options_usage(verb, "--in-process keeps no journal: --journal and --resume "
                                   "exclude it");
    }
    return EXIT_OK;
}

void isolation_settings_complete(struct isolation_settings *settings)
{
    if (!settings->in_process && process_program() == NULL) {
        message_warning("this command cannot find itself to start worker processes: what a "
                        "candidate does to its process, it does to this one");
        settings->in_process = 1;
    }
}

void isolation_settings_free(struct isolation_settings *settings)
{
    free(settings->journal);
    settings->journal = NULL;
}
