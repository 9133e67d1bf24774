// `flashcl cache`: housekeeping of the folder of built kernels.
#include "folders.h"
#include "message.h"
#include "problems.h"
#include "session.h"
#include "status.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static int run_cache(int argc, const char **argv);

const struct verb verb_cache = {
    .name = "cache",
    .arguments = "list|stat|verify|clear|warm [PROBLEM...]",
    .summary = "the folder of built kernels",
    .details = "  list    every entry, most recently used first\n"
               "  stat    how many entries and bytes there are\n"
               "  verify  the damaged entries; the exit code is 1 when there are any\n"
               "  clear   remove all entries, or with --damaged the damaged ones and left-over\n"
               "          temporary files\n"
               "  warm    build the kernels of the problems ahead of their use\n\n"
               "A damaged entry does no harm: it is built again when it is needed. Files in the\n"
               "folder that are not the cache's own are left alone. The entry labelled peak holds\n"
               "the figures of `flashcl peak`.\n\n"
               "  flashcl cache warm 'fwd h8 q1024 d64 f16' 'fwd h8 q1 k1024 d64 f16'",
    .run = run_cache,
};

struct cache {
    int damaged_only;
    char *impl_text;
    const struct options *options;
    char *folder;
    struct report report;
    struct cache_totals {
        int64_t entries, bytes, damaged, oldest, newest;
    } totals;
};

#define TIME_SIZE 32

