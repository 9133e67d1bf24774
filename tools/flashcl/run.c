// `flashcl run`: attention on .npy files.
#include "added.h"
#include "arrays.h"
#include "buffers.h"
#include "clock.h"
#include "memory.h"
#include "message.h"
#include "output.h"
#include "problems.h"
#include "run_sequences.h"
#include "status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_ROWS 48
// Launches that took longer are not repeated for a better figure.
#define RETIME_LIMIT_MS 250.0
#define RETIME_SAMPLES 5

static int run_run(int argc, const char **argv);

const struct verb verb_run = {
    .name = "run",
    .arguments = "--q Q.npy --k K.npy --v V.npy -o O.npy",
    .summary = "attention on .npy files",
    .details =
        "Reads q, k and v, computes softmax(scale q k') v on the device and writes the result.\n"
        "Files are .npy (1.0 to 3.0), little-endian, C order, of f4, f2, or u2 with --bf16, and\n"
        "have 2 to 4 dimensions: [N,D], [B,N,D], [B,H,N,D] or, with --layout bshd, [B,N,H,D]. k\n"
        "and v may have fewer heads, if their number divides that of q. The result has the rank,\n"
        "layout and type of q; --lse writes f4 [..,N], heads before the sequence. Files appear\n"
        "whole or not at all. -o and --lse must be two files; each may be one of the inputs, "
        "which\n"
        "are read before and then replaced.\n\n"
        "Prints one row. time_ms is the median of some launches, or the time of the only one\n"
        "where that took more than a quarter of a second. --check compares rows with a reference\n"
        "in double precision: error is the worst |o - reference|, ratio the worst error over\n"
        "the allowed one; above 1 the exit code is 1.\n\n"
        "  flashcl run --q q.npy --k k.npy --v v.npy -o o.npy --causal br --check",
    .run = run_run,
};

static const struct report_column columns[] = {
    {"problem", REPORT_WORD, 0, 0},     {"device", REPORT_WORD, 0, 1},
    {"config", REPORT_WORD, 0, 0},      {"status", REPORT_WORD, 0, 0},
    {"time_ms", REPORT_FIXED, 3, 0},    {"error", REPORT_SIGNIFICANT, 3, 0},
    {"ratio", REPORT_SIGNIFICANT, 3, 0}};

// The verb's own options.
struct run_options {
    char *q, *k, *v, *o, *lse, *causal, *align, *window_text, *layout_text, *scale_text;
    struct added_paths added;
    int softcap;
    int alibi, bf16, guard_v, check;
    long long rows;
    float scale; // 0: 1/sqrt(D)
    enum fcl_layout layout;
    enum fcl_mask mask;
    int64_t window[2]; // left and right, where window_text is given
    struct sequence_files files;
};

// Everything of one run.
struct run {
    struct run_options *own;
    const struct options *options;
    struct fcl_config config;
    const struct fcl_config *chosen; // NULL: no --config
    struct array_input q, k, v;
    struct added added;
    struct fcl_problem problem;
    struct session session;
    fcl_plan *plan;
    struct buffers buffers;
    struct fcl_attention_args arguments;
    void *o;
    float *lse;
    double time_ms;
    struct fcl_comparison comparison;
};

// ---- Options ----------------------------------------------------------------------------------

// Reads a word that stands for a number: its index in `words`.
static int read_word(const char *option, const char *text, const char *const words[2], int *index)
{
    for (*index = 0; *index < 2; ++*index) {
        if (strcmp(text, words[*index]) == 0) {
            return OPTIONS_PROCEED;
        }
    }
    return options_usage(&verb_run, "%s %s: %s and %s are allowed", option, text, words[0],
                         words[1]);
}

static int read_scale(struct run_options *own)
{
    char *end;
    own->scale = strtof(own->scale_text, &end);
    if (end == own->scale_text || *end != '\0' || !isfinite(own->scale) || own->scale == 0) {
        return options_usage(&verb_run, "--scale %s: a finite number other than 0 is allowed",
                             own->scale_text);
    }
    return OPTIONS_PROCEED;
}

