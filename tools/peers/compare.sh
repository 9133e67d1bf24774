#!/bin/sh
# Times FlashCL on the CPU and its rivals in turn, round after round, and ends with a table of ratios:
#     sh tools/peers/compare.sh [-n ROUNDS] [-s SAMPLES] [-b MS] [-c CORE]... [-f FLASHCL] [-o FOLDER] [PROBLEM...]
# -c: one more core type that OpenBLAS is to pretend (OPENBLAS_CORETYPE), -f: the command to time (default: built
# here), -o: where all rows stay, FCL_PYTHON: a Python that has torch, FCL_DEVICE: the OpenCL device.
# Installs what is missing; builds into $FCL_BUILD (build-peers).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
start=$(pwd)

usage() {
    sed -n '2,6s/^# \{0,1\}//p' "$here/compare.sh" >&2
    exit 2
}

rounds=3 samples=9 batch=100 flashcl='' folder='' cores=''
while getopts n:s:b:c:f:o: option; do
    case $option in
    n) rounds=$OPTARG ;;
    s) samples=$OPTARG ;;
    b) batch=$OPTARG ;;
    c) cores="$cores $OPTARG" ;;
    f) flashcl=$OPTARG ;;
    o) folder=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
if [ $# = 0 ]; then
    for shape in 'fwd h8 q1024 d64' 'fwd h8 q1024 d128' 'fwd h4 q4096 d64' 'fwd b2 h12 q1000 d80'; do
        set -- "$@" "$shape" "$shape causal-br"
    done
fi

# OpenBLAS may not know the CPU, and then it takes kernels that are too old for it.
grep -qw avx512f /proc/cpuinfo 2>/dev/null && cores="SkylakeX$cores"

case $flashcl in '' | /*) ;; *) flashcl=$start/$flashcl ;; esac
case $folder in '' | /*) ;; *) folder=$start/$folder ;; esac
cd "$here/../.."
sh tools/packages.sh libopenblas-dev
build=${FCL_BUILD:-build-peers}
[ -d "$build" ] || meson setup "$build" -Dpeers=true -Dtests=false -Dexamples=false >/dev/null
ninja -C "$build" >"$build/ninja.log" || { cat "$build/ninja.log"; exit 1; }
[ -n "$flashcl" ] || flashcl=$build/tools/flashcl/flashcl
openblas=$build/tools/peers/openblas-flash
folder=${folder:-$build/compare}
mkdir -p "$folder"
rm -f "$folder"/round-*.json

python=${FCL_PYTHON:-python3}
device=${FCL_DEVICE:-Portable Computing Language:}

# Whether a verb of flashcl knows an option.
knows() {
    "$flashcl" "$1" --help 2>/dev/null | grep -q -e "$2"
}

# Keeps the rows of one command in a file. A status in a row says more than an exit code; without rows it has failed.
rows() {
    file=$1
    shift
    code=0
    "$@" >"$file" || code=$?
    [ -s "$file" ] || { echo "compare.sh: exit code $code from: $*" >&2; exit 1; }
}

sampling=''
for option in samples batch-ms; do
    knows bench "--$option" && sampling="$sampling $option"
done
bench() {
    for option in $sampling; do
        case $option in
        samples) set -- "$@" --samples "$samples" ;;
        batch-ms) set -- "$@" --batch-ms "$batch" ;;
        esac
    done
    "$flashcl" bench --json --device "$device" "$@"
}

measure() {
    problem=$1
    prefix=$2
    set -- --samples "$samples" --batch-ms "$batch" "$problem"
    rows "$prefix-flashcl.json" bench "$problem"
    rows "$prefix-openblas.json" env -u OPENBLAS_CORETYPE "$openblas" "$@"
    for core in $cores; do
        rows "$prefix-openblas-$core.json" env OPENBLAS_CORETYPE="$core" "$openblas" "$@"
    done
    if [ -n "$torch" ]; then
        rows "$prefix-torch.json" "$python" "$here/torch_cpu.py" "$@"
    fi
}

torch=''
"$python" -W ignore -c 'import torch' 2>/dev/null && torch=1
[ -n "$torch" ] || echo "$python cannot import torch: compared without PyTorch" >&2
peak=''
knows peak --again && peak=1
for round in $(seq "$rounds"); do
    number=0
    [ -z "$peak" ] || rows "$folder/round-$round-peak.json" "$flashcl" peak --again --json --device "$device"
    for problem in "$@"; do
        number=$((number + 1))
        echo "round $round/$rounds: $problem" >&2
        measure "$problem" "$folder/round-$round-$number"
    done
done
exec python3 "$here/merge.py" --output "$folder" "$folder"/round-*.json
