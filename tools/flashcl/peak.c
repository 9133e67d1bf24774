// `flashcl peak`: what a device can do at best.
#include "message.h"
#include "session.h"
#include "status.h"

static int run_peak(int argc, const char **argv);

const struct verb verb_peak = {
    .name = "peak",
    .arguments = "",
    .summary = "what the device can do at best, measured once",
    .details =
        "Measures the device with small kernels, in a few seconds, and keeps the figures in the\n"
        "cache: `flashcl cache clear` removes them, --again replaces them. They are peaks: the\n"
        "best of several launches and of several vector widths. On a machine that others use, or\n"
        "whose clock changes, measure again beside what you compare with them.\n\n"
        "  gflops     fp32 multiply-adds on registers, 2 operations each, 1e9 a second\n"
        "  read_gbs   reading a buffer larger than most caches, 1e9 bytes a second\n"
        "  copy_gbs   copying one, bytes read and written\n"
        "  launch_us  an empty kernel from enqueueing to the end of waiting, median\n"
        "  queued_us  an empty kernel among others in a queue, median\n"
        "  timer_ns   what event stamps really resolve; 0: the device has no usable ones\n\n"
        "  flashcl peak --again",
    .run = run_peak,
};

static const struct report_column columns[] = {
    {"device", REPORT_WORD, 0, 1},     {"gflops", REPORT_FIXED, 1, 0},
    {"read_gbs", REPORT_FIXED, 1, 0},  {"copy_gbs", REPORT_FIXED, 1, 0},
    {"launch_us", REPORT_FIXED, 1, 0}, {"queued_us", REPORT_FIXED, 1, 0},
    {"timer_ns", REPORT_FIXED, 0, 0}};

static void print_peak(const struct session *session, const struct options *options,
                       const struct fcl_peak *peak)
{
    struct report report;
    session_print_device(session, options);
    report_init(&report, stdout, options->format, REPORT_TABLE, columns,
                sizeof(columns) / sizeof(columns[0]));
    report_row(&report);
    report_set_text(&report, "device", session->entry->name);
#define FCL_X(name, meaning) report_set_real(&report, #name, peak->name);
    FCL_PEAK_FIELDS(FCL_X)
#undef FCL_X
    report_row_end(&report);
    report_finish(&report);
}

static int show(const struct options *options, int again)
{
    struct session session;
    struct fcl_peak peak;
    int code = session_open(&session, options);
    if (code == EXIT_OK) {
        message_progress("peak: measuring");
        enum fcl_status status = fcl_device_peak(session.device, again, &peak);
        message_progress_end();
        if (status == FCL_OK) {
            print_peak(&session, options, &peak);
        } else {
            message_error("%s", session_sentence(&session, status));
        }
        code = status_exit(status);
    }
    session_close(&session);
    return code;
}

static int run_peak(int argc, const char **argv)
{
    struct options options = {.context = NULL};
    int again = 0;
    struct poptOption table[] = {
        {"again", '\0', POPT_ARG_NONE, &again, 0, "measure, even if there are figures", NULL},
        POPT_TABLEEND,
    };
    int code = options_parse(&options, &verb_peak, table, argc, argv);
    if (code == OPTIONS_PROCEED) {
        code = options.argument_count == 0
                   ? show(&options, again)
                   : options_usage(&verb_peak, "'%s' is not an option", options.arguments[0]);
    }
    options_free(&options);
    return code;
}
