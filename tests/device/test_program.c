// Programs on a real OpenCL device: build errors, the binary cache with a driver behind it, several
// devices, eight processes at once.
#include "cmocka_all.h"

#include <spawn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/build.h"
#include "core/program.h"
#include "device_fixture.h"

#define PROCESSES 8

static const char *program_path; // argv[0]
static const char good_source[] = "#line 1 \"test/add.cl\"\n"
                                  "__kernel void add(__global int *out, int n)\n"
                                  "{\n"
                                  "    __local int shared[32];\n"
                                  "    const int i = get_local_id(0);\n"
                                  "    shared[i] = n;\n"
                                  "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                                  "    out[i] = shared[31 - i] + i;\n"
                                  "}\n";

// ---- A request with a proof -------------------------------------------------------------------

// What the proof does and how often it ran.
struct proof {
    struct fcl_device *device;
    int runs;
    int failures_left; // say WRONG_RESULT so many times
};

static enum fcl_status launch_add(struct fcl_device *device, const struct fcl_program *program)
{
    cl_int code, n = 100, out[32] = {0};
    const size_t size = 32;
    cl_command_queue queue = fcl_device_queue(device, &code);
    cl_mem buffer = clCreateBuffer(device->context, CL_MEM_WRITE_ONLY, sizeof out, NULL, &code);
    clSetKernelArg(program->kernels[0], 0, sizeof buffer, &buffer);
    clSetKernelArg(program->kernels[0], 1, sizeof n, &n);
    clEnqueueNDRangeKernel(queue, program->kernels[0], 1, NULL, &size, &size, 0, NULL, NULL);
    code = clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL);
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
    for (int i = 0; i < 32; i++)
        if (out[i] != n + i)
            return FCL_WRONG_RESULT;
    return code == CL_SUCCESS ? FCL_OK : FCL_DEVICE_ERROR;
}

static enum fcl_status prove(void *user, const struct fcl_program *program)
{
    struct proof *proof = user;
    proof->runs++;
    if (proof->failures_left > 0) {
        proof->failures_left--;
        return FCL_WRONG_RESULT;
    }
    return launch_add(proof->device, program);
}

static struct fcl_program_request request_of(struct proof *proof)
{
    const struct fcl_program_request request = {.label = "add_label",
                                                .source = good_source,
                                                .flags = "",
                                                .kernels = {"add"},
                                                .proof = prove,
                                                .user = proof};
    return request;
}

// Makes the program, which must succeed; returns whether it came from the cache.
static int make(struct fcl_device *device, struct proof *proof)
{
    struct fcl_program program;
    proof->device = device;
    const struct fcl_program_request request = request_of(proof);
    assert_int_equal(fcl_program_create(device, &request, &program), FCL_OK);
    assert_int_equal(launch_add(device, &program), FCL_OK);
    const int from_cache = program.from_cache;
    fcl_program_destroy(&program);
    return from_cache;
}

// ---- Fixture ----------------------------------------------------------------------------------

// ---- Processes of their own -------------------------------------------------------------------

#define NO_DEVICE 77
#define PLATFORMS 16

