#!/usr/bin/env python3
"""Times the backends of PyTorch's scaled_dot_product_attention on a GPU, each forced, and writes the rows of
`flashcl bench` as JSON. A backend that refuses a problem is a row with status unsupported and a reason. Where torch
or its device is missing it says so and writes no rows.
"""

import argparse
import math
import re
import sys
import time
import warnings

import torch_rows
from torch_rows import Unsupported

BACKENDS = {"flash": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION", "efficient": "EFFICIENT_ATTENTION", "math": "MATH"}
WARM_UP_CALLS = 3


def say(text):
    print(f"torch-sdpa: {text}", file=sys.stderr)


# ---- The mask ----------------------------------------------------------------------------------


def check_mask(problem, backend):
    """Raises Unsupported for a mask that the backend has not as such, or that gives rows of NaN."""
    if torch_rows.is_causal(problem) is not None:
        return
    if problem["q_len"] > problem["k_len"]:
        raise Unsupported("causal-br with more queries than keys: PyTorch gives NaN in rows without keys")
    if backend == "cudnn":
        raise Unsupported("causal-br with fewer queries than keys: this backend takes it only as a mask in memory")


def make_bias(torch, problem):
    """The mask where is_causal cannot say it, else None."""
    if torch_rows.is_causal(problem) is not None:
        return None
    return torch.nn.attention.bias.causal_lower_right(problem["q_len"], problem["k_len"])


# ---- Why a backend refuses -----------------------------------------------------------------------


def reason_of(error, texts):
    """One line from an exception and the warnings before it: what the forced backend says of itself."""
    kept = []
    for text in texts:
        line = " ".join(re.sub(r"\(Triggered internally.*", "", text, flags=re.S).split())
        if line and line not in kept and not re.search(r"not used because:?$|runtime disabled", line):
            kept.append(line)
    lines = str(error).strip().splitlines()
    return "; ".join(kept) or (lines[0] if lines else type(error).__name__)


def status_of(error):
    """The status word for an exception of torch."""
    text = str(error)
    if "out of memory" in text or "allocate" in text:
        return "oom"
    refusals = ("No available kernel", "cuDNN Frontend error", "No viable backend", "not supported", "not implemented")
    return "unsupported" if any(word in text for word in refusals) else "device-error"


# ---- Time ----------------------------------------------------------------------------------------


class Clock:
    """Times calls by events on a GPU, else by the host's clock."""

    def __init__(self, torch, device):
        self.torch = torch
        self.events = device == "cuda"

    def wait(self):
        if self.events:
            self.torch.cuda.synchronize()

    def wall(self, call, count):
        """Milliseconds of one of `count` calls, back to back, on the host's clock."""
        self.wait()
        start = time.perf_counter()
        for _ in range(count):
            call()
        self.wait()
        return (time.perf_counter() - start) * 1e3 / count

    def time_calls(self, call, count):
        """The same on the clock of the device."""
        if not self.events:
            return self.wall(call, count)
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(count):
            call()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / count


# ---- One problem on one backend ------------------------------------------------------------------


def check(torch, problem, bias, device):
    q, k, v = torch_rows.make_inputs(torch, problem, True, lambda shape: torch.randn(shape, device=device))
    return torch_rows.check(problem, q, k, v, torch_rows.make_call(torch, problem, q, k, v, bias)())


def measure(torch, problem, options, row):
    bias = make_bias(torch, problem)
    row["error"], right = check(torch, problem, bias, options.device)
    if not right or not math.isfinite(row["error"]):
        row["status"] = "wrong"
        return
    # As `flashcl bench` fills its tensors: what numbers are multiplied matters for a GPU's power and clock.
    q, k, v = torch_rows.make_inputs(torch, problem, False,
                                     lambda shape: torch.rand(shape, device=options.device) * 2 - 1)
    call = torch_rows.make_turns(torch, problem, q, k, v, bias, options.copies)
    clock = Clock(torch, options.device)
    for _ in range(WARM_UP_CALLS):
        call()
    if options.sustained:
        times = [clock.wall(call, options.sustained)]
        torch_rows.set_times(row, problem, times, options.sustained, "wall")
    else:
        times, launches = torch_rows.sample(clock.time_calls, call, options)
        torch_rows.set_times(row, problem, times, launches, "event" if clock.events else "wall")


def measure_forced(torch, problem, backend, options, row):
    """measure() with one backend allowed; what torch raises becomes a status and a reason."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            check_mask(problem, backend)
            with sdpa_kernel(getattr(SDPBackend, BACKENDS[backend])):
                measure(torch, problem, options, row)
        except (RuntimeError, ValueError) as error:
            row["status"] = status_of(error)
            row["reason"] = reason_of(error, [str(warning.message) for warning in caught])
    if options.device == "cuda" and row["status"] == "oom":
        torch.cuda.empty_cache()


def new_row(text, backend, options):
    row = dict.fromkeys(torch_rows.COLUMNS)
    how = f"sdpa sustained {options.sustained}" if options.sustained else "sdpa"
    row.update(problem=" ".join(text.split()), device=options.name, driver=options.driver, impl=f"torch-{backend}",
               config=how, copies=options.copies)
    return row


def run(torch, text, backend, options):
    row = new_row(text, backend, options)
    try:
        problem = torch_rows.parse(text)
        row["problem"] = torch_rows.text_of(problem)
        _, row["bytes"], row["byte_ratio"] = torch_rows.traffic(problem)
        measure_forced(torch, problem, backend, options, row)
    except Unsupported as reason:
        row.update(status="unsupported", reason=str(reason))
    if row.get("reason"):
        say(f"{row['problem']}: {backend}: {row['status']}: {row['reason']}")
    return row


# ---- The command ---------------------------------------------------------------------------------


def parse_backends(text):
    words = text.split(",")
    unknown = [word for word in words if word not in BACKENDS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]} is none of {', '.join(BACKENDS)}")
    return words


def parse_options():
    parser = argparse.ArgumentParser(prog="torch_sdpa.py", description=__doc__)
    torch_rows.add_options(parser, 20)
    parser.add_argument("--backends", type=parse_backends, default=list(BACKENDS),
                        help=f"which of {','.join(BACKENDS)} (all)", metavar="LIST")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda",
                        help="cpu: to try this program out (%(default)s)")
    parser.add_argument("--sustained", type=int, default=0, metavar="N",
                        help="in place of samples: N calls back to back by the host's clock")
    parser.add_argument("--copies", type=int, default=1, metavar="N",
                        help="copies of keys and values that calls take in turn, for what caches would hold "
                             "(%(default)s)")
    options = parser.parse_args()
    if options.samples < 1 or options.copies < 1 or options.sustained < 0 or not options.batch_ms >= 0:
        parser.error("--samples and --copies are at least 1, --sustained and --batch-ms at least 0")
    return options


def find_device(options):
    """torch, or None after it was said why not; describes device and driver in the options."""
    try:
        import torch
        import torch.nn.attention.bias
    except ImportError as reason:
        say(f"torch cannot be imported ({reason}): no rows")
        return None
    if options.device == "cuda" and not torch.cuda.is_available():
        say(f"PyTorch {torch.__version__} sees no CUDA device: no rows")
        return None
    options.name, options.driver = "host", f"PyTorch {torch.__version__}"
    if options.device == "cuda":
        options.name = torch.cuda.get_device_name()
        options.driver += f", cuDNN {torch.backends.cudnn.version()}"
    return torch


def main():
    options = parse_options()
    torch = find_device(options)
    rows = []
    if torch is not None:
        with torch.inference_mode():
            rows = [run(torch, text, backend, options) for text in options.problems for backend in options.backends]
    return torch_rows.finish(rows)


if __name__ == "__main__":
    sys.exit(main())
