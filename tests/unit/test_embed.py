#!/usr/bin/env python3
"""tools/embed.py: names, bytes, order and errors. Run it with no arguments."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

EMBED = pathlib.Path(__file__).resolve().parents[2] / "tools" / "embed.py"


class Embed(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.holder.name)
        self.output = self.folder / "out.c"
        self.addCleanup(self.holder.cleanup)

    def write(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return str(path)

    def embed(self, roots, files):
        """Runs the tool; gives its error text, or "" and the table in self.table."""
        command = [sys.executable, str(EMBED), str(self.output)]
        for root in roots:
            command += ["--root", str(self.folder / root)]
        done = subprocess.run(command + files, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return done.stderr
        self.text = self.output.read_text(encoding="ascii")
        arrays = {
            match[1]: bytes(int(number) for number in match[2].replace("\n", "").split(",")[:-1])
            for match in re.finditer(r"char (data_\d+)\[\] = \{(.*?)\};", self.text, re.S)
        }
        rows = re.findall(r'\{"([^"]*)", (data_\d+), (\d+)\}', self.text)
        self.table = [(name, arrays[array][: int(size)]) for name, array, size in rows]
        return ""

    def test_every_byte_and_every_length_survives(self):
        data = {f"k/{size}.cl": bytes(i % 256 for i in range(size)) for size in (0, 1, 24, 25, 600)}
        files = [self.write(name, content) for name, content in data.items()]
        self.assertEqual(self.embed(["k"], files), "")
        self.assertEqual(dict(self.table), {name[2:]: content for name, content in data.items()})
        self.assertNotRegex(self.text, r"\{\s*\}")  # C has no empty arrays

    def test_names_are_relative_to_the_deepest_root(self):
        files = [self.write("a/b/x.txt", b"1"), self.write("a/y.txt", b"2")]
        self.assertEqual(self.embed(["a", "a/b"], files), "")
        self.assertEqual(self.table, [("x.txt", b"1"), ("y.txt", b"2")])

    def test_order_of_arguments_does_not_matter(self):
        files = [self.write("k/b.cl", b"b"), self.write("k/a.cl", b"a"), self.write("t/c", b"c")]
        self.assertEqual(self.embed(["k", "t"], files), "")
        first = self.text
        self.assertEqual(self.embed(["t", "k"], files[::-1]), "")
        self.assertEqual(self.text, first)
        self.assertNotIn(str(self.folder), first)

    def test_files_outside_of_the_roots_are_refused(self):
        self.write("k/a.cl", b"a")
        self.assertIn("none of the roots", self.embed(["k"], [self.write("kk/a.cl", b"a")]))
        self.assertFalse(self.output.exists())

    def test_equal_names_are_refused(self):
        files = [self.write("k/a.cl", b"1"), self.write("t/a.cl", b"2")]
        self.assertIn("two files are named a.cl", self.embed(["k", "t"], files))

    def test_names_that_c_cannot_hold_are_refused(self):
        for name in ('k/q"uote.cl', "k/back\\slash.cl", "k/n\u00e4me.cl"):
            self.assertIn("cannot hold", self.embed(["k"], [self.write(name, b"1")]))


if __name__ == "__main__":
    unittest.main()
