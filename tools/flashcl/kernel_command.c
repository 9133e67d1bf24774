// Options of `flashcl tune-kernel`, and the job that they describe.
#include "kernel_command.h"

#include "kernel_json.h"
#include "memory.h"
#include "status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_json(const char *path)
{
    size_t length = strlen(path);
    return length > 5 && strcmp(path + length - 5, ".json") == 0;
}

static int read_job(struct kernel_command *command)
{
    char reason[1024];
    const char *path;
    const char *given = kernel_args_given(&command->args);
    if (command->options.argument_count != 1) {
        return options_usage(&verb_tune_kernel, "%zu files; 1 is allowed",
                             command->options.argument_count);
    }
    path = command->options.arguments[0];
    if (is_json(path) && given != NULL) {
        return options_usage(&verb_tune_kernel, "--%s: %s describes the kernel", given, path);
    }
    int good = is_json(path)
                   ? kernel_json_read(path, &command->job, reason, sizeof(reason)) &&
                         kernel_job_read_text(&command->job, path, &command->description, reason,
                                              sizeof(reason))
                   : kernel_args_read(&command->args, path, &command->job, reason, sizeof(reason));
    return good ? EXIT_OK : options_usage(&verb_tune_kernel, "%s", reason);
}

// The command line's budget goes before the file's.
static void complete_budget(struct kernel_command *command)
{
    struct budget *budget = &command->budget;
    const struct kernel_job *job = &command->job;
    long long evaluations = job->evaluations;
    long long part = (long long)ceil(job->fraction * (double)fcl_space_count(job->space));
    if (part > 0 && (evaluations == 0 || part < evaluations)) {
        evaluations = part;
    }
    budget_complete(budget, job->seconds, evaluations);
    budget->seed = budget->seed != 0 ? budget->seed : job->seed;
    if (budget->strategy == NULL && job->strategy != NULL) {
        budget->strategy = memory_print("%s", job->strategy);
    }
}

static void fill_table(struct kernel_command *command)
{
    const struct poptOption rows[] = {
        OPTION_KERNEL(&command->args),
        {"metric", '\0', POPT_ARG_STRING, &command->metric, 0,
         "a column computed from parameters and time_ms, such as 'gflops=2e-6 * N / time_ms'",
         "NAME=EXPRESSION"},
        {"emit", '\0', POPT_ARG_STRING, &command->emit, 0, "write the winner as #define lines",
         "FILE"},
        {"output", '\0', POPT_ARG_STRING, &command->output, 0,
         "write each result as it comes, as T4", "FILE"},
        OPTION_BUDGET(&command->budget),
        OPTION_ISOLATION(&command->isolation),
        OPTION_RETRY_BAD(&command->retry_bad),
        OPTION_NO_STORE(&command->no_store),
        POPT_TABLEEND,
    };
    _Static_assert(sizeof(rows) <= sizeof(command->table), "the table is too small");
    memcpy(command->table, rows, sizeof(rows));
}

int kernel_command_read(struct kernel_command *command, int argc, const char **argv)
{
    *command = (struct kernel_command){.metric = NULL};
    kernel_args_init(&command->args);
    budget_init(&command->budget);
    isolation_settings_init(&command->isolation);
    kernel_job_init(&command->job);
    fill_table(command);
    int code = options_parse(&command->options, &verb_tune_kernel, command->table, argc, argv);
    if (code != OPTIONS_PROCEED) {
        return code;
    }
    code = budget_check(&command->budget, &verb_tune_kernel);
    code =
        code == EXIT_OK ? isolation_settings_check(&command->isolation, &verb_tune_kernel) : code;
    code = code == EXIT_OK ? read_job(command) : code;
    if (code != EXIT_OK) {
        return code;
    }
    complete_budget(command);
    return OPTIONS_PROCEED;
}

// ---- the digest, FNV-1a

static void digest_bytes(uint64_t *digest, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < count; i++) {
        *digest = (*digest ^ at[i]) * UINT64_C(0x100000001b3);
    }
}

// With its end, so that two texts are not one.
static void digest_text(uint64_t *digest, const char *text)
{
    digest_bytes(digest, text != NULL ? text : "", text != NULL ? strlen(text) + 1 : 1);
}

static void digest_args(uint64_t *digest, const struct kernel_args *args)
{
    const char *const texts[] = {args->kernel, args->compiler_options, args->reference};
    char *const *const lists[] = {args->parameters,     args->constraints, args->global,
                                  args->local,          args->arguments,   args->reference_global,
                                  args->reference_local};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        digest_text(digest, texts[i]);
    }
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        for (size_t j = 0; lists[i] != NULL && lists[i][j] != NULL; j++) {
            digest_text(digest, lists[i][j]);
        }
        digest_text(digest, NULL);
    }
    digest_text(digest, args->groups ? "groups" : NULL);
}

void kernel_command_digest(const struct kernel_command *command, char digest[KERNEL_DIGEST_SIZE])
{
    uint64_t number = UINT64_C(0xcbf29ce484222325);
    const struct kernel_job *job = &command->job;
    digest_text(&number, command->description);
    digest_args(&number, &command->args);
    digest_text(&number, job->spec.source);
    digest_text(&number, job->reference.source);
    for (size_t i = 0; i < job->argument_count; i++) {
        const struct fcl_kernel_argument *argument = &job->arguments[i];
        digest_bytes(&number, argument->bytes, argument->byte_count);
        digest_bytes(&number, argument->expected, argument->expected_count);
    }
    snprintf(digest, KERNEL_DIGEST_SIZE, "%016llx", (unsigned long long)number);
}

void kernel_command_free(struct kernel_command *command)
{
    kernel_job_free(&command->job);
    kernel_args_free(&command->args);
    budget_free(&command->budget);
    isolation_settings_free(&command->isolation);
    options_free(&command->options);
    free(command->metric);
    free(command->output);
    free(command->emit);
}
