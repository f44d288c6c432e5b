#!/usr/bin/env python3
"""What share of the FMA throughput of ARM's cores the inner loops of arch/neon reach, by llvm-mca.

A substitute for the machines. Each file is compiled for AArch64, the loop with the most multiply-adds of each register
tile is taken from the assembly, and llvm-mca runs it on its models. The models know latencies, ports and the
out-of-order window, but no caches. docs/arm-estimates.md says what each model is worth. A share of 1 is a loop of
nothing but FMLA on the same model; of int8, of nothing but the instruction that it uses.

    mca.py                     loops of whole tiles and of narrower ones; ends with status 1 if a loop with a bar
                               (multiply-adds, two vectors of rows and more, on the Neoverse cores) stays under
                               it, 0.9, or of int8 0.85, or keeps registers on the stack, which costs more than
                               llvm-mca knows
    mca.py --keep              the same, and writes the tables in docs/arm-estimates.md
    mca.py --show score_main_4 prints a loop
    mca.py --cc 'clang-16 --target=aarch64-linux-gnu'

Needs a compiler for AArch64 (gcc-aarch64-linux-gnu) and llvm-mca (llvm-19, which has models of the cores).
"""

import argparse
import dataclasses
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import registry

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/arm-estimates.md"
FLAGS = ("-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fPIC", "-S", "-o", "-")
BAR, BYTES_BAR = 0.9, 0.85
ITERATIONS = 500
WIDTHS = (4, 2, 1)  # vectors of rows in a register tile
DIMS = (64, 128)


@dataclasses.dataclass(frozen=True)
class Core:
    name: str
    model: str  # its name in llvm-mca
    barred: bool = False
    has: tuple = ()  # pairs that it multiplies, and instructions that multiply bytes


CORES = (
    Core("Neoverse N1", "neoverse-n1", barred=True, has=("sdot", "udot")),
    Core("Neoverse N2", "neoverse-n2", barred=True, has=("bf16", "f16", "sdot", "udot", "smmla", "usmmla")),
    Core("Neoverse V2", "neoverse-v2", barred=True, has=("bf16", "f16", "sdot", "udot", "smmla", "usmmla")),
    Core("Cortex-A72", "cortex-a72"),
    Core("Cortex-A76", "neoverse-n1"),  # the same design; LLVM's model of its own name is the Cortex-A57's
    Core("Cortex-A55", "cortex-a55"),
    Core("Apple A14", "apple-a14", has=("f16",)),
)


@dataclasses.dataclass(frozen=True)
class Loop:
    name: str
    path: str
    function: str  # {} stands for the number of vectors
    pairs: str = ""
    barred: bool = False


def source(of, group=""):
    return f"arch/{of}/{group}_{of}.c" if group else f"arch/{of}/{of}.c"


# The last line of its kind is for every core: NEON's.
SET, BF16_SET, F16_SET = (registry.sets("AARCH64", pairs)[-1] for pairs in ("F32", "BF16", "F16"))
SCORE = Loop("score", source(SET), "score_main_{}", barred=True)
VALUE = Loop("value", source(SET), "value_main_{}", barred=True)
SCORE_BF16 = Loop("score, pairs of bf16", source(BF16_SET), "score_main_{}", pairs="bf16", barred=True)
SCORE_F16 = Loop("score, pairs of f16", source(F16_SET), "score_main_{}", pairs="f16", barred=True)
# bf16 mode: scores and values have the same loop, of two vectors of rows at most.
MODE = tuple(Loop(f"bf16 mode, {instruction}", source(of, "bf16"), "bf16_many{}_scores", pairs=pairs, barred=True)
             for instruction, pairs, of in (("FMLA", "", SET), ("BFMLAL", "bf16", BF16_SET)))
MODE_WIDTHS = WIDTHS[1:]
DECODE = tuple(Loop(f"decode: {what}, {type_name}", source(SET, "decode"), f"decode_{function}_{type_name}_4")
               for what, function in (("scores of panels", "panels"), ("values", "value"))
               for type_name in ("f32", "f16", "bf16"))
# int8: whole tiles and single vectors; `pairs` is the instruction, by the last feature that the table needs.
PRODUCTS = {"NEON_DOT": ("sdot", "udot"), "NEON_I8MM": ("smmla", "usmmla")}
BYTES = tuple(Loop(f"int8: {what}, {instruction.upper()}, {width}", source(table, "int8"), f"sums_{kind}_{tile}",
                   pairs=instruction, barred=tile == "many")
              for table, needs in reversed(registry.tables(SET)) if needs
              for what, kind, instruction in zip(("scores", "values"), ("score", "value"), PRODUCTS[needs[-1]])
              for width, tile in (("4 vectors", "many"), ("1 vector", "single")))
# Layers: tiles of the most rows. By FMLA bf16 mode has no bar: it makes f32 of weights beside every 16 FMLA.
LAYERS = (Loop("layers, 6 rows", f"arch/{SET}/nn/{SET}_nn.c", "many_6", barred=True),
          Loop("layers: bf16 mode, FMLA, 4 rows", f"arch/{SET}/nn/{SET}_nn.c", "bf16_mode_many"),
          Loop("layers: bf16 mode, BFMLAL, 4 rows", f"arch/{BF16_SET}/nn/layers_{BF16_SET}.c", "bf16_mode_many",
               pairs="bf16", barred=True))
