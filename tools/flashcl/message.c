// Errors, warnings and the progress line on stderr.
#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

// Returns to the line's start and erases it.
#define ERASE_LINE "\r\033[K"

// A longer line would wrap, and only its end could be erased.
#define LINE_SIZE 80

static int progress_shown;

static void print_line(const char *prefix, const char *format, va_list arguments)
{
    message_progress_end();
    fputs(prefix, stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

void message_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("flashcl: ", format, arguments);
    va_end(arguments);
}

void message_warning(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("flashcl: warning: ", format, arguments);
    va_end(arguments);
}

void message_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("flashcl: note: ", format, arguments);
    va_end(arguments);
}

void message_progress(const char *format, ...)
{
    if (!isatty(STDERR_FILENO)) {
        return;
    }
    char line[LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s%s", ERASE_LINE, line);
    fflush(stderr);
    progress_shown = 1;
}

void message_progress_end(void)
{
    if (progress_shown) {
        fputs(ERASE_LINE, stderr);
        fflush(stderr);
        progress_shown = 0;
    }
}
