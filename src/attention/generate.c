// A complete kernel with its launch, for runtimes that are not ours.
#include <stdlib.h>
#include <string.h>

#include "launch.h"
#include "problem.h"
#include "space.h"
#include "spec.h"

#define MARK 1 // which cleared memory does not hold

// What a generated kernel owns besides its texts.
struct generated_storage {
    struct fcl_kernel_args args, whole;
    uint64_t mark;
};

static enum fcl_status choose(const struct fcl_problem *problem, const struct fcl_caps *caps,
                              const struct fcl_config *given, struct fcl_config *config,
                              char *reason, size_t size)
{
    enum fcl_status status = FCL_OK;
    if (given)
        *config = *given;
    else
        status = fcl_config_default(problem, caps, config, reason, size);
    if (status)
        return status;
    if (!given)
        config->splits = 1;
    if (fcl_config_kernels(config, FCL_FUSED) > 1)
        return fcl_fail(reason, size, FCL_UNSUPPORTED,
                        "config.splits is %d: a kernel that needs a second one to join its results "
                        "is not generated; allowed is 1",
                        config->splits);
    return fcl_config_validate(config, problem, caps, reason, size);
}

// The launch for the problem's own lengths on contiguous tensors. Placeholders stand for the
// buffers, which the preparation only tests for NULL.
static enum fcl_status prepare(const struct fcl_problem *problem, const struct fcl_config *config,
                               const struct fcl_caps *caps, struct fcl_launch *launch, char *reason,
                               size_t size)
{
    static char placeholder;
    cl_mem buffer = (cl_mem)(void *)&placeholder;
    const int64_t pages = problem->page ? fcl_div_up(problem->k_len, problem->page) : 0;
    const struct fcl_attention_args args = {.struct_size = sizeof args,
                                            .shape = {problem->batch, problem->heads_q,
                                                      problem->heads_kv, problem->q_len,
                                                      problem->k_len},
                                            .q = {.buffer = buffer},
                                            .k = {.buffer = buffer},
                                            .v = {.buffer = buffer},
                                            .o = {.buffer = buffer},
                                            .lse = buffer,
                                            .sinks = buffer,
                                            .slopes = buffer,
                                            .bias = {.buffer = buffer},
                                            .visible = {.buffer = buffer},
                                            .cu_q = buffer,
                                            .cu_k = buffer,
                                            .used_q = buffer,
                                            .used_k = buffer,
                                            .table = buffer,
                                            .table_entries = pages,
                                            .page_count = pages * problem->batch,
                                            .total_q = problem->batch * problem->q_len,
                                            .total_k = problem->batch * problem->k_len};
    return fcl_launch_prepare(problem, config, caps, &args, launch, reason, size);
}

static void add_buffer(struct fcl_generated *generated, const char *name, size_t size, int present)
{
    if (present)
        generated->arguments[generated->argument_count++] =
            (struct fcl_argument){name, FCL_ARGUMENT_BUFFER, size, NULL};
}

static void add_bytes(struct fcl_generated *generated, const char *name, size_t size,
                      const void *bytes)
{
    generated->arguments[generated->argument_count++] =
        (struct fcl_argument){name, FCL_ARGUMENT_BYTES, size, bytes};
}

static void add_mark(struct fcl_generated *generated)
{
    struct generated_storage *storage = generated->storage;
    storage->mark = MARK;
    add_bytes(generated, "mark", sizeof storage->mark, &storage->mark);
}

// Where partial results go, and then the whole, of a kernel that joins them.
static void list_outputs(const struct fcl_launch *launch, struct fcl_generated *generated)
{
    struct generated_storage *storage = generated->storage;
    *storage = (struct generated_storage){.args = launch->args, .whole = launch->args};
    if (launch->split)
        storage->args = launch->part_args;
    add_buffer(generated, launch->split ? "workspace" : "o", (size_t)launch->part_bytes, 1);
    add_buffer(generated, launch->split ? "workspace" : "lse", (size_t)launch->part_bytes, 1);
    add_bytes(generated, "args", sizeof storage->args, &storage->args);
    if (!launch->split)
        return;
    add_bytes(generated, "whole", sizeof storage->whole, &storage->whole);
    add_buffer(generated, "o", 0, 1);
    add_buffer(generated, "lse", 0, 1);
    add_mark(generated);
}

