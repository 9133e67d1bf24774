#!/bin/sh
# From nothing to a result: installs what is missing, builds FlashCL, and times fused against unfused attention on
# the CPU through PoCL. Everything built stays in build-quickstart/.
set -eu
cd "$(dirname "$0")/.."
echo '== packages'
sh tools/packages.sh
echo '== build'
[ -d build-quickstart ] || meson setup build-quickstart -Dtests=false >/dev/null
ninja -C build-quickstart >build-quickstart/ninja.log || { cat build-quickstart/ninja.log; exit 1; }
flashcl=build-quickstart/tools/flashcl/flashcl
echo '== devices'
"$flashcl" info
echo
echo '== right? (against double precision)'
"$flashcl" check --device 'Portable Computing Language:' 'fwd h8 q1000 d80 f16 causal-br' 'fwd h6/2 q77 k131 d64 lse'
echo
echo '== fast? (fused attention against three kernels with a score matrix)'
"$flashcl" bench --device 'Portable Computing Language:' --impl fused,unfused --sweep q=256:2048:x2 'fwd h8 d64'
