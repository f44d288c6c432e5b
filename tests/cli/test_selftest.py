#!/usr/bin/env python3
"""Every kernel gives the stored digests, and `fovea selftest` says so: test_selftest.py <program>"""

import re
import sys
import unittest

from command import COMMAND, run, usable_isas


class Selftest(unittest.TestCase):
    def test_every_set(self):
        done = run("selftest", timeout=600)
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout)
        lines, isas = done.stdout.decode().splitlines(), []
        # AMX computes the problems with a mode once more, or the last line says why it does not.
        agree, absent = r"\Aamx: (\d+) of \1 problems with a mode agree\Z", r"\Aamx: not tried: .+\Z"
        has_amx = re.search("^bf16 mode +AMX", run("info").stdout.decode(), re.MULTILINE)
        self.assertRegex(lines.pop(), agree if has_amx else absent)
        for line in lines:
            isa, agreed, of = re.fullmatch(r"([\w/]+): (\d+) of (\d+) problems agree", line).groups()
            self.assertEqual(agreed, of)
            isas.append(isa)
        self.assertEqual(isas, usable_isas(once=True))


if __name__ == "__main__":
    COMMAND[:] = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
