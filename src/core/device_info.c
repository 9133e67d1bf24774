// Asks the driver for each fact of caps, and corrects those that drivers are known to understate:
// caps hold what works, not what is reported.
#include "device_info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caps.h"
#include "common.h"

// Of cl_nv_device_attribute_query.
#define NVIDIA_CAPABILITY_MAJOR 0x4000
#define NVIDIA_CAPABILITY_MINOR 0x4001

// Where in caps an answer of the driver goes.
struct query {
    cl_device_info what;
    size_t offset;
};

#define AT(name) offsetof(struct fcl_caps, name)

static const struct query numbers[] = {
    {CL_DEVICE_MAX_COMPUTE_UNITS, AT(compute_units)},
    {CL_DEVICE_MAX_WORK_GROUP_SIZE, AT(group_size)},
    {CL_DEVICE_LOCAL_MEM_SIZE, AT(local_bytes)},
    {CL_DEVICE_GLOBAL_MEM_SIZE, AT(global_bytes)},
    {CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, AT(cache_bytes)},
    {CL_DEVICE_MAX_MEM_ALLOC_SIZE, AT(allocation_bytes)},
    {CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, AT(float_width)},
    {CL_DEVICE_PROFILING_TIMER_RESOLUTION, AT(timer_ns)},
    {CL_DEVICE_IMAGE_SUPPORT, AT(images)},
    {CL_DEVICE_ADDRESS_BITS, AT(address_bits)},
};

static const struct query texts[] = {
    {CL_DEVICE_NAME, AT(name)},
    {CL_DEVICE_VENDOR, AT(vendor)},
    {CL_DEVICE_VERSION, AT(version)},
    {CL_DRIVER_VERSION, AT(driver)},
};

// By compute capability, what NVIDIA's driver understates: local memory of a work-group, the most
// that arrays declared in a kernel may have (CUDA C++ programming guide, table of compute
// capabilities) less 1 KiB for the driver's own byte, rounded up to an array's alignment; and the
// second-level cache, of which the driver tells the first level's size, in MiB, of the common cards
// with the least.
static const struct {
    uint64_t capability, local_kib, cache_mib;
} nvidia[] = {
    {75, 63, 4},   {80, 162, 40},   {86, 98, 3},     {87, 162, 4},  {89, 98, 24},
    {90, 226, 50}, {100, 226, 100}, {103, 226, 100}, {120, 98, 24}, {121, 98, 24},
};

// A number of any width; 0 where the driver does not tell.
static uint64_t read_number(cl_device_id device, cl_device_info what)
{
    union {
        uint64_t wide;
        uint32_t narrow;
    } value = {0};
    size_t size = 0;
    if (clGetDeviceInfo(device, what, sizeof value, &value, &size) != CL_SUCCESS)
        return 0;
    return size == sizeof value.wide ? value.wide : value.narrow;
}

static int is_blank(char c)
{
    return (unsigned char)c <= ' ';
}

// A text from malloc; NULL where the driver gives none.
static char *read_text(cl_device_id device, cl_device_info what)
{
    size_t size = 0;
    if (clGetDeviceInfo(device, what, 0, NULL, &size) != CL_SUCCESS)
        return NULL;
    char *text = calloc(size + 1, 1);
    if (text != NULL && clGetDeviceInfo(device, what, size, text, NULL) != CL_SUCCESS) {
        free(text);
        return NULL;
    }
    return text;
}

static void read_platform_text(cl_platform_id platform, cl_platform_info what,
                               char out[FCL_CAPS_TEXT_SIZE])
{
    size_t size = 0;
    if (clGetPlatformInfo(platform, what, 0, NULL, &size) != CL_SUCCESS)
        return;
    char *text = calloc(size + 1, 1);
    if (text != NULL && clGetPlatformInfo(platform, what, size, text, NULL) == CL_SUCCESS)
        fcl_caps_text_clean(out, text);
    free(text);
}

