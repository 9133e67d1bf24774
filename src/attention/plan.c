// Makes plans: choose, build, prove, fall back.
#include "plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "problem.h"
#include "spec.h"

// ---- one configuration

// Proves freshly built kernels on a tiny problem: two key blocks, so that a rescale takes place.
static enum fcl_status prove(void *user, const struct fcl_program *program)
{
    struct fcl_plan *plan = user;
    struct fcl_problem tiny = plan->problem;
    struct fcl_comparison comparison = {0};
    tiny.batch = tiny.heads_kv = 1;
    tiny.heads_q = 2; // two rows a query where heads are packed
    tiny.q_len = 3;
    tiny.k_len = plan->config.block_n + 5;
    // The same kernel, with more keys to see: of a window, all but the first two of query 0.
    if (tiny.mask != FCL_MASK_NONE)
        tiny.mask =
            fcl_problem_is_causal(&tiny) ? FCL_MASK_CAUSAL_BOTTOM_RIGHT : FCL_MASK_BOTTOM_RIGHT;
    if (fcl_problem_bounds_left(&tiny))
        tiny.window_left = plan->config.block_n;
    if (tiny.window_right > 0)
        tiny.window_right = 0;
    const struct fcl_problem problem = plan->problem;
    plan->program = *program;
    plan->problem = tiny;
    const enum fcl_status status =
        fcl_check_plan(plan, &tiny, FCL_FILL_UNBALANCED, 1, 0, &comparison);
    plan->problem = problem;
    memset(&plan->program, 0, sizeof plan->program);
    return status;
}

static void name_kernels(const struct fcl_plan *plan, char names[FCL_PROGRAM_KERNELS][256],
                         struct fcl_program_request *request)
{
    static const char *const unfused[] = {"_scores", "_softmax", "_product"};
    static const char *const fused[] = {"", "_combine"};
    const int is_unfused = plan->implementation == FCL_UNFUSED;
    const int count = fcl_config_kernels(&plan->config, plan->implementation);
    for (int i = 0; i < count; i++) {
        snprintf(names[i], 256, "%s%s", plan->label, (is_unfused ? unfused : fused)[i]);
        request->kernels[i] = names[i];
    }
}

// Fills in a request for the plan's kernels; *source and *flags are the caller's to free.
static enum fcl_status make_request(struct fcl_plan *plan, struct fcl_text *source,
                                    struct fcl_text *flags, char names[FCL_PROGRAM_KERNELS][256],
                                    struct fcl_program_request *request)
{
    char reason[256];
    const enum fcl_status status =
        fcl_spec_source(&plan->problem, &plan->config, plan->implementation,
                        plan->device->kernel_folder, source, reason, sizeof reason);
    if (status)
        return fcl_device_fail(plan->device, status, "%s", reason);
    request->retarget = plan->config.family == FCL_FAMILY_NVIDIA_WGMMA;
    fcl_spec_flags(&plan->config, flags);
    if (request->retarget)
        fcl_text_add(flags, " -cl-nv-verbose");
    if (source->failed || flags->failed)
        return FCL_OUT_OF_MEMORY;
    request->label = plan->label;
    request->source = source->data;
    request->flags = flags->data ? flags->data : "";
    request->proof = prove;
    request->user = plan;
    name_kernels(plan, names, request);
    return FCL_OK;
}

static enum fcl_status build_program(struct fcl_plan *plan, int read_only)
{
    struct fcl_text source = {0}, flags = {0};
    char names[FCL_PROGRAM_KERNELS][256];
    struct fcl_program program;
    struct fcl_program_request request = {.quiet = read_only, .read_only = read_only};
    enum fcl_status status = make_request(plan, &source, &flags, names, &request);
    if (!status)
        status = fcl_program_create(plan->device, &request, &program);
    if (!status)
        plan->program = program;
    fcl_text_free(&source);
    fcl_text_free(&flags);
    return status;
}

enum fcl_status fcl_plan_build(struct fcl_device *device, const struct fcl_problem *problem,
                               enum fcl_implementation implementation,
                               const struct fcl_choice *choice, int read_only,
                               struct fcl_plan **built)
{
    char reason[256];
    const double start = fcl_now_ms();
    enum fcl_status status =
        fcl_config_validate(&choice->config, problem, &device->caps, reason, sizeof reason);
    if (status)
        return fcl_device_fail(device, status, "%s", reason);
    struct fcl_plan *plan = calloc(1, sizeof *plan);
    struct fcl_text label = {0};
    fcl_spec_label(problem, &choice->config, implementation, &label);
    if (!plan || label.failed) {
        free(plan);
        fcl_text_free(&label);
        return FCL_OUT_OF_MEMORY;
    }
    plan->device = device;
    plan->problem = *problem;
    plan->config = choice->config;
    plan->implementation = implementation;
    plan->origin = choice->origin;
    plan->label = label.data;
    fcl_config_format(&choice->config, plan->config_text, sizeof plan->config_text);
    pthread_mutex_init(&plan->lock, NULL);
    status = build_program(plan, read_only);
    if (status)
        fcl_plan_destroy(&plan);
    else
        plan->plan_ms = fcl_now_ms() - start;
    *built = plan;
    return status;
}

