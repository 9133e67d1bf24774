#!/bin/sh
# A device test on another implementation of OpenCL than the one that is first here. The caches of drivers are empty.
# usage: elsewhere.sh rusticl|intel PROGRAM
set -u
caches=$(mktemp -d "${TMPDIR:-/tmp}/flashcl-elsewhere-XXXXXX") || exit 1
trap 'rm -rf "$caches"' EXIT
case $1 in
rusticl) export RUSTICL_ENABLE=llvmpipe MESA_SHADER_CACHE_DIR="$caches" FCL_TEST_DEVICE=rusticl ;;
intel)
    vendors=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/flashcl-tests/intel/vendors
    if [ ! -e "$vendors/intel.icd" ]; then
        echo "skipped: Intel's runtime is not there; sh tools/more_opencl.sh installs it"
        exit 77
    fi
    export OCL_ICD_VENDORS="$vendors" FCL_TEST_DEVICE='Intel(R) OpenCL'
    ;;
esac
"$2"
