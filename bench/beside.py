"""Kept runs for the pages of docs: what other libraries took beside Fovea, in words."""

import json
import re
import statistics

import measurements
from kept import RESULTS

# Columns, and their ways: of all ways that begin so, if it ends in a slash, the fastest.
PYTORCH, ORT, OPENVINO = ("PyTorch", "torch/"), ("ONNX Runtime", "onnxruntime/"), ("OpenVINO", "openvino/")
FRAMEWORKS = (PYTORCH, ORT, OPENVINO)
OPENBLAS, GGML = ("OpenBLAS", "openblas/"), ("ggml", "ggml/")


class Beside:
    """A run of bench/peers: ratios, which are times of others over Fovea's, by name, type and threads."""

    def __init__(self, path, document=None):
        """`document`, if it is not what lies at the path."""
        document = document or json.loads(path.read_text(encoding="utf-8"))
        self.page = f"../bench/results/{path.with_suffix('.md').name}"
        self.context, self.date = document["context"], document["date"]
        self.results = {(r["name"], r["type"], r["threads"]): r for r in document["results"]}
        self.threads = sorted({threads for _, _, threads in self.results})

    def ratio(self, place, way, ratio="ratio"):
        """The smallest of the way or ways. None if there is none."""
        entries = self.results[place]["entries"].items() if place in self.results else ()
        found = [entry[ratio][0] for own, entry in entries if ratio in entry
                 and (own.startswith(way) if way.endswith("/") else own == way)]
        return min(found, default=None)

    def cell(self, name, kind, way, ratio="ratio"):
        """'1.21 / 1.20', a ratio for each number of threads."""
        return slashed([self.ratio((name, kind, threads), way, ratio) for threads in self.threads])

    def milliseconds(self, name, kind, way):
        found = [self.results[name, kind, threads]["entries"][way]["milliseconds"][0] for threads in self.threads
                 if (name, kind, threads) in self.results]
        return " / ".join(f"{value:.3g}" for value in found)

    def all_ratios(self, way, chosen):
        """Of all results whose name and type are chosen."""
        found = [self.ratio(place, way) for place in self.results if chosen(*place[:2])]
        return [ratio for ratio in found if ratio is not None]

    def heading(self):
        """CPU, date, versions."""
        names = {"fovea": "Fovea", "torch": PYTORCH[0], "onnxruntime": ORT[0], "openvino": OPENVINO[0], "vllm": "vLLM",
                 "openblas": OPENBLAS[0]}
        versions = ", ".join(f"{names.get(name, name)} {version}" for name, version in self.context["versions"].items())
        return f"{cpu_in_words(self.context)}, {self.date}. {versions} ([all problems]({self.page}))."


def kept_runs(prefix):
    return [Beside(path) for path in sorted(RESULTS.glob(f"{prefix}-*.json"))]


def measured_runs(prefix):
    """(page, run) of each run of fovea_bench; runs beside other libraries have other pages."""
    for path in sorted(RESULTS.glob(f"{prefix}-*.json")):
        if "-peers-" not in path.name:
            yield f"../bench/results/{path.with_suffix('.md').name}", measurements.load(path)


def without_marks(cpu):
    return re.sub(r"\((R|TM)\)| Processor| CPU", "", cpu)


def cpu_in_words(context):
    """'Intel Xeon with AVX-512 and AMX, 2 cores'."""
    has = context.get("instructions", ())
    sets = [words for name, words in (("avx512f", "AVX-512"), ("amx_bf16", "AMX")) if name in has]
    with_sets = f" with {' and '.join(sets)}" if sets else ""
    return f"{without_marks(context['cpu'])}{with_sets}, {context['num_cpus']} cores"


def number(ratio):
    """Below 1 in bold: the other is faster."""
    text = f"{ratio:.2f}" if ratio < 10 else f"{ratio:.1f}"
    return f"**{text}**" if round(ratio, 2) < 1 else text


def slashed(ratios):
    return " / ".join(number(ratio) if ratio is not None else "–" for ratio in ratios) if any(ratios) else ""


def span(ratios):
    """'1.42 (1.17 to 8.21)': the median, the least and the most."""
    if not ratios:
        return ""
    low, high = min(ratios), max(ratios)
    return f"{number(statistics.median(ratios))} ({low:.2f} to {high:.2f})"


def table(titles, rows):
    return ["| " + " | ".join(titles) + " |", "|---|" + "--:|" * (len(titles) - 1),
            *("| " + " | ".join(row) + " |" for row in rows)]
