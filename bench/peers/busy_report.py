#!/usr/bin/env python3
"""A table of Fovea and its peers beside a busy process, from a run of busy.py.

    busy_report.py run.json           the table (Markdown) on stdout
    busy_report.py run.json --keep    also keeps the run in bench/results
    busy_report.py run.json --bars    the bars that the run missed, in place of the table
"""

import report
from report import kept

MOST = 1.25  # Fovea's time beside the busy process, over one thread alone


def way_of(result, library):
    """The library's entry, the fastest of its ways; None: it does not offer the problem."""
    found = [entry for way, entry in result["entries"].items() if way.split("/")[0] == library]
    return min(found, key=lambda entry: entry["milliseconds"][0], default=None)


def bars_of(document):
    """(what, measured, bar, whether it is reached) where Fovea had more threads than one."""
    for result in document["results"]:
        if result["threads"] > 1:
            over = way_of(result, "fovea")["over"][0]
            what = f"{result['name']}, {kept.threads_in_words(result['threads'])}"
            yield what, f"{over:.2f}", f"<= {MOST:g}", over <= MOST


def cell(entry):
    if entry is None:
        return ""
    return f"{entry['alone'][0]:.3g}, {entry['milliseconds'][0]:.3g} ({entry['over'][0]:.2f})"


def table(document):
    libraries = list(document["context"]["versions"])
    lines = ["| | threads | " + " | ".join(report.LIBRARIES[library] for library in libraries) + " |",
             "|---|--:|" + "--:|" * len(libraries)]
    for result in document["results"]:
        cells = [result["name"], str(result["threads"]), *(cell(way_of(result, library)) for library in libraries)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def markdown(document):
    context = document["context"]
    versions = ", ".join(f"{report.LIBRARIES[peer]} {version}" for peer, version in context["versions"].items())
    lines = [f"{context['cpu']}, {context['num_cpus']} CPUs shared by all, {document['date']}. {versions}.", "",
             "Milliseconds alone, beside the busy process, and in brackets the latter over one thread alone. Medians "
             "of interleaved rounds.", "", *table(document), ""]
    if context["others_share"] > 0.02:
        lines += [f"Other programs took up to {100 * context['others_share']:.0f} % of the machine meanwhile.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    kept.tell(__doc__, "busy-peers", bars_of, markdown)
