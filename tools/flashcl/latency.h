// How long a first use of attention takes, piece by piece: the plan, the first launch, later ones.
#ifndef FLASHCL_TOOL_LATENCY_H
#define FLASHCL_TOOL_LATENCY_H

#include "buffers.h"

#include <jansson.h>

// What was measured, in milliseconds; a launch ends when the device has finished.
struct latency {
    char config[96];
    int from_cache; // no source was compiled
    double plan_ms, first_launch_ms;
    double steady_ms; // median of further launches
};

// A plan and its buffers, in use.
struct latency_use {
    struct session *session;
    struct fcl_problem problem; // whose lengths the buffers have
    fcl_plan *plan;
    struct fcl_sequences sequences;
    struct buffers buffers;
    struct fcl_attention_args args; // of the launches; may be changed
};

// Makes a plan and buffers and measures the plan. On failure session->error says why; the use is to
// be ended in every case.
enum fcl_status latency_begin(struct latency_use *use, struct session *session,
                              const struct fcl_problem *problem,
                              enum fcl_implementation implementation, struct latency *latency);
void latency_end(struct latency_use *use);

// Measures the next launch as the first one, or the median of several as the steady state.
enum fcl_status latency_first(struct latency_use *use, struct latency *latency);
enum fcl_status latency_steady(struct latency_use *use, struct latency *latency);

// All of it from begin to end.
enum fcl_status latency_measure(struct session *session, const struct fcl_problem *problem,
                                enum fcl_implementation implementation, struct latency *latency);

// The same as a request to a worker process, its answer there, and the answer as JSON. Serving
// returns 0 with the reason, reading 0, where something is missing.
json_t *latency_request(const char *problem, enum fcl_implementation implementation);
int latency_serve(struct session *session, const json_t *request, struct latency *latency,
                  char *reason, size_t size);
json_t *latency_write(const struct latency *latency);
int latency_read(const json_t *json, struct latency *latency);

#endif
