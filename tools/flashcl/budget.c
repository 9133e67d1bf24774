// Checks of the budget's options.
#include "budget.h"

#include "status.h"

#include <flashcl/search.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

void budget_init(struct budget *budget)
{
    budget->seconds = (double)BUDGET_NOT_GIVEN;
    budget->evaluations = BUDGET_NOT_GIVEN;
    const struct poptOption rows[] = {
        {"budget", '\0', POPT_ARG_DOUBLE, &budget->seconds, 0,
         "stop after this time, all together (default: none)", "SECONDS"},
        {"max-evals", '\0', POPT_ARG_LONGLONG, &budget->evaluations, 0,
         "stop after so many configurations of each (default: all)", "N"},
        {"strategy", '\0', POPT_ARG_STRING, &budget->strategy, 0,
         "exhaustive, random, greedy or seeded (default: exhaustive for fewer than 300 points, "
         "else seeded)",
         "NAME"},
        {"seed", '\0', POPT_ARG_LONGLONG, &budget->seed, 0, "of the search (default: 0)", "N"},
        POPT_TABLEEND,
    };
    memcpy(budget->table, rows, sizeof(rows));
}

int budget_knows_strategy(const char *name)
{
    const char *known;
    int found = name == NULL;
    for (size_t i = 0; !found && (known = fcl_search_strategy(i, NULL)) != NULL; i++) {
        found = strcmp(known, name) == 0;
    }
    return found;
}

int budget_check(const struct budget *budget, const struct verb *verb)
{
    if (budget->seconds != (double)BUDGET_NOT_GIVEN &&
        (!(budget->seconds >= 0) || !isfinite(budget->seconds))) {
        return options_usage(verb, "--budget %g: 0 (none) or more seconds are allowed",
                             budget->seconds);
    }
    if (!budget_knows_strategy(budget->strategy)) {
        return options_usage(verb,
                             "--strategy %s: exhaustive, random, greedy and seeded are allowed",
                             budget->strategy);
    }
    if (budget->evaluations < 0 && budget->evaluations != BUDGET_NOT_GIVEN) {
        return options_usage(verb, "--max-evals %lld: 0 (all) or more is allowed",
                             budget->evaluations);
    }
    return EXIT_OK;
}

void budget_complete(struct budget *budget, double seconds, long long evaluations)
{
    if (budget->seconds == (double)BUDGET_NOT_GIVEN) {
        budget->seconds = seconds;
    }
    if (budget->evaluations == BUDGET_NOT_GIVEN) {
        budget->evaluations = evaluations;
    }
}

void budget_free(struct budget *budget)
{
    free(budget->strategy);
    budget->strategy = NULL;
}
