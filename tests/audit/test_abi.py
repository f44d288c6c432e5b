#!/usr/bin/env python3
"""abi.py finds changes that are planted in a small header and in a library, and tells which break programs."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import abi
from abi_changes import changes, report
from abi_text import ROOT, describe, parsed, written

COMPILER = sys.argv.pop(1) if len(sys.argv) > 1 else "cc"

HEADER = """
#include <stddef.h>
#include <stdint.h>
#define FOVEA_API
#define FOVEA_VERSION_MAJOR 0
#define FOVEA_VERSION_MINOR 1
#define FOVEA_LIMIT 4096

typedef enum fovea_kind { FOVEA_NONE = 0, FOVEA_ONE = 1 } fovea_kind;

typedef struct fovea_group {
  int64_t begin, end;
  fovea_kind kind;
} fovea_group;

typedef void (*fovea_task)(void *job, int64_t task);

typedef struct fovea_problem {
  size_t struct_size;
  const float *q, *k;
  void (*release)(void *context, int64_t size);
  fovea_group group;
  int causal;
} fovea_problem;

typedef struct fovea_segment {
  int64_t first, rows[3];
} fovea_segment;

typedef struct fovea_sequence {
  const fovea_segment *segments;
  size_t segment_size;
} fovea_sequence;

FOVEA_API int64_t fovea_rows(const fovea_problem *problem, int64_t first,
                             int64_t count);
FOVEA_API const char *fovea_run(void (*run)(const void *data, int worker), fovea_task task);

