// Reads the metadata of sequences.
#include "run_sequences.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const option_names[SEQUENCE_COUNT] = {"--cu-q", "--cu-k", "--used-q", "--used-k",
                                                         "--table"};

int sequence_files_varlen(const struct sequence_files *files)
{
    return files->paths[SEQUENCE_CU_Q] != NULL;
}

int sequence_files_paged(const struct sequence_files *files)
{
    return files->paths[SEQUENCE_TABLE] != NULL;
}

// Which files need which others.
static int check_options(const struct sequence_files *files, char *reason, size_t size)
{
    static const struct {
        enum sequence_file given, needed;
        int except_paged;
    } rules[] = {{SEQUENCE_CU_Q, SEQUENCE_CU_K, 1},
                 {SEQUENCE_CU_K, SEQUENCE_CU_Q, 0},
                 {SEQUENCE_USED_Q, SEQUENCE_USED_K, 0},
                 {SEQUENCE_TABLE, SEQUENCE_USED_K, 0}};
    int paged = sequence_files_paged(files);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (files->paths[rules[i].given] != NULL && files->paths[rules[i].needed] == NULL &&
            !(paged && rules[i].except_paged)) {
            snprintf(reason, size, "%s needs %s", option_names[rules[i].given],
                     option_names[rules[i].needed]);
            return 0;
        }
    }
    return 1;
}

// i4 of the rank; `length` numbers, or any number where that is -1.
static int read_one(struct sequence_files *files, enum sequence_file which, int rank,
                    int64_t length, char *reason, size_t size)
{
    const char *path = files->paths[which];
    const struct npy_header *header = &files->arrays[which].header;
    if (path == NULL) {
        return 1;
    }
    if (!npy_read(path, &files->arrays[which], reason, size)) {
        return 0;
    }
    if (header->type != NPY_I4 || header->rank != rank) {
        snprintf(reason, size, "%s holds %s of rank %d; %s is i4 of rank %d", path,
                 npy_type_text(header->type), header->rank, option_names[which], rank);
        return 0;
    }
    if (length >= 0 && header->shape[0] != length) {
        snprintf(reason, size, "%s has length %" PRId64 "; %s has %" PRId64, path, header->shape[0],
                 option_names[which], length);
        return 0;
    }
    return 1;
}

static int read_all(struct sequence_files *files, int64_t batch, char *reason, size_t size)
{
    const int64_t starts = sequence_files_varlen(files) ? batch + 1 : -1;
    return read_one(files, SEQUENCE_CU_K, 1, starts, reason, size) &&
           read_one(files, SEQUENCE_USED_Q, 1, batch, reason, size) &&
           read_one(files, SEQUENCE_USED_K, 1, batch, reason, size) &&
           read_one(files, SEQUENCE_TABLE, 2, batch, reason, size);
}

static int64_t longest(const int32_t *starts, int64_t batch)
{
    int64_t most = 0;
    for (int64_t s = 0; s < batch; s++) {
        int64_t length = (int64_t)starts[s + 1] - starts[s];
        most = length > most ? length : most;
    }
    return most;
}

// From rows to the longest sequence's.
static void take_packed(struct sequence_files *files, struct fcl_problem *problem)
{
    struct fcl_sequences *s = &files->sequences;
    s->total_q = problem->q_len;
    problem->varlen = 1;
    problem->q_len = longest(s->cu_q, problem->batch);
    if (s->cu_k != NULL && s->table == NULL) {
        s->total_k = problem->k_len;
        problem->k_len = longest(s->cu_k, problem->batch);
    }
}

static int take_pages(struct sequence_files *files, int64_t pages, struct fcl_problem *problem,
                      char *reason, size_t size)
{
    struct fcl_sequences *s = &files->sequences;
    if (problem->k_len < 1 || problem->k_len > 1 << 30) {
        snprintf(reason, size, "pages of %" PRId64 " rows; 1 to 2^30 are allowed", problem->k_len);
        return 0;
    }
    problem->page = (int)problem->k_len;
    s->page_count = pages;
    s->table_entries = files->arrays[SEQUENCE_TABLE].header.shape[1];
    problem->k_len = s->table_entries * problem->page;
    return 1;
}

int sequence_files_read(struct sequence_files *files, int64_t pages, struct fcl_problem *problem,
                        char *reason, size_t size)
{
    struct fcl_sequences *s = &files->sequences;
    if (!check_options(files, reason, size) ||
        !read_one(files, SEQUENCE_CU_Q, 1, -1, reason, size)) {
        return 0;
    }
    if (sequence_files_varlen(files)) {
        problem->batch = files->arrays[SEQUENCE_CU_Q].header.shape[0] - 1;
        if (problem->batch < 0) {
            snprintf(reason, size, "%s is empty; it holds one number more than there are sequences",
                     files->paths[SEQUENCE_CU_Q]);
            return 0;
        }
    }
    if (!read_all(files, problem->batch, reason, size)) {
        return 0;
    }
    int32_t **const arrays[] = {&s->cu_q, &s->cu_k, &s->used_q, &s->used_k, &s->table};
    for (int i = 0; i < SEQUENCE_COUNT; i++) {
        *arrays[i] = files->arrays[i].data;
    }
    problem->used = s->used_k != NULL;
    if (sequence_files_varlen(files)) {
        take_packed(files, problem);
    }
    return sequence_files_paged(files) ? take_pages(files, pages, problem, reason, size) : 1;
}

void sequence_files_free(struct sequence_files *files)
{
    for (int i = 0; i < SEQUENCE_COUNT; i++) {
        free(files->paths[i]);
        npy_free(&files->arrays[i]);
    }
}
