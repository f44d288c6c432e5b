"""Everything in the public headers has a comment, and the API page leaves nothing of it out."""

import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = ROOT / "include/fovea/fovea.h"
sys.path.insert(0, str(ROOT / "docs/site"))

import api  # pylint: disable=wrong-import-position
import header  # pylint: disable=wrong-import-position

EXAMPLE = """\
/* What it is for.
 *
 * More of it. */
#ifndef FOVEA_EXAMPLE_H
#define FOVEA_EXAMPLE_H
#if defined(__GNUC__)
#define FOVEA_API __attribute__((visibility("default")))
#else
#define FOVEA_API
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* ---- Sizes -------------------- */

/* Both are even. */
#define FOVEA_SMALL 2
#define FOVEA_LARGE \\
  (FOVEA_SMALL + 2)

/* A colour. */
typedef enum fovea_colour {
  FOVEA_COLOUR_RED = 0,  /* like
                            blood */
  FOVEA_COLOUR_BLUE = 1, /* like the sky */
} fovea_colour;

/* RED or BLUE. */
typedef enum fovea_short { FOVEA_SHORT_RED = 0, FOVEA_SHORT_BLUE = 1 } fovea_short;

/* Called for each one. */
typedef void (*fovea_visit)(void *context, int one);

/* Nobody knows what it holds. */
typedef struct fovea_hidden fovea_hidden;

/* A thing with a width. */
typedef struct fovea_thing {
  int width, height; /* in
                        steps */
  /* How it
   * looks. */
  fovea_colour inside;
  fovea_colour outside; /* seen first */

  int array[3]; /* three; of them */
  void (*done)(int a, int b); /* called last */
} fovea_thing;

/* ---- Calls -------------------- */

/* Said between things. */

/* Makes one. */
FOVEA_API int fovea_make(fovea_thing *thing,
                         int width);
FOVEA_API void fovea_break(fovea_thing *thing); /* NULL is allowed */

/* The size is known here. */
static inline void fovea_easy(fovea_thing *thing,
                              int width) {
  if (width) { fovea_make(thing, width); }
}

#ifdef __cplusplus
}
#endif
#endif
"""


def read(source):
    with tempfile.NamedTemporaryFile("w", suffix=".h", encoding="utf-8") as file:
        file.write(source)
        file.flush()
        return header.read(file.name)


def missing(source):
    return [name for _, name in header.undocumented(read(source)[1])]


class Example(unittest.TestCase):
    def setUp(self):
        self.introduction, self.sections = read(EXAMPLE)
        self.groups = {group.declarations[0].names[0]: group for group in header.groups(self.sections)}

    def test_sections(self):
        self.assertEqual(self.introduction, "What it is for.\n\nMore of it.")
        self.assertEqual([section.title for section in self.sections], ["Sizes", "Calls"])
        self.assertEqual(self.sections[1].entries[0], "Said between things.")
        self.assertEqual(list(self.groups), ["FOVEA_SMALL", "fovea_colour", "fovea_short", "fovea_visit", "fovea_hidden",
                                             "fovea_thing", "fovea_make", "fovea_easy"])

    def test_groups(self):
        self.assertEqual([each.names for each in self.groups["FOVEA_SMALL"].declarations],
                         [["FOVEA_SMALL"], ["FOVEA_LARGE"]])
        make = self.groups["fovea_make"]
        self.assertEqual((make.text, [each.text for each in make.declarations]), ("Makes one.", ["", "NULL is allowed"]))

    def test_code(self):
        self.assertEqual(self.groups["fovea_make"].declarations[0].code,
                         "int fovea_make(fovea_thing *thing,\n               int width);")
        self.assertEqual(self.groups["fovea_easy"].declarations[0].code,
                         "void fovea_easy(fovea_thing *thing,\n                int width);")

    def test_members(self):
        members = header.member_groups(self.groups["fovea_thing"].declarations[0])
        self.assertEqual([(each.names, each.text) for group in members for each in group.declarations],
                         [(["width", "height"], "in\nsteps"), (["inside"], ""), (["outside"], "seen first"),
                          (["array"], "three; of them"), (["done"], "called last")])
        self.assertEqual([group.text for group in members], ["", "How it\nlooks.", ""])
        values = header.member_groups(self.groups["fovea_colour"].declarations[0])[0]
        self.assertEqual([each.code for each in values.declarations], ["FOVEA_COLOUR_RED = 0", "FOVEA_COLOUR_BLUE = 1"])

    def test_nothing_is_missing(self):
        self.assertEqual(missing(EXAMPLE), [])


