#!/usr/bin/env python3
"""Tables and a plot of attention by Fovea and its peers, from the runs that measure.py wrote.

    report.py run.json                   the tables (Markdown) on stdout
    report.py run.json --plot p.svg      and the plot
    report.py run.json --keep            keeps the run and its plot in bench/results, and makes all pages of kept runs
    report.py run.json --bars            the bars that the run missed, in place of the tables

Several runs may be named, one after the other, for instance one for each type. A run of one type alone is kept beside
the others, as peers-<type>-<cpu>.json; a run of several takes the place of peers-<cpu>.json.
"""

import argparse
import json
import pathlib
import sys

import problems

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "bench"))
import kept  # noqa: E402 (of bench)
import measurements  # noqa: E402 (of bench)

OURS, MODE = "fovea/plan", "fovea/bf16_mode"
# Columns: their names on the page, the ways that share a column (no problem has two of them), their colours.
COLUMNS = (
    ("PyTorch", ("torch/sdpa", "torch/flex_attention"), "#ca6f1e"),
    ("ORT MHA", ("onnxruntime/MultiHeadAttention",), "#7fb3d5"),
    ("ORT GQA", ("onnxruntime/GroupQueryAttention",), "#2471a3"),
    ("ORT Attention", ("onnxruntime/Attention",), "#76448a"),
    ("OpenVINO", ("openvino/ScaledDotProductAttention",), "#229954"),
)
# Beside bf16 mode on AMX: exact mode, and who else has bf16 there. The bar is over the faster of the others.
MODE_COLUMNS = (("exact mode", (OURS,)),
                *((title, ways) for title, ways, _ in COLUMNS if title in ("PyTorch", "OpenVINO")))
MODE_BAR, MODE_BAR_LONG = 1.0, 1.5  # the latter at S 2048, as many rows as keys
# Problems of the short plot, for readers in a hurry.
SHORT = (("f32", ("prefill/h8_s2048_d128/full", "prefill/h8_s2048_d128/causal", "prefill/h32_kv8_s4096_d128/causal",
                  "prefill/h8_s8192_d128/window512", "prefill/b8_h12_s197_d64/full", "decode/h32_kv8_s32768_d128/full")),
         ("bf16", ("prefill/h8_s2048_d128/causal", "decode/h32_kv8_s32768_d128/full")))
LIBRARIES = {"fovea": "Fovea", "torch": "PyTorch", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO",
             "openblas": "OpenBLAS", "ggml": "ggml"}


class Comparison:
    """Results by name, type and threads."""

    def __init__(self, document):
        self.document, self.date, self.context = document, document["date"], document["context"]
        self.results = {(r["name"], r["type"], r["threads"]): r for r in document["results"]}

    def short(self):
        """The problems of the short plot, on the fewest threads."""
        least = self.threads()[0]
        wanted = [(name, number_type, least) for number_type, names in SHORT for name in names]
        results = [self.results[place] for place in wanted if place in self.results]
        return Comparison({**self.document, "results": results}) if len(results) == len(wanted) else None

    def types(self):
        return list(dict.fromkeys(number_type for _, number_type, _ in self.results))

    def names(self, number_type):
        return list(dict.fromkeys(name for name, own, _ in self.results if own == number_type))

    def threads(self):
        return list(dict.fromkeys(threads for _, _, threads in self.results))

    def speed(self, name, number_type, threads):
        """Fovea's speed, in GFLOP/s."""
        result = self.results[name, number_type, threads]
        return result["flops"] / result["entries"][OURS]["milliseconds"][0] * 1e-6

    def entry(self, name, number_type, threads, ways):
        entries = self.results[name, number_type, threads]["entries"]
        return next((entries[way] for way in ways if way in entries), None)

    def behind(self):
        """(name, type, threads, column, ratio) of problems in which another library is ahead, the farthest first."""
        found = []
        for name, number_type, threads in self.results:
            for title, ways, _ in COLUMNS:
                entry = self.entry(name, number_type, threads, ways)
                if entry and entry["ratio"][0] < 1:
                    found.append((name, number_type, threads, title, entry["ratio"][0]))
        return sorted(found, key=lambda place: place[-1])

    def mode_shapes(self):
        return [name for name in self.names("bf16")
                if any(self.entry(name, "bf16", n, (MODE,)) for n in self.threads())]

    def mode_bars(self):
        """(name, threads, least, ratio to the faster of the others), where bf16 mode ran on AMX. Decoding has none."""
        for name in self.mode_shapes():
            problem = problems.parse(name, "bf16")
            modes = [self.entry(name, "bf16", threads, (MODE,)) for threads in self.threads()]
            if problem.rows == 1 or any(entry and entry["option"] != "AMX" for entry in modes):
                continue
            least = MODE_BAR_LONG if problem.rows == problem.keys == 2048 else MODE_BAR
            for threads in self.threads():
                found = [self.entry(name, "bf16", threads, ways) for _, ways in MODE_COLUMNS[1:]]
                if any(found):
                    yield name, threads, least, min(entry["ratio_to_mode"][0] for entry in found if entry)

    def largest_errors(self, number_type):
        """By way, over all problems."""
        found = {}
        for (_, own, _), result in self.results.items():
            for way, entry in result["entries"].items() if own == number_type else ():
                found[way] = max(found.get(way, 0.0), entry["error"])
        return found


