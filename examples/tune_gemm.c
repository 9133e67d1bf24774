// Tunes kernels/gemm.cl (a path to it, seconds) through tune.h; prints the winner as #define lines.
// With a third word, the path of a wisdom file, later runs find it there and need not tune.
#include <flashcl/flashcl.h>
#include <flashcl/tune.h>

#include <stdio.h>
#include <stdlib.h>

static char source[65536], text[512];

static void show(void *user, enum fcl_log_level level, const char *message)
{
    (void)user, (void)level;
    fprintf(stderr, "%s\n", message);
}

static fcl_space *make_space(void)
{
    static const char *const parameters[][2] = {
        {"M", "256"},      {"N", "256"},        {"K", "256"},    {"BM", "16,32,64"},
        {"TM", "2,4,8"},   {"BN", "32,64,128"}, {"TN", "1,2,4"}, {"BK", "8,16,32"},
        {"UNROLL", "1,4"}, {"STAGE", "0,1"}};
    fcl_space *space = fcl_space_create();
    int failed = 0;
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters && !failed; i++) {
        struct fcl_value *values = NULL;
        size_t count;
        failed = fcl_values_parse(parameters[i][1], &values, &count, text, sizeof text) ||
                 fcl_space_add_parameter(space, parameters[i][0], values, count, text, sizeof text);
        free(values);
    }
    if (failed ||
        fcl_space_add_constraint(space, "16 <= (BM // TM) * (BN // TN) <= 256",
                                 "16 to 256 work-items", text, sizeof text) ||
        fcl_space_add_constraint(space, "STAGE or BK == 8", NULL, text, sizeof text) ||
        fcl_space_enumerate(space, text, sizeof text)) {
        fprintf(stderr, "%s\n", text);
        exit(5);
    }
    return space;
}

#define MATRIX(label, elements) \
    .name = label, .kind = FCL_KERNEL_VECTOR, .type = {FCL_SCALAR_FLOAT, 1}, .count = elements

static enum fcl_status tune(fcl_device *device, const fcl_space *space, double seconds)
{
    const struct fcl_kernel_argument arguments[] = {
        {MATRIX("c", "M * N"), .access = FCL_KERNEL_WRITE},
        {MATRIX("a", "M * K"), .fill = FCL_KERNEL_RANDOM, .high = 1, .seed = 1},
        {MATRIX("b", "K * N"), .fill = FCL_KERNEL_RANDOM, .high = 1, .seed = 2}};
    const struct fcl_kernel_reference reference = {.name = "gemm_reference", .global = {"N", "M"}};
    const struct fcl_kernel_spec spec = {.struct_size = sizeof spec,
                                         .source = source,
                                         .name = "gemm",
                                         .space = space,
                                         .global = {"N // TN", "M // TM"},
                                         .local = {"BN // TN", "BM // TM"},
                                         .arguments = arguments,
                                         .argument_count = 3,
                                         .reference = &reference};
    const struct fcl_kernel_tune_options options = {
        .struct_size = sizeof options, .tuner = {.seconds = seconds}, .store = 1};
    struct fcl_kernel_result result = {.winner = ""};
    enum fcl_status status = fcl_kernel_winner(device, &spec, &result.tuner.winner);
    if (status == FCL_NO_CONFIGURATION)
        status = fcl_kernel_tune(device, &spec, &options, &result);
    if (result.tuner.winner == FCL_NO_POINT)
        return status;
    fcl_kernel_defines(space, result.tuner.winner, text, sizeof text);
    printf("// %zu tried\n%s", result.tuner.tried, text);
    return FCL_OK; // also where the time was used up
}

int main(int count, char **words)
{
    FILE *file = count > 1 ? fopen(words[1], "r") : NULL;
    cl_platform_id platform;
    cl_device_id id;
    fcl_device *device;
    if (!file || !fread(source, 1, sizeof source - 1, file))
        return 2;
    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, NULL))
        return 3;
    cl_context context = clCreateContext(NULL, 1, &id, NULL, NULL, NULL);
    const struct fcl_device_options options = {.struct_size = sizeof options,
                                               .log = {show, NULL, FCL_LOG_ERROR},
                                               .wisdom_file = count > 3 ? words[3] : NULL};
    if (fcl_device_create(context, id, &options, &device))
        return 5;
    fcl_space *space = make_space();
    const enum fcl_status status = tune(device, space, count > 2 ? atof(words[2]) : 30);
    fcl_space_destroy(&space);
    fcl_device_destroy(&device);
    clReleaseContext(context);
    fclose(file);
    return status ? 5 : 0;
}
