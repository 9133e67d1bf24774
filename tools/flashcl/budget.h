// How long and how a tuner searches: options that every tuning verb has.
#ifndef FLASHCL_TOOL_BUDGET_H
#define FLASHCL_TOOL_BUDGET_H

#include "options.h"

#include <limits.h>

#define BUDGET_NOT_GIVEN LLONG_MIN

struct budget {
    double seconds;        // 0: no limit; BUDGET_NOT_GIVEN until budget_complete
    long long evaluations; // likewise
    long long seed;
    char *strategy; // NULL: the default
    struct poptOption table[5];
};

// Fills the table, which points at the budget: before it becomes part of a verb's.
void budget_init(struct budget *budget);

// The row of a verb's table for all of these options.
#define OPTION_BUDGET(budget)                                              \
    {                                                                      \
        NULL, '\0', POPT_ARG_INCLUDE_TABLE, (budget)->table, 0, NULL, NULL \
    }

// Checks what the command line said. Returns EXIT_OK, or EXIT_USAGE after the error was reported.
int budget_check(const struct budget *budget, const struct verb *verb);

// Fills in the limits that the command line does not give.
void budget_complete(struct budget *budget, double seconds, long long evaluations);

// Whether a strategy of this name exists; NULL is the default one.
int budget_knows_strategy(const char *name);

void budget_free(struct budget *budget);

#endif
