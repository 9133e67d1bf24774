// One child process that is asked and answers in lines of JSON, on its standard input and output.
#ifndef FLASHCL_TOOL_PROCESS_H
#define FLASHCL_TOOL_PROCESS_H

#include <jansson.h>
#include <stddef.h>
#include <sys/types.h>

struct process {
    pid_t pid; // 0: there is none
    int to, from;
    char *text; // read, not yet taken
    size_t length, capacity;
};

enum process_state {
    PROCESS_PENDING,  // nothing whole was said yet
    PROCESS_ANSWERED, // a line
    PROCESS_ENDED,    // the pipe is closed
    PROCESS_NONSENSE  // a line that is no JSON object
};

// Remembers under which name this command was called, for systems that do not tell.
void process_set_program(const char *name);

// Path by which this command can be started again; NULL where it cannot be found.
const char *process_program(void);

// Starts a program in a process group of its own. `arguments` ends with NULL. `quiet` 1: its
// messages are dropped. Returns 0 or an errno.
int process_start(struct process *process, const char *program, const char *const *arguments,
                  int quiet);

// Sends a line. A process that has ended is noticed by process_receive.
void process_send(struct process *process, const json_t *message);

// Takes a line if one is there, without waiting; *answer is the caller's.
enum process_state process_receive(struct process *process, json_t **answer);

// Kills the process and its group and waits for it. Where it had ended before, or does within a
// moment once its pipe is closed (`ended` 1), `how` says so: "crashed: signal 11", "ended by
// itself: exit code 3"; else it becomes "". No process: nothing happens.
void process_stop(struct process *process, int ended, char *how, size_t size);

#endif
