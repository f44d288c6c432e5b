#!/usr/bin/env python3
"""One library in a process of its own, which attends over caches: worker.py with the problems of cache_problems.py."""

import numpy

import cache_problems
import worker


class CacheWorker(worker.Worker):
    def take(self, name, type, files):
        self.chosen.clear()
        self.problem = cache_problems.parse(name, type)
        self.tensors = [numpy.load(file, mmap_mode="r") for file in files]  # libraries have copies of their own
        return {}


if __name__ == "__main__":
    worker.converse(CacheWorker)
