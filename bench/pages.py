#!/usr/bin/env python3
"""Writes every page that is made from the kept runs: bench/results/<run>.md, the list of runs, the bars, and what
stands between markers in README.md and docs.

    pages.py            writes them
    pages.py --check    writes nothing, names the pages that are not what the runs give, and ends with status 1

Every script that keeps a run calls this. Plots are drawn when a run is kept: they need matplotlib, the pages do not.
"""

import argparse
import json
import re
import subprocess
import sys

import summary
from kept import RESULTS, ROOT
from kinds import kind_of

# Runs of other libraries that stand on the page of a run of fovea_bench.
ON_ANOTHER_PAGE = ("patterns-peers-", "variants-peers-")
WRITTEN = "<!-- Written by bench/pages.py from {}. -->"
BLOCK = re.compile(r"(<!-- (\w+): begin, written by bench/pages\.py -->\n).*?(<!-- \2: end -->)", re.DOTALL)


def runs():
    """(path, kind) of every kept run with a page of its own."""
    paths = (path for path in sorted(RESULTS.glob("*.json")) if not path.name.startswith(ON_ANOTHER_PAGE))
    return [(path, kind_of(path)) for path in paths if kind_of(path).script]


def output_of(path, script, *options):
    """What the script prints of a run. Status 1 says that a bar is missed."""
    program, *arguments = script.split()
    kind = path.name.split("-")[0]
    peers = path.with_name(path.name.replace(f"{kind}-", f"{kind}-peers-", 1))
    if f"{kind}-peers-" in ON_ANOTHER_PAGE and peers.exists():
        options += ("--peers", str(peers))
    done = subprocess.run([sys.executable, "-B", str(ROOT / "bench" / program), *arguments, str(path), *options],
                          capture_output=True, text=True, check=False)
    if done.returncode > ("--bars" in options) or not done.stdout:
        sys.exit(f"pages.py: {program} failed for {path.name}\n{done.stderr}")
    return done.stdout.strip() + "\n"


def page_of(path, kind):
    plot = path.with_suffix(".svg")
    pictures = [f"![{kind.title}]({plot.name})"] if plot.exists() else []
    return "\n\n".join([f"# {kind.title}", WRITTEN.format(path.name), kind.introduction, *pictures,
                        output_of(path, kind.script)])


def head(path):
    """CPU and date."""
    document = json.loads(path.read_text(encoding="utf-8"))
    return document.get("context", document)["cpu"], document["date"]


def list_of_runs(found):
    lines = ["# Kept runs", "", WRITTEN.format("all runs"), "",
             "Each run is a JSON file and a page of all that it measured. [docs/benchmarks.md](../../docs/benchmarks.md) "
             "shows what matters most, [bars.md](bars.md) what fell short of its aim, [bench](../README.md) how to "
             "measure and to keep a run.", "", "| run | CPU | date |", "|---|---|---|"]
    for path, kind in found:
        lines.append("| " + " | ".join([f"[{kind.title}]({path.with_suffix('.md').name})", *head(path)]) + " |")
    lines += ["", "`accuracy-*.json` are behind the tables of errors in "
                  "[docs/numerics.md](../../docs/numerics.md#16-modes-with-other-arithmetic) and "
                  "[docs/layers.md](../../docs/layers.md#linear-layers)."]
    return "\n".join(lines) + "\n"


def list_of_bars(found):
    """Of every run that has bars."""
    parts = ["# Bars", WRITTEN.format("all runs"),
             "A bar is a speed that Fovea aims at, for developers: users are promised none. `bench/bars.py` and the "
             "scripts of `bench/peers` hold the bars; [findings](../findings.md) says why some are missed."]
    for path, kind in found:
        if kind.bars:
            cpu, date = head(path)
            parts += [f"## {kind.title}: {cpu}, {date}", output_of(path, kind.script, "--bars").strip()]
    return "\n\n".join(parts) + "\n"


def filled(text):
    """A page with what belongs between its markers: nothing if no run has it."""
    def written(block):
        made = getattr(summary, block[2])()
        return f"{block[1]}\n{made}\n\n{block[3]}" if made else f"{block[1]}{block[3]}"
    return BLOCK.sub(written, text)


def pages():
    """Text of every page by its path."""
    found = runs()
    made = {path.with_suffix(".md"): page_of(path, kind) for path, kind in found}
    made[RESULTS / "README.md"] = list_of_runs(found)
    made[RESULTS / "bars.md"] = list_of_bars(found)
    for path in (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))):
        text = path.read_text(encoding="utf-8")
        if BLOCK.search(text):
            made[path] = filled(text)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, and say what is not as the runs give it")
    arguments = parser.parse_args()
    made = pages()
    wrong = [path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    stale = [path for path in RESULTS.glob("*.md") if path not in made]
    if arguments.check:
        for path in wrong + stale:
            print(f"{path.relative_to(ROOT)} is not what bench/pages.py makes of the kept runs")
        sys.exit(1 if wrong or stale else 0)
    for path in wrong:
        path.write_text(made[path], encoding="utf-8")
    for path in stale:
        path.unlink()


if __name__ == "__main__":
    main()
