// Journals of tuning: read once, then only appended to.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // flock, fdatasync and ftruncate next to C11
#endif

#include "journal.h"

#include "exchange.h"
#include "memory.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT 1
#define FORMAT_KEY "flashcl-journal"

static const char head_start[] = "{\"" FORMAT_KEY "\"";

// A candidate that was read from the file.
struct entry {
    char *candidate;
    int in_flight;
    int suspect; // one of several that were in flight
    int known;   // has an evaluation
    struct fcl_evaluation evaluation;
};

struct journal {
    char *path, *folder;
    int file, broken, unfinished;
    struct entry *entries;
    size_t count, capacity;
};

// ---- what was recorded

static struct entry *find_entry(const struct journal *journal, const char *candidate)
{
    for (size_t i = 0; i < journal->count; i++) {
        if (strcmp(journal->entries[i].candidate, candidate) == 0) {
            return &journal->entries[i];
        }
    }
    return NULL;
}

static struct entry *enter(struct journal *journal, const char *candidate)
{
    struct entry *entry = find_entry(journal, candidate);
    if (entry == NULL) {
        journal->entries = memory_grow(journal->entries, journal->count, &journal->capacity,
                                       sizeof(*journal->entries));
        entry = &journal->entries[journal->count++];
        *entry = (struct entry){.candidate = memory_print("%s", candidate)};
    }
    return entry;
}

static void read_line(struct journal *journal, const json_t *line)
{
    const char *start = json_string_value(json_object_get(line, "start"));
    const char *end = json_string_value(json_object_get(line, "end"));
    const char *candidate = json_string_value(json_object_get(line, "candidate"));
    struct fcl_evaluation evaluation;
    if (start != NULL) {
        enter(journal, start)->in_flight = 1;
    } else if (end != NULL) {
        enter(journal, end)->in_flight = 0;
    } else if (candidate != NULL &&
               exchange_read_evaluation(json_object_get(line, "evaluation"), &evaluation)) {
        struct entry *entry = enter(journal, candidate);
        entry->in_flight = 0;
        entry->known = 1;
        entry->evaluation = evaluation;
    }
}

// Where a file is being read, and where a failure is explained.
struct reading {
    const json_t *about;
    int resume;
    char *reason;
    size_t size;
};

// Whether the first line is that of a journal and, to go on with it, of this tuning.
static int read_head(struct journal *journal, const struct reading *reading, const json_t *head)
{
    const json_t *theirs = json_object_get(head, "about");
    const char *folder = json_string_value(json_object_get(head, "folder"));
    const char *name;
    json_t *ours;
    if (json_integer_value(json_object_get(head, FORMAT_KEY)) != FORMAT) {
        snprintf(reading->reason, reading->size, "%s is no journal of this version", journal->path);
        return 0;
    }
    json_object_foreach((json_t *)(uintptr_t)reading->about, name, ours)
    {
        const json_t *their = json_object_get(theirs, name);
        const char *text = json_string_value(their);
        if (reading->resume && !json_equal(ours, their)) {
            snprintf(reading->reason, reading->size,
                     "%s is of another tuning: its %s is %s, here it is %s", journal->path, name,
                     text != NULL ? text : "missing", json_string_value(ours));
            return 0;
        }
    }
    journal->folder = folder != NULL ? memory_print("%s", folder) : NULL;
    journal->unfinished = 1;
    return 1;
}

// Reads the file to its last whole line, behind which writing goes on; where nothing is to be taken
// over, its first line, and empties it.
static int read_file(struct journal *journal, const struct reading *reading)
{
    int copy = dup(journal->file);
    FILE *in = copy >= 0 ? fdopen(copy, "r") : NULL;
    char *line = NULL;
    size_t size = 0;
    off_t whole = 0;
    int good = in != NULL;
    for (ssize_t length; good && (length = getline(&line, &size, in)) > 0;) {
        json_t *object = json_loadb(line, (size_t)length, 0, NULL);
        int cut = line[length - 1] != '\n';
        if (!journal->unfinished && cut && strncmp(line, head_start, sizeof(head_start) - 1) == 0) {
            break; // it came to nothing
        }
        if (!journal->unfinished) {
            good = read_head(journal, reading, object);
        } else if (!cut) {
            read_line(journal, object);
        }
        json_decref(object);
        if (cut || !reading->resume) {
            break;
        }
        whole += (off_t)length;
    }
    if (in != NULL) {
        fclose(in);
    } else {
        snprintf(reading->reason, reading->size, "%s: %s", journal->path, strerror(errno));
    }
    free(line);
    return good && ftruncate(journal->file, whole) == 0 &&
           lseek(journal->file, whole, SEEK_SET) >= 0;
}

// ---- writing

