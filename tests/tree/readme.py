#!/usr/bin/env python3
"""readme.py ROOT LIBRARY_FOLDER COMPILER...: the first C program of README.md compiles, links and runs as it stands.

Exit code 77 (skipped) where there is no OpenCL device to run it on.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

root, library, compiler = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
program = re.search(r"^```c\n(.*?)^```", (root / "README.md").read_text(encoding="utf-8"), re.M | re.S).group(1)
assert len(program.splitlines()) <= 22, "the first program of README.md is to stay short"
with tempfile.TemporaryDirectory() as folder:
    source, binary = pathlib.Path(folder) / "readme.c", pathlib.Path(folder) / "readme"
    source.write_text(program, encoding="utf-8")
    subprocess.run([*compiler, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{root}/include",
                    str(source), f"-L{library}", "-lflashcl", "-lOpenCL", "-o", str(binary)], check=True)
    run = subprocess.run([str(binary)], env={**os.environ, "LD_LIBRARY_PATH": library}, capture_output=True, text=True)
    print(run.stdout + run.stderr)
    if run.returncode == 3:
        print("skipped: no OpenCL device")
        sys.exit(77)
    assert run.returncode == 0 and "0.5" in run.stdout, f"exit code {run.returncode}"
