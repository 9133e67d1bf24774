// Decoding: one plan for all steps over a growing cache of keys and values. Each step appends a row
// to it and asks with one query a head; the last asks with four at once, as speculative decoding
// does. Every result is computed once more from its definition.
#include <flashcl/flashcl.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define HEADS 6
#define HEADS_KV 2 // three query heads share a key head
#define DIM 64
#define CAPACITY 640 // rows of the cache
#define PROMPT 600   // of them there before the first step
#define STEPS 24     // of one query
#define DRAFT 4      // queries of the last step

static float keys[HEADS_KV][CAPACITY][DIM], values[HEADS_KV][CAPACITY][DIM];
static float queries[HEADS * DRAFT * DIM], found[HEADS * DRAFT * DIM]; // [head][query][dim]
static cl_mem q, k, v, o;

static void fill(float *x, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof *x; i++)
        x[i] = (float)rand() / (float)RAND_MAX - 0.5f;
}

// The largest difference from the definition: query i of `count` sees all keys but the last
// count - 1 - i.
static double compare(int count, int k_len)
{
    double worst = 0;
    for (int row = 0; row < HEADS * count; row++) {
        const int seen = k_len - count + 1 + row % count;
        const int kv = row / count / (HEADS / HEADS_KV);
        double sum = 0, expected[DIM] = {0};
        for (int j = 0; j < seen; j++) {
            double score = 0;
            for (int d = 0; d < DIM; d++)
                score += (double)queries[row * DIM + d] * (double)keys[kv][j][d];
            const double weight = exp(score / sqrt(DIM)); // scores are small
            sum += weight;
            for (int d = 0; d < DIM; d++)
                expected[d] += weight * (double)values[kv][j][d];
        }
        for (int d = 0; d < DIM; d++)
            worst = fmax(worst, fabs(expected[d] / sum - (double)found[row * DIM + d]));
    }
    return worst;
}

// Copies rows [from, to) of each head to the cache on the device.
static void append(cl_command_queue queue, int from, int to)
{
    for (int h = 0; h < HEADS_KV; h++) {
        const size_t at = (size_t)(h * CAPACITY + from) * sizeof keys[0][0];
        const size_t bytes = (size_t)(to - from) * sizeof keys[0][0];
        clEnqueueWriteBuffer(queue, k, CL_FALSE, at, bytes, keys[h][from], 0, NULL, NULL);
        clEnqueueWriteBuffer(queue, v, CL_FALSE, at, bytes, values[h][from], 0, NULL, NULL);
    }
}

// One step. The cache has room behind each head's rows: strides say where heads begin.
static int ask(fcl_plan *plan, cl_command_queue queue, cl_mem workspace, int count, int k_len)
{
    struct fcl_attention_args args = {.struct_size = sizeof args,
                                      .shape = {1, HEADS, HEADS_KV, count, k_len},
                                      .q = {.buffer = q},
                                      .k = {k, 0, {0, CAPACITY * DIM, DIM, 1}},
                                      .v = {v, 0, {0, CAPACITY * DIM, DIM, 1}},
                                      .o = {.buffer = o},
                                      .workspace = workspace};
    clEnqueueWriteBuffer(queue, q, CL_FALSE, 0, sizeof queries, queries, 0, NULL, NULL);
    return fcl_attention_enqueue(plan, queue, &args, 0, NULL, NULL) ||
           clEnqueueReadBuffer(queue, o, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL);
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id id;
    struct fcl_problem problem;
    fcl_device *device;
    fcl_plan *plan;
    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, NULL))
        return 3;
    cl_context context = clCreateContext(NULL, 1, &id, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, id, 0, NULL);
    if (fcl_problem_parse("fwd h6/2 q1 k640 d64 causal-br", &problem, NULL, 0) ||
        fcl_device_create(context, id, NULL, &device) ||
        fcl_plan_create(device, &problem, NULL, &plan)) // all that is ever compiled
        return 5;
    size_t bytes = 0; // of workspace, the most that any step needs
    fcl_plan_workspace_size(plan, &(struct fcl_shape){1, HEADS, HEADS_KV, DRAFT, CAPACITY}, &bytes);
    cl_mem workspace = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes + 1, NULL, NULL);
    k = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof keys, NULL, NULL);
    v = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof values, NULL, NULL);
    q = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof queries, NULL, NULL);
    o = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof found, NULL, NULL);
    fill(keys[0][0], sizeof keys);
    fill(values[0][0], sizeof values);
    append(queue, 0, PROMPT);
    double worst = 0;
    int failed = 0, k_len = PROMPT;
    for (int step = 0; step <= STEPS && !failed; step++) {
        const int count = step == STEPS ? DRAFT : 1;
        append(queue, k_len, k_len + count);
        k_len += count;
        fill(queries, sizeof queries);
        failed = ask(plan, queue, workspace, count, k_len);
        worst = fmax(worst, compare(count, k_len));
    }
    printf("one plan, %d steps, %d keys: largest error %.1e\n", STEPS + 1, k_len, worst);
    fcl_plan_destroy(&plan);
    fcl_device_destroy(&device);
    return failed || !(worst < 1e-5); // the rest ends with the process
}
