// Tries points of a user's kernel: one verified run, timing, verification again.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_trial.h"
#include "timing.h"

#define HOPELESS 2.5   // a probe this many times slower than the best is not timed further
#define SAMPLES 5      // of a trial
#define FINAL_ROUNDS 5 // each finalist once a round, in turn
#define FINAL_SAMPLES 3

static enum fcl_status fail_cl(const struct fcl_kernel_trial *trial, cl_int code, const char *what)
{
    const enum fcl_status status =
        code == CL_INVALID_WORK_GROUP_SIZE || code == CL_INVALID_WORK_ITEM_SIZE
            ? FCL_UNSUPPORTED
            : fcl_cl_status(code);
    struct fcl_text text = {0};
    fcl_cl_error_add(&text, code);
    FCL_TRIAL_FAIL(trial, status, "%s failed: %s", what, text.failed ? "" : text.data);
    fcl_text_free(&text);
    return status;
}

// ---- arguments

static enum fcl_status set_argument(const struct fcl_kernel_trial *trial, size_t argument)
{
    const struct fcl_kernel_form *form = &trial->trials->form;
    const struct fcl_kernel_argument *a = &form->spec.arguments[argument];
    char *reason = trial->evaluation->reason;
    const size_t size = sizeof trial->evaluation->reason;
    unsigned char element[128];
    const void *value = element;
    size_t bytes = sizeof(cl_mem);
    enum fcl_status status = FCL_OK;
    if (a->kind == FCL_KERNEL_VECTOR)
        value = &trial->trials->buffers[argument].part;
    else if (a->kind == FCL_KERNEL_LOCAL) {
        value = NULL;
        status = fcl_kernel_local(form, argument, trial->point, &bytes, reason, size);
    } else {
        bytes = fcl_element_size(a->type);
        status = fcl_kernel_element(form, argument, trial->point, element, reason, size);
    }
    if (status != FCL_OK)
        return status;
    const cl_int code = clSetKernelArg(trial->program.kernels[0], (cl_uint)argument, bytes, value);
    if (code == CL_SUCCESS)
        return FCL_OK;
    char name[FCL_ARGUMENT_NAME_SIZE], what[FCL_ARGUMENT_NAME_SIZE + 24];
    fcl_kernel_argument_name(&form->spec, argument, name);
    snprintf(what, sizeof what, "clSetKernelArg of %s", name);
    return fail_cl(trial, code, what);
}

static enum fcl_status set_arguments(const struct fcl_kernel_trial *trial)
{
    for (size_t i = 0; i < trial->trials->form.spec.argument_count; i++) {
        const enum fcl_status status = set_argument(trial, i);
        if (status != FCL_OK)
            return status;
    }
    return FCL_OK;
}

// Everything up to the first launch.
static enum fcl_status prepare(struct fcl_kernel_trial *trial)
{
    const enum fcl_status status = fcl_kernel_trial_make(trial);
    return status == FCL_OK ? set_arguments(trial) : status;
}

// ---- one verified run

// A queue that saw a failing kernel may be dead, and what the kernel wrote may be anywhere.
static enum fcl_status repair(const struct fcl_kernel_trial *trial)
{
    struct fcl_kernel_trials *trials = trial->trials;
    cl_int code;
    if (!trials->spoilt)
        return FCL_OK;
    clReleaseCommandQueue(trials->queue);
    trials->queue = fcl_device_queue(trials->device, &code);
    for (size_t i = 0; i < trials->form.spec.argument_count && code == CL_SUCCESS; i++)
        if (trials->buffers[i].whole != NULL)
            code = fcl_kernel_buffer_restore(&trials->buffers[i], trials->queue);
    if (code != CL_SUCCESS)
        return fail_cl(trial, code, "repairing the buffers after a failed kernel");
    trials->spoilt = 0;
    return FCL_OK;
}

static cl_int restore_outputs(const struct fcl_kernel_trials *trials)
{
    cl_int code = CL_SUCCESS;
    for (size_t i = 0; i < trials->form.spec.argument_count && code == CL_SUCCESS; i++)
        if (trials->buffers[i].written)
            code = fcl_kernel_buffer_restore(&trials->buffers[i], trials->queue);
    return code;
}

