// Every OpenCL device of every platform, and the choice of one by --device.
#ifndef FLASHCL_TOOL_DEVICE_SELECT_H
#define FLASHCL_TOOL_DEVICE_SELECT_H

#include <flashcl/flashcl.h>

struct device_entry {
    cl_platform_id platform;
    cl_device_id device;
    cl_device_type type;
    char *name, *platform_name;
};

// Devices in the order in which `flashcl info` counts them.
struct device_list {
    struct device_entry *entries;
    size_t count, capacity;
};

// Asks all platforms. No platform gives an empty list.
void device_list_read(struct device_list *list);
void device_list_free(struct device_list *list);

// The device that is used where none is named: the first GPU, else accelerator, else CPU, else any;
// NULL for an empty list.
const struct device_entry *device_default(const struct device_list *list);

// The device that `text` (NULL: the default) names. Returns EXIT_OK, or the exit code after the
// error was reported.
int device_select(const struct device_list *list, const char *text,
                  const struct device_entry **selected);

// Text information of a device or platform, of its own memory: where the query fails, the reason in
// brackets.
char *device_text(cl_device_id device, cl_device_info what);
char *device_platform_text(cl_platform_id platform, cl_platform_info what);

#endif
