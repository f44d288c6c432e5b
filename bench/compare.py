#!/usr/bin/env python3
"""Compares two runs of fovea_bench: compare.py before.json after.json

Compares fractions of the FMA peak if both runs have them, since these do not depend on the machine's speed at that
moment; else times. A difference counts if it is more than --least and more than three times the error of the two
medians, estimated from the spread of their rounds. Ends with status 1 if a benchmark became slower.
"""

import argparse
import math
import sys

import measurements

# The counter to compare is the first that both runs have; whether more is better.
COUNTERS = (("peak_fraction", True), ("speedup", True), ("time_ns", False))


def median_error(value):
    """Standard error of the median as a share of it; the middle half of normal noise is 1.35 sigma wide."""
    return 1.2533 * value.spread / 1.349 / math.sqrt(max(value.rounds, 1))


def difference(before, after, name):
    """(counter, value before, value after, gain): a gain of 0.1 is 10 % faster."""
    for counter, more_is_better in COUNTERS:
        a, b = before.value(name, counter), after.value(name, counter)
        if a and b and a.median > 0 and b.median > 0:
            ratio = b.median / a.median if more_is_better else a.median / b.median
            return counter, a, b, ratio - 1
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--least", type=float, default=0.02, help="smallest difference that counts (default 0.02)")
    parser.add_argument("--all", action="store_true", help="also list what did not change")
    arguments = parser.parse_args()
    before, after = measurements.load(arguments.before), measurements.load(arguments.after)
    if before.cpu != after.cpu:
        print(f"note: different CPUs, {before.cpu} and {after.cpu}")
    slower = faster = same = 0
    for name in after.benchmarks:
        found = difference(before, after, name)
        if not found:
            continue
        counter, a, b, gain = found
        noise = max(arguments.least, 3 * math.hypot(median_error(a), median_error(b)))
        verdict = "same"
        if abs(gain) > noise:
            verdict = "FASTER" if gain > 0 else "SLOWER"
        slower, faster, same = slower + (verdict == "SLOWER"), faster + (verdict == "FASTER"), same + (verdict == "same")
        if verdict != "same" or arguments.all:
            print(f"{verdict:6}  {name:56} {counter:13} {a.median:9.4g} -> {b.median:9.4g}  {100 * gain:+6.1f} %"
                  f"  (noise {100 * noise:.1f} %)")
    for name in sorted(before.benchmarks.keys() ^ after.benchmarks.keys()):
        print(f"only {'before' if name in before.benchmarks else 'after'}: {name}")
    print(f"{slower} slower, {faster} faster, {same} within noise")
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
