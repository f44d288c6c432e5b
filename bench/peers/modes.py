#!/usr/bin/env python3
"""Fovea in int8 mode beside ggml over a q8_0 cache, interleaved: modes.py --build build/release --out run.json

As caches.py, with ggml's environment (caches.sh makes it). modes_report.py makes the table.
"""

import argparse
import pathlib
import re

import cache_problems
import caches
import measure
from conversation import Worker
from measurements import Value

TYPE = "q8_0"
NAMES = ("prefill/h8_s2048_d128/full", "prefill/h8_s2048_d128/causal")


class ModeContest(caches.CacheContest):
    OURS = ("fovea", "int8_of_i8_rows")

    def is_hopeless(self, threads, name):
        """All ways run in every round: the bar is over the slow ones."""
        return False

    def results(self):
        """As there; each way of Fovea also has `over`, the others' times over its own."""
        for kept in super().results():
            entries = self.entries[kept["threads"]]
            for (peer, way), entry in entries.items():
                if peer == "fovea":
                    kept["entries"][f"{peer}/{way}"]["over"] = {
                        f"{other}/{of}": measure.short(Value.of([theirs / our for theirs, our in zip(
                            entries[other, of]["seconds"], entry["seconds"])]))
                        for other, of in entries if other != "fovea"}
            yield kept


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=pathlib.Path, default=caches.ROOT / "build" / "peers-ggml" / "bin" / "python",
                        help="the Python that has ggml")
    arguments = measure.arguments_of(parser, rounds=9)
    variables = measure.environment(arguments)
    variables["FOVEA_CACHE_CALLS"] = str((arguments.build / "bench" / "libfovea_cache_calls.so").resolve())
    wanted = [cache_problems.parse(name, TYPE) for name in NAMES if re.search(arguments.filter, name)]
    workers = {peer: Worker(peer, variables, "cache_worker.py", "mode", arguments.python) for peer in ("fovea", "ggml")}
    measure.work(workers, arguments, lambda arguments, workers: caches.run(arguments, workers, wanted, ModeContest))


if __name__ == "__main__":
    main()
