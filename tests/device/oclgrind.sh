#!/bin/sh
# Small problems on Oclgrind's simulator under race and uninitialised checks: nothing may be reported. Then each planted
# fault that only such a check can see: that must be.
# usage: oclgrind.sh SMALL TEST_FAULTS KERNELS FAULTS
set -u
small=$1 test_faults=$2 kernels=$3 faults=$4
if ! command -v oclgrind >/dev/null; then
    echo "skipped: oclgrind is not installed"
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/flashcl-oclgrind-XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
export FCL_TEST_DEVICE=Oclgrind

# Optimised code holds `freeze` instructions, which Oclgrind's uninitialised check does not know; without optimisation
# reports also name the right source lines.
check() { # log, options..., program and arguments
    check_log=$1
    shift
    oclgrind --build-options '-disable-llvm-passes' --log "$check_log" "$@"
}

echo "the kernels as they are"
mkdir "$work/right"
cp -R "$kernels/." "$work/right"
FCL_TEST_KERNELS=$work/right check "$work/log" --data-races --uninitialized "$small"
status=$?
if [ "$status" -ne 0 ] || [ -s "$work/log" ]; then
    echo "$small: exit status $status; reported by oclgrind:"
    head -40 "$work/log"
    exit 1
fi

failed=0 faults_seen=0
for fault in "$faults"/*.fault; do
    case $(sed -n 's/^detector: *//p' "$fault") in
    race) option=--data-races report='data race' ;;
    uninitialised) option=--uninitialized report='Uninitialized' ;;
    *) continue ;;
    esac
    faults_seen=$((faults_seen + 1))
    copy=$work/fault$faults_seen log=$work/log$faults_seen
    mkdir "$copy"
    "$test_faults" --apply "$fault" "$kernels" "$copy" || exit 1
    FCL_TEST_KERNELS=$copy check "$log" $option "$small" generic >/dev/null 2>&1
    if grep -q "$report" "$log"; then
        echo "$(basename "$fault" .fault): $(grep -m 1 "$report" "$log")"
    else
        echo "$(basename "$fault" .fault): NOT REPORTED"
        failed=1
    fi
done
if [ "$faults_seen" -lt 4 ]; then
    echo "only $faults_seen faults in $faults are for a simulator"
    exit 1
fi
exit $failed
