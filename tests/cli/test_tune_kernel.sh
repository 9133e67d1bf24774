#!/bin/sh
# Drives `flashcl tune-kernel` from outside: files in T1, options, results in T4. TAP output.
#     sh test_tune_kernel.sh PATH-OF-FLASHCL [FILTER]
# Needs an OpenCL device; FILTER runs only the groups whose name contains it.
# A kernel that crashes must die of its signal, under a sanitizer too.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:handle_segv=0"
. "$(dirname "$0")/common.sh"

data=$here/../data
export TMPDIR="$work/tmp"
mkdir "$TMPDIR"

t4() {
    python3 "$here/t4.py" "$@"
}

# spec NAME SCRIPT: faulty.json, changed by a line of Python, as NAME in the folder of the tests.
spec() {
    python3 -c "
import json, sys
d = json.load(open('$data/faulty.json'))
k, c, a = d['KernelSpecification'], d['ConfigurationSpace'], d['KernelSpecification']['Arguments']
$2
json.dump(d, open('$1', 'w'))" || echo "spec $1 failed" >&2
}

# wrong_spec SCRIPT PATTERN: such a file is refused with this reason, before any device is needed.
wrong_spec() {
    spec "$work/wrong.json" "$1"
    OCL_ICD_VENDORS="$work/nothing" run tune-kernel "$work/wrong.json"
    refuse "refuses $1" 2 "wrong.json: .*$2"
}

test_files() {
    cp "$data/faulty.cl" "$work"
    run tune-kernel
    refuse "no file" 2 "0 files; 1 is allowed"
    run tune-kernel nothing.json
    refuse "a missing file" 2 "nothing.json: .*No such file"
    run tune-kernel nothing.cl --kernel k --global 1
    refuse "a missing kernel" 2 "nothing.cl: cannot be read: No such file"
    echo '{"General": }' >"$work/broken.json"
    run tune-kernel "$work/broken.json"
    refuse "broken JSON" 2 "broken.json: line 1: "
    run tune-kernel "$data/faulty.json" --param A=1
    refuse "options besides a file" 2 "--param: .*faulty.json describes the kernel"
    wrong_spec "d['Extra'] = 1" "the field 'Extra' is not supported"
    wrong_spec "del d['ConfigurationSpace']" "ConfigurationSpace: an object is needed"
    wrong_spec "del d['KernelSpecification']" "KernelSpecification: an object is needed"
    wrong_spec "c['TuningParameters'][0]['Colour'] = 1" \
        "ConfigurationSpace.TuningParameters.0.: the field 'Colour' is not supported"
    wrong_spec "del c['TuningParameters'][0]['Values']" "Values is neither a text nor a list"
    wrong_spec "c['TuningParameters'][1]['Values'] = '[1, 2.5]'" "Type is 'int'"
    wrong_spec "c['TuningParameters'][2]['Values'] = '[-1]'" "Type is 'uint'"
    wrong_spec "c['TuningParameters'][1]['Type'] = 'complex'" "Type is 'complex'"
    wrong_spec "c['TuningParameters'][1]['Values'] = '[1, '" "Values: "
    wrong_spec "c['Conditions'][0]['Expression'] = 'LANES * NOTHING'" "Expression: .*NOTHING"
    wrong_spec "c['Conditions'][0]['Expression'] = 'LANES > 100'" "no point of the space fulfils"
    wrong_spec "k['Language'] = 'CUDA'" "Language 'CUDA' is not supported"
    wrong_spec "k['KernelFile'] = 'nothing.cl'" "KernelFile: .*nothing.cl: cannot be read"
    wrong_spec "del k['KernelName']" "the field 'KernelName' is missing"
    wrong_spec "k['SharedMemory'] = 16" "SharedMemory is not supported"
    wrong_spec "k['GlobalSizeType'] = 'Metal'" "GlobalSizeType 'Metal'"
    wrong_spec "k['GlobalSize'] = {'X': 'LANES', 'W': '1'}" \
        "KernelSpecification.GlobalSize: the field 'W' is not supported"
    wrong_spec "k['GlobalSize'] = {'X': 'NOTHING'}" "global: .*NOTHING"
    wrong_spec "k['SimulationInput'] = 'x'" "the field 'SimulationInput' is not supported"
    wrong_spec "a[1]['FillType'] = 'Script'" \
        "KernelSpecification.Arguments.1.: FillType 'Script' is not supported"
    wrong_spec "a[1]['FillType'] = 'BinaryHDF'" "FillType 'BinaryHDF' is not supported"
    wrong_spec "a[1]['FillType'] = 'Generator'" "FillType 'Generator' is not supported"
    wrong_spec "a[1]['FillType'] = 'BinaryRaw'" "DataSource is missing"
    wrong_spec "a[1]['MemoryType'] = 'Symbol'" "MemoryType 'Symbol' is not supported"
    wrong_spec "a[1]['AccessType'] = 'Append'" "AccessType 'Append'"
    wrong_spec "a[1]['Type'] = 'custom'" "Type: element type 'custom'"
    wrong_spec "a[1]['Size'] = 'LANES'" "argument x: count, LANES, is 1 or 4"
    wrong_spec "a[0]['AbsoluteTolerance'] = -1" "argument y: tolerance -1"
    wrong_spec "a[2]['FillValue'] = 1e30" "argument count: value .* is no whole number"
    wrong_spec "k['ReferenceArguments'] = [{'TargetName': 'z', 'FillType': 'BinaryRaw', 'DataSource': 'x'}]" \
        "KernelSpecification.ReferenceArguments.0.: TargetName 'z' is no argument"
    wrong_spec "d['Search'] = {'Name': 'MCMC'}" "Search: Name 'MCMC' is not supported"
    wrong_spec "d['Search'] = {'Name': 'Random', 'Attributes': [{'Name': 'Heat', 'Value': '1'}]}" "Heat"
    wrong_spec "d['Budget'] = [{'Type': 'Energy', 'BudgetValue': 1}]" "Budget: Energy of 1"
    wrong_spec "d['Budget'] = [{'Type': 'ConfigurationFraction', 'BudgetValue': 2}]" "Fraction of 2"
    wrong_spec "d['General']['TimeUnit'] = 'Days'" "General: TimeUnit 'Days'"
    wrong_spec "d['General']['OutputFormat'] = 'XML'" "OutputFormat 'XML' is not supported"
}

