#!/usr/bin/env python3
"""One library in a process of its own, which computes layers: worker.py with the problems of layer_problems.py."""

import numpy

import layer_problems
import worker


WRONG = 0.2  # an error that no rounding explains: the library was called wrongly, or is broken


class LayerWorker(worker.Worker):
    def take(self, name, type):
        self.chosen.clear()
        self.problem = layer_problems.parse(name, type)
        self.tensors = layer_problems.inputs(self.problem)
        return {}

    def judge(self, expected):
        """A wrong answer has no time. Errors beyond what is tolerated are kept, and reported."""
        answers = numpy.load(expected)

        def judged(solver):
            error = layer_problems.error_of(self.problem, solver.output(), answers)
            if error > WRONG:
                raise ArithmeticError(f"wrong answer, error {error:.1e}")
            return error
        return judged

    @staticmethod
    def timed(solver, slice):
        """Of one layer, where a run goes through several."""
        return worker.Worker.timed(solver, slice) / getattr(solver, "layers", 1)


if __name__ == "__main__":
    worker.converse(LayerWorker)