static cl_int enqueue(const struct fcl_kernel_trial *trial, cl_command_queue queue, cl_event *event)
{
    const struct fcl_grid *grid = &trial->grid;
    return clEnqueueNDRangeKernel(queue, trial->program.kernels[0], (cl_uint)grid->dimensions, NULL,
                                  grid->global, grid->has_local ? grid->local : NULL, 0, NULL,
                                  event);
}

static enum fcl_status run_once(const struct fcl_kernel_trial *trial)
{
    cl_event event = NULL;
    cl_int state = CL_COMPLETE;
    cl_int code = restore_outputs(trial->trials);
    if (code != CL_SUCCESS)
        return fail_cl(trial, code, "clEnqueueWriteBuffer");
    code = enqueue(trial, trial->trials->queue, &event);
    if (code != CL_SUCCESS)
        return fail_cl(trial, code, "clEnqueueNDRangeKernel");
    code = clFinish(trial->trials->queue);
    if (code == CL_SUCCESS)
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    clReleaseEvent(event);
    return code != CL_SUCCESS ? fail_cl(trial, code, "clFinish")
           : state < 0        ? fail_cl(trial, state, "the kernel")
                              : FCL_OK;
}

// Judges what the last run left in the outputs; `contents` 0: only the guards.
static enum fcl_status judge(const struct fcl_kernel_trial *trial, int contents)
{
    struct fcl_kernel_trials *trials = trial->trials;
    for (size_t i = 0; i < trials->form.spec.argument_count; i++) {
        struct fcl_kernel_buffer buffer = trials->buffers[i];
        char name[FCL_ARGUMENT_NAME_SIZE];
        if (!buffer.written)
            continue;
        if (!contents)
            buffer.expected = NULL;
        const cl_int code = fcl_kernel_buffer_read(&buffer, trials->queue, trials->copy);
        if (code != CL_SUCCESS)
            return fail_cl(trial, code, "clEnqueueReadBuffer");
        fcl_kernel_argument_name(&trials->form.spec, i, name);
        const enum fcl_status status =
            fcl_kernel_buffer_judge(&buffer, name, trials->copy, &trial->evaluation->ratio,
                                    trial->evaluation->reason, sizeof trial->evaluation->reason);
        if (status != FCL_OK)
            return status;
    }
    return FCL_OK;
}

// ---- timing

static enum fcl_status launch_timed(void *user, cl_command_queue queue, cl_event *first,
                                    cl_event *last)
{
    const struct fcl_kernel_trial *trial = user;
    const cl_int code = enqueue(trial, queue, first);
    if (code != CL_SUCCESS)
        return fail_cl(trial, code, "clEnqueueNDRangeKernel");
    *last = *first;
    clRetainEvent(*last);
    return FCL_OK;
}

static enum fcl_status measure(struct fcl_kernel_trial *trial, double best_ms)
{
    struct fcl_device *device = trial->trials->device;
    struct fcl_timing *timing = &trial->evaluation->timing;
    double probe = 0;
    enum fcl_status status = fcl_timing_probe(device, launch_timed, trial, &probe);
    if (status == FCL_OK && probe > HOPELESS * best_ms)
        *timing = (struct fcl_timing){.median_ms = probe,
                                      .min_ms = probe,
                                      .clock = FCL_CLOCK_WALL,
                                      .samples = 1,
                                      .batch = 1,
                                      .times_ms = {probe},
                                      .kept = 1};
    else if (status == FCL_OK)
        status = fcl_timing_measure(device, launch_timed, trial,
                                    fcl_timing_options(.samples = SAMPLES), timing);
    if (status != FCL_OK && trial->evaluation->reason[0] == 0)
        FCL_TRIAL_FAIL(trial, status, "%s", fcl_status_text(status));
    return status;
}

// ---- the finalists' programs

