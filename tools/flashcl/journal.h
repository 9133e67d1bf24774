// The record of a tuning under way, from which an interrupted one goes on: lines of JSON, a line
// before each step that may take the process or the machine with it, and one with its outcome.
//
//     {"flashcl-journal":1,"folder":PATH,"about":{...}}
//                                             of what tuning this is the record
//     {"start":CANDIDATE}                     in flight: built or run from now on
//     {"end":CANDIDATE}                       no longer, with nothing to tell: built, not yet run
//     {"candidate":TEXT,"evaluation":{...}}   its outcome
#ifndef FLASHCL_TOOL_JOURNAL_H
#define FLASHCL_TOOL_JOURNAL_H

#include <flashcl/tune.h>

#include <jansson.h>

struct journal;

// Opens the file for a tuning that `about` describes, an object of texts, and that keeps its
// temporary files in `folder`. `resume` 1: reads what is recorded there; a half-written last line
// is ignored, and what alone was in flight counts as failed. Otherwise, or where there is no file,
// it starts empty. Returns NULL with the reason where the file cannot be used, is no journal, is of
// another tuning, or of one that is under way.
struct journal *journal_open(const char *path, const json_t *about, const char *folder, int resume,
                             char *reason, size_t size);

// Closes the file; `finished` 1 removes it. NULL is fine.
void journal_close(struct journal **journal, int finished);

// What was in the file before: whether it was of an unfinished tuning, how many outcomes were taken
// over from it, and that tuning's folder (NULL: none).
int journal_was_unfinished(const struct journal *journal);
size_t journal_count(const struct journal *journal);
const char *journal_folder(const struct journal *journal);

// The recorded outcome of a candidate. Returns 0 where there is none; no journal has none.
int journal_find(const struct journal *journal, const char *candidate,
                 struct fcl_evaluation *evaluation);

// 1: the candidate was in flight with others when the tuning ended: to be built and run alone.
int journal_suspects(const struct journal *journal, const char *candidate);

// Write the lines above. No journal: nothing happens. A file that can no longer be written costs
// one warning.
void journal_start(struct journal *journal, const char *candidate);
void journal_end(struct journal *journal, const char *candidate);
void journal_record(struct journal *journal, const char *candidate,
                    const struct fcl_evaluation *evaluation);

#endif
