// Problems, implementations and configurations from the command line.
#include "problems.h"

#include "memory.h"
#include "message.h"
#include "status.h"

#include <stdlib.h>
#include <string.h>

int problems_add(struct problem_list *list, const struct verb *verb, const char *text)
{
    struct problem_entry entry = {.text = ""};
    char reason[512] = "";
    enum fcl_status status = fcl_problem_parse(text, &entry.problem, reason, sizeof(reason));
    if (status == FCL_OK) {
        status = fcl_problem_validate(&entry.problem, reason, sizeof(reason));
    }
    if (status == FCL_UNSUPPORTED) {
        message_error("problem '%s': %s", text, reason);
        return EXIT_UNSUPPORTED;
    }
    if (status != FCL_OK) {
        return options_usage(verb,
                             "problem '%s': %s; a problem is one argument, such as "
                             "'fwd h8 q1024 d64 f16 causal-tl'",
                             text, reason);
    }
    fcl_problem_format(&entry.problem, entry.text, sizeof(entry.text));
    list->entries = memory_grow(list->entries, list->count, &list->capacity, sizeof(entry));
    list->entries[list->count++] = entry;
    return EXIT_OK;
}

int problems_read(struct problem_list *list, const struct verb *verb, const struct options *options,
                  size_t first, const char *const *defaults, size_t default_count)
{
    int given = options->argument_count > first;
    size_t count = given ? options->argument_count - first : default_count;
    int code = EXIT_OK;
    for (size_t i = 0; i < count && code == EXIT_OK; i++) {
        code = problems_add(list, verb, given ? options->arguments[first + i] : defaults[i]);
    }
    return code;
}

void problems_free(struct problem_list *list)
{
    free(list->entries);
    *list = (struct problem_list){.count = 0};
}

int list_split(const char *text, int (*take)(void *user, const char *part), void *user)
{
    char *copy = memory_print("%s", text);
    int code = EXIT_OK;
    for (char *part = copy; part != NULL && code == EXIT_OK;) {
        char *comma = strchr(part, ',');
        if (comma != NULL) {
            *comma = '\0';
        }
        code = take(user, part);
        part = comma != NULL ? comma + 1 : NULL;
    }
    free(copy);
    return code;
}

const char *implementation_text(enum fcl_implementation implementation)
{
    return implementation == FCL_UNFUSED ? "unfused" : "fused";
}

struct implementation_reader {
    struct implementation_list *list;
    const struct verb *verb;
};

static int take_implementation(void *user, const char *part)
{
    struct implementation_reader *reader = user;
    enum fcl_implementation one = strcmp(part, "unfused") == 0 ? FCL_UNFUSED : FCL_FUSED;
    if (strcmp(part, implementation_text(one)) != 0) {
        return options_usage(reader->verb, "--impl %s: fused and unfused are allowed", part);
    }
    for (size_t i = 0; i < reader->list->count; i++) {
        if (reader->list->entries[i] == one) {
            return options_usage(reader->verb, "--impl names %s twice", part);
        }
    }
    reader->list->entries[reader->list->count++] = one;
    return EXIT_OK;
}

int implementations_read(struct implementation_list *list, const struct verb *verb,
                         const char *text)
{
    struct implementation_reader reader = {.list = list, .verb = verb};
    list->count = 0;
    return list_split(text != NULL ? text : "fused", take_implementation, &reader);
}

int config_read(const struct options *options, const struct verb *verb, struct fcl_config *config,
                const struct fcl_config **chosen)
{
    char reason[512];
    *chosen = NULL;
    if (options->config == NULL) {
        return EXIT_OK;
    }
    if (fcl_config_parse(options->config, config, reason, sizeof(reason)) != FCL_OK) {
        return options_usage(verb, "--config %s: %s", options->config, reason);
    }
    *chosen = config;
    return EXIT_OK;
}