// Two numbers, each -1 or more.
static int read_window(struct run_options *own)
{
    const char *cursor = own->window_text;
    int good = 1;
    for (int side = 0; side < 2 && good; side++) {
        char *end;
        own->window[side] = strtoll(cursor, &end, 10);
        good = end != cursor && *end == (side == 0 ? ',' : '\0') && own->window[side] >= -1;
        cursor = end + 1;
    }
    return good ? OPTIONS_PROCEED
                : options_usage(&verb_run,
                                "--window %s: two numbers of keys are allowed, such as 256,0; -1: "
                                "no bound",
                                own->window_text);
}

static int read_masks(struct run_options *own)
{
    static const char *const corners[] = {"tl", "br"};
    int index = 0, code = OPTIONS_PROCEED;
    if (own->causal != NULL && own->align != NULL) {
        return options_usage(&verb_run, "--causal says the corner, too; --align is not allowed");
    }
    if (own->causal != NULL) {
        code = read_word("--causal", own->causal, corners, &index);
        own->mask = index == 1 ? FCL_MASK_CAUSAL_BOTTOM_RIGHT : FCL_MASK_CAUSAL_TOP_LEFT;
    } else if (own->align != NULL) {
        code = read_word("--align", own->align, corners, &index);
        own->mask = index == 1 ? FCL_MASK_BOTTOM_RIGHT : FCL_MASK_TOP_LEFT;
    }
    if (code == OPTIONS_PROCEED && own->window_text != NULL) {
        code = read_window(own);
    }
    return code;
}

static int check_files(const struct run_options *own)
{
    if (own->q == NULL || own->k == NULL || own->v == NULL || own->o == NULL) {
        return options_usage(&verb_run, "--q, --k, --v and -o are all needed");
    }
    if (own->lse != NULL && output_same(own->o, own->lse)) {
        return options_usage(&verb_run, "-o %s and --lse %s both name one file; two are needed",
                             own->o, own->lse);
    }
    return OPTIONS_PROCEED;
}

static int read_own(struct run_options *own, const struct options *options)
{
    static const char *const layouts[] = {"bhsd", "bshd"};
    int index = 0, code = OPTIONS_PROCEED;
    if (options->argument_count > 0) {
        return options_usage(&verb_run, "'%s' is not an option", options->arguments[0]);
    }
    if (own->rows < 0) {
        return options_usage(&verb_run, "--rows %lld: 0 (all) or more is allowed", own->rows);
    }
    if (own->scale_text != NULL) {
        code = read_scale(own);
    }
    if (code == OPTIONS_PROCEED && own->layout_text != NULL) {
        code = read_word("--layout", own->layout_text, layouts, &index);
        own->layout = index == 1 ? FCL_LAYOUT_BSHD : FCL_LAYOUT_BHSD;
    }
    if (code == OPTIONS_PROCEED) {
        code = read_masks(own);
    }
    return code == OPTIONS_PROCEED ? check_files(own) : code;
}

// ---- Input ------------------------------------------------------------------------------------

static int read_inputs(struct run *run)
{
    struct array_input *const inputs[] = {&run->q, &run->k, &run->v};
    const char *const paths[] = {run->own->q, run->own->k, run->own->v};
    char reason[1024];
    for (int i = 0; i < 3; i++) {
        inputs[i]->path = paths[i];
        if (!npy_read(paths[i], &inputs[i]->array, reason, sizeof(reason))) {
            message_error("%s", reason);
            return EXIT_USAGE;
        }
    }
    run->problem =
        fcl_problem(.mask = run->own->mask, .lse = run->own->lse != NULL,
                    .guard_v = run->own->guard_v, .softcap = run->own->softcap,
                    .window = run->own->window_text != NULL, .window_left = run->own->window[0],
                    .window_right = run->own->window[1],
                    .alibi = run->own->alibi ? FCL_ALIBI_STANDARD : FCL_ALIBI_NONE);
    struct sequence_files *files = &run->own->files;
    const int packed = sequence_files_varlen(files);
    const struct arrays_form form = {packed ? FCL_LAYOUT_BSHD : run->own->layout, run->own->bf16,
                                     packed, sequence_files_paged(files)};
    if (!arrays_problem(&run->q, &run->k, &run->v, &form, &run->problem, reason, sizeof(reason)) ||
        !sequence_files_read(files, run->k.array.header.shape[0], &run->problem, reason,
                             sizeof(reason))) {
        message_error("%s", reason);
        return EXIT_USAGE;
    }
    const int rank = packed || form.paged ? 4 : run->q.array.header.rank;
    const int code = added_read(&run->own->added, rank, run->own->bf16, &run->problem, &run->added);
    if (code != EXIT_OK) {
        return code;
    }
    enum fcl_status status = fcl_problem_validate(&run->problem, reason, sizeof(reason));
    if (status == FCL_OK) {
        status = fcl_sequences_validate(&run->problem, &files->sequences, reason, sizeof(reason));
    }
    if (status != FCL_OK) {
        message_error("%s", reason);
    }
    return status_exit(status);
}

