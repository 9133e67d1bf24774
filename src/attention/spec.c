// From a problem and a configuration to a label, a prelude and a complete source.
#include "spec.h"

#include <stdio.h>

#include "core/source.h"
#include "space.h"

static void add_dtypes(const struct fcl_problem *p, struct fcl_text *label)
{
    fcl_text_add(label, "_%s", fcl_dtype_text(p->dtype_q));
    if (p->dtype_k != p->dtype_q || p->dtype_v != p->dtype_q || p->dtype_o != p->dtype_q)
        fcl_text_add(label, "_%s_%s_%s", fcl_dtype_text(p->dtype_k), fcl_dtype_text(p->dtype_v),
                     fcl_dtype_text(p->dtype_o));
}

static void add_dims(const struct fcl_problem *p, struct fcl_text *label)
{
    fcl_text_add(label, "_d%d", p->head_dim_qk);
    if (p->head_dim_v != p->head_dim_qk)
        fcl_text_add(label, "_%d", p->head_dim_v);
}

void fcl_spec_label(const struct fcl_problem *problem, const struct fcl_config *config,
                    enum fcl_implementation implementation, struct fcl_text *label)
{
    char tail[128];
    fcl_config_format(config, tail, sizeof tail);
    fcl_text_add(label, "%s%s", implementation == FCL_UNFUSED ? "unfused_" : "",
                 problem->pass == FCL_PASS_STATISTICS ? "lse" : "fwd");
    add_dtypes(problem, label);
    add_dims(problem, label);
    const struct {
        int set;
        const char *word;
    } features[] = {
        {fcl_problem_is_causal(problem), "_causal"},
        {fcl_problem_bounds_left(problem), "_left"},
        {fcl_problem_bounds_right(problem) && !fcl_problem_is_causal(problem), "_right"},
        {problem->softcap > 0, "_softcap"},
        {problem->bias != FCL_BIAS_NONE, "_bias_"},
        {problem->bias != FCL_BIAS_NONE, fcl_dtype_text(fcl_bias_dtype(problem->bias))},
        {problem->alibi != FCL_ALIBI_NONE, "_alibi"},
        {problem->alibi == FCL_ALIBI_GIVEN, "_given"},
        {problem->visible, "_mask"},
        {problem->sink, "_sink"},
        {problem->varlen, "_varlen"},
        {problem->used && !problem->page, "_used"},
        {problem->page > 0, "_paged"},
        {problem->lse && problem->pass == FCL_PASS_FORWARD, "_lse"},
        {problem->guard_v, "_guard"},
        {problem->strided, "_strided"},
    };
    for (size_t i = 0; i < FCL_COUNT(features); i++)
        if (features[i].set)
            fcl_text_add(label, "%s", features[i].word);
    if (problem->alignment != 16)
        fcl_text_add(label, "_align%d", problem->alignment);
    fcl_text_add(label, "__%s", tail);
}

void fcl_spec_flags(const struct fcl_config *config, struct fcl_text *flags)
{
    if (config->family == FCL_FAMILY_NVIDIA_MMA && config->resident)
        fcl_text_add(flags, " -cl-nv-maxrregcount=%d", fcl_config_registers(config));
}

int fcl_spec_in_turn(const struct fcl_problem *problem, const struct fcl_config *config)
{
    const int can = config->family == FCL_FAMILY_GENERIC || config->family == FCL_FAMILY_NVIDIA_MMA;
    return can && config->splits > 1 && !problem->page && !problem->visible;
}

static void add_prelude(const struct fcl_problem *p, const struct fcl_config *c,
                        enum fcl_implementation implementation, struct fcl_text *source)
{
    const struct fcl_local_layout layout = fcl_local_layout(c, p), *l = &layout;
    fcl_text_add(source, "#define FCL_KERNEL ");
    fcl_spec_label(p, c, implementation, source);
    fcl_text_add(source, "\n");
#define FCL_X(name, value) fcl_text_add(source, "#define FCL_" #name " %d\n", value);
    FCL_SPEC_FIELDS(FCL_X)
#undef FCL_X
#define FCL_X(field, key, macro, families, meaning) \
    fcl_text_add(source, "#define FCL_" #macro " %d\n", c->field);
    FCL_CONFIG_FIELDS(FCL_X)
#undef FCL_X
}

enum fcl_status fcl_spec_source(const struct fcl_problem *problem, const struct fcl_config *config,
                                enum fcl_implementation implementation, const char *kernel_folder,
                                struct fcl_text *source, char *reason, size_t size)
{
    char tile[64];
    snprintf(tile, sizeof tile, "tile/%s.clh", fcl_family_text(config->family));
    const char *const macros[] = {"FCL_TILE_FILE", tile, NULL};
    add_prelude(problem, config, implementation, source);
    return fcl_source_expand(implementation == FCL_UNFUSED ? "attention/unfused.cl"
                                                           : "attention/forward.cl",
                             kernel_folder, macros, source, reason, size);
}
