#!/usr/bin/env python3
"""src/feature/list.inc has every field of fovea_problem and of fovea_tensors, and no other.

    fields.py ROOT

Checks, defaults and layers go by the list: a field that it lacks would keep what was in memory before, and be refused by
no one.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
HEADER = "".join((ROOT / "include/fovea" / name).read_text(encoding="utf-8") for name in ("features.h", "fovea.h"))
LIST = (ROOT / "src/feature/list.inc").read_text(encoding="utf-8")


def fields_of(struct):
    """The names of the fields of a struct and of its groups. Each declaration ends in names that commas separate."""
    body = re.search(rf"typedef struct {struct} {{(.*?)}} {struct};", HEADER, re.DOTALL).group(1)
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL)
    for declaration in body.split(";"):
        group = re.match(rf"\s*({struct}_\w+|fovea_range)\s", declaration)
        for name in declaration.split(","):
            words = re.findall(r"\w+", name)
            if words and group and group[1] != "fovea_range":
                yield from (f"{words[-1]}.{field}" for field in fields_of(group[1]))
            elif words and group and struct == "fovea_problem":
                yield from (f"{words[-1]}.begin", f"{words[-1]}.end")
            elif words:
                yield words[-1]


def listed(macros):
    code = re.sub(r"/\*.*?\*/", "", LIST, flags=re.DOTALL)
    return re.findall(rf"^(?:{macros})\(\w+, ([\w.]+),", code, re.MULTILINE)


def main():
    problems = []
    for struct, macros, left_out in ("fovea_problem", "FIELD|SWITCH", set()), ("fovea_tensors", "TENSOR", {"struct_size"}):
        declared, found = set(fields_of(struct)) - left_out, listed(macros)
        problems += [f"src/feature/list.inc lacks {name} of {struct}" for name in sorted(declared - set(found))]
        problems += [f"src/feature/list.inc has {name}, which {struct} lacks" for name in sorted(set(found) - declared)]
        problems += [f"src/feature/list.inc has {name} twice" for name in sorted(set(found)) if found.count(name) > 1]
        if len(declared) < 15:
            problems.append(f"few fields of {struct} were found: its declaration is not understood")
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


main()
