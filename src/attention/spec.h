// A spec is everything that is baked into a kernel: the part of a problem that is not an argument,
// and the configuration. From it come the kernel's label, its #define prelude and its complete
// source.
#ifndef FCL_ATTENTION_SPEC_H
#define FCL_ATTENTION_SPEC_H

#include <flashcl/tune.h>

#include "core/text.h"
#include "problem.h"

// X(MACRO, value), over `p` (a completed problem), `c` (a configuration), `l` (its local layout).
// kernels/lib/config.clh says what each means.
#define FCL_SPEC_FIELDS(X)                                  \
    X(HEAD_QK, p->head_dim_qk)                              \
    X(HEAD_V, p->head_dim_v)                                \
    X(DTYPE_Q, (int)p->dtype_q)                             \
    X(DTYPE_K, (int)p->dtype_k)                             \
    X(DTYPE_V, (int)p->dtype_v)                             \
    X(DTYPE_O, (int)p->dtype_o)                             \
    X(BOUND_LEFT, fcl_problem_bounds_left(p))               \
    X(BOUND_RIGHT, fcl_problem_bounds_right(p))             \
    X(SOFTCAP, p->softcap > 0)                              \
    X(SINK, p->sink)                                        \
    X(VARLEN, p->varlen)                                    \
    X(USED, p->used)                                        \
    X(PAGED, p->page > 0)                                   \
    X(STATISTICS, p->pass == FCL_PASS_STATISTICS)           \
    X(LSE, p->lse || p->pass == FCL_PASS_STATISTICS)        \
    X(GUARD_V, p->guard_v)                                  \
    X(STRIDED, p->strided)                                  \
    X(LANES, c->family == FCL_FAMILY_VECTOR ? c->width : 0) \
    X(ASCENDING, c->family == FCL_FAMILY_ROW)               \
    X(IN_TURN, fcl_spec_in_turn(p, c))                      \
    X(JOINS, fcl_config_joins(c))                           \
    X(ALIGN, p->alignment)                                  \
    X(AT_RIGHT, l->right)                                   \
    X(AT_SCORES, l->scores)                                 \
    X(AT_PARTS, l->parts)                                   \
    X(AT_VALUES, l->values)                                 \
    X(AT_ONES, l->ones)                                     \
    X(RIGHT_FLOATS, l->right_floats)                        \
    X(VALUE_KEYS, l->value_keys)                            \
    X(LOCAL_FLOATS, l->total)                               \
    X(ALIBI, p->alibi != FCL_ALIBI_NONE)                    \
    X(SLOPES_GIVEN, p->alibi == FCL_ALIBI_GIVEN)            \
    X(BIAS, p->bias != FCL_BIAS_NONE)                       \
    X(DTYPE_BIAS, (int)fcl_bias_dtype(p->bias))             \
    X(VISIBLE, p->visible)

// Whether the parts of split keys take blocks of keys in turn: what work-groups of a GPU read at
// the same time then lies side by side, 1 to 3 % of a decode on an H200. Pages lie anywhere, blocks
// that a tensor may hide are looked at in their order, and nvidia_wgmma counts on blocks that
// follow on one another.
int fcl_spec_in_turn(const struct fcl_problem *problem, const struct fcl_config *config);

// Appends the label, such as fwd_f16_d128_causal__vector_m64n64l16k4c4: a C identifier.
void fcl_spec_label(const struct fcl_problem *problem, const struct fcl_config *config,
                    enum fcl_implementation implementation, struct fcl_text *label);

// Appends the complete source: the prelude, then the algorithm with its includes expanded. Errors:
// those of fcl_source_expand.
enum fcl_status fcl_spec_source(const struct fcl_problem *problem, const struct fcl_config *config,
                                enum fcl_implementation implementation, const char *kernel_folder,
                                struct fcl_text *source, char *reason, size_t size);

// Appends what the compiler is told besides the language's version, a space before each option.
void fcl_spec_flags(const struct fcl_config *config, struct fcl_text *flags);

#endif
