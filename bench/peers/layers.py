#!/usr/bin/env python3
"""Layers of Fovea and its peers, interleaved: layers.py --build build/release --minilm DIR --out run.json

Like measure.py, which measures attention: a process for each library, rounds in a rotating order. DIR has
model.safetensors of all-MiniLM-L6-v2 (examples/minilm/README.md says from where); without it the model is left out.
ggml has a Python environment of its own (caches.sh makes it); without it ggml is left out. layers_report.py says which
bars a run reached.
"""

import argparse
import os
import pathlib
import re
import sys
import tempfile

import numpy

import caches
import layer_problems
import measure
from conversation import Worker

PEERS = (*measure.PEERS[1:], "openblas", "ggml")


class LayerContest(measure.Contest):
    OURS = ("fovea", "layers")

    def prepare(self, folder):
        for worker in self.workers.values():
            worker.send("take", name=self.problem.name, type=self.problem.type)
        expected = os.path.join(folder, "expected.npy")
        numpy.save(expected, layer_problems.expected(self.problem))
        for peer, worker in self.workers.items():
            worker.receive()
            for way in worker.ways:
                for threads in self.arguments.threads:
                    self.prepare_one(peer, way, threads, expected)
                    worker.wait_until_idle()


def selected(arguments):
    for type_name in arguments.types:
        for name in layer_problems.NAMES[type_name]:
            problem = layer_problems.parse(name, type_name)
            if re.search(arguments.filter, name) and (problem.kind != layer_problems.MINILM or arguments.minilm):
                yield problem


def run(arguments, workers):
    """Writes the file after each problem."""
    wanted = list(selected(arguments))
    progress = measure.Progress(len(wanted) * (arguments.rounds + 1))
    results, others = [], measure.Others(workers)
    with tempfile.TemporaryDirectory() as folder:
        for problem in wanted:
            progress.step(f"{problem.name} {problem.type}: preparing")
            contest = LayerContest(problem, workers, arguments)
            contest.prepare(folder)
            for number in range(arguments.rounds):
                progress.step(f"{problem.name} {problem.type}")
                contest.run_round(number)
            results += contest.results()
            measure.save(arguments, workers, results, others)
    progress.clear()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minilm", type=pathlib.Path, help="the folder of the sentence model")
    parser.add_argument("--peers", nargs="*", default=PEERS, choices=PEERS)
    parser.add_argument("--ggml", metavar="PYTHON", type=pathlib.Path, help="the Python that has ggml",
                        default=caches.ROOT / "build" / "peers-ggml" / "bin" / "python")
    parser.add_argument("--types", nargs="+", default=list(layer_problems.NAMES), choices=list(layer_problems.NAMES))
    arguments = measure.arguments_of(parser, rounds=7)
    variables = measure.environment(arguments)
    variables["FOVEA_LAYER_CALLS"] = str((arguments.build / "bench" / "libfovea_layer_calls.so").resolve())
    if arguments.minilm:
        variables["MINILM_FOLDER"] = os.environ["MINILM_FOLDER"] = str(arguments.minilm.resolve())
    pythons = {peer: arguments.ggml if peer == "ggml" else pathlib.Path(sys.executable)
               for peer in ("fovea", *arguments.peers)}
    workers = {peer: Worker(peer, variables, "layer_worker.py", "layer", python)
               for peer, python in pythons.items() if python.exists()}
    for peer in pythons.keys() - workers.keys():
        print(f"{peer} is left out: there is no {pythons[peer]}", file=sys.stderr)
    measure.work(workers, arguments, run)


if __name__ == "__main__":
    main()
