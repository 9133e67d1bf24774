#!/bin/sh
# Tuning in worker processes, with kernels that do not build, crash, hang, exit or compute nonsense
# for some configurations. TAP output.
#     sh test_tune_workers.sh PATH-OF-FLASHCL [FILTER]
# Needs an OpenCL device on the CPU, where a kernel that goes astray is seen at once.
# A candidate that crashes must die of its signal, under a sanitizer too.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:handle_segv=0"
. "$(dirname "$0")/common.sh"

export TMPDIR="$work/tmp"
mkdir "$TMPDIR"
problem='fwd q64 d16'
# A narrow device, so that the space is small and the same everywhere.
narrow='float_width=4'

# plant NAME: reads lines for forward.cl, to stand where a launch begins; they can use `a` and the
# configuration's macros. The kernels are then in kernels-NAME.
plant() {
    cp -R "$here/../../kernels" "kernels-$1"
    cat >planted
    sed '/^    tile_out_clear(&out);/r planted' "$here/../../kernels/attention/forward.cl" \
        >"kernels-$1/attention/forward.cl"
}

# tune ARGUMENT...: a few configurations, the same ones each time.
tune() {
    on tune --caps-mask "$narrow" --strategy random --seed 1 --wisdom "$work/wisdom.txt" \
        --verbose --format csv "$@" "$problem"
}

# fates: `CONFIG STATUS REASON...` of each that was tried by the last run.
fates() {
    sed -n 's/^flashcl: note: \([a-z]*_m[0-9a-z]*\): \([a-z-]*\)\(: \)*/\1 \2 /p' "$work/err" |
        grep -v ' unsupported '
}

# fated NAME CONFIG FATE: each tried configuration that matches had this fate, and there is one.
fated() {
    fates | grep -e "^$2" >"$work/matching"
    [ -s "$work/matching" ] && ! grep -qv -e "$3" "$work/matching"
    result=$?
    [ $result -eq 0 ] || cat "$work/matching" >>"$work/err"
    report "$1" $result
}

plant faults <<'EOF'
#if FCL_BLOCK_N == 32
#error planted
#elif FCL_BLOCK_N == 128 && FCL_MICRO_KEYS == 8 // hangs in a real launch
    for (volatile int i = a->q_len > 3; i;)
        ;
#elif FCL_BLOCK_N == 256 && FCL_MICRO_KEYS == 8 // hangs in the first launch
    for (volatile int i = 1; i;)
        ;
#elif FCL_MICRO_COLS == 8
    *(volatile global int *)0 = 1;
#elif FCL_BLOCK_M == 16
    left.x[0][0] = 1;
#elif FCL_BLOCK_M == 8 && FCL_BLOCK_N == 64 && FCL_MICRO_KEYS == 4 && FCL_MICRO_COLS == 4 // the default
    for (volatile int i = 0; i < 2000000; i++)
        ;
#endif
EOF

test_faults() {
    rm -f "$work/wisdom.txt"
    # Limits that hold on a machine under load, too, where a build of a second was seen to take more than six.
    tune --kernel-dir kernels-faults --max-evals 16 --build-timeout 15 --run-timeout 8
    expect "tune with faulty kernels" 7
    fated "what does not build" 'vector_m[0-9]*n32l' ' build-failed '
    fated "what hangs while it runs" 'vector_m[0-9]*n128l4k8' ' device-error timeout while running'
    fated "what hangs while it builds" 'vector_m[0-9]*n256l4k8' ' build-failed timeout while building'
    fated "what crashes" 'vector_m[0-9]*n[0-9]*l4k2c8' ' crashed: signal 11'
    fated "what is wrong" 'vector_m16n256' ' wrong '
    fated "what is right" 'vector_m4n64l4k2' ' ok'
    fates | sed -n 's/ ok.*//p' >"$work/right"
    check "a right one wins" grep -qx "$(rows csv get config)" "$work/right"
    same "failures by kind" "1 crash,2 timeout" \
        "$(rows csv get failures | tr -d '\n' | sed 's/, /\n/g' | grep -e crash -e timeout | sort | paste -sd ,)"
    none_left "after faults"
    same "no journal is left" "" "$(find "$HOME" -name '*.journal')"
    same "crashes and hangs are remembered" "bad crash bad timeout bad timeout" \
        "$(cut -f 4 "$work/wisdom.txt" | grep '^bad' | sort | paste -sd ' ')"
    same "and nothing else is cached" 1 "$("$flashcl" cache list --format csv | grep -c fwd_)"
    tune --kernel-dir kernels-faults --max-evals 1000 --budget 1
    check "what is remembered is not tried again" \
        grep -q 'vector_m4n128l4k2c8p2: unsupported: wisdom says bad crash' "$work/err"
    tune --retry-bad --max-evals 16
    expect "tune once more, kernels repaired" 7
    check "what passes now is forgiven" sh -c "! grep -q 'bad ' '$work/wisdom.txt'"
}

plant hang <<'EOF'
#if FCL_BLOCK_N == 128 && FCL_MICRO_KEYS == 8
    for (volatile int i = a->q_len > 3; i;)
        ;
#endif
EOF

