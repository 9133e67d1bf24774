// The smallest complete program: one attention on the first OpenCL device, result read back.
//     cc minimal.c $(pkg-config --cflags --libs flashcl) -o minimal
#include <flashcl/flashcl.h>

#include <stdio.h>
#include <stdlib.h>

#define HEADS 8
#define LENGTH 256
#define DIM 64
#define COUNT (HEADS * LENGTH * DIM)

static void show(void *user, enum fcl_log_level level, const char *text)
{
    (void)user, (void)level;
    fprintf(stderr, "%s\n", text);
}

static cl_mem make_buffer(cl_context context, float *data)
{
    for (int i = 0; i < COUNT; i++)
        data[i] = (float)rand() / (float)RAND_MAX - 0.5f;
    return clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, COUNT * sizeof *data,
                          data, NULL);
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id id;
    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, NULL)) {
        fprintf(stderr, "no OpenCL device\n");
        return 3;
    }
    cl_context context = clCreateContext(NULL, 1, &id, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, id, 0, NULL);
    static float data[COUNT];
    cl_mem q = make_buffer(context, data), k = make_buffer(context, data);
    cl_mem v = make_buffer(context, data), o = make_buffer(context, data);

    fcl_device *device;
    enum fcl_status status = fcl_device_create(
        context, id, fcl_device_options(.log = {show, NULL, FCL_LOG_ERROR}), &device);
    if (!status)
        status = fcl_attention_run(device, queue, q, k, v, o,
                                   &fcl_problem(.batch = 1, .heads_q = HEADS, .q_len = LENGTH,
                                                .k_len = LENGTH, .head_dim_qk = DIM,
                                                .mask = FCL_MASK_CAUSAL_BOTTOM_RIGHT),
                                   NULL);
    if (!status) {
        clEnqueueReadBuffer(queue, o, CL_TRUE, 0, sizeof data, data, 0, NULL, NULL);
        printf("o[0][0][0..3] = %f %f %f %f\n", data[0], data[1], data[2], data[3]);
    }
    fcl_device_destroy(&device);
    clReleaseMemObject(q);
    clReleaseMemObject(k);
    clReleaseMemObject(v);
    clReleaseMemObject(o);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return status ? 5 : 0;
}
