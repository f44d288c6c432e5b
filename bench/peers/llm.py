#!/usr/bin/env python3
"""fovea_llm beside llama.cpp, interleaved: llm.py --build build/release --llama-bench PATH --out run.json

Both read the same GGUF files, of 100 million random weights, which examples/llm/make_gguf.py makes. In each round every
program runs alone on the machine, in a rotating order, for each type of weights and number of threads. Loading is not
measured, and each program computes once before it measures. llm_report.py makes the table.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import measure
from measurements import Value

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "examples" / "llm"))
import make_gguf  # noqa: E402 (of examples)

TYPES, SIZE = ("f16", "q8_0", "q4_0"), "100m"
PROMPT, STEPS = 512, 64
PREFILL, DECODE, DEEP = f"prefill/{PROMPT}", f"decode/{STEPS}", f"decode/{STEPS}_after{PROMPT}"
EXACT, INT8, LLAMA = ("fovea", "exact"), ("fovea", "int8"), ("llama.cpp", "bench")


def output_of(words, variables, errors=None):
    return subprocess.run([str(word) for word in words], env=variables, stdout=subprocess.PIPE, stderr=errors,
                          text=True, check=True).stdout


class Fovea:
    """fovea_llm, with a chunk and a cache as llama-bench has by default: 512 tokens, f16."""

    def __init__(self, arguments, variables):
        self.program, self.variables = arguments.build / "fovea_llm", variables
        self.version = output_of([arguments.build / "fovea", "--version"], variables).split()[1]

    def speeds(self, way, file, threads):
        """Tokens a second by test. The first of the tokens that are written comes with the prompt's last chunk, unless
        the prompt is one token."""
        def bench(prompt, steps):
            told = output_of([self.program, file, "--bench", prompt, "--steps", steps, "--chunk", PROMPT, "--cache",
                              "f16", "--threads", threads] + ["--int8"] * (way == "int8"), self.variables)
            return {name: float(speed) for name, speed in re.findall(r"^(.*?) +\d+ tokens, (.*) a second$", told, re.M)}

        deep = bench(PROMPT, STEPS + 1)
        return {PREFILL: deep["with prompts"], DECODE: bench(1, STEPS)["decoding"], DEEP: deep["decoding"]}


class LlamaCpp:
    """llama-bench, with its own defaults."""

    def __init__(self, arguments, variables):
        self.program, self.variables = arguments.llama_bench, variables
        told = output_of([self.program, "--version"], variables, subprocess.STDOUT)
        self.version = arguments.llama_version or re.sub(r"^version: ", "", told.split("\n")[0])

    def speeds(self, _, file, threads):
        def bench(prompt, steps, depth):
            told = output_of([self.program, "-m", file, "-t", threads, "-p", prompt, "-n", steps, "-d", depth, "-r", 1,
                              "-o", "json"], self.variables)
            return {entry["n_prompt"] > 0: entry["avg_ts"] for entry in json.loads(told)}

        first = bench(PROMPT, STEPS, 0)
        return {PREFILL: first[True], DECODE: first[False], DEEP: bench(0, STEPS, PROMPT)[False]}


class Contest:
    """A file and a number of threads."""

    def __init__(self, kind, file, threads, programs):
        self.kind, self.file, self.threads, self.programs = kind, file, threads, programs
        self.ways = [EXACT, LLAMA] if kind[0] == "f" else [EXACT, INT8, LLAMA]  # int8 mode is for codes
        self.speeds = {way: [] for way in self.ways}

    def run_round(self, number):
        at = number % len(self.ways)
        for program, way in self.ways[at:] + self.ways[:at]:
            speeds = self.programs[program].speeds(way, self.file, self.threads)
            self.speeds[program, way].append(speeds)

    def results(self):
        """[median, spread, rounds] of tokens a second, and of how many times as long a way takes as exact mode, and as
        int8 mode, in the same round."""
        for name in (PREFILL, DECODE, DEEP):
            found = {way: [speeds[name] for speeds in self.speeds[way]] for way in self.ways}
            entries = {}
            for way, speeds in found.items():
                entry = entries["/".join(way)] = {"tokens_per_second": measure.short(Value.of(speeds))}
                for ratio, ours in (("ratio", EXACT), ("ratio_to_mode", INT8)):
                    if ours in found:
                        entry[ratio] = measure.short(Value.of([our / own for our, own in zip(found[ours], speeds)]))
            yield {"name": name, "type": self.kind, "threads": self.threads, "entries": entries}


def run(arguments, programs, folder):
    """Writes the file after each round."""
    wanted = [(kind, threads) for kind in arguments.types for threads in arguments.threads]
    progress = measure.Progress(len(arguments.types) + len(wanted) * arguments.rounds)
    files = {}
    for kind in arguments.types:
        progress.step(f"making a model of {kind}")
        files[kind] = pathlib.Path(folder) / f"{kind}.gguf"
        make_gguf.make(files[kind], SIZE, kind)
    contests = [Contest(kind, files[kind], threads, programs) for kind, threads in wanted]
    others = measure.Others({"programs": measure.Children})
    for number in range(arguments.rounds):
        for contest in contests:
            progress.step(f"{contest.kind}, {contest.threads} threads")
            contest.run_round(number)
        measure.save(arguments, programs, [result for contest in contests for result in contest.results()], others)
    progress.clear()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llama-bench", type=pathlib.Path, required=True, help="the program of that name")
    parser.add_argument("--llama-version", help="in the place of what `llama-bench --version` says")
    parser.add_argument("--types", nargs="+", default=TYPES, choices=make_gguf.TYPES, help="of weights")
    measure.add_options(parser, rounds=7)
    parser.set_defaults(slice=None, cpu_time=False)  # runs are whole
    arguments = parser.parse_args()
    arguments.library = arguments.build / "libfovea.so"
    variables = measure.environment(arguments)
    with tempfile.TemporaryDirectory() as folder:
        run(arguments, {"fovea": Fovea(arguments, variables), "llama.cpp": LlamaCpp(arguments, variables)}, folder)


if __name__ == "__main__":
    main()
