// Notes signals.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // sigaction next to C11
#endif

#include "stopping.h"

#include <signal.h>

static volatile sig_atomic_t asked;
static struct sigaction interrupt, terminate; // as they were before

static void note(int signal)
{
    (void)signal;
    asked = 1;
}

void stopping_begin(void)
{
    const struct sigaction noting = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &noting, &interrupt);
    sigaction(SIGTERM, &noting, &terminate);
}

void stopping_end(void)
{
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGTERM, &terminate, NULL);
}

int stopping_asked(void)
{
    return asked;
}
