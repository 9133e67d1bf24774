// Times plans and launches by the host's clock.
#include "latency.h"

#include "clock.h"
#include "problems.h"

#include <stdlib.h>
#include <string.h>

// Launches whose median is the steady state, fewer where they take long.
#define LAUNCHES 25
#define LAUNCHES_LEAST 3
#define LAUNCHES_SECONDS 0.5

enum fcl_status latency_begin(struct latency_use *use, struct session *session,
                              const struct fcl_problem *problem,
                              enum fcl_implementation implementation, struct latency *latency)
{
    *use = (struct latency_use){.session = session, .problem = *problem};
    *latency = (struct latency){.config = ""};
    session_forget(session);
    enum fcl_status status = fcl_plan_create(
        session->device, problem, fcl_plan_options(.implementation = implementation), &use->plan);
    if (status != FCL_OK) {
        return status;
    }
    struct fcl_plan_info info;
    fcl_plan_describe(use->plan, &info);
    snprintf(latency->config, sizeof(latency->config), "%s", info.config);
    latency->from_cache = info.from_cache;
    latency->plan_ms = info.plan_ms;
    status = fcl_sequences_create(problem, 1, &use->sequences);
    if (status == FCL_OK) {
        status = buffers_create(session, use->plan, problem, &use->sequences, &use->buffers);
    }
    if (status == FCL_OK) {
        status = buffers_fill(session, &use->buffers, problem);
    }
    use->args = buffers_arguments(&use->buffers, problem, 0);
    return status;
}

void latency_end(struct latency_use *use)
{
    buffers_free(&use->buffers);
    fcl_sequences_free(&use->sequences);
    fcl_plan_destroy(&use->plan);
}

static enum fcl_status launch(struct latency_use *use, double *ms)
{
    const double start = clock_now();
    enum fcl_status status =
        fcl_attention_enqueue(use->plan, use->session->queue, &use->args, 0, NULL, NULL);
    cl_int finished = status == FCL_OK ? clFinish(use->session->queue) : CL_SUCCESS;
    *ms = (clock_now() - start) * 1e3;
    if (finished != CL_SUCCESS) {
        snprintf(use->session->error, sizeof(use->session->error),
                 "a launch did not finish: OpenCL error %d", (int)finished);
        return FCL_DEVICE_ERROR;
    }
    return status;
}

enum fcl_status latency_first(struct latency_use *use, struct latency *latency)
{
    return launch(use, &latency->first_launch_ms);
}

static int compare_reals(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum fcl_status latency_steady(struct latency_use *use, struct latency *latency)
{
    double times[LAUNCHES];
    const double end = clock_now() + LAUNCHES_SECONDS;
    int count = 0;
    while (count < LAUNCHES && (count < LAUNCHES_LEAST || clock_now() < end)) {
        enum fcl_status status = launch(use, &times[count++]);
        if (status != FCL_OK) {
            return status;
        }
    }
    qsort(times, (size_t)count, sizeof(times[0]), compare_reals);
    latency->steady_ms = (times[(count - 1) / 2] + times[count / 2]) / 2;
    return FCL_OK;
}

enum fcl_status latency_measure(struct session *session, const struct fcl_problem *problem,
                                enum fcl_implementation implementation, struct latency *latency)
{
    struct latency_use use;
    enum fcl_status status = latency_begin(&use, session, problem, implementation, latency);
    if (status == FCL_OK) {
        status = latency_first(&use, latency);
    }
    if (status == FCL_OK) {
        status = latency_steady(&use, latency);
    }
    latency_end(&use);
    return status;
}

// ---- between processes

json_t *latency_request(const char *problem, enum fcl_implementation implementation)
{
    return json_pack("{s:s,s:s,s:s}", "do", "latency", "problem", problem, "implementation",
                     implementation_text(implementation));
}

int latency_serve(struct session *session, const json_t *request, struct latency *latency,
                  char *reason, size_t size)
{
    const char *text = json_string_value(json_object_get(request, "problem"));
    const char *name = json_string_value(json_object_get(request, "implementation"));
    int unfused = name != NULL && strcmp(name, implementation_text(FCL_UNFUSED)) == 0;
    struct fcl_problem problem;
    if (fcl_problem_parse(text != NULL ? text : "", &problem, reason, size) != FCL_OK) {
        return 0;
    }
    enum fcl_status status =
        latency_measure(session, &problem, unfused ? FCL_UNFUSED : FCL_FUSED, latency);
    if (status != FCL_OK) {
        snprintf(reason, size, "%s", session_sentence(session, status));
    }
    return status == FCL_OK;
}

json_t *latency_write(const struct latency *latency)
{
    return json_pack("{s:s,s:b,s:f,s:f,s:f}", "config", latency->config, "from_cache",
                     latency->from_cache, "plan_ms", latency->plan_ms, "first_launch_ms",
                     latency->first_launch_ms, "steady_ms", latency->steady_ms);
}

int latency_read(const json_t *json, struct latency *latency)
{
    const char *config;
    *latency = (struct latency){.config = ""};
    if (json_unpack((json_t *)json, "{s:s,s:b,s:F,s:F,s:F}", "config", &config, "from_cache",
                    &latency->from_cache, "plan_ms", &latency->plan_ms, "first_launch_ms",
                    &latency->first_launch_ms, "steady_ms", &latency->steady_ms) != 0) {
        return 0;
    }
    snprintf(latency->config, sizeof(latency->config), "%s", config);
    return 1;
}
