// `flashcl info`: platforms, devices, and what each can do.
#include "memory.h"
#include "message.h"
#include "session.h"
#include "status.h"

#include <stdlib.h>
#include <string.h>

static int run_info(int argc, const char **argv);

const struct verb verb_info = {
    .name = "info",
    .arguments = "",
    .summary = "platforms, devices and usable kernel families",
    .details =
        "Lists every device of every platform by the number that --device takes, what its driver\n"
        "reports, and for each kernel family whether it is usable there or why not. A query that\n"
        "fails shows the reason in place of the value. --caps writes the effective abilities of\n"
        "one device, as `flashcl dump --caps FILE` reads them.\n\n"
        "  flashcl info --format json",
    .run = run_info,
};

// What is asked of a device. X(column, query, kind)
#define QUERIES(X)                                                   \
    X("vendor", CL_DEVICE_VENDOR, QUERY_TEXT)                        \
    X("driver", CL_DRIVER_VERSION, QUERY_TEXT)                       \
    X("version", CL_DEVICE_VERSION, QUERY_TEXT)                      \
    X("c_version", CL_DEVICE_OPENCL_C_VERSION, QUERY_TEXT)           \
    X("compute_units", CL_DEVICE_MAX_COMPUTE_UNITS, QUERY_INT)       \
    X("clock_mhz", CL_DEVICE_MAX_CLOCK_FREQUENCY, QUERY_INT)         \
    X("float_width", CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, QUERY_INT) \
    X("address_bits", CL_DEVICE_ADDRESS_BITS, QUERY_INT)             \
    X("group_size", CL_DEVICE_MAX_WORK_GROUP_SIZE, QUERY_SIZE)       \
    X("local_bytes", CL_DEVICE_LOCAL_MEM_SIZE, QUERY_LONG)           \
    X("global_bytes", CL_DEVICE_GLOBAL_MEM_SIZE, QUERY_LONG)         \
    X("allocation_bytes", CL_DEVICE_MAX_MEM_ALLOC_SIZE, QUERY_LONG)  \
    X("timer_ns", CL_DEVICE_PROFILING_TIMER_RESOLUTION, QUERY_SIZE)

enum query_kind { QUERY_TEXT, QUERY_INT, QUERY_LONG, QUERY_SIZE };

static const struct query {
    const char *column;
    cl_device_info what;
    enum query_kind kind;
} queries[] = {
#define ROW(column, what, kind) {column, what, kind},
    QUERIES(ROW)
#undef ROW
};

static const struct report_column columns[] = {{"index", REPORT_INTEGER, 0, 0},
                                               {"device", REPORT_WORD, 0, 0},
                                               {"platform", REPORT_WORD, 0, 0},
                                               {"platform_version", REPORT_WORD, 0, 0},
                                               {"type", REPORT_WORD, 0, 0},
                                               {"default", REPORT_WORD, 0, 0},
#define ROW(column, what, kind) {column, REPORT_WORD, 0, 0},
                                               QUERIES(ROW)
#undef ROW
                                                   {"local_type", REPORT_WORD, 0, 0},
                                               {"fp16", REPORT_WORD, 0, 0},
#define FCL_X(name, text) {text, REPORT_WORD, 0, 0},
                                               FCL_FAMILY_LIST(FCL_X)
#undef FCL_X
};

// ---- What the driver says ---------------------------------------------------------------------

static const char *type_text(cl_device_type type)
{
    return (type & CL_DEVICE_TYPE_GPU) != 0           ? "GPU"
           : (type & CL_DEVICE_TYPE_ACCELERATOR) != 0 ? "accelerator"
           : (type & CL_DEVICE_TYPE_CPU) != 0         ? "CPU"
                                                      : "other";
}

// Sets the value, or in its place the reason why there is none.
static void set_query(struct report *report, cl_device_id device, const struct query *query)
{
    if (query->kind == QUERY_TEXT) {
        char *text = device_text(device, query->what);
        report_set_text(report, query->column, text);
        free(text);
        return;
    }
    cl_uint narrow = 0;
    cl_ulong wide = 0;
    size_t size = 0;
    cl_int status;
    if (query->kind == QUERY_INT) {
        status = clGetDeviceInfo(device, query->what, sizeof(narrow), &narrow, NULL);
        wide = narrow;
    } else if (query->kind == QUERY_LONG) {
        status = clGetDeviceInfo(device, query->what, sizeof(wide), &wide, NULL);
    } else {
        status = clGetDeviceInfo(device, query->what, sizeof(size), &size, NULL);
        wide = size;
    }
    if (status == CL_SUCCESS) {
        report_set_integer(report, query->column, (int64_t)wide);
    } else {
        char *reason = memory_print("(OpenCL error %d)", (int)status);
        report_set_text(report, query->column, reason);
        free(reason);
    }
}

