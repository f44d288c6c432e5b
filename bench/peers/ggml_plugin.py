#!/usr/bin/env python3
"""llama.cpp with the plugin for ggml and without, interleaved:

    ggml_plugin.py --llama-cpp build/llama.cpp --plugin build/ggml/libggml-fovea.so --out run.json
    ggml_plugin.py ... --prepare             makes what is not measured: the model, and caches of long texts

The build of llama.cpp is one whose libraries are shared. llama_speeds.c is compiled against it, and measures as
llama-bench does. The model has 100 million random weights (examples/llm/make_gguf.py). Every way runs alone on the
machine, in a rotating order, for each type of the cache and number of threads: ggml with and without its flash
attention, the plugin in ggml's threads, as a device, and in int8 mode. ggml has no attention over quantised values
without flash attention. The cache of a long text is read from a file before decoding, since ggml would compute it for
minutes. Loading a model is not measured; loading the plugin is. ggml_plugin_report.py makes the table.
"""

import argparse
import pathlib
import re
import subprocess

import llm
import measure
from measurements import Value

THREADS, DEVICE, INT8, OWN, WITHOUT = "threads", "device", "int8", "ggml", "ggml_without_flash_attention"
WAYS = {THREADS: (1, {"FOVEA_GGML": "threads"}), DEVICE: (1, {"FOVEA_GGML": "device"}),
        INT8: (1, {"FOVEA_GGML": "threads", "FOVEA_GGML_MODE": "int8"}), OWN: (1, None), WITHOUT: (0, None)}
WAYS_OF = {"f16": (THREADS, DEVICE, OWN, WITHOUT), "q8_0": (THREADS, DEVICE, INT8, OWN)}
TYPES = {"f16": 1, "q8_0": 8}  # of ggml
STEPS = 32
SHORT, LONG, HUGE, DEEP = "short", "long", "huge", "deep"
# Of prompts and of texts before; huge: only of prompts, deep: only of texts.
LENGTHS = {SHORT: (64, 512), LONG: (4096,), HUGE: (16384,), DEEP: (16384,)}


def tests_of(group):
    """By name, in the order in which one process runs them."""
    return [name for length in LENGTHS[group] for name in (f"prefill/{length}", f"decode/{STEPS}_after{length}")
            if name.split("/")[0] not in {HUGE: ("decode",), DEEP: ("prefill",)}.get(group, ())]


class LlamaCpp:
    """A build of llama.cpp, in each way."""

    def __init__(self, arguments, variables):
        self.folder, self.plugin = arguments.folder, arguments.plugin.resolve()
        self.variables = {name: value for name, value in variables.items() if not name.startswith("GGML_")}
        self.folder.mkdir(parents=True, exist_ok=True)
        self.program, self.model = self.folder / "llama_speeds", self.folder / f"model-{arguments.weights}.gguf"
        self.compile(arguments.llama_cpp.resolve())
        if not self.model.exists():
            llm.make_gguf.make(self.model, llm.SIZE, arguments.weights)
        _, told = self.load(THREADS)
        self.version = arguments.llama_version or f"with ggml {told}"

    def compile(self, build):
        settings = (build / "CMakeCache.txt").read_text(encoding="utf-8")
        source = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", settings, re.MULTILINE)[1]
        subprocess.run(["cc", "-std=c11", "-O2", "-D_POSIX_C_SOURCE=200809L", "-o", self.program,
                        pathlib.Path(__file__).with_name("llama_speeds.c"), f"-I{source}/include",
                        f"-I{source}/ggml/include", f"-L{build}/bin", f"-Wl,-rpath,{build}/bin", "-lllama", "-lggml",
                        "-lggml-cpu", "-lggml-base"], check=True)

    def run(self, way, words, errors=subprocess.DEVNULL, **more):
        """Its output; with `errors`, also what it logs."""
        plugin = WAYS[way][1]
        return subprocess.run([str(word) for word in (self.program, *words)], stdout=subprocess.PIPE, stderr=errors,
                              env=self.variables | (plugin or {}) | more, text=True, check=True)

    def load(self, way):
        """Milliseconds, and ggml's version."""
        done = self.run(way, ["load", self.plugin], subprocess.PIPE)
        milliseconds, version = done.stdout.split()
        self.fovea = re.search(r"attention by Fovea ([^,]*)", done.stderr)[1]
        return float(milliseconds), version

    def state(self, way, cache, length):
        """A cache without flash attention has its values transposed."""
        return self.folder / f"{cache}{'' if WAYS[way][0] else '-without'}-{length}.state"

    def speeds(self, way, cache, threads, length, tests):
        """Tokens a second by test. `length` is that of the longest text, and of the cache in the file."""
        more = {"GGML_BACKEND_PATH": str(self.plugin)} if WAYS[way][1] else {}
        done = self.run(way, [self.model, self.state(way, cache, length), TYPES[cache], threads, WAYS[way][0],
                              length + 2 * STEPS, *tests], **more)
        return {name: float(speed) for name, speed in re.findall(r"^(\S+) (\S+)$", done.stdout, re.MULTILINE)}

    def prepare(self, arguments):
        """Makes the caches that decoding begins with, by the fastest way."""
        for cache in arguments.caches:
            for way, length in ((way, length) for way in WAYS_OF[cache] for length in LENGTHS[DEEP]):
                if not self.state(way, cache, length).exists():
                    fast = INT8 if WAYS[way][0] else way
                    self.speeds(fast, cache, max(arguments.threads), length, [f"save/{length}"])


