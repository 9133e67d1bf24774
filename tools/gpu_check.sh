#!/bin/sh
# FlashCL on a machine with a GPU: builds, runs the device tests on the GPU and on the CPU device, times FlashCL and
# PyTorch's attention in turn, and ends with a table of TFLOP/s or GB/s and ratios. Takes less than --limit seconds.
#     sh tools/gpu_check.sh [OPTION...] [PROBLEM...]
#   --device WORD       the device, as flashcl takes it (default: the first GPU; where there is none, a CPU device
#                       and tiny problems, to try this script)
#   --families LIST     what to time, in columns of their own: `default` is what FlashCL chooses, a word such as
#                       generic that family's first choice, a text such as generic_m32n32w64r4d64 that configuration
#   --backends LIST     of PyTorch: flash,cudnn,efficient,math (all)
#   --dtype TYPE        f16 (default), bf16 or f32; --dims LIST head dims (64,128, of --decode 128)
#   --decode            few queries: launches take copies of keys and values in turn, as many as have 400 MB together,
#                       up to 16; FlashCL is timed with --clock wall, as PyTorch's times have gaps between launches,
#                       too; the table is in GB/s. Without problems: one query of 32 heads over 8 heads of 8192 and
#                       131072 keys
#   --rounds N          every program is timed N times, in turn (3); --samples N (9) and --batch-ms MS (20) each time
#   --quick             half the lengths
#   --no-tests, --no-bench
#   --limit SECONDS     no round begins that would not end in this time (460)
#   --output FOLDER     where rows and logs stay (check/ in the build folder)
#   --table FOLDER      only prints the table of what an earlier run has left there
#   --list              only prints the problems, with --decode each behind its number of copies
# Without problems and --decode: hidden size 2048, 16384 tokens, N of 512 to 16384, head dims 64 and 128, full and causal.
# FCL_BUILD: the build folder (build-gpu). FCL_PYTHON: a Python that has torch. Where a tool or library to build with
# is missing, root on Debian gets it by tools/packages.sh; nothing else is installed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
begin=$(date +%s)

say() {
    echo "gpu_check: $*" >&2
}

usage() {
    sed -n '2,/^set /s/^# \{0,1\}//p' "$here/gpu_check.sh" >&2
    exit 2
}

device='' families=default backends=flash,cudnn,efficient,math dtype=f16 dims='' rounds=3 samples=9 batch=20
limit=460 decode='' quick='' tests=1 times=1 folder='' only=''
while [ $# -gt 0 ]; do
    case $1 in
    --decode) decode=1 ;;
    --quick) quick=1 ;;
    --no-tests) tests='' ;;
    --no-bench) times='' ;;
    --list) only=list ;;
    --device | --families | --backends | --dtype | --dims | --rounds | --samples | --batch-ms | --limit | --output | --table)
        [ $# -gt 1 ] || usage
        case $1 in
        --device) device=$2 ;;
        --families) families=$(echo "$2" | tr , ' ') ;;
        --backends) backends=$2 ;;
        --dtype) dtype=$2 ;;
        --dims) dims=$(echo "$2" | tr , ' ') ;;
        --rounds) rounds=$2 ;;
        --samples) samples=$2 ;;
        --batch-ms) batch=$2 ;;
        --limit) limit=$2 ;;
        --output) folder=$2 ;;
        --table) folder=$2 only=table ;;
        esac
        shift
        ;;
    -*) usage ;;
    *) break ;;
    esac
    shift
done
case $rounds$samples$limit in *[!0-9]*) usage ;; esac

# ---- the table

# The middle of a row file's name says what was timed: round-1.default.1.json.
table() {
    set --
    for file in "$folder"/round-*.json; do
        [ -s "$file" ] || continue
        word=$(basename "$file" | cut -d. -f2)
        case $word in
        torch) set -- "$@" "$file" ;;
        default) set -- "$@" "flashcl=$file" ;;
        *) set -- "$@" "$word=$file" ;;
        esac
    done
    [ $# -gt 0 ] || { say "no rows in $folder"; return 1; }
    python3 "$here/peers/merge.py" --rates ${decode:+--bytes} --against torch-flash,torch-cudnn --output "$folder" "$@"
}

# ---- problems, a line each

type=" $dtype"
[ "$dtype" != f32 ] || type=''