static void set_features(struct report *report, cl_device_id device)
{
    cl_device_local_mem_type type = 0;
    char *extensions = device_text(device, CL_DEVICE_EXTENSIONS);
    cl_int status = clGetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_TYPE, sizeof(type), &type, NULL);
    report_set_text(report, "local_type",
                    status != CL_SUCCESS ? "(not reported)"
                    : type == CL_LOCAL   ? "dedicated"
                                         : "global");
    report_set_text(report, "fp16", strstr(extensions, "cl_khr_fp16") != NULL ? "yes" : "no");
    free(extensions);
}

// ---- What the library says --------------------------------------------------------------------

static void set_family(struct report *report, const struct fcl_caps *caps, enum fcl_family family)
{
    char reason[512] = "";
    if (fcl_family_usable(family, caps, reason, sizeof(reason)) == FCL_OK) {
        report_set_text(report, fcl_family_text(family), "usable");
    } else {
        char *text = memory_print("not usable: %s", reason);
        report_set_text(report, fcl_family_text(family), text);
        free(text);
    }
}

// Returns the exit code: a device that does not open costs its families, not the list.
static int set_families(struct report *report, const struct options *options,
                        const struct device_entry *entry)
{
    struct session session;
    enum fcl_status status = session_open_plain(&session, options, entry);
    for (int f = 0; f < FCL_FAMILY_COUNT; f++) {
        if (status == FCL_OK) {
            set_family(report, session.caps, (enum fcl_family)f);
        } else {
            report_set_text(report, fcl_family_text((enum fcl_family)f),
                            session_sentence(&session, status));
        }
    }
    if (status != FCL_OK) {
        message_note("%s: %s", entry->name, session_sentence(&session, status));
    }
    session_close(&session);
    return status == FCL_INVALID_ARGUMENT ? EXIT_USAGE : EXIT_OK;
}

static int add_device(struct report *report, const struct options *options,
                      const struct device_list *list, const struct device_entry *entry)
{
    char *version = device_platform_text(entry->platform, CL_PLATFORM_VERSION);
    report_row(report);
    report_set_integer(report, "index", entry - list->entries);
    report_set_text(report, "device", entry->name);
    report_set_text(report, "platform", entry->platform_name);
    report_set_text(report, "platform_version", version);
    report_set_text(report, "type", type_text(entry->type));
    report_set_text(report, "default", entry == device_default(list) ? "yes" : "no");
    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        set_query(report, entry->device, &queries[i]);
    }
    set_features(report, entry->device);
    int code = set_families(report, options, entry);
    report_row_end(report);
    free(version);
    return code;
}

// ---- The verb ---------------------------------------------------------------------------------

static int list_devices(const struct options *options, const struct device_list *list,
                        const struct device_entry *only)
{
    struct report report;
    int code = EXIT_OK;
    report_init(&report, stdout, options->format, REPORT_BLOCKS, columns,
                sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < list->count; i++) {
        if (only == NULL || only == &list->entries[i]) {
            code = status_graver(code, add_device(&report, options, list, &list->entries[i]));
        }
    }
    report_finish(&report);
    return code;
}

static int print_caps(const struct options *options, const struct device_entry *entry)
{
    struct session session;
    enum fcl_status status = session_open_plain(&session, options, entry);
    if (status == FCL_OK) {
        size_t size = fcl_caps_format(session.caps, NULL, 0) + 1;
        char *text = memory_get(size, 1);
        fcl_caps_format(session.caps, text, size);
        fputs(text, stdout);
        free(text);
    } else {
        message_error("%s", session_sentence(&session, status));
    }
    session_close(&session);
    return status_exit(status);
}

static int show(const struct options *options, int caps)
{
    struct device_list list;
    const struct device_entry *entry = NULL;
    device_list_read(&list);
    int code = device_select(&list, options->device, &entry);
    if (code == EXIT_OK && caps) {
        code = print_caps(options, entry);
    } else if (code == EXIT_OK || list.count == 0) {
        // Without any device the list is empty, and the error was reported.
        int listed = list_devices(options, &list, options->device != NULL ? entry : NULL);
        code = code == EXIT_OK ? listed : code;
    }
    device_list_free(&list);
    return code;
}

static int run_info(int argc, const char **argv)
{
    struct options options = {.context = NULL};
    int caps = 0;
    struct poptOption table[] = {
        {"caps", '\0', POPT_ARG_NONE, &caps, 0,
         "write the effective abilities of the device that --device names, in their text form",
         NULL},
        POPT_TABLEEND,
    };
    int code = options_parse(&options, &verb_info, table, argc, argv);
    if (code == OPTIONS_PROCEED) {
        code = options.argument_count == 0
                   ? show(&options, caps)
                   : options_usage(&verb_info, "'%s' is not an option", options.arguments[0]);
    }
    options_free(&options);
    return code;
}
