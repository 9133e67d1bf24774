// What the command says beside its output: errors, warnings and progress, all on stderr.
#ifndef FLASHCL_TOOL_MESSAGE_H
#define FLASHCL_TOOL_MESSAGE_H

// `flashcl: sentence`.
void message_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

// `flashcl: warning: sentence`.
void message_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

// `flashcl: note: sentence`, for --verbose and for the reason behind a row's status.
void message_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

// One line that the next message replaces. Nothing is written unless stderr is a terminal.
void message_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Removes the progress line, before output.
void message_progress_end(void);

#endif
