#!/usr/bin/env python3
"""Says which of the speeds that Fovea aims at a run of fovea_bench reached: bars.py run.json [--threads N]

Ends with status 1 when one was not reached or not measured, 0 otherwise. Bars of instruction sets that the run does
not have at all are left out. The NEON inner loops have a bar of their own, see bench/mca.py.
"""

import argparse
import sys

import measurements

WIDE = ("avx512",)
EVERY = ("avx512", "avx2", "neon")

# (shape and rule, instruction sets, least fraction of the FMA peak)
PEAK_FRACTIONS = (
    ("prefill/h8_s2048_d128/full", WIDE, 0.92),
    ("prefill/h8_s2048_d128/causal", WIDE, 0.90),
    ("prefill/h8_s2048_d64/full", WIDE, 0.88),
    ("prefill/h8_s2048_d64/causal", WIDE, 0.86),
    ("prefill/h8_s2048_d80/full", WIDE, 0.88),
    ("prefill/h8_s2048_d96/full", WIDE, 0.88),
    ("prefill/h8_s2048_d256/full", WIDE, 0.88),
    ("prefill/h8_s2048_d128/full", ("avx2",), 0.90),
    ("prefill/h8_s2048_d128/causal", ("avx2",), 0.88),
    ("prefill/h8_s2048_d64/full", ("avx2",), 0.85),
    ("prefill/h8_s2048_d64/causal", ("avx2",), 0.83),
    ("prefill/h32_kv8_s4096_d128/causal", EVERY, 0.90),
    ("prefill/h8_s8192_d128/window512", EVERY, 0.80),
    ("prefill/h8_s8192_d64/chunk64_left256", EVERY, 0.80),
    ("prefill/h8_s512_d64/full", EVERY, 0.85),
    ("prefill/h8_s512_d64/causal", EVERY, 0.75),
    ("prefill/b8_h12_s197_d64/full", EVERY, 0.80),
    ("prefill/b16_h12_s384_d64/full", EVERY, 0.84),
    ("cross/h8_q64_s2048_d64/full", EVERY, 0.85),
    ("packed/b32_h8_s20to500_d64/full", EVERY, 0.80),
)
SPEEDUP = 1.9
UNFUSED_EVERY, UNFUSED_WHOLE_LONG, UNFUSED_BLOCKED_LONG = 1.0, 1.25, 1.15
LONG = 1024
CALL_NANOSECONDS = 1000


def longest(name):
    """Keys of a benchmark's rows, from the 's' in its name; 500 of 's20to500'."""
    sizes = [part[1:].split("to")[-1] for part in name.split("/")[1].split("_") if part[0] == "s"]
    return int(sizes[0])


def peak_bars(run, threads):
    present = {name.split("/")[3] for name in run.benchmarks if name.count("/") == 4}
    for shape, isas, least in PEAK_FRACTIONS:
        for isa in isas:
            if isa in present:
                name = f"{shape}/{isa}/t{threads}"
                yield name, "of the FMA peak", run.value(name, "peak_fraction"), f">= {least:.2f}"


def unfused_bars(run, threads):
    """Only the instruction set that Fovea chooses by itself is compared with OpenBLAS at its best."""
    for name in run.benchmarks:
        if not name.endswith(f"/{run.context.get('fovea_isa')}/t{threads}") or name.startswith("speedup/"):
            continue
        is_long = longest(name) >= LONG
        for counter, least_long in (("whole", UNFUSED_WHOLE_LONG), ("blocked", UNFUSED_BLOCKED_LONG)):
            least = least_long if is_long else UNFUSED_EVERY
            yield name, f"x unfused {counter}", run.value(name, f"vs_unfused_{counter}"), f">= {least:.2f}"


def other_bars(run):
    for name in run.benchmarks:
        if name.startswith("speedup/"):
            yield name, "x one thread", run.value(name, "speedup"), f">= {SPEEDUP:.2f}"
        if name.startswith("overhead/"):
            yield name, "ns a call", run.value(name, "time_ns"), f"<= {CALL_NANOSECONDS}"


def verdict(value, bar):
    if value is None:
        return "ABSENT"
    sign, limit = bar.split()
    reached = value.median >= float(limit) if sign == ">=" else value.median <= float(limit)
    return "met" if reached else "MISSED"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    run = measurements.load(arguments.run)
    print(f"{run.cpu}, {run.date}, OpenBLAS {run.context.get('openblas_core', '?')}\n")
    counts = {"met": 0, "MISSED": 0, "ABSENT": 0}
    bars = [*peak_bars(run, arguments.threads), *unfused_bars(run, arguments.threads), *other_bars(run)]
    for name, unit, value, bar in bars:
        outcome = verdict(value, bar)
        counts[outcome] += 1
        measured = f"{value.median:8.3f}" if value else " " * 8
        spread = f"spread {100 * value.spread:.1f} %" if value else run.skipped.get(name, "not in this run")
        print(f"{outcome:6} {name:48} {measured} {unit:18} {bar:8} {spread}")
    print("\n" + ", ".join(f"{count} {outcome.lower()}" for outcome, count in counts.items()))
    sys.exit(0 if counts["met"] == len(bars) else 1)


if __name__ == "__main__":
    main()