test_faults() {
    on tune-kernel "$data/faulty.json" --output "$work/r.json" --emit "$work/w.h" --format csv \
        --metric 'gbs=8 * 1001 / time_ms / 1e6'
    expect "finds the right points among faults" 0
    same "counts" "56 7 56 51 ok" "$(rows csv get points excluded tried failed status)"
    check "the winner is right" sh -c "grep -q 'FAULT=none' '$work/out'"
    check "emits it" sh -c "grep -q '^#define FAULT none\$' '$work/w.h' && grep -q '^#define LOCAL' '$work/w.h'"
    check "computes the metric" sh -c "[ \"\$(python3 '$here/rows.py' csv get gbs <'$work/out')\" != - ]"
    check "T4 is as it must be" t4 check "$work/r.json"
    run tune --replay "$work/r.json" --seeds 2 --format csv
    expect "T4 can be replayed" 0
    same "each point has its kind" "compile 5 constraints 21 correct 5 correctness 25" \
        "$(t4 kinds "$work/r.json")"
    same "faults are found where they are" "wrong=correctness build=compile before=correctness behind=correctness unwritten=correctness input=correctness" \
        "$(t4 by "$work/r.json" FAULT LOCAL 8)"
    on tune-kernel "$data/faulty.json" --max-evals 4
    expect "a budget" 7 "4 of 56"
    check "text tells why points were excluded" grep -q '^7 excluded: LANES' "$work/out"
    spec "$work/wrong_only.json" "c['TuningParameters'][0]['Values'] = \"['wrong']\""
    cp "$data/faulty.cl" "$work"
    on tune-kernel "$work/wrong_only.json" --emit "$work/none.h"
    expect "no right point" 6 "none of"
    check "emits nothing then" test ! -e "$work/none.h"
    check "and says why" grep -q 'wrong, the first: argument y: 1 of 1001' "$work/out"
    spec "$work/reference.json" "k['ReferenceKernel']['KernelName'] = 'nothing'"
    on tune-kernel "$work/reference.json"
    refuse "a reference that does not exist" 5 "reference kernel nothing: "
    on tune-kernel "$data/faulty.json" --output "$work/nothing/r.json"
    refuse "results that cannot be written" 5 "nothing/r.json: cannot be written"
    on tune-kernel "$data/faulty.json" --output /dev/full
    expect "a full disk" 5 "/dev/full: cannot be written"
}

