"""What torch_cpu.py and torch_sdpa.py have in common: problems, inputs, the call, the check, samples, rows.

Imports no torch: what needs it takes it as an argument.
"""

import itertools
import json
import math
import re
import statistics

CHECK_ROWS = 16
WARM_UP_MS = 20
DTYPES = {"f32": ("float32", 4, 2.0**-24), "f16": ("float16", 2, 2.0**-11), "bf16": ("bfloat16", 2, 2.0**-8)}
COLUMNS = ("problem device driver impl config status median_ms min_ms spread gflops bytes byte_ratio error clock "
           "build_ms plan_ms copies launches").split()
PAIRS = {"h": (("heads_q", "heads_kv"), 1), "d": (("dim_qk", "dim_v"), 64)}
NUMBERS = {"b": ("batch", 1), "q": ("q_len", 1), "k": ("k_len", None)}
BAD = {"wrong": 1, "oom": 5, "device-error": 5, "unsupported": 4}  # exit codes, the gravest first


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
    """What SDPA's is_causal must be; None where it can say neither, as it aligns top-left."""
    if problem["mask"] == "causal-br" and problem["q_len"] != problem["k_len"]:
        return False if problem["q_len"] == 1 else None
    return problem["mask"] != "none"


def seen(problem, query):
    return max(0, min(problem["k_len"], query + shift_of(problem) + 1))


def key_bytes(problem):
    """Bytes of keys and values."""
    width = problem["dim_qk"] + problem["dim_v"]
    return problem["batch"] * problem["heads_kv"] * problem["k_len"] * width * DTYPES[problem["dtype"]][1]


def copies_for(problem, size, most):
    """How many copies of keys and values have `size` bytes together; `most` where it would be more."""
    return min(most, math.ceil(size / key_bytes(problem)))


def traffic(problem):
    """(operations, bytes, byte ratio): the formulas of `flashcl bench`."""
    pairs = sum(seen(problem, i) for i in range(problem["q_len"]))
    size = DTYPES[problem["dtype"]][1]
    width = problem["dim_qk"] + problem["dim_v"]
    queries = problem["batch"] * problem["heads_q"] * problem["q_len"]
    fused = queries * width * size + key_bytes(problem)
    unfused = fused + 4 * queries * problem["k_len"] * size
    return 2 * problem["batch"] * problem["heads_q"] * pairs * width, fused, unfused / fused


# ---- Inputs, the call and the check -------------------------------------------------------------


def make_input(torch, problem, heads, length, dim, uneven, draw):
    """What draw(shape) gives; uneven: rows' magnitudes rise and fall, so that a rescale that is missing shows."""
    shape = [problem["batch"], heads, length, dim]
    bshd = problem["layout"] == "bshd"
    if bshd:
        shape[1], shape[2] = shape[2], shape[1]
    data = draw(shape)
    if uneven:
        phase = torch.arange(length, device=data.device) * 5 % 37
        size = 0.25 + torch.minimum(phase, 37 - phase) / 6
        data *= size.reshape([length, 1, 1] if bshd else [length, 1])
    data = data.to(getattr(torch, DTYPES[problem["dtype"]][0]))
    return data.transpose(1, 2) if bshd else data


def make_inputs(torch, problem, uneven, draw=None):
    """Queries, keys and values; draw is torch.randn where it is left out."""
    draw = draw or torch.randn
    return (make_input(torch, problem, problem["heads_q"], problem["q_len"], problem["dim_qk"], False, draw),
            make_input(torch, problem, problem["heads_kv"], problem["k_len"], problem["dim_qk"], uneven, draw),
            make_input(torch, problem, problem["heads_kv"], problem["k_len"], problem["dim_v"], uneven, draw))


def make_call(torch, problem, q, k, v, bias=None):
    """A function that computes the output once; bias is the mask where is_causal cannot say it."""
    sdpa = torch.nn.functional.scaled_dot_product_attention
    arguments = {"is_causal": is_causal(problem)} if bias is None else {"attn_mask": bias}
    if problem["heads_q"] != problem["heads_kv"]:
        if "enable_gqa" not in (sdpa.__doc__ or ""):
            raise Unsupported("this PyTorch has no enable_gqa")
        arguments["enable_gqa"] = True
    return lambda: sdpa(q, k, v, **arguments)


def make_turns(torch, problem, q, k, v, bias, copies):
    """make_call()'s function, but each call takes the next of so many copies of keys and values in turn."""
    pairs = [(k, v)] + [(k.clone(), v.clone()) for _ in range(copies - 1)]
    turns = itertools.cycle([make_call(torch, problem, q, *pair, bias) for pair in pairs])
    return lambda: next(turns)()


def check(problem, q, k, v, output):
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


# ---- Samples and rows ----------------------------------------------------------------------------


def sample(time_calls, call, options):
    """Sorted milliseconds of one call, a batch each, and the calls of a batch; time_calls(call, count) times one of
    `count` back to back.
    """
    count, one = 1, time_calls(call, 1)
    while one * count < WARM_UP_MS:
        count *= 2
        one = time_calls(call, count)
    batch = max(1, math.ceil(options.batch_ms / one))
    return sorted(time_calls(call, batch) for _ in range(options.samples)), batch


def set_times(row, problem, times, launches, clock):
    """What a row says of its sorted times, each of so many launches."""
    low, middle, high = (statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else times * 3)
    row.update(status="ok", median_ms=middle, min_ms=times[0], spread=(high - low) / middle,
               gflops=traffic(problem)[0] / middle * 1e-6, clock=clock, launches=launches)


def add_options(parser, batch_ms):
    """The options that both have."""
    parser.add_argument("--samples", type=int, default=9, help="samples of each problem (%(default)s)")
    parser.add_argument("--batch-ms", type=float, default=batch_ms,
                        help="calls back to back for at least this time are one sample (%(default)s)")
    parser.add_argument("problems", nargs="*", metavar="PROBLEM")


def finish(rows):
    """Prints the rows and gives the exit code."""
    print(json.dumps(rows, indent=2))
    codes = {BAD[row["status"]] for row in rows if row["status"] in BAD}
    return next((code for code in BAD.values() if code in codes), 0)