static void list_arguments(const struct fcl_problem *problem, const struct fcl_launch *launch,
                           struct fcl_generated *generated)
{
    static const char *const tensors[] = {"q", "k", "v"}, *const metadata[] = {"cu_q", "cu_k",
                                                                               "used_q", "used_k",
                                                                               "table"};
    for (size_t i = 0; i < FCL_COUNT(tensors); i++)
        add_buffer(generated, tensors[i], 0, 1);
    list_outputs(launch, generated);
    if (launch->state_bytes) {
        add_buffer(generated, "workspace", (size_t)launch->state_bytes, 1);
        add_mark(generated);
    }
    add_buffer(generated, "sinks", 0, problem->sink);
    add_buffer(generated, "slopes", 0, problem->alibi == FCL_ALIBI_GIVEN);
    add_buffer(generated, "bias", 0, problem->bias != FCL_BIAS_NONE);
    add_buffer(generated, "visible", 0, problem->visible);
    for (size_t i = 0; i < FCL_COUNT(metadata); i++)
        add_buffer(generated, metadata[i], 0, fcl_problem_has_sequences(problem));
}

static enum fcl_status fill(const struct fcl_problem *problem, const struct fcl_config *config,
                            const struct fcl_caps *caps, const char *kernel_folder,
                            struct fcl_generated *generated, char *reason, size_t size)
{
    struct fcl_text source = {0}, label = {0}, flags = {0};
    struct fcl_launch launch;
    enum fcl_status status =
        fcl_spec_source(problem, config, FCL_FUSED, kernel_folder, &source, reason, size);
    fcl_spec_label(problem, config, FCL_FUSED, &label);
    generated->source = source.data;
    generated->label = label.data;
    fcl_text_add(&flags, "-cl-std=CL1.2");
    fcl_spec_flags(config, &flags);
    generated->flags = flags.data;
    generated->storage = malloc(sizeof(struct generated_storage));
    if (!status)
        status = prepare(problem, config, caps, &launch, reason, size);
    if (!status && (source.failed || label.failed || flags.failed || !generated->storage))
        status = fcl_fail(reason, size, FCL_OUT_OF_MEMORY, "no memory for the kernel's source");
    if (status)
        return status;
    generated->group_size = fcl_config_group_size(config);
    generated->groups = (size_t)launch.groups;
    generated->local_bytes = fcl_config_local_bytes(config, problem);
    list_arguments(problem, &launch, generated);
    return FCL_OK;
}

enum fcl_status fcl_attention_generate(const struct fcl_problem *problem,
                                       const struct fcl_caps *caps, const struct fcl_config *config,
                                       const char *kernel_folder, struct fcl_generated *generated,
                                       char *reason, size_t size)
{
    struct fcl_problem full;
    struct fcl_config chosen;
    if (!problem || !caps || !generated)
        return fcl_fail(reason, size, FCL_INVALID_ARGUMENT, "%s is NULL",
                        !problem ? "problem"
                        : caps   ? "generated"
                                 : "caps");
    *generated = (struct fcl_generated){0};
    enum fcl_status status = fcl_problem_complete(problem, &full, reason, size);
    if (!status)
        status = choose(&full, caps, config, &chosen, reason, size);
    if (!status)
        status = fill(&full, &chosen, caps, kernel_folder, generated, reason, size);
    if (status)
        fcl_generated_free(generated);
    return status;
}

void fcl_generated_free(struct fcl_generated *generated)
{
    if (!generated)
        return;
    free(generated->source);
    free(generated->flags);
    free(generated->label);
    free(generated->storage);
    *generated = (struct fcl_generated){0};
}