// Keeps the program if it is among the fastest; the slowest goes.
static void keep(struct fcl_kernel_trial *trial)
{
    struct fcl_kernel_kept *slowest = &trial->trials->kept[0];
    const double ms = trial->evaluation->timing.median_ms;
    for (struct fcl_kernel_kept *k = trial->trials->kept; k < trial->trials->kept + FCL_TRIALS_KEPT;
         k++) {
        if (k->program.program == NULL || k->point == trial->point) {
            slowest = k;
            break;
        }
        if (k->ms > slowest->ms)
            slowest = k;
    }
    if (slowest->program.program != NULL && slowest->point != trial->point && slowest->ms <= ms)
        return;
    fcl_program_destroy(&slowest->program);
    *slowest = (struct fcl_kernel_kept){trial->point, ms, trial->program};
    trial->program = (struct fcl_program){0};
}

// Takes a kept program out again, if there is one.
static int take_kept(struct fcl_kernel_trial *trial)
{
    for (struct fcl_kernel_kept *k = trial->trials->kept; k < trial->trials->kept + FCL_TRIALS_KEPT;
         k++)
        if (k->program.program != NULL && k->point == trial->point) {
            trial->program = k->program;
            *k = (struct fcl_kernel_kept){0};
            return 1;
        }
    return 0;
}

// ---- the evaluator

// One run of a point, unjudged; until it is seen to be well, it may have damaged something.
static enum fcl_status launch_point(struct fcl_kernel_trial *trial)
{
    enum fcl_status status = repair(trial);
    if (status == FCL_OK)
        status = prepare(trial);
    if (status != FCL_OK)
        return status;
    const double start = fcl_now_ms();
    trial->trials->spoilt = 1;
    status = run_once(trial);
    trial->evaluation->verify_ms = fcl_now_ms() - start;
    return status;
}

static enum fcl_status try_point(struct fcl_kernel_trial *trial, double best_ms)
{
    enum fcl_status status = launch_point(trial);
    if (status != FCL_OK)
        return status;
    const double start = fcl_now_ms();
    status = judge(trial, 1);
    trial->evaluation->verify_ms += fcl_now_ms() - start;
    if (status == FCL_OK)
        status = measure(trial, best_ms);
    if (status == FCL_OK)
        status = judge(trial, trial->trials->repeatable);
    trial->trials->spoilt = status != FCL_OK;
    return status;
}

static void evaluate(void *user, uint64_t point, double best_ms, struct fcl_evaluation *evaluation)
{
    struct fcl_kernel_trial trial = {.trials = user, .point = point, .evaluation = evaluation};
    *evaluation = (struct fcl_evaluation){0};
    evaluation->status = try_point(&trial, best_ms);
    if (evaluation->status == FCL_OK) {
        evaluation->reason[0] = 0;
        keep(&trial);
    }
    fcl_program_destroy(&trial.program);
}

void fcl_kernel_launch(fcl_kernel_trials *trials, uint64_t point, struct fcl_evaluation *evaluation)
{
    if (evaluation == NULL)
        return;
    struct fcl_kernel_trial trial = {.trials = trials, .point = point, .evaluation = evaluation};
    *evaluation = (struct fcl_evaluation){.status = FCL_INVALID_ARGUMENT};
    if (trials == NULL) {
        FCL_TRIAL_FAIL(&trial, FCL_INVALID_ARGUMENT, "trials is NULL");
        return;
    }
    evaluation->status = launch_point(&trial);
    if (evaluation->status == FCL_OK)
        trials->spoilt = 0;
    fcl_program_destroy(&trial.program);
}

// Makes a point ready to be timed again: it passed before.
static enum fcl_status ready(struct fcl_kernel_trial *trial)
{
    const int kept = take_kept(trial);
    enum fcl_status status = fcl_kernel_trial_plan(trial);
    if (status == FCL_OK && !kept)
        status = fcl_kernel_trial_build(trial, NULL);
    return status == FCL_OK ? set_arguments(trial) : status;
}

