#!/bin/sh
# `flashcl wisdom diff` of two devices, in a world without any OpenCL platform. TAP output.
#     sh test_wisdom.sh PATH-OF-FLASHCL [FILTER]
. "$(dirname "$0")/common.sh"
export OCL_ICD_VENDORS=/nonexistent

# wisdom FILE: rows `DEVICE|DRIVER|CLASS|CONFIG` from the standard input as a wisdom file.
wisdom() {
    { echo 'flashcl-wisdom 1' && sed 's/|/\t/g; s/$/\t1.5\t0.02\tevent\t0.1.0/'; } >"$1"
}

# caps NAME FACT...: what such a GPU can do.
caps() {
    printf 'name %s\ngpu 1\ngroup_size 1024\nfloat_width 1\naddress_bits 32\n' "$1"
    shift
    printf '%s\n' "$@"
}

# why: the reasons, each number of two digits and more as N.
why() {
    rows csv get why | sed 's/[0-9][0-9][0-9]*/N/g'
}

diff_rows() {
    run wisdom diff "$@" --format csv
    expect "diff $*" 0
}

class='fused fwd d128 f16 bh5 q10 k10 g4'
wisdom a.txt <<END
Small|1|$class|generic_m32n32w64r4d32
Small|1|fused fwd d64 f32 bh3 q10 k10 g1|vector_m64n64l16k4c4
Small|1|kernel k 1 N=64 #2|BM=16 TN=4
END
wisdom b.txt <<END
Large|1|$class|generic_m64n64w128r4d64
Large|1|fused fwd d64 f32 bh3 q10 k10 g1|vector_m64n64l16k4c4
Large|1|kernel k 1 N=64 #2|BM=32 TN=4
Large|1|fused lse d64 f32 bh3 q10 k10 g1|vector_m64n64l16k4c4
END
figures='registers N against N; local memory N against N bytes; work-group N against N'

test_devices() {
    diff_rows a.txt b.txt
    same "winners of one class are compared" "differs Small Large
differs Small Large
only-b - Large" "$(rows csv get difference device_a device_b)"
    same "by their figures" "$figures
BM N against N
-" "$(why)"
    check "in the order of the files" grep -q 'work-group 64 against 128.*' "$work/out"
    caps Small 'local_bytes 49152' >small.caps
    caps Large 'local_bytes 98304' >large.caps
    diff_rows a.txt b.txt --caps large.caps --caps small.caps
    same "by the devices' limits" "B's does not fit on A: N bytes of local memory needed, the \
device has N for a group; $figures" "$(why | head -n 1)"
    check "with their numbers" grep -q "the device has 49152 for" "$work/out"
    diff_rows b.txt a.txt --caps small.caps --caps large.caps --caps-mask local_bytes=1024
    check "which can be masked" grep -q "B's does not fit on A: .* has 1024 for a group; A's does not fit on B: .* has 1024 for a group" "$work/out"
    caps Stranger >stranger.caps
    diff_rows a.txt b.txt --caps stranger.caps
    check "caps of no row are told" grep -q "stranger.caps: no row is of Stranger" "$work/err"
    run wisdom diff a.txt b.txt --caps missing.caps
    refuse "caps that are missing" 2 missing.caps
}

# Rows of one device are for one another, also where both files know several devices.
test_pairs() {
    wisdom c.txt <<END
Large|1|$class|generic_m32n32w64r4d32
Small|2|$class|generic_m32n32w64r4d32
Small|1|$class|bad crash
Other|1|$class|generic_m32n32w64r4d32
END
    wisdom d.txt <<END
Small|3|$class|generic_m64n64w128r4d64
Small|1|$class|generic_m32n32w64r4d32
Third|1|$class|generic_m64n64w128r4d64
Large|1|$class|generic_m32n32w64r4d32
END
    diff_rows c.txt d.txt
    same "the nearest device is the other side" "differs Small 2 Small 3 $figures
differs Small 1 Small 1 failed on A: crash
differs Other 1 Third 1 $figures" "$(rows csv get difference device_a driver_a device_b driver_b why |
        sed 's/[0-9][0-9][0-9]*/N/g')"
    diff_rows c.txt c.txt
    same "a file has no difference to itself" "" "$(rows csv get difference)"
}

run_groups devices pairs
