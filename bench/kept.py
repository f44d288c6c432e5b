"""What scripts that keep a run share: the folder, two options, how bars are printed, the pages made from runs."""

import argparse
import json
import pathlib
import subprocess
import sys

import measurements

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"


def add_options(parser):
    parser.add_argument("--keep", action="store_true", help="keep the run in bench/results, and make all pages again")
    parser.add_argument("--bars", action="store_true", help="print which bars are missed; the status is 1 if any is")


def threads_in_words(count):
    return "1 thread" if count == 1 else f"{count} threads"


def bars_in_words(bars):
    """Markdown: how many of the bars (what, measured, bar, whether it is reached) are reached, and the others."""
    bars = list(bars)
    if not bars:
        return "The run measured nothing that has a bar.\n"
    missed = [bar for bar in bars if not bar[3]]
    lines = [f"{len(bars) - len(missed)} of {len(bars)} bars are reached."]
    if missed:
        lines += ["", "| missed | measured | bar |", "|---|--:|--:|"]
        lines += [f"| {what} | {measured} | {bar} |" for what, measured, bar, _ in missed]
    return "\n".join(lines) + "\n"


def print_bars(bars):
    """Ends with status 1 if one is missed."""
    bars = list(bars)
    print(bars_in_words(bars), end="")
    sys.exit(0 if all(bar[3] for bar in bars) else 1)


def write_pages():
    """A process of its own, since modules of bench and of bench/peers have the same names."""
    subprocess.run([sys.executable, "-B", str(ROOT / "bench" / "pages.py")], check=True)


def save(document, path):
    """Date, context and results, a line for each result."""
    head = {key: document[key] for key in ("date", "context")}
    lines = ",\n".join("    " + json.dumps(result) for result in document["results"])
    path.write_text(json.dumps(head, indent=2)[:-2] + ',\n  "results": [\n' + lines + "\n  ]\n}\n", encoding="utf-8")


def tell(description, kind, bars_of, markdown, together=None):
    """The command of a report on runs that save() wrote: tells a run, or several `together`, and keeps it as
    <kind>-<cpu>.json if it is to."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path, nargs="+" if together else 1, help="JSON of a run")
    add_options(parser)
    arguments = parser.parse_args()
    document = together(arguments.run) if together else json.loads(arguments.run[0].read_text(encoding="utf-8"))
    if arguments.bars:
        print_bars(bars_of(document))
    print(markdown(document).removesuffix("\n"))
    if arguments.keep:
        slug = measurements.Run(document["date"], document["context"]).cpu_slug
        save(document, RESULTS / f"{kind}-{slug}.json")
        write_pages()
