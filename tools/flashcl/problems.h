// The arguments that several verbs read alike: problems, implementations, a configuration.
#ifndef FLASHCL_TOOL_PROBLEMS_H
#define FLASHCL_TOOL_PROBLEMS_H

#include "options.h"

#include <flashcl/tune.h>

#define PROBLEM_TEXT_SIZE 256

struct problem_entry {
    struct fcl_problem problem;
    char text[PROBLEM_TEXT_SIZE]; // text form, shortest
};

struct problem_list {
    struct problem_entry *entries;
    size_t count, capacity;
};

// Adds one problem from its text. Returns EXIT_OK, or the exit code after the error was reported.
int problems_add(struct problem_list *list, const struct verb *verb, const char *text);

// Adds the arguments of the command line from the `first` on, or the default texts where there are
// none.
int problems_read(struct problem_list *list, const struct verb *verb, const struct options *options,
                  size_t first, const char *const *defaults, size_t default_count);
void problems_free(struct problem_list *list);

#define IMPLEMENTATION_COUNT 2

struct implementation_list {
    enum fcl_implementation entries[IMPLEMENTATION_COUNT];
    size_t count;
};

// Reads `fused,unfused`; NULL is `fused`.
int implementations_read(struct implementation_list *list, const struct verb *verb,
                         const char *text);
const char *implementation_text(enum fcl_implementation implementation);

// Reads --config into *config; *chosen is then that address, or NULL where the option is missing.
int config_read(const struct options *options, const struct verb *verb, struct fcl_config *config,
                const struct fcl_config **chosen);

// Splits `text` at commas and calls `take` for each part until one returns another value than
// EXIT_OK, which is then returned.
int list_split(const char *text, int (*take)(void *user, const char *part), void *user);

#endif
