// Times blocked attention on OpenBLAS (flash.c) as `flashcl bench` times FlashCL, and writes the
// same rows as JSON. Each blocking is verified and timed, all in turn; the best one is the row.
#include "flash.h"
#include "memory.h"
#include "report.h"
#include "status.h"
#include "traffic.h"

#include <flashcl/tune.h>

#include <cblas.h>
#include <ctype.h>
#include <math.h>
#include <popt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAME "openblas-flash"
#define CHECK_ROWS 16
#define WARM_UP_MS 20.0
#define SAMPLE_LIMIT 1000
#define THREAD_LIMIT 1024
#define CONTROL_SIZE 2048
#define BLOCKING_COUNT 3
#define VARIANT_LIMIT (2 * BLOCKING_COUNT)

// The columns of `flashcl bench`.
static const struct report_column columns[] = {
    {"problem", REPORT_WORD, 0, 0},      {"device", REPORT_WORD, 0, 0},
    {"driver", REPORT_WORD, 0, 0},       {"impl", REPORT_WORD, 0, 0},
    {"config", REPORT_WORD, 0, 0},       {"status", REPORT_WORD, 0, 0},
    {"median_ms", REPORT_FIXED, 4, 0},   {"min_ms", REPORT_FIXED, 4, 0},
    {"spread", REPORT_FIXED, 3, 0},      {"gflops", REPORT_FIXED, 2, 0},
    {"bytes", REPORT_INTEGER, 0, 0},     {"byte_ratio", REPORT_FIXED, 3, 0},
    {"error", REPORT_SIGNIFICANT, 3, 0}, {"clock", REPORT_WORD, 0, 0},
    {"build_ms", REPORT_FIXED, 1, 0},    {"plan_ms", REPORT_FIXED, 1, 0}};

static const struct {
    int queries, keys;
} blockings[BLOCKING_COUNT] = {{256, 512}, {128, 256}, {64, 512}};

struct settings {
    int samples, threads, control;
    double batch_ms;
    const char *core; // OPENBLAS_CORETYPE, or NULL
    struct pool *pool;
};

// One way to cut the work, and what was measured.
struct variant {
    struct flash_blocks blocks;
    struct flash *flash;
    long long batch; // launches in a sample
    double *times;   // of one launch, ms
    double median_ms, min_ms, spread, error;
};

struct experiment {
    const struct settings *settings;
    struct fcl_problem problem;
    char text[256];
    float *q, *k, *v;
    struct flash_tensors tensors;
    struct variant variants[VARIANT_LIMIT];
    int variant_count;
    enum fcl_status status;
};

