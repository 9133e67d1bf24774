// Worker processes, journal and temporary folder of one tuning.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // mkdtemp and sysconf next to C11
#endif

#include "isolation.h"

#include "folders.h"
#include "memory.h"
#include "message.h"
#include "status.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER_NAME "flashcl-tuning-"
#define BUILDERS_LIMIT 64
#define NAME_LENGTH 200

// ---- the folder

char *isolation_make_folder(void)
{
    const char *base = getenv("TMPDIR");
    char *folder =
        memory_print("%s/" FOLDER_NAME "XXXXXX", base != NULL && base[0] == '/' ? base : "/tmp");
    if (mkdtemp(folder) == NULL) {
        message_error("%s cannot be made: %s (TMPDIR, --in-process)", folder, strerror(errno));
        free(folder);
        return NULL;
    }
    return folder;
}

void isolation_remove_folder(const char *folder)
{
    const char *name = strrchr(folder, '/');
    if (name != NULL && strncmp(name + 1, FOLDER_NAME, strlen(FOLDER_NAME)) == 0) {
        fcl_cache_clear(folder, 0, NULL);
        rmdir(folder);
    }
}

// ---- the journal

// NULL where a text is no UTF-8.
static json_t *describe(const struct isolation_options *options)
{
    const struct options *shared = options->options;
    const struct fcl_caps *caps = options->session->caps;
    json_t *about = json_copy((json_t *)(uintptr_t)options->about);
    json_t *surroundings =
        json_pack("{s:s,s:s,s:s,s:s,s:s}", "version", fcl_version(), "device", caps->name, "driver",
                  caps->driver, "kernel folder",
                  shared->kernel_folder != NULL ? shared->kernel_folder : "none", "capability mask",
                  shared->caps_mask != NULL ? shared->caps_mask : "none");
    if (about == NULL || surroundings == NULL) {
        json_decref(about);
        json_decref(surroundings);
        return NULL;
    }
    json_object_update(about, surroundings);
    json_decref(surroundings);
    return about;
}

// The journal's file where none is named: its name says of which tuning it is.
static char *default_path(const struct isolation_options *options, char **reason)
{
    char *folder = folders_state(reason);
    if (folder == NULL) {
        return NULL;
    }
    char *name = memory_print("%s %s %s", options->session->caps->name,
                              options->session->caps->driver, options->journal_name);
    for (char *at = name; *at != '\0'; at++) {
        *at = isalnum((unsigned char)*at) ? *at : '-';
    }
    // What is tuned stands at the end and tells more.
    size_t length = strlen(name);
    const char *shown = length > NAME_LENGTH ? name + length - NAME_LENGTH : name;
    char *path = memory_print("%s/%s.journal", folder, shown);
    free(name);
    free(folder);
    folders_make_parents(path);
    return path;
}

// What the file says of an earlier tuning: its folder goes, too.
static void welcome_journal(struct isolation *isolation, const char *path, int resume)
{
    const char *folder = journal_folder(isolation->journal);
    if (folder != NULL) {
        isolation_remove_folder(folder);
    }
    if (resume && journal_was_unfinished(isolation->journal)) {
        message_note("%zu evaluations are taken from %s", journal_count(isolation->journal), path);
    } else if (resume) {
        message_note("%s records nothing: tuning starts from its beginning", path);
    } else if (journal_was_unfinished(isolation->journal)) {
        message_note("%s was of an unfinished tuning; without --resume this one starts anew", path);
    }
}

// A journal that was asked for must be; the default one is a convenience.
static int open_journal(struct isolation *isolation, const struct isolation_options *options)
{
    char *missing = NULL, reason[1024] = "the device is named in no UTF-8";
    char *path = options->settings->journal != NULL ? memory_print("%s", options->settings->journal)
                                                    : default_path(options, &missing);
    json_t *about = describe(options);
    if (path != NULL && about != NULL) {
        isolation->journal = journal_open(path, about, isolation->folder, options->settings->resume,
                                          reason, sizeof(reason));
    }
    int wanted = options->settings->journal != NULL || options->settings->resume;
    const char *why = missing != NULL ? missing : reason;
    if (isolation->journal != NULL) {
        welcome_journal(isolation, path, options->settings->resume);
    } else if (wanted) {
        message_error("journal: %s (--journal)", why);
    } else {
        message_warning("no journal is kept: %s (--journal)", why);
    }
    int code = isolation->journal == NULL && wanted ? EXIT_USAGE : EXIT_OK;
    json_decref(about);
    free(missing);
    free(path);
    return code;
}

// ---- the workers

void isolation_worker_command(struct worker_command *command, const struct session *session,
                              const struct options *options, const char *folder)
{
    const char **at = command->arguments;
    *command = (struct worker_command){.device = ""};
    snprintf(command->device, sizeof(command->device), "%td",
             session->entry - session->list.entries);
    *at++ = "flashcl";
    *at++ = "worker";
    *at++ = "--device";
    *at++ = command->device;
    *at++ = "--no-wisdom";
    *at++ = "--cache-dir";
    *at++ = folder;
    if (options->kernel_folder != NULL) {
        *at++ = "--kernel-dir";
        *at++ = options->kernel_folder;
    }
    if (options->caps_mask != NULL) {
        *at++ = "--caps-mask";
        *at++ = options->caps_mask;
    }
    if (options->verbose) {
        *at++ = "--verbose";
    }
}

static size_t count_builders(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > BUILDERS_LIMIT ? BUILDERS_LIMIT : (size_t)cores;
}

int isolation_begin(struct isolation *isolation, const struct isolation_options *options)
{
    *isolation = (struct isolation){.builders = count_builders()};
    isolation->folder = isolation_make_folder();
    int code = isolation->folder != NULL ? open_journal(isolation, options) : EXIT_INTERNAL;
    if (code != EXIT_OK) {
        return code;
    }
    isolation_worker_command(&isolation->command, options->session, options->options,
                             isolation->folder);
    isolation->open = json_incref(options->open);
    const struct workers_options workers = {.arguments = isolation->command.arguments,
                                            .open = isolation->open,
                                            .builders = isolation->builders,
                                            .launches = options->launches,
                                            .build_seconds = options->settings->build_seconds,
                                            .run_seconds = options->settings->run_seconds,
                                            .journal = isolation->journal,
                                            .quiet = !options->options->verbose,
                                            .name = options->name};
    isolation->workers = workers_create(&workers);
    return EXIT_OK;
}

void isolation_end(struct isolation *isolation, int finished)
{
    workers_destroy(&isolation->workers);
    journal_close(&isolation->journal, finished);
    if (isolation->folder != NULL) {
        isolation_remove_folder(isolation->folder);
    }
    free(isolation->folder);
    json_decref(isolation->open);
    *isolation = (struct isolation){.folder = NULL};
}
