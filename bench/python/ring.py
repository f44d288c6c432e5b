#!/usr/bin/env python3
"""Times of fovea.torch.ring_attention() on one host: ring.py --out run.json

The python that runs it has fovea and PyTorch. Each rank is a process with one thread. Round by round every number of
ranks runs once, and so does one call in one process. ring_report.py makes the table.
"""

import argparse
import datetime
import multiprocessing
import os
import pathlib
import sys
import tempfile
import time

import torch

import fovea
import fovea.torch
from fovea.torch import _ring

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "peers"))
import measure  # noqa: E402 (of bench/peers, which finds the modules of bench)
import kept  # noqa: E402
from measurements import Value  # noqa: E402

SHAPE = {"keys": 32768, "heads": 2, "kv_heads": 1, "dim": 128, "bytes": 4}
ONE_CALL = 0  # in place of a number of ranks


def part(heads, rows):
    return torch.randn(1, heads, rows, SHAPE["dim"], generator=torch.Generator().manual_seed(heads))


class Clock:
    """Runs what is timed on all ranks of a group at once, and gives the longest time."""

    def __init__(self, group):
        self.group = group

    def longest(self, seconds):
        longest = torch.tensor(seconds)
        torch.distributed.all_reduce(longest, torch.distributed.ReduceOp.MAX, self.group)
        return longest.item()

    def time(self, function):
        torch.distributed.barrier(self.group)
        begin = time.perf_counter()
        function()
        return self.longest(time.perf_counter() - begin)


class Waited:
    """The seconds that ring_attention() waits for transfers, in place of torch.distributed's own Work."""

    seconds = 0.0

    def __init__(self, work):
        self.work = work

    def wait(self):
        begin = time.perf_counter()
        self.work.wait()
        Waited.seconds += time.perf_counter() - begin


def time_ring(group, rank, ranks):
    """Seconds of the whole, seconds waited, seconds of the transfers alone, bytes that this rank sends."""
    clock = Clock(group)
    lengths = [len(fovea.torch.ring_positions(SHAPE["keys"], each, ranks)) for each in range(ranks)]
    q, k, v = (part(heads, lengths[rank]) for heads in (SHAPE["heads"], SHAPE["kv_heads"], SHAPE["kv_heads"]))
    exchange = _ring._Ring._exchange
    Waited.seconds = 0.0
    _ring._Ring._exchange = lambda *arguments: [Waited(each) for each in exchange(*arguments)]
    whole = clock.time(lambda: fovea.torch.ring_attention(q, k, v, group, causal=True))
    _ring._Ring._exchange = exchange
    transfers = clock.time(lambda: list(_ring._Ring(group).parts(k, v, lengths)))
    sent = sum(lengths) - lengths[(rank + 1) % ranks]
    return whole, clock.longest(Waited.seconds), transfers, sent * 2 * SHAPE["kv_heads"] * SHAPE["dim"] * SHAPE["bytes"]


def time_one_call():
    q, k, v = (part(heads, SHAPE["keys"]) for heads in (SHAPE["heads"], SHAPE["kv_heads"], SHAPE["kv_heads"]))
    begin = time.perf_counter()
    fovea.attention(q, k, v, causal=True, threads=1)
    return time.perf_counter() - begin, 0.0, 0.0, 0


def work(rank, folder, arguments, results):
    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    most = max(arguments.ranks)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/ranks", rank=rank, world_size=most)
    groups = {ranks: torch.distributed.new_group(list(range(ranks))) for ranks in arguments.ranks}
    for _ in range(arguments.rounds):
        for ranks in (ONE_CALL, *arguments.ranks):
            torch.distributed.barrier()  # who does not take part sleeps
            measured = None
            if ranks == ONE_CALL and rank == 0:
                measured = time_one_call()
            elif rank < ranks:
                measured = time_ring(groups[ranks], rank, ranks)
            if rank == 0:
                results.put((ranks, measured))
            torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def measure_all(arguments):
    """Results by the number of ranks."""
    context = multiprocessing.get_context("fork")
    found, results = {ranks: [] for ranks in (ONE_CALL, *arguments.ranks)}, context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        processes = [context.Process(target=work, args=(rank, folder, arguments, results))
                     for rank in range(max(arguments.ranks))]
        for each in processes:
            each.start()
        for _ in range(arguments.rounds * len(found)):
            ranks, measured = results.get(timeout=600)
            found[ranks].append(measured)
        for each in processes:
            each.join()
    for ranks, rounds in found.items():
        whole, waited, transfers, sent = zip(*rounds)
        yield {"ranks": ranks, **{name: measure.short(Value.of(values)) for name, values in
                                  (("seconds", whole), ("waited", waited), ("transfers", transfers))}, "bytes": sent[0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="where the JSON goes")
    parser.add_argument("--ranks", nargs="+", type=int, default=[1, 2, 4, 8])
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    others = measure.Others({"ranks": measure.Children})
    results = list(measure_all(arguments))
    context = measure.machine() | {"versions": {"fovea": fovea.__version__, "torch": torch.__version__},
                                   "shape": SHAPE, "others_share": round(others.share(), 3)}
    kept.save({"date": datetime.date.today().isoformat(), "context": context, "results": results}, arguments.out)


if __name__ == "__main__":
    main()