def together(paths):
    """Runs as one document, each result from the last run that has it; the first run names machine and libraries."""
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    results = {(r["name"], r["type"], r["threads"]): r for document in documents for r in document["results"]}
    whole = documents[0] | {"results": list(results.values())}
    whole["context"]["others_share"] = max(document["context"]["others_share"] for document in documents)
    whole["context"]["runs"] = sum(document["context"].get("runs", 1) for document in documents)
    return whole


def label(name):
    problem = problems.parse(name, "f32")
    heads = f"{problem.heads} heads" + (f" over {problem.kv_heads}" if problem.heads != problem.kv_heads else "")
    rule = {problems.WINDOW: f"window of {problem.left}",
            problems.CHUNKS: f"chunks of {problem.chunk}, {problem.left} left"}.get(problem.rule, problem.rule)
    sizes = f"S {problem.keys}"
    if problem.lengths:
        sizes = f"{len(problem.lengths)} packed, S {min(problem.lengths)}–{max(problem.lengths)}"
    elif problem.rows != problem.keys:
        sizes = f"{problem.rows} row{'s' if problem.rows > 1 else ''}, {sizes}"
    batch = f"batch {problem.batch}, " if problem.batch > 1 else ""
    first = ", rows before heads" if problem.rows_first else ""
    return f"{batch}{heads}, {sizes}, D {problem.dim}{first}, {rule}"


def ratio_cell(entries, ratio="ratio"):
    """'1.25 / 1.30', ratios below 1 in bold; empty if the library does not offer the problem."""
    texts = []
    for entry in entries:
        text = "–" if entry is None else f"{entry[ratio][0]:.2f}"
        texts.append(f"**{text}**" if entry and entry[ratio][0] < 1 else text)
    return "" if not any(entries) else " / ".join(texts)


def table(run, number_type):
    threads = run.threads()
    counted = " / ".join(str(n) for n in threads)
    lines = [f"**{number_type}**, {counted} thread{'s' if counted != '1' else ''}", "",
             "| | Fovea, GFLOP/s | " + " | ".join(title for title, _, _ in COLUMNS) + " |",
             "|---|--:|" + "--:|" * len(COLUMNS)]
    for name in run.names(number_type):
        cells = [label(name), " / ".join(f"{run.speed(name, number_type, n):.0f}" for n in threads)]
        cells += [ratio_cell([run.entry(name, number_type, n, ways) for n in threads]) for _, ways, _ in COLUMNS]
        lines.append("| " + " | ".join(cells) + " |")
    return lines + [""]


def mode_table(run):
    """bf16 mode of Fovea, for bf16: the other modes' and libraries' time over its own."""
    names, threads = run.mode_shapes(), run.threads()
    if not names:
        return []
    on = {entry["option"] for name in names for n in threads if (entry := run.entry(name, "bf16", n, (MODE,)))}
    counted = " / ".join(str(n) for n in threads)
    lines = [f"**bf16, Fovea in bf16 mode** (by {' and '.join(sorted(on))}), {counted} threads", "",
             "| | bf16 mode, GFLOP/s | " + " | ".join(title for title, _ in MODE_COLUMNS) + " |",
             "|---|--:|" + "--:|" * len(MODE_COLUMNS)]
    for name in names:
        speeds = [f"{run.results[name, 'bf16', n]['flops'] / entry['milliseconds'][0] * 1e-6:.0f}"
                  if (entry := run.entry(name, "bf16", n, (MODE,))) else "–" for n in threads]
        cells = [label(name), " / ".join(speeds)]
        cells += [ratio_cell([run.entry(name, "bf16", n, ways) for n in threads], "ratio_to_mode")
                  for _, ways in MODE_COLUMNS]
        lines.append("| " + " | ".join(cells) + " |")
    return lines + [""]


def agreement(run):
    """Errors by library, and the results that do not agree."""
    types = run.types()
    errors = {number_type: run.largest_errors(number_type) for number_type in types}
    ways = list(dict.fromkeys(way for found in errors.values() for way in found))
    lines = ["| error against float64, largest of all | " + " | ".join(types) + " |", "|---|" + "--:|" * len(types)]
    for way in ways:
        peer, what = way.split("/")
        title = LIBRARIES[peer] + {OURS: "", MODE: ", bf16 mode"}.get(way, f" {what}")
        cells = [f"{errors[t][way]:.1e}" if way in errors[t] else "" for t in types]
        lines.append("| " + " | ".join([title, *cells]) + " |")
    lines.append("| tolerated | " + " | ".join(f"{problems.TOLERANCE[t]:.0e}" for t in types) + " |")
    wrong = [f"`{way}` in {t}" for t in types for way, error in errors[t].items() if error > problems.TOLERANCE[t]]
    return lines + ["", "Beyond that: " + ", ".join(wrong) + "." if wrong else "All agree.", ""]


