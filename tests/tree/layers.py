#!/usr/bin/env python3
"""layers.py ROOT: the order of src/README.md holds.

A file includes only files of its own or a lower layer, value modules include no OpenCL header, the toolkit
(core) knows nothing of attention, and the command sees public headers only.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
VALUES = {"common", "text", "number", "caps", "directive", "source", "wisdom", "wisdom_file", "cache_entry",
          "problem", "problem_text", "problem_fields", "config", "space", "budget", "select", "spec", "element",
          "reference", "reference_blockwise", "reference_compare", "value", "expression", "expression_scan",
          "expression_tree", "expression_parse", "random", "points", "points_build", "points_enumerate",
          "search", "search_plain", "search_greedy", "search_seeded", "kernel_data", "kernel_source", "kernel_spec",
          "kernel_wisdom"}
QUOTED = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
ANGLED = re.compile(r"^\s*#\s*include\s*<([^>]+)>", re.M)


def layer_table():
    """Lines such as `| 3 | spec |` of src/README.md: module -> layer."""
    table = {}
    for number, modules in re.findall(r"^\| (\d) \| ([a-z_`, ]+) \|", (ROOT / "src/README.md").read_text(), re.M):
        for module in re.findall(r"[a-z_]+", modules):
            table[module] = int(number)
    return table


def check_library(table):
    for path in sorted((ROOT / "src").glob("*/*.[ch]")):
        text, name = path.read_text(), path.stem
        where = path.relative_to(ROOT)
        if name not in table:
            yield f"{where}: src/README.md does not say its layer"
            continue
        for include in QUOTED.findall(text):
            other = pathlib.Path(include).stem
            folder = include.split("/")[0] if "/" in include else path.parent.name
            if path.parent.name == "core" and folder == "attention":
                yield f"{where}: the toolkit includes {include}"
            if table.get(other, 99) > table[name]:
                yield f"{where} (layer {table[name]}) includes {include} (layer {table.get(other, '?')})"
        for include in ANGLED.findall(text):
            if name in VALUES and include in ("flashcl/flashcl.h", "CL/cl.h"):
                yield f"{where}: a value module includes <{include}>"


def check_command():
    for path in sorted((ROOT / "tools/flashcl").glob("*.[ch]")):
        for include in QUOTED.findall(path.read_text()):
            if not (path.parent / include).exists():
                yield f"{path.relative_to(ROOT)}: {include} is not the command's own"


problems = [*check_library(layer_table()), *check_command()]
print("\n".join(problems) or "the layers hold")
sys.exit(bool(problems))
