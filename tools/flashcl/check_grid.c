// One row for each kind of input that has broken attention somewhere: head dims, element types,
// masks, grouped heads, ragged lengths, layouts, promises and the statistics pass.
#include "check_grid.h"

const char *const check_grid[] = {
    // Head dims, from 1 to the limit, with ragged lengths.
    "fwd q65 k129 d1 f32",
    "fwd q33 k65 d5 f32",
    "fwd q127 k63 d16 f16",
    "fwd q63 k127 d40 f16",
    "fwd h2 q129 k65 d64 f32",
    "fwd q31 k65 d72 f32",
    "fwd q65 k33 d80 f16 causal-br",
    "fwd q33 k33 d96 bf16",
    "fwd q17 k65 d100 f32",
    "fwd q65 k17 d112 f16",
    "fwd h2 q65 k129 d128 f16",
    "fwd q33 k65 d160 f32",
    "fwd q33 k65 d192 f16",
    "fwd q65 k65 d256 bf16",
    "fwd q17 k33 d320 f32",
    "fwd q17 k33 d512 f16",
    "fwd q9 k17 d576 f32",
    "fwd q7 k17 d1024 f16",
    "fwd q33 k65 d192/128 f16 causal-tl",
    "fwd q17 k33 d576/512 bf16",
    "fwd q33 k65 d128/64 f32",
    "fwd q33 k65 d64/128 f32",
    // Element types.
    "fwd h2 q65 k65 d64 f16",
    "fwd h2 q65 k65 d64 bf16",
    "fwd q33 k65 d64 q:f16 k:bf16 v:f32 o:f32",
    "fwd q33 k65 d64 q:f32 k:f16 v:f16 o:bf16",
    // Masks, with unequal lengths and rows that see nothing.
    "fwd q1 k16 d64 f32 causal-tl",
    "fwd q1 k16 d64 f32 causal-br",
    "fwd q9 k4 d64 f32 causal-br",
    "fwd q129 k65 d64 f32 causal-br lse",
    "fwd q65 k129 d64 f32 causal-tl lse",
    "fwd q127 k127 d64 f16 causal-tl",
    "fwd q128 k129 d64 f16 causal-br",
    "fwd q1000 k17 d64 f16 causal-br",
    // Windows, on either side of where a query stands.
    "fwd q129 k200 d64 f16 causal-br win=40,0 lse",
    "fwd q129 k65 d64 f32 causal-tl win=0,-1",
    "fwd h4/2 q100 k131 d64 f16 br win=17,70 lse",
    "fwd q300 k33 d40 f32 tl win=64,5 lse",
    "fwd h8/2 q1 k1000 d128 f16 br win=255,-1",
    // Slopes, of a power of two of heads and of others.
    "fwd h4/2 q65 k129 d64 f32 causal-br alibi lse",
    "fwd h6/2 q129 k65 d64 f16 tl alibi lse",
    "fwd h12/2 q1 k1000 d128 f16 causal-br alibi=given lse",
    // Biases, of each type and with what else is added.
    "fwd h4/2 q65 k129 d64 f32 bias=f32 lse",
    "fwd b2 h4/2 q129 k65 d64 f16 causal-br bias=f16 lse",
    "fwd h12/2 q1 k1000 d128 f16 bias=bf16 lse",
    "fwd h2 q65 k129 d64 f32 br win=64,9 softcap=3 bias=f16 alibi sink",
    // Masks from memory, which hide parts, all and nothing of a block.
    "fwd b2 h4/2 q200 k500 d64 f32 mask=u8 lse",
    "fwd h4/2 q200 k500 d64 f16 causal-br bias=f16 mask=u8 lse",
    "fwd h12/2 q1 k1000 d128 f16 mask=u8 sink lse",
    // Sinks, also of rows without keys.
    "fwd h4/2 q65 k129 d64 f16 sink lse",
    "fwd h4/2 q129 k65 d64 f32 causal-br sink lse",
    "fwd h8/2 q1 k1000 d128 f16 causal-br sink lse",
    // Sequences of different lengths: padded, packed, in pages.
    "fwd b3 h4/2 q65 k129 d64 f16 causal-br used lse",
    "fwd b9 h4/2 q65 k129 d64 f32 causal-br varlen lse",
    "fwd b9 h8/2 q1 k500 d128 f16 causal-br varlen used sink lse",
    "fwd b3 h8/2 q1 k500 d128 f16 causal-br page=16 lse",
    "fwd b5 h4/2 q33 k100 d64 f32 br win=40,5 varlen page=17 layout=bshd lse",
    // Capped scores.
    "fwd h2 q65 k129 d64 f32 softcap=2 lse",
    "fwd h4/2 q129 k65 d128 f16 causal-br softcap=30",
    // Lengths: nothing, one, block edges, long.
    "fwd q0 k5 d64 f32",
    "fwd q5 k0 d64 f32 lse",
    "fwd b0 q5 k5 d64 f32",
    "fwd q1 k1 d64 f32",
    "fwd q2 k3 d64 f32",
    "fwd q7 k15 d64 f32",
    "fwd q16 k17 d64 f32",
    "fwd q1 k1000 d64 f16",
    "fwd q1000 k1 d64 f16",
    "fwd q1000 k1000 d64 f32",
    // Heads and batches.
    "fwd b2 h6/2 q33 k65 d64 f32",
    "fwd h28/4 q17 k33 d64 f16 causal-br",
    "fwd h48/2 q5 k33 d64 f16",
    "fwd h12/1 q17 k33 d64 f32",
    "fwd b3 h7/7 q17 k33 d64 f32 causal-tl",
    "fwd b300 h16 q1 k1 d128 f32",
    // Layouts and promises.
    "fwd b2 h3 q33 k65 d64 f32 layout=bshd",
    "fwd b2 h4/2 q33 k65 d80 f16 causal-br layout=bshd lse",
    "fwd q33 k65 d64 f16 align=2",
    "fwd q33 k65 d64 f32 align=4",
    "fwd q33 k65 d64 f32 strided",
    "fwd q33 k65 d64 f32 causal-tl guard-v",
    // Statistics only.
    "lse h2 q65 k129 d64 f32",
    "lse q65 k65 d80 f16 causal-tl",
    "lse q129 k65 d128 bf16 causal-br",
    "lse h6/2 q33 k65 d256 f16",
};

const size_t check_grid_count = sizeof(check_grid) / sizeof(check_grid[0]);