static enum fcl_status compare_ready(struct fcl_kernel_trial *finalists, double *medians,
                                     size_t count, struct fcl_timing *timings)
{
    for (size_t round = 0; round < FINAL_ROUNDS; round++)
        for (size_t i = 0; i < count; i++) {
            const enum fcl_status status =
                fcl_timing_measure(finalists[i].trials->device, launch_timed, &finalists[i],
                                   fcl_timing_options(.samples = FINAL_SAMPLES), &timings[i]);
            if (status != FCL_OK)
                return status;
            medians[i * FINAL_ROUNDS + round] = timings[i].median_ms;
        }
    for (size_t i = 0; i < count; i++)
        fcl_timing_summarise(medians + i * FINAL_ROUNDS, FINAL_ROUNDS, &timings[i]);
    return FCL_OK;
}

static enum fcl_status compare(void *user, const uint64_t *points, size_t count,
                               struct fcl_timing *timings)
{
    struct fcl_kernel_trials *trials = user;
    struct fcl_evaluation evaluation = {0};
    struct fcl_kernel_trial *finalists = calloc(count + 1, sizeof *finalists);
    double *medians = calloc(count * FINAL_ROUNDS + 1, sizeof *medians);
    enum fcl_status status = finalists != NULL && medians != NULL ? FCL_OK : FCL_OUT_OF_MEMORY;
    for (size_t i = 0; i < count && status == FCL_OK; i++) {
        finalists[i] = (struct fcl_kernel_trial){
            .trials = trials, .point = points[i], .evaluation = &evaluation};
        status = i == 0 ? repair(&finalists[i]) : FCL_OK;
        if (status == FCL_OK)
            status = ready(&finalists[i]);
    }
    if (status == FCL_OK)
        status = compare_ready(finalists, medians, count, timings);
    for (size_t i = 0; finalists != NULL && i < count; i++)
        fcl_program_destroy(&finalists[i].program);
    free(finalists);
    free(medians);
    return status == FCL_OK ? FCL_OK
                            : fcl_device_fail(trials->device, status, "comparing the best: %s",
                                              evaluation.reason);
}

// ---- what is tried on

static size_t largest_buffer(const struct fcl_kernel_trials *trials)
{
    size_t largest = 1;
    for (size_t i = 0; i < trials->form.spec.argument_count; i++)
        if (trials->buffers[i].size > largest)
            largest = trials->buffers[i].size;
    return largest;
}

static enum fcl_status make_buffers(struct fcl_kernel_trials *trials)
{
    const struct fcl_kernel_spec *spec = &trials->form.spec;
    trials->buffers = calloc(spec->argument_count + 1, sizeof *trials->buffers);
    if (trials->buffers == NULL)
        return FCL_OUT_OF_MEMORY;
    trials->repeatable = 1;
    for (size_t i = 0; i < spec->argument_count; i++) {
        const struct fcl_kernel_argument *a = &spec->arguments[i];
        if (a->kind != FCL_KERNEL_VECTOR)
            continue;
        enum fcl_status status =
            fcl_kernel_buffer_create(trials->device, &trials->form, i, &trials->buffers[i]);
        if (status == FCL_OK && a->expected != NULL && fcl_kernel_is_compared(spec, i))
            status = fcl_kernel_buffer_expect(&trials->buffers[i], a, a->expected);
        if (status != FCL_OK)
            return status;
        if (a->access == FCL_KERNEL_READ_WRITE)
            trials->repeatable = 0;
    }
    trials->copy = malloc(largest_buffer(trials));
    return trials->copy != NULL ? FCL_OK : FCL_OUT_OF_MEMORY;
}

// ---- the reference