// Ends a child that is not right with the line.
#define CHECK(condition)                                                   \
    do {                                                                   \
        if (!(condition)) {                                                \
            fprintf(stderr, "child, line %d: %s\n", __LINE__, #condition); \
            return 1;                                                      \
        }                                                                  \
    } while (0)

static pid_t spawn_child(const char *word, const char *folder)
{
    extern char **environ;
    pid_t child;
    char *arguments[] = {(char *)(uintptr_t)program_path, (char *)(uintptr_t)word,
                         (char *)(uintptr_t)folder, NULL};
    assert_int_equal(posix_spawn(&child, program_path, NULL, NULL, arguments, environ), 0);
    return child;
}

// The child's exit status, 0 or NO_DEVICE; anything else fails the test.
static int await_child(pid_t child)
{
    int result = -1;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    if (WEXITSTATUS(result) != NO_DEVICE)
        assert_int_equal(WEXITSTATUS(result), 0);
    return WEXITSTATUS(result);
}

// Builds, or loads, the program on the shared folder.
static int child_builds(const char *folder)
{
    const struct fcl_device_options options = {.cache_folder = folder};
    struct fcl_program program;
    struct proof proof = {0};
    if (!test_opencl_open(&fixture_opencl, &options))
        return NO_DEVICE;
    proof.device = fixture_opencl.device;
    const struct fcl_program_request request = request_of(&proof);
    CHECK(fcl_program_create(fixture_opencl.device, &request, &program) == FCL_OK);
    fcl_program_destroy(&program);
    CHECK(fixture_opencl.capture.counts[FCL_LOG_WARNING] == 0);
    test_opencl_close(&fixture_opencl);
    return 0;
}

static int count_damaged(void *user, const struct fcl_cache_entry *entry)
{
    *(int *)user += entry->damaged;
    return 0;
}

// Runs before OpenCL is started in this process.
static void eight_processes_start_cold_at_once(void **state)
{
    struct fixture *fixture = *state;
    pid_t children[PROCESSES];
    int missing = 0, damaged = 0;
    for (int i = 0; i < PROCESSES; i++)
        children[i] = spawn_child("build", fixture->folder);
    for (int i = 0; i < PROCESSES; i++)
        missing += await_child(children[i]) == NO_DEVICE;
    if (missing > 0)
        skip();
    assert_int_equal(fcl_cache_list(fixture->folder, count_damaged, &damaged), FCL_OK);
    assert_int_equal(damaged, 0);
    assert_int_equal(test_folder_count(fixture->folder, ".fclbin", NULL), 1);
    assert_int_equal(test_folder_count(fixture->folder, "", NULL), 3); // with . and ..
}

// Two devices of one platform.
static int find_pair(cl_device_id pair[2])
{
    cl_platform_id platforms[PLATFORMS];
    cl_uint count = 0;
    if (clGetPlatformIDs(PLATFORMS, platforms, &count) != CL_SUCCESS)
        return 0;
    for (cl_uint i = 0; i < count && i < PLATFORMS; i++) {
        cl_uint devices = 0;
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 2, pair, &devices) == CL_SUCCESS &&
            devices >= 2)
            return 1;
    }
    return 0;
}

// In one context with two devices, a program for the second is built, cached and loaded.
static int child_uses_the_second(cl_context context, const cl_device_id pair[2])
{
    fcl_device *device = NULL;
    CHECK(fcl_device_create(context, pair[1], NULL, &device) == FCL_OK);
    struct proof proof = {.device = device};
    const struct fcl_program_request request = request_of(&proof);
    for (int round = 0; round < 2; round++) {
        struct fcl_program program;
        CHECK(fcl_program_create(device, &request, &program) == FCL_OK);
        CHECK(program.from_cache == round);
        fcl_program_destroy(&program);
    }
    fcl_device_destroy(&device);
    return 0;
}

// Of a program that was built for both, each device gets the binary of its own slot.
static int child_takes_both_binaries(cl_context context, const cl_device_id pair[2])
{
    const char *source = good_source;
    cl_int code;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
    CHECK(clBuildProgram(program, 2, pair, "", NULL, NULL) == CL_SUCCESS);
    size_t sizes[2];
    unsigned char *expected[2];
    CHECK(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, NULL) ==
          CL_SUCCESS);
    for (int i = 0; i < 2; i++)
        expected[i] = malloc(sizes[i]);
    CHECK(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof expected, expected, NULL) ==
          CL_SUCCESS);
    for (int i = 0; i < 2; i++) {
        size_t size = 0;
        unsigned char *binary = fcl_build_binary(program, pair[i], &size);
        CHECK(binary != NULL && size == sizes[i] && memcmp(binary, expected[i], size) == 0);
        free(binary);
        free(expected[i]);
    }
    clReleaseProgram(program);
    return 0;
}

