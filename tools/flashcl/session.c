// Opens a device as the shared options say.
#include "session.h"

#include "folders.h"
#include "message.h"
#include "status.h"

#include <stdlib.h>
#include <string.h>

static void receive_log(void *user, enum fcl_log_level level, const char *text)
{
    struct session *session = user;
    if (level == FCL_LOG_ERROR) {
        snprintf(session->error, sizeof(session->error), "%s", text);
    }
    if (level == FCL_LOG_WARNING) {
        message_warning("%s", text);
    } else if (session->verbose) {
        message_note("%s", text);
    }
}

static enum fcl_status open_context(struct session *session)
{
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)session->entry->platform, 0};
    cl_int status;
    session->context = clCreateContext(properties, 1, &session->entry->device, NULL, NULL, &status);
    if (status == CL_SUCCESS) {
        session->queue = clCreateCommandQueue(session->context, session->entry->device, 0, &status);
    }
    if (status != CL_SUCCESS) {
        snprintf(session->error, sizeof(session->error),
                 "%s (%s) cannot be opened: OpenCL error %d", session->entry->name,
                 session->entry->platform_name, (int)status);
        return FCL_DEVICE_ERROR;
    }
    return FCL_OK;
}

static enum fcl_status open_device(struct session *session, const struct options *options,
                                   const char *cache_folder, const char *wisdom)
{
    session->verbose = options->verbose;
    enum fcl_status status = open_context(session);
    if (status != FCL_OK) {
        return status;
    }
    const struct fcl_log log = {
        .function = receive_log,
        .user = session,
        .level = options->verbose ? FCL_LOG_DEBUG : FCL_LOG_WARNING,
    };
    status = fcl_device_create(session->context, session->entry->device,
                               fcl_device_options(.log = log, .cache_folder = cache_folder,
                                                  .wisdom_file = wisdom,
                                                  .kernel_folder = options->kernel_folder,
                                                  .caps_mask = options->caps_mask),
                               &session->device);
    if (status == FCL_OK) {
        session->caps = fcl_device_caps(session->device);
    }
    return status;
}

// The cache folder, after one warning where the environment names none.
static char *find_cache(const struct options *options)
{
    char *reason;
    char *folder = folders_cache(options, &reason);
    if (reason != NULL) {
        message_warning("%s: built kernels are kept in memory only (--cache-dir, --no-cache)",
                        reason);
        free(reason);
    }
    if (folder != NULL) {
        folders_make_parents(folder);
    }
    return folder;
}

int session_open(struct session *session, const struct options *options)
{
    *session = (struct session){.verbose = options->verbose};
    device_list_read(&session->list);
    int code = device_select(&session->list, options->device, &session->entry);
    if (code != EXIT_OK) {
        return code;
    }
    // The cache's warning speaks for both where HOME is missing: a verb that needs the wisdom file
    // says so itself.
    char *reason;
    char *cache_folder = find_cache(options);
    session->wisdom = folders_wisdom(options, &reason);
    free(reason);
    enum fcl_status status = open_device(session, options, cache_folder, session->wisdom);
    free(cache_folder);
    if (status != FCL_OK) {
        message_error("%s", session_sentence(session, status));
    }
    return status_exit(status);
}

enum fcl_status session_open_plain(struct session *session, const struct options *options,
                                   const struct device_entry *entry)
{
    *session = (struct session){.entry = entry};
    return open_device(session, options, NULL, NULL);
}

void session_close(struct session *session)
{
    fcl_device_destroy(&session->device);
    if (session->queue != NULL) {
        clReleaseCommandQueue(session->queue);
    }
    if (session->context != NULL) {
        clReleaseContext(session->context);
    }
    free(session->wisdom);
    device_list_free(&session->list);
    *session = (struct session){.entry = NULL};
}

int session_keeps_wisdom(const struct session *session, const struct options *options, int no_store)
{
    if (no_store || options->no_wisdom) {
        return 0;
    }
    if (session->wisdom == NULL) {
        char *reason;
        free(folders_wisdom(options, &reason));
        message_warning("%s: winners are not stored (--wisdom, --no-store)", reason);
        free(reason);
        return 0;
    }
    folders_make_parents(session->wisdom);
    return 1;
}

void session_print_device(const struct session *session, const struct options *options)
{
    if (options->format == REPORT_TEXT) {
        printf("device: %s (%s)\n", session->entry->name, session->entry->platform_name);
    }
}

const char *session_sentence(const struct session *session, enum fcl_status status)
{
    return session->error[0] != '\0' ? session->error : fcl_status_text(status);
}

void session_forget(struct session *session)
{
    session->error[0] = '\0';
}