// Seconds since 1970 as UTC in ISO 8601; "" where the calendar ends.
static const char *time_text(int64_t seconds, char text[TIME_SIZE])
{
    time_t time = (time_t)seconds;
    struct tm parts;
    if (gmtime_r(&time, &parts) == NULL ||
        strftime(text, TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
        text[0] = '\0';
    }
    return text;
}

static void start_report(struct cache *cache, const struct report_column *columns, size_t count)
{
    if (cache->options->format == REPORT_TEXT) {
        printf("folder: %s\n", cache->folder);
    }
    report_init(&cache->report, stdout, cache->options->format, REPORT_TABLE, columns, count);
}

static int finish_report(struct cache *cache, enum fcl_status status)
{
    report_finish(&cache->report);
    if (status != FCL_OK) {
        message_error("%s: %s", cache->folder, fcl_status_text(status));
    }
    return status_exit(status);
}

// ---- list and verify --------------------------------------------------------------------------

static const struct report_column entry_columns[] = {{"name", REPORT_WORD, 0, 0},
                                                     {"label", REPORT_WORD, 0, 0},
                                                     {"bytes", REPORT_INTEGER, 0, 0},
                                                     {"used", REPORT_WORD, 0, 0},
                                                     {"status", REPORT_WORD, 0, 0}};

#define ENTRY_COLUMN_COUNT (sizeof(entry_columns) / sizeof(entry_columns[0]))

static int visit_entry(void *user, const struct fcl_cache_entry *entry)
{
    struct cache *cache = user;
    char used[TIME_SIZE];
    report_row(&cache->report);
    report_set_text(&cache->report, "name", entry->name);
    report_set_text(&cache->report, "label", entry->label[0] != '\0' ? entry->label : NULL);
    report_set_integer(&cache->report, "bytes", (int64_t)entry->bytes);
    report_set_text(&cache->report, "used", time_text(entry->used, used));
    report_set_text(&cache->report, "status", entry->damaged ? "damaged" : "ok");
    report_row_end(&cache->report);
    return 0;
}

static int visit_damaged(void *user, const struct fcl_cache_entry *entry)
{
    struct cache *cache = user;
    if (!entry->damaged) {
        return 0;
    }
    cache->totals.damaged++;
    return visit_entry(user, entry);
}

static int list_entries(struct cache *cache)
{
    start_report(cache, entry_columns, ENTRY_COLUMN_COUNT);
    return finish_report(cache, fcl_cache_list(cache->folder, visit_entry, cache));
}

static int verify_entries(struct cache *cache)
{
    start_report(cache, entry_columns, ENTRY_COLUMN_COUNT);
    int code = finish_report(cache, fcl_cache_list(cache->folder, visit_damaged, cache));
    if (code != EXIT_OK) {
        return code;
    }
    if (cache->options->format == REPORT_TEXT) {
        printf("%lld damaged\n", (long long)cache->totals.damaged);
    }
    return cache->totals.damaged > 0 ? EXIT_CHECK_FAILED : EXIT_OK;
}

// ---- stat and clear ---------------------------------------------------------------------------

static int visit_total(void *user, const struct fcl_cache_entry *entry)
{
    struct cache_totals *totals = &((struct cache *)user)->totals;
    totals->oldest =
        totals->entries == 0 || entry->used < totals->oldest ? entry->used : totals->oldest;
    totals->newest =
        totals->entries == 0 || entry->used > totals->newest ? entry->used : totals->newest;
    totals->entries++;
    totals->bytes += (int64_t)entry->bytes;
    totals->damaged += entry->damaged != 0;
    return 0;
}

static int print_totals(struct cache *cache)
{
    static const struct report_column columns[] = {
        {"folder", REPORT_WORD, 0, 1},   {"entries", REPORT_INTEGER, 0, 0},
        {"bytes", REPORT_INTEGER, 0, 0}, {"damaged", REPORT_INTEGER, 0, 0},
        {"oldest", REPORT_WORD, 0, 0},   {"newest", REPORT_WORD, 0, 0}};
    char time[TIME_SIZE];
    start_report(cache, columns, sizeof(columns) / sizeof(columns[0]));
    enum fcl_status status = fcl_cache_list(cache->folder, visit_total, cache);
    if (status == FCL_OK) {
        report_row(&cache->report);
        report_set_text(&cache->report, "folder", cache->folder);
        report_set_integer(&cache->report, "entries", cache->totals.entries);
        report_set_integer(&cache->report, "bytes", cache->totals.bytes);
        report_set_integer(&cache->report, "damaged", cache->totals.damaged);
        if (cache->totals.entries > 0) {
            report_set_text(&cache->report, "oldest", time_text(cache->totals.oldest, time));
            report_set_text(&cache->report, "newest", time_text(cache->totals.newest, time));
        }
        report_row_end(&cache->report);
    }
    return finish_report(cache, status);
}

static int clear_entries(struct cache *cache)
{
    static const struct report_column columns[] = {{"folder", REPORT_WORD, 0, 1},
                                                   {"removed", REPORT_INTEGER, 0, 0}};
    size_t removed = 0;
    start_report(cache, columns, sizeof(columns) / sizeof(columns[0]));
    enum fcl_status status = fcl_cache_clear(cache->folder, cache->damaged_only, &removed);
    if (status == FCL_OK) {
        report_row(&cache->report);
        report_set_text(&cache->report, "folder", cache->folder);
        report_set_integer(&cache->report, "removed", (int64_t)removed);
        report_row_end(&cache->report);
    }
    return finish_report(cache, status);
}

// ---- warm -------------------------------------------------------------------------------------

static const struct report_column warm_columns[] = {
    {"problem", REPORT_WORD, 0, 0},       {"device", REPORT_WORD, 0, 1},
    {"impl", REPORT_WORD, 0, 0},          {"config", REPORT_WORD, 0, 0},
    {"origin", REPORT_WORD, 0, 0},        {"status", REPORT_WORD, 0, 0},
    {"from_cache", REPORT_INTEGER, 0, 0}, {"build_ms", REPORT_FIXED, 1, 0},
    {"plan_ms", REPORT_FIXED, 1, 0}};

static enum fcl_status warm_one(struct report *report, struct session *session,
                                const struct problem_entry *entry,
                                enum fcl_implementation implementation)
{
    fcl_plan *plan = NULL;
    message_progress("warm: %s (%s)", entry->text, implementation_text(implementation));
    session_forget(session);
    enum fcl_status status =
        fcl_plan_create(session->device, &entry->problem,
                        fcl_plan_options(.implementation = implementation), &plan);
    report_row(report);
    report_set_text(report, "problem", entry->text);
    report_set_text(report, "device", session->entry->name);
    report_set_text(report, "impl", implementation_text(implementation));
    report_set_text(report, "status", status_word(status));
    if (status == FCL_OK) {
        struct fcl_plan_info info;
        fcl_plan_describe(plan, &info);
        report_set_text(report, "config", info.config);
        report_set_text(report, "origin", info.origin);
        report_set_integer(report, "from_cache", info.from_cache);
        report_set_real(report, "build_ms", info.build_ms);
        report_set_real(report, "plan_ms", info.plan_ms);
    } else {
        message_note("%s (%s): %s", entry->text, implementation_text(implementation),
                     session_sentence(session, status));
    }
    report_row_end(report);
    fcl_plan_destroy(&plan);
    return status;
}

static int warm_all(struct cache *cache, const struct problem_list *problems,
                    const struct implementation_list *implementations)
{
    struct session session;
    int code = session_open(&session, cache->options);
    if (code == EXIT_OK) {
        session_print_device(&session, cache->options);
        start_report(cache, warm_columns, sizeof(warm_columns) / sizeof(warm_columns[0]));
        for (size_t i = 0; i < problems->count; i++) {
            for (size_t j = 0; j < implementations->count; j++) {
                enum fcl_status status = warm_one(&cache->report, &session, &problems->entries[i],
                                                  implementations->entries[j]);
                code = status_graver(code, status_exit(status));
            }
        }
        message_progress_end();
        report_finish(&cache->report);
    }
    session_close(&session);
    return code;
}

static int warm(struct cache *cache)
{
    struct problem_list problems = {.count = 0};
    struct implementation_list implementations;
    if (cache->options->argument_count < 2) {
        return options_usage(&verb_cache, "cache warm needs at least one problem");
    }
    int code = implementations_read(&implementations, &verb_cache, cache->impl_text);
    if (code == EXIT_OK) {
        code = problems_read(&problems, &verb_cache, cache->options, 1, NULL, 0);
    }
    if (code == EXIT_OK) {
        code = warm_all(cache, &problems, &implementations);
    }
    problems_free(&problems);
    return code;
}

// ---- The verb ---------------------------------------------------------------------------------

static const struct action {
    const char *name;
    int (*run)(struct cache *cache);
    int takes_problems;
} actions[] = {{"list", list_entries, 0},
               {"stat", print_totals, 0},
               {"verify", verify_entries, 0},
               {"clear", clear_entries, 0},
               {"warm", warm, 1}};

static const struct action *find_action(const char *name)
{
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        if (strcmp(actions[i].name, name) == 0) {
            return &actions[i];
        }
    }
    return NULL;
}