static inline int fovea_always(void) { return 1; }
"""


def description(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "fovea", "fovea.h")
        path.parent.mkdir()
        path.write_text(text, encoding="utf-8")
        return describe(pathlib.Path(folder), COMPILER)[0]


OLD = description(HEADER)


class Changes(unittest.TestCase):
    def plant(self, *edits):
        """The changes after edits (old, new) of the header."""
        text = HEADER
        for old, new in edits:
            self.assertEqual(text.count(old), 1, old)
            text = text.replace(old, new)
        return changes(OLD, description(text))

    def breaks(self, text, *edits):
        found = self.plant(*edits)
        self.assertTrue(any(change.breaks and text in change.text for change in found), found)

    def adds(self, texts, *edits):
        found = self.plant(*edits)
        self.assertEqual([change.breaks for change in found], [False] * len(texts), found)
        for change, text in zip(found, texts):
            self.assertIn(text, change.text)

    def test_description(self):
        self.assertEqual(self.plant(), [])
        problem = OLD["fovea", "struct", "fovea_problem"]
        self.assertEqual(problem.detail, "64 bytes")
        self.assertEqual(problem.members["k"], "at 16, 8 bytes, const float *")
        self.assertEqual(problem.members["release"], "at 24, 8 bytes, void (*)(void *, int64_t)")
        self.assertEqual(OLD["fovea", "struct", "fovea_segment"].members["rows"], "at 8, 24 bytes, int64_t [3]")
        self.assertEqual(parsed(written(OLD)), OLD)
        real, _ = describe(ROOT / "include", COMPILER)
        self.assertEqual(parsed(written(real)), real)

    def test_functions(self):
        self.breaks("function fovea_rows is gone", ("fovea_rows", "fovea_row_count"))
        self.breaks("fovea_rows was int64_t", ("int64_t count", "size_t count"))
        self.breaks("fovea_rows was int64_t", ("const fovea_problem *problem", "fovea_problem *problem"))
        self.breaks("fovea_run was const char *", ("const char *fovea_run", "char *fovea_run"))
        self.breaks("fovea_run was const char *", ("int worker", "int64_t worker"))
        swapped = "int64_t first,\n                             int64_t count", "int64_t count, int64_t first"
        self.breaks("another order", swapped)
        self.adds(["names its arguments problem, first, rows, not problem, first, count"], ("int64_t count", "int64_t rows"))
        self.adds(["function fovea_new is new"], ("static inline", "FOVEA_API void fovea_new(void);\nstatic inline"))

    def test_fields(self):
        self.breaks("field end was at 8", ("begin, end;", "end, begin;"))
        self.breaks("lacks field causal", ("int causal", "int is_causal"))
        self.breaks("field causal was at 56, 4 bytes, int,", ("int causal", "unsigned causal"))
        self.breaks("field release was at", ("context, int64_t size", "context, size_t size"))
        self.breaks("no size that tells", ("begin, end;", "begin, end, step;"))
        self.breaks("had 16 bytes, and has 8", ("  size_t segment_size;\n", ""))
        self.breaks("within its old 64 bytes", ("const float *q,", "int spare; const float *q,"))
        self.breaks("within its old 64 bytes", ("int causal;", "int causal, padding;"))

    def test_added_fields(self):
        group = "typedef struct fovea_new { int64_t size; } fovea_new;\ntypedef struct fovea_problem {"
        self.adds(["new field last at its end"], ("int causal;", "int causal; int64_t last;"))
        self.adds(
            ["struct fovea_new is new", "new field new_group at its end"],
            ("typedef struct fovea_problem {", group), ("int causal;", "int causal; fovea_new new_group;"),
        )
        self.adds(["new field more at its end"], ("rows[3];", "rows[3], more;"))

    def test_values(self):
        self.breaks("value FOVEA_ONE was 1, and is 2", ("FOVEA_ONE = 1", "FOVEA_ONE = 2"))
        self.breaks("lacks value FOVEA_ONE", ("FOVEA_ONE = 1", "FOVEA_FIRST = 1"))
        self.adds(["after the last"], ("FOVEA_ONE = 1", "FOVEA_ONE = 1, FOVEA_TWO = 2"))
        self.breaks("not after the last", ("FOVEA_NONE = 0", "FOVEA_NONE = 0, FOVEA_ZERO = 0"))
        self.breaks("constant FOVEA_LIMIT was 4096", ("LIMIT 4096", "LIMIT 1024"))

    def test_types(self):
        self.breaks("type fovea_task was", ("int64_t task)", "int task)"))
        self.breaks("inline fovea_always is gone", ("fovea_always", "fovea_never"))

    def test_versions(self):
        found = self.plant(("VERSION_MINOR 1", "VERSION_MINOR 2"))
        self.assertIn("was libfovea.so.0.1, and is libfovea.so.0.2", found[0].text)
        self.assertIn("as they need", report(self.plant(("VERSION_MINOR 1", "VERSION_MINOR 2"), ("LIMIT 4", "LIMIT 5")))[-1])
        self.assertIn("is libfovea_nn.so.2", self.plant(("VERSION_MAJOR 0", "VERSION_MAJOR 2"))[1].text)


@unittest.skipUnless(sys.platform.startswith("linux"), "other systems have other libraries")
class Libraries(unittest.TestCase):
    def problems(self, functions, soname):
        with tempfile.TemporaryDirectory() as folder:
            source, library = pathlib.Path(folder, "all.c"), f"{folder}/all.so"
            source.write_text("".join(f"int {name};\n" for name in functions), encoding="utf-8")
            subprocess.run([COMPILER, "-shared", f"-Wl,-soname,{soname}", "-o", library, source], check=True)
            return [each.replace(library, "it") for each in abi.library_problems("fovea", library, OLD, "nm", "objdump")]

    def test_exports(self):
        functions, soname = ["fovea_rows", "fovea_run"], "libfovea.so.0.1"
        self.assertEqual(self.problems(functions, soname), [])
        self.assertEqual(self.problems(functions[1:], soname), ["it lacks fovea_rows, which a header declares"])
        self.assertEqual(self.problems([*functions, "zeros"], soname), ["it exports zeros, which no header declares"])
        self.assertEqual(self.problems(functions, "libfovea.so.7"), [f"the SONAME of it is libfovea.so.7, not {soname}"])


unittest.main()
