#!/bin/sh
# Installs two more implementations of OpenCL to test on: Mesa's rusticl (a package of Debian; it has devices only where
# RUSTICL_ENABLE names them) and Intel's runtime for CPUs (packages of PyPI, 260 MB to fetch, into FOLDER, by default
# where the tests look for it). What cannot be had is left out with a reason. Does nothing where both are there.
# usage: more_opencl.sh [FOLDER]
set -u
tools=$(cd "$(dirname "$0")" && pwd)
folder=${1:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/flashcl-tests/intel}

left_out() {
    echo "left out: $1: $2" >&2
}

sh "$tools/packages.sh" mesa-opencl-icd || left_out rusticl 'mesa-opencl-icd could not be installed'

[ ! -e "$folder/vendors/intel.icd" ] || exit 0
if [ "$(uname -m)" != x86_64 ]; then
    left_out "Intel's runtime" "it is for x86_64, this is $(uname -m)"
    exit 0
fi
python3 -m pip --version >/dev/null 2>&1 || sh "$tools/packages.sh" python3-pip
rm -rf "$folder"
if ! python3 -m pip install -q --no-cache-dir --no-warn-script-location --root-user-action=ignore --prefix "$folder" \
    intel-opencl-rt==2026.2.0 intel-cmplr-lib-rt==2026.2.0; then
    left_out "Intel's runtime" 'pip could not install intel-opencl-rt'
    exit 0
fi
library=$(find "$folder" -name libintelocl.so | head -n 1)
if ! { mkdir "$folder/vendors" && echo "$library" >"$folder/vendors/intel.icd"; }; then
    left_out "Intel's runtime" "$folder cannot be written"
fi
