// Child processes: pipes, start, lines, end.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // kill, posix_spawn and readlink next to C11
#endif

#include "process.h"

#include "clock.h"
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENDING_SECONDS 1.0   // between a closed pipe and the end of its process
#define KILLING_SECONDS 10.0 // a process that a driver holds longer is left to the system
#define LINE_LIMIT (1 << 20)

extern char **environ;

// ---- this command again

static const char *called_as;

void process_set_program(const char *name)
{
    called_as = name;
}

const char *process_program(void)
{
    static const char self[] = "/proc/self/exe";
    if (access(self, X_OK) == 0) {
        return self;
    }
    return called_as != NULL && strchr(called_as, '/') != NULL && access(called_as, X_OK) == 0
               ? called_as
               : NULL;
}

// ---- start

// A pipe that no other child inherits.
static int open_pipe(int ends[2])
{
    if (pipe(ends) != 0) {
        return errno;
    }
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return 0;
}

static int spawn(struct process *process, const char *program, const char *const *arguments,
                 int input, int output, int quiet)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (quiet) {
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    }
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    int error = posix_spawn(&process->pid, program, &actions, &attributes,
                            (char *const *)(const void *)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

int process_start(struct process *process, const char *program, const char *const *arguments,
                  int quiet)
{
    int input[2], output[2];
    *process = (struct process){.pid = 0};
    int error = open_pipe(input);
    if (error != 0) {
        return error;
    }
    error = open_pipe(output);
    if (error != 0) {
        close(input[0]);
        close(input[1]);
        return error;
    }
    error = spawn(process, program, arguments, input[0], output[1], quiet);
    close(input[0]);
    close(output[1]);
    process->to = input[1];
    process->from = output[0];
    fcntl(process->from, F_SETFL, O_NONBLOCK);
    if (error != 0) {
        close(process->to);
        close(process->from);
        *process = (struct process){.pid = 0};
    }
    return error;
}

// ---- lines

void process_send(struct process *process, const json_t *message)
{
    char *line = json_dumps(message, JSON_COMPACT);
    char *whole = memory_print("%s\n", line != NULL ? line : "{}");
    size_t size = strlen(whole);
    for (size_t at = 0; at < size;) {
        ssize_t written = write(process->to, whole + at, size - at);
        if (written < 0 && errno != EINTR) {
            break;
        }
        at += written > 0 ? (size_t)written : 0;
    }
    free(whole);
    free(line);
}

// The first whole line as an object.
static enum process_state take_line(struct process *process, json_t **answer)
{
    char *end = process->length > 0 ? memchr(process->text, '\n', process->length) : NULL;
    if (end == NULL) {
        return process->length > LINE_LIMIT ? PROCESS_NONSENSE : PROCESS_PENDING;
    }
    size_t size = (size_t)(end - process->text) + 1;
    *answer = json_loadb(process->text, size, 0, NULL);
    memmove(process->text, process->text + size, process->length - size);
    process->length -= size;
    return *answer != NULL && json_is_object(*answer) ? PROCESS_ANSWERED : PROCESS_NONSENSE;
}

enum process_state process_receive(struct process *process, json_t **answer)
{
    char bytes[4096];
    ssize_t got = 0;
    *answer = NULL;
    enum process_state state = take_line(process, answer);
    while (state == PROCESS_PENDING) {
        got = read(process->from, bytes, sizeof(bytes));
        if (got <= 0) {
            break;
        }
        for (ssize_t i = 0; i < got; i++) {
            process->text = memory_grow(process->text, process->length, &process->capacity, 1);
            process->text[process->length++] = bytes[i];
        }
        state = take_line(process, answer);
    }
    if (state == PROCESS_NONSENSE) {
        json_decref(*answer);
        *answer = NULL;
    }
    int closed = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
    return state == PROCESS_PENDING && closed ? PROCESS_ENDED : state;
}

// ---- end

// Waits for the end for so long, and leaves its status to be asked for. Returns whether it came.
static int wait_for(pid_t pid, double seconds)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    double end = clock_now() + seconds;
    siginfo_t info = {.si_pid = 0};
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0 &&
           clock_now() < end) {
        nanosleep(&pause, NULL);
    }
    return info.si_pid == pid;
}

void process_stop(struct process *process, int ended, char *how, size_t size)
{
    int status = 0;
    if (process->pid == 0) {
        return;
    }
    int natural = wait_for(process->pid, ended ? ENDING_SECONDS : 0);
    kill(-process->pid, SIGKILL); // compilers that it started, too
    if (wait_for(process->pid, KILLING_SECONDS)) {
        waitpid(process->pid, &status, 0);
    }
    if (size > 0) {
        how[0] = '\0';
    }
    if (natural && WIFSIGNALED(status)) {
        snprintf(how, size, "crashed: signal %d", WTERMSIG(status));
    } else if (natural) {
        snprintf(how, size, "ended by itself: exit code %d", WEXITSTATUS(status));
    }
    close(process->to);
    close(process->from);
    free(process->text);
    *process = (struct process){.pid = 0};
}