test_spec_fields() {
    cp "$data/faulty.cl" "$work"
    python3 -c "
import struct
x = [1.0 + i / 1001 for i in range(1001)]
open('$work/x.raw', 'wb').write(struct.pack('<1001f', *x))
open('$work/y.raw', 'wb').write(struct.pack('<1001f', *(3 * v for v in x)))
y = [3 * v for v in x]
y[500] += 0.5
open('$work/bad.raw', 'wb').write(struct.pack('<1001f', *y))"
    expected="c['TuningParameters'][0]['Values'] = ['none']
del k['ReferenceKernel']
a[1].update(FillType='BinaryRaw', DataSource='x.raw')
k['ReferenceArguments'] = [dict(Name='r', TargetName='y', FillType='BinaryRaw', DataSource='y.raw',
    ValidationMethod='SideBySideComparison', ValidationThreshold=1e-5)]"
    spec "$work/raw.json" "$expected"
    on tune-kernel "$work/raw.json" --format csv
    expect "inputs and results from files" 0
    spec "$work/bad.json" "$expected
k['ReferenceArguments'][0]['DataSource'] = 'bad.raw'"
    on tune-kernel "$work/bad.json"
    expect "another expected result" 6
    check "is told" grep -q 'argument y: 1 of 1001 numbers are wrong; number 500 is' "$work/out"
    spec "$work/tolerant.json" "$expected
k['ReferenceArguments'][0].update(DataSource='bad.raw', ValidationThreshold=1)"
    on tune-kernel "$work/tolerant.json" --format csv
    expect "and passes within a wide tolerance" 0
    spec "$work/short.json" "$expected
a[1]['Size'] = 1000"
    on tune-kernel "$work/short.json"
    refuse "a file of another size" 2 "argument x: bytes holds 4004 bytes, the vector needs 4000"
    spec "$work/budget.json" "d['Budget'] = [dict(Type='ConfigurationFraction', BudgetValue=0.05)]
d['Search'] = dict(Name='Random', Attributes=[dict(Name='Seed', Value='3')])
c['TuningParameters'][0]['Default'] = 'none'
c['TuningParameters'][2]['Default'] = 8"
    on tune-kernel "$work/budget.json" --format csv
    same "a part of the points" "3" "$(rows csv get tried)"
    on tune-kernel "$work/budget.json" --max-evals 2 --format csv
    same "the command line goes first" "2" "$(rows csv get tried)"
    on tune-kernel "$work/budget.json" --strategy seeded --max-evals 3 --format csv
    check "the default is timed" sh -c "[ \"\$(python3 '$here/rows.py' csv get default_ms <'$work/out')\" != - ]"
}

