#!/bin/sh
# `flashcl explain` on a described device and, where there is one, on a device. TAP output.
#     sh test_explain.sh PATH-OF-FLASHCL [FILTER]
# FILTER runs only the groups whose name contains it.
. "$(dirname "$0")/common.sh"

cat >gpu.caps <<'END'
gpu 1
compute_units 40
group_size 256
local_bytes 32768
local_dedicated 1
cache_bytes 1048576
global_bytes 1073741824
allocation_bytes 268435456
float_width 1
c_version 120
name Invented GPU
driver 1.0
END

# explain ARGUMENT...: on the described device, in a world without any OpenCL platform.
explain() {
    OCL_ICD_VENDORS=/nonexistent "$flashcl" explain --caps gpu.caps "$@" >"$work/out" 2>"$work/err"
    code=$?
}

test_usage() {
    explain
    refuse "no problem" 2 "0 problems are given"
    explain 'fwd q8 d8' 'fwd q8 d8'
    refuse "two problems" 2 "2 problems are given"
    explain 'fwd q8 d2000'
    refuse "unsupported problem" 4 "1024"
    explain --config nonsense 'fwd q8 d8'
    refuse "no configuration" 2 "begins with no family"
    run explain --caps missing 'fwd q8 d8'
    refuse "missing caps" 2 "missing: cannot be read"
    explain --caps-mask nonsense=1 'fwd q8 d8'
    refuse "bad mask" 2 "nonsense"
    echo "not wisdom" >bad.txt
    explain --wisdom bad.txt 'fwd q8 d8'
    refuse "bad wisdom" 5 "bad.txt"
}

test_text() {
    explain 'fwd h8 q1024 d64 f16'
    expect "explain" 0
    check "device" grep -q '^device: Invented GPU' "$work/out"
    check "traffic" grep -Eq '^  bytes moved +4.19 M +71.3 M ' "$work/out"
    check "score matrix" grep -Eq '^  the last-level cache +from N = 257 ' "$work/out"
    check "no peak" grep -q "peak is not known" "$work/out"
    check "what the fields mean" grep -Eq '^  registers +[0-9]+ +most of these at once' "$work/out"
    check "why others are not valid" grep -q 'local memory needed, the device has 32768' "$work/out"
    check "families" grep -q 'vector is for CPU devices' "$work/out"
}

# used COLUMN...: of the row that a plan uses.
used() {
    rows json get status "$@" | sed -n 's/^use //p'
}

test_rows() {
    explain --json --config generic_m32n32w64r4d32 'fwd h8 q1024 d64 f16'
    expect "explicit configuration" 0
    same "and its budget" \
        "generic_m32n32w64r4d32 explicit 64 1 32 4 16 53 4608 9216 4608 0 1024 19456 0" \
        "$(used config origin group_size lanes accumulators left scores registers left_bytes \
            right_bytes scores_bytes out_bytes row_bytes local_bytes private_bytes)"
    same "the problem's numbers" "2147483650.0 4194304.0 71303168.0 512.0 16777216.0 257 4097 8193 -" \
        "$(used operations fused_bytes unfused_bytes fused_intensity score_bytes cache_n buffer_n \
            memory_n fused_limiter)"
    explain --json --config generic_m32n32w44r4d64 'fwd h8 q1024 d64 f16'
    expect "configuration that does not fit" 4 "items 44"
    same "has no budget" "pruned generic_m32n32w44r4d64 -" \
        "$(rows json get status config registers | sed -n 1p)"
    explain --json --config vector_m32n64l8k4c2 'fwd h8 q1024 d64 f16'
    expect "configuration of another kind of device" 4 "for CPU devices"
    same "has one" "pruned vector_m32n64l8k4c2 21" \
        "$(rows json get status config registers | sed -n 1p)"
    explain --caps-mask local_bytes=100 --json 'fwd q64 d64'
    expect "nothing fits" 6 "the device has 100"
    same "nothing is used" "" "$(used config)"
}

# Counted by reason or one by one, the space is the same.
test_all() {
    explain --format csv 'fwd q64 d64'
    expect "counts" 0
    rows csv get status count >counts
    explain --all --format csv 'fwd q64 d64'
    expect "all" 0
    for status in use next valid pruned; do
        same "as many $status" \
            "$(awk -v s=$status '$1 == s { n += $2 } END { print n + 0 }' counts)" \
            "$(rows csv get status count | grep -c "^$status 1\$")"
    done
    rows csv get config >configs
    same "no configuration twice" "$(grep -cv '^-$' configs)" "$(grep -v '^-$' configs | sort -u | wc -l | tr -d ' ')"
}

test_origin() {
    explain --json 'fwd h8 q1024 d64 f16'
    same "default" "default" "$(used origin)"
    printf 'flashcl-wisdom 1\nInvented GPU\t%s\tfused fwd d64 f16 bh3 q10 k10 g1\t%s\t1\t0\tevent\t0.1.0\n' \
        1.0 generic_m32n32w64r4d32 >wisdom.txt
    explain --json --wisdom wisdom.txt 'fwd h8 q1024 d64 f16'
    same "wisdom" "generic_m32n32w64r4d32 wisdom" "$(used config origin)"
    explain --json --no-wisdom 'fwd h8 q1024 d64 f16'
    same "no wisdom" "default" "$(used origin)"
    sed 's/\t1\.0\t/\t0.9\t/' wisdom.txt >other.txt
    explain --json --wisdom other.txt 'fwd h8 q1024 d64 f16'
    same "wisdom of another driver" "wisdom of another driver" "$(used origin)"
    explain --json --wisdom wisdom.txt 'fwd h8 q2048 d64 f16'
    same "nearest problem" "generic_m32n32w64r4d32 nearest" "$(used config origin)"
    explain --json --wisdom wisdom.txt 'fwd h8 q2048 d128 f16'
    same "another head dim" "default" "$(used origin)"
}

# What is said to be used, is used; the driver tells as much local memory as the budget has.
test_device() {
    on explain --json --no-peak 'fwd h2 q64 d64'
    expect "explain on a device" 0
    said=$(used config origin)
    on cache warm --format csv 'fwd h2 q64 d64'
    same "is what a plan takes" "$said" "$(rows csv get config origin)"
    on info --caps
    cp "$work/out" device.caps
    run explain --json --caps device.caps 'fwd h2 q64 d64'
    same "the device described by its file" "$said" "$(used config origin)"
    on explain --json 'fwd h2 q64 d64'
    expect "with the peak" 0
    check "has a ridge point" test "$(used ridge)" != -
    check "has a limit" test "$(used fused_limiter)" != -
    on explain 'fwd h2 q64 d64'
    check "says so in words" grep -q "^  limited by" "$work/out"
}

run_groups usage text rows all origin device
