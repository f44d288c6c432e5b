#!/usr/bin/env python3
"""How much of the FMA ports of ARM's cores the inner loops of arch/neon use, by llvm-mca.

For want of the machines: each of the files is compiled for AArch64, the loops of the full tile are found in the
assembly by their number of FMLA, and llvm-mca runs them on its models of Neoverse N1 and V2. The models know
latencies, ports and the out-of-order window, no caches. Ends with status 1 when one of these loops stays under the
bar, 0.9.

    mca.py                     with aarch64-linux-gnu-gcc
    mca.py --cc 'clang --target=aarch64-linux-gnu -isystem /usr/aarch64-linux-gnu/include'
    mca.py --all               also the loops of narrower tiles and of remainders
    mca.py --show              also prints the loops

Needs a compiler for AArch64 (gcc-aarch64-linux-gnu) and llvm-mca (llvm-19, which knows both cores).
"""

import argparse
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TILES = "arch/neon/tiles.h"
# What tiles.h calls the width of the register tile, and how many steps of its chains the loop takes at once.
FILES = {"arch/neon/score.c": ("FOVEA_SCORE_KEYS_{}", 4), "arch/neon/value.c": ("FOVEA_VALUE_DIMS_{}", 1)}
CORES = {"neoverse-n1": "N1UnitV", "neoverse-v2": "V2UnitV"}  # and the names of the units that do FMLA
FLAGS = ("-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fPIC", "-S", "-o", "-")
BAR = 0.9
ITERATIONS = 500

LABEL = re.compile(r"^([.\w$]+):")
BRANCH = re.compile(r"^\s+(?:b\.?\w*|cbn?z|tbn?z)\s.*?([.\w$]+)\s*(?://.*)?$")
FMLA = re.compile(r"^\s+fmla\s")
STORE = re.compile(r"^\s+st\w+\s.*\[(?!sp\b)") # other than a register saved on the stack


def assembly_of(path, compiler):
    command = [*shlex.split(compiler), *FLAGS, f"-I{ROOT / 'include'}", f"-I{ROOT}", str(ROOT / path)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def innermost_loops(lines):
    """Bodies from the target of a backward branch to the branch, without others within."""
    places = {match.group(1): i for i, line in enumerate(lines) if (match := LABEL.match(line))}
    loops = []
    for end, line in enumerate(lines):
        match = BRANCH.match(line)
        if match and places.get(match.group(1), end) < end:
            loops.append((places[match.group(1)], end))
    inner = [a for a in loops if not any(b != a and a[0] <= b[0] and b[1] <= a[1] for b in loops)]
    return [[text for text in lines[begin:end + 1] if is_instruction(text)] for begin, end in inner]


def is_instruction(line):
    return bool(re.match(r"^\s+[a-z]", line))


def fmla_count(loop):
    return sum(bool(FMLA.match(line)) for line in loop)


def defined(name):
    return int(re.search(rf"#define {name}\s+(\d+)", (ROOT / TILES).read_text(encoding="utf-8")).group(1))


def is_chain(loop):
    """Chains of FMLA in registers, not what is done with their ends."""
    return fmla_count(loop) >= 4 and not any(STORE.match(line) for line in loop)


def full_tile_fmla(path):
    """FMLA in one turn of the loop that works on whole tiles."""
    width, steps = FILES[path]
    vectors = defined("FOVEA_TILE_VECTORS")
    return vectors * defined(width.format(vectors)) * steps


def simulate(mca, core, loop):
    command = [mca, "-mtriple=aarch64", f"-mcpu={core}", f"-iterations={ITERATIONS}", "-json"]
    text = subprocess.run(command, input="\n".join(loop), check=True, capture_output=True, text=True).stdout
    return json.loads(text[text.index("{"):])


def port_use(report, units):
    """(cycles an iteration, number of FMA ports)."""
    cycles = report["CodeRegions"][0]["SummaryView"]["TotalCycles"] / ITERATIONS
    ports = [name for name in report["TargetInfo"]["Resources"] if name.startswith(units)]
    return cycles, len(ports)


def report(arguments, path, loop, full):
    """Prints what each core makes of a loop; returns how many stay under the bar, where it has one."""
    missed = 0
    if arguments.show:
        print("\n".join(loop))
    for core, units in CORES.items():
        cycles, ports = port_use(simulate(arguments.mca, core, loop), units)
        share = fmla_count(loop) / (ports * cycles)
        verdict = ("met" if share >= BAR else "MISSED") if full else ""
        missed += verdict == "MISSED"
        print(f"{verdict:6} {path:20} {core:12} {fmla_count(loop):4} FMLA of {len(loop):4} instructions in "
              f"{cycles:6.1f} cycles on {ports} ports: {share:.3f}")
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cc", default="aarch64-linux-gnu-gcc")
    parser.add_argument("--mca", default="llvm-mca-19")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--show", action="store_true")
    arguments = parser.parse_args()
    for tool in (shlex.split(arguments.cc)[0], arguments.mca):
        if not shutil.which(tool):
            sys.exit(f"mca.py: {tool} is missing (gcc-aarch64-linux-gnu, llvm-19)")
    missed = 0
    for path in FILES:
        loops = [loop for loop in innermost_loops(assembly_of(path, arguments.cc)) if is_chain(loop)]
        full = full_tile_fmla(path)
        if all(fmla_count(loop) != full for loop in loops):
            sys.exit(f"mca.py: {path} has no loop of {full} FMLA; the compiler did not unroll it")
        for loop in loops:
            if fmla_count(loop) != full and not arguments.all:
                continue
            missed += report(arguments, path, loop, fmla_count(loop) == full)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
