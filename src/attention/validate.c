// Checks metadata in device memory.
#include <stdlib.h>

#include "plan.h"
#include "problem.h"

// Reads int32 numbers into memory from malloc; NULL where there is no buffer.
static enum fcl_status read_numbers(const struct fcl_plan *plan, cl_command_queue queue,
                                    cl_mem buffer, size_t offset, uint64_t end, int32_t **numbers)
{
    if (!buffer || end <= offset)
        return FCL_OK;
    *numbers = malloc((size_t)end - offset);
    if (!*numbers)
        return FCL_OUT_OF_MEMORY;
    const cl_int code = clEnqueueReadBuffer(queue, buffer, CL_TRUE, offset, (size_t)end - offset,
                                            *numbers, 0, NULL, NULL);
    return code ? fcl_cl_fail(plan->device, code, "clEnqueueReadBuffer") : FCL_OK;
}

static enum fcl_status read_metadata(const struct fcl_plan *plan, cl_command_queue queue,
                                     const struct fcl_attention_args *a,
                                     const struct fcl_launch *launch, struct fcl_sequences *s)
{
    const struct {
        cl_mem buffer;
        size_t offset;
        uint64_t end;
        int32_t **numbers;
    } arrays[] = {{a->cu_q, a->cu_q_offset, launch->cu_q_end, &s->cu_q},
                  {a->cu_k, a->cu_k_offset, launch->cu_k_end, &s->cu_k},
                  {a->used_q, a->used_q_offset, launch->used_q_end, &s->used_q},
                  {a->used_k, a->used_k_offset, launch->used_k_end, &s->used_k},
                  {a->table, a->table_offset, launch->table_end, &s->table}};
    enum fcl_status status = FCL_OK;
    for (size_t i = 0; i < FCL_COUNT(arrays) && !status; i++)
        status = read_numbers(plan, queue, arrays[i].buffer, arrays[i].offset, arrays[i].end,
                              arrays[i].numbers);
    s->total_q = a->total_q;
    s->total_k = a->total_k;
    s->table_stride = a->table_stride;
    s->table_entries = a->table_entries;
    s->page_count = a->page_count;
    s->page = a->page;
    return status;
}

enum fcl_status fcl_attention_validate(const fcl_plan *plan, cl_command_queue queue,
                                       const struct fcl_attention_args *args)
{
    struct fcl_attention_args today;
    struct fcl_launch launch;
    struct fcl_sequences sequences = {0};
    char reason[256];
    enum fcl_status status = fcl_plan_check(plan, queue, args, &today, &launch);
    if (status || !fcl_problem_has_sequences(&plan->problem) || !today.shape.batch ||
        !today.shape.q_len)
        return status;
    struct fcl_problem problem = plan->problem;
    problem.batch = today.shape.batch;
    problem.q_len = today.shape.q_len;
    problem.k_len = today.shape.k_len;
    status = read_metadata(plan, queue, &today, &launch, &sequences);
    if (!status) {
        status = fcl_sequences_validate(&problem, &sequences, reason, sizeof reason);
        if (status)
            status = fcl_device_fail(plan->device, status, "%s", reason);
    }
    fcl_sequences_free(&sequences);
    return status;
}
