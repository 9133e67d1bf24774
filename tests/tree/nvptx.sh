#!/bin/sh
# The kernels for NVIDIA GPUs, compiled without one: clang must take the text of each, all its matrix products must be
# there, and no array of a tile may have ended in memory. TAP output.
# usage: nvptx.sh FLASHCL CAPS
set -u
flashcl=$1 caps=$2
clang=
for name in clang clang-19 clang-16 clang-15 clang-14; do
    if $name --print-targets 2>/dev/null | grep -q nvptx64; then
        clang=$name
        break
    fi
done
if [ -z "$clang" ]; then
    echo "1..0 # SKIP no clang that knows nvptx64"
    exit 0
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/flashcl-nvptx-XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
tests=0 failures=0

report() { # status, name
    tests=$((tests + 1))
    [ "$1" -eq 0 ] && echo "ok $tests - $2" && return
    failures=$((failures + 1))
    echo "not ok $tests - $2"
    head -20 "$work/log" | sed 's/^/# /'
}

# compiled PROBLEM CONFIG PRODUCTS: how many matrix instructions the text holds; 0: it is of a tile without.
compiled() {
    {
        "$flashcl" dump --caps "$caps" --config "$2" "$1" >"$work/kernel.cl" &&
            $clang -x cl -cl-std=CL1.2 -target nvptx64-unknown-nvidiacl -Xclang -finclude-default-header -Dcl_khr_fp16=1 \
                -Xclang -target-cpu -Xclang sm_80 -Dasm=__asm__ -D__NV_CL_C_VERSION=120 -Werror -Wno-pass-failed -O3 -S \
                -o "$work/kernel.ptx" "$work/kernel.cl"
    } >"$work/log" 2>&1
    report $? "$2 compiles for $1"
    [ "$3" -eq 0 ] && return
    found=$(grep -cE 'mma\.sync|wgmma\.mma_async' "$work/kernel.ptx" 2>/dev/null)
    echo "found $found" >"$work/log"
    [ "$found" = "$3" ]
    report $? "it has $3 products"
    grep '__local_depot' "$work/kernel.ptx" >"$work/log" 2>/dev/null
    [ $? -eq 1 ]
    report $? "no array in memory"
}

compiled 'fwd h16 q8192 d128 f16' nvidia_mma_m128n64w128 256
compiled 'fwd h16 q8192 d128 bf16 causal-br lse' nvidia_mma_m128n32w128t2 128
compiled 'fwd h16 q8192 d64 f16 causal-br' nvidia_mma_m128n128w128 256
compiled 'fwd h16 q8192 d64 f16' nvidia_mma_m128n64w128q1 128
compiled 'fwd h16/4 q1 k8192 d80/72 bf16 causal-tl' nvidia_mma_m16n64w32g1 80
compiled 'fwd h16/4 q1 k8192 d128 f16 lse' nvidia_mma_m16n64w32t2g1s32 128
compiled 'fwd b4 h16/4 q8 k8192 d64 bf16 varlen page=16 sink' nvidia_mma_m64n64w128t2g1s4 64
compiled 'fwd h16 q8192 d256 f16' nvidia_mma_m128n64w256 256
compiled 'lse h16 q8192 d64 f16' nvidia_mma_m128n64w128 64
compiled 'fwd b4 h16 q8192 d128 f16 causal-br varlen lse' nvidia_mma_m128n64w128 256
compiled 'fwd b4 h16/4 q8 k8192 d128 f16 varlen page=16' nvidia_mma_m64n64w128g1 128
compiled 'fwd h16 q8192 d128 f16 causal-br lse' nvidia_wgmma_m128n128w384t2a1 48
compiled 'fwd h16 q8192 d256 bf16' nvidia_wgmma_m128n64w384t2a2 56
compiled 'fwd h16 q8192 d128 f16 causal-br alibi' nvidia_mma_m64n64w128 128
compiled 'fwd h6/2 q8192 d64 f16 causal-br alibi=given bias=f16' nvidia_mma_m128n64w128t2 128
compiled 'fwd h16 q8192 d128 bf16 causal-br bias=f32 mask=u8' nvidia_mma_m128n32w128t2 128
compiled 'fwd h16/4 q1 k8192 d128 f16 mask=u8' nvidia_mma_m16n64w32g1 128
compiled 'fwd h16 q64 k8192 d64 f16 mask=u8 bias=f16' generic_m16n8w16r4d32 0
echo "1..$tests"
[ "$failures" -eq 0 ]
