"""What scripts that keep a run share: the folder, two options, how bars are printed, the pages made from runs."""

import pathlib
import subprocess
import sys

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
