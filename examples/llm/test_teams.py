#!/usr/bin/env python3
"""A step of fovea_llm has one team of threads for all that it computes, as count_teams.c counts.

  test_teams.py [EMULATOR] PROGRAM"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import make_gguf

PROGRAM = sys.argv[1:]
PROMPT = 10


class Teams(unittest.TestCase):
    def counts(self, path, steps):
        """--bench reads and writes twice; the first step reads the prompt."""
        done = subprocess.run([*PROGRAM, path, "--bench", str(PROMPT), "--steps", str(steps), "--threads", "2"],
                              capture_output=True, timeout=300, check=True, text=True)
        found = re.fullmatch(r"(\d+) teams for (\d+) multiply-adds, (\d+) calls of no team\n", done.stderr)
        return tuple(map(int, found.groups()))

    def test_steps(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.gguf"
            _, tensors = make_gguf.make(path, "tiny", "q8_0")
            sizes = {name: numbers.size for name, (numbers, _) in tensors.items() if numbers.ndim == 2}
            layers = sum(size for name, size in sizes.items() if name.startswith("blk."))
            packing = set()
            for steps in (1, 4, 9):
                teams, work, alone = self.counts(path, steps)
                self.assertEqual(teams, 2 * steps)
                self.assertEqual(work, 2 * (layers * (PROMPT + steps - 1) + sizes["output.weight"] * steps))
                packing.add(alone)
            self.assertEqual(len(packing), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
