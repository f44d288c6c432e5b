"""Pages that are made from kept runs are what bench/pages.py makes of them."""

import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def has_numpy(python):
    return subprocess.run([python, "-c", "import numpy"], capture_output=True, check=False).returncode == 0


PYTHON = next((python for python in (sys.executable, "/usr/bin/python3") if pathlib.Path(python).exists()
               and has_numpy(python)), None)


class Results(unittest.TestCase):
    @unittest.skipIf(PYTHON is None, "no Python 3 with NumPy (python3-numpy)")
    def test_pages_are_what_the_runs_give(self):
        done = subprocess.run([PYTHON, "-B", str(ROOT / "bench/pages.py"), "--check"], capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_every_run_is_in_the_list(self):
        listed = (ROOT / "bench/results/README.md").read_text(encoding="utf-8")
        for page in (ROOT / "bench/results").glob("*.md"):
            if page.name != "README.md":
                self.assertIn(f"({page.name})", listed)

    def test_users_read_of_results_not_of_bars(self):
        text = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"\bmissed\b|\breached\b|\bbars?\b", text), [])


if __name__ == "__main__":
    unittest.main()