problems() {
    hidden=2048 tokens=16384 lengths='512 2048 8192 16384'
    [ -z "$tiny" ] || { hidden=256 tokens=512 lengths='32 64 256 512'; }
    [ -z "$quick" ] || lengths=$(echo "$lengths" | cut -d' ' -f2,3)
    for dim in ${dims:-64 128}; do
        for mask in '' ' causal-br'; do
            for length in $lengths; do
                echo "fwd b$((tokens / length)) h$((hidden / dim)) q$length d$dim$type$mask"
            done
        done
    done
}

# Batch and keys are words of the problem, joined here.
decode_problems() {
    shapes='b1,k8192 b8,k8192 b64,k8192 b1,k131072'
    [ -z "$tiny" ] || shapes='b1,k64 b2,k64 b4,k64 b1,k256'
    [ -z "$quick" ] || shapes=$(echo "$shapes" | cut -d' ' -f2,3)
    for dim in ${dims:-128}; do
        for shape in $shapes; do
            echo "fwd ${shape%,*} h32/8 q1 ${shape#*,} d$dim$type"
        done
    done
}

# Lines `COPIES PROBLEM` of lines `PROBLEM`; one copy where PyTorch's programs cannot read a problem.
with_copies() {
    python3 -B -c '
import sys
sys.path.insert(0, sys.argv[1])
import torch_rows
for line in sys.stdin:
    try:
        copies = torch_rows.copies_for(torch_rows.parse(line), 400e6, 16)
    except torch_rows.Unsupported:
        copies = 1
    print(copies, line, end="")' "$here/peers"
}

tiny=''
case $only in
list)
    if [ -n "$decode" ]; then decode_problems | with_copies; else problems; fi
    exit
    ;;
table) table; exit ;;
esac

# ---- the build

