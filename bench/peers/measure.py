#!/usr/bin/env python3
"""Fovea and its peers, interleaved: measure.py --library libfovea.so --out run.json

Every library has a process of its own (worker.py). For each problem all of them prepare and are checked against
float64. Then, round by round and in a rotating order, each runs it for a slice of time, alone on the machine.
report.py makes the table and the plot.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import sys
import tempfile
import time

import numpy

import problems
from conversation import Worker

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from measurements import Value  # noqa: E402 (of bench)

PEERS = ("fovea", "torch", "onnxruntime", "openvino")
MEMORY = "/dev/shm"  # files of tensors, if there is room for them
INSTRUCTIONS = ("avx2", "avx512f", "avx_vnni", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_int8", "amx_bf16",
                "amx_fp16", "asimd", "bf16")
# Scores and outputs that a library allocates at each call lie in huge pages if possible, for all libraries.
ALLOCATION = "glibc.malloc.hugetlb=1"
# A way that takes this many times as long as Fovea is not measured again.
HOPELESS = 3.0


class Progress:
    """A bar on stderr, if that is a terminal."""

    WIDTH = 30

    def __init__(self, steps):
        self.steps, self.done, self.shown = steps, 0, sys.stderr.isatty()

    def step(self, text):
        self.done += 1
        filled = self.WIDTH * self.done // self.steps
        if self.shown:
            bar = "#" * filled + "-" * (self.WIDTH - filled)
            print(f"\r\033[K[{bar}] {self.done}/{self.steps} {text}"[:100], end="", file=sys.stderr, flush=True)

    def clear(self):
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


class Contest:
    """One problem: who takes part, by (peer, way), and the results for each number of threads."""

    OURS = ("fovea", "plan")
    MODE = ("fovea", "bf16_mode")

    def __init__(self, problem, workers, arguments):
        self.problem, self.workers, self.arguments = problem, workers, arguments
        self.entries = {threads: {} for threads in arguments.threads}  # (peer, way) -> {option, error, seconds}
        self.refused = {}  # "peer/way" -> reason

    def prepare(self, folder):
        tensors = problems.inputs(self.problem)
        files = [os.path.join(folder, f"{name}.npy") for name in "qkv"]
        for file, tensor in zip(files, tensors):
            numpy.save(file, tensor)
        for worker in self.workers.values():
            worker.send("take", name=self.problem.name, type=self.problem.type, files=files)
        expected = os.path.join(folder, "expected.npy")
        numpy.save(expected, problems.expected_rows(self.problem, *problems.by_index(self.problem, tensors)))
        del tensors
        for peer, worker in self.workers.items():
            worker.receive()
            for way in worker.ways:
                for threads in self.arguments.threads:
                    self.prepare_one(peer, way, threads, expected)

    def prepare_one(self, peer, way, threads, expected):
        reply = self.workers[peer].ask("prepare", way=way, threads=threads, slice=self.arguments.slice,
                                       expected=expected)
        if "refused" in reply:
            self.refused[f"{peer}/{way}"] = reply["refused"]
        else:
            self.entries[threads][peer, way] = reply | {"seconds": []}

    def run_round(self, number):
        for threads, entries in self.entries.items():
            names = list(entries)
            turned = names[number % len(names):] + names[:number % len(names)]
            for peer, way in turned:
                if not self.is_hopeless(threads, (peer, way)):
                    reply = self.workers[peer].ask("time", way=way, threads=threads, slice=self.arguments.slice)
                    entries[peer, way]["seconds"].append(reply["seconds"])
                    self.workers[peer].wait_until_idle()

    def is_hopeless(self, threads, name):
        seconds, ours = self.entries[threads][name]["seconds"], self.entries[threads][self.OURS]["seconds"]
        return any(theirs > HOPELESS * our for theirs, our in zip(seconds, ours))

    def results(self):
        """The results to keep: [median, spread, rounds] of the times, and of the rounds' ratios to Fovea's; where there
        is bf16 mode, of the ratios to it, too."""
        for threads, entries in self.entries.items():
            ours = entries[self.OURS]["seconds"]
            mode = entries[self.MODE]["seconds"] if self.MODE in entries else []
            kept = {}
            for (peer, way), entry in entries.items():
                seconds = entry["seconds"]
                kept[f"{peer}/{way}"] = {
                    "option": entry["option"], "error": float(f"{entry['error']:.2g}"),
                    "milliseconds": short(Value.of([1e3 * s for s in seconds])),
                    "ratio": short(Value.of([theirs / our for theirs, our in zip(seconds, ours)]))}
                if mode:
                    kept[f"{peer}/{way}"]["ratio_to_mode"] = short(Value.of([t / m for t, m in zip(seconds, mode)]))
            yield {"name": self.problem.name, "type": self.problem.type, "threads": threads,
                   "flops": self.problem.flops, "refused": self.refused, "entries": kept}


def short(value):
    return [float(f"{value.median:.4g}"), float(f"{value.spread:.2g}"), value.rounds]


class Others:
    """The share of the machine that other programs use: the CPUs' busy time without this process and its children."""

    def __init__(self, workers):
        self.workers, self.begin = workers, time.monotonic()
        self.busy, self.own = self.busy_seconds(), self.own_seconds()

    @staticmethod
    def busy_seconds():
        fields = pathlib.Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()[1:]
        user, nice, system, _, _, interrupts, soft_interrupts = (int(field) for field in fields[:7])
        return (user + nice + system + interrupts + soft_interrupts) / os.sysconf("SC_CLK_TCK")

    def own_seconds(self):
        return time.process_time() + sum(worker.cpu_seconds() for worker in self.workers.values())

    def share(self):
        busy, own = self.busy_seconds() - self.busy, self.own_seconds() - self.own
        return max(0.0, (busy - own) / (time.monotonic() - self.begin) / (os.cpu_count() or 1))


