#!/usr/bin/env python3
"""Makes .npy files, good and bad, and judges the results of `flashcl run` by attention in plain
Python: the standard library only.

  npy.py make FILE f4|f2|bf16|u1|b1 SHAPE SEED [--nan N]
                                              numbers in (-1, 1), the last N rows NaN; SHAPE as 2,3,4
  npy.py ints FILE SHAPE V,V,...              i4 numbers
  npy.py spoil FILE KIND                      a file that must be refused; see KINDS
  npy.py kinds                                the kinds, one a line
  npy.py judge Q K V O [--lse L] [--causal tl|br] [--align tl|br] [--window L,R] [--softcap C] [--alibi] [--slopes S.npy]
               [--bias B.npy] [--mask M.npy] [--sinks S.npy] [--cu-q F.npy] [--cu-k F.npy] [--used-q F.npy] [--used-k F.npy]
               [--table F.npy] [--scale S] [--layout bshd] [--bf16]
  npy.py header FILE                          type and shape
"""
import argparse
import ast
import math
import random
import struct
import sys


def bf16_bits(value):
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def encode(kind, values):
    if kind == "f4":
        return struct.pack("<%df" % len(values), *values)
    if kind == "f2":
        return struct.pack("<%de" % len(values), *values)
    if kind in ("u1", "b1"):
        return bytes(v > -0.3 for v in values)
    return struct.pack("<%dH" % len(values), *(bf16_bits(v) for v in values))


def header(text, version=(1, 0)):
    length_size = 2 if version[0] == 1 else 4
    size = 8 + length_size + len(text) + 1
    text = text.encode() + b" " * (-size % 64) + b"\n"
    return (b"\x93NUMPY" + bytes(version) + struct.pack("<H" if length_size == 2 else "<I", len(text))
            + text)


def literal(descr, shape, fortran=False):
    return "{'descr': %r, 'fortran_order': %r, 'shape': %r, }" % (descr, fortran, tuple(shape))


def count(shape):
    return math.prod(shape)


def make(path, kind, shape, seed, version=(1, 0), nan_rows=0):
    generator = random.Random(seed)
    values = [generator.uniform(-1, 1) for _ in range(count(shape))]
    for i in range(len(values) - nan_rows * shape[-1], len(values)):
        values[i] = math.nan
    descr = {"f4": "<f4", "f2": "<f2", "bf16": "<u2", "u1": "|u1", "b1": "|b1"}[kind]
    with open(path, "wb") as out:
        out.write(header(literal(descr, shape), version) + encode(kind, values))


def floats(n):
    return struct.pack("<%df" % n, *([0.5] * n))


# What must be refused: kind -> bytes of the file. The good form is f4 of shape 4,8.
KINDS = {
    "empty": b"",
    "magic": b"\x93NUMPX" + header(literal("<f4", (4, 8)))[6:] + floats(32),
    "version": header(literal("<f4", (4, 8)), (4, 0)) + floats(32),
    "big-endian": header(literal(">f4", (4, 8))) + floats(32),
    "long": header(literal("<i8", (4, 8))) + floats(64),
    "double": header(literal("<f8", (4, 8))) + floats(64),
    "integer": header(literal("<i4", (4, 8))) + floats(32),
    "structure": header("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (4, 8), }")
                 + floats(32),
    "fortran": header(literal("<f4", (4, 8), True)) + floats(32),
    "scalar": header(literal("<f4", ())) + floats(1),
    "rank-1": header(literal("<f4", (32,))) + floats(32),
    "rank-5": header(literal("<f4", (1, 1, 1, 4, 8))) + floats(32),
    "zero-heads": header(literal("<f4", (1, 0, 4, 8))),
    "zero-dim": header(literal("<f4", (4, 0))),
    "large-dim": header(literal("<f4", (1, 2000))) + floats(2000),
    "negative": header(literal("<f4", (-4, 8))) + floats(32),
    "huge": header(literal("<f4", (1 << 62, 8))) + floats(32),
    "overflow": header(literal("<f4", (1 << 70, 8))) + floats(32),
    "truncated": header(literal("<f4", (4, 8))) + floats(31),
    "oversized": header(literal("<f4", (4, 8))) + floats(33),
    "cut-header": header(literal("<f4", (4, 8)))[:40],
    "nonsense": header("{'descr': '<f4', 'shape': oops}") + floats(32),
    "missing-key": header("{'descr': '<f4', 'shape': (4, 8)}") + floats(32),
    "unknown-key": header("{'descr': '<f4', 'fortran_order': False, 'shape': (4, 8), 'x': 1}")
                   + floats(32),
    "no-tuple": header("{'descr': '<f4', 'fortran_order': False, 'shape': (32)}") + floats(32),
}


