#!/usr/bin/env python3
"""No source that knows floating-point numbers compiles with -ffast-math, or with a part of it that the compiler tells
of; and each does if -fno-fast-math comes after it.

    fast_math.py CC...    the C compiler
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILER = sys.argv[1:]
TEXT = "Fovea needs IEEE float arithmetic"
FOLDERS = ("src/*", "arch/*", "arch/*/nn", "nn", "nn/*")
TOLD = ("__FAST_MATH__", "__ASSOCIATIVE_MATH__", "__RECIPROCAL_MATH__", "__NO_SIGNED_ZEROS__")


def preprocess(source, *options):
    command = [*COMPILER, "-std=c11", *options, f"-I{ROOT / 'include'}", f"-I{ROOT}", "-E", str(source)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def knows_floats(text):
    """Whether the project's own lines do; the public headers and the system's are left out."""
    own = False
    for line in text.split("\n"):
        marker = re.match(r'# \d+ "(.*?)"', line)
        if marker:
            path = pathlib.Path(os.path.normpath(marker[1]))
            own = path.is_relative_to(ROOT) and not path.is_relative_to(ROOT / "include")
        elif own and re.search(r"\b(float|double|_Float16|__m\d+|float\d+x\d+_t)\b", line):
            return True
    return False


def options_that_tell():
    """Of -ffast-math and its parts those that define a macro here: clang tells of fewer than gcc."""
    for option in ("-ffast-math", "-Ofast", "-ffinite-math-only", "-funsafe-math-optimizations", "-freciprocal-math",
                   "-fno-signed-zeros"):
        done = subprocess.run([*COMPILER, option, "-dM", "-E", "-xc", os.devnull], capture_output=True, text=True,
                              check=True)
        if any(name in done.stdout for name in TOLD) or "__FINITE_MATH_ONLY__ 1" in done.stdout:
            yield option


def faults(source):
    plain = preprocess(source, "-ffast-math", "-fno-fast-math")
    name = source.relative_to(ROOT)
    if plain.returncode:
        return [f"{name} is refused although -fno-fast-math comes last: {plain.stderr}"]
    if knows_floats(plain.stdout) and TEXT not in preprocess(source, "-ffast-math").stderr:
        return [f"{name} knows floating-point numbers, and does not include arch/strict_math.h"]
    return []


def main():
    sources = sorted(path for folder in FOLDERS for path in ROOT.glob(folder + "/*.c"))
    options = list(options_that_tell())
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        found = [fault for each in pool.map(faults, sources) for fault in each]
    header = ROOT / "arch/strict_math.h"
    found += [f"{option} is not refused" for option in options if TEXT not in preprocess(header, option).stderr]
    if len(sources) < 100 or not {"-ffast-math", "-ffinite-math-only"} <= set(options):
        found.append(f"{len(sources)} sources and {options} were tried: these are not the library's, or this is no compiler")
    if found:
        sys.exit("\n".join(found))


main()
