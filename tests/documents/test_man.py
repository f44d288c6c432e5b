"""The man pages against the program and the header.

    test_man.py COMMAND    the program `fovea`
"""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs/man"
sys.path.insert(0, str(ROOT / "docs/site"))

import header  # pylint: disable=wrong-import-position

COMMAND = ""
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def help_of(*command):
    return subprocess.run([COMMAND, *command, "--help"], capture_output=True, text=True, check=True).stdout


def words(name):
    """A page as plain text, of which the typesetter's requests stand at the beginning of lines."""
    lines = [line for line in (PAGES / name).read_text(encoding="utf-8").split("\n") if not line.startswith('.\\"')]
    text = re.sub(r"\\f.", "", "\n".join(lines).replace(r"\-", "-"))
    return re.sub(r"^\.(?:BI|BR|IR) (.*)$", lambda match: joined(match[1]), text, flags=re.MULTILINE)


def joined(arguments):
    return "".join(quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|(\S+)', arguments))


def commands():
    return re.findall(r"^  fovea ([a-z]+) ", help_of(), re.MULTILINE)


class Command(unittest.TestCase):
    def test_commands(self):
        self.assertIn("attend", commands())
        section = words("fovea.1").split(".SH COMMANDS")[1].split(".SH")[0]
        self.assertEqual(re.findall(r"^\.TP\n\.B (\w+)$", section, re.MULTILINE), commands())

    def test_options(self):
        helped = set(OPTION.findall(help_of()))
        for command in commands():
            helped |= set(OPTION.findall(help_of(command)))
        self.assertIn("--causal", helped)
        self.assertEqual(set(OPTION.findall(words("fovea.1"))), helped)

    def test_each_option_has_its_text(self):
        tagged = set()
        for tag in re.findall(r"^\.TP\n(.*)\n[^.]", words("fovea.1"), re.MULTILINE):
            tagged |= set(OPTION.findall(tag))
        self.assertEqual(tagged, set(OPTION.findall(words("fovea.1"))))


class Library(unittest.TestCase):
    def test_declarations(self):
        sections = [section for path in sorted(ROOT.glob("include/fovea/*.h")) for section in header.read(path)[1]]
        declared = {each.names[0]: each for group in header.groups(sections) for each in group.declarations}
        page = words("fovea.3")
        shown = re.findall(r"^(\w[\w ]*\*?(fovea_\w+)\([^;]*;)", page, re.MULTILINE)
        self.assertGreater(len(shown), 3)
        for prototype, name in shown:
            self.assertEqual("".join(prototype.split()), "".join(declared[name].code.split()))
        values = {name for each in declared.values() for group in header.member_groups(each)
                  for member in group.declarations for name in member.names}
        for name in re.findall(r"\b(?:fovea|FOVEA)_\w+", page):
            self.assertIn(name, {*declared, *values, "FOVEA_ISA", "fovea_static", "fovea_nn"})


class Layout(unittest.TestCase):
    @unittest.skipUnless(shutil.which("groff"), "groff is not there")
    def test_no_warnings(self):
        for name in ("fovea.1", "fovea.3"):
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", name], cwd=PAGES, capture_output=True, check=True)
            self.assertEqual(done.stderr, b"")


if __name__ == "__main__":
    COMMAND = sys.argv.pop(1)
    unittest.main()
