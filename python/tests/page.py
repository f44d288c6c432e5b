"""Runs the programs of docs/python.md. As a program it also keeps the pictures that they save: page.py docs"""

import contextlib
import importlib.util
import io
import os
import pathlib
import re
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/python.md"
# Modules that a section needs, by words of its programs.
NEEDS = {"matplotlib": "heatmap.figure(", "torch": "torch.", "transformers": "import fovea.transformers"}


def sections():
    """(title, blocks) of each section; a block is ("python", text) or ("text", what the program before it prints)."""
    for section in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        yield section.split("\n", 1)[0], re.findall(r"^```(python|text)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


def missing(blocks):
    """The modules that a section needs and that are not installed."""
    program = "".join(text for kind, text in blocks if kind == "python")
    return [module for module, words in NEEDS.items() if words in program and not importlib.util.find_spec(module)]


def run(last=None):
    """Runs each program after those before it, in the current folder, up to the section of a title, or all. Returns
    their names."""
    names, printed = {}, ""
    for title, blocks in sections():
        for kind, text in blocks if not missing(blocks) else ():
            if kind == "text":
                assert printed == text, f"{title}: it prints\n{printed}"
                continue
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(text, str(PAGE), "exec"), names)  # pylint: disable=exec-used
            printed = output.getvalue()
        if title == last:
            break
    return names


def keep_pictures(folder):
    import matplotlib
    os.environ["SOURCE_DATE_EPOCH"] = "0"  # pictures have the same bytes whenever they are made
    matplotlib.rcParams["svg.hashsalt"] = "fovea"
    os.chdir(folder)
    run()


if __name__ == "__main__":
    keep_pictures(sys.argv[1])
