"""Every C block of README and docs compiles and runs, under sanitizers, and the pictures are what the rules say.

    test_snippets.py CC LIBRARY...    the C compiler, and what programs are linked with

A block with main() is a program. Other blocks are parts of one: snippets/<page>.c is the program around the
blocks of a page, and has `/* snippet N */` where the Nth block of the page stands.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
AROUND = pathlib.Path(__file__).resolve().parent / "snippets"
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("*/README.md")),
         *sorted(ROOT.glob("*/*/README.md"))]
COMPILER, LIBRARIES = [], []
# Without AMX it has a status; the page says so.
MAY_FAIL = {"fovea_allow_amx"}


def snippets(page):
    """(line in the page, text) of each block of C"""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, each.start(1)) + 1, each[1])
            for each in re.finditer(r"^```c\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)]


def printed(page):
    """(number, what the page says that the program prints) of each program that text follows: "It prints `...`", or
    "It prints" and an indented block."""
    text = page.read_text(encoding="utf-8")
    for number, block in enumerate(re.finditer(r"^```c\n.*?^```$", text, re.DOTALL | re.MULTILINE), 1):
        said = re.match(r"\n\nIt prints(?: `([^`]+)`|\n\n((?:    .*\n)+))", text[block.end():])
        if said:
            yield number, said[1].splitlines() if said[1] else [line[4:] for line in said[2].splitlines()]


def with_status():
    """The functions that return a status."""
    headers = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "include/fovea").glob("*.h"))
    return set(re.findall(r"_API fovea_status (fovea_\w+)\(", headers)) - MAY_FAIL


def checked(text, functions):
    """The text, with a check after each statement that is a call which returns a status."""
    def check(match):
        if match[3] not in functions:
            return match[0]
        return f"{match[1]}worked({match[2] or ''}{match[4]}, error.text, __LINE__);"

    if re.search(r"(?m)^\w.*\) \{$", text): # a function, which returns its status
        return text
    return re.sub(r"(?m)^(\s*)(status = )?(?=(fovea_\w+)\()(fovea_\w+\([^;]*\));", check, text)


def program(page):
    """The program around the page's blocks, and how many it uses."""
    parts = snippets(page)
    around = AROUND / (page.stem + ".c")
    used = []
    functions = with_status()

    def part(match):
        number = int(match[1])
        used.append(number)
        line, text = parts[number - 1]
        back = around_text.count("\n", 0, match.end()) + 1
        return f'#line {line} "{page}"\n{checked(text, functions)}#line {back} "{around}"\n'

    around_text = around.read_text(encoding="utf-8")
    whole = re.sub(r"(?m)^ */\* snippet (\d+) \*/$", part, around_text)
    return f'#line 1 "{around}"\n' + whole, used


class Snippets(unittest.TestCase):
    def run_program(self, source, name):
        """Sanitizers watch the program, and pages that cannot be touched what the library does to its memory."""
        with tempfile.TemporaryDirectory() as folder:
            built = pathlib.Path(folder) / name
            command = [*COMPILER, "-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                       "-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{ROOT / 'include'}", f"-I{AROUND}",
                       "-xc", "-", "-xnone", *LIBRARIES, "-lm", "-o", str(built)]
            done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=0"}
            done = subprocess.run([str(built)], capture_output=True, text=True, check=False, env=environment)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout.splitlines()

    def test_every_block_runs(self):
        count, with_output = 0, 0
        for page in PAGES:
            parts = snippets(page)
            wholes = [number for number, (_, text) in enumerate(parts, 1) if "int main(" in text]
            count += len(parts)
            said = dict(printed(page))
            for number in wholes:
                with self.subTest(page=page.name, block=number):
                    output = self.run_program(parts[number - 1][1], "program")
                    self.assertEqual(output, said.get(number, output))
            with_output += len(said)
            if len(parts) == len(wholes):
                continue
            with self.subTest(page=page.name):
                self.assertTrue((AROUND / (page.stem + ".c")).exists(), "tests/documents/snippets has no program for it")
                source, used = program(page)
                self.assertEqual(sorted(used), [number for number in range(1, len(parts) + 1) if number not in wholes])
                self.run_program(source, page.stem)
        self.assertGreater(count, 30)
        self.assertGreater(with_output, 5)

    def test_every_program_has_a_page(self):
        for around in AROUND.glob("*.c"):
            self.assertTrue(any(page.stem == around.stem and snippets(page) for page in PAGES), around.name)


PATTERNS = (ROOT / "docs/patterns.md").read_text(encoding="utf-8")
PARENTS = (-1, 0, 0, 1, -1)
DOCUMENTS = (0, 0, 0, 1, 1, 1, 2, 2)


def in_tree(row, key):
    at = row - 3
    while at >= 0:
        if at == key - 3:
            return True
        at = PARENTS[at]
    return key < 3


RULES = (
    lambda i, j: i - 2 <= j <= i,
    lambda i, j: i - 4 <= j <= i and (i - j) % 2 == 0,
    lambda i, j: i // 4 * 4 - 1 <= j < i // 4 * 4 + 4,
    lambda i, j: j % 4 == 0,
    lambda i, j: i in (0, 5) or j in (0, 5),
    lambda i, j: DOCUMENTS[i] == DOCUMENTS[j],
    lambda i, j: j // 2 in ((0, 3), (2,))[i // 4],
    in_tree,
    lambda i, j: min(max(i - 1, 0), 5) <= j < min(max(i - 1, 0), 5) + 3,
    lambda i, j: j <= i and (j >= i - 1 or j < 2),
)


class Pictures(unittest.TestCase):
    def test_they_are_what_the_rules_say(self):
        lines = re.findall(r"^ ((?:[#.]{8} *){5})$", PATTERNS, re.MULTILINE)
        self.assertEqual(len(lines), 16)
        for number, rule in enumerate(RULES):
            picture = [line.split()[number % 5] for line in lines[number // 5 * 8:][:8]]
            wanted = ["".join("#" if rule(row, key) else "." for key in range(8)) for row in range(8)]
            self.assertEqual(picture, wanted, number)


if __name__ == "__main__":
    COMPILER[:] = sys.argv[1:2]
    LIBRARIES[:] = sys.argv[2:]
    unittest.main(argv=sys.argv[:1])