LAYER_ROWS = {"NEON_DOT": 6, "NEON_I8MM": 4}
BYTES_LAYERS = tuple(Loop(f"int8: layers, {PRODUCTS[needs[-1]][0].upper()}, {LAYER_ROWS[needs[-1]]} rows",
                          f"arch/{table}/nn/products_{table}.c", f"int8_rows_{LAYER_ROWS[needs[-1]]}",
                          pairs=PRODUCTS[needs[-1]][0], barred=True)
                     for table, needs in reversed(registry.tables(SET)) if needs)
SOFTMAX = Loop("softmax", source(SET), f"fovea_softmax_{SET}")
SOFTMAX_FMLA = 6  # for one vector of weights

FUNCTION = re.compile(r"^([A-Za-z_]\w*)(?:\.\w+)*:")
LABEL = re.compile(r"^([.\w$]+):")
BRANCH = re.compile(r"^\s+(?:b\.?\w*|cbn?z|tbn?z)\s.*?([.\w$]+)\s*(?://.*)?$")
MULTIPLY_ADD = re.compile(r"^\s+(?:fmla|fmls|fmlal2?|bfmlal[bt]|[su]dot|u?smmla)\s")
LOAD = re.compile(r"^\s+(ldr|ldur|ldp)\s+q")
SPILL = re.compile(r"^\s+(?:ldr|ldp|str|stp)\s+[qds]\d.*\[sp\b")


def assembly_of(path, compiler):
    command = [*shlex.split(compiler), *FLAGS, f"-I{ROOT / 'include'}", f"-I{ROOT}", str(ROOT / path)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def function_of(lines, name):
    """The lines of a function, or None; compilers add suffixes to the names of static ones."""
    body = None
    for line in lines:
        match = FUNCTION.match(line)
        if match:
            if body:
                break
            body = [] if match.group(1) == name else None
        if body is not None:
            body.append(line)
    return body


def innermost_loops(lines):
    """Bodies from the target of a backward branch to the branch, without other loops within. A loop within that
    multiplies nothing, such as one that prefetches rows, is kept and counts once."""
    places = {match.group(1): i for i, line in enumerate(lines) if (match := LABEL.match(line))}
    loops = []
    for end, line in enumerate(lines):
        match = BRANCH.match(line)
        if match and places.get(match.group(1), end) < end:
            loops.append((places[match.group(1)], end))
    inner = [a for a in loops if not any(b != a and a[0] <= b[0] and b[1] <= a[1] and
                                         multiply_adds(lines[b[0]:b[1]]) for b in loops)]
    return [[text for text in lines[begin:end + 1] if re.match(r"^\s+[a-z]", text)] for begin, end in inner]


def multiply_adds(loop):
    return sum(bool(MULTIPLY_ADD.match(line)) for line in loop)


def vector_loads(loop):
    """Registers of 128 bits that are loaded."""
    return sum(2 if match.group(1) == "ldp" else 1 for line in loop if (match := LOAD.match(line)))


def simulate(mca, core, loop):
    """Cycles of one pass of the loop, by llvm-mca."""
    command = [mca, "-mtriple=aarch64", f"-mcpu={core.model}", "-mattr=+bf16,+fp16fml,+dotprod,+i8mm", f"-iterations={ITERATIONS}",
               "-json"]
    text = subprocess.run(command, input="\n".join(loop), check=True, capture_output=True, text=True).stdout
    return json.loads(text[text.index("{"):])["CodeRegions"][0]["SummaryView"]["TotalCycles"] / ITERATIONS


class Machine:
    """A core, and its cycles for an FMLA that waits for nothing."""

    def __init__(self, mca, core):
        self.mca, self.core = mca, core
        self.counted = core.model == "cortex-a55"
        chains = [f"\tfmla v{i}.4s, v30.4s, v31.s[0]" for i in range(24)]
        self.fmla = 1.0 if self.counted else simulate(mca, core, chains) / len(chains)

    def dot(self, instruction):
        """Cycles for an instruction that multiplies bytes and waits for nothing."""
        chains = [f"\t{instruction} v{i}.4s, v30.16b, v31.16b" for i in range(24)]
        return simulate(self.mca, self.core, chains) / len(chains)

    def cycles(self, loop):
        """The A55's FMLA of four lanes takes both halves of its FPU, and LDR of 128 bits takes two cycles in which
        nothing else starts. LLVM's model has neither, so loops of mostly these are counted instead."""
        if self.counted and 2 * multiply_adds(loop) > len(loop):
            return multiply_adds(loop) + 2 * vector_loads(loop)
        return simulate(self.mca, self.core, loop)

    def share(self, loop):
        return multiply_adds(loop) * self.fmla / self.cycles(loop)

    def dot_share(self, instruction, loop):
        return multiply_adds(loop) * self.dot(instruction) / self.cycles(loop)


class Loops:
    def __init__(self, compiler):
        self.compiler, self.assembly = compiler, {}

    def get(self, loop, width=4):
        if loop.path not in self.assembly:
            self.assembly[loop.path] = assembly_of(loop.path, self.compiler)
        name = loop.function.format(width)
        body = function_of(self.assembly[loop.path], name)
        if not body:
            sys.exit(f"mca.py: no {name} in {loop.path}: does {self.compiler} know its instructions?")
        return max(innermost_loops(body), key=multiply_adds)


def attention_share(machine, loops, dim):
    """Share of the three loops together, for one key and one vector of rows."""
    score, value, softmax = loops.get(SCORE), loops.get(VALUE), loops.get(SOFTMAX)
    products = dim * (machine.cycles(score) / multiply_adds(score) + machine.cycles(value) / multiply_adds(value))
    weights = machine.cycles(softmax) * SOFTMAX_FMLA / multiply_adds(softmax)
    return 2 * dim * machine.fmla / (products + weights)


def row_of(name, loop, body, machines, share_of, bar, missed):
    """A row of the table, with share_of(machine) for the cores that have the instructions. What is wrong with a loop that
    has a bar is added to `missed`."""
    row, spills = [name], sum(bool(SPILL.match(line)) for line in body)
    for machine in machines:
        if loop.pairs and loop.pairs not in machine.core.has:
            row.append("")
            continue
        share = share_of(machine)
        row.append(f"{share:.2f}")
        if loop.barred and machine.core.barred and share < bar:
            missed.append(f"MISSED {bar}: {name}, {machine.core.name}: {share:.3f}")
    if loop.barred and spills:
        missed.append(f"MISSED: {name}: {spills} instructions load registers from the stack or store them there")
    return row


def table(head, rows):
    lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] + ["--:"] * (len(head) - 1), *rows)]
    return "\n".join(lines)


