"""The C in docs/patterns.md, docs/formats.md and docs/modes.md compiles, and the pictures are what the rules say.

    test_snippets.py CC...    the C compiler
"""

import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/patterns.md").read_text(encoding="utf-8")
COMPILER = []

# What snippets that are no whole file take from the program around them.
AROUND = """\
#include <fovea/format.h>
#include <fovea/pattern.h>
fovea_status snippet_%d(fovea_problem problem, fovea_pattern_options options, fovea_pattern *pattern,
                        fovea_pattern *other, fovea_rule rule, int64_t longest, int64_t nodes, int64_t rows,
                        int64_t keys, int64_t heads, int64_t dim, const int64_t *indptr, const int64_t *indices);
fovea_status snippet_%d(fovea_problem problem, fovea_pattern_options options, fovea_pattern *pattern,
                        fovea_pattern *other, fovea_rule rule, int64_t longest, int64_t nodes, int64_t rows,
                        int64_t keys, int64_t heads, int64_t dim, const int64_t *indptr, const int64_t *indices) {
  fovea_status status = FOVEA_OK;
  fovea_error error;
  (void)problem, (void)options, (void)pattern, (void)other, (void)rule, (void)longest, (void)nodes, (void)rows;
  (void)keys, (void)indptr, (void)indices, (void)error, (void)heads, (void)dim;
%s
  return problem.pattern || problem.patterns ? FOVEA_OK : status;
}
"""


# The snippets of docs/formats.md follow each other in one function.
FORMATS = """\
#include <fovea/format.h>
fovea_status formats(fovea_problem problem, fovea_tensors tensors, fovea_rotary rotary, int64_t capacity, int64_t kv_heads,
                     int64_t heads, int64_t q_rows, int64_t dim, int64_t length, int64_t old, int64_t count,
                     const int32_t *table, int64_t table_length, fovea_segment *segments, int64_t segment_limit, void *k,
                     void *v, void *new_k, void *new_v, void *sinks_k, void *sinks_v, void *q, void *o);
fovea_status formats(fovea_problem problem, fovea_tensors tensors, fovea_rotary rotary, int64_t capacity, int64_t kv_heads,
                     int64_t heads, int64_t q_rows, int64_t dim, int64_t length, int64_t old, int64_t count,
                     const int32_t *table, int64_t table_length, fovea_segment *segments, int64_t segment_limit, void *k,
                     void *v, void *new_k, void *new_v, void *sinks_k, void *sinks_v, void *q, void *o) {
  fovea_status status = FOVEA_OK;
  fovea_error error;
%s
  (void)whole;
  return status;
}
"""


# The snippets of docs/modes.md; README has the first without a test of the status.
MODES = """\
#include <fovea/fovea.h>
#include <stdio.h>
void modes(fovea_problem problem, fovea_tensors tensors, const float *centre, const float *scale);
void modes(fovea_problem problem, fovea_tensors tensors, const float *centre, const float *scale) {
  fovea_error error;
%s
  (void)problem, (void)tensors;
}
"""


def snippets(page=PAGE):
    return re.findall(r"^```c\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


class Snippets(unittest.TestCase):
    def test_they_compile(self):
        self.assertGreater(len(snippets()), 4)
        for number, snippet in enumerate(snippets()):
            self.compile(snippet if "#include" in snippet else AROUND % (number, number, snippet))

    def test_those_of_formats_compile(self):
        parts = snippets((ROOT / "docs/formats.md").read_text(encoding="utf-8"))
        self.assertEqual(len(parts), 4)
        self.compile(FORMATS % "\n".join(parts))

    def test_those_of_modes_compile(self):
        parts = snippets((ROOT / "docs/modes.md").read_text(encoding="utf-8"))
        parts += [part for part in snippets((ROOT / "README.md").read_text(encoding="utf-8")) if "MODE_BF16" in part]
        self.assertEqual(len(parts), 4)
        self.compile(MODES % "\n".join(parts))

    def compile(self, source):
        done = subprocess.run([*COMPILER, "-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                               f"-I{ROOT / 'include'}", "-xc", "-"], input=source, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)


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
        lines = re.findall(r"^ ((?:[#.]{8} *){5})$", PAGE, re.MULTILINE)
        self.assertEqual(len(lines), 16)
        for number, rule in enumerate(RULES):
            picture = [line.split()[number % 5] for line in lines[number // 5 * 8:][:8]]
            wanted = ["".join("#" if rule(row, key) else "." for key in range(8)) for row in range(8)]
            self.assertEqual(picture, wanted, number)


if __name__ == "__main__":
    COMPILER[:] = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
