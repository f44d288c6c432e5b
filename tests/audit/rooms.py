#!/usr/bin/env python3
"""The rooms of src, nn, and tools: who includes and calls whom.

    rooms.py NM OBJECT...

src/README.md has a table of rooms and of what each may use; nn is a line of it. Every include and every call between
rooms has to be one that it allows, and what nn uses may hold no state. In src, nn and tools no two files may need each
other, directly or through others. Calls are read from the objects, so that a prototype by hand does not get past.
"""

import functools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src"
CHECKED = ("src", "nn", "tools")
ROW = re.compile(r"^\| `(\w+)` \|.*\|([^|]*)\|$", re.MULTILINE)


def allowed_uses():
    """room -> what it may use: rooms, and single headers as room/name.h"""
    table = (SOURCES / "README.md").read_text(encoding="utf-8")
    return {room: set(re.findall(r"`([\w/.]+)`", uses)) for room, uses in ROW.findall(table)}


def includes():
    """(file, included file) of src, nn and tools, relative to the root"""
    for folder in CHECKED:
        for path in sorted((ROOT / folder).rglob("*.[ch]")):
            for name in re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE):
                yield path.relative_to(ROOT), (path.parent / name).resolve().relative_to(ROOT)


def room_of(path):
    """src's rooms are its folders; nn with its variants is one, and so is each other folder"""
    return path.parts[1] if path.parts[0] == "src" else path.parts[0]


def source_of(path):
    """the source of an object, relative to the root; CMake names an object after its place below a CMakeLists.txt"""
    found = re.search(r"([^/]*)/?CMakeFiles/[^/]+\.dir/(.+\.c)\.o", path)
    if not found:
        return None
    return next((name for name in (found[2], f"{found[1]}/{found[2]}") if (ROOT / name).is_file()), None)


def symbols(nm, objects, *options):
    """(file, symbol, kind). One nm reads all objects, since to start it takes longer than to read."""
    sources = {path: source_of(path) for path in objects}
    read = [path for path, source in sources.items() if source]
    command = [nm, *options, "--print-file-name", "--format=posix", *read]
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        path, symbol = line.split(": ", 1)
        yield pathlib.Path(sources[path]), *symbol.split()[:2]


def calls(nm, objects):
    """(calling file, file that defines the function, function)"""
    # On Windows every object that takes a function's address defines .refptr.<function>, too, which refers to it.
    defined = {name: source for source, name, _ in symbols(nm, objects, "--defined-only", "--extern-only")}
    for source, name, _ in symbols(nm, objects, "--undefined-only"):
        if name in defined and source.parts[0] in CHECKED and defined[name].parts[0] in CHECKED:
            yield source, defined[name], name


@functools.cache
def words(headers):
    return set(re.findall(r"\w+", "".join(path.read_text(encoding="utf-8") for path in ROOT.glob(headers))))


def may_use(allowed, source, target):
    room, used = room_of(source), room_of(target)
    return room == used or used in allowed[room] or f"{used}/{target.name}" in allowed[room]


def upward_includes(allowed):
    for source, target in includes():
        if room_of(source) not in allowed or target.parts[0] == "include":
            continue
        if target.parts[0] == "arch":
            if room_of(source) == "base" and target.name not in ("float_state.h", "formats.h", "groups.h", "strict_math.h"):
                yield f"{source} includes {target}; base knows no instruction sets"
        elif not may_use(allowed, source, target):
            yield f"{source} includes {target}; src/README.md does not let {room_of(source)} use it"


def upward_calls(allowed, calls_made):
    for source, target, name in calls_made:
        room, used = room_of(source), room_of(target)
        if room not in allowed or room == used or used in allowed[room]:
            continue
        headers = [f"src/{use}" for use in allowed[room] if use.startswith(used + "/")]
        if room == "nn":
            headers.append("include/fovea/*.h")
        if not any(name in words(header) for header in headers):
            yield f"{source} calls {name}() of {target}; src/README.md does not let {room} use {used}"


def copied_variables(allowed, nm, objects):
    """fovea_nn has copies of what nn uses of src. A copy of a variable would be another variable."""
    for source, name, kind in symbols(nm, objects, "--defined-only"):
        if name.startswith("."):  # a section of its own, as Windows' objects list them
            continue
        if source.parts[0] == "src" and kind in "bBC" and may_use(allowed, pathlib.Path("nn"), source.with_suffix(".h")):
            yield f"{source} has a variable, {name}, of which fovea_nn would have a second"


def circles(calls_made):
    """Files that need each other. In src a header and the file that defines what it declares are one. In nn and tools
    several files may define what a header declares, so it is a file of its own."""
    needs = {}
    edges = [(source, target) for source, target in includes() if target.parts[0] in CHECKED]
    edges += [(source, target) for source, target, _ in calls_made]
    for source, target in edges:
        a, b = (path.with_suffix("") if path.parts[0] == "src" else path for path in (source, target))
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
    problems += upward_includes(allowed)
    problems += upward_calls(allowed, calls_made)
    problems += copied_variables(allowed, nm, objects)
    problems += circles(calls_made)
    print("\n".join(sorted(set(problems))))
    sys.exit(1 if problems else 0)


main()
