// OpenCL's error codes in words, and as statuses of the library.
#include "device.h"

// X(name): the codes of OpenCL 1.2.
#define ERROR_LIST(X)                               \
    X(CL_SUCCESS)                                   \
    X(CL_DEVICE_NOT_FOUND)                          \
    X(CL_DEVICE_NOT_AVAILABLE)                      \
    X(CL_COMPILER_NOT_AVAILABLE)                    \
    X(CL_MEM_OBJECT_ALLOCATION_FAILURE)             \
    X(CL_OUT_OF_RESOURCES)                          \
    X(CL_OUT_OF_HOST_MEMORY)                        \
    X(CL_PROFILING_INFO_NOT_AVAILABLE)              \
    X(CL_MEM_COPY_OVERLAP)                          \
    X(CL_IMAGE_FORMAT_MISMATCH)                     \
    X(CL_IMAGE_FORMAT_NOT_SUPPORTED)                \
    X(CL_BUILD_PROGRAM_FAILURE)                     \
    X(CL_MAP_FAILURE)                               \
    X(CL_MISALIGNED_SUB_BUFFER_OFFSET)              \
    X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) \
    X(CL_COMPILE_PROGRAM_FAILURE)                   \
    X(CL_LINKER_NOT_AVAILABLE)                      \
    X(CL_LINK_PROGRAM_FAILURE)                      \
    X(CL_DEVICE_PARTITION_FAILED)                   \
    X(CL_KERNEL_ARG_INFO_NOT_AVAILABLE)             \
    X(CL_INVALID_VALUE)                             \
    X(CL_INVALID_DEVICE_TYPE)                       \
    X(CL_INVALID_PLATFORM)                          \
    X(CL_INVALID_DEVICE)                            \
    X(CL_INVALID_CONTEXT)                           \
    X(CL_INVALID_QUEUE_PROPERTIES)                  \
    X(CL_INVALID_COMMAND_QUEUE)                     \
    X(CL_INVALID_HOST_PTR)                          \
    X(CL_INVALID_MEM_OBJECT)                        \
    X(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR)           \
    X(CL_INVALID_IMAGE_SIZE)                        \
    X(CL_INVALID_SAMPLER)                           \
    X(CL_INVALID_BINARY)                            \
    X(CL_INVALID_BUILD_OPTIONS)                     \
    X(CL_INVALID_PROGRAM)                           \
    X(CL_INVALID_PROGRAM_EXECUTABLE)                \
    X(CL_INVALID_KERNEL_NAME)                       \
    X(CL_INVALID_KERNEL_DEFINITION)                 \
    X(CL_INVALID_KERNEL)                            \
    X(CL_INVALID_ARG_INDEX)                         \
    X(CL_INVALID_ARG_VALUE)                         \
    X(CL_INVALID_ARG_SIZE)                          \
    X(CL_INVALID_KERNEL_ARGS)                       \
    X(CL_INVALID_WORK_DIMENSION)                    \
    X(CL_INVALID_WORK_GROUP_SIZE)                   \
    X(CL_INVALID_WORK_ITEM_SIZE)                    \
    X(CL_INVALID_GLOBAL_OFFSET)                     \
    X(CL_INVALID_EVENT_WAIT_LIST)                   \
    X(CL_INVALID_EVENT)                             \
    X(CL_INVALID_OPERATION)                         \
    X(CL_INVALID_GL_OBJECT)                         \
    X(CL_INVALID_BUFFER_SIZE)                       \
    X(CL_INVALID_MIP_LEVEL)                         \
    X(CL_INVALID_GLOBAL_WORK_SIZE)                  \
    X(CL_INVALID_PROPERTY)                          \
    X(CL_INVALID_IMAGE_DESCRIPTOR)                  \
    X(CL_INVALID_COMPILER_OPTIONS)                  \
    X(CL_INVALID_LINKER_OPTIONS)                    \
    X(CL_INVALID_DEVICE_PARTITION_COUNT)

#define PLATFORM_NOT_FOUND (-1001) // the loader's: no driver is installed
#define NVIDIA_ILLEGAL_ACCESS (-9999)

#define EXPANDED(text) #text

// The header's macro is expanded on the way: "(-5)".
#define NAME_AND_NUMBER(name, number) name " (" EXPANDED(number) ")"

// NULL where the code has no name.
static const char *find_text(cl_int code)
{
    switch (code) {
#define FCL_X(name) \
    case name:      \
        return NAME_AND_NUMBER(#name, name);
        ERROR_LIST(FCL_X)
#undef FCL_X
    case PLATFORM_NOT_FOUND:
        return "no OpenCL platform is installed (-1001)";
    case NVIDIA_ILLEGAL_ACCESS:
        return "NVIDIA: illegal read or write to a buffer (-9999)";
    default:
        return NULL;
    }
}

const char *fcl_cl_error_text(cl_int code)
{
    const char *text = find_text(code);
    return text != NULL ? text : "an OpenCL error without a name";
}

enum fcl_status fcl_cl_status(cl_int code)
{
    switch (code) {
    case CL_SUCCESS:
        return FCL_OK;
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY:
        return FCL_OUT_OF_MEMORY;
    default:
        return FCL_DEVICE_ERROR;
    }
}

void fcl_cl_error_add(struct fcl_text *text, cl_int code)
{
    const char *known = find_text(code);
    if (known != NULL)
        fcl_text_add(text, "%s", known);
    else
        fcl_text_add(text, "OpenCL error %d", (int)code);
}

enum fcl_status fcl_cl_fail(const struct fcl_device *device, cl_int code, const char *what)
{
    struct fcl_text text = {0};
    fcl_cl_error_add(&text, code);
    fcl_device_fail(device, FCL_OK, "%s failed: %s", what, text.failed ? "" : text.data);
    fcl_text_free(&text);
    return fcl_cl_status(code);
}
