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


if __name__ == "__main__":
    unittest.main()
