#!/usr/bin/env python3
"""kernel_tuner.py [OPTION...] FLASHCL SPEC.json: `flashcl tune-kernel` and Kernel Tuner on one kernel, in turn.

Both get the same parameters, constraints, sizes, arguments and number of evaluations; each tuning is a process of its
own with an empty cache of PoCL. At the end both programs time all winners, in turn. Needs `pip install kernel-tuner
pyopencl`. Of a spec (T1) this reads what a matrix product has: parameters with lists of values, sizes in groups, float
vectors with random contents, and a reference kernel.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

RETIMED = 3  # rounds in which the winners are timed again
ITERATIONS = 25  # runs of a winner then; Kernel Tuner's default, 7, while tuning
DIMENSIONS = "XYZ"
sys.path.pop(0)  # This file has the name of the package.


def evaluate(expression, point):
    return eval(str(expression), {"__builtins__": {"min": min, "max": max}}, dict(point))


def words(point):
    return " ".join(f"{name}={value}" for name, value in point.items())


# ---- Kernel Tuner, in a process of its own -----------------------------------------------------


def sizes(expressions, point):
    return tuple(evaluate(expressions.get(x, 1), point) for x in DIMENSIONS)


def make_arguments(kernel, point):
    import numpy

    draw = numpy.random.default_rng(1)
    arguments = []
    for argument in kernel["Arguments"]:
        size = evaluate(argument["Size"], point)
        drawn = draw.random(size) * argument.get("FillValue", 1.0) if argument.get("FillType") == "Random" else 0
        arguments.append(numpy.zeros(size, numpy.float32) + numpy.float32(drawn))
    return arguments


def right_results(tuner, kernel, source, arguments, point):
    """What the reference kernel writes, in groups of one work-item; None for what is only read."""
    reference = kernel["ReferenceKernel"]
    tuner.util.get_thread_block_dimensions = lambda *_: (1, 1, 1)
    right = tuner.run_kernel(reference["KernelName"], source, sizes(reference["GlobalSize"], point), arguments, point,
                             lang="OpenCL")
    return [None if argument["AccessType"] == "ReadOnly" else array
            for argument, array in zip(kernel["Arguments"], right)]


def kernel_tuner(spec, folder, options):
    """Tunes, and returns (a row for each result, the seconds of the call)."""
    warnings.simplefilter("ignore")
    import kernel_tuner as tuner

    kernel, space = spec["KernelSpecification"], spec["ConfigurationSpace"]
    parameters = {p["Name"]: evaluate(p["Values"], {}) for p in space["TuningParameters"]}
    first = {name: values[0] for name, values in parameters.items()}
    source = str(folder / kernel["KernelFile"])
    arguments = make_arguments(kernel, first)
    answer = right_results(tuner, kernel, source, arguments, first)
    # It takes a work-group's size from parameters only. As further parameters, bound by constraints, they would leave
    # it no neighbours in the space; so it gets the expressions.
    tuner.util.get_thread_block_dimensions = lambda point, _=None: sizes(kernel["LocalSize"], point)
    start = time.perf_counter()
    results, _ = tuner.tune_kernel(
        kernel["KernelName"], source, lambda point: sizes(kernel["GlobalSize"], point), arguments, parameters,
        grid_div_x=[], grid_div_y=[], lang="OpenCL", quiet=True, answer=answer, atol=1e-3,
        restrictions=[c["Expression"] for c in space["Conditions"]], strategy=options.strategy,
        strategy_options={"max_fevals": options.evaluations} if options.evaluations else None, seed=options.seed,
        iterations=options.iterations)
    rows = [{"point": {name: int(row[name]) for name in parameters}, "ms": float(row["time"])}
            for row in results if isinstance(row.get("time"), float)]
    return rows, time.perf_counter() - start


def work(options):
    """What the process does: rows as JSON on standard output, which Kernel Tuner's own words leave alone."""
    output = os.dup(1)
    os.dup2(2, 1)
    rows, seconds = kernel_tuner(json.loads(options.spec.read_text()), options.spec.parent, options)
    with os.fdopen(output, "w") as file:
        json.dump({"rows": rows, "call": seconds}, file)


# ---- Both, from outside ------------------------------------------------------------------------


def run(command, good=(0,)):
    """(seconds, standard output) of a command with an empty cache of PoCL."""
    with tempfile.TemporaryDirectory() as cache:
        start = time.perf_counter()
        done = subprocess.run(command, env={**os.environ, "POCL_CACHE_DIR": cache}, capture_output=True, text=True)
        seconds = time.perf_counter() - start
    if done.returncode not in good:
        sys.exit(f"kernel_tuner.py: {command[0]} ended with {done.returncode}:\n{done.stderr}")
    return seconds, done.stdout


