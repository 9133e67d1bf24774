// The hot path: from valid arguments to enqueued kernels. Nothing here allocates, waits or
// compiles.
#include <string.h>

#include "core/argument.h"
#include "plan.h"
#include "problem.h"
#include "space.h"

struct kernel_argument {
    size_t size;
    const void *value;
};

// One kernel of a launch.
struct stage {
    cl_kernel kernel;
    uint64_t groups;
    size_t local; // work-items of a group
    struct kernel_argument arguments[20];
    cl_uint count;
};

#define BUFFER(mem)            \
    {                          \
        sizeof(cl_mem), &(mem) \
    }

static enum fcl_status check_buffers(const struct fcl_plan *plan,
                                     const struct fcl_attention_args *args,
                                     const struct fcl_launch *launch)
{
    const struct {
        const char *name;
        cl_mem buffer;
        uint64_t end;
    } buffers[] = {
        {"q", args->q.buffer, launch->q_end},
        {"k", args->k.buffer, launch->k_end},
        {"v", args->v.buffer, launch->v_end},
        {"o", args->o.buffer, launch->o_end},
        {"lse", args->lse, launch->lse_end},
        {"sinks", args->sinks, launch->sinks_end},
        {"cu_q", args->cu_q, launch->cu_q_end},
        {"cu_k", args->cu_k, launch->cu_k_end},
        {"used_q", args->used_q, launch->used_q_end},
        {"used_k", args->used_k, launch->used_k_end},
        {"table", args->table, launch->table_end},
        {"slopes", args->slopes, launch->slopes_end},
        {"bias", args->bias.buffer, launch->bias_end},
        {"visible", args->visible.buffer, launch->visible_end},
        {"workspace", args->workspace,
         plan->implementation == FCL_UNFUSED ? launch->score_bytes
         : launch->state_bytes               ? launch->state_start + launch->state_bytes
                                             : launch->part_bytes},
    };
    for (size_t i = 0; i < FCL_COUNT(buffers); i++) {
        const enum fcl_status status =
            fcl_buffer_check(plan->device, buffers[i].name, buffers[i].buffer, buffers[i].end);
        if (status)
            return status;
    }
    return FCL_OK;
}

// Why an OpenCL call failed, to be logged once the lock is released.
struct failure {
    cl_int code;
    const char *call;
};

static struct failure enqueue_stage(cl_command_queue queue, const struct stage *stage,
                                    cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    for (cl_uint i = 0; i < stage->count; i++) {
        const cl_int code =
            clSetKernelArg(stage->kernel, i, stage->arguments[i].size, stage->arguments[i].value);
        if (code)
            return (struct failure){code, "clSetKernelArg"};
    }
    const size_t global = (size_t)stage->groups * stage->local;
    const cl_int code =
        clEnqueueNDRangeKernel(queue, stage->kernel, 1, NULL, &global, &stage->local, wait_count,
                               wait_count ? wait : NULL, event);
    return (struct failure){code, "clEnqueueNDRangeKernel"};
}