static void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs(NAME ": ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

// ---- Tensors --------------------------------------------------------------------------------

// Close to normal, variance 1, the same in every run (splitmix64 of the place).
static float noise(uint64_t index)
{
    uint64_t x = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    float sum = (float)(x & 0xffff) + (float)(x >> 16 & 0xffff) + (float)(x >> 32 & 0xffff) +
                (float)(x >> 48);
    return (sum / 65536.0f - 2.0f) * 1.7320508f;
}

// On a cache line; NULL where memory is out.
static float *get_floats(size_t count)
{
    return aligned_alloc(64, (count * sizeof(float) / 64 + 1) * 64);
}

// `uneven`: rows' magnitudes rise and fall, so that maxima move and a rescale that is missing
// shows.
static float *make_input(int64_t rows, int dim, uint64_t seed, int uneven)
{
    size_t count = (size_t)rows * (size_t)dim;
    float *data = get_floats(count);
    for (size_t i = 0; data != NULL && i < count; i++) {
        size_t phase = i / (size_t)dim * 5 % 37;
        float size = uneven ? 0.25f + (float)(phase < 19 ? phase : 37 - phase) / 6.0f : 1.0f;
        data[i] = size * noise(seed << 40 | i);
    }
    return data;
}

static int make_tensors(struct experiment *one)
{
    const struct fcl_problem *p = &one->problem;
    int64_t queries = p->batch * p->heads_q * p->q_len;
    int64_t keys = p->batch * p->heads_kv * p->k_len;
    one->q = make_input(queries, p->head_dim_qk, 1, 0);
    one->k = make_input(keys, p->head_dim_qk, 2, 1);
    one->v = make_input(keys, p->head_dim_v, 3, 1);
    one->tensors = (struct flash_tensors){.q = one->q, .k = one->k, .v = one->v};
    one->tensors.o = get_floats((size_t)queries * (size_t)p->head_dim_v);
    int complete = one->q != NULL && one->k != NULL && one->v != NULL && one->tensors.o != NULL;
    if (p->lse) {
        one->tensors.lse = get_floats((size_t)queries);
        complete = complete && one->tensors.lse != NULL;
    }
    return complete;
}

static void free_tensors(struct experiment *one)
{
    free(one->q);
    free(one->k);
    free(one->v);
    free(one->tensors.o);
    free(one->tensors.lse);
}

// ---- Right? ---------------------------------------------------------------------------------

struct strides {
    int64_t of[4];
};

static struct strides strides_of(const struct fcl_problem *p, int64_t heads, int64_t length,
                                 int dim)
{
    int64_t all = length * heads * dim;
    if (p->layout == FCL_LAYOUT_BSHD) {
        return (struct strides){{all, dim, heads * dim, 1}};
    }
    return (struct strides){{all, length * dim, dim, 1}};
}

static struct fcl_host_tensor host_tensor(const float *data, struct strides strides)
{
    struct fcl_host_tensor tensor = {.data = data, .dtype = FCL_F32};
    memcpy(tensor.strides, strides.of, sizeof(tensor.strides));
    return tensor;
}

// Compares the first row, the last and some between with the reference in double precision.
static enum fcl_status compare_rows(const struct experiment *one, struct fcl_comparison *comparison)
{
    const struct fcl_problem *p = &one->problem;
    const struct fcl_reference reference = {
        .problem = p,
        .q = host_tensor(one->q, strides_of(p, p->heads_q, p->q_len, p->head_dim_qk)),
        .k = host_tensor(one->k, strides_of(p, p->heads_kv, p->k_len, p->head_dim_qk)),
        .v = host_tensor(one->v, strides_of(p, p->heads_kv, p->k_len, p->head_dim_v)),
    };
    struct strides o = strides_of(p, p->heads_q, p->q_len, p->head_dim_v);
    int64_t rows = p->batch * p->heads_q * p->q_len;
    enum fcl_status status = FCL_OK;
    for (int64_t r = 0; r < CHECK_ROWS && rows > 0 && status == FCL_OK; r++) {
        int64_t row = (rows - 1) * r / (CHECK_ROWS - 1);
        int64_t head = row / p->q_len, i = row % p->q_len;
        int64_t b = head / p->heads_q, h = head % p->heads_q;
        const float *lse = one->tensors.lse != NULL ? &one->tensors.lse[row] : NULL;
        status = fcl_reference_compare(&reference, b, h, i,
                                       one->tensors.o + b * o.of[0] + h * o.of[1] + i * o.of[2], 1,
                                       lse, 0, comparison);
    }
    return status;
}

static enum fcl_status check_variant(struct experiment *one, struct variant *variant)
{
    const struct fcl_problem *p = &one->problem;
    size_t rows = (size_t)(p->batch * p->heads_q * p->q_len);
    struct fcl_comparison comparison = {.rows = 0};
    memset(one->tensors.o, 0xff, rows * (size_t)p->head_dim_v * sizeof(float)); // NaN
    flash_run(variant->flash);
    enum fcl_status status = compare_rows(one, &comparison);
    variant->error = comparison.error;
    return status == FCL_OK && comparison.ratio > 1 ? FCL_WRONG_RESULT : status;
}

// ---- Times ----------------------------------------------------------------------------------

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

// Time of one of `count` launches, back to back.
static double time_launches(struct variant *variant, long long count)
{
    double start = now_ms();
    for (long long i = 0; i < count; i++) {
        flash_run(variant->flash);
    }
    return (now_ms() - start) / (double)count;
}

static void choose_batch(const struct settings *settings, struct variant *variant)
{
    long long count = 1;
    double one_ms = time_launches(variant, count);
    while (one_ms * (double)count < WARM_UP_MS) {
        count *= 2;
        one_ms = time_launches(variant, count);
    }
    variant->batch = (long long)ceil(settings->batch_ms / one_ms);
    variant->batch = variant->batch < 1 ? 1 : variant->batch;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Between the two nearest of sorted values.
static double quantile(const double *values, int count, double q)
{
    double place = q * (count - 1);
    int below = (int)place, above = below + 1 < count ? below + 1 : below;
    return values[below] + (values[above] - values[below]) * (place - below);
}

static void summarise(struct variant *variant, int count)
{
    double *times = variant->times;
    qsort(times, (size_t)count, sizeof(*times), compare_doubles);
    variant->min_ms = times[0];
    variant->median_ms = quantile(times, count, 0.5);
    variant->spread =
        (quantile(times, count, 0.75) - quantile(times, count, 0.25)) / variant->median_ms;
}

static const struct variant *time_variants(struct experiment *one)
{
    const struct settings *settings = one->settings;
    const struct variant *best = one->variants;
    for (int i = 0; i < one->variant_count; i++) {
        one->variants[i].times = memory_get((size_t)settings->samples, sizeof(double));
        choose_batch(settings, &one->variants[i]);
    }
    for (int sample = 0; sample < settings->samples; sample++) {
        for (int i = 0; i < one->variant_count; i++) {
            struct variant *variant = &one->variants[i];
            variant->times[sample] = time_launches(variant, variant->batch);
        }
    }
    for (int i = 0; i < one->variant_count; i++) {
        summarise(&one->variants[i], settings->samples);
        best = one->variants[i].median_ms < best->median_ms ? &one->variants[i] : best;
    }
    return best;
}

// Several times the whole matrix product of a size that suits OpenBLAS: what it can do at best.
static void run_control(const struct settings *settings)
{
    const int n = CONTROL_SIZE;
    float *a = make_input(n, n, 1, 0), *b = make_input(n, n, 2, 0), *c = make_input(n, n, 3, 0);
    double best_ms = INFINITY;
    openblas_set_num_threads(settings->threads);
    for (int i = 0; a != NULL && b != NULL && c != NULL && i < settings->samples + 1; i++) {
        double start = now_ms();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c, n);
        double ms = now_ms() - start;
        best_ms = i > 0 && ms < best_ms ? ms : best_ms;
    }
    openblas_set_num_threads(1);
    say("control: sgemm %d^3, %d threads, core %s: %.1f GFLOP/s at best", n, settings->threads,
        openblas_get_corename(), 2e-6 * n * n * n / best_ms);
    free(a);
    free(b);
    free(c);
}

// ---- One problem ----------------------------------------------------------------------------

static void list_variants(struct experiment *one)
{
    for (int i = 0; i < BLOCKING_COUNT; i++) {
        struct flash_blocks blocks = {.queries = blockings[i].queries, .keys = blockings[i].keys};
        for (int fold = 0; fold <= flash_can_fold(&one->problem, blocks.queries); fold++) {
            blocks.fold = fold;
            one->variants[one->variant_count++].blocks = blocks;
        }
    }
}

static enum fcl_status prepare(struct experiment *one)
{
    const struct settings *settings = one->settings;
    enum fcl_status status = FCL_OK;
    if (!flash_supports(&one->problem)) {
        say("%s: only fwd with f32 tensors, without guard-v and strided", one->text);
        return FCL_UNSUPPORTED;
    }
    if (!make_tensors(one)) {
        say("%s: not enough memory", one->text);
        return FCL_OUT_OF_MEMORY;
    }
    list_variants(one);
    for (int i = 0; i < one->variant_count && status == FCL_OK; i++) {
        struct variant *variant = &one->variants[i];
        variant->flash = flash_create(&one->problem, &one->tensors, variant->blocks, settings->pool,
                                      settings->threads);
        status = variant->flash != NULL ? check_variant(one, variant) : FCL_OUT_OF_MEMORY;
        if (status != FCL_OK) {
            say("%s, blocks %dx%d: %s (error %.3g)", one->text, variant->blocks.queries,
                variant->blocks.keys, fcl_status_text(status), variant->error);
        }
    }
    return status;
}

static char *implementation_name(const struct settings *settings)
{
    char *name =
        settings->core != NULL ? memory_print(NAME "-%s", settings->core) : memory_print(NAME);
    for (char *letter = name; *letter != '\0'; letter++) {
        *letter = (char)tolower((unsigned char)*letter);
    }
    return name;
}

static void name_row(struct report *report, const struct experiment *one,
                     const struct variant *best)
{
    char *name = implementation_name(one->settings);
    char *device = memory_print("host, %d threads", one->settings->threads);
    char *config = memory_print("%dx%d%s core=%s", best->blocks.queries, best->blocks.keys,
                                best->blocks.fold ? " fold" : "", openblas_get_corename());
    char *driver = memory_print("%s", openblas_get_config());
    char *end = strchr(driver, ' '); // "OpenBLAS 0.3.21 NO_LAPACKE ..."
    end = end != NULL ? strchr(end + 1, ' ') : NULL;
    if (end != NULL) {
        *end = '\0';
    }
    report_set_text(report, "problem", one->text);
    report_set_text(report, "device", device);
    report_set_text(report, "driver", driver);
    report_set_text(report, "impl", name);
    report_set_text(report, "config", one->variant_count > 0 ? config : NULL);
    report_set_text(report, "status", status_word(one->status));
    free(name);
    free(device);
    free(config);
    free(driver);
}

static void add_row(struct report *report, const struct experiment *one, const struct variant *best)
{
    double bytes = traffic_bytes(&one->problem, FCL_FUSED);
    report_row(report);
    name_row(report, one, best);
    if (one->status == FCL_OK) {
        report_set_real(report, "median_ms", best->median_ms);
        report_set_real(report, "min_ms", best->min_ms);
        report_set_real(report, "spread", best->spread);
        report_set_real(report, "gflops",
                        traffic_operations(&one->problem) / best->median_ms * 1e-6);
        report_set_text(report, "clock", "wall");
    }
    if (bytes < 9e18) {
        report_set_integer(report, "bytes", (int64_t)bytes);
    }
    if (bytes > 0) {
        report_set_real(report, "byte_ratio", traffic_bytes(&one->problem, FCL_UNFUSED) / bytes);
    }
    if (one->status == FCL_OK || one->status == FCL_WRONG_RESULT) {
        report_set_real(report, "error", best->error);
    }
    report_row_end(report);
}

// The variant that was found wrong, else the first.
static const struct variant *worst_variant(const struct experiment *one)
{
    const struct variant *worst = one->variants;
    for (int i = 0; i < one->variant_count; i++) {
        // The check stops at the first wrong one, so the last that ran is it.
        worst = one->variants[i].flash != NULL ? &one->variants[i] : worst;
    }
    return worst;
}

static int run_problem(const struct settings *settings, struct report *report, const char *text)
{
    struct experiment one = {.settings = settings};
    char reason[512] = "";
    enum fcl_status status = fcl_problem_parse(text, &one.problem, reason, sizeof(reason));
    if (status == FCL_OK) {
        status = fcl_problem_validate(&one.problem, reason, sizeof(reason));
    }
    if (status != FCL_OK) {
        say("problem '%s': %s", text, reason);
        return status_exit(status);
    }
    fcl_problem_format(&one.problem, one.text, sizeof(one.text));
    one.status = prepare(&one);
    add_row(report, &one, one.status == FCL_OK ? time_variants(&one) : worst_variant(&one));
    for (int i = 0; i < one.variant_count; i++) {
        flash_destroy(one.variants[i].flash);
        free(one.variants[i].times);
    }
    free_tensors(&one);
    return status_exit(one.status);
}

// ---- Command line ---------------------------------------------------------------------------

static int check_settings(const struct settings *settings)
{
    if (settings->samples < 1 || settings->samples > SAMPLE_LIMIT) {
        say("--samples %d: 1 to %d are allowed", settings->samples, SAMPLE_LIMIT);
        return EXIT_USAGE;
    }
    if (settings->threads < 1 || settings->threads > THREAD_LIMIT) {
        say("--threads %d: 1 to %d are allowed", settings->threads, THREAD_LIMIT);
        return EXIT_USAGE;
    }
    if (!(settings->batch_ms >= 0 && settings->batch_ms <= 1e5)) {
        say("--batch-ms %g: 0 to 100000 are allowed", settings->batch_ms);
        return EXIT_USAGE;
    }
    return EXIT_OK;
}

static int run_all(struct settings *settings, const char *const *problems)
{
    struct report report;
    int code = EXIT_OK;
    settings->pool = pool_create(settings->threads);
    if (settings->pool == NULL) {
        say("%d threads cannot be started", settings->threads);
        return EXIT_INTERNAL;
    }
    openblas_set_num_threads(1);
    if (settings->control) {
        run_control(settings);
    }
    report_init(&report, stdout, REPORT_JSON, REPORT_TABLE, columns,
                sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; problems != NULL && problems[i] != NULL; i++) {
        code = status_graver(code, run_problem(settings, &report, problems[i]));
    }
    report_finish(&report);
    pool_destroy(settings->pool);
    return code;
}

int main(int argc, const char **argv)
{
    struct settings settings = {.samples = 9,
                                .threads = openblas_get_num_procs(),
                                .batch_ms = 100,
                                .core = getenv("OPENBLAS_CORETYPE")};
    const struct poptOption table[] = {
        {"samples", '\0', POPT_ARG_INT, &settings.samples, 0, "samples of each blocking (9)", "N"},
        {"batch-ms", '\0', POPT_ARG_DOUBLE, &settings.batch_ms, 0,
         "launches back to back for at least this time are one sample (100)", "MS"},
        {"threads", '\0', POPT_ARG_INT, &settings.threads, 0, "threads (all cores)", "N"},
        {"control", '\0', POPT_ARG_NONE, &settings.control, 0,
         "also say on stderr what one large sgemm reaches", NULL},
        POPT_AUTOHELP POPT_TABLEEND};
    poptContext context = poptGetContext(NAME, argc, argv, table, 0);
    poptSetOtherOptionHelp(context, "[OPTION...] [PROBLEM...]");
    int option = poptGetNextOpt(context), code = EXIT_USAGE;
    if (option < -1) {
        say("%s: %s", poptBadOption(context, POPT_BADOPTION_NOALIAS), poptStrerror(option));
    } else {
        code = check_settings(&settings);
    }
    if (code == EXIT_OK) {
        code = run_all(&settings, (const char *const *)poptGetArgs(context));
    }
    poptFreeContext(context);
    return code;
}
