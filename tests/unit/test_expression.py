#!/usr/bin/env python3
"""test_expression.py FILTER: random expressions mean what they mean in Python.

Python computes with integers of any size, complex numbers and infinities: where one of those comes up on the way,
FlashCL reports an error. It evaluates the elements of a list only until an answer is found.
"""

import ast
import functools
import math
import operator
import random
import subprocess
import sys

NAMES = {"A": 12, "B": -5, "C": 2.5, "W": "row"}
FUNCTIONS = {"abs": abs, "round": round, "ceil": math.ceil, "floor": math.floor, "int": int, "float": float,
             "bool": bool, "min": min, "max": max, "sum": lambda values: add_up(values), "any": any, "all": all, "len": len}
BINARY = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
          ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitAnd: operator.and_,
          ast.BitOr: operator.or_, ast.BitXor: operator.xor}
COMPARE = {ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
           ast.Gt: operator.gt, ast.GtE: operator.ge, ast.In: lambda a, b: a in b,
           ast.NotIn: lambda a, b: a not in b}


class Beyond(Exception):
    pass


def checked(value):
    """A value as FlashCL has them."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and not -2**63 <= value < 2**63:
        raise Beyond
    if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
        raise Beyond
    return value


def add_up(values):
    return functools.reduce(lambda total, value: checked(total + value), values, 0)


def power(a, b):
    """a ** b, without computing numbers that are far too large."""
    if isinstance(a, int) and isinstance(b, int) and b > 64 and abs(a) > 1:
        raise Beyond
    return a ** b


def shift(a, b, left):
    if b > 64 and left and a:
        raise Beyond
    return a << b if left else a >> b


def binary(node):
    a, b = evaluate(node.left), evaluate(node.right)
    if isinstance(a, str) or isinstance(b, str):
        raise TypeError
    if isinstance(node.op, ast.Pow):
        return power(a, b)
    if isinstance(node.op, (ast.LShift, ast.RShift)):
        return shift(a, b, isinstance(node.op, ast.LShift))
    return BINARY[type(node.op)](a, b)


def logic(node):
    for operand in node.values:
        value = evaluate(operand)
        if bool(value) == isinstance(node.op, ast.Or):
            break
    return value


def comparison(node):
    left = evaluate(node.left)
    for op, operand in zip(node.ops, node.comparators):
        if isinstance(operand, ast.List):  # stands last
            return any(left == evaluate(element) for element in operand.elts) == isinstance(op, ast.In)
        right = evaluate(operand)
        if not COMPARE[type(op)](left, right):
            return False
        left = right
    return True


def unary(node):
    value = evaluate(node.operand)
    if isinstance(node.op, ast.Not):
        return not value
    return -value if isinstance(node.op, ast.USub) else +value if isinstance(node.op, ast.UAdd) else ~value


def call(node):
    if node.func.id in ("any", "all"):
        return FUNCTIONS[node.func.id](evaluate(element) for element in node.args[0].elts)
    arguments = [evaluate(argument) for argument in node.args]
    if any(isinstance(argument, str) for argument in arguments) and node.func.id in ("int", "float"):
        raise TypeError
    return FUNCTIONS[node.func.id](*arguments)


def evaluate(node):
    """The value of a tree, each step checked."""
    if isinstance(node, ast.Constant):
        return checked(node.value)
    if isinstance(node, ast.Name):
        return NAMES[node.id]
    if isinstance(node, (ast.List, ast.Tuple)):
        return [evaluate(element) for element in node.elts]
    if isinstance(node, ast.IfExp):
        return evaluate(node.body if evaluate(node.test) else node.orelse)
    return checked({ast.BinOp: binary, ast.BoolOp: logic, ast.Compare: comparison, ast.UnaryOp: unary,
                    ast.Call: call}[type(node)](node))


def generate(random, depth):
    """A random expression. Only every other level has parentheses, so that precedence matters."""
    if depth <= 0 or random.random() < 0.1:
        return random.choice(["A", "B", "C", "W", "0", "1", "2", "3", "7", "64", "-1", "0.5", "3.75", "1e3", "True",
                              "False", "'row'", "''", "9223372036854775807", "4611686018427387904"])
    def inner():
        return generate(random, depth - 1)
    def items():
        return ", ".join(inner() for _ in range(random.randint(1, 3)))
    kind = random.random()
    if kind < 0.45:
        text = f"{inner()} {random.choice('+ - * / // % ** | & ^ << >>'.split())} {inner()}"
    elif kind < 0.6:
        text = f"{inner()} {random.choice('== != < <= > >='.split())} {inner()}"
    elif kind < 0.7:
        text = f"{inner()} {random.choice(['and', 'or'])} {inner()}"
    elif kind < 0.78:
        text = f"{random.choice(['-', '~', '+', 'not '])}{inner()}"
    elif kind < 0.84:
        text = f"{inner()} if {inner()} else {inner()}"
    elif kind < 0.9:
        return f"({inner()} {random.choice(['in', 'not in'])} [{items()}])"
    elif kind < 0.95:
        text = f"{random.choice(['abs', 'round', 'ceil', 'floor', 'int', 'float', 'bool'])}({inner()})"
    else:
        text = f"{random.choice(['min', 'max', 'sum', 'any', 'all', 'len'])}([{items()}])"
    return f"({text})" if random.random() < 0.5 else text


def expected(text):
    try:
        return evaluate(ast.parse(text, mode="eval").body)
    except (Beyond, ArithmeticError, TypeError, ValueError):
        return None


def agrees(wanted, answer):
    if wanted is None or answer == "error":
        return wanted is None and answer == "error"
    kind, _, text = answer.partition(" ")
    if isinstance(wanted, bool):
        return kind == "2" and text == str(wanted)
    if isinstance(wanted, int):
        return kind == "0" and text == str(wanted)
    if isinstance(wanted, float):
        return kind == "1" and math.isclose(float(text), wanted, rel_tol=1e-14)
    return kind == "3" and text == wanted


def main():
    source, texts = random.Random(20240229), []
    while len(texts) < 20000:
        text = generate(source, 4)
        try:
            ast.parse(text, mode="eval")
        except SyntaxError:
            continue  # such as 2 * not A
        texts.append(text)
    answers = subprocess.run([sys.argv[1]], input="\n".join(texts) + "\n", capture_output=True, text=True,
                             check=True).stdout.splitlines()
    assert len(answers) == len(texts)
    wrong, values = [], 0
    for text, answer in zip(texts, answers):
        wanted = expected(text)
        values += wanted is not None
        if not agrees(wanted, answer):
            wrong.append(f"{text}: {answer}, Python: {wanted!r}")
    print("\n".join(wrong[:20]) or f"{len(texts)} expressions agree, {values} of them with a value")
    assert values > len(texts) // 4
    sys.exit(bool(wrong))


main()