def read(path, bf16=False):
    with open(path, "rb") as file:
        data = file.read()
    assert data[:6] == b"\x93NUMPY", path
    length_size = 2 if data[6] == 1 else 4
    length = int.from_bytes(data[8:8 + length_size], "little")
    start = 8 + length_size + length
    assert start % 64 == 0, "the data is not aligned to 64 bytes"
    fields = ast.literal_eval(data[8 + length_size:start].decode())
    n = count(fields["shape"])
    code = {"<f4": "f", "<f2": "e", "<u2": "H", "<i4": "i", "|u1": "B", "|b1": "?"}[fields["descr"]]
    values = struct.unpack("<%d%s" % (n, code), data[start:])
    if code == "H":
        assert bf16, "u2 without --bf16"
        values = struct.unpack("<%df" % n, b"".join(struct.pack("<I", v << 16) for v in values))
    return fields["descr"], fields["shape"], values


def view(shape, values, layout):
    """B, H, N, D and a function (b, h, n) -> row."""
    if len(shape) == 2:
        b, h, (n, d) = 1, 1, shape
    elif len(shape) == 3:
        b, n, d = shape
        h = 1
    elif layout == "bshd":
        b, n, h, d = shape
        return (b, h, n, d), lambda i, j, k: values[((i * n + k) * h + j) * d:][:d]
    else:
        b, h, n, d = shape
    return (b, h, n, d), lambda i, j, k: values[((i * h + j) * n + k) * d:][:d]


def attention_row(q, keys, values, scale, width, cap, added, sink):
    """One row by definition; no keys give zeros and -inf."""
    scores = [scale * math.fsum(x * y for x, y in zip(q, k)) for k in keys]
    if cap:
        scores = [cap * math.tanh(s / cap) for s in scores]
    scores = [s + x for s, x in zip(scores, added)]
    if not scores:
        return [0.0] * width, sink
    top = max(scores + [sink])
    weights = [math.exp(s - top) for s in scores]
    total = math.fsum(weights + [math.exp(sink - top)])
    row = [math.fsum(w * v[c] for w, v in zip(weights, values)) / total for c in range(width)]
    return row, top + math.log(total)


def place_of(args, i, n, m):
    """Where query i of n stands among m keys."""
    return i + (m - n if "br" in (args.causal, args.align) else 0)


def standard_slopes(n):
    """As in the code of Press et al."""
    if math.log2(n).is_integer():
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start ** (i + 1) for i in range(n)]
    below = 2 ** math.floor(math.log2(n))
    return standard_slopes(below) + standard_slopes(2 * below)[0::2][:n - below]


def spread(path, shape):
    """A function (b, h, n, m) -> element of an array that is broadcast as NumPy does."""
    _, own, values = read(path, True)
    own = (1,) * (len(shape) - len(own)) + tuple(own)
    if len(shape) == 3:
        own, shape = (own[0], 1) + own[1:], (shape[0], 1) + shape[1:]
    own = (1,) * (4 - len(own)) + own
    steps = [0 if n == 1 else count(own[i + 1:]) for i, n in enumerate(own)]
    return lambda *index: values[sum(i * s for i, s in zip(index, steps))]


def visible(args, i, n, m):
    """The keys that query i of n sees among m."""
    place = place_of(args, i, n, m)
    left, right = map(int, args.window.split(",")) if args.window else (-1, -1)
    return [j for j in range(m) if not (args.causal and j > place or left >= 0 and j < place - left
                                        or right >= 0 and j > place + right)]


