#!/usr/bin/env python3
"""Tables of layers by Fovea and its peers, from the runs that layers.py wrote.

    layers_report.py run.json [more.json ...]          tables (Markdown) on stdout
    layers_report.py run.json [more.json ...] --keep   also keeps the run in bench/results
    layers_report.py run.json [more.json ...] --bars   the bars that the run missed, in place of the tables

Of several runs, each result comes from the last run that has it.
"""

import layer_problems
import report
from report import kept
from layer_problems import ADDITIVE, GELU, LINEAR, MINILM, ROW, SILU

OURS = "fovea/layers"
# Columns, of which a table has those that its results have.
TITLES = (("fovea/exact", "exact mode"), ("fovea/f16", "Fovea over f16"), ("torch/layers", "PyTorch"),
          ("onnxruntime/layers", "ONNX Runtime"), ("openvino/layers", "OpenVINO"), ("openblas/layers", "OpenBLAS"),
          ("ggml/layers", "ggml"))
HEADINGS = {
    "f32": "**f32**",
    "bf16": "**bf16 mode**: x, weights and outputs in bf16",
    "int8": "**int8 mode**: x and outputs in f32; each library quantises x and weights in its own way",
    "q8_0": "**One row over weights in q8_0**, through as many layers as take 512 MB; times are of one",
    "q4_0": "**One row over weights in q4_0**, through as many layers as take 512 MB; times are of one",
}
# kind: (libraries that count, least ratio): the fastest of them takes this many times as long as Fovea, in f32
BARS = {
    LINEAR: (("torch/layers",), 0.95),
    GELU: (("torch/layers", "onnxruntime/layers"), 1.5),
    SILU: (("torch/layers", "onnxruntime/layers"), 1.5),
    ADDITIVE: (("torch/layers",), 4.0),
    MINILM: (("torch/layers", "onnxruntime/layers", "openvino/layers"), 1.2),
}


def problem_of(result):
    return layer_problems.parse(result["name"], result["type"])


def cell(entry):
    if entry is None:
        return ""
    ratio, spread, rounds = entry["ratio"]
    text = f"**{ratio:.2f}**" if ratio < 1 else f"{ratio:.2f}"
    return f"{text} ± {100 * spread / 2:.0f} %, {entry['option']}" if rounds > 1 else f"{text}, {entry['option']}"


def bars_of(document):
    """(what, measured, bar, whether it is reached) where a library that counts ran."""
    for result in document["results"]:
        if result["type"] != "f32":
            continue
        peers, least = BARS[problem_of(result).kind]
        ratios = [result["entries"][peer]["ratio"][0] for peer in peers if peer in result["entries"]]
        if ratios:
            what = f"{result['name']}, {kept.threads_in_words(result['threads'])}"
            yield what, f"{min(ratios):.2f} x", f">= {least:.2f}", min(ratios) >= least


def speed(result):
    milliseconds = result["entries"][OURS]["milliseconds"][0]
    problem = problem_of(result)
    if problem.kind == ROW:
        return f"{problem.weight_bytes / milliseconds * 1e-6:.1f} GB/s"
    return f"{result['flops'] / milliseconds * 1e-6:.0f} GFLOP/s" if problem.kind in (LINEAR, MINILM) else ""


def by_type(document):
    found = {}
    for result in document["results"]:
        found.setdefault(result["type"], []).append(result)
    return found


def table(results):
    titles = [(way, title) for way, title in TITLES if any(way in result["entries"] for result in results)]
    lines = ["| | threads | Fovea, ms | | " + " | ".join(title for _, title in titles) + " |",
             "|---|--:|--:|--:|" + "---|" * len(titles)]
    for result in results:
        cells = [result["name"], str(result["threads"]), f"{result['entries'][OURS]['milliseconds'][0]:.4g}",
                 speed(result), *(cell(result["entries"].get(way)) for way, _ in titles)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def tables(document):
    found = by_type(document)
    lines = []
    for type_name, results in found.items():
        ways = {result["entries"][OURS]["option"] for result in results} if type_name in ("bf16", "int8") else ()
        by = f" (by {' and '.join(sorted(ways))})" if ways else ""
        lines += [HEADINGS[type_name] + by + ".", ""] if len(found) > 1 else []
        lines += [*table(results), ""]
    return lines


def errors(results, type_name):
    """The largest of each library, and what is beyond the tolerance."""
    worst = {}
    for result in results:
        for way, entry in result["entries"].items():
            worst[way] = max(worst.get(way, 0.0), entry["error"])
    titles = dict(TITLES) | {OURS: report.LIBRARIES["fovea"]}
    texts = [f"{titles[way]} {error:.1e}" for way, error in worst.items()]
    wrong = [way for way, error in worst.items() if error > layer_problems.TOLERANCE[type_name]]
    return ["Errors against float64, largest of all: " + ", ".join(texts) + ".",
            "Beyond what is tolerated: " + ", ".join(wrong) + "." if wrong else "All agree."]


def all_errors(document):
    found = by_type(document)
    for type_name, results in found.items():
        lines = errors(results, type_name)
        yield from [f"{type_name}: {' '.join(lines)}", ""] if len(found) > 1 else [*lines, ""]


def markdown(document):
    context = document["context"]
    versions = ", ".join(f"{report.LIBRARIES[peer]} {version}" for peer, version in context["versions"].items())
    lines = [f"{context['cpu']}, {context['num_cpus']} cores, {document['date']}, {context['clock']}. {versions}.", "",
             "A number is how many times as long the other takes. Medians of interleaved rounds; ± is half of the "
             "middle half of the rounds.", "", *tables(document), *all_errors(document),
             f"Other programs took up to {100 * context['others_share']:.0f} % of the machine meanwhile."]
    return "\n".join(lines)


if __name__ == "__main__":
    report.tell(__doc__, "layers", bars_of, markdown, several=True)
