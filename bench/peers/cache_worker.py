#!/usr/bin/env python3
"""One library in a process of its own, which attends over caches: worker.py with the problems of cache_problems.py."""

import numpy

import cache_problems
import worker

WRONG = 0.2  # an error that no rounding explains: the library was called wrongly, or is broken


class CacheWorker(worker.Worker):
    def take(self, name, type, files):
        self.chosen.clear()
        self.problem = cache_problems.parse(name, type)
        self.tensors = [numpy.load(file, mmap_mode="r") for file in files]  # libraries have copies of their own
        return {}

    def judge(self, expected):
        """As there, but a wrong answer has no time. Errors beyond a format's tolerance are kept, and reported."""
        error_of = super().judge(expected)

        def judged(solver):
            error = error_of(solver)
            if error > WRONG:
                raise ArithmeticError(f"wrong answer, error {error:.1e}")
            return error
        return judged


if __name__ == "__main__":
    worker.converse(CacheWorker)