static int child_has_two_devices(void)
{
    struct test_capture capture = {0};
    cl_device_id pair[2];
    cl_int code;
    fcl_device *device = NULL;
    if (!find_pair(pair))
        return NO_DEVICE;
    cl_context one = clCreateContext(NULL, 1, pair, NULL, NULL, &code);
    CHECK(one != NULL);
    CHECK(fcl_device_create(one, pair[1], fcl_device_options(.log = test_capture_log(&capture)),
                            &device) == FCL_INVALID_ARGUMENT);
    CHECK(device == NULL && strstr(capture.text, "none of the 1 devices") != NULL);
    clReleaseContext(one);
    cl_context both = clCreateContext(NULL, 2, pair, NULL, NULL, &code);
    CHECK(both != NULL);
    CHECK(child_uses_the_second(both, pair) == 0);
    CHECK(child_takes_both_binaries(both, pair) == 0);
    clReleaseContext(both);
    return 0;
}

// PoCL can show the processor as two devices; the variable means nothing to other drivers.
static void devices_side_by_side_are_told_apart(void **state)
{
    const struct fixture *fixture = *state;
    assert_int_equal(setenv("POCL_DEVICES", "pthread basic", 1), 0);
    const pid_t child = spawn_child("pair", fixture->folder);
    assert_int_equal(unsetenv("POCL_DEVICES"), 0);
    if (await_child(child) == NO_DEVICE) {
        print_message("skipped: no OpenCL platform with two devices\n");
        skip();
    }
}

// ---- Programs ---------------------------------------------------------------------------------

static void programs_know_their_limits(void **state)
{
    struct fcl_device *device = fixture_device(*state, NULL);
    struct proof proof = {.device = device};
    const struct fcl_program_request request = request_of(&proof);
    struct fcl_program program;
    assert_int_equal(fcl_program_create(device, &request, &program), FCL_OK);
    assert_int_equal(program.kernel_count, 1);
    assert_int_equal(program.from_cache, 0);
    assert_true(program.group_limit >= 32 && program.group_limit <= device->caps.group_size);
    if (program.local_bytes == 0)
        print_message("note: the driver does not tell the local memory of a kernel\n");
    else
        assert_true(program.local_bytes >= 128);
    assert_true(program.build_ms > 0);
    assert_int_equal(proof.runs, 1);
    fcl_program_destroy(&program);
    fcl_program_destroy(&program);
    fcl_device_destroy(&device);
}

static void build_errors_show_the_numbered_source(void **state)
{
    struct fixture *fixture = *state;
    struct fcl_device *device = fixture_device(fixture, NULL);
    const struct fcl_program_request request = {
        .label = "broken",
        .source = "#define PRELUDE 1\n#line 1 \"test/main.cl\"\n// one\n#line 1 \"test/part.clh\"\n"
                  "// part one\n// part two\nint f(void) { return not_declared; }\n"
                  "#line 3 \"test/main.cl\"\n__kernel void add(__global int *o) { *o = f(); }\n",
        .flags = "",
        .kernels = {"add"}};
    struct fcl_program program;
    memset(&program, 0xff, sizeof program);
    assert_int_equal(fcl_program_create(device, &request, &program), FCL_BUILD_FAILED);
    assert_null(program.program);
    const char *text = fixture->capture.text;
    assert_int_equal(fixture->capture.counts[FCL_LOG_ERROR], 1);
    assert_non_null(strstr(text, "broken: clBuildProgram: CL_BUILD_PROGRAM_FAILURE (-11)"));
    assert_non_null(strstr(text, "not_declared"));
    assert_non_null(strstr(text, "around line 3 of test/part.clh:\n"));
    assert_non_null(strstr(text, "    3 | int f(void) { return not_declared; }\n"));
    fcl_device_destroy(&device);
}

