#!/bin/sh
# Drives the command from outside and judges exit codes, messages, files and rows. TAP output.
#     sh test_cli.sh PATH-OF-FLASHCL [FILTER]
# Needs an OpenCL device; FILTER runs only the groups whose name contains it.
. "$(dirname "$0")/common.sh"

test_usage() {
    run
    expect "no verb prints help" 0
    check "help lists the verbs" grep -q '^  wisdom' "$work/out"
    for verb in info run check bench peak tune tune-kernel explain dump cache wisdom; do
        run $verb --help
        expect "help of $verb" 0
        check "help of $verb names its options" grep -q -e '--cache-dir' "$work/out"
        cp "$work/out" "$work/help"
        run help $verb
        check "help $verb is $verb --help" cmp "$work/out" "$work/help"
    done
    run --version
    expect "version" 0
    run nonsense
    refuse "unknown verb" 2 "'nonsense' is no verb"
    run help nonsense
    refuse "help on an unknown verb" 2 "'nonsense' is no verb"
    run bench --nonsense
    refuse "unknown option" 2 "nonsense: unknown option"
    run bench --rounds
    refuse "option without its value" 2 "missing argument"
    run bench --rounds x
    refuse "option that is no number" 2 "--rounds x: invalid numeric value"
    run bench --rounds=x
    refuse "option that is no number, in one word" 2 "--rounds=x: invalid numeric value"
    run bench --rounds 0
    refuse "rounds out of range" 2 "1 to 1000"
    for samples in 0 -1 10001; do
        run bench --samples $samples
        refuse "$samples samples" 2 "1 to 10000"
    done
    for copies in 0 -1 65; do
        run bench --copies $copies
        refuse "$copies copies" 2 "1 to 64"
    done
    for milliseconds in -1 60001 nan; do
        run bench --batch-ms $milliseconds
        refuse "a batch of $milliseconds ms" 2 "0 to 60000"
    done
    for clock in Wall walls ''; do
        run bench --clock "$clock"
        refuse "clock '$clock'" 2 "--clock $clock: event and wall are allowed"
    done
    run bench --format xml
    refuse "unknown format" 2 "text, json and csv"
    run info --format csv --json
    refuse "two forms of the output" 2 "--format csv and --json exclude each other"
    run info --json --format text
    refuse "two forms of the output, the other way round" 2 "--format text and --json exclude"
    run info --json --format json
    expect "the same form twice" 0
    check "is JSON" rows json columns
    run bench --impl fused,other
    refuse "unknown implementation" 2 "fused and unfused"
    run bench --cache-dir x --no-cache
    refuse "cache options that contradict" 2 "exclude each other"
    run check --family nonsense
    refuse "unknown family" 2 "--family nonsense"
    run check --rows -1
    refuse "negative rows" 2 "--rows -1"
    run tune --budget -1
    refuse "negative budget" 2 "--budget -1"
    run info extra
    refuse "argument of info" 2 "'extra'"
    run peak extra
    refuse "argument of peak" 2 "'extra'"
    for sweep in x q q=1 q=1:2 q=2:1:x2 q=1:8:x1 q=0:8:x2 q=1:8:y2 z=1:8:x2 q=1:9999999:+1; do
        run bench --sweep $sweep 'fwd q64 d64'
        refuse "sweep $sweep" 2 "--sweep $sweep"
    done
}

test_problems() {
    for problem in '' 'fwd' 'bwd q64 d64' 'fwd q64 d64 causal' 'fwd q64 d0' 'fwd h0 q64 d64' \
        'fwd h3/2 q64 d64' 'fwd q64 d64 f64' 'fwd q64 d64 q65'; do
        on check "$problem"
        refuse "problem '$problem'" 2 "problem '$problem'"
    done
    on check 'fwd q64 d2000'
    refuse "head dim above the limit" 4 "1024"
    on check fwd q64 d64
    refuse "problem without quotes" 2 "one argument"
    on check --config nonsense 'fwd q64 d64'
    refuse "configuration that is none" 2 "--config nonsense"
    on dump
    refuse "dump without a problem" 2 "1 is allowed"
}