// Takes what the reference kernel left in the outputs as right.
static enum fcl_status take_results(const struct fcl_kernel_trial *trial)
{
    struct fcl_kernel_trials *trials = trial->trials;
    enum fcl_status status = judge(trial, 0);
    for (size_t i = 0; i < trials->form.spec.argument_count && status == FCL_OK; i++) {
        struct fcl_kernel_buffer *buffer = &trials->buffers[i];
        if (!fcl_kernel_is_compared(&trials->form.spec, i) || buffer->expected != NULL)
            continue;
        const cl_int code = fcl_kernel_buffer_read(buffer, trials->queue, trials->copy);
        status = code != CL_SUCCESS
                     ? fail_cl(trial, code, "clEnqueueReadBuffer")
                     : fcl_kernel_buffer_expect(buffer, &trials->form.spec.arguments[i],
                                                trials->copy + buffer->guard);
    }
    return status;
}

static enum fcl_status run_reference(struct fcl_kernel_trials *trials)
{
    struct fcl_evaluation evaluation = {0};
    struct fcl_kernel_trial trial = {.trials = trials,
                                     .point = fcl_space_point(trials->form.spec.space, 0),
                                     .evaluation = &evaluation};
    enum fcl_status status =
        fcl_kernel_grid(&trials->form, &trials->form.reference_grid, trial.point, &trial.grid,
                        evaluation.reason, sizeof evaluation.reason);
    if (status == FCL_OK)
        status = fcl_kernel_trial_build(&trial, trials->form.spec.reference);
    if (status == FCL_OK)
        status = fcl_kernel_trial_check(&trial);
    if (status == FCL_OK)
        status = set_arguments(&trial);
    if (status == FCL_OK)
        status = run_once(&trial);
    if (status == FCL_OK)
        status = take_results(&trial);
    fcl_program_destroy(&trial.program);
    return status == FCL_OK ? FCL_OK
                            : fcl_device_fail(trials->device, status, "reference kernel %s: %s",
                                              trials->form.spec.reference->name, evaluation.reason);
}

static enum fcl_status make(struct fcl_kernel_trials *trials, const struct fcl_kernel_spec *spec)
{
    char reason[256];
    cl_int code;
    enum fcl_status status = fcl_kernel_form_create(spec, &trials->form, reason, sizeof reason);
    if (status != FCL_OK)
        return fcl_device_fail(trials->device, status, "%s", reason);
    trials->queue = fcl_device_queue(trials->device, &code);
    if (trials->queue == NULL)
        return fcl_cl_fail(trials->device, code, "clCreateCommandQueue");
    fcl_kernel_trials_limits(trials);
    status = make_buffers(trials);
    return status == FCL_OK && trials->form.spec.reference != NULL ? run_reference(trials) : status;
}

enum fcl_status fcl_kernel_trials_create(fcl_device *device, const struct fcl_kernel_spec *spec,
                                         fcl_kernel_trials **created)
{
    if (device == NULL || created == NULL)
        return device == NULL ? FCL_INVALID_ARGUMENT
                              : fcl_device_fail(device, FCL_INVALID_ARGUMENT, "created is NULL");
    *created = NULL;
    struct fcl_kernel_trials *trials = calloc(1, sizeof *trials);
    if (trials == NULL)
        return fcl_device_fail(device, FCL_OUT_OF_MEMORY, "no memory for trials");
    trials->device = device;
    const enum fcl_status status = make(trials, spec);
    *created = trials;
    if (status != FCL_OK)
        fcl_kernel_trials_destroy(created);
    return status;
}

void fcl_kernel_trials_destroy(fcl_kernel_trials **trials)
{
    if (trials == NULL || *trials == NULL)
        return;
    struct fcl_kernel_trials *t = *trials;
    for (int i = 0; i < FCL_TRIALS_KEPT; i++)
        fcl_program_destroy(&t->kept[i].program);
    for (size_t i = 0; t->buffers != NULL && i < t->form.spec.argument_count; i++)
        fcl_kernel_buffer_free(&t->buffers[i]);
    if (t->queue != NULL)
        clReleaseCommandQueue(t->queue);
    free(t->buffers);
    free(t->copy);
    fcl_kernel_form_free(&t->form);
    free(t);
    *trials = NULL;
}

struct fcl_evaluator fcl_kernel_trials_evaluator(fcl_kernel_trials *trials)
{
    return (struct fcl_evaluator){.user = trials, .evaluate = evaluate, .compare = compare};
}