static void quiet_failures_are_debug_messages(void **state)
{
    struct fixture *fixture = *state;
    struct fcl_device *device = fixture_device(fixture, NULL);
    struct fcl_program_request request = {
        .label = "broken", .source = "oops\n", .flags = "", .kernels = {"add"}, .quiet = 1};
    struct fcl_program program;
    assert_int_equal(fcl_program_create(device, &request, &program), FCL_BUILD_FAILED);
    assert_int_equal(fixture->capture.counts[FCL_LOG_ERROR], 0);
    assert_non_null(strstr(fixture->capture.text, "oops"));
    request.quiet = 0;
    request.source = good_source;
    request.kernels[0] = "absent";
    assert_int_equal(fcl_program_create(device, &request, &program), FCL_BUILD_FAILED);
    assert_non_null(strstr(fixture->capture.text, "clCreateKernel of absent failed"));
    assert_int_equal(fixture->capture.counts[FCL_LOG_ERROR], 1);
    fcl_device_destroy(&device);
}

static cl_int build_with(struct fcl_device *device, const char *const *standards, const char *flags)
{
    const char *source = good_source;
    cl_int code;
    cl_program program = clCreateProgramWithSource(device->context, 1, &source, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    code = fcl_build_program(program, device->id, standards, flags);
    clReleaseProgram(program);
    return code;
}

// No driver here rejects -cl-std=CL1.2, so options that every driver rejects stand for it.
static void rejected_options_are_left_out(void **state)
{
    struct fcl_device *device = fixture_device(*state, NULL);
    const char *const both[] = {"-no-such-option-anywhere ", "", NULL};
    const char *const only[] = {"-no-such-option-anywhere ", NULL};
    const char *const standard[] = {"-cl-std=CL9.9 ", "", NULL};
    const char *const good[] = {"-cl-std=CL1.2 ", "-no-such-option-anywhere ", NULL};
    const cl_int code = build_with(device, only, "");
    assert_int_not_equal(code, CL_SUCCESS);
    if (code == CL_INVALID_BUILD_OPTIONS) // NVIDIA calls it a failed build, and its log does not
                                          // say -cl-std
        assert_int_equal(build_with(device, both, "-DA=1"), CL_SUCCESS);
    assert_int_equal(build_with(device, standard, ""), CL_SUCCESS);
    assert_int_equal(build_with(device, good, ""), CL_SUCCESS);
    assert_int_not_equal(build_with(device, both, "-no-such-option-anywhere"), CL_SUCCESS);
    fcl_device_destroy(&device);
}

// ---- Programs and the cache -------------------------------------------------------------------

// The path of the only entry.
static void only_entry(const struct fixture *fixture, char path[TEST_PATH_SIZE])
{
    char name[TEST_PATH_SIZE];
    assert_int_equal(test_folder_count(fixture->folder, ".fclbin", name), 1);
    test_path(path, fixture->folder, name);
}

static void the_cache_serves_the_same_process_and_the_next(void **state)
{
    struct fixture *fixture = *state;
    struct proof proof = {0};
    struct fcl_device *device = fixture_device(fixture, fixture->folder);
    assert_int_equal(make(device, &proof), 0);
    assert_int_equal(make(device, &proof), 1);
    fcl_device_destroy(&device);
    struct stat before, after;
    char path[TEST_PATH_SIZE];
    only_entry(fixture, path);
    assert_int_equal(stat(path, &before), 0);
    device = fixture_device(fixture, fixture->folder);
    assert_int_equal(make(device, &proof), 1);
    assert_int_equal(proof.runs, 3);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino); // not written again
    fcl_device_destroy(&device);
    device = fixture_device(fixture, NULL);
    assert_int_equal(make(device, &proof), 0);
    assert_int_equal(make(device, &proof), 1);
    fcl_device_destroy(&device);
}

