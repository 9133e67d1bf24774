#!/usr/bin/env python3
"""Reads a T4 file of results.

  t4.py check FILE                     whether it is what the schema asks for
  t4.py kinds FILE                     the kinds of results and how many there are of each
  t4.py by FILE NAME OTHER VALUE       the kind for each value of parameter NAME but the first, where OTHER is VALUE
"""
import json
import re
import statistics
import sys

KINDS = {"timeout", "compile", "runtime", "correctness", "constraints", "correct"}
TIMES = {"compilation_time", "runtimes", "framework", "search_algorithm", "validation"}


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def check(data):
    assert re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", data["schema_version"])
    assert data["metadata"]["compute_api"] == "OpenCL" and data["metadata"]["timeunit"] == "milliseconds"
    for result in data["results"]:
        assert {"timestamp", "configuration", "objectives", "times", "invalidity", "correctness",
                "measurements"} <= set(result)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", result["timestamp"])
        assert list(result["configuration"]) == ["FAULT", "LANES", "LOCAL"] and result["objectives"] == ["time"]
        times = result["times"]
        assert set(times) == TIMES
        assert all(is_number(times[name]) and times[name] >= 0 for name in TIMES - {"runtimes"})
        right = result["invalidity"] == "correct"
        assert result["invalidity"] in KINDS and result["correctness"] == int(right)
        assert bool(times["runtimes"]) == right and all(is_number(time) and time > 0 for time in times["runtimes"])
        for measurement in result["measurements"][:int(right)]:
            assert len(times["runtimes"]) in (1, 5)  # 1: hopeless, and not measured further
            assert abs(measurement["value"] - statistics.median(times["runtimes"])) <= 1e-6 * measurement["value"]
        assert right != ("reason" in result)
        for measurement in result["measurements"]:
            assert set(measurement) == {"name", "value", "unit"} and is_number(measurement["value"])
        names = [measurement["name"] for measurement in result["measurements"]]
        assert names == (["time", "time_min", "spread", "error_ratio", "gbs"] if right else [])
    assert max(len(result["times"]["runtimes"]) for result in data["results"]) == 5


def main():
    action, path, *arguments = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    results = data["results"]
    kinds = [result["invalidity"] for result in results]
    if action == "check":
        check(data)
    elif action == "kinds":
        print(*(f"{kind} {kinds.count(kind)}" for kind in sorted(set(kinds))))
    else:
        name, other, value = arguments
        found = {}
        for result, kind in zip(results, kinds):
            if str(result["configuration"][other]) == value:
                found.setdefault(result["configuration"][name], set()).add(kind)
        print(*(f"{key}={'|'.join(sorted(found[key]))}" for key in list(found)[1:]))


main()
