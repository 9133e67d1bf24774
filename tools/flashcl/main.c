// The command: a table of verbs, help, and the last check that the output was really written.
#include "memory.h"
#include "message.h"
#include "options.h"
#include "process.h"
#include "status.h"

#include <flashcl/types.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct verb *const verbs[] = {
    &verb_info,        &verb_run,     &verb_check, &verb_bench, &verb_peak,   &verb_tune,
    &verb_tune_kernel, &verb_explain, &verb_dump,  &verb_cache, &verb_wisdom,
};

#define VERB_COUNT (sizeof(verbs) / sizeof(verbs[0]))

static const char problem_help[] =
    "A PROBLEM is one argument: a pass, then fields in any order, those at their default left "
    "out:\n"
    "  fwd b2 h32/8 q4096 k4096 d192/128 f16 causal-br lse layout=bshd align=4\n"
    "  fwd|lse             attention, or only the log-sum-exp of its scores\n"
    "  bN hN[/KV] qN kN    batch (1), query/key heads (1), query length, key length (as q)\n"
    "  dN[/DV]             head dimension of q and k / of v\n"
    "  f32|f16|bf16        element type (f32), or one each: q:f16 k:bf16 v:f32 o:f32\n"
    "  causal-tl|causal-br causal mask from the top-left or the bottom-right corner\n"
    "  win=L,R             only L keys to the left and R to the right; -1: no bound. With "
    "causal-*,\n"
    "                      or with tl or br, which say from which corner\n"
    "  softcap=C           scores become C tanh(score / C)\n"
    "  bias=f32|f16|bf16   plus a tensor [B,H,N,M]; -inf hides a key\n"
    "  mask=u8             a tensor of bytes [B,H,N,M] says which keys a query sees\n"
    "  alibi, alibi=given  less a slope for each key of distance: the standard one of a head, or "
    "one\n"
    "                      that the caller gives\n"
    "  sink                a logit more for each query head, without a value\n"
    "  varlen              packed sequences of lengths up to q and k\n"
    "  used                padded sequences with lengths of their own\n"
    "  page=N              keys and values in pages of N rows\n"
    "  lse guard-v strided layout=bhsd|bshd align=BYTES\n";

static const char exit_help[] =
    "Exit codes: 0 ok, 1 check failed, 2 usage, 3 no device, 4 unsupported, 5 internal error,\n"
    "6 no valid configuration, 7 budget reached. Errors are on stderr as `flashcl: sentence`.\n";

static int print_overview(void)
{
    char *usage = memory_print("VERB [OPTION...] [ARGUMENT...]\n\n"
                               "Fused attention on any OpenCL device. Verbs, each with more under "
                               "`flashcl VERB --help`:\n");
    for (size_t i = 0; i < VERB_COUNT; i++) {
        memory_append(&usage, "  %-11s %s\n", verbs[i]->name, verbs[i]->summary);
    }
    options_print_overview(stdout, usage);
    printf("\n%s\n%s", problem_help, exit_help);
    free(usage);
    return EXIT_OK;
}

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < VERB_COUNT; i++) {
        if (strcmp(verbs[i]->name, name) == 0) {
            return verbs[i];
        }
    }
    message_error("'%s' is no verb; info, run, check, bench, peak, tune, tune-kernel, explain, "
                  "dump, cache, wisdom and help are allowed",
                  name);
    return NULL;
}

static int print_verb_help(const char *name)
{
    const struct verb *verb = find_verb(name);
    const char *arguments[] = {name, "--help", NULL};
    return verb != NULL ? verb->run(2, arguments) : EXIT_USAGE;
}

static int dispatch(int argc, const char **argv)
{
    const char *word = argc > 1 ? argv[1] : "help";
    if (strcmp(word, "--version") == 0) {
        printf("flashcl %s\n", fcl_version());
        return EXIT_OK;
    }
    if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        return argc > 2 ? print_verb_help(argv[2]) : print_overview();
    }
    const struct verb *verb = // what the tuners start is not for users
        strcmp(word, verb_worker.name) == 0 ? &verb_worker : find_verb(word);
    return verb != NULL ? verb->run(argc - 1, argv + 1) : EXIT_USAGE;
}

// A closed standard stream would let the next file that is opened take its number, and our output.
// Opened for the wrong direction, it fails as a closed one does.
static void occupy_standard_streams(void)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++) {
        if (fcntl(stream, F_GETFD) == -1 &&
            open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) == -1) {
            return;
        }
    }
}

int main(int argc, char **argv)
{
    occupy_standard_streams();
    process_set_program(argc > 0 ? argv[0] : NULL);
    int code = dispatch(argc, (const char **)argv);
    message_progress_end();
    int unwritten = ferror(stdout);
    if (fflush(stdout) != 0 || unwritten) {
        message_error("the output cannot be written: %s", strerror(errno));
        return EXIT_INTERNAL;
    }
    return code;
}
