#!/bin/sh
# `flashcl run` with what is added to scores, from files. TAP output.
#     sh test_scores.sh PATH-OF-FLASHCL [FILTER]
# FILTER runs only the groups whose name contains it.
. "$(dirname "$0")/common.sh"

test_slopes() {
    npy make s.npy f4 4 14
    judge "standard slopes" f4 1,6,9,8 1,3,12,8 1,3,12,8 --alibi --align br --lse l.npy
    judge "given slopes" f4 1,4,9,8 1,2,12,8 1,2,12,8 --slopes s.npy --causal tl --lse l.npy
    on run --q q.npy --k k.npy --v v.npy -o o.npy --alibi
    refuse "slopes without a corner" 2 "mask is none"
    on run --q q.npy --k k.npy --v v.npy -o o.npy --slopes q.npy --causal br
    refuse "slopes of another shape" 2 "one f4 for each of the 4 query heads"
}

run_groups slopes
