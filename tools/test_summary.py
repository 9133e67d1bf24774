#!/usr/bin/env python3
"""test_summary.py TESTLOG.json: why tests were skipped, then `N passed, N failed, N skipped`.

Counts single cases where a test program names them (cmocka, TAP), else whole programs.
"""

import json
import re
import sys

CASES = re.compile(r"^\[\s+(OK|FAILED|SKIPPED)\s+\] (?:\w+: )?(\S.*)$|^(ok|not ok) \d*(.*)$", re.M)

# cmocka's lists at the end, which repeat what failed or was skipped.
CLOSING = re.compile(r"^\[\s+(\w+)\s+\] \d+ test\(s\), listed below:\n(?:\[\s+\1\s+\] .*\n?)*", re.M)


def count(test):
    """(passed, failed, skipped, reasons) of one program."""
    text = test.get("stdout", "") + "\n" + test.get("stderr", "")
    text = CLOSING.sub("", text)
    tally = {"passed": 0, "failed": 0, "skipped": 0}
    for verdict, name, tap, rest in CASES.findall(text):
        if verdict and "test(s)" in name:
            continue  # how many passed
        skipped = verdict == "SKIPPED" or "# skip" in rest.lower()
        failed = verdict == "FAILED" or tap == "not ok"
        tally["skipped" if skipped else "failed" if failed else "passed"] += 1
    bad = test["result"] not in ("OK", "SKIP", "EXPECTEDFAIL")
    if not any(tally.values()):
        tally["skipped" if test["result"] == "SKIP" else "failed" if bad else "passed"] = 1
    elif bad and not tally["failed"]:
        tally["failed"] = 1  # it died without saying which case
    reasons = re.findall(r"^.*\bskip(?:ped)?: (.+)$", text, re.M | re.I)
    return tally, reasons


total = {"passed": 0, "failed": 0, "skipped": 0}
for line in open(sys.argv[1], encoding="utf-8"):
    test = json.loads(line)
    tally, reasons = count(test)
    for key, number in tally.items():
        total[key] += number
    if tally["skipped"]:
        for reason in dict.fromkeys(reasons) or ["no reason given"]:
            print(f"skipped in {test['name']}: {reason}")
print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
sys.exit(total["failed"] > 0 or total["passed"] == 0)
