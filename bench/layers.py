#!/usr/bin/env python3
"""The table of layers in docs/benchmarks.md: what each benchmark of fovea_nn measured, beside its bar.

    bench/layers.py run.json [more.json...]          # prints the table; of what is in several runs, the last
    bench/layers.py run.json [more.json...] --keep   # and keeps the runs as one in bench/results, and writes the page
"""

import argparse
import pathlib
import sys

import bars
import measurements

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"
MARKERS = ("<!-- layers: begin, written by bench/layers.py --keep -->", "<!-- layers: end -->")
KINDS = ("linear", "row", "norm", "activate", "additive", "encoder")


def join(paths):
    """The layers of several runs on one CPU, as one run."""
    run = measurements.load(paths[0])
    for path in paths[1:]:
        other = measurements.load(path)
        if other.cpu != run.cpu:
            sys.exit(f"layers.py: {path} is of {other.cpu}, {paths[0]} of {run.cpu}")
        run.benchmarks.update(other.benchmarks)
    run.benchmarks = {name: counters for name, counters in run.benchmarks.items() if name.split("/")[0] in KINDS}
    run.skipped = {}
    return run


def words(name):
    """linear/r16_i384_o1536/f32/avx512/t1: its parts in words."""
    kind, shape, what, isa, threads = name.split("/")
    of = {"linear": "linear", "row": "one row", "norm": "norm", "encoder": "encoder", "activate": what,
          "additive": "additive"}[kind]
    sizes = shape.replace("_", " ").replace("i", "in ").replace("o", "out ").replace("d", "dim ")
    sizes = sizes.replace("r", "rows ", 1) if kind in ("linear", "encoder") else sizes
    rest = "" if kind in ("linear", "activate", "additive", "encoder") else f" {what}"
    return f"{of}{rest}, {sizes}, {isa}, {threads[1:]} thread{'s' if threads != 't1' else ''}"


def markdown(run):
    lines = [f"{run.cpu}, {run.date}, OpenBLAS {run.context.get('openblas_core', '?')}; ± is half of the middle half of "
             "the rounds.", "", "| | measured | | bar | |", "|---|--:|---|--:|---|"]
    for name, unit, value, bar in bars.layer_bars(run):
        if value is None:
            continue
        verdict = bars.verdict(value, bar).lower()
        lines.append(f"| {words(name)} | {value.median:.3f} ± {50 * value.spread:.0f} % | {unit} | {bar} | "
                     f"{'' if verdict == 'met' else '**missed**'} |")
    return "\n".join(lines) + "\n"


def keep(run):
    measurements.save(run, RESULTS / f"layers-{run.cpu_slug}.json")
    text = PAGE.read_text(encoding="utf-8")
    begin, end = text.find(MARKERS[0]), text.find(MARKERS[1])
    if begin < 0 or end < begin:
        sys.exit(f"layers.py: docs/benchmarks.md has no lines '{MARKERS[0]}' and '{MARKERS[1]}'")
    tables = [markdown(measurements.load(path)) for path in sorted(RESULTS.glob("layers-[!p]*.json"))]
    PAGE.write_text(text[: begin + len(MARKERS[0])] + "\n\n" + "\n".join(tables) + "\n" + text[end:], encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=pathlib.Path, nargs="+", help="JSON of fovea_bench, or kept runs")
    parser.add_argument("--keep", action="store_true", help="keep them, and rewrite docs/benchmarks.md")
    arguments = parser.parse_args()
    run = join(arguments.runs)
    print(markdown(run), end="")
    if arguments.keep:
        keep(run)


if __name__ == "__main__":
    main()