// ---- Computing --------------------------------------------------------------------------------

static int complain(const struct run *run, enum fcl_status status)
{
    if (status != FCL_OK) {
        message_error("%s", session_sentence(&run->session, status));
    }
    return status_exit(status);
}

// Rows that no sequence has are not written: they are to be 0 in the files.
static enum fcl_status clear_outputs(struct run *run)
{
    static const enum buffer_role roles[] = {BUFFER_O, BUFFER_LSE};
    enum fcl_status status = FCL_OK;
    for (int i = 0; i < 2 && status == FCL_OK; i++) {
        size_t bytes = buffers_bytes(&run->problem, &run->own->files.sequences, roles[i]);
        void *zeros = memory_get(bytes, 1);
        memset(zeros, 0, bytes);
        status = buffers_write(&run->session, &run->buffers, &run->problem, roles[i], zeros);
        free(zeros);
    }
    return status;
}

static enum fcl_status prepare(struct run *run)
{
    enum fcl_status status = fcl_plan_create(run->session.device, &run->problem,
                                             fcl_plan_options(.config = run->chosen), &run->plan);
    if (status == FCL_OK) {
        // Tensors for scores are made from their files, in any shape.
        struct fcl_problem others = run->problem;
        others.bias = FCL_BIAS_NONE;
        others.visible = 0;
        status = buffers_create(&run->session, run->plan, &others, &run->own->files.sequences,
                                &run->buffers);
    }
    const struct {
        enum buffer_role role;
        const void *data;
    } inputs[] = {{BUFFER_Q, run->q.array.data},
                  {BUFFER_K, run->k.array.data},
                  {BUFFER_V, run->v.array.data},
                  {BUFFER_SINKS, run->added.sinks.data},
                  {BUFFER_SLOPES, run->added.slopes.data}};
    for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]) && status == FCL_OK; i++) {
        status = buffers_write(&run->session, &run->buffers, &run->problem, inputs[i].role,
                               inputs[i].data);
    }
    if (status == FCL_OK && (run->problem.varlen || run->problem.used)) {
        status = clear_outputs(run);
    }
    run->arguments = buffers_arguments(&run->buffers, &run->problem, run->own->scale);
    return status == FCL_OK ? added_upload(&run->session, &run->added, &run->arguments) : status;
}

static enum fcl_status launch(struct run *run)
{
    double start = clock_now_ms();
    enum fcl_status status =
        fcl_attention_enqueue(run->plan, run->session.queue, &run->arguments, 0, NULL, NULL);
    if (status != FCL_OK) {
        return status;
    }
    cl_int error = clFinish(run->session.queue);
    if (error != CL_SUCCESS) {
        snprintf(run->session.error, sizeof(run->session.error),
                 "the launch failed: OpenCL error %d", (int)error);
        return FCL_DEVICE_ERROR;
    }
    run->time_ms = clock_now_ms() - start;
    return FCL_OK;
}

static enum fcl_status read_results(struct run *run)
{
    const struct fcl_problem *problem = &run->problem;
    run->o = memory_get(buffers_bytes(problem, &run->own->files.sequences, BUFFER_O), 1);
    enum fcl_status status = buffers_read(&run->session, &run->buffers, problem, BUFFER_O, run->o);
    if (status == FCL_OK && problem->lse) {
        run->lse = memory_get(buffers_bytes(problem, &run->own->files.sequences, BUFFER_LSE), 1);
        status = buffers_read(&run->session, &run->buffers, problem, BUFFER_LSE, run->lse);
    }
    return status;
}

