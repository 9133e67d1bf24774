#!/usr/bin/env python3
"""merge.py [--output FOLDER] [--rates [--bytes]] [NAME=]FILE...: rounds of FlashCL and its rivals as one table.

FILEs hold rows of `flashcl bench`, of rivals and of `flashcl peak`, as JSON. For one problem and implementation the
median of the medians counts, and the least of all times. FOLDER receives flashcl.json and rivals.json, the merged rows.
With --rates, where FlashCL ran in several ways, NAME says which of them a file is of. Exits with 1 where a result was
wrong.
"""

import argparse
import json
import math
import pathlib
import statistics
import sys

OWN = "fused"  # as `flashcl bench` calls FlashCL's kernel


def named_file(text):
    """(name of FlashCL's rows, path) of an argument."""
    name, equals, path = text.partition("=")
    return (name, pathlib.Path(path)) if equals else (OWN, pathlib.Path(text))


def read(files):
    """(rows by problem and implementation, the peak as (GFLOP/s, GB/s) or None), in the order of the files."""
    groups, peaks = {}, []
    for name, path in files:
        for row in json.loads(path.read_text()):
            if "impl" in row:
                row["impl"] = name if row["impl"] == OWN else row["impl"]
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


def print_lines(lines):
    widths = [max(map(len, column)) for column in zip(*lines)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def table(merged, peak):
    rivals = sorted({impl for _, impl in merged if impl != OWN})
    lines = [["problem", "GFLOP/s", "of roof", *(f"vs {rival}" for rival in rivals)]]
    for problem in dict.fromkeys(problem for problem, _ in merged):
        own = merged.get((problem, OWN), {"status": "missing"})
        good = own["status"] == "ok"
        lines.append([problem, pair(rates(own), 1) if good else own["status"],
                      part_of_roof(own, peak) if good and peak else "-",
                      *(ratio(own, merged.get((problem, rival))) for rival in rivals)])
    print_lines(lines)


# ---- Rates with their spread over rounds ---------------------------------------------------------


def times(rows):
    """The medians of all rounds; None where one was not ok."""
    return [row["median_ms"] for row in rows] if rows and all(row["status"] == "ok" for row in rows) else None


def digits_of(value):
    """Decimal places for three significant digits."""
    return max(0, 2 - math.floor(math.log10(value)))


def rate_cell(rows, in_bytes):
    """TFLOP/s or GB/s in the median, and (slowest - fastest round) / median."""
    medians = times(rows)
    if medians is None:
        return next((row["status"] for row in rows if row["status"] != "ok"), "-")
    middle = statistics.median(medians)
    row = rows[0]
    rate = row["bytes"] / middle * 1e-6 if in_bytes else row["gflops"] * row["median_ms"] / middle * 1e-3
    return f"{rate:.{digits_of(rate)}f} {100 * (max(medians) - min(medians)) / middle:.1f}%"


def ratio_cell(own, rival):
    """How many times faster FlashCL is, and the range over rounds: those of one number were timed in turn."""
    mine, theirs = times(own), times(rival)
    if mine is None or theirs is None:
        return "-"
    each = [b / a for a, b in zip(mine, theirs)]
    return f"{statistics.median(theirs) / statistics.median(mine):.2f} {min(each):.2f}-{max(each):.2f}"


def rates_table(groups, own, against, in_bytes):
    impls = list(dict.fromkeys(impl for _, impl in groups))
    mine = [impl for impl in impls if impl in own]
    pairs = [(name, rival) for name in mine for rival in against if rival in impls]
    lines = [["problem", *mine, *(impl for impl in impls if impl not in own),
              *(f"{name}:{rival.removeprefix('torch-')}" for name, rival in pairs)]]
    for problem in dict.fromkeys(problem for problem, _ in groups):
        rows = {impl: groups.get((problem, impl), []) for impl in impls}
        lines.append([problem, *(rate_cell(rows[impl], in_bytes) for impl in impls if impl in own),
                      *(rate_cell(rows[impl], in_bytes) for impl in impls if impl not in own),
                      *(ratio_cell(rows[name], rows[rival]) for name, rival in pairs)])
    print_lines(lines)


def print_configs(groups, own):
    """Which configurations ran, each with the number of problems."""
    counts = {}
    for (_, impl), rows in groups.items():
        if impl in own:
            for config in dict.fromkeys(row.get("config") for row in rows):
                counts[impl, config] = counts.get((impl, config), 0) + 1
    for (impl, config), count in counts.items():
        print(f"{impl}: {config} ({count} problem{'s' * (count > 1)})")


def parse_options():
    parser = argparse.ArgumentParser(prog="merge.py", description=__doc__)
    parser.add_argument("--output", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--rates", action="store_true", help="TFLOP/s of all, with the spread over rounds")
    parser.add_argument("--bytes", action="store_true", help="with --rates: GB/s of the bytes of each row instead")
    parser.add_argument("--against", type=lambda text: text.split(","), default=[], metavar="RIVAL,...",
                        help="with --rates: whom FlashCL's times are compared with")
    parser.add_argument("files", nargs="+", type=named_file, metavar="[NAME=]FILE")
    return parser.parse_args()


def write(folder, merged, own):
    for name, is_own in (("flashcl.json", True), ("rivals.json", False)):
        rows = [row for (_, impl), row in merged.items() if (impl in own) == is_own]
        (folder / name).write_text(json.dumps(rows, indent=2) + "\n")


def main():
    options = parse_options()
    own = {name for name, _ in options.files}
    groups, peak = read(options.files)
    merged = {key: merge(rows) for key, rows in groups.items()}
    if options.output:
        write(options.output, merged, own)
    rounds = max((len(rows) for rows in groups.values()), default=0)
    if options.rates:
        unit = "GB/s" if options.bytes else "TFLOP/s"
        print(f"{rounds} rounds; {unit} in the median and its spread over rounds; ratios above 1 and their range: "
              "FlashCL is faster")
        rates_table(groups, own, options.against, options.bytes)
        print_configs(groups, own)
    else:
        peak_text = "peak in this run {:.1f} GFLOP/s, {:.1f} GB/s read".format(*peak) if peak else "peak not measured"
        print(f"{rounds} rounds, each cell best/median, ratios above 1: FlashCL is faster; {peak_text}")
        table(merged, peak)
    return any(row["status"] == "wrong" for row in merged.values())


if __name__ == "__main__":
    sys.exit(main())