test_devices() {
    run check --device nonsense 'fwd q8 d8'
    refuse "no such device" 3 "matches none"
    run check --device nonsense
    refuse "no such device for the built-in problems, which are right" 3 "matches none"
    run check --device 99 'fwd q8 d8'
    refuse "device number out of range" 3 "matches none"
    run check --device '' 'fwd q8 d8'
    refuse "empty device" 2 "empty"
    run info --format csv
    device_name=$(rows csv get index device | awk -v d="$device" '$1 == d { $1 = ""; print substr($0, 2) }')
    platform=$(rows csv get index platform | awk -v d="$device" '$1 == d { print $2 }')
    run info --format json
    same "info in JSON names the device" "$device_name" \
        "$(rows json get index device | awk -v d="$device" '$1 == d { $1 = ""; print substr($0, 2) }')"
    check "info says which families are usable" grep -q '"generic": "usable"' "$work/out"
    run dump --device "$device_name" 'fwd q8 d8'
    expect "device by its name" 0
    run dump --device "$(printf %s "$platform" | tr '[:lower:]' '[:upper:]'):" 'fwd q8 d8'
    expect "device by its platform, in capitals" 0
    run dump --device "platform:$platform" 'fwd q8 d8'
    expect "device by the word platform" 0
    OCL_ICD_VENDORS="$work/nothing" run info
    expect "no platform at all" 3 "no OpenCL device found; install one"
    OCL_ICD_VENDORS="$work/nothing" run check 'fwd q8 d8'
    refuse "no platform for a check" 3 "PoCL"
    OCL_ICD_VENDORS="$work/nothing" run info --format json
    same "no platform in JSON" "[]" "$(cat "$work/out")"
    on check --caps-mask nonsense=1 'fwd q8 d8'
    refuse "mask with an unknown fact" 2 "nonsense"
}

# refuse_on NAME CODE WORDS COMMAND...: refuse, after the command.
refuse_on() {
    refused=$1 with=$2 words=$3
    shift 3
    on "$@"
    refuse "$refused" "$with" "$words"
}

