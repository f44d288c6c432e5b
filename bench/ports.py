#!/usr/bin/env python3
"""What a CPU's ports allow for GELU and SiLU: cycles for a vector of numbers, by llvm-mca.

    ports.py                    for the CPUs below
    ports.py --isa avx2 --cpu znver4

The functions of arch/shared/nn/functions.h are compiled for an instruction set, one loop each that takes one vector in
a turn, and llvm-mca counts how long a turn keeps the busiest port. It also runs the loop, with the window of its model:
what is longer is time that chains of operations wait. The library takes four vectors together, which waits less. LLVM 19
has no model of Zen 5; it is taken as Zen 4 with ports of twice the width, so loops of AVX-512 run as if their vectors
were of 256 bits. bench/bars.py compares fovea_bench's `cycles_per_vector`.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLAGS = ("-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-S")
# (instruction set, model, whether its vectors count as 256 bits, what it stands for)
CPUS = (("avx512", "znver4", True, "Zen 5"), ("avx512", "sapphirerapids", False, "Sapphire Rapids"),
        ("avx2", "znver4", False, "Zen 4"))
FUNCTIONS = {"gelu": "vec_gelu", "gelu_tanh": "vec_gelu_tanh", "silu": "vec_silu"}
ITERATIONS = 200
LOOP = """
FOVEA_KERNEL void loop_{name}(const float *x, float *y, long n) {{
  FOVEA_NO_UNROLL
  for (long i = 0; i < n; i += LANES) {{
    vec a = vec_load(x + i);
    {function}(&a, 1);
    vec_store(y + i, result_of(a));
  }}
}}
"""


def source(isa):
    loops = "".join(LOOP.format(name=name, function=function) for name, function in FUNCTIONS.items())
    return f'#include "arch/{isa}/nn/{isa}_nn.c"\n{loops}'


def assembly(isa, compiler):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "loops.c")
        file.write_text(source(isa), encoding="utf-8")
        command = [compiler, *FLAGS, f"-I{ROOT}", f"-I{ROOT / 'include'}", "-o", "-", str(file)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def loop_of(text, name):
    """The instructions from the target of the last backward branch to the branch."""
    body = re.search(rf"^loop_{name}:(.*?)^\s*\.size\s+loop_{name},", text, re.DOTALL | re.MULTILINE).group(1)
    lines = body.split("\n")
    places = {line[:-1]: i for i, line in enumerate(lines) if line.endswith(":")}
    begin, end = 0, 0
    for i, line in enumerate(lines):
        match = re.match(r"\s+j\w+\s+(\S+)", line)
        if match and places.get(match.group(1), i) < i:
            begin, end = places[match.group(1)], i
    return [line for line in lines[begin:end + 1] if re.match(r"\s+[a-z]", line)]


def cycles(loop, model):
    """(of the busiest port, of the whole model) for one turn."""
    command = ["llvm-mca-19", "-mtriple=x86_64", f"-mcpu={model}", f"-iterations={ITERATIONS}"]
    text = subprocess.run(command, input="\n".join(loop), check=True, capture_output=True, text=True).stdout
    found = {key: float(re.search(rf"^{key}:\s*([\d.]+)", text, re.MULTILINE).group(1))
             for key in ("Block RThroughput", "Total Cycles")}
    return found["Block RThroughput"], found["Total Cycles"] / ITERATIONS


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--isa", help="one of arch/, with --cpu")
    parser.add_argument("--cpu", help="a model of llvm-mca")
    parser.add_argument("--cc", default="gcc")
    arguments = parser.parse_args()
    if bool(arguments.isa) != bool(arguments.cpu):
        sys.exit("ports.py: --isa and --cpu belong together")
    cpus = [(arguments.isa, arguments.cpu, False, arguments.cpu)] if arguments.isa else CPUS
    for isa, model, narrow, title in cpus:
        text = assembly(isa, arguments.cc)
        for name in FUNCTIONS:
            loop = loop_of(text, name)
            ports, whole = cycles([line.replace("zmm", "ymm") if narrow else line for line in loop], model)
            print(f"{title:16} {isa:7} {name:10} {len(loop):3} instructions, ports {ports:5.1f} cycles, "
                  f"with waiting {whole:5.1f}")


if __name__ == "__main__":
    main()
