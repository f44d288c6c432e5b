"""ggml over a q8_0 cache, and over the same numbers in f16: its tiles take keys and values in f32 and f16 only, so f16
shows what they would gain."""

from dataclasses import replace

import cache_ggml
import cache_problems
from cache_ggml import VERSION  # noqa: F401 (it is asked for)

WAYS = ("q8_0", "f16")


def in_f16(build):
    def built(problem, q, k, v, threads):
        k, v = (cache_problems.converted(side, problem.type, "f16") for side in (k, v))
        return build(replace(problem, type="f16"), q, k, v, threads)
    return built


def options(way, problem):
    found = cache_ggml.options(way, problem)
    return found if way == problem.type else {name: in_f16(build) for name, build in found.items()}