// A better figure for short launches; the result was already read.
static enum fcl_status retime(struct run *run)
{
    struct fcl_timing timing;
    const struct fcl_attention_args *arguments = &run->arguments;
    if (run->time_ms > RETIME_LIMIT_MS ||
        buffers_elements(&run->problem, &run->own->files.sequences, BUFFER_O) == 0) {
        return FCL_OK;
    }
    enum fcl_status status = fcl_attention_time(
        run->plan, &arguments, 1, fcl_timing_options(.samples = RETIME_SAMPLES), &timing);
    if (status == FCL_OK) {
        run->time_ms = timing.median_ms;
    }
    return status;
}

// ---- Comparing --------------------------------------------------------------------------------

// Strides of a contiguous tensor in the problem's layout.
static void fill_strides(const struct fcl_problem *problem, int64_t heads, int64_t length,
                         int64_t width, int64_t strides[4])
{
    int heads_last = problem->layout == FCL_LAYOUT_BSHD || problem->varlen;
    strides[0] = heads * length * width;
    strides[1] = heads_last ? width : length * width;
    strides[2] = heads_last ? heads * width : width;
    strides[3] = 1;
}

// Compares a row, counted through all sequences as if each had q_len; of one that is shorter,
// another one that there is.
static enum fcl_status compare_row(struct run *run, const struct fcl_reference *reference,
                                   int64_t number)
{
    const struct fcl_problem *p = &run->problem;
    int64_t i = number % p->q_len, h = number / p->q_len % p->heads_q;
    int64_t b = number / p->q_len / p->heads_q, strides[4];
    struct fcl_sequence_rows rows;
    fcl_sequences_rows(p, reference->sequences, b, &rows);
    if (rows.q_len == 0) {
        return FCL_OK;
    }
    i %= rows.q_len;
    int64_t batch = p->varlen ? 0 : b, row = rows.q_first + i;
    int64_t length = p->varlen ? reference->sequences->total_q : p->q_len;
    fill_strides(p, p->heads_q, length, p->head_dim_v, strides);
    int64_t start = batch * strides[0] + h * strides[1] + row * strides[2];
    const char *o = (const char *)run->o + (size_t)start * fcl_dtype_size(p->dtype_o);
    const float *lse = run->lse != NULL ? run->lse + (batch * p->heads_q + h) * length + row : NULL;
    return fcl_reference_compare(reference, b, h, i, o, 1, lse, 0, &run->comparison);
}

// Row number r of `rows` that stand for all of `total`: the first, the last, and one at a
// pseudo-random place in each part between.
static int64_t pick_row(int64_t r, int64_t rows, int64_t total, uint32_t *state)
{
    if (rows == total || r == 0) {
        return r;
    }
    if (r == rows - 1) {
        return total - 1;
    }
    int64_t part = total / rows;
    *state = *state * 1664525u + 1013904223u; // the generator of Numerical Recipes
    return r * part + (int64_t)(*state / 4294967296.0 * (double)part);
}

static enum fcl_status compare(struct run *run)
{
    const struct fcl_problem *p = &run->problem;
    struct fcl_reference reference = {
        .problem = p,
        .q = {.data = run->q.array.data, .dtype = p->dtype_q},
        .k = {.data = run->k.array.data, .dtype = p->dtype_k},
        .v = {.data = run->v.array.data, .dtype = p->dtype_v},
        .scale = run->own->scale,
        .sequences = &run->own->files.sequences,
    };
    added_refer(&run->added, p, &reference);
    int64_t keys = p->page > 0 ? p->page : p->k_len;
    fill_strides(p, p->heads_q, p->q_len, p->head_dim_qk, reference.q.strides);
    fill_strides(p, p->heads_kv, keys, p->head_dim_qk, reference.k.strides);
    fill_strides(p, p->heads_kv, keys, p->head_dim_v, reference.v.strides);
    int64_t total = p->batch * p->heads_q * p->q_len;
    int64_t rows = run->own->rows == 0 || run->own->rows > total ? total : run->own->rows;
    uint32_t state = 1;
    enum fcl_status status = FCL_OK;
    for (int64_t r = 0; r < rows && status == FCL_OK; r++) {
        message_progress("check %lld/%lld", (long long)r, (long long)rows);
        status = compare_row(run, &reference, pick_row(r, rows, total, &state));
    }
    return status;
}

