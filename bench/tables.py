#!/usr/bin/env python3
"""Tables of a run of fovea_bench: what each benchmark measured.

    bench/tables.py layers run.json [more.json...]     # prints the table; of what is in several runs, the last
    bench/tables.py patterns run.json --peers p.json   # of patterns, terms, outputs and graphs; p.json is written by
                                                       # bench/peers/patterns.py
    bench/tables.py formats run.json                   # of quantised caches
    bench/tables.py modes run.json                     # of bf16 and int8 mode
With --bars it prints the bars that the run missed in place of the table. With --keep the runs are kept as one in
bench/results, and all pages of kept runs are made again. A CPU whose name does not say what it lacks, as in some virtual
machines, is given another by --cpu.
"""

import argparse
import json
import pathlib
import sys

import bars
import formats
import kept
import layer_modes
import measurements
import modes

TERMS = ("alibi", "t5", "relative", "swin", "shaw")


def words_of_layer(name):
    """linear/r16_i384_o1536/f32/avx512/t1: its parts in words."""
    kind, shape, what, isa, threads = name.split("/")
    if kind in ("linear", "row") and what not in layer_modes.PANELS:
        return layer_modes.words(name)
    of = {"linear": "linear", "row": "one row", "norm": "norm", "encoder": "encoder", "activate": what,
          "additive": "additive"}[kind]
    sizes = shape.replace("_", " ").replace("i", "in ").replace("o", "out ").replace("d", "dim ")
    sizes = sizes.replace("r", "rows ", 1) if kind in ("linear", "encoder") else sizes
    rest = "" if kind in ("linear", "activate", "additive", "encoder") else f" {what}"
    return f"{of}{rest}, {sizes}, {isa}, {kept.threads_in_words(int(threads[1:]))}"


def words_of_pattern(name):
    """paired/h4_s4096_d64/window512/avx512/t1: its parts in words."""
    if name.startswith("plan/"):
        return "a pattern and a plan for a million rows and keys: " + name.split("/")[2].replace("_", " ")
    _, shape, what, isa, threads = name.split("/")
    letters = {"b": "batch", "h": "heads", "s": "length", "d": "dim", "n": "nodes", "e": "degree"}
    sizes = " ".join(f"{letters[part[0]]} {part[1:]}" for part in shape.split("_"))
    return f"{what.replace('_', ' ')}, {sizes}, {isa}, {kept.threads_in_words(int(threads[1:]))}"


def bars_of_patterns(run):
    """Patterns, outputs and graphs, and the score terms beside them."""
    yield from bars.pattern_bars(run)
    for bar in bars.paired_bars(run):
        if any(term in bar[0] for term in TERMS):
            yield bar


# Units that a table of speeds has for every shape.
IN_SPEEDS = {"formats": ("of the read bandwidth", "x the tokens of f32", "x the tokens of f16"),
             "modes": ("of exact mode's speed",)}
SPEEDS = {"formats": formats.speeds, "modes": modes.speeds, "layers": layer_modes.speeds}
# table -> (the kinds of its benchmarks, their bars, their names in words)
TABLES = {
    "layers": (("linear", "row", "norm", "activate", "additive", "encoder"), bars.layer_bars, words_of_layer),
    "patterns": (("paired", "graph", "plan"), bars_of_patterns, words_of_pattern),
    "formats": (("format", "paired", "append"), bars.format_bars, formats.words),
    "modes": (("mode",), bars.mode_bars, modes.words),
}


def load(path, cpu):
    run = measurements.load(path)
    if cpu:
        run.context["cpu"] = cpu
    return run


def join(table, paths, cpu):
    """What the table shows of several runs on one CPU, as one run."""
    run = load(paths[0], cpu)
    for path in paths[1:]:
        other = load(path, cpu)
        if other.cpu != run.cpu:
            sys.exit(f"tables.py: {path} is of {other.cpu}, {paths[0]} of {run.cpu}")
        run.benchmarks.update(other.benchmarks)
    kinds, bars_of, _ = TABLES[table]
    run.benchmarks = {name: counters for name, counters in run.benchmarks.items() if name.split("/")[0] in kinds}
    if table in ("patterns", "formats"):
        shown = {bar[0] for bar in bars_of(run)}
        shown |= {name for name in run.benchmarks if table == "formats" and name.split("/")[0] != "paired"}
        run.benchmarks = {name: counters for name, counters in run.benchmarks.items() if name in shown}
    run.skipped = {}
    return run


def measured(run, table, peers):
    """(what, Value, unit, bar) of what has a bar, and of the libraries beside it."""
    _, bars_of, words = TABLES[table]
    for name, unit, value, bar in bars_of(run):
        if value is not None:
            yield words(name), value, unit, bar
    for result in peers["results"] if peers else ():
        what, shape = result["name"].split("/")
        peer = {"weights": "PyTorch's softmax", "graph": "PyTorch Geometric"}.get(what, "FlexAttention, compiled")
        yield (f"{what}, {shape}, {kept.threads_in_words(peers['threads'])}", measurements.Value(*result["ratio"]), f"x {peer}",
               f">= {result['least']:.2f}")


def number(value):
    return f"{value.median:.3f}" if value.median < 1000 else f"{value.median:,.0f}"


def row(words, value, unit):
    return f"| {words} | {number(value)} ± {50 * value.spread:.0f} % | {unit} |"


def markdown(table, run, peers):
    lines = [f"{run.cpu}, {run.date}, OpenBLAS {run.context.get('openblas_core', '?')}; "
             "± is half of the middle half of the rounds."]
    speeds = SPEEDS[table](run) if table in SPEEDS else []
    lines += ["", *speeds] if speeds else []
    rows = [row(words, value, unit) for words, value, unit, _ in measured(run, table, peers)
            if unit not in IN_SPEEDS.get(table, ())]
    if rows:
        lines += ["", "| | measured | |", "|---|--:|---|", *rows]
    return "\n".join(lines) + "\n"


def bars_in_words(table, run, peers):
    for words, value, unit, bar in measured(run, table, peers):
        yield words, f"{number(value)} {unit}", bar, bars.verdict(value, bar) == "met"


def keep(table, run, peers):
    measurements.save(run, kept.RESULTS / f"{table}-{run.cpu_slug}.json")
    if peers:
        beside = kept.RESULTS / f"{table}-peers-{run.cpu_slug}.json"
        beside.write_text(json.dumps(peers, indent=1) + "\n", encoding="utf-8")
    kept.write_pages()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("runs", type=pathlib.Path, nargs="+", help="JSON of fovea_bench, or kept runs")
    parser.add_argument("--peers", type=pathlib.Path, help="JSON of bench/peers/patterns.py")
    parser.add_argument("--cpu", metavar="NAME", help="what to call the CPU")
    kept.add_options(parser)
    arguments = parser.parse_args()
    run = join(arguments.table, arguments.runs, arguments.cpu)
    peers = json.loads(arguments.peers.read_text()) if arguments.peers else None
    if arguments.bars:
        kept.print_bars(bars_in_words(arguments.table, run, peers))
    print(markdown(arguments.table, run, peers), end="")
    if arguments.keep:
        keep(arguments.table, run, peers)


if __name__ == "__main__":
    main()