enum fcl_status fcl_plan_store(struct fcl_plan *plan)
{
    struct fcl_text source = {0}, flags = {0};
    char names[FCL_PROGRAM_KERNELS][256];
    struct fcl_program_request request = {0};
    const enum fcl_status status = make_request(plan, &source, &flags, names, &request);
    if (!status)
        fcl_program_store(plan->device, &request, &plan->program);
    fcl_text_free(&source);
    fcl_text_free(&flags);
    return status;
}

void fcl_plan_destroy(fcl_plan **plan)
{
    if (!plan || !*plan)
        return;
    fcl_program_destroy(&(*plan)->program);
    pthread_mutex_destroy(&(*plan)->lock);
    free((*plan)->label);
    free(*plan);
    *plan = NULL;
}

// ---- the public calls

static enum fcl_status read_options(fcl_device *device, const struct fcl_plan_options *given,
                                    struct fcl_plan_options *options)
{
    *options = (struct fcl_plan_options){0};
    if (given && !fcl_struct_read(options, sizeof *options, given))
        return fcl_device_fail(device, FCL_INVALID_ARGUMENT,
                               "options.struct_size is %zu, allowed are 8 to %zu",
                               given->struct_size, sizeof *options);
    if (options->implementation != FCL_FUSED && options->implementation != FCL_UNFUSED)
        return fcl_device_fail(
            device, FCL_INVALID_ARGUMENT,
            "options.implementation is %d, allowed are 0 (fused) and 1 (unfused)",
            (int)options->implementation);
    if (options->effort > FCL_EFFORT_FULL)
        return fcl_device_fail(device, FCL_INVALID_ARGUMENT,
                               "options.effort is %d, allowed are 0 to %d", (int)options->effort,
                               (int)FCL_EFFORT_FULL);
    return FCL_OK;
}

// What to try for a plan, best first.
static size_t list_choices(fcl_device *device, const struct fcl_problem *problem,
                           const struct fcl_plan_options *options, struct fcl_choice *choices,
                           char *reason, size_t size)
{
    if (options->config) {
        choices[0] = (struct fcl_choice){*options->config, "explicit"};
        return 1;
    }
    pthread_mutex_lock(&device->wisdom_lock);
    const size_t count = fcl_select(problem, options->implementation, &device->caps,
                                    options->effort == FCL_EFFORT_TABLE ? NULL : device->wisdom,
                                    choices, reason, size);
    pthread_mutex_unlock(&device->wisdom_lock);
    return count;
}

// Tunes when the effort allows it and wisdom has nothing for this class; failing to is not an
// error.
static void tune_first(fcl_device *device, const struct fcl_problem *problem,
                       const struct fcl_plan_options *options)
{
    struct fcl_choice choices[FCL_CHOICES];
    struct fcl_tune_result result;
    if (options->effort != FCL_EFFORT_FULL || options->config)
        return;
    if (list_choices(device, problem, options, choices, NULL, 0) &&
        !strcmp(choices[0].origin, "wisdom"))
        return;
    const struct fcl_tune_options tune = {
        .struct_size = sizeof tune, .implementation = options->implementation, .store = 1};
    fcl_attention_tune(device, problem, &tune, &result);
}

// Wisdom of another driver has just passed its self-check: it becomes wisdom of this one.
static void adopt_wisdom(const struct fcl_plan *plan)
{
    fcl_device *device = plan->device;
    char problem_class[256], reason[256];
    fcl_problem_class(&plan->problem, plan->implementation, problem_class, sizeof problem_class);
    const struct fcl_wisdom_row row = {.device = device->caps.name,
                                       .driver = device->caps.driver,
                                       .problem_class = problem_class,
                                       .config = plan->config_text,
                                       .clock = "none",
                                       .version = FCL_VERSION};
    pthread_mutex_lock(&device->wisdom_lock);
    enum fcl_status status = fcl_wisdom_add(device->wisdom, &row);
    if (!status && device->wisdom_file)
        status = fcl_wisdom_save(device->wisdom, device->wisdom_file, reason, sizeof reason);
    pthread_mutex_unlock(&device->wisdom_lock);
    if (status)
        fcl_log_write(&device->log, FCL_LOG_WARNING, "wisdom of this driver was not written: %s",
                      fcl_status_text(status));
}

