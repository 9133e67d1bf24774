#!/usr/bin/env python3
"""Times PyTorch's scaled_dot_product_attention on the CPU as `flashcl bench` times FlashCL, and
writes the same rows as JSON. Where torch cannot be imported it says so and writes no rows.
"""

import argparse
import json
import math
import os
import re
import statistics
import sys
import time
import warnings

CHECK_ROWS = 16
WARM_UP_MS = 20
DTYPES = {"f32": ("float32", 4, 2.0**-24), "f16": ("float16", 2, 2.0**-11), "bf16": ("bfloat16", 2, 2.0**-8)}
COLUMNS = ("problem device driver impl config status median_ms min_ms spread gflops bytes byte_ratio error clock "
           "build_ms plan_ms").split()
PAIRS = {"h": (("heads_q", "heads_kv"), 1), "d": (("dim_qk", "dim_v"), 64)}
NUMBERS = {"b": ("batch", 1), "q": ("q_len", 1), "k": ("k_len", None)}


def say(text):
    print(f"torch-cpu: {text}", file=sys.stderr)


class Unsupported(Exception):
    """A problem that this rival cannot do."""


# ---- Problems ----------------------------------------------------------------------------------


def parse(text):
    """The fields of a problem such as `fwd b1 h32/8 q1024 k1024 d64 f16 causal-br`."""
    words = text.split()
    if words[:1] != ["fwd"]:
        raise Unsupported("only fwd")
    problem = {"dtype": "f32", "mask": "none", "layout": "bhsd"}
    for (first, second), default in PAIRS.values():
        problem[first] = problem[second] = default
    for name, default in NUMBERS.values():
        problem[name] = default
    for word in words[1:]:
        pair = re.fullmatch(r"([hd])(\d+)(?:/(\d+))?", word)
        number = re.fullmatch(r"([bqk])(\d+)", word)
        if pair:
            first, second = PAIRS[pair[1]][0]
            problem[first] = int(pair[2])
            problem[second] = int(pair[3] or pair[2])
        elif number:
            problem[NUMBERS[number[1]][0]] = int(number[2])
        elif word in DTYPES:
            problem["dtype"] = word
        elif word in ("none", "causal-tl", "causal-br"):
            problem["mask"] = word
        elif word in ("layout=bhsd", "layout=bshd"):
            problem["layout"] = word[-4:]
        else:
            raise Unsupported(f"`{word}` is not supported here")
    if problem["k_len"] is None:
        problem["k_len"] = problem["q_len"]
    if 0 in problem.values() or problem["heads_q"] % problem["heads_kv"]:
        raise Unsupported("empty, or heads that do not divide")
    return problem


def text_of(problem):
    """The text as the library writes it: in its order, without what is at its default."""
    words = ["fwd"]
    for key, name in (("b", "batch"), ("h", "heads_q"), ("q", "q_len"), ("k", "k_len"), ("d", "dim_qk")):
        value = problem[name]
        second = problem[{"h": "heads_kv", "d": "dim_v"}.get(key, name)]
        default = {"b": 1, "h": 1, "k": problem["q_len"]}.get(key)
        if not value == second == default:
            words.append(f"{key}{value}" if second == value else f"{key}{value}/{second}")
    words += [problem[name] for name, default in (("dtype", "f32"), ("mask", "none")) if problem[name] != default]
    return " ".join(words + ["layout=bshd"] * (problem["layout"] == "bshd"))


def shift_of(problem):
    """Query i sees the keys j <= i + shift."""
    if problem["mask"] == "none":
        return problem["k_len"]
    return 0 if problem["mask"] == "causal-tl" else problem["k_len"] - problem["q_len"]


def is_causal(problem):
    """What SDPA's is_causal must be: it aligns top-left, so that bottom-right needs a square or a single row."""
    square = problem["q_len"] == problem["k_len"]
    if problem["mask"] == "causal-br" and not square:
        if problem["q_len"] > 1:
            raise Unsupported("causal-br needs as many queries as keys")
        return False
    return problem["mask"] != "none"


def seen(problem, query):
    return max(0, min(problem["k_len"], query + shift_of(problem) + 1))


def traffic(problem):
    """(operations, bytes, byte ratio): the formulas of `flashcl bench`."""
    pairs = sum(seen(problem, i) for i in range(problem["q_len"]))
    size = DTYPES[problem["dtype"]][1]
    width = problem["dim_qk"] + problem["dim_v"]
    queries = problem["batch"] * problem["heads_q"] * problem["q_len"]
    keys = problem["batch"] * problem["heads_kv"] * problem["k_len"]
    fused = (queries + keys) * width * size
    unfused = fused + 4 * queries * problem["k_len"] * size
    return 2 * problem["batch"] * problem["heads_q"] * pairs * width, fused, unfused / fused


# ---- One problem -------------------------------------------------------------------------------


