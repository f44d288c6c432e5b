#!/usr/bin/env python3
"""The libraries are what abi.txt says that compiled programs know of them.

    abi.py [--compiler CC] [--emulator COMMAND] [--nm NM] [--objdump OBJDUMP] [NAME=LIBRARY...]
    abi.py --since OLD    tells what changed since an older abi.txt: git show v0.1.0:tests/audit/abi.txt >OLD
    abi.py --keep         writes abi.txt, by the compiler of a system with pointers of 64 bits

abi.txt and the public headers agree in all names, types, sizes, offsets and values, by this compiler; of systems with
pointers of 32 bits structs are left out. Each library (NAME is fovea or fovea_nn) exports the functions that its headers
mark as exported, and no other. docs/stability.md says what may change.
"""

import argparse
import pathlib
import re
import subprocess
import sys

from abi_changes import changes, report
from abi_text import ROOT, describe, parsed, written

KEPT = pathlib.Path(__file__).with_name("abi.txt")
HEAD = "# What compiled programs know of Fovea, on systems with pointers of 64 bits. Written by abi.py --keep.\n"


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported_by(library, nm):
    if library.endswith(".dll.a"):
        return set(re.findall(r"^__imp_(\w+) ", output_of(nm, "--defined-only", "--format=posix", library), re.M))
    return set(re.findall(r"^(\w+) ", output_of(nm, "--dynamic", "--defined-only", "--format=posix", library), re.M))


def library_problems(name, library, items, nm, objdump):
    """What a built library has that is not so in a description."""
    declared = {key[2] for key in items if key[:2] == (name, "function")}
    exported = exported_by(library, nm)
    problems = [f"{library} lacks {each}, which a header declares" for each in sorted(declared - exported)]
    problems += [f"{library} exports {each}, which no header declares" for each in sorted(exported - declared)]
    if ".so" in library:
        soname = re.search(r"SONAME +(\S+)", output_of(objdump, "-p", library))[1]
        expected = items[name, "library", name].detail
        problems += [f"the SONAME of {library} is {soname}, not {expected}"] if soname != expected else []
    return problems


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("libraries", nargs="*")
    for option, default in ("compiler", "cc"), ("emulator", ""), ("nm", "nm"), ("objdump", "objdump"), ("since", ""):
        parser.add_argument(f"--{option}", default=default)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()

    if options.since:
        old = pathlib.Path(options.since).read_text(encoding="utf-8")
        print("\n".join(report(changes(parsed(old), parsed(KEPT.read_text(encoding="utf-8"))))) or "Nothing changed.")
        return 0
    items, pointer = describe(ROOT / "include", options.compiler, options.emulator)
    if options.keep:
        if pointer != 8:
            sys.exit(f"{KEPT.name} is for pointers of 64 bits; {options.compiler} has pointers of {8 * pointer}")
        KEPT.write_text(HEAD + written(items), encoding="utf-8")
        return 0

    kept = parsed(KEPT.read_text(encoding="utf-8"))
    if pointer != 8:
        items, kept = ({key: item for key, item in each.items() if key[1] != "struct"} for each in (items, kept))
    lines = report(changes(kept, items))
    if lines:
        lines += ["If the changes are meant, tests/audit/abi.py --keep writes abi.txt again; CHANGELOG.md names them."]
    for argument in options.libraries:
        lines += library_problems(*argument.split("=", 1), items, options.nm, options.objdump)
    if lines:
        print("\n".join(lines))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
