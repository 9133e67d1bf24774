#!/usr/bin/env python3
"""tools/gpu_check.sh without a device: its problems, what it asks `flashcl bench` for, and its table from rows of
earlier rounds. Needs no arguments.
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "gpu_check.sh"
LONG, SHORT = "fwd h32 q16384 d64 f16", "fwd b32 h16 q512 d128 f16 causal-br"


def row(problem, impl, median_ms, status="ok", config="sdpa"):
    """A row of 60e9 operations."""
    if status != "ok":
        return {"problem": problem, "impl": impl, "status": status, "config": config}
    return {"problem": problem, "impl": impl, "status": "ok", "config": config, "median_ms": median_ms,
            "min_ms": median_ms, "spread": 0.0, "error": 1e-4, "gflops": 60e3 / median_ms, "bytes": 10000000}


def check(*arguments):
    return subprocess.run(["sh", str(SCRIPT), *arguments], capture_output=True, text=True, check=False)


class Problems(unittest.TestCase):
    def test_list(self):
        lines = check("--list").stdout.splitlines()
        self.assertEqual(len(set(lines)), 16)
        for text in ("fwd b32 h32 q512 d64 f16", "fwd b1 h16 q16384 d128 f16 causal-br"):
            self.assertIn(text, lines)
        for line in lines:
            batch, heads, length, dim = (int(word[1:]) for word in line.split()[1:5])
            self.assertEqual((batch * length, heads * dim), (16384, 2048))

    def test_fewer_and_other_types(self):
        lines = check("--quick", "--dtype", "bf16", "--list").stdout.splitlines()
        self.assertEqual(len(lines), 8)
        self.assertTrue(all(" bf16" in line for line in lines))

    def test_decode(self):
        # 33.6, 268, 2147 and 537 MB of keys and values: together at least 400.
        self.assertEqual(check("--decode", "--list").stdout.splitlines(),
                         ["12 fwd b1 h32/8 q1 k8192 d128 f16", "2 fwd b8 h32/8 q1 k8192 d128 f16",
                          "1 fwd b64 h32/8 q1 k8192 d128 f16", "1 fwd b1 h32/8 q1 k131072 d128 f16"])
        self.assertEqual(check("--decode", "--quick", "--dims", "64", "--dtype", "f32", "--list").stdout.splitlines(),
                         ["2 fwd b8 h32/8 q1 k8192 d64", "1 fwd b64 h32/8 q1 k8192 d64"])

    def test_usage(self):
        for arguments in (["--bad"], ["--rounds"], ["--rounds", "x"]):
            run = check(*arguments)
            self.assertEqual(run.returncode, 2)
            self.assertIn("gpu_check.sh [OPTION...]", run.stderr)


FLASHCL = """#!/bin/sh
case $1 in
info) echo '[{"index": 0, "type": "CPU", "default": "yes", "device": "none"}]' ;;
bench) echo "$*" >>"$0.calls"; echo '[]' ;;
esac
"""


class Calls(unittest.TestCase):
    def bench(self, *options):
        """The arguments of `flashcl bench`, where that and what builds it are scripts that do nothing."""
        with tempfile.TemporaryDirectory() as holder:
            build = pathlib.Path(holder)
            flashcl = build / "tools" / "flashcl" / "flashcl"
            flashcl.parent.mkdir(parents=True)
            for path, text in ((flashcl, FLASHCL), (build / "meson", "#!/bin/sh\n"), (build / "ninja", "#!/bin/sh\n")):
                path.write_text(text)
                path.chmod(0o755)
            (build / "build.ninja").touch()
            environment = {**os.environ, "FCL_BUILD": holder, "FCL_PYTHON": "false",
                           "PATH": f"{holder}:{os.environ['PATH']}"}
            subprocess.run(["sh", str(SCRIPT), "--no-tests", "--rounds", "1", *options], capture_output=True,
                           env=environment, check=False)
            return pathlib.Path(f"{flashcl}.calls").read_text().splitlines()

    def test_clock(self):
        problem = "fwd b1 h32/8 q1 k8192 d128 f16"
        self.assertEqual(self.bench(problem),
                         [f"bench --json --device 0 --samples 9 --batch-ms 20 --copies 1 {problem}"])
        self.assertEqual(self.bench("--decode", problem),
                         [f"bench --json --device 0 --samples 9 --batch-ms 20 --copies 12 --clock wall {problem}"])


class Table(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.holder.name)
        self.addCleanup(self.holder.cleanup)

    def write(self, name, *rows):
        (self.folder / f"round-{name}.json").write_text(json.dumps(rows))

    def table(self, *options):
        """The exit code, the rows by problem as lists of cells, and the rest of the lines."""
        run = check(*options, "--table", str(self.folder))
        self.assertEqual(run.stderr, "")
        lines = run.stdout.splitlines()
        return run.returncode, [[cell.strip() for cell in line.split("  ") if cell] for line in lines]

    def test_three_rounds(self):
        for number, own, generic, flash in ((1, 0.1, 1.0, 0.2), (2, 0.12, 1.0, 0.21), (3, 0.11, 1.5, 0.4)):
            self.write(f"{number}.default.1", row(LONG, "fused", own, config="new_m64"),
                       row(SHORT, "fused", 2 * own, config="new_m32"))
            self.write(f"{number}.generic.1", row(LONG, "fused", generic, config="generic_m64"))
            self.write(f"{number}.generic.2", row(SHORT, "fused", generic, config="generic_m32"))
            self.write(f"{number}.torch.1", row(LONG, "torch-flash", flash), row(LONG, "torch-cudnn", 0.11),
                       row(LONG, "torch-math", 0, "oom"), row(SHORT, "torch-flash", flash),
                       row(SHORT, "torch-cudnn", 0, "unsupported"), row(SHORT, "torch-math", 6000.0))
        code, lines = self.table()
        self.assertEqual(code, 0)
        self.assertIn("3 rounds", lines[0][0])
        self.assertEqual(lines[1], ["problem", "flashcl", "generic", "torch-flash", "torch-cudnn", "torch-math",
                                    "flashcl:flash", "flashcl:cudnn", "generic:flash", "generic:cudnn"])
        # 60e9 operations in 0.11 ms in the median; 0.1 to 0.12 ms are 18 % of that; 0.2/0.1 to 0.4/0.11 in turn.
        self.assertEqual(lines[2], [LONG, "545 18.2%", "60.0 50.0%", "286 95.2%", "545 0.0%", "oom",
                                    "1.91 1.75-3.64", "1.00 0.92-1.10", "0.21 0.20-0.27", "0.11 0.07-0.11"])
        self.assertEqual(lines[3], [SHORT, "273 18.2%", "60.0 50.0%", "286 95.2%", "unsupported", "0.0100 0.0%",
                                    "0.95 0.88-1.82", "-", "0.21 0.20-0.27", "-"])
        self.assertEqual([line[0] for line in lines[4:]],
                         ["flashcl: new_m64 (1 problem)", "flashcl: new_m32 (1 problem)",
                          "generic: generic_m64 (1 problem)", "generic: generic_m32 (1 problem)"])

    def test_decode(self):
        for number, own, flash in ((1, 0.01, 0.02), (2, 0.0125, 0.02)):
            self.write(f"{number}.default.1", row(LONG, "fused", own))
            self.write(f"{number}.default.2", row(SHORT, "fused", 0.004))
            self.write(f"{number}.torch.1", row(LONG, "torch-flash", flash))
        code, lines = self.table("--decode")
        self.assertEqual(code, 0)
        self.assertIn("2 rounds; GB/s", lines[0][0])
        # 10 MB in 0.01125 ms in the median.
        self.assertEqual(lines[2], [LONG, "889 22.2%", "500 0.0%", "1.78 1.60-2.00"])
        self.assertEqual(lines[3], [SHORT, "2500 0.0%", "-", "-"])

    def test_alone(self):
        self.write("1.default.1", row(LONG, "fused", 0.1))
        code, lines = self.table()
        self.assertEqual((code, lines[1], lines[2]), (0, ["problem", "flashcl"], [LONG, "600 0.0%"]))

    def test_wrong_in_one_round(self):
        self.write("1.default.1", row(LONG, "fused", 0.1))
        self.write("2.default.1", row(LONG, "fused", 0.1, "wrong"))
        self.write("1.torch.1", row(LONG, "torch-flash", 0.1))
        code, lines = self.table()
        self.assertEqual((code, lines[2]), (1, [LONG, "wrong", "600 0.0%", "-"]))

    def test_nothing_there(self):
        run = check("--table", str(self.folder))
        self.assertEqual(run.returncode, 1)
        self.assertIn("no rows in", run.stderr)


if __name__ == "__main__":
    unittest.main()
