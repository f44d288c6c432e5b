"""The lines of arch/registry.h, in its order."""

import pathlib
import re

HEADER = pathlib.Path(__file__).resolve().parent.parent / "arch/registry.h"
LINE = re.compile(r"^  (SET|TABLE)\((.*?)\)(?: *\\)?$", re.MULTILINE)


def _lines(kind):
    for found, fields in LINE.findall(HEADER.read_text(encoding="utf-8")):
        if found == kind:
            yield [field.strip() for field in fields.split(",", 5)]


def sets(prefix="", pairs="F32"):
    """Names of the sets whose architecture begins so: those that serve every problem, or those that add products of
    pairs of a type, BF16 or F16. Portable C, for ANY architecture, is one of the first kind."""
    return tuple(name for name, architecture, _, _, kind, _ in _lines("SET")
                 if architecture.startswith(prefix) and kind == pairs)


def tables(of):
    """(symbol, features that it needs) of the tables of a set."""
    return tuple((symbol, tuple(re.findall(r"FOVEA_CPU_(\w+)", needs)))
                 for name, _, _, symbol, needs, _ in _lines("TABLE") if name == of)
