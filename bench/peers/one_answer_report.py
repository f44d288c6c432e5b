#!/usr/bin/env python3
"""A table of a sentence model with and without one_answer(), from a run of one_answer.py.

    one_answer_report.py run.json           the table (Markdown) on stdout
    one_answer_report.py run.json --keep    also keeps the run in bench/results
    one_answer_report.py run.json --bars    the bars that the run missed, in place of the table
"""

import report
from report import kept

ALONE, ONE_ANSWER = "torch/alone", "torch/one_answer"
LEAST = 1.0  # PyTorch's time alone over the time with one_answer()


def bars_of(document):
    """(what, measured, bar, whether it is reached)."""
    for result in document["results"]:
        ratio = result["entries"][ALONE]["ratio"][0]
        what = f"{result['name']}, {kept.threads_in_words(result['threads'])}"
        yield what, f"{ratio:.2f} x", f">= {LEAST:.1f}", ratio >= LEAST


def cells(result):
    entries = result["entries"]
    ratio, spread, _ = entries[ALONE]["ratio"]
    text = f"{ratio:.2f}" if ratio >= LEAST else f"**{ratio:.2f}**"
    return [f"{entries[way]['milliseconds'][0]:.4g}" for way in (ALONE, ONE_ANSWER)] + [f"{text} ± {50 * spread:.0f} %"]


def markdown(document):
    context = document["context"]
    versions = ", ".join(f"{report.LIBRARIES[name]} {version}" for name, version in context["versions"].items())
    lines = [f"{context['cpu']}, {context['num_cpus']} cores, {document['date']}, {context['clock']}. {versions}.", "",
             "Medians of interleaved rounds; ± is half of the middle half of the rounds.", "",
             "| | threads | PyTorch alone, ms | one_answer(), ms | x |", "|---|--:|--:|--:|--:|"]
    for result in document["results"]:
        lines.append("| " + " | ".join([result["name"], str(result["threads"]), *cells(result)]) + " |")
    if context["others_share"] > 0.02:
        lines += ["", f"Other programs took {100 * context['others_share']:.0f} % of the machine meanwhile."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    kept.tell(__doc__, "one_answer-peers", bars_of, markdown)
