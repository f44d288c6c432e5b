#!/usr/bin/env python3
"""Fovea and its peers beside a busy process, interleaved: busy.py --build build/release --out run.json

One short text through a model of all-MiniLM-L6-v2's sizes, and an attention call of 12 heads. In each round every
library computes with each number of threads alone, and then beside a process that always computes, on the same CPUs.
The model's weights are made. busy_report.py says how much longer it takes beside that process.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

import layer_problems
import measure
import problems
from conversation import Worker
from layer_problems import golden
from layers import LayerContest
from measurements import Value

MODEL = f"{layer_problems.MINILM}/b1_t16"
CALL = "prefill/h12_s128_d32/full"
VOCABULARY, POSITIONS, HIDDEN = 30522, 512, 1536
# It ends with the process that started it.
PROGRAM = """\
import os
parent = os.getppid()
print(flush=True)
while os.getppid() == parent:
    for _ in range(10**6):
        pass
"""


@contextlib.contextmanager
def busy_process():
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


class BusyProcesses:
    """What they took so far, as a worker tells it: no other child has ended yet."""

    @staticmethod
    def cpu_seconds():
        times = os.times()
        return times.children_user + times.children_system


class BusyContest:
    """Keeps seconds alone and beside the busy process; all ways run in every round, however slow."""

    def prepare_one(self, peer, way, threads, expected):
        super().prepare_one(peer, way, threads, expected)
        if (peer, way) in self.entries[threads]:
            self.entries[threads][peer, way]["alone"] = []

    def run_round(self, number):
        names = [(threads, *name) for threads, entries in self.entries.items() for name in entries]
        turned = names[number % len(names):] + names[:number % len(names)]
        self.run_all(turned, "alone")
        with busy_process():
            self.run_all(turned, "seconds")

    def run_all(self, names, kept):
        for threads, peer, way in names:
            worker = self.workers[peer]
            reply = worker.ask("time", way=way, threads=threads, slice=self.arguments.slice)
            self.entries[threads][peer, way][kept].append(reply["seconds"])
            worker.wait_until_idle()

    def results(self):
        """As of other contests; each entry also has milliseconds `alone`, and `over`: the time beside the busy process
        over the time of the fewest threads alone, of the same rounds."""
        least = self.entries[min(self.entries)]
        for kept in super().results():
            for (peer, way), entry in self.entries[kept["threads"]].items():
                alone = least[peer, way]["alone"]
                kept["entries"][f"{peer}/{way}"] |= {
                    "alone": measure.short(Value.of([1e3 * s for s in entry["alone"]])),
                    "over": measure.short(Value.of([beside / one for beside, one in zip(entry["seconds"], alone)]))}
            yield kept


class BusyModel(BusyContest, LayerContest):
    pass


class BusyCall(BusyContest, measure.Contest):
    pass


def shapes():
    """Of the weights of all-MiniLM-L6-v2, by name."""
    dim = golden.DIM
    found = {"embeddings.word_embeddings.weight": (VOCABULARY, dim),
             "embeddings.position_embeddings.weight": (POSITIONS, dim),
             "embeddings.token_type_embeddings.weight": (2, dim)}
    norms, linears = ["embeddings.LayerNorm"], {}
    for layer in range(golden.LAYERS):
        at = f"encoder.layer.{layer}."
        linears |= {f"{at}attention.{name}": (dim, dim)
                    for name in ("self.query", "self.key", "self.value", "output.dense")}
        linears |= {f"{at}intermediate.dense": (HIDDEN, dim), f"{at}output.dense": (dim, HIDDEN)}
        norms += [f"{at}attention.output.LayerNorm", f"{at}output.LayerNorm"]
    for name, shape in (linears | {norm: (dim,) for norm in norms}).items():
        found |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return found


def write_model(folder):
    """A model with weights of the usual magnitudes, as safetensors."""
    random = numpy.random.default_rng(7)
    header, parts, begin = {}, [], 0
    for name, shape in shapes().items():
        numbers = 0.05 * random.standard_normal(shape, dtype=numpy.float32)
        if name.endswith("LayerNorm.weight"):
            numbers += 1
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, begin + numbers.nbytes]}
        begin += numbers.nbytes
        parts.append(numbers.astype("<f4").tobytes())
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (pathlib.Path(folder) / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))


def measure_all(arguments, workers):
    """Writes the file after each problem."""
    wanted = [(BusyModel, "layer", layer_problems.parse(MODEL, "f32")), (BusyCall, "peer", problems.parse(CALL, "f32"))]
    wanted = [entry for entry in wanted if re.search(arguments.filter, entry[2].name)]
    progress = measure.Progress(len(wanted) * (arguments.rounds + 1))
    results, others = [], measure.Others(workers | {"busy": BusyProcesses})
    with tempfile.TemporaryDirectory() as folder:
        for contest_class, kind, problem in wanted:
            progress.step(f"{problem.name}: preparing")
            own = {peer: worker for (of, peer), worker in workers.items() if of == kind}
            contest = contest_class(problem, own, arguments)
            contest.prepare(folder)
            for number in range(arguments.rounds):
                progress.step(problem.name)
                contest.run_round(number)
            results += contest.results()
            measure.save(arguments, own, results, others)
    progress.clear()


def use_cpus(count):
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < count:
        sys.exit(f"busy.py: there are {len(allowed)} CPUs, --cpus is {count}")
    os.sched_setaffinity(0, allowed[:count])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", nargs="*", default=measure.PEERS[1:], choices=measure.PEERS[1:])
    parser.add_argument("--cpus", type=int, default=2, help="that all share, the busy process, too")
    arguments = measure.arguments_of(parser, rounds=5, slice_seconds=0.3)
    if arguments.cpu_time:
        parser.error("--cpu-time would hide what the busy process takes")
    use_cpus(arguments.cpus)
    variables = measure.environment(arguments)
    variables["FOVEA_LAYER_CALLS"] = str((arguments.build / "bench" / "libfovea_layer_calls.so").resolve())
    with tempfile.TemporaryDirectory() as folder:
        write_model(folder)
        variables["MINILM_FOLDER"] = os.environ["MINILM_FOLDER"] = folder
        scripts = {"layer": "layer_worker.py", "peer": "worker.py"}
        workers = {(kind, peer): Worker(peer, variables, script, kind)
                   for kind, script in scripts.items() for peer in ("fovea", *arguments.peers)}
        measure.work(workers, arguments, measure_all)


if __name__ == "__main__":
    main()
