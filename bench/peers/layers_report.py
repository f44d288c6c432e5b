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
from layer_problems import ADDITIVE, GELU, LAYER_NORM, LINEAR, MINILM, RMS_NORM, ROW, SILU, SOFTMAX

OURS = "fovea/layers"
# Columns, of which a table has those that its results have.
TITLES = (("fovea/exact", "exact mode"), ("fovea/f32", "exact mode, in f32"), ("fovea/int8", "int8 mode"),
          ("fovea/f16", "Fovea over f16"), ("torch/layers", "PyTorch"),
          ("onnxruntime/layers", "ONNX Runtime"), ("openvino/layers", "OpenVINO"), ("openblas/layers", "OpenBLAS"),
          ("ggml/layers", "ggml"))
HEADINGS = {
    "f32": "**f32**",
    "bf16": "**bf16 mode**: x, weights and outputs in bf16",
    "int8": "**int8 mode**: x and outputs in f32; each library quantises x and weights in its own way",
    "q8_0": "**One row over weights in q8_0**, through as many layers as take 512 MB; times are of one",
    "q4_0": "**One row over weights in q4_0**, through as many layers as take 512 MB; times are of one",
}
# (kind, type): ways, and how many times as long as Fovea each is to take at least
BARS = {
    (LINEAR, "f32"): {"torch/layers": 1.0, "onnxruntime/layers": 0.97, "openvino/layers": 0.97},
    (GELU, "f32"): {"torch/layers": 1.5, "onnxruntime/layers": 1.5},
    (SILU, "f32"): {"torch/layers": 1.5, "onnxruntime/layers": 1.5},
    **{(kind, "f32"): {"torch/layers": 1.0, "onnxruntime/layers": 1.0} for kind in (LAYER_NORM, RMS_NORM, SOFTMAX)},
    (ADDITIVE, "f32"): {"torch/layers": 4.0},
    (MINILM, "f32"): {"torch/layers": 1.0, "onnxruntime/layers": 1.05, "openvino/layers": 0.95},
    (LINEAR, "bf16"): {"fovea/f32": 1.6},
    (LINEAR, "int8"): {"fovea/exact": 3.0},
    (ROW, "q8_0"): {"fovea/f16": 1.7},
    (ROW, "q4_0"): {"fovea/f16": 3.0},
}
BF16_ON_AMX = 5.0
MODE_ROWS = 512  # for which modes have bars
INT8 = "fovea/int8"  # which one row's bars are for, too
# PyTorch with weights packed beforehand, or with few outputs
TORCH_AT_BEST, FEW_OUTPUTS = 0.95, 384


def problem_of(result):
    return layer_problems.parse(result["name"], result["type"])


def cell(entry):
    if entry is None:
        return ""
    ratio, spread, rounds = entry["ratio"]
    text = f"**{ratio:.2f}**" if ratio < 1 else f"{ratio:.2f}"
    return f"{text} ± {100 * spread / 2:.0f} %, {entry['option']}" if rounds > 1 else f"{text}, {entry['option']}"


def bars_of_result(result):
    """(way, least ratio)"""
    problem, entries = problem_of(result), result["entries"]
    for way, least in BARS[problem.kind, problem.type].items():
        if problem.type in ("bf16", "int8") and problem.sizes[0] != MODE_ROWS:
            continue
        if problem.type == "bf16" and entries[OURS]["option"] == "AMX":
            least = BF16_ON_AMX
        if problem.kind == LINEAR and way == "torch/layers" and way in entries:
            is_packed = entries[way]["option"].endswith("packed")
            least = TORCH_AT_BEST if is_packed or problem.sizes[-1] <= FEW_OUTPUTS else least
        yield way, least


def bars_of(document):
    """(what, measured, bar, whether it is reached) of what ran. Older runs of bf16 mode have only exact mode in bf16."""
    for result in document["results"]:
        entries = result["entries"]
        for way, least in bars_of_result(result):
            way = "fovea/exact" if way == "fovea/f32" and way not in entries else way
            if way not in entries:
                continue
            what = f"{result['name']}, {result['type']}, {kept.threads_in_words(result['threads'])}"
            ratios = {"": entries[way]["ratio"][0]}
            if INT8 in entries:
                ratios[", int8 mode"] = entries[way]["milliseconds"][0] / entries[INT8]["milliseconds"][0]
            for mode, ratio in ratios.items():
                yield f"{what}{mode}, beside {dict(TITLES)[way]}", f"{ratio:.2f} x", f">= {least:.2f}", ratio >= least


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
    kept.tell(__doc__, "layers-peers", bars_of, markdown, report.together)
