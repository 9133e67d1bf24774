// The simple call: plans are made at first use and kept with the device.
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "problem.h"

// The plans of a device, one for each kind of problem.
struct kept_plan {
    struct kept_plan *next;
    struct fcl_plan *plan;
};

static void destroy_kept(void *client)
{
    struct kept_plan *kept = client;
    while (kept) {
        struct kept_plan *next = kept->next;
        fcl_plan_destroy(&kept->plan);
        free(kept);
        kept = next;
    }
}

// Plans are only ever added while the device lives, so that a found one stays valid without the
// lock.
static struct fcl_plan *find_kept(fcl_device *device, const struct fcl_problem *problem)
{
    struct fcl_plan *found = NULL;
    pthread_mutex_lock(&device->lock);
    for (struct kept_plan *kept = device->client; kept && !found; kept = kept->next)
        if (fcl_problem_same_kernel(&kept->plan->problem, problem))
            found = kept->plan;
    pthread_mutex_unlock(&device->lock);
    return found;
}

static enum fcl_status keep_plan(fcl_device *device, struct fcl_plan *plan)
{
    struct kept_plan *kept = malloc(sizeof *kept);
    if (!kept)
        return FCL_OUT_OF_MEMORY;
    kept->plan = plan;
    pthread_mutex_lock(&device->lock);
    kept->next = device->client;
    device->client = kept;
    device->client_destroy = destroy_kept;
    pthread_mutex_unlock(&device->lock);
    return FCL_OK;
}

// Two threads that need the same new kind at once both make a plan; both are kept and either
// serves.
static enum fcl_status find_plan(fcl_device *device, const struct fcl_problem *problem,
                                 struct fcl_plan **plan)
{
    *plan = find_kept(device, problem);
    if (*plan)
        return FCL_OK;
    enum fcl_status status = fcl_plan_create(device, problem, NULL, plan);
    if (!status)
        status = keep_plan(device, *plan);
    if (status)
        fcl_plan_destroy(plan);
    return status;
}

// The simple call has no place for a workspace, so it makes one for each launch that needs it.
static enum fcl_status make_workspace(const struct fcl_plan *plan, struct fcl_attention_args *args)
{
    size_t bytes;
    cl_int code = CL_SUCCESS;
    const enum fcl_status status = fcl_plan_workspace_size(plan, &args->shape, &bytes);
    if (status || !bytes)
        return status;
    args->workspace = clCreateBuffer(plan->device->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    return code ? fcl_cl_fail(plan->device, code, "clCreateBuffer") : FCL_OK;
}

// What a problem needs beside Q, K, V and O; NULL: nothing.
static const char *missing_argument(const struct fcl_problem *problem)
{
    if (problem->lse || problem->pass == FCL_PASS_STATISTICS)
        return "LSE";
    if (problem->sink)
        return "sinks";
    if (problem->alibi == FCL_ALIBI_GIVEN)
        return "slopes";
    if (fcl_problem_has_sequences(problem))
        return "lengths of sequences";
    if (problem->bias)
        return "a bias";
    return problem->visible ? "a mask tensor" : NULL;
}

enum fcl_status fcl_attention_run(fcl_device *device, cl_command_queue queue, cl_mem q, cl_mem k,
                                  cl_mem v, cl_mem o, const struct fcl_problem *problem,
                                  cl_event *event)
{
    struct fcl_problem full = {0};
    struct fcl_plan *plan;
    char reason[256];
    if (!device)
        return FCL_INVALID_ARGUMENT;
    enum fcl_status status =
        problem ? fcl_problem_complete(problem, &full, reason, sizeof reason)
                : fcl_fail(reason, sizeof reason, FCL_INVALID_ARGUMENT, "problem is NULL");
    const char *more = missing_argument(&full);
    if (!status && more)
        status = fcl_fail(reason, sizeof reason, FCL_INVALID_ARGUMENT,
                          "the simple call has no place for %s; use a plan", more);
    if (status)
        return fcl_device_fail(device, status, "%s", reason);
    status = find_plan(device, &full, &plan);
    if (status)
        return status;
    struct fcl_attention_args args = {
        .struct_size = sizeof args,
        .shape = {full.batch, full.heads_q, full.heads_kv, full.q_len, full.k_len},
        .q = {.buffer = q},
        .k = {.buffer = k},
        .v = {.buffer = v},
        .o = {.buffer = o},
        .window = full.window,
        .window_left = full.window_left,
        .window_right = full.window_right,
        .softcap = (float)full.softcap};
    status = make_workspace(plan, &args);
    if (!status)
        status = fcl_attention_enqueue(plan, queue, &args, 0, NULL, event);
    if (args.workspace)
        clReleaseMemObject(args.workspace); // OpenCL keeps it until the launch has ended
    return status;
}
