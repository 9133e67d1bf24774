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

test_bias() {
    npy make b.npy f4 2,4,9,12 15
    judge "bias" f4 2,4,9,8 2,2,12,8 2,2,12,8 --bias b.npy --lse l.npy
    judge "bias, bshd" f4 2,9,4,8 2,12,2,8 2,12,2,8 --bias b.npy --layout bshd
    npy make b.npy f2 4,1,12 15
    judge "bias of f2 for all of a batch and all queries" f2 2,4,9,8 2,2,12,8 2,2,12,8 --bias b.npy
    npy make b.npy f4 2,9,1 15
    judge "bias, rank 3" f4 2,9,8 2,12,8 2,12,8 --bias b.npy --causal tl --lse l.npy
    npy make b.npy bf16 9,12 15
    judge "bias of bf16, rank 2" bf16 9,16 12,16 12,16 --bias b.npy --bf16 --alibi --causal br
    npy make b.npy f4 1,1,1,1 15
    judge "a single element" f4 2,4,9,8 2,2,12,8 2,2,12,8 --bias b.npy
    npy make b.npy f4 4,9,11 15
    on run --q q.npy --k k.npy --v v.npy -o o.npy --bias b.npy
    refuse "bias of another shape" 2 "b.npy: dimension 3 is 11; 1 and 12 are allowed"
    npy make b.npy f4 1,2,4,9,12 15
    on run --q q.npy --k k.npy --v v.npy -o o.npy --bias b.npy
    refuse "bias of another rank" 2 "b.npy has 5 dimensions; 1 to 4"
}

test_mask() {
    npy make m.npy b1 2,4,9,12 16
    judge "mask" f4 2,4,9,8 2,2,12,8 2,2,12,8 --mask m.npy --lse l.npy
    npy make b.npy f4 4,9,12 15
    judge "mask and bias" f4 2,4,9,8 2,2,12,8 2,2,12,8 --mask m.npy --bias b.npy --causal br
    npy make m.npy u1 1,12 16
    judge "mask of u1 for all queries" f2 2,4,9,8 2,2,12,8 2,2,12,8 --mask m.npy --lse l.npy
    on run --q q.npy --k k.npy --v v.npy -o o.npy --mask b.npy
    refuse "mask of f4" 2 "b.npy: the elements are f4; b1 and u1 are allowed"
    on run --q q.npy --k k.npy --v v.npy -o o.npy --bias m.npy
    refuse "bias of u1" 2 "m.npy: the elements are u1"
    on run --q m.npy --k k.npy --v v.npy -o o.npy
    refuse "queries of u1" 2 "m.npy: the elements are u1"
}

run_groups slopes bias mask
