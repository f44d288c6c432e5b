"""Kept runs of bench/python/sdpa.py, in words."""

from collections import namedtuple

import modules
import report
from beside import cpu_in_words, slashed, table

ALONE, ACTIVE, MODE = "torch/alone", "torch/fovea", "torch/fovea_bf16_mode"
TITLES = {ACTIVE: "`activate()`", MODE: '`activate(mode="bf16")`'}
Call = namedtuple("Call", "name type option")


def label(call):
    """'prefill: 8 heads, S 2048, D 128, full'"""
    words = report.label(f"{call.name}/-/t1")
    return f"{words}; the heads of a group as rows" if call.option == "group as rows" else words


class Run:

    def __init__(self, document):
        self.context, self.date = document["context"], document["date"]
        self.entries = {(Call(r["name"], r["type"], r["option"]), r["threads"]): r["entries"]
                        for r in document["results"]}
        self.threads = sorted({threads for _, threads in self.entries})

    def calls(self, number_type=None):
        return [call for call in dict.fromkeys(call for call, _ in self.entries) if number_type in (None, call.type)]

    def types(self):
        return list(dict.fromkeys(call.type for call in self.calls()))

    def ratio(self, call, threads, way=ACTIVE):
        """PyTorch's time alone over Fovea's; None if the call has no such way."""
        entries = self.entries[call, threads]
        return entries[way]["alone_over"][0] if way in entries else None

    def ratios(self, number_type, way=ACTIVE):
        found = [self.ratio(call, threads, way) for call in self.calls(number_type) for threads in self.threads]
        return [ratio for ratio in found if ratio is not None]

    def milliseconds(self, call, way):
        return " / ".join(modules.number(self.entries[call, threads][way]["milliseconds"][0]) for threads in self.threads)

    def count(self):
        """In how many comparisons Fovea is ahead, and how many there are."""
        ratios = [entry["alone_over"][0] for entries in self.entries.values() for entry in entries.values()
                  if "alone_over" in entry]
        return sum(ratio >= 1 for ratio in ratios), len(ratios)

    def heading(self):
        versions = self.context["versions"]
        by = ", bf16 mode by AMX" if self.context["amx"] else ""
        return f"{cpu_in_words(self.context)}, {self.date}, Fovea {versions['fovea']}, PyTorch {versions['torch']}{by}."

    def table(self, number_type, names=None):
        """Of all calls in a type, or of some."""
        ways = [ACTIVE, MODE] if number_type == "bf16" else [ACTIVE]
        rows = []
        for call in self.calls(number_type):
            if names is None or call.name in names:
                rows.append([label(call), self.milliseconds(call, ALONE)])
                for way in ways:
                    ratios = [self.ratio(call, threads, way) for threads in self.threads]
                    rows[-1] += [self.milliseconds(call, way), slashed(ratios)]
        counted = " / ".join(str(threads) for threads in self.threads)
        return table([f"{counted} threads", "PyTorch alone, ms",
                      *(title for way in ways for title in (f"{TITLES[way]}, ms", "x"))], rows)
