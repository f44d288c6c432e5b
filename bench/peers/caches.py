#!/usr/bin/env python3
"""Fovea over caches beside its peers, interleaved: caches.py --build build/release --out run.json

Like measure.py: a process for each library, rounds in a rotating order. Each peer has a Python environment of its own,
as their packages exclude each other: build/peers-PEER, or what --python names. A peer that cannot be loaded is left
out, and the run says why. caches.sh makes the environments; caches_report.py makes tables.
"""

import argparse
import os
import pathlib
import re
import sys
import tempfile

import numpy

import cache_problems
import measure
from conversation import Worker

PEERS = ("vllm", "zentorch", "ggml")
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class CacheContest(measure.Contest):
    OURS = ("fovea", "rows")

    def prepare(self, folder):
        tensors = cache_problems.inputs(self.problem)
        files = [os.path.join(folder, f"{name}.npy") for name in "qkv"]
        for file, tensor in zip(files, tensors):
            numpy.save(file, tensor)
        expected = os.path.join(folder, "expected.npy")
        numpy.save(expected, cache_problems.expected_rows(self.problem, *tensors))
        del tensors
        for worker in self.workers.values():
            worker.ask("take", name=self.problem.name, type=self.problem.type, files=files)
        for peer, worker in self.workers.items():
            for way in worker.ways:
                for threads in self.arguments.threads:
                    self.prepare_one(peer, way, threads, expected)
                    worker.wait_until_idle()
        for file in files:
            os.remove(file)  # memory, which libraries may still need


def selected(arguments):
    for format_name in arguments.types:
        for name in cache_problems.NAMES[format_name]:
            if re.search(arguments.filter, name):
                yield cache_problems.parse(name, format_name)


def run(arguments, workers, wanted, kind=CacheContest):
    """Writes the file after each problem."""
    progress, results, others = measure.Progress(len(wanted) * (arguments.rounds + 1)), [], measure.Others(workers)
    with tempfile.TemporaryDirectory(dir=measure.MEMORY if os.path.isdir(measure.MEMORY) else None) as folder:
        for problem in wanted:
            progress.step(f"{problem.name} {problem.type}: preparing")
            contest = kind(problem, workers, arguments)
            contest.prepare(folder)
            for number in range(arguments.rounds):
                progress.step(f"{problem.name} {problem.type}")
                contest.run_round(number)
            results += contest.results()
            measure.save(arguments, workers, results, others)
    progress.clear()


def start(arguments, variables):
    """Those whose environment is there, and that load; Fovea must."""
    pythons = {peer: ROOT / "build" / f"peers-{peer}" / "bin" / "python" for peer in arguments.peers}
    pythons |= {peer: pathlib.Path(path) for peer, path in (text.split("=", 1) for text in arguments.python)}
    workers = {"fovea": Worker("fovea", variables, "cache_worker.py", "cache")}
    for peer in arguments.peers:
        if pythons[peer].exists():
            workers[peer] = Worker(peer, variables, "cache_worker.py", "cache", pythons[peer])
        else:
            print(f"{peer} is left out: there is no {pythons[peer]}", file=sys.stderr)
    return workers


def introduced(workers):
    kept = {}
    for peer, worker in workers.items():
        try:
            worker.introduce()
            kept[peer] = worker
        except SystemExit as reason:
            worker.close()
            if peer == "fovea":
                raise
            print(f"{peer} is left out: {reason}", file=sys.stderr)
    return kept


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", nargs="*", default=PEERS, choices=PEERS)
    parser.add_argument("--python", nargs="+", default=[], metavar="PEER=PATH", help="the Python of a peer")
    parser.add_argument("--types", nargs="+", default=list(cache_problems.NAMES), choices=list(cache_problems.NAMES))
    arguments = measure.arguments_of(parser, rounds=7)
    variables = measure.environment(arguments)
    variables["FOVEA_CACHE_CALLS"] = str((arguments.build / "bench" / "libfovea_cache_calls.so").resolve())
    workers = introduced(start(arguments, variables))
    try:
        run(arguments, workers, list(selected(arguments)))
    finally:
        for worker in workers.values():
            worker.close()


if __name__ == "__main__":
    main()