// A queue in order needs no events between the stages; each would cost some microseconds.
static int runs_in_order(cl_command_queue queue)
{
    cl_command_queue_properties properties = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    return !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

// Enqueues the stages one after the other; each waits for the one before. Called with the plan's
// lock held.
static struct failure enqueue_stages(cl_command_queue queue, const struct stage *stages, int count,
                                     cl_uint wait_count, const cl_event *wait, cl_event *first,
                                     cl_event *last)
{
    const int chained = count > 1 && !runs_in_order(queue);
    cl_event before = NULL;
    struct failure failure = {0};
    for (int i = 0; i < count && !failure.code; i++) {
        cl_event event = NULL;
        const int wanted = (i < count - 1 ? chained : last != NULL) || (first && i == 0);
        const cl_uint waits = i == 0 ? wait_count : chained ? 1 : 0;
        failure =
            enqueue_stage(queue, &stages[i], waits, i ? &before : wait, wanted ? &event : NULL);
        if (before)
            clReleaseEvent(before);
        before = event;
        if (first && i == 0 && event && !clRetainEvent(event))
            *first = event;
    }
    if (last && !failure.code)
        *last = before;
    else if (before)
        clReleaseEvent(before);
    return failure;
}

#define STAGES FCL_PROGRAM_KERNELS

static void add_argument(struct stage *stage, size_t size, const void *value)
{
    stage->arguments[stage->count++] = (struct kernel_argument){size, value};
}

static void add_buffer(struct stage *stage, const cl_mem *buffer, int present)
{
    if (present)
        add_argument(stage, sizeof *buffer, buffer);
}

// What the problem adds to scores, in the order of the kernels' arguments.
static void add_buffers_of_scores(struct stage *stage, const struct fcl_problem *problem,
                                  const struct fcl_attention_args *args)
{
    add_buffer(stage, &args->slopes, problem->alibi == FCL_ALIBI_GIVEN);
    add_buffer(stage, &args->bias.buffer, problem->bias != FCL_BIAS_NONE);
    add_buffer(stage, &args->visible.buffer, problem->visible);
}

// The metadata of sequences are the last arguments of a kernel.
static void add_metadata(const struct fcl_attention_args *args, struct stage *stage)
{
    const struct kernel_argument metadata[] = {BUFFER(args->cu_q), BUFFER(args->cu_k),
                                               BUFFER(args->used_q), BUFFER(args->used_k),
                                               BUFFER(args->table)};
    memcpy(stage->arguments + stage->count, metadata, sizeof metadata);
    stage->count += FCL_COUNT(metadata);
}

// Where a kernel that joins its partial results puts the whole.
static void add_whole(struct stage *stage, const struct fcl_attention_args *args,
                      const struct fcl_launch *launch)
{
    add_argument(stage, sizeof launch->args, &launch->args);
    add_buffer(stage, &args->o.buffer, 1);
    add_buffer(stage, &args->lse, 1);
    add_argument(stage, sizeof launch->mark, &launch->mark);
}

// The stages of a fused launch: the kernel; after it, splits are joined unless the kernel does it.
static int fused_stages(const struct fcl_plan *plan, const struct fcl_attention_args *args,
                        const struct fcl_launch *launch, struct stage stages[STAGES])
{
    const cl_kernel *kernels = plan->program.kernels;
    const size_t local = fcl_config_group_size(&plan->config);
    const int split = launch->split;
    const int sequences = fcl_problem_has_sequences(&plan->problem);
    stages[0] = (struct stage){kernels[0],
                               launch->groups,
                               local,
                               {BUFFER(args->q.buffer),
                                BUFFER(args->k.buffer),
                                BUFFER(args->v.buffer),
                                {sizeof(cl_mem), split ? &args->workspace : &args->o.buffer},
                                {sizeof(cl_mem), split ? &args->workspace : &args->lse},
                                {sizeof launch->args, split ? &launch->part_args : &launch->args}},
                               .count = 6};
    if (fcl_config_joins(&plan->config))
        add_whole(&stages[0], args, launch);
    if (launch->state_bytes) {
        add_buffer(&stages[0], &args->workspace, 1);
        add_argument(&stages[0], sizeof launch->mark, &launch->mark);
    }
    add_buffer(&stages[0], &args->sinks, plan->problem.sink);
    add_buffers_of_scores(&stages[0], &plan->problem, args);
    if (sequences)
        add_metadata(args, &stages[0]);
    if (!launch->combine_groups)
        return 1;
    stages[1] = (struct stage){kernels[1],
                               launch->combine_groups,
                               FCL_COMBINE_GROUP,
                               {BUFFER(args->workspace),
                                BUFFER(args->o.buffer),
                                BUFFER(args->lse),
                                {sizeof launch->args, &launch->args}},
                               .count = 4};
    if (sequences)
        add_metadata(args, &stages[1]);
    return 2;
}

static int unfused_stages(const struct fcl_plan *plan, const struct fcl_attention_args *args,
                          const struct fcl_launch *launch, struct stage stages[STAGES])
{
    const struct kernel_argument bytes = {sizeof launch->args, &launch->args};
    const cl_kernel *kernels = plan->program.kernels;
    const size_t local = fcl_config_group_size(&plan->config);
    stages[0] = (struct stage){
        kernels[0],
        launch->score_groups,
        local,
        {BUFFER(args->q.buffer), BUFFER(args->k.buffer), BUFFER(args->workspace), bytes},
        .count = 4};
    add_buffers_of_scores(&stages[0], &plan->problem, args);
    stages[1] =
        (struct stage){kernels[1],
                       launch->row_groups,
                       local,
                       {BUFFER(args->workspace), BUFFER(args->lse), bytes, BUFFER(args->sinks)},
                       .count = plan->problem.sink ? 4 : 3};
    stages[2] = (struct stage){
        kernels[2],
        launch->groups,
        local,
        {BUFFER(args->workspace), BUFFER(args->v.buffer), BUFFER(args->o.buffer), bytes},
        .count = 4};
    return 3;
}

// A launch without work still gives events that complete after the wait list.
static enum fcl_status enqueue_nothing(const struct fcl_plan *plan, cl_command_queue queue,
                                       cl_uint wait_count, const cl_event *wait, cl_event *first,
                                       cl_event *last)
{
    cl_event event = NULL;
    const cl_int code =
        clEnqueueMarkerWithWaitList(queue, wait_count, wait_count ? wait : NULL, &event);
    if (code)
        return fcl_cl_fail(plan->device, code, "clEnqueueMarkerWithWaitList");
    if (first && !clRetainEvent(event))
        *first = event;
    if (last)
        *last = event;
    else
        clReleaseEvent(event);
    return FCL_OK;
}

enum fcl_status fcl_plan_check(const struct fcl_plan *plan, cl_command_queue queue,
                               const struct fcl_attention_args *args,
                               struct fcl_attention_args *today, struct fcl_launch *launch)
{
    char reason[256];
    if (!plan)
        return FCL_INVALID_ARGUMENT;
    if (!queue || !args)
        return fcl_device_fail(plan->device, FCL_INVALID_ARGUMENT, "%s is NULL",
                               queue ? "args" : "queue");
    if (!fcl_struct_read(today, sizeof *today, args))
        return fcl_device_fail(plan->device, FCL_INVALID_ARGUMENT,
                               "args.struct_size is %zu, allowed are 8 to %zu", args->struct_size,
                               sizeof *today);
    enum fcl_status status = fcl_queue_check(plan->device, queue);
    if (status)
        return status;
    status = fcl_launch_prepare(&plan->problem, &plan->config, fcl_device_caps(plan->device), today,
                                launch, reason, sizeof reason);
    if (!status && plan->implementation == FCL_UNFUSED && launch->score_groups > UINT32_MAX)
        status = fcl_fail(reason, sizeof reason, FCL_UNSUPPORTED,
                          "the shape needs %llu work-groups, at most %u are possible",
                          (unsigned long long)launch->score_groups, UINT32_MAX);
    if (status)
        return fcl_device_fail(plan->device, status, "%s", reason);
    return check_buffers(plan, today, launch);
}

enum fcl_status fcl_plan_launch(const struct fcl_plan *plan, cl_command_queue queue,
                                const struct fcl_attention_args *args, cl_uint wait_count,
                                const cl_event *wait, cl_event *first, cl_event *last)
{
    struct fcl_attention_args today;
    struct fcl_launch launch;
    if (plan && wait_count && !wait)
        return fcl_device_fail(plan->device, FCL_INVALID_ARGUMENT,
                               "wait is NULL, but wait_count is %u", wait_count);
    const enum fcl_status status = fcl_plan_check(plan, queue, args, &today, &launch);
    if (status)
        return status;
    if (launch.empty)
        return enqueue_nothing(plan, queue, wait_count, wait, first, last);
    if (fcl_config_joins(&plan->config) || launch.state_bytes)
        launch.mark = fcl_device_mark(plan->device, launch.marks);
    struct stage stages[STAGES];
    const int count = plan->implementation == FCL_UNFUSED
                          ? unfused_stages(plan, &today, &launch, stages)
                          : fused_stages(plan, &today, &launch, stages);
    pthread_mutex_t *lock = (pthread_mutex_t *)&plan->lock; // the one part of a plan that changes
    pthread_mutex_lock(lock);
    const struct failure failure =
        enqueue_stages(queue, stages, count, wait_count, wait, first, last);
    pthread_mutex_unlock(lock);
    return failure.code ? fcl_cl_fail(plan->device, failure.code, failure.call) : FCL_OK;
}

enum fcl_status fcl_attention_enqueue(const fcl_plan *plan, cl_command_queue queue,
                                      const struct fcl_attention_args *args, cl_uint wait_count,
                                      const cl_event *wait, cl_event *event)
{
    return fcl_plan_launch(plan, queue, args, wait_count, wait, NULL, event);
}
