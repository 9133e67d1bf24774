#!/bin/sh
# What the command measures: bench and peak. TAP output.
#     sh test_bench.sh PATH-OF-FLASHCL [FILTER]
# Needs an OpenCL device; FILTER runs only the groups whose name contains it.
. "$(dirname "$0")/common.sh"

bench_columns="problem device driver impl config status median_ms min_ms spread gflops bytes"
bench_columns="$bench_columns byte_ratio error clock build_ms plan_ms fraction_of_peak roof intensity copies launches"

# one_line: what the last run printed as rows, on one line.
one_line() {
    tr '\n' ' ' | sed 's/ $//'
}

test_bench() {
    on bench --impl fused,unfused --format json 'fwd q64 d64' 'fwd h2 q96 d32 f16 causal-br'
    expect "bench in JSON" 0
    same "its columns" "$bench_columns" "$(rows json columns)"
    same "its rows" "fused ok 5.0 unfused ok 5.0" \
        "$(rows json get impl status byte_ratio | head -2 | sed 's/2\.0$/5.0/' | tr '\n' ' ' | sed 's/ $//')"
    same "bytes of both" "65536 131072" "$(rows json get bytes | head -2 | tr '\n' ' ' | sed 's/ $//')"
    on bench --rounds 2 --impl unfused,fused --format csv 'fwd q64 d64'
    expect "bench in CSV" 0
    same "its columns" "$bench_columns" "$(rows csv columns)"
    same "implementations as asked for" "unfused fused" "$(rows csv get impl | tr '\n' ' ' | sed 's/ $//')"
    on bench 'fwd q64 d64'
    expect "bench in text" 0
    check "its first line names the device" sh -c "head -1 '$work/out' | grep -q '^device: .* (.*)\$'"
    on bench --impl fused,unfused --caps-mask allocation_bytes=1000000 --format csv 'fwd q512 d64' \
        'fwd q64 d64'
    expect "a score matrix that is too large" 0
    same "is a row, not the end" "fused ok unfused oom fused ok unfused ok" \
        "$(rows csv get impl status | tr '\n' ' ' | sed 's/ $//')"
    same "without a time" "-" "$(rows csv get median_ms | sed -n 2p)"
    on bench --clock wall --batch-ms 20 --format csv 'fwd q64 d64' 'fwd h8 q1 k512 d64'
    expect "bench by the host's clock" 0
    same "is said in each row" "ok wall ok wall" "$(rows csv get status clock | one_line)"
    same "samples as long as asked for" "1 1" "$(rows csv get launches min_ms |
        awk '{ print ($1 * $2 > 19.99) }' | one_line)"
    on bench --sweep q=16:64:x2 --format csv 'fwd q1 d64' 'fwd q1 k16 d64'
    same "sweep: keys follow unless they are named" \
        "fwd q16 d64,fwd q32 d64,fwd q64 d64,fwd q16 d64,fwd q32 k16 d64,fwd q64 k16 d64" \
        "$(rows csv get problem | tr '\n' ',' | sed 's/,$//')"
    on bench --sweep h=2:6:+2 --format csv 'fwd h2/2 q16 d64'
    same "sweep: heads of keys stay" "fwd h2 q16 d64,fwd h4/2 q16 d64,fwd h6/2 q16 d64" \
        "$(rows csv get problem | tr '\n' ',' | sed 's/,$//')"
    on bench --sweep q=16:32:x2 --impl fused,unfused 'fwd q1 d64'
    check "sweep: says where fused overtakes" grep -q '^sweep from .*: fused' "$work/out"
    on bench --config generic_m1n1w1r1d1 'fwd q64 d64'
    expect "a configuration that cannot be" 4
}

# bench_kilobytes ARGUMENT...: how much memory a run takes.
bench_kilobytes() {
    python3 -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' \
        "$flashcl" bench --device "$device" "$@"
}

test_copies() {
    problem='fwd q1 k32768 d64 f16' # 8 MiB of keys and values
    on bench --copies 3 --impl fused,unfused --format csv "$problem" 'fwd h2 q5 k0 d64'
    expect "copies" 0
    same "in each row" "3 ok 3 ok 3 ok 3 ok" "$(rows csv get copies status | one_line)"
    on bench --copies 3 'fwd b2 h4/2 q3 k40 d32 page=16'
    expect "copies of pools" 0
    check "in text" grep -q '^copies: 3 of keys and values' "$work/out"
    on bench --caps-mask global_bytes=100000000 --format csv "$problem"
    same "one where there is memory for one" "1 ok" "$(rows csv get copies status)"
    on bench --caps-mask global_bytes=100000000 --copies 12 --format csv "$problem"
    expect "no memory for twelve" 5 "12 times keys and values of 8388608 bytes: the device has 100000000"
    same "is a row" "12 oom -" "$(rows csv get copies status median_ms)"
    run info --device "$device" --format csv
    [ "$(rows csv get type)" = CPU ] || return 0
    one=$(bench_kilobytes "$problem")
    many=$(bench_kilobytes --copies 16 "$problem")
    check "each in memory of its own: $one and $many KiB" test $((many - one)) -gt 100000
}

