// Not a test but a measurement: what fcl_attention_enqueue costs over a bare clEnqueueNDRangeKernel
// of the same kernel with its arguments already set. Host time of the call alone, the two in turn,
// medians.
#include "cmocka_all.h"

#include <stdio.h>

#include "attention/plan.h"
#include "core/timing.h"
#include "opencl.h"

#define ROUNDS 2000

static double bare(const struct fcl_plan *plan, cl_command_queue queue, size_t groups)
{
    const size_t local = fcl_config_group_size(&plan->config), global = groups * local;
    cl_event event;
    const double start = fcl_now_ms();
    clEnqueueNDRangeKernel(queue, plan->program.kernels[0], 1, NULL, &global, &local, 0, NULL,
                           &event);
    const double end = fcl_now_ms();
    clWaitForEvents(1, &event);
    clReleaseEvent(event);
    return end - start;
}

static double ours(const struct fcl_plan *plan, cl_command_queue queue,
                   const struct fcl_attention_args *args)
{
    cl_event event;
    const double start = fcl_now_ms();
    fcl_attention_enqueue(plan, queue, args, 0, NULL, &event);
    const double end = fcl_now_ms();
    clWaitForEvents(1, &event);
    clReleaseEvent(event);
    return end - start;
}

int main(void)
{
    static double bare_ms[ROUNDS], our_ms[ROUNDS];
    struct test_opencl opencl;
    struct fcl_problem problem;
    struct fcl_plan *plan;
    struct fcl_timing bare_timing = {0}, our_timing = {0};
    if (!test_opencl_open(&opencl, NULL) ||
        fcl_problem_parse("fwd h2 q16 k16 d16", &problem, NULL, 0) ||
        fcl_plan_create(opencl.device, &problem, NULL, &plan))
        return 1;
    cl_mem buffer = clCreateBuffer(opencl.context, CL_MEM_READ_WRITE, 1 << 16, NULL, NULL);
    struct fcl_attention_args args = {.struct_size = sizeof args, .shape = {1, 2, 2, 16, 16}};
    args.q.buffer = args.k.buffer = args.v.buffer = args.o.buffer = buffer;
    ours(plan, opencl.queue, &args); // sets the arguments that the bare launches use
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 2) // neither is always the second
            our_ms[i] = ours(plan, opencl.queue, &args);
        bare_ms[i] = bare(plan, opencl.queue, 2);
        if (i % 2 == 0)
            our_ms[i] = ours(plan, opencl.queue, &args);
    }
    fcl_timing_summarise(bare_ms, ROUNDS, &bare_timing);
    fcl_timing_summarise(our_ms, ROUNDS, &our_timing);
    printf("bare clEnqueueNDRangeKernel %.2f us, fcl_attention_enqueue %.2f us, added %.2f us "
           "(medians of %d)\n",
           1e3 * bare_timing.median_ms, 1e3 * our_timing.median_ms,
           1e3 * (our_timing.median_ms - bare_timing.median_ms), ROUNDS);
    clReleaseMemObject(buffer);
    fcl_plan_destroy(&plan);
    test_opencl_close(&opencl);
    return 0;
}