test_options() {
    cp "$data/faulty.cl" "$work"
    set -- faulty.cl --kernel scale --param FAULT=none,wrong --param LANES=1,4 --param LOCAL=8 \
        --constraint 'LANES * LOCAL > 8' --global 1024 --local LOCAL \
        --arg 'y:float[1001] write absolute=1e-5' --arg 'x:float[1001] random=1..2,7' --arg n:int32=1001 \
        --arg f:float=2
    on tune-kernel "$@" --reference scale_reference --reference-global 1001 --format csv
    expect "a kernel by options" 0
    same "its winner" "FAULT=none LANES=4 LOCAL=8" "$(rows csv get winner)"
    same "its points" "2 2 1" "$(rows csv get points excluded failed)"
    on tune-kernel "$@" --format csv
    same "without a reference nothing is wrong" "0" "$(rows csv get failed)"
    on tune-kernel faulty.cl --kernel scale --param FAULT=wrong --param LANES=1 --global 1001 \
        --arg 'y:float[1001] write scratch' --arg 'x:float[1001]' --arg n:int32=1001 --arg f:float=2 \
        --reference scale_reference --reference-global 1001 --format csv
    same "scratch is not compared" "0" "$(rows csv get failed)"
    on tune-kernel "$@" --default 'FAULT=none LANES=1 LOCAL=8'
    refuse "a default that is not valid" 2 "default FAULT=none LANES=1 LOCAL=8 is not valid"
    on tune-kernel "$@" --metric 'x=LANES * nothing'
    refuse "a metric over unknown names" 2 "nothing"
    on tune-kernel "$@" --metric 'LANES'
    refuse "a metric without a name" 2 "NAME=EXPRESSION"
    on tune-kernel "$@" --reference-global 1
    refuse "sizes of no reference" 2 "--reference is missing"
    on tune-kernel faulty.cl
    refuse "no kernel" 2 "--kernel is missing"
    on tune-kernel faulty.cl --kernel scale --param FAULT=none
    refuse "no global size" 2 "global: one to three"
    on tune-kernel faulty.cl --kernel scale --param FAULT
    refuse "a parameter without values" 2 "--param FAULT: NAME=VALUES"
    on tune-kernel faulty.cl --kernel scale --param A=1 --constraint 'A >'
    refuse "half a constraint" 2 "--constraint A >: "
    for arg in x x: x:int32 'x:float[4' 'x:float[4] nonsense' 'x:float[4] random=1' \
        'x:float[4] absolute=a' x:bool=1; do
        on tune-kernel faulty.cl --kernel scale --param A=1 --global 1 --arg "$arg"
        refuse "argument $arg" 2 "--arg $(printf %s "$arg" | tr '[' .)"
    done
    on tune-kernel faulty.cl --kernel scale --param A=1 --global 1 --arg 'x:float[4] file=nothing'
    refuse "a missing file of an argument" 2 "nothing: cannot be read"
    npy make x.npy f4 1001 1
    on tune-kernel faulty.cl --kernel scale --param FAULT=none --param LANES=1 --global 1001 \
        --arg 'y:float[1001] write' --arg 'x:float[1001] file=x.npy' --arg n:int32=1001 --arg f:float=2
    expect "an argument from a .npy file" 0
    on tune-kernel faulty.cl --kernel scale --param A=1 --global 1 --arg 'x:half[1001] file=x.npy'
    refuse "a .npy file of another type" 2 "x.npy holds f4: float is read from f4"
}

test_local() {
    cat >"$work/local.cl" <<'END'
__kernel void reverse(__global int *y, __global const int *x, __local int *tile)
{
    int i = (int)get_local_id(0);
    tile[i] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    y[get_global_id(0)] = tile[SIZE - 1 - i];
}
END
    on tune-kernel local.cl --kernel reverse --param SIZE=4,8 --global 4 --local SIZE --groups \
        --arg 'y:int32[32] read-write constant=0 scratch' --arg 'x:int32[32] random=0..9' \
        --arg 'tile:int32[SIZE] local' --format csv
    expect "local memory and groups" 0
    same "both sizes pass" "2 0" "$(rows csv get tried failed)"
}

