// Enumerates devices and selects one by number or by parts of names.
#include "device_select.h"

#include "memory.h"
#include "message.h"
#include "status.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// Two calls with the same shape: first the size, then the text. `status` is of the first that
// failed.
static char *finish_text(cl_int status, char *text)
{
    if (status == CL_SUCCESS) {
        return text;
    }
    free(text);
    return memory_print("(OpenCL error %d)", (int)status);
}

char *device_text(cl_device_id device, cl_device_info what)
{
    size_t size = 0;
    cl_int status = clGetDeviceInfo(device, what, 0, NULL, &size);
    char *text = memory_get(size + 1, 1);
    if (status == CL_SUCCESS) {
        status = clGetDeviceInfo(device, what, size, text, NULL);
    }
    return finish_text(status, text);
}

char *device_platform_text(cl_platform_id platform, cl_platform_info what)
{
    size_t size = 0;
    cl_int status = clGetPlatformInfo(platform, what, 0, NULL, &size);
    char *text = memory_get(size + 1, 1);
    if (status == CL_SUCCESS) {
        status = clGetPlatformInfo(platform, what, size, text, NULL);
    }
    return finish_text(status, text);
}

// ---- The list ---------------------------------------------------------------------------------

static void add_device(struct device_list *list, cl_platform_id platform, cl_device_id device)
{
    struct device_entry entry = {
        .platform = platform,
        .device = device,
        .name = device_text(device, CL_DEVICE_NAME),
        .platform_name = device_platform_text(platform, CL_PLATFORM_NAME),
    };
    if (clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(entry.type), &entry.type, NULL) !=
        CL_SUCCESS) {
        entry.type = 0;
    }
    list->entries = memory_grow(list->entries, list->count, &list->capacity, sizeof(entry));
    list->entries[list->count++] = entry;
}

static void add_platform(struct device_list *list, cl_platform_id platform)
{
    cl_uint count = 0;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count) != CL_SUCCESS) {
        return; // a platform without devices answers with an error
    }
    cl_device_id *devices = memory_get(count, sizeof(*devices));
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices, NULL) == CL_SUCCESS) {
        for (cl_uint i = 0; i < count; i++) {
            add_device(list, platform, devices[i]);
        }
    }
    free(devices);
}

void device_list_read(struct device_list *list)
{
    cl_uint count = 0;
    *list = (struct device_list){.count = 0};
    if (clGetPlatformIDs(0, NULL, &count) != CL_SUCCESS) {
        return; // a loader without platforms answers with an error
    }
    cl_platform_id *platforms = memory_get(count, sizeof(*platforms));
    if (clGetPlatformIDs(count, platforms, NULL) == CL_SUCCESS) {
        for (cl_uint i = 0; i < count; i++) {
            add_platform(list, platforms[i]);
        }
    }
    free(platforms);
}

void device_list_free(struct device_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->entries[i].name);
        free(list->entries[i].platform_name);
    }
    free(list->entries);
    *list = (struct device_list){.count = 0};
}

// ---- The choice -------------------------------------------------------------------------------

const struct device_entry *device_default(const struct device_list *list)
{
    static const cl_device_type best_first[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR,
                                                CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_ALL};
    for (size_t t = 0; t < sizeof(best_first) / sizeof(best_first[0]); t++) {
        for (size_t i = 0; i < list->count; i++) {
            if (best_first[t] == CL_DEVICE_TYPE_ALL ||
                (list->entries[i].type & best_first[t]) != 0) {
                return &list->entries[i];
            }
        }
    }
    return NULL;
}

// Whether `part` (`length` characters) stands in `whole`, in upper or lower case.
static int contains(const char *whole, const char *part, size_t length)
{
    for (; strlen(whole) >= length; whole++) {
        size_t i = 0;
        while (i < length && tolower((unsigned char)whole[i]) == tolower((unsigned char)part[i])) {
            i++;
        }
        if (i == length) {
            return 1;
        }
    }
    return 0;
}

static int matches_exactly(const struct device_entry *entry, const char *text)
{
    return strcmp(entry->name, text) == 0;
}

static int matches_name(const struct device_entry *entry, const char *text)
{
    return contains(entry->name, text, strlen(text));
}

// PLATFORM:SUBSTRING. The literal word `platform` stands for any device of the named platform.
static int matches_pair(const struct device_entry *entry, const char *text)
{
    const char *colon = strchr(text, ':');
    if (colon == NULL) {
        return 0;
    }
    size_t left = (size_t)(colon - text);
    const char *right = colon + 1;
    if (left == strlen("platform") && strncmp(text, "platform", left) == 0) {
        return contains(entry->platform_name, right, strlen(right));
    }
    return contains(entry->platform_name, text, left) &&
           contains(entry->name, right, strlen(right));
}

// The devices that match, from the strictest reading of the text that has any: device names hold
// colons too, so a pair comes last.
static size_t find_matches(const struct device_list *list, const char *text,
                           const struct device_entry **matches)
{
    static int (*const readings[])(const struct device_entry *,
                                   const char *) = {matches_exactly, matches_name, matches_pair};
    size_t count = 0;
    for (size_t r = 0; r < sizeof(readings) / sizeof(readings[0]) && count == 0; r++) {
        for (size_t i = 0; i < list->count; i++) {
            if (readings[r](&list->entries[i], text)) {
                matches[count++] = &list->entries[i];
            }
        }
    }
    return count;
}

static int report_several(const struct device_list *list, const char *text,
                          const struct device_entry **matches, size_t count)
{
    char *names = NULL;
    for (size_t i = 0; i < count; i++) {
        memory_append(&names, "%s%zu = %s (%s)", i > 0 ? ", " : "",
                      (size_t)(matches[i] - list->entries), matches[i]->name,
                      matches[i]->platform_name);
    }
    message_error("--device %s matches %zu devices, give the number of one: %s", text, count,
                  names);
    free(names);
    return EXIT_USAGE;
}

static int select_by_name(const struct device_list *list, const char *text,
                          const struct device_entry **selected)
{
    const struct device_entry **matches = memory_get(list->count, sizeof(*matches));
    size_t count = find_matches(list, text, matches);
    int code = EXIT_OK;
    if (count == 1) {
        *selected = matches[0];
    } else if (count == 0) {
        message_error("--device %s matches none of %zu devices, by number from 0 or by name; "
                      "`flashcl info` lists them",
                      text, list->count);
        code = EXIT_NO_DEVICE;
    } else {
        code = report_several(list, text, matches, count);
    }
    free(matches);
    return code;
}

int device_select(const struct device_list *list, const char *text,
                  const struct device_entry **selected)
{
    *selected = NULL;
    if (text != NULL && text[0] == '\0') {
        message_error("--device is empty; a number or a part of a name is allowed");
        return EXIT_USAGE;
    }
    if (list->count == 0) {
        message_error("no OpenCL device found; install one, for example PoCL, which runs on any "
                      "CPU: apt-get install pocl-opencl-icd ocl-icd-libopencl1");
        return EXIT_NO_DEVICE;
    }
    if (text == NULL) {
        *selected = device_default(list);
        return EXIT_OK;
    }
    // A number beyond the list may still be a part of a name, as in 4090.
    if (text[strspn(text, "0123456789")] == '\0' && strtoull(text, NULL, 10) < list->count) {
        *selected = &list->entries[strtoull(text, NULL, 10)];
        return EXIT_OK;
    }
    return select_by_name(list, text, selected);
}
