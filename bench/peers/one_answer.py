#!/usr/bin/env python3
"""A sentence model in PyTorch with and without fovea.torch.one_answer(), interleaved: one_answer.py --out run.json

Tokens of all-MiniLM-L6-v2 to vectors of length 1, by the module of examples/minilm/torch_model.py with made weights, in
inference mode. Needs the Python module (pip install ./python) and PyTorch. Weights are packed once, beforehand. In each
round both ways run for each problem and number of threads, in a rotating order. one_answer_report.py makes the table.
"""

import argparse
import os
import pathlib
import re
import sys
import time

import fovea
import fovea.torch
import torch

import measure
from measurements import Value

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "examples" / "minilm"))
import torch_model  # noqa: E402 (of examples)

BATCHES, TOKENS = (1, 16, 64), (16, 64, 256)
ALONE, ONE_ANSWER = WAYS = ("torch/alone", "torch/one_answer")
AGREE = 1e-5  # of numbers of vectors of length 1


class Library:
    """All computes in this process, whose time is counted already."""

    def __init__(self, version):
        self.version = version

    @staticmethod
    def cpu_seconds():
        return 0.0


class Problem:
    """A number of texts of one length, on a number of threads."""

    def __init__(self, model, batch, tokens, threads):
        self.model, self.threads, self.name = model, threads, f"minilm/b{batch}_t{tokens}"
        self.ids = torch.randint(1000, 30000, (batch, tokens), generator=torch.Generator().manual_seed(batch + tokens))
        self.seconds = {way: [] for way in WAYS}

    def compute(self):
        with torch.inference_mode():
            return self.model(self.ids)

    def timed(self, arguments):
        """Seconds of a call: of as many as fit into the slice, after one that is not counted if calls are short."""
        clock = time.process_time if arguments.cpu_time else time.perf_counter
        begin = clock()
        self.compute()
        calls, seconds = 1, clock() - begin
        if seconds < arguments.slice:
            calls, begin, seconds = 0, clock(), 0.0
        while seconds < arguments.slice:
            self.compute()
            calls, seconds = calls + 1, clock() - begin
        return seconds / calls

    def run_round(self, number, arguments):
        torch.set_num_threads(self.threads)
        for way in WAYS[number % 2:] + WAYS[:number % 2]:
            if way == ALONE:
                self.seconds[way].append(self.timed(arguments))
            else:
                with fovea.torch.one_answer():
                    self.seconds[way].append(self.timed(arguments))

    def error(self):
        """The largest difference of numbers of the two ways."""
        alone = self.compute()
        with fovea.torch.one_answer():
            return float((self.compute() - alone).abs().max())

    def result(self):
        """[median, spread, rounds] of milliseconds, and of how many times as long a way takes as one_answer()."""
        ours = self.seconds[ONE_ANSWER]
        entries = {way: {"milliseconds": measure.short(Value.of([1e3 * s for s in seconds])),
                         "ratio": measure.short(Value.of([s / our for s, our in zip(seconds, ours)]))}
                   for way, seconds in self.seconds.items()}
        return {"name": self.name, "type": "f32", "threads": self.threads, "entries": entries}


def measure_all(arguments):
    """Writes the file after each round."""
    torch.manual_seed(0)
    model = torch_model.Minilm()
    fovea.torch.pack(model)
    wanted = [Problem(model, batch, tokens, threads) for batch in BATCHES for tokens in TOKENS
              for threads in arguments.threads if re.search(arguments.filter, f"minilm/b{batch}_t{tokens}")]
    libraries = {"fovea": Library(fovea.__version__), "torch": Library(torch.__version__)}
    progress = measure.Progress(len(wanted) * (arguments.rounds + 1))
    for problem in wanted:
        progress.step(f"{problem.name}: preparing")
        torch.set_num_threads(problem.threads)
        if problem.error() > AGREE:
            sys.exit(f"one_answer.py: vectors of {problem.name} do not agree")
    others = measure.Others(libraries)
    for number in range(arguments.rounds):
        for problem in wanted:
            progress.step(f"{problem.name}, {problem.threads} threads")
            problem.run_round(number, arguments)
        measure.save(arguments, libraries, [problem.result() for problem in wanted], others, allocation="")
    progress.clear()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="where the JSON goes")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--filter", default="", help="a regular expression that names must contain")
    parser.add_argument("--slice", type=float, default=0.1, help="seconds that each runs in a round, at least once")
    parser.add_argument("--cpu-time", action="store_true", help="one thread by its CPU time, on a busy machine")
    arguments = parser.parse_args()
    if arguments.cpu_time:
        arguments.threads = [1]
    for name in [name for name in os.environ if name.startswith(("FOVEA_", "ATEN_"))]:
        sys.exit(f"one_answer.py: {name} is set, and would change what is measured")
    measure_all(arguments)


if __name__ == "__main__":
    main()