class Missing(unittest.TestCase):
    """Each comment of the example is needed."""

    def test_declarations(self):
        for comment, names in (("/* Both are even. */", ["FOVEA_SMALL", "FOVEA_LARGE"]),
                               ("/* A colour. */", ["fovea_colour"]),
                               ("/* Called for each one. */", ["fovea_visit"]),
                               ("/* Nobody knows what it holds. */", ["fovea_hidden"]),
                               ("/* A thing with a width. */", ["fovea_thing"]),
                               ("/* Makes one. */", ["fovea_make"]),
                               ("/* The size is known here. */", ["fovea_easy"])):
            self.assertEqual(missing(EXAMPLE.replace(comment + "\n", "")), names, comment)

    def test_members(self):
        for comment, names in ((" /* like the sky */", ["fovea_colour.FOVEA_COLOUR_BLUE"]),
                               (" /* three; of them */", ["fovea_thing.array"]),
                               (" /* called last */", ["fovea_thing.done"])):
            self.assertEqual(missing(EXAMPLE.replace(comment, "")), names, comment)

    def test_members_that_the_type_names(self):
        self.assertEqual(missing(EXAMPLE.replace("RED or BLUE", "RED")), ["fovea_short.FOVEA_SHORT_BLUE"])
        without = re.sub(r" /\* in\s+steps \*/", "", EXAMPLE)
        self.assertEqual(missing(without), ["fovea_thing.height"])

    def test_a_blank_line_ends_a_group(self):
        apart = EXAMPLE.replace("FOVEA_API void fovea_break(fovea_thing *thing); /* NULL is allowed */",
                                "\nFOVEA_API void fovea_break(fovea_thing *thing);")
        self.assertEqual(missing(apart), ["fovea_break"])


class Header(unittest.TestCase):
    def setUp(self):
        self.source = HEADER.read_text(encoding="utf-8")
        self.code = header.COMMENT.sub("", self.source)
        self.sections = header.read(HEADER)[1]

    def declarations(self, *kinds):
        found = [each for group in header.groups(self.sections) for each in group.declarations]
        return [each for each in found if each.kind in kinds]

    def members(self, kind):
        groups = [group for each in self.declarations(kind) for group in header.member_groups(each)]
        return [name for group in groups for each in group.declarations for name in each.names]

    def test_everything_has_a_comment(self):
        self.assertEqual(header.undocumented(self.sections), [])
        for path in HEADER.parent.glob("*.h"):
            self.assertEqual(header.undocumented(header.read(path)[1]), [], path.name)

    def test_every_header_has_a_page(self):
        self.assertEqual(set(api.HEADERS), {f"include/fovea/{path.name}" for path in HEADER.parent.glob("*.h")})
        contents = (ROOT / "docs/site/mkdocs.yml").read_text(encoding="utf-8")
        for page in api.HEADERS.values():
            self.assertIn(f": {page}\n", contents)

    def test_nothing_is_lost(self):
        """Counted by other means than header.py's."""
        names = lambda *kinds: sorted(each.names[0] for each in self.declarations(*kinds))
        self.assertEqual(names("function"), sorted(re.findall(r"^(?:FOVEA_API|static inline)[^(]*?(\w+)\(", self.code,
                                                              re.MULTILINE)))
        types = re.findall(r"^typedef ([^{;]*)(?:\{[^}]*\})?([^;]*);", self.code, re.MULTILINE)
        pointer_or_last = lambda before, after: re.search(r"\(\*(\w+)\)\(|(\w+)$", after.strip() or before.strip())
        self.assertEqual(names("enum", "struct", "type"),
                         sorted(found[1] or found[2] for found in (pointer_or_last(*each) for each in types)))
        self.assertEqual(sorted(self.members("enum")), sorted(re.findall(r"(FOVEA_\w+) = -?\d", self.code)))
        bodies = "".join(re.findall(r"typedef struct \w+ \{(.*?)^\}", self.code, re.DOTALL | re.MULTILINE))
        bodies = re.sub(r"\([^()]*\)", "", bodies)
        self.assertEqual(len(self.members("struct")), bodies.count(";") + bodies.count(","))

    def test_page(self):
        page = api.page(str(HEADER))
        for name in re.findall(r"\b(?:fovea_\w+|FOVEA_\w+)", self.code):
            if name not in ("FOVEA_FOVEA_H", "FOVEA_API", "FOVEA_SHARED", "FOVEA_BUILDING"):
                self.assertIn(name, page)


if __name__ == "__main__":
    unittest.main()