def make_input(torch, problem, heads, length, dim, uneven):
    """Normal numbers; uneven: rows' magnitudes rise and fall, so that a rescale that is missing shows."""
    shape = [problem["batch"], heads, length, dim]
    bshd = problem["layout"] == "bshd"
    if bshd:
        shape[1], shape[2] = shape[2], shape[1]
    data = torch.randn(shape)
    if uneven:
        phase = torch.arange(length) * 5 % 37
        size = 0.25 + torch.minimum(phase, 37 - phase) / 6
        data *= size.reshape([length, 1, 1] if bshd else [length, 1])
    data = data.to(getattr(torch, DTYPES[problem["dtype"]][0]))
    return data.transpose(1, 2) if bshd else data


def make_call(torch, problem, q, k, v):
    sdpa = torch.nn.functional.scaled_dot_product_attention
    arguments = {"is_causal": is_causal(problem)}
    if problem["heads_q"] != problem["heads_kv"]:
        if "enable_gqa" not in (sdpa.__doc__ or ""):
            raise Unsupported("this PyTorch has no enable_gqa")
        arguments["enable_gqa"] = True
    return lambda: sdpa(q, k, v, **arguments)


def check(torch, problem, q, k, v, output):
    """(worst error, whether all rows are right): some rows in double precision, by definition."""
    group = problem["heads_q"] // problem["heads_kv"]
    roundoff = DTYPES[problem["dtype"]][2]
    rows = problem["batch"] * problem["heads_q"] * problem["q_len"]
    worst, right = 0.0, True
    for r in range(CHECK_ROWS):
        head, i = divmod((rows - 1) * r // (CHECK_ROWS - 1), problem["q_len"])
        b, h = divmod(head, problem["heads_q"])
        keys = seen(problem, i)
        scores = k[b, h // group, :keys].double() @ q[b, h, i].double() / math.sqrt(problem["dim_qk"])
        weights, values = scores.softmax(0), v[b, h // group, :keys].double()
        error = (output[b, h, i].double() - weights @ values).abs()
        relative = 8 * roundoff + 16 * 2.0**-24 * (1 + scores.abs().max())
        worst = max(worst, error.max().item())
        right = right and bool((error <= relative * (weights @ values.abs())).all())
    return worst, right


def time_calls(call, count):
    """Milliseconds of one of `count` calls, back to back."""
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) * 1e3 / count


def sample(call, options):
    """Sorted times of one call, a batch each."""
    count, one = 1, time_calls(call, 1)
    while one * count < WARM_UP_MS:
        count *= 2
        one = time_calls(call, count)
    batch = max(1, math.ceil(options.batch_ms / one))
    return sorted(time_calls(call, batch) for _ in range(options.samples))


def measure(torch, problem, options, row):
    torch.manual_seed(1)
    q = make_input(torch, problem, problem["heads_q"], problem["q_len"], problem["dim_qk"], False)
    k = make_input(torch, problem, problem["heads_kv"], problem["k_len"], problem["dim_qk"], True)
    v = make_input(torch, problem, problem["heads_kv"], problem["k_len"], problem["dim_v"], True)
    call = make_call(torch, problem, q, k, v)
    operations, row["bytes"], row["byte_ratio"] = traffic(problem)
    row["error"], right = check(torch, problem, q, k, v, call())
    if not right:
        row["status"] = "wrong"
        return
    times = sample(call, options)
    low, middle, high = (statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else times * 3)
    row.update(status="ok", median_ms=middle, min_ms=times[0], spread=(high - low) / middle,
               gflops=operations / middle * 1e-6, clock="wall")


def run(torch, text, options):
    row = dict.fromkeys(COLUMNS)
    row.update(problem=" ".join(text.split()), device=f"host, {options.threads} threads",
               driver=f"PyTorch {torch.__version__}", impl="torch-cpu", config="sdpa")
    try:
        problem = parse(text)
        row["problem"] = text_of(problem)
        measure(torch, problem, options, row)
    except Unsupported as reason:
        say(f"{text}: {reason}")
        row["status"] = "unsupported"
    except RuntimeError as reason:
        say(f"{text}: {reason}")
        row["status"] = "oom" if "allocate" in str(reason) else "device-error"
    return row


def main():
    parser = argparse.ArgumentParser(prog="torch_cpu.py", description=__doc__)
    parser.add_argument("--samples", type=int, default=9, help="samples of each problem (%(default)s)")
    parser.add_argument("--batch-ms", type=float, default=100,
                        help="calls back to back for at least this time are one sample (%(default)s)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="threads (all cores)")
    parser.add_argument("problems", nargs="*", metavar="PROBLEM")
    options = parser.parse_args()
    if options.samples < 1 or options.threads < 1 or not options.batch_ms >= 0:
        parser.error("--samples and --threads are at least 1, --batch-ms at least 0")
    warnings.simplefilter("ignore")
    try:
        import torch
    except ImportError as reason:
        say(f"torch cannot be imported ({reason}): no rows")
        print("[]")
        return 0
    torch.set_num_threads(options.threads)
    with torch.inference_mode():
        rows = [run(torch, text, options) for text in options.problems]
    print(json.dumps(rows, indent=2))
    bad = {"wrong": 1, "oom": 5, "device-error": 5, "unsupported": 4}
    codes = {bad[row["status"]] for row in rows if row["status"] in bad}
    return next((code for code in (1, 5, 4) if code in codes), 0)


if __name__ == "__main__":
    sys.exit(main())