// ---- Output -----------------------------------------------------------------------------------

static int write_one(struct output *output, const char *path, enum npy_type type, int rank,
                     const int64_t *shape, const void *data)
{
    if (!output_begin(output, path)) {
        return 0;
    }
    npy_write(output->file, type, rank, shape, data); // a failed write shows when it is closed
    return output_close(output);
}

// Both files get their names only after both were written.
static int write_results(const struct run *run)
{
    struct output o = {.file = NULL}, lse = {.file = NULL};
    int64_t shape[NPY_RANK_LIMIT];
    const struct npy_header *q = &run->q.array.header;
    int rank = arrays_output_shape(q, run->problem.head_dim_v, shape);
    int good = write_one(&o, run->own->o, q->type, rank, shape, run->o);
    if (good && run->lse != NULL) {
        rank = arrays_lse_shape(q, &run->problem, shape);
        good = write_one(&lse, run->own->lse, NPY_F4, rank, shape, run->lse) && output_commit(&lse);
    }
    good = good && output_commit(&o);
    output_discard(&o);
    output_discard(&lse);
    return good ? EXIT_OK : EXIT_INTERNAL;
}

static int print_row(const struct run *run)
{
    struct fcl_plan_info info;
    struct report report;
    char text[PROBLEM_TEXT_SIZE];
    int wrong = run->own->check && !(run->comparison.ratio <= 1);
    fcl_plan_describe(run->plan, &info);
    fcl_problem_format(&run->problem, text, sizeof(text));
    message_progress_end();
    session_print_device(&run->session, run->options);
    report_init(&report, stdout, run->options->format, REPORT_TABLE, columns,
                sizeof(columns) / sizeof(columns[0]));
    report_row(&report);
    report_set_text(&report, "problem", text);
    report_set_text(&report, "device", run->session.entry->name);
    report_set_text(&report, "config", info.config);
    report_set_text(&report, "status", status_word(wrong ? FCL_WRONG_RESULT : FCL_OK));
    report_set_real(&report, "time_ms", run->time_ms);
    if (run->own->check) {
        report_set_real(&report, "error", run->comparison.error);
        report_set_real(&report, "ratio", run->comparison.ratio);
    }
    report_row_end(&report);
    report_finish(&report);
    return wrong ? EXIT_CHECK_FAILED : EXIT_OK;
}

// ---- The verb ---------------------------------------------------------------------------------

static int run_files(struct run *run)
{
    int code = config_read(run->options, &verb_run, &run->config, &run->chosen);
    if (code == EXIT_OK) {
        code = read_inputs(run);
    }
    if (code == EXIT_OK) {
        code = session_open(&run->session, run->options);
    }
    if (code != EXIT_OK) {
        return code;
    }
    enum fcl_status (*const steps[])(struct run *) = {prepare, launch, read_results, retime,
                                                      run->own->check ? compare : NULL};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && code == EXIT_OK; i++) {
        code = steps[i] != NULL ? complain(run, steps[i](run)) : EXIT_OK;
    }
    if (code == EXIT_OK) {
        code = write_results(run);
    }
    return code == EXIT_OK ? print_row(run) : code;
}

static void close_run(struct run *run)
{
    buffers_free(&run->buffers);
    fcl_plan_destroy(&run->plan);
    session_close(&run->session);
    npy_free(&run->q.array);
    npy_free(&run->k.array);
    npy_free(&run->v.array);
    added_free(&run->added);
    free(run->o);
    free(run->lse);
}

static void free_own(struct run_options *own)
{
    char *const texts[] = {own->q,           own->k,          own->v,           own->o,
                           own->lse,         own->causal,     own->align,       own->window_text,
                           own->layout_text, own->scale_text, own->added.sinks, own->added.slopes,
                           own->added.bias,  own->added.mask};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        free(texts[i]);
    }
    sequence_files_free(&own->files);
}

