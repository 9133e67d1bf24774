#!/usr/bin/env python3
"""Writes nvidia_wgmma_ops.clh: inline PTX for matrix products of a warpgroup (wgmma).

usage: wgmma_ops.py OUTPUT

For each number of columns n that an accumulator may have, in steps of 16, the file defines
  FCL_WGMMA_OUT_n(c)              the operand list that ties an asm statement to an accumulator
  FCL_WGMMA_FIRST_n(c, a, b)      c  = A B', A and B in local memory
  FCL_WGMMA_NEXT_n(c, a, b)       c += A B'
  FCL_WGMMA_HELD_n(c, a, b)       c += A B, A in registers
which only issue; and for n = 72, which is 64 columns and 8 of ones, whose products are sums of
rows, the first and the last of these. A tile selects by token pasting. c is an array of n / 2
floats; a and b are the lower words of descriptors, or a is an array of 4 registers.
"""

import sys

STEP, MOST = 16, 256
SUMMED = 72  # has no product of two operands in local memory
DESCRIPTOR = "0x40000040"  # upper word: groups of 8 rows lie 1024 bytes apart, swizzled over 128

HEAD = """\
// Written by tools/wgmma_ops.py. Do not edit.
// Products of a warpgroup (PTX ISA, section 9.7.15): c is 64 x n, fp32; the depth is 16.
#define FCL_WGMMA_FOUR(c, i) "+f"((c)[i]), "+f"((c)[(i) + 1]), "+f"((c)[(i) + 2]), "+f"((c)[(i) + 3])
"""


def instruction(n, a, setup, tail, first_input):
    """The asm text of one product; `a` is its left operand, `first_input` the number of the first input."""
    registers = ",".join(f"%{i}" for i in range(n // 2))
    return (
        f'"{{ .reg .pred p; .reg .b64 da, db; {setup} '
        f'mov.b64 db, {{%{first_input}, {DESCRIPTOR}}}; " \\\n'
        f'    "wgmma.mma_async.sync.aligned.m64n{n}k16.f32." FCL_WGMMA_TYPE "." FCL_WGMMA_TYPE " " \\\n'
        f'    "{{{registers}}}, {a}, db, p, 1, 1, {tail}; }}"'
    )


def from_local(n, name, predicate):
    """Both operands in local memory, rows of both along the depth."""
    at = n // 2
    text = instruction(
        n, "da", f"setp.ne.b32 p, {predicate}, 0; mov.b64 da, {{%{at}, {DESCRIPTOR}}};", "0, 0", at + 1
    )
    return (
        f"#define FCL_WGMMA_{name}_{n}(c, a, b) asm volatile({text} \\\n"
        f'    : FCL_WGMMA_OUT_{n}(c) : "r"(a), "r"(b) : "memory")\n'
    )


def outputs(n):
    """The operand list of an accumulator of n columns."""
    fours = ", ".join(f"FCL_WGMMA_FOUR(c, {i})" for i in range(0, n // 2, 4))
    return f"#define FCL_WGMMA_OUT_{n}(c) {fours}\n"


def from_registers(n):
    """The left operand in registers, the right one's rows along the columns of c."""
    at = n // 2
    left = "{" + ",".join(f"%{at + i}" for i in range(4)) + "}"
    text = instruction(n, left, "setp.ne.b32 p, 1, 0;", "1", at + 4)
    return (
        f"#define FCL_WGMMA_HELD_{n}(c, a, b) asm volatile({text} \\\n"
        f'    : FCL_WGMMA_OUT_{n}(c) : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"(b) : "memory")\n'
    )


def operations(n):
    """All that is defined for one number of columns."""
    both = from_local(n, "FIRST", 0) + from_local(n, "NEXT", 1) if n != SUMMED else ""
    return outputs(n) + both + from_registers(n)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    text = HEAD + "".join(operations(n) for n in [*range(STEP, MOST + 1, STEP), SUMMED])
    with open(sys.argv[1], "w", encoding="ascii", newline="\n") as file:
        file.write(text)


if __name__ == "__main__":
    main()
