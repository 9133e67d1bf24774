#!/usr/bin/env python3
"""macros.py ROOT: files of kernels that may become one text define no macro of the same name.

Of tile families a text has one; what is common to some of them may be called the same. Compilers warn of the others.
"""

import pathlib
import re
import sys

DEFINE = re.compile(r"(#\s*ifndef\s+\w+\n)?\s*#\s*define\s+(\w+)")
KERNELS = pathlib.Path(sys.argv[1]) / "kernels"
FAMILIES = ("generic", "vector", "row", "nvidia_mma", "nvidia_wgmma")
TOGETHER = ("lib", "attention", "tile")


def family(path):
    """The tile family that a file is of, or None where it is of all."""
    names = [name for name in FAMILIES if path.parent.name == "tile" and path.stem.startswith(name)]
    return names[0] if names else None


def macros(path):
    """The macros that a file defines, but those that it defines only if no other did."""
    return sorted({name for default, name in DEFINE.findall(path.read_text()) if not default})


def meet(one, other):
    return family(one) is None or family(other) is None or family(one) == family(other)


def find_clashes():
    defined = {}
    for path in sorted(p for folder in TOGETHER for p in (KERNELS / folder).glob("*.cl*")):
        for name in macros(path):
            for other in defined.setdefault(name, []):
                if meet(path, other):
                    yield f"{path.relative_to(KERNELS)}: {name} is defined in {other.relative_to(KERNELS)}, too"
            defined[name].append(path)


def main():
    clashes = list(find_clashes())
    print("\n".join(clashes))
    return 1 if clashes else 0


sys.exit(main())