def tables(machines, loops):
    """(Markdown, lines on loops under the bar)."""
    missed, rows = [], []
    for loop in (SCORE, VALUE, SCORE_BF16, SCORE_F16, *MODE):
        for width in MODE_WIDTHS if loop in MODE else WIDTHS:
            name, body = f"{loop.name}, {width} vector{'s' if width > 1 else ''}", loops.get(loop, width)
            rows.append(row_of(name, loop, body, machines, lambda machine, body=body: machine.share(body),
                               BAR if width > 1 else 0, missed))
    for loop in LAYERS:
        body = loops.get(loop)
        rows.append(row_of(loop.name, loop, body, machines, lambda machine, body=body: machine.share(body), BAR, missed))
    for loop in (*BYTES, *BYTES_LAYERS):
        body = loops.get(loop)
        rows.append(row_of(loop.name, loop, body, machines,
                           lambda machine, loop=loop, body=body: machine.dot_share(loop.pairs, body), BYTES_BAR, missed))
    for loop in DECODE:
        rows.append([loop.name, *(f"{machine.share(loops.get(loop)):.2f}" for machine in machines)])
    softmax = loops.get(SOFTMAX)
    vectors = multiply_adds(softmax) / SOFTMAX_FMLA
    rows.append(["softmax", *(f"{machine.share(softmax):.2f}" for machine in machines)])
    for dim in DIMS:
        rows.append([f"all three, D {dim}", *(f"{attention_share(machine, loops, dim):.2f}" for machine in machines)])
    cycles = [["FMLA in a cycle", *(f"{1 / machine.fmla:.1f}" for machine in machines)],
              ["cycles for a vector of weights", *(f"{machine.cycles(softmax) / vectors:.1f}" for machine in machines)]]
    head = ["", *(machine.core.name for machine in machines)]
    return table(head, rows) + "\n\n" + table(head, cycles), missed


def keep(text):
    page = PAGE.read_text(encoding="utf-8")
    begin, end = "<!-- mca: begin, written by bench/mca.py --keep -->", "<!-- mca: end -->"
    before, after = page[:page.index(begin) + len(begin)], page[page.index(end):]
    PAGE.write_text(f"{before}\n\n{text}\n\n{after}", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cc", default="aarch64-linux-gnu-gcc")
    parser.add_argument("--mca", default="llvm-mca-19")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--show", metavar="FUNCTION")
    arguments = parser.parse_args()
    for tool in (shlex.split(arguments.cc)[0], arguments.mca):
        if not shutil.which(tool):
            sys.exit(f"mca.py: {tool} is missing (gcc-aarch64-linux-gnu, llvm-19)")
    loops = Loops(arguments.cc)
    if arguments.show:
        for loop in (SCORE, VALUE, SCORE_BF16, SCORE_F16, *MODE, SOFTMAX, *LAYERS, *BYTES, *BYTES_LAYERS, *DECODE):
            for width in MODE_WIDTHS if loop in MODE else WIDTHS:
                if loop.function.format(width) == arguments.show:
                    print(f"{loop.path}:", *loops.get(loop, width), sep="\n")
        return
    text, missed = tables([Machine(arguments.mca, core) for core in CORES], loops)
    print(text)
    if arguments.keep:
        keep(text)
    for line in missed:
        print(line)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
