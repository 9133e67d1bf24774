#!/bin/sh
# Installs what is missing, builds FlashCL with warnings as errors and runs every test. The last line says how many
# passed, failed and were skipped; the exit code is 0 when none failed.
set -eu
cd "$(dirname "$0")/.."
sh tools/packages.sh g++ oclgrind clang
sh tools/more_opencl.sh
build=${FCL_BUILD:-build-test}
[ -d "$build" ] || meson setup "$build" -Dwerror=true
ninja -C "$build"
meson test -C "$build" --no-rebuild --print-errorlogs || true
python3 tools/test_summary.py "$build/meson-logs/testlog.json"
