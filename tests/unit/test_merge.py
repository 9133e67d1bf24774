#!/usr/bin/env python3
"""tools/peers/merge.py: rounds become medians, best times and ratios. Run it with no arguments."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

MERGE = pathlib.Path(__file__).resolve().parents[2] / "tools" / "peers" / "merge.py"
PROBLEM = "fwd h8 q1024 d64"


def row(impl, median_ms, min_ms, **other):
    """A row of 60e6 operations and 10e6 bytes."""
    return {"problem": PROBLEM, "impl": impl, "status": "ok", "median_ms": median_ms, "min_ms": min_ms, "spread": 0.0,
            "error": 1e-6, "gflops": 60 / median_ms, "bytes": 10000000, **other}


class Merge(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.holder.name)
        self.addCleanup(self.holder.cleanup)

    def merge(self, *files):
        """Runs the tool on files of rows; gives its exit code and its lines."""
        paths = [self.folder / f"{number}.json" for number in range(len(files))]
        for path, rows in zip(paths, files):
            path.write_text(json.dumps(rows))
        run = subprocess.run([sys.executable, str(MERGE), "--output", str(self.folder), *map(str, paths)],
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.stderr, "")
        return run.returncode, run.stdout.splitlines()

    def rows(self, name):
        return json.loads((self.folder / name).read_text())

    def test_three_rounds(self):
        code, lines = self.merge(
            [row("fused", 2.0, 1.5, fraction_of_peak=0.6), row("rival", 4.0, 3.0)],
            [{"device": "x", "gflops": 50.0, "read_gbs": 12.0}],
            [row("fused", 3.0, 1.0, fraction_of_peak=0.4), row("rival", 9.0, 4.0)],
            [{"device": "x", "gflops": 40.0, "read_gbs": 16.0}],
            [row("fused", 4.0, 1.2, fraction_of_peak=0.3), row("rival", 6.0, 5.0)])
        self.assertEqual(code, 0)
        self.assertIn("3 rounds", lines[0])
        self.assertIn("peak in this run 50.0 GFLOP/s, 16.0 GB/s read", lines[0])
        self.assertEqual(lines[1].split(), ["problem", "GFLOP/s", "of", "roof", "vs", "rival"])
        # 1 ms at best and 3 in the median, where 60/50 are the least; the rival takes 3 and 6.
        self.assertEqual(lines[2].split(), [*PROBLEM.split(), "60.0/20.0", "1.200/0.400", "compute", "3.00/2.00"])
        own, rival = self.rows("flashcl.json")[0], self.rows("rivals.json")[0]
        self.assertEqual((own["median_ms"], own["min_ms"], rival["median_ms"], rival["min_ms"]), (3.0, 1.0, 6.0, 3.0))
        self.assertAlmostEqual(own["gflops"], 20.0)
        self.assertAlmostEqual(own["fraction_of_peak"], 0.4)
        self.assertNotIn("fraction_of_peak", rival)

    def test_memory_binds(self):
        lines = self.merge([row("fused", 4.0, 2.5)], [{"device": "x", "gflops": 50.0, "read_gbs": 5.0}])[1]
        self.assertEqual(lines[2].split(), [*PROBLEM.split(), "24.0/15.0", "0.800/0.500", "memory"])

    def test_without_a_peak_or_a_rival(self):
        code, lines = self.merge([row("fused", 2.0, 1.5)],
                                 [{**row("rival", 1.0, 1.0), "problem": "fwd q8", "status": "oom"}])
        self.assertEqual(code, 0)
        self.assertIn("not measured", lines[0])
        self.assertEqual(lines[2].split(), [*PROBLEM.split(), "40.0/30.0", "-", "-"])
        self.assertEqual(lines[3].split(), ["fwd", "q8", "missing", "-", "oom"])

    def test_one_bad_round_speaks_for_all(self):
        code, lines = self.merge([row("fused", 2.0, 1.5)], [{**row("fused", 9.0, 9.0), "status": "wrong"}])
        self.assertEqual(code, 1)
        self.assertEqual(lines[2].split(), [*PROBLEM.split(), "wrong", "-"])


if __name__ == "__main__":
    unittest.main()