static int find_folder(struct cache *cache)
{
    char *reason = NULL;
    if (cache->options->no_cache) {
        return options_usage(&verb_cache, "--no-cache leaves nothing to work on");
    }
    cache->folder = folders_cache(cache->options, &reason);
    int code = cache->folder != NULL
                   ? EXIT_OK
                   : options_usage(&verb_cache, "%s: --cache-dir is needed", reason);
    free(reason);
    return code;
}

static int run_action(struct cache *cache)
{
    const struct options *options = cache->options;
    const char *name = options->argument_count > 0 ? options->arguments[0] : "";
    const struct action *action = find_action(name);
    if (action == NULL) {
        return options_usage(&verb_cache,
                             "'cache %s': list, stat, verify, clear and warm are "
                             "allowed",
                             name);
    }
    if (!action->takes_problems && options->argument_count > 1) {
        return options_usage(&verb_cache, "'%s': cache %s takes no arguments",
                             options->arguments[1], name);
    }
    int code = find_folder(cache);
    return code == EXIT_OK ? action->run(cache) : code;
}

static int run_cache(int argc, const char **argv)
{
    struct options options = {.context = NULL};
    struct cache cache = {.options = &options};
    struct poptOption table[] = {
        {"damaged", '\0', POPT_ARG_NONE, &cache.damaged_only, 0,
         "clear: remove only damaged entries and left-over temporary files", NULL},
        {"impl", '\0', POPT_ARG_STRING, &cache.impl_text, 0,
         "warm: which implementations (default: fused)", "fused,unfused"},
        POPT_TABLEEND,
    };
    int code = options_parse(&options, &verb_cache, table, argc, argv);
    if (code == OPTIONS_PROCEED) {
        code = run_action(&cache);
    }
    options_free(&options);
    free(cache.impl_text);
    free(cache.folder);
    return code;
}
