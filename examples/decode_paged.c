// Decoding sequences of different lengths together, keys and values in pages: a sequence takes
// another one of the pool when its last is full. Every result is computed once more.
#include <flashcl/flashcl.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SEQUENCES 3
#define HEADS 4 // over one key head
#define DIM 64
#define PAGE 16
#define PAGES 32  // of the pool
#define ENTRIES 8 // pages that a sequence can have
#define STEPS 40

static float keys[PAGES][PAGE][DIM], values[PAGES][PAGE][DIM];
static float queries[SEQUENCES][HEADS][DIM], found[SEQUENCES][HEADS][DIM];
static int32_t table[SEQUENCES][ENTRIES], lengths[SEQUENCES], pages_taken;

static void fill(float *x, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof *x; i++)
        x[i] = (float)rand() / (float)RAND_MAX - 0.5f;
}

// Makes room for more rows of a sequence, in pages from all over the pool.
static void append(int s, int rows)
{
    for (int end = lengths[s] + rows; lengths[s] < end; lengths[s]++)
        if (lengths[s] % PAGE == 0)
            table[s][lengths[s] / PAGE] = 7 * pages_taken++ % PAGES;
}

// The largest difference from the definition.
static double compare(void)
{
    double worst = 0;
    for (int row = 0; row < SEQUENCES * HEADS; row++) {
        const int s = row / HEADS, h = row % HEADS;
        double sum = 0, expected[DIM] = {0};
        for (int j = 0; j < lengths[s]; j++) {
            const int page = table[s][j / PAGE];
            double score = 0;
            for (int d = 0; d < DIM; d++)
                score += (double)queries[s][h][d] * (double)keys[page][j % PAGE][d];
            const double weight = exp(score / sqrt(DIM)); // scores are small
            sum += weight;
            for (int d = 0; d < DIM; d++)
                expected[d] += weight * (double)values[page][j % PAGE][d];
        }
        for (int d = 0; d < DIM; d++)
            worst = fmax(worst, fabs(expected[d] / sum - (double)found[s][h][d]));
    }
    return worst;
}

// One more row for each sequence, and what one query a head then sees.
static int step(fcl_plan *plan, cl_command_queue queue, const struct fcl_attention_args *args)
{
    for (int s = 0; s < SEQUENCES; s++)
        append(s, 1);
    fill(queries[0][0], sizeof queries);
    clEnqueueWriteBuffer(queue, args->q.buffer, 0, 0, sizeof queries, queries, 0, NULL, NULL);
    clEnqueueWriteBuffer(queue, args->used_k, 0, 0, sizeof lengths, lengths, 0, NULL, NULL);
    clEnqueueWriteBuffer(queue, args->table, 0, 0, sizeof table, table, 0, NULL, NULL);
    return fcl_attention_enqueue(plan, queue, args, 0, NULL, NULL) ||
           clEnqueueReadBuffer(queue, args->o.buffer, 1, 0, sizeof found, found, 0, NULL, NULL);
}

static cl_mem filled(cl_context context, float *data, size_t bytes)
{
    fill(data, bytes);
    return clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, data, NULL);
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
    if (fcl_problem_parse("fwd b3 h4/1 q1 k128 d64 page=16", &problem, NULL, 0) ||
        fcl_device_create(context, id, NULL, &device) ||
        fcl_plan_create(device, &problem, NULL, &plan)) // all that is ever compiled
        return 5;
    for (int s = 0; s < SEQUENCES; s++)
        append(s, 1 + 37 * s); // the prompts
    struct fcl_attention_args args = {
        .struct_size = sizeof args,
        .shape = {SEQUENCES, HEADS, 1, 1, ENTRIES * PAGE},
        .q = {.buffer = filled(context, queries[0][0], sizeof queries)},
        .k = {.buffer = filled(context, keys[0][0], sizeof keys)},
        .v = {.buffer = filled(context, values[0][0], sizeof values)},
        .o = {.buffer = filled(context, found[0][0], sizeof found)},
        .used_k = clCreateBuffer(context, 0, sizeof lengths, NULL, NULL),
        .table = clCreateBuffer(context, 0, sizeof table, NULL, NULL),
        .table_entries = ENTRIES,
        .page_count = PAGES};
    size_t bytes = 0;
    fcl_plan_workspace_size(plan, &args.shape, &bytes);
    args.workspace = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes + 1, NULL, NULL);
    double worst = 0;
    int failed = 0;
    for (int i = 0; i < STEPS && !failed; i++, worst = fmax(worst, compare()))
        failed = step(plan, queue, &args);
    printf("one plan, %d steps, %d pages: largest error %.1e\n", STEPS, pages_taken, worst);
    fcl_plan_destroy(&plan);
    fcl_device_destroy(&device);
    return failed || !(worst < 1e-5); // the rest ends with the process
}