static void write_line(struct journal *journal, json_t *object, int sync)
{
    char *text = json_dumps(object, JSON_COMPACT);
    char *line = memory_print("%s\n", text != NULL ? text : "{}");
    size_t size = strlen(line);
    if (!journal->broken && (write(journal->file, line, size) != (ssize_t)size ||
                             (sync && fdatasync(journal->file) != 0))) {
        message_warning("%s cannot be written: %s", journal->path, strerror(errno));
        journal->broken = 1;
    }
    free(line);
    free(text);
    json_decref(object);
}

void journal_start(struct journal *journal, const char *candidate)
{
    if (journal != NULL) {
        write_line(journal, json_pack("{s:s}", "start", candidate), 1);
    }
}

void journal_end(struct journal *journal, const char *candidate)
{
    if (journal != NULL) {
        write_line(journal, json_pack("{s:s}", "end", candidate), 0);
    }
}

void journal_record(struct journal *journal, const char *candidate,
                    const struct fcl_evaluation *evaluation)
{
    if (journal != NULL) {
        write_line(journal,
                   json_pack("{s:s,s:o}", "candidate", candidate, "evaluation",
                             exchange_evaluation(evaluation)),
                   0);
    }
}

int journal_find(const struct journal *journal, const char *candidate,
                 struct fcl_evaluation *evaluation)
{
    const struct entry *entry = journal != NULL ? find_entry(journal, candidate) : NULL;
    if (entry == NULL || !entry->known) {
        return 0;
    }
    *evaluation = entry->evaluation;
    return 1;
}

int journal_suspects(const struct journal *journal, const char *candidate)
{
    const struct entry *entry = journal != NULL ? find_entry(journal, candidate) : NULL;
    return entry != NULL && entry->suspect;
}

size_t journal_count(const struct journal *journal)
{
    size_t known = 0;
    for (size_t i = 0; i < journal->count; i++) {
        known += journal->entries[i].known != 0;
    }
    return known;
}

// ---- beginning and end

// What alone was in flight when the process ended may be what ended it; of several, which one is
// seen when they are tried again one at a time.
static void judge_in_flight(struct journal *journal)
{
    size_t in_flight = 0;
    for (size_t i = 0; i < journal->count; i++) {
        in_flight += journal->entries[i].in_flight != 0;
    }
    static const struct fcl_evaluation judgement = {
        .status = FCL_DEVICE_ERROR, .reason = "in flight when tuning ended", .bad = "in-flight"};
    for (size_t i = 0; i < journal->count; i++) {
        struct entry *entry = &journal->entries[i];
        if (entry->in_flight && in_flight > 1) {
            entry->in_flight = 0;
            entry->suspect = 1;
            journal_end(journal, entry->candidate);
        } else if (entry->in_flight) {
            entry->in_flight = 0;
            entry->known = 1;
            entry->evaluation = judgement;
            journal_record(journal, entry->candidate, &judgement);
        }
    }
}

// Opens and locks the file. One that another process has just removed is opened again.
static int open_locked(struct journal *journal, char *reason, size_t size)
{
    struct stat present = {.st_nlink = 0};
    do {
        journal->file = open(journal->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (journal->file < 0) {
            snprintf(reason, size, "%s cannot be opened: %s", journal->path, strerror(errno));
            return 0;
        }
        if (flock(journal->file, LOCK_EX | LOCK_NB) != 0) {
            snprintf(reason, size, "%s is in use by another tuning", journal->path);
            return 0;
        }
        if (fstat(journal->file, &present) != 0 || present.st_nlink == 0) {
            close(journal->file);
        }
    } while (present.st_nlink == 0);
    return 1;
}

struct journal *journal_open(const char *path, const json_t *about, const char *folder, int resume,
                             char *reason, size_t size)
{
    const struct reading reading = {about, resume, reason, size};
    struct journal *journal = memory_get(1, sizeof(*journal));
    journal->path = memory_print("%s", path);
    if (!open_locked(journal, reason, size) || !read_file(journal, &reading)) {
        journal_close(&journal, 0);
        return NULL;
    }
    if (!journal->unfinished || !resume) {
        write_line(journal,
                   json_pack("{s:i,s:s,s:O}", FORMAT_KEY, FORMAT, "folder", folder, "about", about),
                   0);
    }
    judge_in_flight(journal);
    return journal;
}

int journal_was_unfinished(const struct journal *journal)
{
    return journal->unfinished;
}

const char *journal_folder(const struct journal *journal)
{
    return journal->folder;
}

void journal_close(struct journal **journal, int finished)
{
    struct journal *j = *journal;
    if (j == NULL) {
        return;
    }
    if (finished) {
        unlink(j->path);
    }
    if (j->file >= 0) {
        close(j->file);
    }
    for (size_t i = 0; i < j->count; i++) {
        free(j->entries[i].candidate);
    }
    free(j->entries);
    free(j->folder);
    free(j->path);
    free(j);
    *journal = NULL;
}
