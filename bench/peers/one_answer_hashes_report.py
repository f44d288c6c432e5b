#!/usr/bin/env python3
"""A table of a sentence's hashes with and without one_answer(), from a run of one_answer_hashes.py.

    one_answer_hashes_report.py run.json           the table (Markdown) on stdout
    one_answer_hashes_report.py run.json --keep    also keeps the run in bench/results
    one_answer_hashes_report.py run.json --bars    whether all hashes of one_answer() are one
"""

import report
from report import kept

import hashes  # of bench


def bars_of(document):
    count = len(hashes.ours(document["results"]))
    yield "hashes of one_answer() and of C", str(count), "1", count == 1


def markdown(document):
    context = document["context"]
    versions = ", ".join(f"{report.LIBRARIES[name]} {version}" for name, version in context["versions"].items())
    return "\n".join([f"{context['cpu']}, {document['date']}. {versions}.", "", *hashes.lines(document), ""])


if __name__ == "__main__":
    kept.tell(__doc__, "one_answer_hashes-peers", bars_of, markdown)
