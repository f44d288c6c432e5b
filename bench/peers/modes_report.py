#!/usr/bin/env python3
"""A table of int8 mode beside ggml with K and V in q8_0, from a run of modes.py.

    modes_report.py run.json           the table (Markdown) on stdout
    modes_report.py run.json --keep    also keeps the run in bench/results
    modes_report.py run.json --bars    the bars that the run missed, in place of the table
"""

import cache_problems
import report
from report import kept

LEAST = 3.0  # ggml over q8_0 is to take this many times as long as int8 mode
HELD = "ggml/q8_0"
OTHERS = ((HELD, "ggml, q8_0"), ("ggml/f16", "ggml, f16"))
CACHES = {"q8_0": "q8_0 as it lies", "i8_rows": "i8 with a scale a row", "f32": "f32"}


def by_name(document):
    """Results by name, each a list with one for each number of threads."""
    found = {}
    for result in document["results"]:
        found.setdefault(result["name"], []).append(result)
    return found


def bars_of(document):
    """(what, measured, bar, whether it is reached) of every way of int8 mode."""
    for result in document["results"]:
        for way, entry in result["entries"].items():
            if way.startswith("fovea/int8"):
                ratio = entry["over"][HELD][0]
                what = f"{title(way, entry)}: {report.label(result['name'])}, {kept.threads_in_words(result['threads'])}"
                yield what, f"{ratio:.1f} x", f">= {LEAST:g}", ratio >= LEAST


def title(way, entry):
    if way in dict(OTHERS):
        return dict(OTHERS)[way]
    mode, cache = way.split("/")[1].removesuffix("_on_amx").split("_of_")
    return f"{mode} mode by {entry['option']}, {CACHES[cache]}"


def joined(results, way, text_of):
    """One text for each number of threads."""
    return " / ".join(text_of(result["entries"][way]) for result in results if way in result["entries"])


def error_text(results):
    """The largest, bold if it is beyond the format's tolerance."""
    def text_of(way):
        largest = max(result["entries"][way]["error"] for result in results if way in result["entries"])
        tolerance = cache_problems.FORMATS[results[0]["type"]].tolerance
        return f"**{largest:.1e}**" if largest > tolerance else f"{largest:.1e}"
    return text_of


def table(document):
    found = by_name(document)
    counted = " / ".join(str(result["threads"]) for result in next(iter(found.values())))
    ways = list(dict.fromkeys(way for result in document["results"] for way in result["entries"]))
    error_of = error_text(document["results"])
    header = [f"{report.label(name)}: ms | " + " | ".join(f"x {words}" for _, words in OTHERS) for name in found]
    lines = [f"| {counted} threads | " + " | ".join(header) + " | error |",
             "|---|" + "--:|" * ((1 + len(OTHERS)) * len(found) + 1)]
    for way in ways:
        entry = next(result["entries"][way] for result in document["results"] if way in result["entries"])
        cells = [title(way, entry)]
        for results in found.values():
            cells.append(joined(results, way, lambda entry: f"{entry['milliseconds'][0]:.4g}"))
            for other, _ in OTHERS:
                cells.append(joined(results, way, lambda entry: f"{entry['over'][other][0]:.1f}") if "over" in entry else "")
        lines.append("| " + " | ".join([*cells, error_of(way)]) + " |")
    return lines


def markdown(document):
    context = document["context"]
    versions = ", ".join(f"{peer} {version}" for peer, version in context["versions"].items())
    busy = f"Other programs took {100 * context['others_share']:.0f} % of the machine."
    lines = [f"{context['cpu']}, {context['num_cpus']} cores ({', '.join(context['instructions'])}), "
             f"{document['date']}. {versions}. {busy}",
             "", *table(document), ""]
    refused = {(way, reason) for result in document["results"] for way, reason in result["refused"].items()}
    lines += [f"`{way}`: {reason}." for way, reason in sorted(refused)] + [""] * bool(refused)
    return "\n".join(lines)


if __name__ == "__main__":
    kept.tell(__doc__, "modes-peers", bars_of, markdown)
