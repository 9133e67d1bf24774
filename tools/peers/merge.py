#!/usr/bin/env python3
"""merge.py [--output FOLDER] FILE...: rounds of FlashCL and its rivals as one table.

FILEs hold rows of `flashcl bench`, of rivals and of `flashcl peak`, as JSON. For one problem and implementation the
median of the medians counts, and the least of all times. FOLDER receives flashcl.json and rivals.json, the merged rows.
Exits with 1 where a result was wrong.
"""

import argparse
import json
import pathlib
import statistics
import sys

OWN = "fused"  # as `flashcl bench` calls FlashCL's kernel


def read(paths):
    """(rows by problem and implementation, the peak as (GFLOP/s, GB/s) or None), in the order of the files."""
    groups, peaks = {}, []
    for path in paths:
        for row in json.loads(path.read_text()):
            if "impl" in row:
                groups.setdefault((row["problem"], row["impl"]), []).append(row)
            elif row.get("gflops") and row.get("read_gbs"):
                peaks.append((row["gflops"], row["read_gbs"]))
    return groups, tuple(map(max, zip(*peaks))) or None


def merge(rows):
    """All rounds as one row; one that is not ok speaks for all."""
    for row in rows:
        if row["status"] != "ok":
            return row
    merged = dict(min(rows, key=lambda row: row["median_ms"]))
    fastest = merged["median_ms"]
    merged["median_ms"] = statistics.median(row["median_ms"] for row in rows)
    merged["min_ms"] = min(row["min_ms"] for row in rows)
    merged["spread"] = statistics.median(row["spread"] for row in rows)
    merged["error"] = max(row["error"] for row in rows)
    for rate in ("gflops", "fraction_of_peak"):
        if merged.get(rate) is not None:
            merged[rate] *= fastest / merged["median_ms"]
    return merged


def rates(row):
    """GFLOP/s at best and in the median."""
    return row["gflops"] * row["median_ms"] / row["min_ms"], row["gflops"]


def pair(values, digits):
    return "/".join(f"{value:.{digits}f}" for value in values)


def part_of_roof(row, peak):
    """The part of the roof that binds, at best and in the median, as `fraction_of_peak` is defined."""
    compute_ms = row["gflops"] * row["median_ms"] / peak[0]
    memory_ms = row["bytes"] / peak[1] * 1e-6
    least = max(compute_ms, memory_ms)
    parts = pair([least / row[key] for key in ("min_ms", "median_ms")], 3)
    return f"{parts} {'memory' if least > compute_ms else 'compute'}"


def ratio(own, rival):
    """How many times faster FlashCL is: best to best, median to median."""
    if own["status"] != "ok" or rival is None or rival["status"] != "ok":
        return rival["status"] if rival and rival["status"] != "ok" else "-"
    return pair([rival[key] / own[key] for key in ("min_ms", "median_ms")], 2)


def table(merged, peak):
    rivals = sorted({impl for _, impl in merged if impl != OWN})
    lines = [["problem", "GFLOP/s", "of roof", *(f"vs {rival}" for rival in rivals)]]
    for problem in dict.fromkeys(problem for problem, _ in merged):
        own = merged.get((problem, OWN), {"status": "missing"})
        good = own["status"] == "ok"
        lines.append([problem, pair(rates(own), 1) if good else own["status"],
                      part_of_roof(own, peak) if good and peak else "-",
                      *(ratio(own, merged.get((problem, rival))) for rival in rivals)])
    widths = [max(map(len, column)) for column in zip(*lines)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def main():
    parser = argparse.ArgumentParser(prog="merge.py", description=__doc__)
    parser.add_argument("--output", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args()
    groups, peak = read(options.files)
    merged = {key: merge(rows) for key, rows in groups.items()}
    if options.output:
        for name, own in (("flashcl.json", True), ("rivals.json", False)):
            rows = [row for (_, impl), row in merged.items() if (impl == OWN) == own]
            (options.output / name).write_text(json.dumps(rows, indent=2) + "\n")
    rounds = max((len(rows) for rows in groups.values()), default=0)
    peak_text = "peak in this run {:.1f} GFLOP/s, {:.1f} GB/s read".format(*peak) if peak else "peak not measured"
    print(f"{rounds} rounds, each cell best/median, ratios above 1: FlashCL is faster; {peak_text}")
    table(merged, peak)
    return any(row["status"] == "wrong" for row in merged.values())


if __name__ == "__main__":
    sys.exit(main())