static enum fcl_status check_implementation(fcl_device *device, const struct fcl_problem *problem,
                                            enum fcl_implementation implementation)
{
    if (implementation == FCL_UNFUSED && problem->pass == FCL_PASS_STATISTICS)
        return fcl_device_fail(device, FCL_UNSUPPORTED,
                               "the unfused implementation has no statistics pass");
    if (implementation == FCL_UNFUSED && fcl_problem_has_sequences(problem))
        return fcl_device_fail(device, FCL_UNSUPPORTED,
                               "the unfused implementation takes sequences of one length only");
    return FCL_OK;
}

enum fcl_status fcl_plan_create(fcl_device *device, const struct fcl_problem *problem,
                                const struct fcl_plan_options *given, fcl_plan **created)
{
    if (!created)
        return FCL_INVALID_ARGUMENT;
    *created = NULL;
    if (!device || !problem)
        return device ? fcl_device_fail(device, FCL_INVALID_ARGUMENT, "problem is NULL")
                      : FCL_INVALID_ARGUMENT;
    const double start = fcl_now_ms();
    struct fcl_plan_options options;
    struct fcl_problem full;
    struct fcl_choice choices[FCL_CHOICES];
    char reason[256];
    enum fcl_status status = read_options(device, given, &options);
    if (status)
        return status;
    status = fcl_problem_complete(problem, &full, reason, sizeof reason);
    if (status)
        return fcl_device_fail(device, status, "%s", reason);
    status = check_implementation(device, &full, options.implementation);
    if (status)
        return status;
    tune_first(device, &full, &options);
    const size_t count = list_choices(device, &full, &options, choices, reason, sizeof reason);
    if (!count)
        return fcl_device_fail(device, FCL_NO_CONFIGURATION, "%s", reason);
    for (size_t i = 0; i < count; i++) {
        status = fcl_plan_build(device, &full, options.implementation, &choices[i], 0, created);
        if (!status)
            break;
        if (i + 1 < count)
            fcl_log_write(&device->log, FCL_LOG_INFO, "trying the next configuration: %s",
                          choices[i + 1].origin);
    }
    if (status)
        return status;
    if (!strcmp((*created)->origin, FCL_ORIGIN_OTHER_DRIVER))
        adopt_wisdom(*created);
    (*created)->plan_ms = fcl_now_ms() - start;
    fcl_log_write(&device->log, FCL_LOG_INFO, "%s: %s, %s, %.1f ms", (*created)->label,
                  (*created)->origin,
                  (*created)->program.from_cache ? "from the cache" : "built from source",
                  (*created)->plan_ms);
    return FCL_OK;
}

void fcl_plan_describe(const fcl_plan *plan, struct fcl_plan_info *info)
{
    static const struct fcl_plan_info nothing = {.label = "", .config = "", .origin = ""};
    if (!info)
        return;
    *info = nothing;
    if (!plan)
        return;
    *info = (struct fcl_plan_info){
        .label = plan->label,
        .config = plan->config_text,
        .origin = plan->origin,
        .from_cache = plan->program.from_cache,
        .build_ms = plan->program.build_ms,
        .plan_ms = plan->plan_ms,
        .group_size = fcl_config_group_size(&plan->config),
        .local_bytes = plan->program.local_bytes,
        .private_bytes = plan->program.private_bytes,
    };
}

enum fcl_status fcl_plan_workspace_size(const fcl_plan *plan, const struct fcl_shape *shape,
                                        size_t *size)
{
    struct fcl_shape full;
    char reason[256];
    if (!plan || !shape || !size)
        return plan ? fcl_device_fail(plan->device, FCL_INVALID_ARGUMENT, "%s is NULL",
                                      shape ? "size" : "shape")
                    : FCL_INVALID_ARGUMENT;
    *size = 0;
    const enum fcl_status status = fcl_shape_complete(shape, &full, reason, sizeof reason);
    if (status)
        return fcl_device_fail(plan->device, status, "%s", reason);
    const int unfused = plan->implementation == FCL_UNFUSED;
    const uint64_t bytes =
        unfused ? fcl_score_bytes(&plan->problem, &plan->config, &full)
                : fcl_workspace_bytes(&plan->problem, &plan->config, &plan->device->caps, &full);
    *size = bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
    if (bytes > plan->device->caps.allocation_bytes)
        return fcl_device_fail(
            plan->device, FCL_OUT_OF_MEMORY, "%s need%s %llu bytes, the device allows %llu at once",
            unfused ? "the score matrix" : "partial results", unfused ? "s" : "",
            (unsigned long long)bytes, (unsigned long long)plan->device->caps.allocation_bytes);
    return FCL_OK;
}

enum fcl_status fcl_attention_supports(const fcl_device *device, const struct fcl_problem *problem,
                                       char *reason, size_t size)
{
    struct fcl_config config;
    if (!device || !problem)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%s is NULL",
                        device ? "problem" : "device");
    return fcl_config_default(problem, &device->caps, &config, reason, size);
}