test_examples() {
    examples=$here/../../examples/kernels
    for name in gemm convolution; do
        on tune-kernel "$examples/$name.json" --max-evals 3 --format csv
        expect "example $name" 7
        same "three points of $name are right" "3 0" "$(rows csv get tried failed)"
    done
    # The command in the comment of vector_add.cl.
    (
        flags=$(sed -n '/flashcl tune-kernel/,/reference-global/s/^\/\/ *//p' "$examples/vector_add.cl")
        cd "$examples" || exit 1
        eval "$(printf '%s --device "$device" --format csv' "$flags" |
            sed 's/^flashcl/"$flashcl"/; s/1000003/10007/g')"
    ) >"$work/out" 2>"$work/err"
    code=$?
    expect "example vector_add as its comment says" 0
    same "all its points are right, with a tail" "15 0" "$(rows csv get tried failed)"
}

test_crashes() {
    on tune-kernel "$data/faulty_crash.json" --run-timeout 1 --output "$work/r.json"
    expect "crashes and hangs" 0
    check "the right point wins" grep -q '^scale  *FAULT=none ' "$work/out"
    check "crashes are told" grep -q '^5 crash, the first: crashed: signal ' "$work/out"
    check "hangs are told" grep -q '^5 timeout, the first: timeout while running' "$work/out"
    same "every point has its kind" \
        "compile 5 constraints 15 correct 5 correctness 5 runtime 5 timeout 5" "$(t4 kinds "$work/r.json")"
    same "the right one" "wrong=correctness build=compile crash=runtime hang=timeout" \
        "$(t4 by "$work/r.json" FAULT LOCAL 8)"
    none_left "after crashes"
    same "no journal is left" "" "$(find "$HOME" -name '*.journal')"
    run tune-kernel "$data/faulty_crash.json" --run-timeout 0
    refuse "no time to run" 2 "--run-timeout 0"
    run tune-kernel "$data/faulty_crash.json" --in-process --resume
    refuse "a journal without workers" 2 "exclude"
    on tune-kernel "$data/faulty.json" --in-process --max-evals 4 --journal "" --format csv
    refuse "nor with a file" 2 "exclude"
    odd=$(printf 'odd\377.cl')
    cp "$data/faulty.cl" "$odd"
    on tune-kernel "$odd" --kernel scale --param A=1 --global 1
    refuse "a name that workers cannot be told" 2 "is no UTF-8"
    on tune-kernel "$data/faulty.json" --in-process --max-evals 4 --format csv
    same "in this process" "4" "$(rows csv get tried)"
}

# The tuner is killed while the second of two points hangs.
test_killed() {
    cp "$data/faulty.cl" "$work"
    spec "$work/hang.json" "c['TuningParameters'][0]['Values'] = ['none', 'hang']
c['TuningParameters'][1]['Values'] = [1]
c['TuningParameters'][2]['Values'] = [8]"
    "$flashcl" tune-kernel hang.json --device "$device" --run-timeout 600 --journal journal \
        >"$work/out" 2>"$work/err" &
    tuner=$!
    waited=0
    until { [ "$(grep -c '"start":"1"' journal)" = 2 ] && [ "$(grep -c '"start":"0"' journal)" = 2 ]; } \
        2>/dev/null || [ $waited -gt 600 ]; do
        sleep 0.1
        waited=$((waited + 1))
    done
    kill -9 $tuner
    wait $tuner 2>/dev/null
    no_process "a tuner killed while a worker hangs"
    echo '// changed' >>faulty.cl
    on tune-kernel hang.json --journal journal --resume
    refuse "a journal of another source" 2 "its digest is"
    cp "$data/faulty.cl" "$work"
    cp journal several
    echo '{"end":"0"}' >>journal
    on tune-kernel hang.json --journal several --run-timeout 2 --resume --no-store --verbose --format csv
    expect "resume with several in flight" 0 "0 evaluations are taken"
    check "the guilty one is found" grep -q 'FAULT=hang.*: timeout while running' "$work/err"
    same "the innocent one wins" "FAULT=none LANES=1 LOCAL=8 2 1" "$(rows csv get winner tried failed)"
    on tune-kernel hang.json --journal journal --resume --verbose --output r.json --format csv
    expect "resume" 0 "1 evaluations are taken"
    check "what alone was in flight failed" grep -q 'FAULT=hang.*: in flight when tuning ended' "$work/err"
    same "the other wins" "FAULT=none LANES=1 LOCAL=8 2 1" "$(rows csv get winner tried failed)"
    same "results are whole" "correct 1 runtime 1" "$(t4 kinds r.json)"
    none_left "after it was resumed"
    check "the journal is gone" test ! -e journal
    run wisdom show --format csv
    same "what was in flight is remembered" "FAULT=hang" \
        "$(rows csv get class config | sed -n 's/.* \(FAULT=hang\) bad in-flight$/\1/p')"
    printf '%s\n' '{"do":"open","kind":"kernel","evaluates":false,"arguments":["tune-kernel","hang.json"],"digest":"0"}' >requests
    "$flashcl" worker --device "$device" --no-cache --no-wisdom <requests >"$work/out" 2>"$work/err"
    check "a worker refuses a kernel that changed" grep -q '"error":.*changed under way' "$work/out"
}