// Each of these must be built from source although an entry for the plain request is there.
static void whatever_a_binary_depends_on_is_in_its_key(void **state)
{
    struct fixture *fixture = *state;
    struct proof proof = {0};
    struct fcl_device *device = fixture_device(fixture, fixture->folder);
    proof.device = device;
    make(device, &proof);
    struct fcl_program program;
    struct fcl_program_request changed[3];
    char source[sizeof good_source];
    strcpy(source, good_source);
    *strstr(source, "add.cl") = 'A'; // one byte, and not even one that is compiled
    for (int i = 0; i < 3; i++)
        changed[i] = request_of(&proof);
    changed[0].source = source;
    changed[1].flags = "-DX=1";
    changed[2].kernels[1] = "add";
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fcl_program_create(device, &changed[i], &program), FCL_OK);
        assert_int_equal(program.from_cache, 0);
        fcl_program_destroy(&program);
    }
    char *const texts[] = {device->caps.driver,  device->caps.name,
                           device->caps.version, device->caps.platform,
                           device->caps.vendor,  device->caps.platform_version};
    for (size_t i = 0; i < FCL_COUNT(texts); i++) {
        texts[i][0] ^= 1;
        assert_int_equal(make(device, &proof), 0);
        texts[i][0] ^= 1;
        assert_int_equal(make(device, &proof), 1);
    }
    fcl_device_destroy(&device);
}

// Puts other data into the entry, whose key and checksum stay right: the driver must reject it.
static void replace_binary(const struct fixture *fixture, const char *data)
{
    char path[TEST_PATH_SIZE];
    struct fcl_entry entry;
    size_t size, new_size;
    only_entry(fixture, path);
    unsigned char *bytes = test_file_read(path, &size);
    assert_true(fcl_entry_decode(bytes, size, &entry));
    assert_string_equal(entry.label, "add_label");
    assert_non_null(strstr(entry.key, good_source));
    entry.data = data;
    entry.data_size = strlen(data);
    unsigned char *replaced = fcl_entry_encode(&entry, &new_size);
    test_file_write(path, replaced, new_size);
    free(replaced);
    free(bytes);
}

static void a_binary_that_the_driver_rejects_is_replaced(void **state)
{
    struct fixture *fixture = *state;
    struct proof proof = {0};
    struct fcl_device *device = fixture_device(fixture, fixture->folder);
    make(device, &proof);
    fcl_device_destroy(&device);
    replace_binary(fixture, "this was never a binary of any driver");
    device = fixture_device(fixture, fixture->folder);
    assert_int_equal(make(device, &proof), 0);
    assert_int_equal(fixture->capture.counts[FCL_LOG_ERROR], 0);
    assert_int_equal(fixture->capture.counts[FCL_LOG_WARNING], 0);
    assert_non_null(strstr(fixture->capture.text, "the cached binary was rejected"));
    fcl_device_destroy(&device);
    device = fixture_device(fixture, fixture->folder);
    assert_int_equal(make(device, &proof), 1);
    fcl_device_destroy(&device);
}

static void a_damaged_entry_is_replaced(void **state)
{
    struct fixture *fixture = *state;
    struct proof proof = {0};
    char path[TEST_PATH_SIZE];
    struct fcl_device *device = fixture_device(fixture, fixture->folder);
    make(device, &proof);
    fcl_device_destroy(&device);
    only_entry(fixture, path);
    test_file_write(path, "short", 5);
    device = fixture_device(fixture, fixture->folder);
    assert_int_equal(make(device, &proof), 0);
    fcl_device_destroy(&device);
    device = fixture_device(fixture, fixture->folder);
    assert_int_equal(make(device, &proof), 1);
    fcl_device_destroy(&device);
}

