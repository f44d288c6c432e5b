#!/usr/bin/env python3
"""The budget: what attention spends its time on, from the benchmarks `budget/`.

    fovea_bench --benchmark_filter=^budget/ --benchmark_out=run.json
    budget.py run.json          the table (Markdown) on stdout
    budget.py run.json --keep   also keeps the run as bench/results/budget-<cpu>.json

The parts and the whole are measured in turn within each round: the parts add up to the whole within 5 %, or this
fails.
"""

import argparse
import pathlib
import sys

import kept
import measurements

PARTS = ("score", "value", "softmax", "adjust", "load", "store", "merge", "driver")
SHAPES = {
    "h8_s2048_d128/full": "8 heads, S 2048, D 128, full",
    "h8_s2048_d64/causal": "8 heads, S 2048, D 64, causal",
    "b8_h12_s197_d64/full": "batch 8, 12 heads, S 197, D 64, full",
    "h32_kv8_s4096_d128/decode": "decode: 32 heads over 8, S 4096, D 128",
    "h32_kv8_s32768_d128/decode": "decode: 32 heads over 8, S 32768, D 128",
}
TOLERATED = 0.05


def budgets(run):
    """(isa, shape, counters) of every budget that was measured."""
    for name, counters in run.benchmarks.items():
        kind, shape, rule, isa, _ = name.split("/")
        if kind == "budget":
            yield isa, SHAPES[f"{shape}/{rule}"], {key: value.median for key, value in counters.items()}


def fraction(counters, part):
    """Of what bounds a product: reading where there are few rows, multiplying elsewhere."""
    return counters.get(f"{part}_bandwidth_fraction", counters[f"{part}_peak_fraction"])


def markdown(run):
    titles = ["ms", *PARTS, "sum / whole", "score of its bound", "value of its bound"]
    lines = [f"{run.cpu}, {run.date}, one thread, f32.", "",
             "| | " + " | ".join(titles) + " |", "|---|" + "--:|" * len(titles)]
    for isa, shape, counters in budgets(run):
        shares = [f"{100 * counters[f'{part}_share']:.1f} %" for part in PARTS]
        lines.append("| " + " | ".join((
            f"{shape}, {isa}", f"{counters['time_ns'] * 1e-6:.2f}", *shares, f"{counters['parts_over_whole']:.3f}",
            f"{fraction(counters, 'score'):.2f}", f"{fraction(counters, 'value'):.2f}")) + " |")
    return "\n".join(lines) + "\n"


def check(run):
    wrong = [f"{shape}, {isa}: {counters['parts_over_whole']:.3f}" for isa, shape, counters in budgets(run)
             if abs(counters["parts_over_whole"] - 1) > TOLERATED]
    if wrong:
        sys.exit("budget.py: the parts do not add up to the whole within 5 %: " + "; ".join(wrong))


def keep(run):
    run.benchmarks = {name: counters for name, counters in run.benchmarks.items() if name.startswith("budget/")}
    run.skipped = {}
    measurements.save(run, kept.RESULTS / f"budget-{run.cpu_slug}.json")
    kept.write_pages()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path, help="JSON of fovea_bench, or a kept run")
    parser.add_argument("--keep", action="store_true", help="keep it in bench/results")
    arguments = parser.parse_args()
    run = measurements.load(arguments.run)
    print(markdown(run), end="")
    check(run)
    if arguments.keep:
        keep(run)


if __name__ == "__main__":
    main()