cd "$here/.."
build=${FCL_BUILD:-build-gpu}
folder=${folder:-$build/check}
python=${FCL_PYTHON:-python3}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
rm -f "$folder"/round-*.json "$folder"/*.txt
flashcl=$build/tools/flashcl/flashcl
with_tests=$([ -n "$tests" ] && echo true || echo false)

configure() {
    if [ -f "$build/build.ninja" ]; then
        meson configure "$build" -Dtests="$with_tests"
    else
        meson setup "$build" -Dbuildtype=release -Dexamples=false -Dtests="$with_tests"
    fi
}

echo '== build'
if ! configure >"$folder/configure.txt" 2>&1; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        cat "$folder/configure.txt"
        exit 1
    fi
    say 'something to build with is missing: tools/packages.sh'
    sh tools/packages.sh || say 'tools/packages.sh has failed'
    configure >"$folder/configure.txt" 2>&1 || { cat "$folder/configure.txt"; exit 1; }
fi
ninja -C "$build" >"$folder/build.txt" 2>&1 || { cat "$folder/build.txt"; exit 1; }
echo "built in $(($(date +%s) - begin)) s"

# ---- devices

# Lines `INDEX TYPE DEFAULT NAME`.
devices() {
    "$flashcl" info --json "$@" 2>/dev/null | python3 -c '
import json, sys
for row in json.loads(sys.stdin.read() or "[]"):
    print(row["index"], row["type"], row["default"], row["device"])'
}

echo
echo '== devices'
devices >"$folder/devices.txt" || :
[ -s "$folder/devices.txt" ] || { say 'no OpenCL device'; exit 3; }
cat "$folder/devices.txt"
if [ -n "$device" ]; then
    chosen=$(devices --device "$device") || chosen=''
    if [ -z "$chosen" ]; then
        "$flashcl" info --device "$device" >/dev/null
        exit 3
    fi
else
    chosen=$(grep ' yes ' "$folder/devices.txt" | head -n 1)
fi
index=$(echo "$chosen" | cut -d' ' -f1) kind=$(echo "$chosen" | cut -d' ' -f2) name=$(echo "$chosen" | cut -d' ' -f4-)
cpu=$(awk '$2 == "CPU"' "$folder/devices.txt" | head -n 1 | cut -d' ' -f4-)
[ "$kind" != CPU ] || tiny=1
if [ -z "$tiny" ]; then
    echo "timed: $name"
else
    say "$name is a CPU device: tiny problems, figures mean nothing"
fi

state() {
    command -v nvidia-smi >/dev/null || return 0
    nvidia-smi --query-gpu=name,driver_version,clocks.sm,temperature.gpu,power.draw --format=csv,noheader || :
}
state

# ---- tests

# test_on LABEL DEVICE: the suite on one device, with empty caches; its summary in test-LABEL.txt.
test_on() {
    caches=$(mktemp -d)
    code=0
    CUDA_CACHE_DISABLE=1 POCL_CACHE_DIR=$caches FCL_TEST_DEVICE=$2 timeout -k 10 "$((limit / 2))" \
        meson test -C "$build" --no-rebuild --suite device --no-suite cli --logbase "check-$1" \
        >"$folder/meson-$1.txt" 2>&1 || code=$?
    rm -rf "$caches"
    {
        python3 tools/test_summary.py "$build/meson-logs/check-$1.json" || echo 'not all right'
        [ $code != 124 ] || echo "not all right: stopped after $((limit / 2)) s"
        grep -E '^ *[0-9]+/[0-9]+ .* (FAIL|TIMEOUT|ERROR|INTERRUPT) ' "$folder/meson-$1.txt" || :
    } >"$folder/test-$1.txt" 2>&1
}

# Prints what test_on found; fails where not all was right.
show_tests() {
    echo "$1 ($2):"
    sed 's/^/    /' "$folder/test-$1.txt"
    ! grep -q 'not all right' "$folder/test-$1.txt"
}

failed=0 launches=20000
[ -z "$tiny" ] || launches=50
if [ -n "$tests" ]; then
    echo
    echo '== tests'
    other=''
    [ -z "$cpu" ] || [ "$cpu" = "$name" ] || other=1
    if [ -n "$other" ] && [ "$(nproc)" -ge 8 ]; then
        test_on other "$cpu" &
        test_on device "$name"
        wait $!
    else
        test_on device "$name"
        [ -z "$other" ] || test_on other "$cpu"
    fi
    echo "$launches launches of many shapes, each with the bits of the first of its shape:"
    CUDA_CACHE_DISABLE=1 FCL_TEST_DEVICE=$name timeout -k 10 "$((limit / 4))" \
        "$build/tests/soak" "$launches" >"$folder/soak.txt" 2>&1 || failed=1
    tail -n 1 "$folder/soak.txt" | sed 's/^/    /'
    show_tests device "$name" || failed=1
    if [ -n "$other" ]; then
        show_tests other "$cpu" || failed=1
    elif [ -z "$cpu" ]; then
        say 'no CPU device: tested on the GPU only'
    fi
    echo "after $(($(date +%s) - begin)) s"
fi

# ---- times

# rows FILE COMMAND...: keeps the rows of a command. A status in a row says more than an exit code.
rows() {
    file=$1
    shift
    code=0
    timeout -k 10 "$limit" "$@" >"$file" 2>>"$folder/messages.txt" || code=$?
    if ! python3 -m json.tool "$file" /dev/null 2>/dev/null; then
        say "no rows, exit code $code from: $*"
        tail -n 3 "$folder/messages.txt" >&2
        rm -f "$file"
    fi
}

bench() {
    file=$1
    shift
    rows "$file" "$flashcl" bench --json --device "$index" --samples "$samples" --batch-ms "$batch" \
        --copies "$copies" ${decode:+--clock wall} "$@"
}

# with_problems KEY LIST COMMAND...: the command, with the problems that the list has behind this word.
with_problems() {
    key=$1 list=$2
    shift 2
    while read -r each problem; do
        [ "$each" != "$key" ] || set -- "$@" "$problem"
    done <"$list"
    "$@"
}

# The configurations of a family, lines `CONFIG PROBLEM`: of each problem the first that `flashcl explain` lists.
configs_of() {
    family=$1
    shift
    for problem in "$@"; do
        "$flashcl" explain --json --all --no-peak --device "$index" "$problem" 2>>"$folder/messages.txt" | python3 -c '
import json, sys
family, problem = sys.argv[1:]
rows = [row for row in json.load(sys.stdin) if row["status"] in ("use", "next", "valid")]
configs = [row["config"] for row in rows if (row["config"] or "").startswith(family + "_")]
print(*([configs[0], problem] if configs else []))' "$family" "$problem" || :
    done | grep . || say "no configuration of $family: flashcl info says why"
}

# bench_family FAMILY ROUND, of the problems with $copies copies.
bench_family() {
    number=0
    configs=$folder/configs-$1-$copies.txt
    cut -d' ' -f1 "$configs" | sort -u >"$folder/distinct.txt"
    while read -r config; do
        number=$((number + 1))
        with_problems "$config" "$configs" bench "$folder/round-$2.$1.$group-$number.json" --config "$config"
    done <"$folder/distinct.txt"
}

find_torch() {
    torch=$("$python" -W ignore -c 'import torch; print("cuda" if torch.cuda.is_available() else "cpu")' 2>/dev/null) ||
        torch=''
    if [ -z "$torch" ]; then
        say "$python cannot import torch (FCL_PYTHON names one that can): timed without PyTorch"
    elif [ "$torch" = cpu ] && [ -z "$tiny" ]; then
        say "PyTorch of $python sees no GPU: timed without it"
        torch=''
    fi
}

# time_group ROUND PROBLEM...: everything in turn, of problems with $copies copies, which are group $group.
time_group() {
    round=$1
    shift
    for word in $families; do
        case $word in
        default) bench "$folder/round-$round.default.$group.json" "$@" ;;
        *_m[0-9]*) bench "$folder/round-$round.$word.$group.json" --config "$word" "$@" ;;
        *) bench_family "$word" "$round" ;;
        esac
    done
    [ -z "$torch" ] || rows "$folder/round-$round.torch.$group.json" "$python" tools/peers/torch_sdpa.py \
        --device "$torch" --backends "$backends" --samples "$samples" --batch-ms "$batch" --copies "$copies" "$@"
}

# Lines `CONFIG PROBLEM` of all that is timed; `-` for what FlashCL chooses.
programs() {
    for word in $families; do
        case $word in
        default) sed 's/^[0-9]* /- /' "$folder/problems.txt" ;;
        *_m[0-9]*) sed "s/^[0-9]* /$word /" "$folder/problems.txt" ;;
        *) cat "$folder/configs-$word-"*.txt ;;
        esac
    done
}

# Builds them, a processor each, so that no round waits for compilers.
build_programs() {
    programs | xargs -P "$(nproc)" -I LINE sh -c '
        problem=${3#* } config=${3%% *}
        if [ "$config" = - ]; then
            "$1" cache warm --device "$2" "$problem"
        else
            "$1" bench --device "$2" --samples 1 --batch-ms 1 --config "$config" "$problem"
        fi' sh "$flashcl" "$index" LINE >/dev/null 2>&1 || : # the rounds say what is wrong
}

one_round() {
    group=0
    for copies in $all_copies; do
        group=$((group + 1))
        with_problems "$copies" "$folder/problems.txt" time_group "$1"
    done
}

if [ -n "$times" ]; then
    echo
    echo '== times'
    if [ $# -gt 0 ]; then
        printf '%s\n' "$@"
    elif [ -n "$decode" ]; then
        decode_problems
    else
        problems
    fi | if [ -n "$decode" ]; then with_copies; else sed 's/^/1 /'; fi >"$folder/problems.txt"
    all_copies=$(cut -d' ' -f1 "$folder/problems.txt" | awk '!seen[$0]++')
    : >"$folder/messages.txt"
    find_torch
    for word in $families; do
        case $word in default | *_m[0-9]*) continue ;; esac
        for copies in $all_copies; do
            with_problems "$copies" "$folder/problems.txt" configs_of "$word" >"$folder/configs-$word-$copies.txt"
        done
    done
    build_programs
    echo "kernels built after $(($(date +%s) - begin)) s"
    longest=0
    for round in $(seq "$rounds"); do
        now=$(date +%s)
        if [ $((now - begin + longest)) -gt "$limit" ]; then
            say "round $round would not end within $limit s: left out"
            break
        fi
        one_round "$round"
        took=$(($(date +%s) - now))
        [ $took -le $longest ] || longest=$took
        echo "round $round/$rounds: $took s"
        state
    done
    # What could not be timed and why, each reason once with the number of problems.
    sort -u "$folder/messages.txt" | sed 's/fwd [^:]*: //' | sort | uniq -c
    echo
    table >"$folder/table.txt" || failed=1
    cat "$folder/table.txt"
fi
echo "all in $(($(date +%s) - begin)) s; rows and logs: $folder"
exit $failed
