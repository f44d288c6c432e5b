#!/usr/bin/env python3
"""One library in a process of its own: solves and times the problems of measure.py, one JSON object on each line.

Libraries keep threads that wait by spinning; in one process they would disturb each other. An idle
worker blocks on its input.
"""

import importlib
import json
import os
import sys
import time

import numpy

import problems

NOT_OFFERED = "not offered"

# CPU time of this process, or time passed.
now = time.process_time if os.environ.get("PEERS_CPU_TIME") else time.perf_counter


def seconds_of(run, slice_seconds):
    """The mean over a slice of time, at least one run; runs shorter than the slice begin warm."""
    start = now()
    run()
    seconds = now() - start
    if seconds >= slice_seconds:
        return seconds
    runs = 0
    start = now()
    while True:
        run()
        runs += 1
        seconds = now() - start
        if seconds >= slice_seconds:
            return seconds / runs


class Worker:
    """Holds one problem at a time; ways of solving it, each for every number of threads."""

    def __init__(self, peer):
        self.peer = peer
        self.problem = None
        self.tensors = None
        self.chosen = {}  # (way, threads) -> Solver

    def hello(self):
        return {"version": self.peer.VERSION, "ways": list(self.peer.WAYS)}

    def take(self, name, type, files):
        self.chosen.clear()
        self.problem = problems.parse(name, type)
        self.tensors = problems.by_index(self.problem, [numpy.load(file) for file in files])
        return {}

    def prepare(self, way, threads, slice, expected):
        """Runs each of the way's options and keeps the fastest, by a short trial; raises if none can be used."""
        options, error_of = self.peer.options(way, self.problem), self.judge(expected)
        trials, errors, refusals = {}, {}, []
        for name, build in options.items():
            try:
                solver = build(self.problem, *self.tensors, threads)
                solver.run()
                errors[name] = error_of(solver)
                trials[name] = self.timed(solver, slice) if len(options) > 1 else 0.0
            except Exception as error:  # the library has no figure, because of this exception
                refusals.append(f"{type(error).__name__}: {error}".splitlines()[0][:200])
                continue
            if trials[name] == min(trials.values()):
                self.chosen[way, threads] = solver
        if not trials:
            raise RuntimeError("; ".join(refusals) or NOT_OFFERED)
        best = min(trials, key=trials.get)
        return {"option": best, "error": errors[best]}

    def judge(self, expected):
        """A function that tells the error of a solver's output."""
        answers = numpy.load(expected)
        return lambda solver: problems.error_of(self.problem, solver.output(), answers)

    def time(self, way, threads, slice):
        return {"seconds": self.timed(self.chosen[way, threads], slice)}

    @staticmethod
    def timed(solver, slice):
        if hasattr(solver, "rewind"):  # what grows with each run
            solver.rewind()
        return seconds_of(solver.run, slice)


def converse(worker_class):
    """Makes a worker of the module that the command line names, and answers until there are no more questions."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # text that libraries print is not part of the conversation
    worker = worker_class(importlib.import_module(sys.argv[1]))
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = getattr(worker, request.pop("do"))(**request)
        except Exception as error:
            reply = {"refused": str(error) or type(error).__name__}
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    converse(Worker)
