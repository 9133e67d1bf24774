# What the tests of the command have in common: sourced with the arguments of the test, it sets up
# an empty home and a folder to work in, and has the functions below.
#     PATH-OF-FLASHCL [FILTER]
set -u
case $1 in
*/*) flashcl=$(cd "$(dirname "$1")" && pwd)/$(basename "$1") ;;
*) flashcl=$1 ;;
esac
filter=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export HOME="$work/home"
mkdir "$HOME"
cd "$work" || exit 1
unset XDG_CACHE_HOME XDG_CONFIG_HOME
# The CPU device where there is one: small problems, and the same everywhere.
device=$("$flashcl" info --format csv 2>/dev/null | python3 "$here/rows.py" csv get index type |
    awk '$2 == "CPU" { print $1; exit }')
device=${device:-0}

tests=0
failures=0

# report NAME CODE: one TAP line; a failure shows what the command said.
report() {
    tests=$((tests + 1))
    if [ "$2" -eq 0 ]; then
        echo "ok $tests - $1"
    else
        failures=$((failures + 1))
        echo "not ok $tests - $1"
        sed 's/^/#   /' "$work/out" "$work/err" | head -20
    fi
}

# run ARGUMENT...: the command, with its output in out and err and its code in $code.
run() {
    "$flashcl" "$@" >"$work/out" 2>"$work/err"
    code=$?
}

# on ARGUMENT...: the same on the device of the tests, the verb first.
on() {
    verb=$1
    shift
    run "$verb" --device "$device" "$@"
}

# expect NAME CODE [PATTERN]: the code, and the pattern in what the last run said on stderr.
expect() {
    wrong=0
    [ "$code" -eq "$2" ] || wrong=1
    [ -z "${3:-}" ] || grep -q -e "$3" "$work/err" || wrong=1
    report "$1 (exit $code)" $wrong
}

# refuse NAME CODE PATTERN: as expect, and nothing on stdout, and one line that starts flashcl:
refuse() {
    wrong=0
    [ "$code" -eq "$2" ] && [ ! -s "$work/out" ] || wrong=1
    grep -q -e "$3" "$work/err" && ! grep -qv '^flashcl: ' "$work/err" || wrong=1
    report "$1 (exit $code)" $wrong
}

# check NAME COMMAND...: whether a command succeeds.
check() {
    name=$1
    shift
    "$@" >>"$work/err" 2>&1
    report "$name" $?
}

npy() {
    python3 "$here/npy.py" "$@"
}

rows() {
    python3 "$here/rows.py" "$@" <"$work/out"
}

# same NAME EXPECTED ACTUAL
same() {
    [ "$2" = "$3" ]
    result=$?
    [ $result -eq 0 ] || printf 'expected %s\nfound    %s\n' "$2" "$3" >>"$work/err"
    report "$1" $result
}

# judge NAME TYPE Q-SHAPE K-SHAPE V-SHAPE [RUN-OPTION...]: makes the inputs, runs, and compares.
judge() {
    name=$1
    kind=$2
    shift 2
    npy make q.npy "$kind" "$1" 11 --version $((tests % 3 + 1))
    npy make k.npy "$kind" "$2" 12
    npy make v.npy "$kind" "$3" 13
    shift 3
    on run --q q.npy --k k.npy --v v.npy -o o.npy --check --rows 0 "$@"
    expect "$name: runs" 0
    check "$name: right" npy judge q.npy k.npy v.npy o.npy "$@"
}

# workers: how many worker processes of these tests there are. Their command line names a folder
# in TMPDIR, which is a folder of these tests.
workers() {
    found=0
    for process in /proc/[0-9]*; do
        if { tr '\0' ' ' <"$process/cmdline"; } 2>/dev/null |
            grep -q "worker .*--cache-dir $TMPDIR"; then
            found=$((found + 1))
        fi
    done
    echo $found
}

# no_process NAME: the workers end, in a while.
no_process() {
    waited=0
    while [ "$(workers)" -gt 0 ] && [ $waited -lt 100 ]; do
        sleep 0.1
        waited=$((waited + 1))
    done
    same "$1: no process is left" 0 "$(workers)"
}

# none_left NAME: nor a temporary folder.
none_left() {
    no_process "$1"
    same "$1: no temporary folder is left" "" "$(ls "$TMPDIR")"
}

# run_groups NAME...: the functions test_NAME whose name contains the filter, then the plan.
run_groups() {
    for group in "$@"; do
        case $group in
        *"$filter"*) test_$group ;;
        esac
    done
    echo "1..$tests"
    [ "$failures" -eq 0 ]
}
