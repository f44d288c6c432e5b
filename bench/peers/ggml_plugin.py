#!/usr/bin/env python3
"""llama.cpp with the plugin for ggml and without, interleaved:

    ggml_plugin.py --build build/release --llama-bench PATH --plugin build/ggml/libggml-fovea.so --out run.json

One llama-bench, whose ggml loads backends, runs a GGUF file of 100 million random weights, which examples/llm/make_gguf.py
makes. In each round every way runs alone on the machine, in a rotating order, for each type of the cache and number of
threads: ggml with and without its flash attention, the plugin as a device, and in ggml's threads. ggml has no attention
over quantised values without flash attention. Loading is not measured.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import llm
import measure
from measurements import Value

# The first is the plugin in ggml's threads, which the others are compared with.
WAYS = {"threads": ("on", {"FOVEA_GGML": "threads"}), "device": ("on", {"FOVEA_GGML": "device"}),
        "int8": ("on", {"FOVEA_GGML": "threads", "FOVEA_GGML_MODE": "int8"}), "ggml": ("on", None),
        "ggml_without_flash_attention": ("off", None)}
STEPS = 32


class LlamaCpp:
    """llama-bench, in each way."""

    def __init__(self, arguments, variables):
        self.arguments, self.variables = arguments, variables
        self.version = arguments.llama_version or llm.output_of([arguments.llama_bench, "--version"], variables,
                                                                subprocess.STDOUT).split("\n", 1)[0].removeprefix("version: ")

    def speed(self, way, file, cache, threads, prompt, steps, depth):
        """Tokens a second."""
        flash, plugin = WAYS[way]
        variables = self.variables
        if plugin is not None:
            variables = variables | plugin | {"GGML_BACKEND_PATH": str(self.arguments.plugin.resolve())}
        told = llm.output_of([self.arguments.llama_bench, "-m", file, "-t", threads, "-p", prompt, "-n", steps, "-d", depth,
                              "-fa", flash, "-ctk", cache, "-ctv", cache, "-r", 1, "-o", "json"], variables, subprocess.DEVNULL)
        entry, = json.loads(told)
        return entry["avg_ts"]


class Contest:
    """A type of the cache, a number of threads, and a test: (prompt, steps, depth)."""

    def __init__(self, cache, threads, test):
        self.cache, self.threads, self.test = cache, threads, test
        self.ways = [way for way in WAYS if cache == "f16" and way != "int8" or cache != "f16" and way in
                     ("threads", "device", "int8", "ggml")]
        self.speeds = {way: [] for way in self.ways}

    @property
    def name(self):
        prompt, steps, depth = self.test
        return f"decode/{steps}_after{depth}" if steps else f"prefill/{prompt}"

    def run_round(self, number, program, file):
        at = number % len(self.ways)
        for way in self.ways[at:] + self.ways[:at]:
            self.speeds[way].append(program.speed(way, file, self.cache, self.threads, *self.test))

    def result(self):
        """[median, spread, rounds] of tokens a second, and of how many times as long a way takes as the first one in the
        same round."""
        first = self.speeds[self.ways[0]]
        entries = {way: {"tokens_per_second": measure.short(Value.of(speeds)),
                         "ratio": measure.short(Value.of([our / own for our, own in zip(first, speeds)]))}
                   for way, speeds in self.speeds.items()}
        return {"name": self.name, "type": self.cache, "threads": self.threads, "entries": entries}


def run(arguments, program, folder):
    """Writes the file after each round."""
    tests = [(length, 0, 0) for length in arguments.lengths] + [(0, STEPS, length) for length in arguments.lengths]
    contests = [Contest(cache, threads, test) for test in tests for cache in arguments.caches
                for threads in arguments.threads]
    progress = measure.Progress(1 + arguments.rounds * len(contests))
    progress.step("making a model")
    file = pathlib.Path(folder) / "model.gguf"
    llm.make_gguf.make(file, llm.SIZE, arguments.weights)
    others = measure.Others({"programs": measure.Children})
    for number in range(arguments.rounds):
        for contest in contests:
            progress.step(f"{contest.name}, {contest.cache}, {contest.threads} threads")
            contest.run_round(number, program, file)
        measure.save(arguments, {"llama.cpp": program}, [contest.result() for contest in contests], others)
    progress.clear()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llama-bench", type=pathlib.Path, required=True, help="the program of that name")
    parser.add_argument("--llama-version", help="in the place of what `llama-bench --version` says")
    parser.add_argument("--plugin", type=pathlib.Path, required=True, help="libggml-fovea.so")
    parser.add_argument("--lengths", nargs="+", type=int, default=[64, 512, 4096, 16384], help="of prompts, and depths")
    parser.add_argument("--caches", nargs="+", default=["f16", "q8_0"], help="types of K and V")
    parser.add_argument("--weights", default="q8_0", choices=llm.make_gguf.TYPES, help="type of the model's weights")
    measure.add_options(parser, rounds=3)
    parser.set_defaults(slice=None, cpu_time=False)  # runs are whole
    arguments = parser.parse_args()
    arguments.library = arguments.build / "libfovea.so"
    program = LlamaCpp(arguments, measure.environment(arguments))
    with tempfile.TemporaryDirectory() as folder:
        run(arguments, program, folder)


if __name__ == "__main__":
    main()