# Four points, of which two crash; the winners of a file and what it says of them.
test_wisdom() {
    cp "$data/faulty.cl" "$work"
    narrow="c['TuningParameters'][0]['Values'] = ['none', 'crash']
c['TuningParameters'][1] = dict(Name='LANES', Type='int', Values=[1])
c['TuningParameters'][2]['Values'] = [8, 64]"
    spec crash.json "$narrow"
    spec larger.json "$narrow
k['ProblemSize'] = [2002]"
    wisdom=$work/kernels.txt
    on tune-kernel crash.json --wisdom "$wisdom" --no-store --format csv
    same "not stored when told so" "4 2 0" "$(rows csv get tried failed stored)"
    check "makes no file then" test ! -e "$wisdom"
    on tune-kernel crash.json --wisdom "$wisdom"
    expect "tunes and stores" 0
    check "says where" grep -qx "stored in $wisdom" "$work/out"
    run wisdom show --wisdom "$wisdom" --format csv
    same "wisdom has the winner and what crashed" "3 1 2" \
        "$(rows csv get config | wc -l | tr -d ' ') $(rows csv get config | grep -c '^FAULT=none LOCAL=') \
$(rows csv get config | grep -c '^bad crash')"
    same "under one kernel and size" 1 "$(rows csv get class | sed 's/ FAULT=crash LOCAL=[0-9]*$//' | sort -u |
        grep -Ec '^kernel scale [0-9a-f]{16} LANES=1 ProblemSize\[0\]=1001 #[0-9a-f]{16}$')"
    winner=$(rows csv get config | grep none)
    on tune-kernel crash.json --wisdom "$wisdom" --format csv
    same "again: what crashed is left out" "4 2 2 0" "$(rows csv get points excluded tried failed)"
    same "and the stored winner is the default" "${winner% *} LANES=1 ${winner#* }" "$(rows csv get default)"
    check "which is timed" sh -c "[ \"\$(python3 '$here/rows.py' csv get default_ms <'$work/out')\" != - ]"
    on tune-kernel crash.json --wisdom "$wisdom" --no-store
    check "text tells what is left out" grep -qx '2 excluded: wisdom says that they crash or hang' "$work/out"
    on tune-kernel crash.json --wisdom "$wisdom" --retry-bad --format csv
    same "--retry-bad tries it" "4 0 4 2" "$(rows csv get points excluded tried failed)"
    run wisdom show --wisdom "$wisdom" --format csv # where both are as fast, another one may have won since
    winner=$(rows csv get config | grep none)
    on tune-kernel larger.json --wisdom "$wisdom" --strategy seeded --max-evals 1 --format csv
    same "another size starts from the winner" "${winner% *} LANES=1 ${winner#* } - 1" \
        "$(rows csv get winner default stored)"
    run wisdom merge --wisdom "$work/merged.txt" "$wisdom"
    expect "merge" 0
    sed '$d' "$wisdom" >"$work/less.txt"
    run wisdom diff "$work/merged.txt" "$work/less.txt" --format csv
    same "diff" "only-a" "$(rows csv get difference)"
    run tune-kernel crash.json --no-wisdom --device "$device" --format csv
    same "without wisdom nothing is known" "- 0 0" "$(rows csv get default excluded stored)"
}

