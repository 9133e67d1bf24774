// Decoding sequences of different lengths together, with keys and values in pages: a sequence takes
// another page of the pool when its last one is full, wherever that lies. One plan for all steps.
// Every result is computed once more from its definition.
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
static int32_t table[SEQUENCES][ENTRIES], lengths[SEQUENCES] = {1, 30, 75}, pages_taken;

static void fill(float *x, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof *x; i++)
        x[i] = (float)rand() / (float)RAND_MAX - 0.5f;
}

// Gives a sequence the page for its next row, where it has none: from all over the pool.
static void reserve(int s)
{
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

static cl_mem copy(cl_context context, void *data, size_t bytes)
{
    return clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, data, NULL);
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id id;
    fcl_device *device;
    fcl_plan *plan;
    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, NULL))
        return 3;
    cl_context context = clCreateContext(NULL, 1, &id, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, id, 0, NULL);
    const struct fcl_problem problem =
        fcl_problem(.batch = SEQUENCES, .heads_q = HEADS, .heads_kv = 1, .q_len = 1,
                    .k_len = ENTRIES * PAGE, .head_dim_qk = DIM, .page = PAGE);
    if (fcl_device_create(context, id, NULL, &device) ||
        fcl_plan_create(device, &problem, NULL, &plan)) // all that is ever compiled
        return 5;
    for (int s = 0; s < SEQUENCES; s++) // the prompts
        for (int length = lengths[s], i = lengths[s] = 0; i < length; i++, lengths[s]++)
            reserve(s);
    fill(keys[0][0], sizeof keys); // rows that no step has reached count as not there
    fill(values[0][0], sizeof values);
    struct fcl_attention_args args = {.struct_size = sizeof args,
                                      .shape = {SEQUENCES, HEADS, 1, 1, ENTRIES * PAGE},
                                      .q = {.buffer = copy(context, queries, sizeof queries)},
                                      .k = {.buffer = copy(context, keys, sizeof keys)},
                                      .v = {.buffer = copy(context, values, sizeof values)},
                                      .o = {.buffer = copy(context, found, sizeof found)},
                                      .used_k = copy(context, lengths, sizeof lengths),
                                      .table = copy(context, table, sizeof table),
                                      .table_entries = ENTRIES,
                                      .page_count = PAGES};
    size_t bytes = 0;
    fcl_plan_workspace_size(plan, &args.shape, &bytes);
    args.workspace = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes + 1, NULL, NULL);
    double worst = 0;
    int failed = 0;
    for (int step = 0; step < STEPS && !failed; step++) {
        for (int s = 0; s < SEQUENCES; s++, lengths[s - 1]++)
            reserve(s);
        fill(queries[0][0], sizeof queries);
        clEnqueueWriteBuffer(queue, args.q.buffer, 0, 0, sizeof queries, queries, 0, NULL, NULL);
        clEnqueueWriteBuffer(queue, args.used_k, 0, 0, sizeof lengths, lengths, 0, NULL, NULL);
        clEnqueueWriteBuffer(queue, args.table, 0, 0, sizeof table, table, 0, NULL, NULL);
        failed =
            fcl_attention_enqueue(plan, queue, &args, 0, NULL, NULL) ||
            clEnqueueReadBuffer(queue, args.o.buffer, 1, 0, sizeof found, found, 0, NULL, NULL);
        worst = fmax(worst, compare());
    }
    printf("one plan, %d steps, %d pages: largest error %.1e\n", STEPS, pages_taken, worst);
    fcl_plan_destroy(&plan);
    fcl_device_destroy(&device);
    return failed || !(worst < 1e-5); // the rest ends with the process
}