static void a_failing_proof_keeps_the_binary_out(void **state)
{
    struct fixture *fixture = *state;
    struct fcl_program program;
    struct fcl_device *device = fixture_device(fixture, fixture->folder);
    struct proof proof = {.device = device, .failures_left = 1};
    const struct fcl_program_request request = request_of(&proof);
    assert_int_equal(fcl_program_create(device, &request, &program), FCL_WRONG_RESULT);
    assert_null(program.program);
    assert_int_equal(test_folder_count(fixture->folder, ".fclbin", NULL), 0);
    assert_int_equal(make(device, &proof), 0);
    // The next loading fails its proof: the binary is dropped and built again.
    proof.failures_left = 1;
    proof.runs = 0;
    assert_int_equal(make(device, &proof), 0);
    assert_int_equal(proof.runs, 2);
    assert_int_equal(make(device, &proof), 1);
    // Both fail: nothing is left.
    proof.failures_left = 2;
    assert_int_equal(fcl_program_create(device, &request, &program), FCL_WRONG_RESULT);
    assert_int_equal(test_folder_count(fixture->folder, ".fclbin", NULL), 0);
    fcl_device_destroy(&device);
}

static void read_only_leaves_the_cache_alone_until_stored(void **state)
{
    struct fixture *fixture = *state;
    struct fcl_program program;
    struct fcl_device *device = fixture_device(fixture, fixture->folder);
    struct proof proof = {.device = device};
    struct fcl_program_request request = request_of(&proof);
    request.read_only = 1;
    assert_int_equal(fcl_program_create(device, &request, &program), FCL_OK);
    assert_int_equal(test_folder_count(fixture->folder, ".fclbin", NULL), 0);
    fcl_program_store(device, &request, &program);
    assert_int_equal(test_folder_count(fixture->folder, ".fclbin", NULL), 1);
    fcl_program_destroy(&program);
    assert_int_equal(fcl_program_create(device, &request, &program), FCL_OK);
    assert_int_equal(program.from_cache, 1);
    fcl_program_destroy(&program);
    assert_int_equal(make(device, &proof), 1);
    fcl_device_destroy(&device);
}

// A driver that leaves no PTX behind, or one for another device, is told apart from a broken
// kernel.
static void what_cannot_be_retargeted_is_refused(void **state)
{
    struct fcl_device *device = fixture_device(*state, NULL);
    struct proof proof = {0};
    struct fcl_program program;
    char reason[256] = "";
    struct fcl_program_request request = request_of(&proof);
    request.retarget = 1;
    request.reason = reason;
    request.reason_size = sizeof reason;
    assert_int_equal(fcl_program_create(device, &request, &program), FCL_BUILD_FAILED);
    assert_null(program.program);
    assert_non_null(strstr(reason, "the driver's PTX"));
    assert_int_equal(proof.runs, 0);
    fcl_device_destroy(&device);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(eight_processes_start_cold_at_once),
        FIXTURE_TEST(devices_side_by_side_are_told_apart),
        DEVICE_TEST(programs_know_their_limits),
        DEVICE_TEST(build_errors_show_the_numbered_source),
        DEVICE_TEST(quiet_failures_are_debug_messages),
        DEVICE_TEST(rejected_options_are_left_out),
        DEVICE_TEST(the_cache_serves_the_same_process_and_the_next),
        DEVICE_TEST(whatever_a_binary_depends_on_is_in_its_key),
        DEVICE_TEST(a_binary_that_the_driver_rejects_is_replaced),
        DEVICE_TEST(a_damaged_entry_is_replaced),
        DEVICE_TEST(a_failing_proof_keeps_the_binary_out),
        DEVICE_TEST(read_only_leaves_the_cache_alone_until_stored),
        DEVICE_TEST(what_cannot_be_retargeted_is_refused),
    };
    program_path = arguments[0];
    if (count == 3)
        return strcmp(arguments[1], "pair") == 0 ? child_has_two_devices()
                                                 : child_builds(arguments[2]);
    const int failed = cmocka_run_group_tests_name("program", tests, NULL, NULL);
    test_opencl_close(&fixture_opencl);
    return failed;
}
