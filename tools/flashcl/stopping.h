// SIGINT and SIGTERM as a request to end in good order. A second signal ends the process as usual.
#ifndef FLASHCL_TOOL_STOPPING_H
#define FLASHCL_TOOL_STOPPING_H

// From here on the signals are only noted, until the end, which puts back what was before. Not to
// be nested.
void stopping_begin(void);
void stopping_end(void);

// 1: a signal asked for the end.
int stopping_asked(void);

#endif
