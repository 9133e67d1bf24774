#!/bin/sh
# Tuning results: `flashcl tune --record` and `--replay`. TAP output.
#     sh test_results.sh PATH-OF-FLASHCL [FILTER]
# Recording needs an OpenCL device; FILTER runs only the groups whose name contains it.
. "$(dirname "$0")/common.sh"
spaces=$here/../data/spaces

# replay FILE ARGUMENT...: in a world without any OpenCL platform.
replay() {
    file=$1
    shift
    OCL_ICD_VENDORS=/nonexistent "$flashcl" tune --replay "$file" "$@" >"$work/out" 2>"$work/err"
    code=$?
}

cat >tiny.json <<'END'
{"results":[
{"configuration":{"a":1,"b":"x"},"times":{"runtimes":[4]},"invalidity":"correct","correctness":1},
{"configuration":{"a":2,"b":"x"},"times":{"runtimes":[2,9,1]},"invalidity":"correct","correctness":1},
{"configuration":{"a":1,"b":"y"},"times":{"compilation":5},"invalidity":"correct","correctness":1,
 "measurements":[{"name":"time","value":1.0,"unit":"ms"}]},
{"configuration":{"a":2,"b":"y"},"times":{},"invalidity":"compile","correctness":0}]}
END

test_usage() {
    replay tiny.json 'fwd q8 d8'
    refuse "replay of a problem" 2 "--replay and problems"
    replay tiny.json --record x.json
    refuse "replay and record" 2 "--replay and --record"
    check "records nothing" test ! -e x.json
    for seeds in 0 -1 10001; do
        replay tiny.json --seeds $seeds
        refuse "$seeds seeds" 2 "1 to 10000 are allowed"
    done
    replay tiny.json --strategy best
    refuse "unknown strategy" 2 "exhaustive, random, greedy and seeded"
    replay missing.json
    refuse "missing results" 2 "missing.json"
    echo '{"results":[{"configuration":{"a":1}}]}' >bad.json
    replay bad.json
    refuse "results without a time" 2 "bad.json: result 1: .* no time above 0"
    run tune --record x.json
    refuse "record of the default problems" 2 "exactly one problem"
    run tune --record x.json 'fwd q8 d8' 'fwd q9 d8'
    refuse "record of two problems" 2 "exactly one problem"
    run tune --record x.json --impl fused,unfused 'fwd q8 d8'
    refuse "record of two implementations" 2 "exactly one problem and one --impl"
}

test_tiny() {
    replay tiny.json --format csv
    expect "replay" 0
    same "a whole space" "exhaustive 50 4 4 1 1 4 1 1 1" \
        "$(rows csv get strategy seeds evaluations points failed optimum default fraction \
            first_quartile random)"
    replay tiny.json --strategy greedy --seeds 3
    expect "replay in text" 0
    check "says what was recorded" grep -q '^4 points, 1 failed; the optimum takes 1, the default is 0.250' "$work/out"
    check "has a row" grep -Eq '^greedy +3 +4 +1.000 ' "$work/out"
}

# A space of 300 points whose times are 1 to 300: what random finds is known.
test_random() {
    python3 - >line.json <<'END'
import json
print(json.dumps({"results": [{"configuration": {"x": x}, "times": {"runtimes": [x]}, "invalidity": "correct"}
                              for x in range(1, 301)]}))
END
    replay line.json --strategy random --seeds 200 --format csv
    expect "replay of random" 0
    same "the marks" "10 25 50 100 200" "$(rows csv get evaluations | tr '\n' ' ' | sed 's/ $//')"
    check "is random" sh -c "[ \"\$(python3 '$here/rows.py' csv get fraction first_quartile third_quartile <out)\" = \
        \"\$(python3 '$here/rows.py' csv get random random_first random_third <out)\" ]"
    # After n of 300 the median of the least is 300 (1 - 2^(-1/n)), about: 20 after 10, 2 after 100.
    check "finds what it should" awk -F, '$8 == 10 && $9 > 1 / 27 && $9 < 1 / 15 { n++ } END { exit n != 1 }' out
    check "and more with more" awk -F, '$8 == 100 && $9 >= 1 / 3 && $9 <= 1 { n++ } END { exit n != 1 }' out
    cp out first
    replay line.json --strategy random --seeds 200 --format csv
    check "the same again" cmp first out
    replay line.json --strategy random --seeds 200 --seed 7 --format csv
    check "another with another seed" sh -c '! cmp -s first out'
}

# What was recorded on a CPU under PoCL: the search is not behind random.
test_recorded() {
    for space in vector generic gemm; do
        replay "$spaces/$space.json" --strategy seeded --format csv
        expect "replay of $space" 0
        check "is not behind random" awk -F, 'NR > 1 && $9 >= $12 { n++ } END { exit n != 5 }' out
        check "is near the optimum after 100" awk -F, '$8 == 100 && $9 > 0.95 { n++ } END { exit n != 1 }' out
    done
}

test_record() {
    on tune --max-evals 3 --no-store --record own.json --format csv 'fwd q64 d16'
    expect "record" 7
    default=$(rows csv get default_config)
    check "is T4" python3 - <<'END'
import json
record = json.load(open("own.json"))
results = record["results"]
assert record["schema_version"] == "1.0.0" and len(results) == 3
assert record["metadata"]["problem"] == "fwd q64 d16"
for result in results:
    assert {"configuration", "times", "invalidity", "correctness"} <= set(result)
    assert result["invalidity"] == "correct" and result["correctness"] == 1
    assert result["times"]["compilation_time"] > 0 and len(result["times"]["runtimes"]) in (1, 5)
    assert [m["value"] for m in result["measurements"] if m["name"] == "time"][0] > 0
    assert set(result["configuration"]) == set(record["metadata"]["default"])
assert len(results[0]["times"]["runtimes"]) == 5  # the first cannot be hopeless, which takes one launch
assert len({json.dumps(result["configuration"]) for result in results}) == 3
END
    family=$(python3 -c 'import json; print(json.load(open("own.json"))["metadata"]["default"]["family"])')
    same "default" "${default%%_*}" "$family"
    replay own.json --format csv
    expect "replay of it" 0
    same "all points" "3" "$(rows csv get points)"
    on tune --max-evals 3 --no-store --record missing/own.json 'fwd q64 d16'
    refuse "record that cannot be written" 5 "missing/own.json: cannot be written"
}

run_groups usage tiny random recorded record