def markdown(run):
    versions = ", ".join(f"{LIBRARIES[peer]} {version}" for peer, version in run.context["versions"].items())
    instructions = ", ".join(run.context["instructions"])
    lines = [f"{run.context['cpu']}, {run.context['num_cpus']} cores ({instructions}), {run.date}. {versions}.", "",
             "A number is how many times as long the other takes; below 1 it is ahead. Medians of interleaved rounds"
             + (f", of {run.context['runs']} runs." if run.context.get("runs", 1) > 1 else "."), ""]
    for number_type in run.types():
        lines += table(run, number_type)
    lines += mode_table(run)
    behind = run.behind()
    count = sum(way not in (OURS, MODE) for result in run.results.values() for way in result["entries"])
    lines += [f"Fovea is ahead in {count - len(behind)} of {count} comparisons.", ""]
    lines += agreement(run)
    busy = run.context.get("others_share", 0)
    if busy > 0.02:
        lines += [f"Other programs took up to {100 * busy:.0f} % of the machine meanwhile.", ""]
    return "\n".join(lines)


def plot(run, path):
    """Ratios as points, on a scale of doublings: a panel for each type, full for the fewest threads."""
    import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "fovea", "svg.fonttype": "none", "font.size": 8})
    from matplotlib import pyplot

    types, threads = run.types(), run.threads()
    rows = [len(run.names(t)) for t in types]
    figure, panels = pyplot.subplots(len(types), 1, sharex=True, squeeze=False, figsize=(8.5, 0.24 * sum(rows) + 1.4),
                                     gridspec_kw={"height_ratios": rows, "hspace": 0.12})
    for axes, number_type in zip(panels[:, 0], types):
        names = run.names(number_type)
        for title, ways, colour in COLUMNS:
            for n in threads:
                found = [(run.entry(name, number_type, n, ways), row) for row, name in enumerate(names)]
                places = [(entry["ratio"][0], row) for entry, row in found if entry]
                axes.plot([x for x, _ in places], [y for _, y in places], "o", markersize=4, color=colour,
                          fillstyle="full" if n == threads[0] else "none", label=title if n == threads[0] else None)
        axes.axvline(1, color="black", linewidth=0.8)
        axes.set_yticks(range(len(names)), [label(name) for name in names])
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_ylabel(number_type)
        axes.grid(axis="y", linewidth=0.3)
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:g}")
    counted = f"full: {threads[0]} thread, open: {threads[-1]}" if len(threads) > 1 else f"{threads[0]} thread"
    panels[-1, 0].set_xlabel(f"time of the other over Fovea's ({counted}); "
                             f"right of 1 Fovea is ahead ({run.context['cpu']}, {run.date})")
    handles = {text: handle for axes in panels[:, 0] for handle, text in zip(*axes.get_legend_handles_labels())}
    panels[0, 0].legend(handles.values(), handles, loc="lower center", bbox_to_anchor=(0.3, 1.0), ncol=5, frameon=False)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None} if str(path).endswith(".svg") else None)


def bars_of(run):
    """(what, measured, bar, whether it is reached): bf16 mode on AMX beside the faster of the others in bf16."""
    for name, threads, least, ratio in run.mode_bars():
        what = f"bf16 mode: {label(name)}, {kept.threads_in_words(threads)}"
        yield what, f"{ratio:.2f} x", f">= {least:.1f}", ratio >= least


def keep(run):
    """The run and its plot in bench/results."""
    types = run.types()
    only = f"{types[0]}-" if len(types) == 1 else ""
    path = kept.RESULTS / f"peers-{only}{measurements.Run(run.date, run.context).cpu_slug}.json"
    kept.save(run.document, path)
    plot(run, path.with_suffix(".svg"))
    if run.short():
        plot(run.short(), path.with_name(f"{path.stem}-short.svg"))
    kept.write_pages()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path, nargs="+", help="JSON of measure.py, or a kept run")
    parser.add_argument("--plot", type=pathlib.Path, help="draw the plot there (.svg, .png)")
    kept.add_options(parser)
    arguments = parser.parse_args()
    run = Comparison(together(arguments.run))
    if arguments.bars:
        kept.print_bars(bars_of(run))
    print(markdown(run))
    if arguments.plot:
        plot(run, arguments.plot)
    if arguments.keep:
        keep(run)


if __name__ == "__main__":
    main()