def run_flashcl(flashcl, spec, *arguments):
    """(seconds, a row for each point that was right, what it reports)."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "results.json")
        seconds, text = run([flashcl, "tune-kernel", "--no-cache", "--json", "--output", str(output), *arguments,
                             str(spec)], good=(0, 7))
        results = json.loads(output.read_text())["results"]
    rows = [{"point": r["configuration"], "ms": r["times"]["runtimes"][0]} for r in results if r["correctness"] == 1]
    return seconds, rows, json.loads(text)[0]


def run_kernel_tuner(spec, strategy, evaluations, seed, iterations=7):
    """(seconds, a row for each point that was right, the seconds without imports); 0 evaluations: all points."""
    seconds, text = run([sys.executable, __file__, "--work", "--strategy", strategy, "--seed", str(seed),
                         "--evaluations", str(evaluations), "--iterations", str(iterations), "-", str(spec)])
    done = json.loads(text)
    return seconds, done["rows"], done["call"]


def tune(options, evaluations, seed):
    """A row for each program, tuned in turn."""
    seconds, rows, report = run_flashcl(options.flashcl, options.spec, "--max-evals", str(evaluations),
                                        "--strategy", "seeded", "--seed", str(seed))
    point = next(row["point"] for row in rows if words(row["point"]) == report["winner"])
    yield {"who": "flashcl seeded", "seconds": seconds, "call": seconds, "tried": report["tried"],
           "ms": report["median_ms"], "point": point}
    for strategy in options.strategies.split(","):
        seconds, rows, call = run_kernel_tuner(options.spec, strategy, evaluations, seed)
        best = min(rows, key=lambda row: row["ms"])
        yield {"who": f"kernel-tuner {strategy}", "seconds": seconds, "call": call, "tried": len(rows), **best}


def retime(options, points):
    """{winner: median of its times by FlashCL, by Kernel Tuner}."""
    spec = json.loads(options.spec.read_text())
    space = spec["ConfigurationSpace"]
    for parameter in space["TuningParameters"]:
        parameter["Values"] = str(sorted({point[parameter["Name"]] for point in points}))
        parameter.pop("Default", None)
    one_of = " or ".join("(" + " and ".join(f"{n} == {v}" for n, v in point.items()) + ")" for point in points)
    space["Conditions"].append({"Parameters": list(points[0]), "Expression": one_of})
    times = {words(point): ([], []) for point in points}
    with tempfile.TemporaryDirectory() as folder:
        kernel = pathlib.Path(folder, spec["KernelSpecification"]["KernelFile"])
        kernel.write_text((options.spec.parent / kernel.name).read_text())
        path = pathlib.Path(folder, "winners.json")
        path.write_text(json.dumps(spec))
        for _ in range(RETIMED):
            both = (run_flashcl(options.flashcl, path, "--strategy", "exhaustive")[1],
                    run_kernel_tuner(path, "brute_force", 0, 0, ITERATIONS)[1])
            for i, rows in enumerate(both):
                for row in rows:
                    times[words(row["point"])][i].append(row["ms"])
    return {name: tuple(map(statistics.median, pair)) for name, pair in times.items()}


def print_table(rows):
    columns = ("seconds", "call", "flashcl_ms", "kernel_tuner_ms")
    print(f"{'medians':31} evaluations  seconds  of these the call  best ms by FlashCL  by Kernel Tuner")
    for key in dict.fromkeys((row["who"], row["evaluations"]) for row in rows):
        same = [row for row in rows if (row["who"], row["evaluations"]) == key]
        seconds, call, own, other = (statistics.median(row[name] for row in same) for name in columns)
        print(f"{key[0]:31} {key[1]:11} {seconds:8.1f} {call:18.1f} {own:19.4f} {other:16.4f}")


def read_options():
    parser = argparse.ArgumentParser(prog="kernel_tuner.py", description=__doc__)
    parser.add_argument("--evaluations", default="50", help="numbers of evaluations, such as 50,100 (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="tunings by each, with seeds 0, 1 ... (%(default)s)")
    parser.add_argument("--strategies", default="random_sample,greedy_ils,genetic_algorithm",
                        help="of Kernel Tuner (%(default)s)")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--strategy", help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--iterations", type=int, help=argparse.SUPPRESS)
    parser.add_argument("flashcl")
    parser.add_argument("spec", type=pathlib.Path)
    return parser.parse_args()


def main():
    options = read_options()
    if options.work:
        options.evaluations = int(options.evaluations)
        work(options)
        return
    rows = []
    for evaluations in map(int, options.evaluations.split(",")):
        for seed in range(options.rounds):
            for row in tune(options, evaluations, seed):
                rows.append({"evaluations": evaluations, "seed": seed, **row})
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    again = retime(options, list({words(row["point"]): row["point"] for row in rows}.values()))
    for row in rows:
        row["flashcl_ms"], row["kernel_tuner_ms"] = again[words(row["point"])]
    print_table(rows)


if __name__ == "__main__":
    main()
