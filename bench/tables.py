#!/usr/bin/env python3
"""Tables of docs/benchmarks.md: what each benchmark of fovea_bench measured, beside its bar.

    bench/tables.py layers run.json [more.json...]     # prints the table; of what is in several runs, the last
    bench/tables.py patterns run.json --peers p.json   # of patterns, terms, outputs and graphs; p.json is written by
                                                       # bench/peers/patterns.py
    bench/tables.py formats run.json                   # of quantised caches
    bench/tables.py modes run.json                     # of bf16 and int8 mode
With --keep the runs are kept as one in bench/results, and the page is written. A CPU whose name does not say what it
lacks, as in some virtual machines, is given another by --cpu.
"""

import argparse
import json
import pathlib
import sys

import bars
import formats
import measurements
import modes

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"
TERMS = ("alibi", "t5", "relative", "swin", "shaw")


def threads_in_words(count):
    return "1 thread" if count == 1 else f"{count} threads"


def words_of_layer(name):
    """linear/r16_i384_o1536/f32/avx512/t1: its parts in words."""
    kind, shape, what, isa, threads = name.split("/")
    of = {"linear": "linear", "row": "one row", "norm": "norm", "encoder": "encoder", "activate": what,
          "additive": "additive"}[kind]
    sizes = shape.replace("_", " ").replace("i", "in ").replace("o", "out ").replace("d", "dim ")
    sizes = sizes.replace("r", "rows ", 1) if kind in ("linear", "encoder") else sizes
    rest = "" if kind in ("linear", "activate", "additive", "encoder") else f" {what}"
    return f"{of}{rest}, {sizes}, {isa}, {threads_in_words(int(threads[1:]))}"


def words_of_pattern(name):
    """paired/h4_s4096_d64/window512/avx512/t1: its parts in words."""
    if name.startswith("plan/"):
        return "a pattern and a plan for a million rows and keys: " + name.split("/")[2].replace("_", " ")
    _, shape, what, isa, threads = name.split("/")
    letters = {"b": "batch", "h": "heads", "s": "length", "d": "dim", "n": "nodes", "e": "degree"}
    sizes = " ".join(f"{letters[part[0]]} {part[1:]}" for part in shape.split("_"))
    return f"{what.replace('_', ' ')}, {sizes}, {isa}, {threads_in_words(int(threads[1:]))}"


def bars_of_patterns(run):
    """Patterns, outputs and graphs, and the score terms beside them."""
    yield from bars.pattern_bars(run)
    for bar in bars.paired_bars(run):
        if any(term in bar[0] for term in TERMS):
            yield bar


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


def row(words, value, unit, bar):
    missed = "" if bars.verdict(value, bar) == "met" else "**missed**"
    measured = f"{value.median:.3f}" if value.median < 1000 else f"{value.median:,.0f}"
    return f"| {words} | {measured} ± {50 * value.spread:.0f} % | {unit} | {bar} | {missed} |"


def rows_of_peers(kept):
    for result in kept["results"]:
        what, shape = result["name"].split("/")
        peer = {"weights": "PyTorch's softmax", "graph": "PyTorch Geometric"}.get(what, "FlexAttention, compiled")
        yield row(f"{what}, {shape}, {threads_in_words(kept['threads'])}", measurements.Value(*result["ratio"]),
                  f"x {peer}", f">= {result['least']:.2f}")


def markdown(table, run, peers):
    _, bars_of, words = TABLES[table]
    lines = [f"{run.cpu}, {run.date}, OpenBLAS {run.context.get('openblas_core', '?')}; "
             "± is half of the middle half of the rounds.", ""]
    if table == "modes":
        lines += [*modes.speeds(run), ""]
    lines += ["| | measured | | bar | |", "|---|--:|---|--:|---|"]
    lines += [row(words(name), value, unit, bar) for name, unit, value, bar in bars_of(run) if value is not None]
    if peers:
        lines += rows_of_peers(peers)
    if table == "formats":
        lines += ["", *formats.speeds(run)]
    return "\n".join(lines) + "\n"


def kept_tables(table):
    """Kept runs of all CPUs. Peers of layers have a page of their own: bench/peers/layers_report.py."""
    for path in sorted(RESULTS.glob(f"{table}-*.json")):
        if path.name.startswith(f"{table}-peers-"):
            continue
        peers = path.with_name(path.name.replace("patterns-", "patterns-peers-"))
        has_peers = table == "patterns" and peers.exists()
        yield markdown(table, measurements.load(path), json.loads(peers.read_text()) if has_peers else None)


def keep(table, run, peers):
    measurements.save(run, RESULTS / f"{table}-{run.cpu_slug}.json")
    if peers:
        kept = RESULTS / f"{table}-peers-{run.cpu_slug}.json"
        kept.write_text(json.dumps(peers, indent=1) + "\n", encoding="utf-8")
    begin, end = f"<!-- {table}: begin, written by bench/tables.py {table} --keep -->", f"<!-- {table}: end -->"
    text = PAGE.read_text(encoding="utf-8")
    at, after = text.find(begin), text.find(end)
    if at < 0 or after < at:
        sys.exit(f"tables.py: docs/benchmarks.md has no lines '{begin}' and '{end}'")
    PAGE.write_text(text[: at + len(begin)] + "\n\n" + "\n".join(kept_tables(table)) + "\n" + text[after:],
                    encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("runs", type=pathlib.Path, nargs="+", help="JSON of fovea_bench, or kept runs")
    parser.add_argument("--peers", type=pathlib.Path, help="JSON of bench/peers/patterns.py")
    parser.add_argument("--cpu", metavar="NAME", help="what to call the CPU")
    parser.add_argument("--keep", action="store_true", help="keep them, and rewrite docs/benchmarks.md")
    arguments = parser.parse_args()
    run = join(arguments.table, arguments.runs, arguments.cpu)
    peers = json.loads(arguments.peers.read_text()) if arguments.peers else None
    print(markdown(arguments.table, run, peers), end="")
    if arguments.keep:
        keep(arguments.table, run, peers)


if __name__ == "__main__":
    main()
