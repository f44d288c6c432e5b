"""What the pages say of the project itself."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/man/*"), *ROOT.glob("*/README.md"),
         *ROOT.glob("*/*/README.md")]


class Counts(unittest.TestCase):
    """Nobody corrects a count of tests or digests in a text when one is added: programs print them."""

    def test_no_page_counts_what_grows(self):
        self.assertGreater(len(PAGES), 30)
        counted = re.compile(r"\b\d+ (?:digests|tests|problems|public functions|stages)\b|\b\d+ of problems\b")
        for page in PAGES:
            with self.subTest(page=page.name):
                self.assertEqual(counted.findall(page.read_text(encoding="utf-8")), [])


class InstructionSets(unittest.TestCase):
    """The lists in pages are as in arch/registry.h."""

    registry = (ROOT / "arch/registry.h").read_text(encoding="utf-8")
    sets = re.findall(r"^  SET\((\w+), (\w+),", registry, re.MULTILINE)
    tables = re.findall(r"^  TABLE\((\w+), \w+, (\w+),", registry, re.MULTILINE)

    @staticmethod
    def section(page, title):
        return re.split(r"^#+ ", (ROOT / page).read_text(encoding="utf-8").split(f"# {title}\n")[1], 1, re.MULTILINE)[0]

    def test_instruction_sets(self):
        section = self.section("docs/instruction-sets.md", "Instruction sets")
        self.assertEqual(re.findall(r"^\| `(\w+)`", section, re.MULTILINE), [name for name, _ in self.sets])
        section = self.section("docs/instruction-sets.md", "Tables of a set")
        listed = re.findall(r"`(\w+/\w+)`", "\n".join(re.findall(r"^\|([^|]*)\|", section, re.MULTILINE)))
        self.assertEqual(sorted(listed), sorted(f"{of}/{tiles}" for of, tiles in self.tables))

    def test_cross_compiling(self):
        names = {name for name, architecture in self.sets if architecture.startswith("AARCH64")}
        names |= {f"{of}/{tiles}" for of, tiles in self.tables if of in names and tiles != self.last(of)}
        rows = re.findall(r"^\| `([\w/]+)`", self.section("docs/cross-compiling.md", "64-bit ARM"), re.MULTILINE)
        self.assertEqual(set(rows), names)
        line = re.search(r"^\| AArch64 .*", self.section("docs/cross-compiling.md", "Cross-compiling"), re.MULTILINE)[0]
        self.assertEqual(set(re.findall(r"`([\w/]+)`", line.split("|")[2])), names | {"scalar"})

    def last(self, of):
        """The table of a set that is the set's own."""
        return [tiles for name, tiles in self.tables if name == of][-1]


if __name__ == "__main__":
    unittest.main()