test_compare() {
    on bench --samples 1 --json 'fwd q512 d64' 'fwd q1 k512 d64 f16'
    expect "bench to compare with" 0
    same "the roofs" "compute memory" "$(rows json get roof | one_line)"
    same "their intensities" "128.000 0.998" "$(rows json get intensity | awk '{ printf "%.3f\n", $1 }' | one_line)"
    check "fractions are there" sh -c "! grep -q '\"fraction_of_peak\": null' '$work/out'"
    sed 's/"fused"/"rival"/' "$work/out" >"$work/rivals.json"
    on bench --compare "$work/rivals.json" --batch-ms 5 --impl unfused,fused --json 'fwd k512 d64 q512'
    expect "bench --compare in JSON" 0
    same "its columns" "$bench_columns versus ratio_best ratio_median" "$(rows json columns)"
    same "ours, then theirs" "unfused - fused - rival unfused rival fused" \
        "$(rows json get impl versus | one_line)"
    same "times over ours" "- - 1 1" "$(rows json get min_ms ratio_best |
        awk '{ ms[NR] = $1; print NR < 3 ? $2 : ($2 / ($1 / ms[NR - 2]) - 1) ^ 2 < 1e-6 }' | one_line)"
    on bench --compare "$work/rivals.json" --samples 1 --batch-ms 200 --format csv 'fwd q512 d64'
    check "a sample as long as asked for" test "$(rows csv get launches median_ms |
        awk 'NR == 1 { print ($1 * $2 > 199.9) }')" = 1
    same "one sample has no spread" "0" "$(rows csv get spread | sed -n 1p)"
    same "in CSV" "fused - rival fused" "$(rows csv get impl versus | one_line)"
    on bench --compare "$work/rivals.json" 'fwd q512 d64'
    check "in text" grep -q '^fwd q512 d64  *rival .* fused  *[0-9.]*  *[0-9.]*$' "$work/out"
    on bench --compare "$work/rivals.json" --format csv 'fwd q16 d64'
    expect "no row of theirs" 0 "it has no row for any of the problems"
    same "only ours" "fused" "$(rows csv get impl)"
    echo '[{"problem": "fwd q8 d8"}]' >"$work/bad.json"
    on bench --compare "$work/bad.json" 'fwd q512 d64'
    refuse "rows that are none" 2 "bad.json: row 1: it has no text .impl."
    on bench --compare "$work/nothing" 'fwd q512 d64'
    refuse "missing rows" 2 "$work/nothing"
}

test_peak() {
    folder=$work/peaks
    on peak --cache-dir "$folder" --json
    expect "peak" 0
    same "its columns" "device gflops read_gbs copy_gbs launch_us queued_us timer_ns" \
        "$(rows json columns)"
    check "every figure is there" sh -c "! grep -q null '$work/out'"
    cp "$work/out" "$work/first"
    on peak --cache-dir "$folder" --json
    check "is kept" cmp "$work/out" "$work/first"
    on peak --cache-dir "$folder" --again --verbose --format csv
    expect "peak --again" 0 "peak was measured"
    same "has one row" "1" "$(rows csv get gflops | wc -l | tr -d ' ')"
    cp "$work/out" "$work/second"
    on peak --cache-dir "$folder" --format csv
    check "replaces what was kept" cmp "$work/out" "$work/second"
    on bench --cache-dir "$folder" --verbose --format csv 'fwd q16 d64'
    check "bench takes what was kept" sh -c "! grep -q 'peak was measured' '$work/err'"
    on peak --cache-dir "$folder"
    check "in text" grep -q '^gflops  *read_gbs' "$work/out"
    # The entry among those of kernels.
    on cache list --cache-dir "$folder" --format csv
    same "the cache lists it" "1" "$(rows csv get label status | grep -c '^peak ok$')"
    entry=$(rows csv get name label | sed -n 's/ peak$//p')
    head -c 100 "$folder/$entry" >"$work/half"
    cp "$work/half" "$folder/$entry"
    on cache verify --cache-dir "$folder" --format csv
    expect "verify of a truncated peak" 1
    same "names it" "$entry damaged" "$(rows csv get name status)"
    on peak --cache-dir "$folder" --verbose
    expect "it is measured again" 0 "peak was measured"
    on cache verify --cache-dir "$folder"
    expect "and replaced" 0
    on cache clear --cache-dir "$folder"
    on cache stat --cache-dir "$folder" --format csv
    same "clear removes it" "0" "$(rows csv get entries)"
}

run_groups bench copies compare peak
