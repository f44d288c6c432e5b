#!/usr/bin/env python3
"""torch.nn.functional.scaled_dot_product_attention with and without fovea.torch.activate(): sdpa.py --out run.json

The python that runs it has fovea of this tree and PyTorch. The problems are those of bench/peers that the function can
say, in the ways of PyTorch there. Both compute in one process: round by round every call runs for a slice of time on
Fovea and on PyTorch's own kernel, in turns. sdpa_report.py makes the table.
"""

import argparse
import datetime
import os
import pathlib
import re
import sys

import numpy
import torch

import fovea
import fovea.torch

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "peers"))
import measure  # noqa: E402 (of bench/peers, which finds the modules of bench)
import peer_torch  # noqa: E402
import problems  # noqa: E402
import worker  # noqa: E402
import kept  # noqa: E402
from measurements import Value  # noqa: E402

ALONE, ACTIVE, MODE = "torch/alone", "torch/fovea", "torch/fovea_bf16_mode"
MODES = {ACTIVE: "exact", MODE: "bf16"}


class Call:
    """One problem in one of PyTorch's ways, on a number of threads. `solver` is shared by all numbers of threads."""

    def __init__(self, problem, option, solver, threads):
        self.problem, self.option, self.solver, self.threads = problem, option, solver, threads
        self.seconds = {way: [] for way in ([ALONE, ACTIVE, MODE] if problem.type == "bf16" else [ALONE, ACTIVE])}

    def run(self, way, compute):
        """The result of compute() with the kernel of a way."""
        self.solver.threads = self.threads
        if way == ALONE:
            return compute()
        fovea.torch.activate(mode=MODES[way])
        try:
            return compute()
        finally:
            fovea.torch.deactivate()

    def output(self):
        self.solver.run()
        return self.solver.output()

    def check(self, expected):
        """Ends the program if a way is not near float64's result, or if Fovea left the call to PyTorch."""
        outputs = {way: self.run(way, self.output) for way in self.seconds}
        for way, output in outputs.items():
            if problems.error_of(self.problem, output, expected) > problems.TOLERANCE[self.problem.type]:
                sys.exit(f"sdpa.py: {self.problem.name} in {self.problem.type} is wrong by {way}")
            if way != ALONE and numpy.array_equal(output, outputs[ALONE]):
                sys.exit(f"sdpa.py: {self.problem.name} in {self.problem.type} has PyTorch's bits by {way}")

    def run_round(self, number, arguments):
        ways = list(self.seconds)
        for way in ways[number % len(ways):] + ways[:number % len(ways)]:
            self.seconds[way].append(self.run(way, lambda: worker.seconds_of(self.solver.run, arguments.slice)))

    def result(self):
        """[median, spread, rounds] of milliseconds, and of how many times as long PyTorch takes alone."""
        entries = {}
        for way, seconds in self.seconds.items():
            entries[way] = {"milliseconds": measure.short(Value.of([1e3 * each for each in seconds]))}
            if way != ALONE:
                alone_over = [alone / ours for alone, ours in zip(self.seconds[ALONE], seconds)]
                entries[way]["alone_over"] = measure.short(Value.of(alone_over))
        return {"name": self.problem.name, "type": self.problem.type, "option": self.option, "threads": self.threads,
                "entries": entries}


def calls_of(problem, arguments):
    """A Call for each way and number of threads, after a check."""
    options = peer_torch.options("sdpa", problem)
    if not options:
        return
    tensors = problems.by_index(problem, problems.inputs(problem))
    expected = problems.expected_rows(problem, *tensors)
    for option, build in options.items():
        solver = build(problem, *tensors, 1)
        calls = [Call(problem, option, solver, threads) for threads in arguments.threads]
        calls[-1].check(expected)
        solver.result = None
        yield from calls


def measure_all(arguments):
    """Writes the file after each round."""
    try:
        fovea.allow_amx()
    except fovea.UnsupportedError:
        pass
    wanted = [problems.parse(name, number_type) for number_type in arguments.types
              for name in problems.NAMES[number_type] if re.search(arguments.filter, name)]
    calls = [call for problem in wanted for call in calls_of(problem, arguments)]
    progress, others = measure.Progress(len(calls) * arguments.rounds), measure.Others({"programs": measure.Children})
    for number in range(arguments.rounds):
        for call in calls:
            progress.step(f"{call.problem.name} {call.problem.type}, {call.threads} threads")
            call.run_round(number, arguments)
        context = measure.machine() | {"versions": {"fovea": fovea.__version__, "torch": torch.__version__},
                                       "amx": fovea.uses_amx("bf16"), "slice": arguments.slice,
                                       "others_share": round(others.share(), 3)}
        kept.save({"date": datetime.date.today().isoformat(), "context": context,
                   "results": [call.result() for call in calls]}, arguments.out)
    progress.clear()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="where the JSON goes")
    parser.add_argument("--types", nargs="+", default=["f32", "bf16"], choices=list(problems.NAMES))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--filter", default="", help="a regular expression that names must contain")
    parser.add_argument("--slice", type=float, default=0.03, help="seconds that each runs in a round, at least once")
    arguments = parser.parse_args()
    for name in [name for name in os.environ if name.startswith(("FOVEA_", "ATEN_", "PEERS_"))]:
        sys.exit(f"sdpa.py: {name} is set, and would change what is measured")
    measure_all(arguments)


if __name__ == "__main__":
    main()
