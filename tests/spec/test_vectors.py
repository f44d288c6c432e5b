"""The vectors of the specification: test_vectors.py <command that makes them>"""

import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tokenize
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / "spec" / "vectors"
SECOND = ROOT / "spec" / "second"
MAKE = sys.argv[1:]
BESIDES = (tokenize.COMMENT, tokenize.NL, tokenize.DEDENT, tokenize.ENDMARKER)
sys.path.insert(0, str(ROOT / "spec"))

import check  # noqa: E402

# Vectors of sections 1 to 16 are final: how many of these, from the first of the manifest on, and SHA-256 of all their
# bytes. Lines here are never edited, only followed by others.
FINALS = [
    (114, "bcc320fc7bc17fa15a693675a11ae1bd0d87db7177068bed0cd0417a04a5a490"),
    (140, "e14ec1eac95f9f6b374b8db37316e2d2f99da197c4c55b0bb4cebf17bac6c19d"),
    (143, "81d38fdf36816b5fda375deaeda81422c105a30ab5d02ac921a75d9d5427d9f6"),
    (145, "2be901e67405926b7155c7ec90c12175f42e3686bc420b503e60e9db92fa2aa4"),
]


def manifest(folder):
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


def code_lines(path):
    """The lines of a Python file that have more than blanks, comments and docstrings."""
    lines = set()
    with open(path, "rb") as file:
        tokens = [token for token in tokenize.tokenize(file.readline) if token.type not in BESIDES]
    for before, token in zip(tokens, tokens[1:]):
        is_docstring = token.type == tokenize.STRING and before.type in (tokenize.ENCODING, tokenize.NEWLINE,
                                                                          tokenize.INDENT)
        if token.type not in (tokenize.NEWLINE, tokenize.INDENT) and not is_docstring:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return lines


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Kept(unittest.TestCase):
    def test_contract_makes_the_kept_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            made = pathlib.Path(folder) / "vectors"
            subprocess.run([*MAKE, made], check=True)
            made, kept = files(made), files(KEPT)
        self.assertEqual(sorted(made), sorted(kept))
        self.assertEqual([name for name in kept if made[name] != kept[name]], [])

    def test_manifest_names_every_file(self):
        named = {f"{vector['name']}/{array}.npy" for vector in manifest(KEPT)["vectors"]
                 for array in vector["inputs"] + vector["expected"]}
        self.assertEqual(named | {"manifest.json"}, set(files(KEPT)))

    def test_size(self):
        """At most 1 MB, which is 1,048,576 bytes here."""
        self.assertLessEqual(sum(len(data) for data in files(KEPT).values()), 1 << 20)

    def test_finals_stand(self):
        kept = files(KEPT)
        vectors = [vector for vector in manifest(KEPT)["vectors"] if not vector["clauses"].startswith("L")]
        for count, together in FINALS:
            with self.subTest(count=count):
                digest = hashlib.sha256()
                for vector in vectors[:count]:
                    digest.update(json.dumps(vector, sort_keys=True).encode())
                    for array in vector["inputs"] + vector["expected"]:
                        digest.update(kept[f"{vector['name']}/{array}.npy"])
                self.assertEqual(digest.hexdigest(), together)


class Second(unittest.TestCase):
    def test_gives_the_bits_of_every_vector(self):
        for vector in manifest(KEPT)["vectors"]:
            with self.subTest(vector=vector["name"]):
                self.assertEqual(list(check.differences(KEPT, vector)), [])

    def test_finds_one_flipped_bit(self):
        vector = next(vector for vector in manifest(KEPT)["vectors"] if vector["name"] == "one_key")
        for array in vector["inputs"] + vector["expected"]:
            with self.subTest(array=array), tempfile.TemporaryDirectory() as folder:
                copy = pathlib.Path(folder) / "one_key"
                shutil.copytree(KEPT / "one_key", copy)
                data = bytearray((copy / f"{array}.npy").read_bytes())
                data[-2] ^= 16
                (copy / f"{array}.npy").write_bytes(data)
                self.assertNotEqual(list(check.differences(pathlib.Path(folder), vector)), [])

    def test_is_short(self):
        """At most 600 lines of code, and as many as people read in one go."""
        lines = sum(len(code_lines(path)) for path in SECOND.glob("*.py"))
        self.assertLessEqual(lines, 600)

    def test_constants_are_those_of_the_page(self):
        page = (ROOT / "docs" / "numerics.md").read_text(encoding="utf-8")
        constants = re.findall(r'"(-?0x[^"]*)"', (ROOT / "spec" / "constants.json").read_text(encoding="utf-8"))
        constants += [constant for path in SECOND.glob("*.py")
                      for constant in re.findall(r'"(-?0x[\d.a-f]+p[-+]\d+)"', path.read_text(encoding="utf-8"))]
        self.assertGreater(len(constants), 100)
        self.assertEqual([constant for constant in constants if constant not in page], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
