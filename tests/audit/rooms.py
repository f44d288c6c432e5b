#!/usr/bin/env python3
"""The rooms of src, and nn: who includes and calls whom.

    rooms.py NM OBJECT...

src/README.md has a table of rooms and of what each may use. Every include and every call between rooms has to be one
that it allows, and no two files may need each other, directly or through others. Calls are read from the objects, so
that a prototype by hand does not get past.
"""

import functools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src"
ROW = re.compile(r"^\| `(\w+)` \|.*\|([^|]*)\|$", re.MULTILINE)


def allowed_uses():
    """room -> what it may use: rooms, and single headers as room/name.h"""
    table = (SOURCES / "README.md").read_text(encoding="utf-8")
    return {room: set(re.findall(r"`([\w/.]+)`", uses)) for room, uses in ROW.findall(table)}


def includes():
    """(file, included file), both below src or arch, relative to the root"""
    for path in sorted(SOURCES.rglob("*.[ch]")):
        for name in re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE):
            yield path.relative_to(ROOT), (path.parent / name).resolve().relative_to(ROOT)


def symbols(nm, objects, *options):
    """(file, symbol). One nm reads all objects, since to start it takes longer than to read."""
    sources = {path: re.search(r"(src|arch)/[\w/]+\.c", path) for path in objects}
    read = [path for path, source in sources.items() if source]
    command = [nm, *options, "--print-file-name", "--format=posix", *read]
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        path, symbol = line.split(": ", 1)
        yield pathlib.Path(sources[path][0]), symbol.split()[0]


def calls(nm, objects):
    """(calling file, file that defines the function, function)"""
    # On Windows every object that takes a function's address defines .refptr.<function>, too, which refers to it.
    defined = {name: source for source, name in symbols(nm, objects, "--defined-only", "--extern-only")}
    for source, name in symbols(nm, objects, "--undefined-only"):
        if name in defined and source.parts[0] == "src" and defined[name].parts[0] == "src":
            yield source, defined[name], name


@functools.cache
def words(header):
    return set(re.findall(r"\w+", (SOURCES / header).read_text(encoding="utf-8")))


def is_declared(header, name):
    return name in words(header)


def nn_includes():
    """nn uses what is public, the border to the kernels, and two rooms of src without the dispatcher."""
    for path in sorted((ROOT / "nn").glob("*.[ch]")):
        for name in re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE):
            target = (path.parent / name).resolve().relative_to(ROOT)
            used = target.parts[1] if target.parts[0] == "src" else "base"
            if used not in ("base", "system", "rotary") or target.name == "dispatch.h" and target.parts[0] == "src":
                yield f"{path.relative_to(ROOT)} includes {target}; nn/README.md does not let nn use it"


def upward_includes(allowed):
    for source, target in includes():
        if target.parts[0] == "include":
            continue
        if target.parts[0] == "arch":
            if source.parts[1] == "base" and target.name not in ("float_state.h", "formats.h", "strict_math.h"):
                yield f"{source} includes {target}; base knows no instruction sets"
            continue
        room, used = source.parts[1], target.parts[1]
        if room != used and used not in allowed[room] and f"{used}/{target.name}" not in allowed[room]:
            yield f"{source} includes {target}; src/README.md does not let {room} use it"


def upward_calls(allowed, calls_made):
    for source, target, name in calls_made:
        room, used = source.parts[1], target.parts[1]
        headers = [use for use in allowed[room] if use.startswith(used + "/")]
        if room == used or used in allowed[room] or any(is_declared(header, name) for header in headers):
            continue
        yield f"{source} calls {name}() of {target}; src/README.md does not let {room} use {used}"


def circles(calls_made):
    """Files that need each other; a header and the file that defines what it declares are one."""
    needs = {}
    edges = [(source, target) for source, target in includes() if target.parts[0] == "src"]
    edges += [(source, target) for source, target, _ in calls_made]
    for source, target in edges:
        a, b = source.with_suffix(""), target.with_suffix("")
        needs.setdefault(a, set()).add(b)
        needs.setdefault(b, set())
    reached = {}

    def reach(start):
        if start not in reached:
            seen, todo = set(), [start]
            while todo:
                for file in needs[todo.pop()] - seen:
                    seen.add(file)
                    todo.append(file)
            reached[start] = seen
        return reached[start]

    found = set()
    for file in needs:
        for other in needs[file] - {file}:
            if file in reach(other):
                found.add(frozenset((file, other)))
    for pair in sorted(found, key=sorted):
        first, second = sorted(pair)
        yield f"{first} and {second} need each other"


def main():
    nm, objects = sys.argv[1], sys.argv[2:]
    allowed = allowed_uses()
    rooms = {path.name for path in SOURCES.iterdir() if path.is_dir()}
    problems = [f"src/README.md does not list {room}" for room in sorted(rooms - set(allowed))]
    problems += [f"src/{path.name} stands in no room" for path in SOURCES.glob("*.[ch]")]
    if problems:
        sys.exit("\n".join(problems))
    calls_made = list(calls(nm, objects))
    if not calls_made:
        sys.exit("no calls were found: these are not the library's objects")
    problems += nn_includes()
    problems += upward_includes(allowed)
    problems += upward_calls(allowed, calls_made)
    problems += circles(calls_made)
    print("\n".join(sorted(set(problems))))
    sys.exit(1 if problems else 0)


main()