test_npy_errors() {
    npy make good.npy f4 4,8 1
    for kind in $(npy kinds); do
        npy spoil bad.npy "$kind"
        on run --q good.npy --k good.npy --v bad.npy -o o.npy
        refuse "npy: $kind" 2 "bad.npy: "
        on run --q bad.npy --k good.npy --v good.npy -o o.npy
        refuse "npy as q: $kind" 2 "bad.npy: "
    done
    npy make heads.npy f4 1,3,4,8 1
    npy make two.npy f4 1,2,4,8 1
    npy make long.npy f4 5,8 1
    npy make wide.npy f4 4,9 1
    npy make batch2.npy f4 2,4,8 1
    npy make batch3.npy f4 3,4,8 1
    npy make bits.npy bf16 4,8 1
    good="run --q good.npy --k good.npy --v good.npy -o o.npy"
    refuse_on "key lengths differ" 2 "the key length is 5 in long.npy and 4 in good.npy" run --q good.npy --k long.npy --v good.npy -o o.npy
    refuse_on "head dims differ" 2 "the head dimension is 8 in good.npy and 9 in wide.npy" run --q good.npy --k wide.npy --v good.npy -o o.npy
    refuse_on "heads do not divide" 2 "heads.npy has 3 heads and two.npy 2" run --q heads.npy --k two.npy --v two.npy -o o.npy
    refuse_on "ranks differ" 2 "number of dimensions" run --q two.npy --k good.npy --v good.npy -o o.npy
    refuse_on "batches differ" 2 "the batch is 2" run --q batch2.npy --k batch3.npy --v batch3.npy -o o.npy
    refuse_on "u2 without --bf16" 2 "--bf16" run --q bits.npy --k bits.npy --v bits.npy -o o.npy
    refuse_on "--bf16 without u2" 2 "--bf16" run --bf16 --q good.npy --k good.npy --v good.npy -o o.npy
    refuse_on "missing file" 2 "missing.npy: " run --q missing.npy --k good.npy --v good.npy -o o.npy
    refuse_on "folder as a file" 2 "$work: " run --q "$work" --k good.npy --v good.npy -o o.npy
    refuse_on "missing option" 2 "all needed" run --q good.npy --k good.npy -o o.npy
    refuse_on "two results in one file" 2 "both name" $good --lse o.npy
    mkdir folder
    ln -s . folder/here
    cp good.npy there.npy
    ln -s there.npy folder/link.npy
    ln -s ../there.npy folder/real.npy
    for pair in './o.npy o.npy' "o.npy $work/o.npy" 'folder/../o.npy o.npy' \
        'folder/o.npy folder/here/o.npy' 'there.npy folder/real.npy' './there.npy there.npy'; do
        on run --q good.npy --k good.npy --v good.npy -o ${pair% *} --lse ${pair#* }
        refuse "two results in one file: $pair" 2 "${pair% *} and --lse ${pair#* } both name one"
    done
    check "which stays as it was" cmp there.npy good.npy
    for pair in 'folder/o.npy o.npy' 'folder/link.npy there.npy'; do
        on run --q good.npy --k good.npy --v good.npy -o ${pair% *} --lse ${pair#* }
        expect "two results of one name: $pair" 0
        same "are both written" "<f4 (4, 8) <f4 (4,)" \
            "$(npy header ${pair% *} | tr '\n' ' ')$(npy header ${pair#* })"
    done
    rm -r folder o.npy
    refuse_on "causal corner" 2 "tl and br" $good --causal top
    refuse_on "window of one side" 2 "such as 256,0" $good --align br --window 3
    refuse_on "window from nowhere" 2 "causal-tl, causal-br, tl and br" $good --window 3,4
    refuse_on "two corners" 2 "--align is not allowed" $good --window 3,4 --causal tl --align tl
    for scale in x 0 nan inf 1e99; do
        refuse_on "scale $scale" 2 "--scale $scale" $good --scale $scale
    done
    check "no refused run left a file" test ! -e o.npy
    on run --q good.npy --k good.npy --v good.npy -o missing/o.npy
    refuse "missing folder of the result" 5 "missing/o.npy: "
    refuse_on "one of two results cannot be written" 5 "missing/l.npy: " $good --lse missing/l.npy
    check "then the other is not there either" sh -c 'test "$(ls | grep -c "^o.npy")" = 0'
    on run --q good.npy --k good.npy --v good.npy -o /dev/full
    refuse "full disk" 5 "No space left"
    on run --q good.npy --k good.npy --v good.npy -o /dev/null
    expect "result to a device file" 0
    check "which stays one" test -c /dev/null
}

test_run() {
    judge "f4, rank 2" f4 9,8 13,8 13,8
    judge "f2, rank 3, DV != D" f2 2,9,8 2,13,8 2,13,5
    judge "bf16, rank 4" bf16 2,2,9,16 2,2,13,16 2,2,13,16 --bf16
    judge "causal top-left" f4 5,8 9,8 9,8 --causal tl
    judge "causal bottom-right, more queries than keys, lse" f4 9,8 4,8 4,8 --causal br --lse l.npy
    judge "causal window" f4 9,8 12,8 12,8 --causal br --window 3,-1 --lse l.npy
    judge "window from the bottom-right corner" f4 9,8 12,8 12,8 --align br --window 1,2
    judge "capped scores" f4 9,8 12,8 12,8 --softcap 1 --causal br --lse l.npy
    npy make s.npy f4 4 14
    judge "sinks" f4 1,4,9,8 1,2,6,8 1,2,6,8 --sinks s.npy --causal br --lse l.npy
    on run --q q.npy --k k.npy --v v.npy -o o.npy --sinks q.npy
    refuse "sinks of another shape" 2 "one f4 for each of the 4 query heads"
    npy ints uq.npy 3 '9,0,4'
    npy ints uk.npy 3 '2,6,5'
    judge "used lengths" f4 3,4,9,8 3,2,6,8 3,2,6,8 --used-q uq.npy --used-k uk.npy --causal br --lse l.npy
    npy ints cq.npy 4 '0,9,9,15'
    npy ints ck.npy 4 '0,6,9,20'
    judge "packed sequences" f2 15,4,8 20,2,8 20,2,8 --cu-q cq.npy --cu-k ck.npy --causal br --lse l.npy
    npy ints t.npy 3,2 '5,0,2,4,3,1'
    judge "pages" f4 3,4,9,8 6,2,3,8 6,2,3,8 --used-k uk.npy --table t.npy --causal br --lse l.npy
    judge "pages of packed sequences" f4 15,4,8 6,3,2,8 6,3,2,8 --cu-q cq.npy --used-k uk.npy --table t.npy --lse l.npy
    npy ints t.npy 3,2 '5,0,2,6,3,1'
    on run --q q.npy --k k.npy --v v.npy -o o.npy --cu-q cq.npy --used-k uk.npy --table t.npy
    refuse "a page that there is not" 2 "page 1 of sequence 1) is 6, allowed are 0 to 5"
    on run --q q.npy --k k.npy --v v.npy -o o.npy --cu-q cq.npy --table t.npy
    refuse "pages without lengths" 2 "--table needs --used-k"
    on run --q q.npy --k k.npy --v v.npy -o o.npy --cu-q q.npy --used-k uk.npy --table t.npy
    refuse "starts that are no integers" 2 "--cu-q is i4 of rank 1"
    on run --q q.npy --k k.npy --v v.npy -o o.npy --cu-q cq.npy --used-k cq.npy --table t.npy
    refuse "lengths of more sequences than there are" 2 "cq.npy has length 4; --used-k has 3"
    judge "grouped heads, bshd, lse" f2 2,7,4,8 2,9,2,8 2,9,2,8 --layout bshd --lse l.npy
    judge "rank 3 with lse" f4 2,3,8 2,5,8 2,5,8 --lse l.npy
    judge "scale" f4 1,2,9,8 1,2,9,8 1,2,9,8 --scale -0.7
    judge "no keys" f4 3,8 0,8 0,8 --lse l.npy
    judge "no queries" f4 0,8 3,8 3,8
    npy make q.npy f4 5,8 11
    npy make k.npy f4 9,8 12
    npy make v.npy f4 9,8 13 --nan 4
    on run --q q.npy --k k.npy --v v.npy -o o.npy --causal tl --guard-v --check --rows 0 --json
    expect "NaN in rows of v that no query sees" 0
    same "is guarded against" "fwd q5 k9 d8 causal-tl guard-v" "$(rows json get problem)"
    check "so that the result is right" npy judge q.npy k.npy v.npy o.npy --causal tl
    run dump --device "$device" 'fwd q9 d8'
    on run --q q.npy --k k.npy --v v.npy -o o.npy --format json
    same "columns of a run" "problem device config status time_ms error ratio" "$(rows json columns)"
    same "nothing was compared" "- -" "$(rows json get error ratio)"
    on run --q q.npy --k k.npy --v v.npy -o q.npy
    expect "result over an input" 0
    ln -s real.npy link.npy
    cp q.npy real.npy
    on run --q q.npy --k k.npy --v v.npy -o link.npy
    check "result through a symbolic link" sh -c 'test -L link.npy && test ! -L real.npy'
    check "no temporary files are left" sh -c '! ls | grep -q "npy\.[A-Za-z0-9]"'
    on run --q q.npy --k k.npy --v v.npy -o o.npy --caps-mask cpu=0
    expect "pretending to be a GPU" 0
}

test_check() {
    on check --impl fused,unfused --format json 'fwd q33 k65 d64 lse'
    expect "check" 0
    same "its columns" "problem device impl config status rows ratio error lse_error" \
        "$(rows json columns)"
    same "its rows" "fused ok 33 unfused ok 33" \
        "$(rows json get impl status rows | tr '\n' ' ' | sed 's/ $//')"
    on check --rows 5 --family all --seed 7 'fwd q33 k65 d64'
    expect "check of every family" 0
    check "ends with a summary" grep -q '^[1-9][0-9]* cases, 0 failed, worst ratio 0' "$work/out"
    on check --family generic --format csv 'fwd q33 k65 d64'
    check "a family by its name" sh -c "grep -q ',generic_' '$work/out'"
    ASAN_OPTIONS=${ASAN_OPTIONS:-}:allocator_may_return_null=1 \
        on check 'fwd b1024 h1024 q1048576 d1024'
    expect "tensors that no memory holds" 5 "take 18014398509481984 bytes, the device has [1-9]"
    on check --impl unfused --format csv 'lse q33 d64'
    expect "what an implementation cannot do" 4 "statistics"
    same "is a row" "unsupported" "$(rows csv get status)"
    # A kernel that forgets to rescale its output when the maximum grows.
    kernels=$here/../../kernels
    cp -r "$kernels" "$work/kernels"
    on check --kernel-dir "$work/kernels" --no-cache 'fwd q33 k65 d64'
    expect "kernels from a folder" 0
    sed 's/tile_out_rescale(&t, &out, band, shrink);/;/' "$kernels/attention/forward.cl" \
        >"$work/kernels/attention/forward.cl"
    on check --kernel-dir "$work/kernels" --no-cache --format csv 'fwd q33 k65 d64'
    expect "a wrong kernel" 1 "differs from the reference"
    same "is a row" "wrong" "$(rows csv get status)"
    on check --kernel-dir "$work/nothing" --no-cache 'fwd q33 k65 d64'
    expect "kernels from a missing folder" 5 "$work/nothing"
}

test_cache() {
    folder=$work/cache
    on cache list --cache-dir "$folder"
    expect "list of a missing folder" 0
    check "which is not made" test ! -e "$folder"
    on cache warm --cache-dir "$folder" --format csv 'fwd q64 d64'
    expect "warm" 0
    same "the first process builds" "ok 0" "$(rows csv get status from_cache)"
    on cache warm --cache-dir "$folder" --format csv 'fwd q64 d64'
    same "the second process builds nothing from source" "ok 1" "$(rows csv get status from_cache)"
    on cache list --cache-dir "$folder" --format csv
    same "one entry" "ok" "$(rows csv get status)"
    entry=$(rows csv get name)
    check "whose label is there" sh -c "grep -q 'fwd_f32_d64' '$work/out'"
    on cache verify --cache-dir "$folder"
    expect "verify" 0
    on cache stat --cache-dir "$folder" --format json
    same "stat" "1 0" "$(rows json get entries damaged)"
    cp "$folder/$entry" "$work/whole"
    echo foreign >"$folder/foreign.txt"
    head -c 100 "$work/whole" >"$folder/$entry"
    on cache verify --cache-dir "$folder" --format csv
    expect "verify of a truncated entry" 1
    same "is named" "$entry damaged" "$(rows csv get name status)"
    on cache warm --cache-dir "$folder" --format csv 'fwd q64 d64'
    same "it is built again" "ok 0" "$(rows csv get status from_cache)"
    on cache verify --cache-dir "$folder"
    expect "and replaced" 0
    { cat "$work/whole"; echo x; } >"$folder/$entry"
    on cache clear --damaged --cache-dir "$folder" --format csv
    same "clear --damaged" "1" "$(rows csv get removed)"
    on cache warm --cache-dir "$folder" 'fwd q64 d64' 'fwd q64 d32'
    on cache clear --cache-dir "$folder" --format csv
    same "clear" "2" "$(rows csv get removed)"
    check "leaves foreign files" test -e "$folder/foreign.txt"
    on cache stat --cache-dir "$folder" --format csv
    same "nothing is left" "0" "$(rows csv get entries)"
    on cache list --cache-dir "$work/whole"
    expect "list of a file" 5 "$work/whole"
    on cache warm
    refuse "warm without a problem" 2 "at least one problem"
    on cache nonsense
    refuse "unknown action" 2 "list, stat, verify, clear and warm"
    on cache list --no-cache
    refuse "list without a cache" 2 "--no-cache"
}

# quiet NAME LINES: the last run worked and wrote so many lines, or nothing at all, on stderr.
quiet() {
    [ "$code" -eq 0 ] && [ "$(wc -l <"$work/err")" -eq "$2" ] &&
        { [ "$2" -gt 0 ] || [ ! -s "$work/err" ]; }
    report "$1 (exit $code)" $?
}

warm() {
    on cache warm --format csv "$@" 'fwd q64 d64'
}

test_cache_folders() {
    rm -rf "$HOME/.cache"
    warm
    quiet "folder below HOME: made" 0
    check "at its place" test -d "$HOME/.cache/flashcl"
    XDG_CACHE_HOME=$work/xdg warm
    quiet "XDG_CACHE_HOME" 0
    check "at its place" test -d "$work/xdg/flashcl"
    warm --cache-dir "$work/a/b/c"
    quiet "missing parents" 0
    check "are made" test -d "$work/a/b/c"
    echo x >"$work/file"
    warm --cache-dir "$work/file"
    quiet "a file in place of the folder: one warning" 1
    warm --cache-dir "$work/file/below"
    quiet "a file in place of a parent: one warning" 1
    mkdir "$work/target"
    ln -s target "$work/symlink"
    warm --cache-dir "$work/symlink"
    quiet "symbolic link to a folder: one warning" 1
    ln -s nowhere "$work/dangling"
    warm --cache-dir "$work/dangling"
    quiet "dangling link: one warning" 1
    warm --cache-dir "$work/Grüße 漢字"
    quiet "path that is not ASCII" 0
    warm --cache-dir "$work/Grüße 漢字"
    same "is used" "1" "$(rows csv get from_cache)"
    home=$HOME
    unset HOME
    on check 'fwd q8 d8'
    quiet "HOME unset: one warning" 1
    check "which says so" grep -q 'neither XDG_CACHE_HOME nor HOME is set' "$work/err"
    XDG_CACHE_HOME=relative on check 'fwd q8 d8'
    quiet "relative XDG_CACHE_HOME: one warning" 1
    check "makes nothing" test ! -e relative/flashcl
    export HOME="$home"
    on check --no-cache 'fwd q8 d8'
    quiet "no cache asked for" 0
    mkdir "$work/readonly"
    chmod 500 "$work/readonly"
    if [ "$(id -u)" -ne 0 ]; then
        warm --cache-dir "$work/readonly"
        quiet "read-only folder: one warning" 1
    fi
}

test_dump() {
    on info --caps
    expect "caps" 0
    cp "$work/out" "$work/caps.txt"
    on dump 'fwd q64 d64 f16 causal-br'
    expect "dump" 0
    cp "$work/out" "$work/here.cl"
    check "names label, flags, kernel and local size" sh -c "
        for word in label flags kernel 'local size'; do
            grep -q \"^// \$word: \" '$work/here.cl' || exit 1
        done"
    check "is complete" sh -c "grep -q '^kernel .* void ' '$work/here.cl' && ! grep -q '^#include' '$work/here.cl'"
    OCL_ICD_VENDORS="$work/nothing" run dump --caps "$work/caps.txt" 'fwd q64 d64 f16 causal-br'
    check "is the same without a device" cmp "$work/out" "$work/here.cl"
    on dump -o "$work/file.cl" 'fwd q64 d64 f16 causal-br'
    check "is the same in a file" cmp "$work/file.cl" "$work/here.cl"
    on dump --json 'fwd q64 d64 f16 causal-br'
    same "fields in JSON" \
        "problem device label kernel flags group_size groups local_bytes arguments source" \
        "$(rows json columns)"
    run dump --caps "$work/nothing" 'fwd q64 d64'
    refuse "missing caps file" 2 "$work/nothing"
    echo nonsense >"$work/bad.txt"
    run dump --caps "$work/bad.txt" 'fwd q64 d64'
    refuse "bad caps file" 2 "$work/bad.txt"
    on dump --config generic_m1n1w1r1d1 'fwd q64 d64'
    refuse "configuration that cannot be" 4 "item_rows"
}

test_tune() {
    wisdom=$work/wisdom.txt
    on tune --max-evals 3 --no-store --wisdom "$wisdom" 'fwd q64 d64'
    expect "tune that stops early" 7
    check "does not store" test ! -e "$wisdom"
    check "prints wisdom rows" grep -q '^flashcl-wisdom 1$' "$work/out"
    sed -n '/^flashcl-wisdom 1$/,$p' "$work/out" >"$work/a.txt"
    on tune --strategy best 'fwd q64 d64'
    refuse "unknown strategy" 2 "exhaustive, random, greedy and seeded"
    on tune --max-evals 2 --no-store --strategy random --seed 5 --format csv 'fwd q64 d64'
    expect "tune with a strategy" 7
    same "tries as many as asked for" "2" "$(rows csv get tried)"
    on tune --max-evals 2 --no-store --format json 'fwd q64 d32'
    expect "tune in JSON" 7
    { echo 'flashcl-wisdom 1'; rows json get row; } >"$work/b.txt"
    run wisdom show --wisdom "$wisdom"
    expect "show of a missing file" 0
    run wisdom merge --wisdom "$wisdom" "$work/a.txt" "$work/b.txt" --format csv
    expect "merge" 0
    same "counts" "2" "$(rows csv get merged)"
    run wisdom show --wisdom "$wisdom" --format json
    same "show" "2" "$(rows json get class | wc -l | tr -d ' ')"
    run wisdom diff "$work/a.txt" "$wisdom" --format csv
    same "diff: a row more" "only-b" "$(rows csv get difference)"
    awk -F '\t' -v OFS='\t' 'NR > 1 { $4 = "bad wrong" } 1' "$work/a.txt" >"$work/c.txt"
    run wisdom diff "$work/a.txt" "$work/c.txt" --format csv
    same "diff: another configuration" "differs" "$(rows csv get difference)"
    run wisdom diff "$work/a.txt" "$work/a.txt" --format json
    same "diff: none" "[]" "$(cat "$work/out")"
    cp "$wisdom" "$work/before.txt"
    head -c 30 "$work/a.txt" >"$work/half.txt"
    run wisdom merge --wisdom "$wisdom" "$work/b.txt" "$work/half.txt"
    refuse "merge of a half-written file" 2 "half.txt"
    check "changes nothing" cmp "$wisdom" "$work/before.txt"
    on check --wisdom "$work/half.txt" 'fwd q8 d8'
    refuse "half-written wisdom in use" 5 "half.txt"
    run wisdom merge --wisdom "$wisdom" "$work/nothing"
    refuse "merge of a missing file" 2 "$work/nothing"
    run wisdom diff "$work/a.txt"
    refuse "diff of one file" 2 "two files"
    run wisdom nonsense
    refuse "unknown action" 2 "show, merge FILE... and diff A B"
    on cache warm --wisdom "$wisdom" --format csv 'fwd q64 d64'
    same "a plan takes the wisdom" "wisdom" "$(rows csv get origin)"
    on cache warm --no-wisdom --format csv 'fwd q64 d64'
    check "and does not when told so" sh -c "! grep -q ',wisdom,' '$work/out'"
    on tune --budget 0.000001 --no-store --format csv 'fwd q64 d64' 'fwd q64 d32'
    expect "a budget for nothing" 7
    same "has a row for each problem" "budget budget" \
        "$(rows csv get status | tr '\n' ' ' | sed 's/ $//')"
    on tune --max-evals 3 'fwd q64 d64' --caps-mask local_bytes=16,cpu=0
    expect "tune with a bad mask" 2
}

test_output() {
    "$flashcl" --version >/dev/full 2>"$work/err"
    code=$?
    : >"$work/out"
    expect "full standard output" 5 "cannot be written"
    "$flashcl" dump --device "$device" 'fwd q8 d8' >&- 2>"$work/err"
    code=$?
    expect "closed standard output" 5 "cannot be written"
    on check --verbose 'fwd q64 d64'
    expect "verbose" 0 "^flashcl: note: "
    on check 'fwd q64 d64'
    quiet "nothing on stderr otherwise, as it is no terminal" 0
}

run_groups usage problems devices npy_errors run check cache cache_folders dump tune output
