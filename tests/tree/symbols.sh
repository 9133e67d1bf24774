#!/bin/sh
# symbols.sh LIBRARY: everything that the shared library exports is called fcl_*.
set -eu
names=$(nm -D --defined-only "$1" | awk '{print $3}')
[ -n "$names" ] || { echo "no symbol is exported"; exit 1; }
echo "$names" | grep -q '^fcl_attention_enqueue$' || { echo "fcl_attention_enqueue is not exported"; exit 1; }
foreign=$(echo "$names" | grep -v '^fcl_' || true)
[ -z "$foreign" ] || { echo "exported, but not ours by name:"; echo "$foreign"; exit 1; }
