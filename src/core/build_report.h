// What a person needs to repair a kernel: the compiler's messages, and the source around each place
// that they name.
#ifndef FCL_CORE_BUILD_REPORT_H
#define FCL_CORE_BUILD_REPORT_H

#include "text.h"

// Appends the driver's build log and, for up to 3 places in it, the numbered source around each.
// Errors come first; other messages' places are shown where no error names one. Line numbers are
// taken as compilers count them, #line directives honoured. An empty log (or NULL) is said to be
// so.
void fcl_build_report(struct fcl_text *report, const char *log, const char *source);

// Writes the first line that speaks of an error, or the first line there is, without blanks around
// it; says so where there is none. Cut at `size`.
void fcl_build_first_error(const char *log, char *line, size_t size);

#endif