static void read_texts(cl_device_id device, struct fcl_caps *caps)
{
    for (size_t i = 0; i < FCL_COUNT(texts); i++) {
        char *text = read_text(device, texts[i].what);
        if (text != NULL)
            fcl_caps_text_clean((char *)caps + texts[i].offset, text);
        free(text);
    }
    cl_platform_id platform = NULL;
    if (clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) != CL_SUCCESS)
        return;
    read_platform_text(platform, CL_PLATFORM_NAME, caps->platform);
    read_platform_text(platform, CL_PLATFORM_VERSION, caps->platform_version);
}

// Whether the list of words holds exactly this one.
static int has_word(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = strstr(list, word); at != NULL; at = strstr(at + 1, word))
        if ((at == list || is_blank(at[-1])) && is_blank(at[length]))
            return 1;
    return 0;
}

static void read_extensions(cl_device_id device, struct fcl_caps *caps)
{
    char *list = read_text(device, CL_DEVICE_EXTENSIONS);
    if (list == NULL)
        return;
    caps->fp16 = (uint64_t)has_word(list, "cl_khr_fp16");
    caps->subgroups =
        (uint64_t)(has_word(list, "cl_khr_subgroups") || has_word(list, "cl_intel_subgroups"));
    free(list);
}

static void read_c_version(cl_device_id device, struct fcl_caps *caps)
{
    char *text = read_text(device, CL_DEVICE_OPENCL_C_VERSION);
    unsigned major = 0, minor = 0;
    if (text != NULL && sscanf(text, "OpenCL C %3u.%1u", &major, &minor) == 2)
        caps->c_version = 100 * (uint64_t)major + 10 * (uint64_t)minor;
    free(text);
}

// Our grids have one dimension: its limit holds as well as that of the whole group.
static void limit_group_size(cl_device_id device, struct fcl_caps *caps)
{
    size_t size = 0;
    if (clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, 0, NULL, &size) != CL_SUCCESS ||
        size < sizeof(size_t))
        return;
    size_t *sizes = malloc(size);
    if (sizes != NULL &&
        clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, size, sizes, NULL) == CL_SUCCESS &&
        sizes[0] < caps->group_size)
        caps->group_size = sizes[0];
    free(sizes);
}

static void read_nvidia(cl_device_id device, struct fcl_caps *caps)
{
    if (strstr(caps->vendor, "NVIDIA") == NULL)
        return;
    caps->nvidia_capability = 10 * read_number(device, NVIDIA_CAPABILITY_MAJOR) +
                              read_number(device, NVIDIA_CAPABILITY_MINOR);
    for (size_t i = 0; i < FCL_COUNT(nvidia); i++)
        if (nvidia[i].capability == caps->nvidia_capability) {
            caps->local_bytes = nvidia[i].local_kib << 10;
            caps->cache_bytes = nvidia[i].cache_mib << 20;
        }
}

cl_int fcl_device_info_read(cl_device_id device, struct fcl_caps *caps)
{
    cl_device_type type = 0;
    const cl_int code = clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    if (code != CL_SUCCESS)
        return code;
    *caps = (struct fcl_caps){.cpu = (type & CL_DEVICE_TYPE_CPU) != 0,
                              .gpu = (type & CL_DEVICE_TYPE_GPU) != 0};
    for (size_t i = 0; i < FCL_COUNT(numbers); i++) {
        const uint64_t number = read_number(device, numbers[i].what);
        memcpy((char *)caps + numbers[i].offset, &number, sizeof number);
    }
    caps->local_dedicated = read_number(device, CL_DEVICE_LOCAL_MEM_TYPE) == CL_LOCAL;
    read_texts(device, caps);
    read_extensions(device, caps);
    read_c_version(device, caps);
    limit_group_size(device, caps);
    read_nvidia(device, caps);
    return CL_SUCCESS;
}