class Sequences:
    """Where the rows of each sequence are, and how many; without metadata, each batch is one."""

    def __init__(self, args, shapes):
        ints = lambda path: read(path)[2] if path else None
        self.cu_q, self.cu_k, self.used_q = ints(args.cu_q), ints(args.cu_k), ints(args.used_q)
        self.used_k, self.table = ints(args.used_k), ints(args.table)
        self.entries = read(args.table)[1][1] if args.table else 0
        self.q_shape, self.k_shape = shapes
        self.count = len(self.cu_q) - 1 if self.cu_q else self.q_shape[0]

    def lengths(self, i):
        n = self.cu_q[i + 1] - self.cu_q[i] if self.cu_q else self.q_shape[2]
        m = self.cu_k[i + 1] - self.cu_k[i] if self.cu_k else self.k_shape[2]
        return (self.used_q[i] if self.used_q else n, self.used_k[i] if self.used_k else m)

    def query(self, i, r):
        """The batch and row of a query."""
        return (0, self.cu_q[i] + r) if self.cu_q else (i, r)

    def key(self, i, x):
        if self.table:
            size = self.k_shape[2]
            return self.table[i * self.entries + x // size], x % size
        return (0, self.cu_k[i] + x) if self.cu_k else (i, x)


def judge(args):
    types, shapes, arrays = zip(*(read(p, args.bf16) for p in (args.q, args.k, args.v, args.o)))
    tolerance = {"<f4": 2e-6, "<f2": 2e-3, "<u2": 1.6e-2}[types[0]]
    whole = [tuple(s) for s in shapes]
    if args.cu_q:  # packed rows are those of one batch
        args.layout = "bshd"
        shapes = [s if len(s) == 4 else (1,) + tuple(s) for s in shapes]
    (b, h, n, d), q = view(shapes[0], arrays[0], args.layout)
    (pages, kv, m, _), k = view(shapes[1], arrays[1], args.layout)
    (_, _, _, dv), v = view(shapes[2], arrays[2], args.layout)
    _, o = view(shapes[3], arrays[3], args.layout)
    assert types[3] == types[0], "the result has another type than q"
    assert whole[3] == whole[0][:-1] + (dv,), "the result has the wrong shape"
    lse = None
    if args.lse:
        descr, shape, lse = read(args.lse)
        expected = (h, n) if args.cu_q else ((n,), (b, n), (b, h, n))[len(shapes[0]) - 2]
        assert descr == "<f4" and tuple(shape) == expected, "lse has the wrong type or shape"
    worst = 0.0
    sinks = read(args.sinks)[2] if args.sinks else None
    slopes = read(args.slopes)[2] if args.slopes else standard_slopes(h) if args.alibi else [0] * h
    scores_shape = ((n, m), (b, n, m), (b, h, n, m))[len(shapes[0]) - 2]
    bias = spread(args.bias, scores_shape) if args.bias else None
    mask = spread(args.mask, scores_shape) if args.mask else lambda *index: 1
    scale = args.scale if args.scale is not None else 1 / math.sqrt(d)
    sequences = Sequences(args, ((b, h, n, d), (pages, kv, m, d)))
    rest = {(i, j, r) for i in range(b) for j in range(h) for r in range(n)}
    for i, j in ((i, j) for i in range(sequences.count) for j in range(h)):
        rows, keys = sequences.lengths(i)
        for r in range(rows):
            shown = [x for x in visible(args, r, rows, keys) if mask(i, j, r, x)]
            added = [-slopes[j] * abs(place_of(args, r, rows, keys) - x) + (bias(i, j, r, x) if bias else 0)
                     for x in shown]
            seen = [sequences.key(i, x) for x in shown]
            batch, place = sequences.query(i, r)
            rest.discard((batch, j, place))
            head = j // (h // kv)
            row, total = attention_row(q(batch, j, place), [k(x, head, y) for x, y in seen],
                                       [v(x, head, y) for x, y in seen], scale, dv, args.softcap, added,
                                       sinks[j] if sinks else -math.inf)
            got = o(batch, j, place)
            worst = max([worst] + [abs(x - y) for x, y in zip(row, got)])
            assert not any(math.isnan(x) for x in got), "NaN in the result"
            if lse is not None:
                got = lse[(batch * h + j) * n + place]
                worst = max(worst, 0.0 if got == total else
                            abs(got - total) if seen or sinks else math.inf)
    assert not any(any(o(*place)) for place in rest), "a row that no sequence has is not 0"
    print("worst %g, allowed %g" % (worst, tolerance))
    return 0 if worst <= tolerance else 1


def main():
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("make")
    one.add_argument("path")
    one.add_argument("kind", choices=["f4", "f2", "bf16", "u1", "b1"])
    one.add_argument("shape")
    one.add_argument("seed", type=int)
    one.add_argument("--version", type=int, default=1)
    one.add_argument("--nan", type=int, default=0)
    one = verbs.add_parser("ints")
    one.add_argument("path")
    one.add_argument("shape")
    one.add_argument("values")
    one = verbs.add_parser("spoil")
    one.add_argument("path")
    one.add_argument("kind", choices=list(KINDS))
    verbs.add_parser("kinds")
    one = verbs.add_parser("judge")
    for name in "qkvo":
        one.add_argument(name)
    one.add_argument("--lse")
    one.add_argument("--causal", choices=["tl", "br"])
    one.add_argument("--align", choices=["tl", "br"])
    one.add_argument("--window")
    one.add_argument("--softcap", type=float)
    one.add_argument("--alibi", action="store_true")
    one.add_argument("--slopes")
    one.add_argument("--bias")
    one.add_argument("--mask")
    one.add_argument("--sinks")
    for name in ("cu-q", "cu-k", "used-q", "used-k", "table"):
        one.add_argument("--" + name)
    one.add_argument("--scale", type=float)
    one.add_argument("--layout", choices=["bhsd", "bshd"])
    one.add_argument("--bf16", action="store_true")
    one = verbs.add_parser("header")
    one.add_argument("path")
    args = parser.parse_args()
    if args.verb == "make":
        make(args.path, args.kind, [int(x) for x in args.shape.split(",")], args.seed,
             (args.version, 0), args.nan)
    elif args.verb == "ints":
        values = [int(x) for x in args.values.split(",")]
        with open(args.path, "wb") as out:
            out.write(header(literal("<i4", [int(x) for x in args.shape.split(",")]))
                      + struct.pack("<%di" % len(values), *values))
    elif args.verb == "spoil":
        with open(args.path, "wb") as out:
            out.write(KINDS[args.kind])
    elif args.verb == "kinds":
        print("\n".join(KINDS))
    elif args.verb == "judge":
        return judge(args)
    else:
        print(*read(args.path, True)[:2])
    return 0


if __name__ == "__main__":
    sys.exit(main())
