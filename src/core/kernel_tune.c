// Tunes a user's kernel: trials, the tuner's loop, the winner's text.
#include "device.h"

enum fcl_status fcl_kernel_tune(fcl_device *device, const struct fcl_kernel_spec *spec,
                                const struct fcl_tuner_options *options,
                                struct fcl_kernel_result *result)
{
    fcl_kernel_trials *trials;
    char reason[256] = "";
    if (device == NULL || result == NULL)
        return device == NULL ? FCL_INVALID_ARGUMENT
                              : fcl_device_fail(device, FCL_INVALID_ARGUMENT, "result is NULL");
    *result = (struct fcl_kernel_result){.tuner.winner = FCL_NO_POINT};
    enum fcl_status status = fcl_kernel_trials_create(device, spec, &trials);
    if (status != FCL_OK)
        return status;
    const struct fcl_evaluator evaluator = fcl_kernel_trials_evaluator(trials);
    status = fcl_tuner_run(spec->space, &evaluator, options, &result->tuner, reason, sizeof reason);
    fcl_kernel_trials_destroy(&trials);
    if (result->tuner.winner != FCL_NO_POINT)
        fcl_point_format(spec->space, result->tuner.winner, result->winner, sizeof result->winner);
    if (status == FCL_OK || status == FCL_BUDGET_REACHED)
        return status;
    return fcl_device_fail(device, status, "%s", reason);
}
