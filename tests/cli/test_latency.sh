#!/bin/sh
# What is compiled when: `flashcl tune --report-latency`. TAP output.
#     sh test_latency.sh PATH-OF-FLASHCL [FILTER]
# Needs an OpenCL device. Times are not looked at, only whether there are any.
. "$(dirname "$0")/common.sh"

export TMPDIR="$work/tmp"
mkdir "$TMPDIR"

# latency ARGUMENT...
latency() {
    on tune --report-latency "$@"
}

none_left() {
    check "$1: no temporary folder is left" rmdir "$TMPDIR"
    mkdir -p "$TMPDIR"
    check "$1: nothing is kept elsewhere" \
        test ! -e "$HOME/.cache/flashcl" -a ! -e "$HOME/.config/flashcl"
}

test_usage() {
    for other in '--replay x.json' '--record x.json' '--journal x' --resume '--cache-dir x' --no-cache '--wisdom x'; do
        # shellcheck disable=SC2086 # two words
        latency $other
        refuse "report with $other" 2 "--report-latency and ${other%% *} exclude each other"
    done
    latency 'fwd q8 d8' 'fwd q9 d8'
    refuse "two problems" 2 "exactly one problem"
    latency --impl fused,unfused
    refuse "two implementations" 2 "exactly one problem and one --impl"
    check "makes no file" test ! -e x -a ! -e x.json
}

# events FORMAT NAME PROBLEM KEY SHORTER: the five rows, with the problem, its other key and the
# shorter one.
events() {
    expect "$2" 0
    same "$2: what is compiled" "first call built 1
steady state plan kept 0
new key built 1
other arguments plan kept 0
cached restart cache 0" "$(rows "$1" get event origin builds)"
    same "$2: of which problem" "$3
$3
$4
$5
$3" "$(rows "$1" get problem)"
    same "$2: which times there are" "plan first -
- - steady
plan first steady
- first steady
plan first steady" "$(rows "$1" get plan_ms first_launch_ms steady_ms |
        awk '{ print $1 == "-" ? "-" : "plan", $2 == "-" ? "-" : "first", $3 == "-" ? "-" : "steady" }')"
    same "$2: one configuration" "1" "$(rows "$1" get event config | sed -n '1p;2p;4p;5p' | awk '{ print $NF }' |
        sort -u | wc -l | tr -d ' ')"
    none_left "$2"
}

test_statistics() {
    latency --format csv
    events csv "the default problem" 'lse h4 q256 d64' 'lse h4 q256 d64 causal-tl' 'lse h4 q128 d64'
    check "restarts in a new process" grep -q ',a new process on the same cache folder' "$work/out"
}

test_forward() {
    latency --format json --in-process 'fwd b2 h4/2 q37 k50 d16 causal-br lse layout=bshd'
    events json "forward" 'fwd b2 h4/2 q37 k50 d16 causal-br lse layout=bshd' \
        'fwd b2 h4/2 q37 k50 d16 lse layout=bshd' 'fwd b2 h4/2 q19 k25 d16 causal-br lse layout=bshd'
    check "restarts in the same process" grep -q 'a new device handle on the same cache folder' "$work/out"
}

test_failures() {
    latency --impl unfused 'lse q8 d8'
    expect "what is not supported" 4 'lse q8 d8: first call: the unfused implementation has no statistics pass'
    none_left "what is not supported"
    # The first call and the new key build within no time limit; the new process has one.
    latency --format csv --build-timeout 1e-9 --run-timeout 1e-9 'lse q8 d8'
    expect "a new process that is too late" 5 'cached restart: the new process: no answer in time'
    same "a new process that is too late: rows until then" 4 "$(rows csv get event | wc -l | tr -d ' ')"
    none_left "a new process that is too late"
}

# A signal ends the report after the event under way, in good order.
test_stopped() {
    for signal in INT TERM; do
        "$flashcl" tune --report-latency --device "$device" 'fwd h4 q256 d64' >"$work/out" 2>"$work/err" &
        reporter=$!
        waited=0
        until ls "$TMPDIR" | grep -q . || [ $waited -gt 600 ]; do
            sleep 0.02
            waited=$((waited + 1))
        done
        kill -$signal $reporter
        wait $reporter
        code=$?
        expect "SIG$signal" 7
        none_left "SIG$signal"
    done
}

run_groups usage statistics forward failures stopped
