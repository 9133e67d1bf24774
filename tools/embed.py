#!/usr/bin/env python3
"""Writes files as C byte arrays: the table that src/core/source.h declares.

usage: embed.py OUTPUT.c --root DIR [--root DIR ...] FILE...

A file is named by its path below the root that holds it (the deepest one). Byte arrays, because
long string literals are not C11. The output depends on names and contents only.
"""

import argparse
import os
import sys

BYTES_PER_LINE = 24

HEAD = """\
// Written by tools/embed.py: kernel files and tables as bytes. Do not edit.
#include "core/source.h"

"""


def relative_name(path, roots):
    """The file's name below its deepest root, with / between the parts."""
    full = os.path.realpath(path)
    names = []
    for root in roots:
        name = os.path.relpath(full, os.path.realpath(root))
        if name != os.pardir and not name.startswith(os.pardir + os.sep):
            names.append(name.replace(os.sep, "/"))
    if not names:
        sys.exit(f"embed.py: {path} is below none of the roots: {', '.join(roots)}")
    name = min(names, key=len)
    if not name.isascii() or any(c in '"\\\n' for c in name):
        sys.exit(f"embed.py: {path} has a name that C and #line cannot hold")
    return name


def array(index, data):
    """The definition of one array. C has no empty arrays: an empty file keeps one byte."""
    lines = []
    data = data or b"\0"
    for at in range(0, len(data), BYTES_PER_LINE):
        lines.append("    " + ",".join(str(byte) for byte in data[at : at + BYTES_PER_LINE]) + ",")
    return f"static const unsigned char data_{index}[] = {{\n" + "\n".join(lines) + "\n};\n\n"


def table(entries):
    """The table over all arrays, and its length."""
    rows = [f'    {{"{name}", data_{i}, {len(data)}}},' for i, (name, data) in enumerate(entries)]
    return (
        "const struct fcl_embedded_file fcl_embedded_files[] = {\n"
        + "\n".join(rows)
        + "\n};\n\nconst size_t fcl_embedded_count = sizeof fcl_embedded_files / sizeof "
        "*fcl_embedded_files;\n"
    )


def read_entries(files, roots):
    """(name, bytes) of every file, ordered by name."""
    entries = {}
    for path in files:
        name = relative_name(path, roots)
        if name in entries:
            sys.exit(f"embed.py: two files are named {name}; the second is {path}")
        with open(path, "rb") as file:
            entries[name] = file.read()
    return sorted(entries.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output")
    parser.add_argument("--root", action="append", required=True, help="names are relative to it")
    parser.add_argument("files", nargs="+", metavar="FILE")
    arguments = parser.parse_args()
    entries = read_entries(arguments.files, arguments.root)
    text = HEAD + "".join(array(i, data) for i, (_, data) in enumerate(entries)) + table(entries)
    with open(arguments.output, "w", encoding="ascii", newline="\n") as file:
        file.write(text)


if __name__ == "__main__":
    main()