# The tenth configuration hangs; there the tuner is killed.
test_killed() {
    rm -f "$work/wisdom.txt"
    hanging=vector_m4n128l4k8c4
    "$flashcl" tune --device "$device" --caps-mask "$narrow" --strategy random --seed 1 \
        --wisdom "$work/wisdom.txt" --kernel-dir kernels-hang --run-timeout 600 --max-evals 16 \
        --journal journal "$problem" >"$work/out" 2>"$work/err" &
    tuner=$!
    waited=0
    until tail -n 1 journal 2>/dev/null | grep -q "start.*$hanging\"" &&
        grep -q "end.*$hanging\"" journal || [ $waited -gt 600 ]; do
        sleep 0.1
        waited=$((waited + 1))
    done
    check "a second tuner on the journal is refused" sh -c \
        "! '$flashcl' tune --device $device --journal journal '$problem' 2>'$work/err' &&
            grep -q 'in use by another tuning' '$work/err'"
    kill -9 $tuner
    wait $tuner 2>/dev/null
    no_process "a tuner killed while a worker hangs"
    done=$(grep -c evaluation journal)
    printf '{"candidate":"vec' >>journal # a line that was being written
    tune --kernel-dir kernels-hang --max-evals 16 --journal journal --resume
    expect "resume" 7 "$((done + 1)) evaluations are taken"
    none_left "after it was resumed"
    fated "what was in flight failed" "$hanging" 'in flight when tuning ended'
    same "and is remembered" "bad in-flight" "$(cut -f 4 "$work/wisdom.txt" | grep '^bad')"
    check "the journal is gone" test ! -e journal
    fates | grep ' ok' | cut -d ' ' -f 1 >"$work/resumed"
    same "all were tried" "16 1" "$(rows csv get tried failed)"
    rm "$work/wisdom.txt"
    tune --max-evals 16 --no-store
    fates | grep ' ok' | cut -d ' ' -f 1 | grep -v "$hanging" >"$work/whole"
    check "the same configurations could win" cmp "$work/resumed" "$work/whole"
}

test_stopped() {
    on tune --resume --journal nowhere/journal "$problem"
    expect "a journal that cannot be" 2 "nowhere/journal"
    echo notes >notes
    on tune --journal notes "$problem"
    expect "a file that is no journal" 2 "is no journal"
    same "stays as it is" notes "$(cat notes)"
    "$flashcl" tune --device "$device" --caps-mask "$narrow" --strategy random --seed 1 \
        --no-store --kernel-dir kernels-hang --run-timeout 600 --journal journal \
        "$problem" >"$work/out" 2>"$work/err" &
    tuner=$!
    waited=0
    until [ "$(cat journal 2>/dev/null | grep -c evaluation)" -ge 2 ] || [ $waited -gt 600 ]; do
        sleep 0.1
        waited=$((waited + 1))
    done
    kill -TERM $tuner
    wait $tuner
    code=$?
    expect "a tuner that is asked to end" 7
    check "prints the best so far" grep -q '^flashcl-wisdom 1' "$work/out"
    none_left "after a stopped tuner"
    check "leaves its journal" grep -q evaluation journal
    on tune --resume --journal journal 'fwd q64 d32'
    expect "a journal of another problem" 2 "its problem is fwd q64 d16"
}

# The default is hundreds of times slower than others, so that there is a winner to store: it must win beyond the
# spread, which on a machine under heavy load was seen to be 23.
plant slow <<'EOF'
#if FCL_BLOCK_M == 8 && FCL_BLOCK_N == 64 && FCL_MICRO_KEYS == 4 && FCL_MICRO_COLS == 4
    for (volatile int i = 0; i < 2000000; i++)
        ;
#endif
EOF

test_two() {
    rm -f "$work/wisdom.txt"
    for dim in 16 24; do
        "$flashcl" tune --device "$device" --caps-mask "$narrow" --wisdom "$work/wisdom.txt" \
            --max-evals 12 --strategy random --seed 1 --kernel-dir kernels-slow "fwd q64 d$dim" \
            >"$work/out$dim" 2>"$work/err" &
    done
    wait
    for dim in 16 24; do
        check "tuner of d$dim stored its winner" grep -q "fused fwd d$dim " "$work/wisdom.txt"
    done
    none_left "after two tuners"
}

test_limits() {
    run tune --effort best "$problem"
    refuse "unknown effort" 2 "quick and full"
    run tune --run-timeout 0 "$problem"
    refuse "no time to run" 2 "--run-timeout 0"
    run tune --build-timeout nan "$problem"
    refuse "no time to build" 2 "--build-timeout nan"
    run tune --in-process --resume "$problem"
    refuse "a journal without workers" 2 "exclude"
    run tune --journal x "$problem" 'fwd q64 d32'
    refuse "one journal for two problems" 2 "one file, for one problem"
    tune --effort quick --max-evals 2 --no-store
    same "an explicit limit wins" 2 "$(rows csv get tried)"
    tune --in-process --max-evals 2 --no-store
    same "in this process" 2 "$(rows csv get tried)"
    check "there is no worker's temporary folder" sh -c "! ls '$TMPDIR' | grep ."
}

# The protocol by hand.
test_worker() {
    opening='{"do":"open","kind":"attention","evaluates":true,"problem":"fwd q8 d8","implementation":"fused"}'
    printf '%s\n' '{"do":"evaluate","candidate":"x"}' 'nonsense' '{"do":"open"}' "$opening" \
        '{"do":"build","candidate":"generic_m8","keep":false}' '{"do":"compare","candidates":[]}' \
        >requests
    "$flashcl" worker --device "$device" --no-cache --no-wisdom <requests >"$work/out" 2>"$work/err"
    code=$?
    expect "a worker whose parent is gone" 0
    same "answers line by line" "error error error ready evaluation status" \
        "$(sed 's/^{"\([a-z]*\)".*/\1/' "$work/out" | paste -sd ' ')"
}

run_groups faults killed stopped two limits worker
