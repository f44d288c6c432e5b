#!/usr/bin/env python3
"""Layers of Fovea and its peers, interleaved: layers.py --build build/release --minilm DIR --out run.json

Like measure.py, which measures attention: a process for each library, rounds in a rotating order. DIR has
model.safetensors of all-MiniLM-L6-v2 (examples/minilm/README.md says from where); without it the model is left out.
layers_report.py says which bars a run reached.
"""

import argparse
import os
import pathlib
import re
import tempfile

import numpy

import layer_problems
import measure
from conversation import Worker


class LayerContest(measure.Contest):
    OURS = ("fovea", "layers")

    def prepare(self, folder):
        for worker in self.workers.values():
            worker.send("take", name=self.problem.name)
        expected = os.path.join(folder, "expected.npy")
        numpy.save(expected, layer_problems.expected(self.problem))
        for peer, worker in self.workers.items():
            worker.receive()
            for way in worker.ways:
                for threads in self.arguments.threads:
                    self.prepare_one(peer, way, threads, expected)
                    worker.wait_until_idle()


def run(arguments, workers):
    """Writes the file after each problem."""
    wanted = [layer_problems.parse(name) for name in layer_problems.NAMES if re.search(arguments.filter, name)]
    wanted = [problem for problem in wanted if problem.kind != layer_problems.MINILM or arguments.minilm]
    progress = measure.Progress(len(wanted) * (arguments.rounds + 1))
    results, others = [], measure.Others(workers)
    with tempfile.TemporaryDirectory() as folder:
        for problem in wanted:
            progress.step(f"{problem.name}: preparing")
            contest = LayerContest(problem, workers, arguments)
            contest.prepare(folder)
            for number in range(arguments.rounds):
                progress.step(problem.name)
                contest.run_round(number)
            results += contest.results()
            measure.save(arguments, workers, results, others)
    progress.clear()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minilm", type=pathlib.Path, help="the folder of the sentence model")
    parser.add_argument("--peers", nargs="+", default=measure.PEERS[1:], choices=measure.PEERS[1:])
    arguments = measure.arguments_of(parser, rounds=7)
    variables = measure.environment(arguments)
    variables["FOVEA_LAYER_CALLS"] = str((arguments.build / "bench" / "libfovea_layer_calls.so").resolve())
    if arguments.minilm:
        variables["MINILM_FOLDER"] = os.environ["MINILM_FOLDER"] = str(arguments.minilm.resolve())
    workers = {peer: Worker(peer, variables, "layer_worker.py", "layer") for peer in ("fovea", *arguments.peers)}
    measure.work(workers, arguments, run)


if __name__ == "__main__":
    main()
