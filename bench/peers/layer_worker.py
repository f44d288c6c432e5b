#!/usr/bin/env python3
"""One library in a process of its own, which computes layers: worker.py with the problems of layer_problems.py."""

import numpy

import layer_problems
import worker


class LayerWorker(worker.Worker):
    def take(self, name):
        self.chosen.clear()
        self.problem = layer_problems.parse(name)
        self.tensors = layer_problems.inputs(self.problem)
        return {}

    def judge(self, expected):
        answers = numpy.load(expected)
        return lambda solver: layer_problems.error_of(self.problem, solver.output(), answers)


if __name__ == "__main__":
    worker.converse(LayerWorker)