class Contest:
    """A type of the cache, a number of threads, and the tests of a group."""

    def __init__(self, cache, threads, group):
        self.cache, self.threads, self.group = cache, threads, group
        self.ways = list(WAYS_OF[cache])
        self.speeds = {way: [] for way in self.ways}

    def run_round(self, number, program):
        at = number % len(self.ways)
        for way in self.ways[at:] + self.ways[:at]:
            found = program.speeds(way, self.cache, self.threads, LENGTHS[self.group][-1], tests_of(self.group))
            self.speeds[way].append(found)

    def results(self):
        """[median, spread, rounds] of tokens a second, and of how many times as long a way takes as each way of the
        plugin in the same round."""
        for name in tests_of(self.group):
            found = {way: [speeds[name] for speeds in self.speeds[way]] for way in self.ways}
            entries = {}
            for way, speeds in found.items():
                entry = entries[way] = {"tokens_per_second": measure.short(Value.of(speeds))}
                for ours in (way for way in found if WAYS[way][1]):
                    ratios = [our / own for our, own in zip(found[ours], speeds)]
                    entry[f"ratio_to_{ours}"] = measure.short(Value.of(ratios))
            yield {"name": name, "type": self.cache, "threads": self.threads, "entries": entries}


def loading(milliseconds, threads):
    return {"name": "loading", "type": "", "threads": threads, "entries": {
        way: {"milliseconds": measure.short(Value.of(found))} for way, found in milliseconds.items()}}


def run(arguments, program):
    """Writes the file after each round."""
    rounds = {SHORT: arguments.rounds, LONG: arguments.long_rounds, HUGE: arguments.huge_rounds,
              DEEP: arguments.deep_rounds}
    contests = [Contest(cache, threads, group) for group in LENGTHS for cache in arguments.caches
                for threads in (arguments.huge_threads if group == HUGE else arguments.threads) if rounds[group]]
    progress = measure.Progress(sum(rounds[contest.group] for contest in contests))
    others, milliseconds = measure.Others({"programs": measure.Children}), {THREADS: [], DEVICE: []}
    for number in range(max(rounds.values())):
        for way, found in milliseconds.items():
            found.append(program.load(way)[0])
        for contest in (contest for contest in contests if number < rounds[contest.group]):
            progress.step(f"{contest.group}, {contest.cache}, {contest.threads} threads")
            contest.run_round(number, program)
        results = [result for contest in contests for result in contest.results()]
        versions = {"fovea": argparse.Namespace(version=program.fovea), "llama.cpp": program}
        measure.save(arguments, versions, [*results, loading(milliseconds, arguments.threads[0])], others)
    progress.clear()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llama-cpp", type=pathlib.Path, required=True, help="the build directory of llama.cpp")
    parser.add_argument("--llama-version", help="in the place of ggml's version")
    parser.add_argument("--plugin", type=pathlib.Path, required=True, help="libggml-fovea.so")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/ggml-speeds"),
                        help="where the program, the model and caches are kept")
    parser.add_argument("--prepare", action="store_true", help="measure nothing")
    parser.add_argument("--out", type=pathlib.Path, help="where the JSON goes")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--caches", nargs="+", default=list(TYPES), choices=TYPES, help="types of K and V")
    parser.add_argument("--weights", default="q8_0", choices=llm.make_gguf.TYPES, help="type of the model's weights")
    parser.add_argument("--rounds", type=int, default=5, help=f"of {LENGTHS[SHORT]} tokens")
    parser.add_argument("--long-rounds", type=int, default=1, help=f"of {LENGTHS[LONG]} tokens")
    parser.add_argument("--huge-rounds", type=int, default=1, help=f"of a prompt of {LENGTHS[HUGE]} tokens")
    parser.add_argument("--huge-threads", nargs="+", type=int, default=[2], help="of such prompts")
    parser.add_argument("--deep-rounds", type=int, default=2, help=f"of decoding after {LENGTHS[DEEP]} tokens")
    parser.set_defaults(slice=None, cpu_time=False)  # runs are whole
    arguments = parser.parse_args()
    if not arguments.prepare and not arguments.out:
        parser.error("--out is needed")
    arguments.library = arguments.plugin
    program = LlamaCpp(arguments, measure.environment(arguments))
    if arguments.prepare or arguments.deep_rounds:
        program.prepare(arguments)
    if not arguments.prepare:
        run(arguments, program)


if __name__ == "__main__":
    main()