# tune_k FOLDER [OPTION]: the kernel of the test below.
tune_k() {
    on tune-kernel "$1/k.cl" --kernel k --param A=1,2 --global 64 --arg 'y:int32[64] write' --options=-Iheaders \
        --reference right --reference-file "$1/reference.cl" --reference-global 64 --wisdom "$work/includes.txt" \
        --format csv ${2:+"$2"}
}

# What a kernel includes is part of it: after a change of it, wisdom knows nothing of the kernel.
test_includes() {
    mkdir -p kernels/deep headers
    cat >kernels/k.cl <<'END'
#include "value.h"
#include "value.h"
#include "deep/first.h"
__kernel void k(__global int *y) { y[get_global_id(0)] = value() + first() + A - A; }
END
    cat >headers/value.h <<'END'
#ifndef VALUE_H
#define VALUE_H
int value(void) { return 3; }
#endif
END
    printf '#pragma once\n#include "second.h"\n' >kernels/deep/first.h
    printf '#pragma once\n#include "first.h"\nint first(void) { return 4; }\n' >kernels/deep/second.h
    cat >kernels/reference.cl <<'END'
#include "right.h"
__kernel void right(__global int *y) { y[get_global_id(0)] = RIGHT; }
END
    echo '#define RIGHT 7' >headers/right.h
    tune_k kernels
    expect "includes: found, nested, guarded" 0
    tune_k kernels
    same "the same text is the same kernel" "A=" "$(rows csv get default | cut -c 1-2)"
    ln -s ../headers kernels
    cd kernels || return
    tune_k .
    same "in another folder, too" "A=" "$(rows csv get default | cut -c 1-2)"
    cd "$work" || return
    sed -i 's/return 3/return 2/' headers/value.h
    tune_k kernels
    expect "a changed file gives other results" 6
    same "and another kernel" "-" "$(rows csv get default)"
    echo '#define RIGHT 6' >headers/right.h
    tune_k kernels
    expect "so does one that the reference includes" 0
    echo '#include "nothing.h"' >kernels/deep/second.h
    tune_k kernels --verbose
    expect "a missing file is the compiler's to refuse" 6 "nothing.h"
    printf '#pragma once\nint first(void) { return nothing; }\n' >kernels/deep/second.h
    tune_k kernels --verbose
    expect "an error is where it is" 6 "around line 2 of deep/second.h:"
    sed -i 's/first() + A/nothing/' kernels/k.cl
    echo 'int first(void) { return 4; }' >kernels/deep/second.h
    tune_k kernels --verbose
    expect "and behind includes" 6 "around line 4 of k.cl:"
}

test_include_fields() {
    mkdir -p headers others
    { echo '#include "factor.h"' && sed 's/factor \* x/FACTOR * &/' "$data/faulty.cl"; } >faulty.cl
    echo '#define FACTOR 1' | tee headers/factor.h >others/factor.h
    narrow="c['TuningParameters'][0]['Values'] = ['none']
c['TuningParameters'][2]['Values'] = [8]
del c['TuningParameters'][1]['Default']"
    spec same.json "$narrow
k['CompilerOptions'] = k['ReferenceKernel']['CompilerOptions'] = ['-I', 'headers']"
    spec others.json "$narrow
k['CompilerOptions'], k['ReferenceKernel']['CompilerOptions'] = ['-I headers'], ['-I others']"
    on tune-kernel others.json --format csv
    expect "T1: includes of kernel and reference" 0
    echo '#define FACTOR 2' >headers/factor.h
    on tune-kernel others.json --format csv
    expect "T1: those of the reference are its own" 6
    same "T1: a changed file makes another kernel" "-" "$(rows csv get default)"
    on tune-kernel same.json --format csv
    expect "T1: both include the same file" 0
}

run_groups files faults spec_fields options local includes include_fields examples crashes killed wisdom
