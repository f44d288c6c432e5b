"""Describes what compiled programs know of Fovea, as text: names, types, sizes, offsets, values.

The names and types come from the public headers, by docs/site/header.py; a compiler gives the numbers. The text has a
line for each thing, and an indented line for each field of a struct and each value of an enum:

    library fovea: libfovea.so.0.1
    function fovea_plan_tasks: int64_t (const fovea_plan *plan, int phase)
    struct fovea_range: 16 bytes
      begin: at 0, 8 bytes, int64_t

Things stand below the library of their header.
"""

import dataclasses
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "site"))

import header  # pylint: disable=wrong-import-position

# In the order of the text. A constant is a macro with a value, inline a function that programs compile in.
KINDS = "function", "struct", "enum", "type", "constant", "inline"


@dataclasses.dataclass
class Item:
    """One thing: its detail, and that of each of its members, in their order."""

    detail: str
    members: dict = dataclasses.field(default_factory=dict)


def describe(include, compiler, emulator=""):
    """{(library, kind, name): Item} of the headers below `include`, and the bytes of a pointer."""
    items, values = {}, []
    for path in sorted((include / "fovea").glob("*.h")):
        lines = path.read_text(encoding="utf-8").splitlines()
        library = "fovea_nn" if any("FOVEA_NN_API" in line for line in lines) else "fovea"
        _, sections = header.read(path)
        for group in header.groups(sections):
            for declaration in group.declarations:
                kind = kind_of(declaration, lines[declaration.line - 1])
                name = declaration.names[0]
                if not name.startswith("FOVEA_VERSION_"):
                    items[library, kind, name] = item_of(kind, declaration, values)
    numbers = iter(evaluate(["sizeof(void *)", *values], include, compiler, emulator))
    pointer = next(numbers)
    for item in items.values():
        item.detail = fill(item.detail, numbers)
        item.members = {name: fill(detail, numbers) for name, detail in item.members.items()}
    for library in ("fovea", "fovea_nn"):
        items[library, "library", library] = Item(f"lib{library}.so.{abi_number(include)}")
    return items, pointer


def abi_number(include):
    """What programs are linked with, docs/stability.md: before 1.0 major and minor version, then the major one."""
    text = (include / "fovea" / "fovea.h").read_text(encoding="utf-8")
    major, minor = (re.search(rf"^#define FOVEA_VERSION_{part} (\d+)$", text, re.M)[1] for part in ("MAJOR", "MINOR"))
    return major if int(major) > 0 else f"{major}.{minor}"


def kind_of(declaration, line):
    if declaration.kind == "function":
        return "inline" if line.startswith("static inline") else "function"
    return "constant" if declaration.kind == "macro" else declaration.kind


def item_of(kind, declaration, values):
    """The item with % in place of numbers, whose expressions are appended to `values`."""
    name = declaration.names[0]
    if kind in ("function", "inline"):
        result, parameters = re.fullmatch(rf"(.*?)\b{name}\s*\((.*)\);", declaration.code, re.DOTALL).groups()
        return Item(f"{tidy(result)} ({tidy(parameters)})")
    if kind == "constant":
        return Item(tidy(declaration.code.split(name, 1)[1]))
    if kind == "type":
        return Item(without_name(re.sub(r"^typedef|;$", "", declaration.code)))
    values.append(f"sizeof({kind} {name})")
    item = Item("% bytes")
    for group in header.member_groups(declaration):
        for member in group.declarations:
            for field, text in zip(member.names, members_of(kind, member)):
                item.members[field] = text
                values += [f"offsetof(struct {name}, {field})", f"sizeof(((struct {name} *)0)->{field})"] \
                    if kind == "struct" else [field]
    return item


def members_of(kind, member):
    """The details of the members that one declaration declares."""
    if kind == "enum":
        return ["%"]
    declarators = split(member.code)
    base = re.match(r"(?:const\s+|struct\s+|unsigned\s+)*\w+", member.code)[0]
    return [f"at %, % bytes, {without_name(each if i == 0 else base + ' ' + each)}" for i, each in enumerate(declarators)]


def parameter_types(parameters):
    return ", ".join(without_name(each) for each in split(parameters))


def split(text):
    """Cuts a list at its commas outside of parentheses."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def without_name(declaration):
    """The type that a declaration of one name gives it."""
    declaration = tidy(declaration)
    pointer = re.fullmatch(r"(.*\(\*)\w*\)\s*\((.*)\)", declaration)
    if pointer:
        return f"{pointer[1]})({parameter_types(pointer[2])})"
    before, array = re.fullmatch(r"(.*?)\b\w+((?:\[[^]]*\])*)", declaration).groups()
    return tidy(before + array) if before.strip() else declaration


def tidy(code):
    code = re.sub(r"\s*\*\s*", "*", " ".join(code.split()))
    return re.sub(r"(?<=\w)\*", " *", code)


def fill(detail, numbers):
    return re.sub("%", lambda _: str(next(numbers)), detail)


def evaluate(expressions, include, compiler, emulator):
    """What a program by this compiler computes for constant expressions of the headers."""
    lines = [f"#include <fovea/{path.name}>" for path in sorted((include / "fovea").glob("*.h"))]
    lines += ["#include <stddef.h>", "#include <stdio.h>", "static const int numbers[] = {"]
    lines += [f"  (int)({each})," for each in expressions]
    lines += ["};", "int main(void) {", "  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {"]
    lines += ['    printf("%d\\n", numbers[i]);', "  }", "  return 0;", "}", ""]
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "abi.c"), pathlib.Path(folder, "abi.exe")
        source.write_text("\n".join(lines), encoding="utf-8")
        subprocess.run([*shlex.split(compiler), "-I", include, "-o", program, source], check=True)
        output = subprocess.run([*shlex.split(emulator), program], check=True, capture_output=True, text=True).stdout
    return [int(number) for number in output.split()]


def written(items):
    """The text of a description."""
    lines = []
    for library in ("fovea", "fovea_nn"):
        for kind in ("library", *KINDS):
            lines += [""] if kind != "inline" else []
            for key in sorted(key for key in items if key[:2] == (library, kind)):
                lines.append(f"{kind} {key[2]}: {items[key].detail}")
                lines += [f"  {name}: {detail}" for name, detail in items[key].members.items()]
    return "\n".join(lines).strip() + "\n"


def parsed(text):
    """The description of a text."""
    items, library, item = {}, "", None
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        name, detail = line.strip().split(": ", 1)
        if line.startswith("  "):
            item.members[name] = detail
            continue
        kind, name = name.split(" ", 1)
        library = name if kind == "library" else library
        item = items[library, kind, name] = Item(detail)
    return items