class Children:
    """CPU time of the programs that have ended."""

    @staticmethod
    def cpu_seconds():
        times = os.times()
        return times.children_user + times.children_system


def add_options(parser, rounds):
    """What every measurement takes."""
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the build directory of Fovea")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="where the JSON goes")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=rounds)


def arguments_of(parser, rounds, slice_seconds=0.02):
    """What a measurement of calls takes, beside the parser's own."""
    add_options(parser, rounds)
    parser.add_argument("--filter", default="", help="a regular expression that names must contain")
    parser.add_argument("--slice", type=float, default=slice_seconds,
                        help="seconds that each runs in a round, at least once")
    parser.add_argument("--cpu-time", action="store_true", help="one thread by its CPU time, on a busy machine")
    arguments = parser.parse_args()
    if arguments.cpu_time:
        arguments.threads = [1]
    arguments.library = arguments.build / "libfovea.so"
    return arguments


def environment(arguments):
    """The caller's environment without the variables of the libraries."""
    kept = {key: value for key, value in os.environ.items()
            if not re.match("OPENBLAS_|OMP_|GOMP_|KMP_|MKL_|ONEDNN_|DNNL_|ATEN_|ORT_|OV_|FOVEA_|PEERS_|GLIBC_", key)}
    # The next run finds the code that torch.compile generated.
    cache = pathlib.Path(sys.prefix) / "generated"
    kept |= {"FOVEA_LIBRARY": str(arguments.library.resolve()), "GLIBC_TUNABLES": ALLOCATION,
             "TORCHINDUCTOR_CACHE_DIR": str(cache)}
    return kept | ({"PEERS_CPU_TIME": "1"} if arguments.cpu_time else {})


def generation(cpuinfo):
    """Of a virtual machine's CPU that calls itself only AMD EPYC (AMD's Processor Programming References)."""
    family, model = (int(re.search(rf"^{name}\s*: (\d+)$", cpuinfo, re.MULTILINE)[1]) for name in ("cpu family", "model"))
    if family == 25:
        return " Zen 4" if model // 16 in (1, 6, 7, 10) else " Zen 3"
    return " Zen 5" if family == 26 else ""


def machine():
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    name = model.group(1) if model else "unknown CPU"
    flags = re.search(r"^(?:flags|Features)\s*: (.*)$", text, re.MULTILINE)
    found = set(flags.group(1).split() if flags else ())
    return {"cpu": name + (generation(text) if name == "AMD EPYC" else ""), "num_cpus": len(os.sched_getaffinity(0)),
            "instructions": [name for name in INSTRUCTIONS if name in found]}


def selected(arguments):
    for number_type in arguments.types:
        for name in problems.NAMES[number_type]:
            if re.search(arguments.filter, name):
                yield problems.parse(name, number_type)


def run(arguments, workers):
    """Writes the file after each problem."""
    wanted = list(selected(arguments))
    progress, results, others = Progress(len(wanted) * (arguments.rounds + 1)), [], Others(workers)
    with tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as folder:
        for problem in wanted:
            progress.step(f"{problem.name} {problem.type}: preparing")
            contest = Contest(problem, workers, arguments)
            contest.prepare(folder)
            for number in range(arguments.rounds):
                progress.step(f"{problem.name} {problem.type}")
                contest.run_round(number)
            results += contest.results()
            save(arguments, workers, results, others)
    progress.clear()


def save(arguments, workers, results, others, allocation=ALLOCATION):
    context = machine() | {"versions": {peer: worker.version for peer, worker in workers.items()},
                           "allocation": allocation, "slice": arguments.slice,
                           "clock": "CPU time" if arguments.cpu_time else "wall",
                           "seconds": round(time.monotonic() - others.begin),
                           "others_share": round(others.share(), 3)}
    document = {"date": datetime.date.today().isoformat(), "context": context}
    lines = ",\n".join("    " + json.dumps(result) for result in results)
    with open(arguments.out, "w", encoding="utf-8") as file:
        file.write(json.dumps(document, indent=2)[:-2] + ',\n  "results": [\n' + lines + "\n  ]\n}\n")


def work(workers, arguments, measure_all):
    """Lets the workers introduce themselves, measures with them, and ends them whatever happens."""
    for worker in workers.values():
        worker.introduce()
    try:
        measure_all(arguments, workers)
    finally:
        for worker in workers.values():
            worker.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=pathlib.Path, required=True, help="the shared library of Fovea")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="where the JSON goes")
    parser.add_argument("--peers", nargs="+", default=PEERS[1:], choices=PEERS[1:])
    parser.add_argument("--types", nargs="+", default=list(problems.NAMES), choices=list(problems.NAMES))
    parser.add_argument("--filter", default="", help="a regular expression that names must contain")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slice", type=float, default=0.02, help="seconds that each runs in a round, at least once")
    parser.add_argument("--cpu-time", action="store_true", help="one thread by its CPU time, on a busy machine")
    arguments = parser.parse_args()
    if arguments.cpu_time:
        arguments.threads = [1]
    variables = environment(arguments)
    work({peer: Worker(peer, variables) for peer in (PEERS[0], *arguments.peers)}, arguments, run)


if __name__ == "__main__":
    main()
