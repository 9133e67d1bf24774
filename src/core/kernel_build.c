// Builds points of a user's kernel, within the device's limits.
#include <stdint.h>

#include "kernel_trial.h"

// ---- limits

static enum fcl_status check_group(const struct fcl_kernel_trial *trial)
{
    const struct fcl_grid *grid = &trial->grid;
    const uint64_t most = trial->trials->device->caps.group_size;
    for (int i = 0; i < grid->dimensions && grid->has_local; i++)
        if (grid->local[i] > trial->trials->item_sizes[i])
            return FCL_TRIAL_FAIL(trial, FCL_UNSUPPORTED,
                                  "a work-group of %zu in dimension %d: the device allows %zu",
                                  grid->local[i], i, trial->trials->item_sizes[i]);
    if (grid->group > most)
        return FCL_TRIAL_FAIL(trial, FCL_UNSUPPORTED,
                              "a work-group of %zu work-items: the device allows %llu", grid->group,
                              (unsigned long long)most);
    return FCL_OK;
}

static enum fcl_status check_local(const struct fcl_kernel_trial *trial, size_t bytes)
{
    const uint64_t most = trial->trials->device->caps.local_bytes;
    return bytes <= most ? FCL_OK
                         : FCL_TRIAL_FAIL(trial, FCL_UNSUPPORTED,
                                          "%zu bytes of local memory: the device allows %llu",
                                          bytes, (unsigned long long)most);
}

// What is known of a point before its build.
enum fcl_status fcl_kernel_trial_plan(struct fcl_kernel_trial *trial)
{
    const struct fcl_kernel_form *form = &trial->trials->form;
    char *reason = trial->evaluation->reason;
    const size_t size = sizeof trial->evaluation->reason;
    enum fcl_status status =
        fcl_kernel_grid(form, &form->grid, trial->point, &trial->grid, reason, size);
    for (size_t i = 0; i < form->spec.argument_count && status == FCL_OK; i++) {
        size_t bytes;
        if (form->spec.arguments[i].kind != FCL_KERNEL_LOCAL)
            continue;
        status = fcl_kernel_local(form, i, trial->point, &bytes, reason, size);
        if (status == FCL_OK)
            trial->local_bytes += bytes;
    }
    if (status == FCL_OK)
        status = check_group(trial);
    return status == FCL_OK ? check_local(trial, trial->local_bytes) : status;
}

// Drivers report a too small limit for kernels that state their work-group themselves; the launch
// tells for those.
static int states_group(const struct fcl_kernel_trial *trial)
{
    size_t stated[3] = {0, 0, 0};
    clGetKernelWorkGroupInfo(trial->program.kernels[0], trial->trials->device->id,
                             CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof stated, stated, NULL);
    return stated[0] != 0;
}

enum fcl_status fcl_kernel_trial_check(const struct fcl_kernel_trial *trial)
{
    const struct fcl_kernel_spec *spec = &trial->trials->form.spec;
    cl_uint count = 0;
    const cl_int code =
        clGetKernelInfo(trial->program.kernels[0], CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL);
    if (code == CL_SUCCESS && count != spec->argument_count)
        return FCL_TRIAL_FAIL(trial, FCL_INVALID_ARGUMENT,
                              "kernel %s takes %u arguments, %zu are given", spec->name,
                              (unsigned)count, spec->argument_count);
    if (trial->grid.group > trial->program.group_limit && !states_group(trial))
        return FCL_TRIAL_FAIL(trial, FCL_UNSUPPORTED,
                              "a work-group of %zu work-items: the built kernel allows %zu",
                              trial->grid.group, trial->program.group_limit);
    return check_local(trial, trial->local_bytes + (size_t)trial->program.local_bytes);
}

void fcl_kernel_trials_limits(struct fcl_kernel_trials *trials)
{
    size_t sizes[16] = {0};
    clGetDeviceInfo(trials->device->id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, NULL);
    for (int i = 0; i < 3; i++) // 0: the driver does not tell
        trials->item_sizes[i] = sizes[i] != 0 ? sizes[i] : SIZE_MAX;
}

// ---- build

enum fcl_status fcl_kernel_trial_build(struct fcl_kernel_trial *trial,
                                       const struct fcl_kernel_reference *reference)
{
    const struct fcl_kernel_spec *spec = &trial->trials->form.spec;
    const char *source =
        reference != NULL && reference->source != NULL ? reference->source : spec->source;
    const char *options = reference != NULL ? reference->options : spec->options;
    struct fcl_text text = {0};
    fcl_kernel_add_source(spec, source, trial->point, &text);
    if (text.failed)
        return FCL_TRIAL_FAIL(trial, FCL_OUT_OF_MEMORY, "no memory for the source");
    const struct fcl_program_request request = {
        .label = reference != NULL ? reference->name : spec->name,
        .source = text.data,
        .flags = options != NULL ? options : "",
        .kernels = {reference != NULL ? reference->name : spec->name},
        .reason = trial->evaluation->reason,
        .reason_size = sizeof trial->evaluation->reason,
        .quiet = reference == NULL,
        .read_only = !trial->keep};
    const enum fcl_status status =
        fcl_program_create(trial->trials->device, &request, &trial->program);
    trial->evaluation->build_ms = trial->program.build_ms;
    fcl_text_free(&text);
    return status;
}

enum fcl_status fcl_kernel_trial_make(struct fcl_kernel_trial *trial)
{
    enum fcl_status status = fcl_kernel_trial_plan(trial);
    if (status == FCL_OK)
        status = fcl_kernel_trial_build(trial, NULL);
    return status == FCL_OK ? fcl_kernel_trial_check(trial) : status;
}

void fcl_kernel_build(fcl_device *device, const struct fcl_kernel_spec *spec, uint64_t point,
                      int keep, struct fcl_evaluation *evaluation)
{
    struct fcl_kernel_trials trials = {.device = device};
    struct fcl_kernel_trial trial = {
        .trials = &trials, .point = point, .keep = keep, .evaluation = evaluation};
    if (evaluation == NULL)
        return;
    *evaluation = (struct fcl_evaluation){.status = FCL_INVALID_ARGUMENT};
    if (device == NULL) {
        FCL_TRIAL_FAIL(&trial, FCL_INVALID_ARGUMENT, "device is NULL");
        return;
    }
    evaluation->status =
        fcl_kernel_form_create(spec, &trials.form, evaluation->reason, sizeof evaluation->reason);
    if (evaluation->status != FCL_OK)
        return;
    fcl_kernel_trials_limits(&trials);
    evaluation->status = fcl_kernel_trial_make(&trial);
    fcl_program_destroy(&trial.program);
    fcl_kernel_form_free(&trials.form);
}
