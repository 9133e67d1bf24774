#!/usr/bin/env python3
"""Times PyTorch's scaled_dot_product_attention on the CPU as `flashcl bench` times FlashCL, and
writes the same rows as JSON. Where torch cannot be imported it says so and writes no rows.
"""

import argparse
import os
import sys
import time
import warnings

import torch_rows
from torch_rows import Unsupported


def say(text):
    print(f"torch-cpu: {text}", file=sys.stderr)


def time_calls(call, count):
    """Milliseconds of one of `count` calls, back to back."""
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) * 1e3 / count


def measure(torch, problem, options, row):
    if torch_rows.is_causal(problem) is None:
        raise Unsupported("causal-br needs as many queries as keys")
    torch.manual_seed(1)
    q, k, v = torch_rows.make_inputs(torch, problem, True)
    call = torch_rows.make_call(torch, problem, q, k, v)
    _, row["bytes"], row["byte_ratio"] = torch_rows.traffic(problem)
    row["error"], right = torch_rows.check(problem, q, k, v, call())
    if not right:
        row["status"] = "wrong"
        return
    torch_rows.set_times(row, problem, *torch_rows.sample(time_calls, call, options), "wall")


def run(torch, text, options):
    row = dict.fromkeys(torch_rows.COLUMNS)
    row.update(problem=" ".join(text.split()), device=f"host, {options.threads} threads",
               driver=f"PyTorch {torch.__version__}", impl="torch-cpu", config="sdpa", copies=1)
    try:
        problem = torch_rows.parse(text)
        row["problem"] = torch_rows.text_of(problem)
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
    torch_rows.add_options(parser, 100)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="threads (all cores)")
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
    return torch_rows.finish(rows)


if __name__ == "__main__":
    sys.exit(main())
