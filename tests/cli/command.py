"""The program `fovea`, run by tests."""

import functools
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

LEAKS = "suppressions=" + str(pathlib.Path(__file__).with_name("leaks.txt")) + ":print_suppressions=0"
COMMAND = []  # the words that start the program, an emulator among them


def on_windows():
    return COMMAND[-1].endswith(".exe")


def run(*arguments, environment=None, timeout=120, **options):
    done = subprocess.run(
        COMMAND + [str(argument) for argument in arguments],
        env={"LSAN_OPTIONS": LEAKS, **os.environ, **(environment or {})},
        capture_output=True,
        timeout=timeout,
        check=False,
        **options,
    )
    if on_windows():
        done.stdout, done.stderr = done.stdout.replace(b"\r\n", b"\n"), done.stderr.replace(b"\r\n", b"\n")
    return done


def usable_isas(once=False):
    """Names of sets and of their tables. Once: without the tables that their sets' names mean here."""
    lines = run("info").stdout.decode().splitlines()
    return [line.split()[0] for line in lines if re.match(r"\S+ +yes +(yes|no) ", line)
            and not (once and "what its set means" in line)]


def draws():
    """Whether the program was built with cairo."""
    return b"built without cairo" not in run("heatmap", "nothing.npy", "--out", "nothing.png").stderr


def needs_pictures(tests):
    """Of a test or a class of tests: skips it if the program draws no pictures."""
    def skip(*_):
        if not draws():
            raise unittest.SkipTest("the program was built without cairo")
    if isinstance(tests, type):
        tests.setUpClass = classmethod(skip)
        return tests

    @functools.wraps(tests)
    def test(self):
        skip()
        tests(self)
    return test


class InDirectory(unittest.TestCase):
    """Each test has a directory of its own."""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="fovea_command_")
        self.addCleanup(self.directory.cleanup)

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def files(self):
        return sorted(os.listdir(self.directory.name))

    def assert_refused(self, done, text):
        lines = done.stderr.decode().split("\n")
        self.assertEqual((done.returncode, len(lines), lines[-1]), (2, 2, ""), done.stderr)
        self.assertTrue(lines[0].startswith("fovea"), lines[0])
        self.assertIn(text, lines[0])
        self.assertTrue(lines[0].isprintable(), lines[0])
