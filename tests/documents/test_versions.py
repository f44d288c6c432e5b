"""What packaging/versions.py says of a tree: nothing of this one, and of others which place is wrong."""

import datetime
import pathlib
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))

import versions  # noqa: E402

DAY = datetime.date(2031, 2, 28)


class Versions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="fovea_versions_")
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)
        (self.tree / "include/fovea").mkdir(parents=True)
        self.write("include/fovea/fovea.h", "".join(
            f"#define FOVEA_VERSION_{part} {number}\n" for part, number in (("MAJOR", 3), ("MINOR", 14), ("PATCH", 15))))

    def write(self, name, text):
        (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
        (self.tree / name).write_text(text, encoding="utf-8")

    def headings(self, text, day=None):
        self.write("CHANGELOG.md", text)
        return list(versions.wrong_headings(self.tree, "3.14.15", day))

    def test_this_tree(self):
        version = versions.version_of(ROOT)
        self.assertEqual(list(versions.wrong_places(ROOT, version)), [])
        self.assertEqual(list(versions.wrong_headings(ROOT, version, None)), [])

    def test_header(self):
        self.assertEqual(versions.version_of(self.tree), "3.14.15")

    def test_places(self):
        self.write("README.md", "find_package(fovea 3.14 REQUIRED)\nfind_package(fovea_nn 3.14.9)\nfind_package(fovea)\n")
        self.write("docs/start.md", "tar xf fovea-3.14.15.tar.gz\nGIT_TAG v3.14.15\nFovea 3.1.4 was measured\n")
        self.assertEqual(list(versions.wrong_places(self.tree, "3.14.15")), [])
        self.write("README.md", "\nfind_package(fovea_nn 3.13)\n")
        self.write("docs/start.md", "fovea-3.14.1.tar.xz and fovea-3.14.15.tar.xz\n    GIT_TAG v3.14.16\n")
        self.assertEqual([text.split(",")[0] for text in versions.wrong_places(self.tree, "3.14.15")], [
            "README.md:2 states version 3.13", "docs/start.md:1 states version 3.14.1",
            "docs/start.md:2 states version 3.14.16"])

    def test_change_log_of_a_tree(self):
        for right in ("# Changes\n\n## 3.14.15, unreleased\n\n## 3.14.14\n", "## 3.14.15 - 2031-01-02\n"):
            self.assertEqual(self.headings(right), [])
        for wrong in ("## 3.14.14\n\n## 3.14.15\n", "## 3.14.150\n", "nothing\n"):
            self.assertIn("3.14.15", self.headings(wrong)[0])

    def test_change_log_of_a_release(self):
        for right in ("2031-02-28", "2031-03-01", "2031-02-27"): # it is not the same day everywhere
            self.assertEqual(self.headings(f"## 3.14.15 - {right}\n", DAY), [])
        self.assertIn("without a date", self.headings("## 3.14.15, unreleased\n", DAY)[0])
        self.assertIn("2031-02-28", self.headings("## 3.14.15, 2031-03-02\n", DAY)[0])


if __name__ == "__main__":
    unittest.main()