static int run_run(int argc, const char **argv)
{
    struct options options = {.context = NULL};
    struct run_options own = {.rows = DEFAULT_ROWS};
    struct poptOption table[] = {
        {"q", '\0', POPT_ARG_STRING, &own.q, 0, "queries", "Q.npy"},
        {"k", '\0', POPT_ARG_STRING, &own.k, 0, "keys", "K.npy"},
        {"v", '\0', POPT_ARG_STRING, &own.v, 0, "values", "V.npy"},
        {"output", 'o', POPT_ARG_STRING, &own.o, 0, "where the result goes", "O.npy"},
        {"lse", '\0', POPT_ARG_STRING, &own.lse, 0,
         "also write the log-sum-exp of each row's scores", "L.npy"},
        {"causal", '\0', POPT_ARG_STRING, &own.causal, 0,
         "causal mask from the top-left (query i sees keys up to i) or the bottom-right corner "
         "(the last query sees all)",
         "tl|br"},
        {"window", '\0', POPT_ARG_STRING, &own.window_text, 0,
         "a query sees L keys to the left and R to the right of where it stands, which --causal or "
         "--align says; -1: no bound",
         "L,R"},
        {"align", '\0', POPT_ARG_STRING, &own.align, 0,
         "corner from which --window and --alibi are measured without --causal", "tl|br"},
        {"scale", '\0', POPT_ARG_STRING, &own.scale_text, 0,
         "factor of the scores (default: 1/sqrt(D))", "S"},
        {"sinks", '\0', POPT_ARG_STRING, &own.added.sinks, 0,
         "a logit without a value for each query head, f4 of rank 1", "S.npy"},
        {"alibi", '\0', POPT_ARG_NONE, &own.alibi, 0,
         "scores lose the standard slope of their head for each key of distance from where the "
         "query stands, which --causal or --align says",
         NULL},
        {"slopes", '\0', POPT_ARG_STRING, &own.added.slopes, 0,
         "the same with a slope for each query head, f4 of rank 1", "S.npy"},
        {"bias", '\0', POPT_ARG_STRING, &own.added.bias, 0,
         "what is added to scores, [N,M], [B,N,M] or [B,H,N,M] as q has dimensions, or the last "
         "ones of these; dimensions of 1 stand for all; -inf hides a key",
         "B.npy"},
        {"mask", '\0', POPT_ARG_STRING, &own.added.mask, 0,
         "which keys a query sees, b1 or u1 in the same shapes: not 0 where it does", "M.npy"},
        SEQUENCE_OPTION(
            &own.files, "cu-q", SEQUENCE_CU_Q,
            "packed sequences: first row of each in q, and the end, i4; q is [rows,H,D]"),
        SEQUENCE_OPTION(&own.files, "cu-k", SEQUENCE_CU_K, "the same for k and v"),
        SEQUENCE_OPTION(&own.files, "used-q", SEQUENCE_USED_Q,
                        "rows that each sequence has in q, i4; the others of the result are 0"),
        SEQUENCE_OPTION(&own.files, "used-k", SEQUENCE_USED_K, "keys that each sequence has, i4"),
        SEQUENCE_OPTION(&own.files, "table", SEQUENCE_TABLE,
                        "pages of each sequence, i4 of rank 2; k and v are [pages,H,rows,D] or, "
                        "with --layout bshd or --cu-q, [pages,rows,H,D]"),
        {"softcap", '\0', POPT_ARG_INT, &own.softcap, 0, "scores become C tanh(score / C)", "C"},
        {"layout", '\0', POPT_ARG_STRING, &own.layout_text, 0,
         "order of four dimensions (default: bhsd)", "bhsd|bshd"},
        {"bf16", '\0', POPT_ARG_NONE, &own.bf16, 0, "u2 elements are bfloat16", NULL},
        {"guard-v", '\0', POPT_ARG_NONE, &own.guard_v, 0,
         "a non-finite row of v never reaches a query that does not see it", NULL},
        {"check", '\0', POPT_ARG_NONE, &own.check, 0, "compare with the reference", NULL},
        {"rows", '\0', POPT_ARG_LONGLONG, &own.rows, 0,
         "rows that --check compares, 0: all (default: 48)", "N"},
        OPTION_CONFIG(&options),
        POPT_TABLEEND,
    };
    int code = options_parse(&options, &verb_run, table, argc, argv);
    code = code == OPTIONS_PROCEED ? read_own(&own, &options) : code;
    if (code == OPTIONS_PROCEED) {
        struct run run = {.own = &own, .options = &options};
        code = run_files(&run);
        close_run(&run);
    }
    options_free(&options);
    free_own(&own);
    return code;
}
