#!/usr/bin/env python3
"""Checks that every place that states the version states the public header's, and prints it.

    versions.py <root>                  any tree
    versions.py <root> --day YYYY-MM-DD  a release that is made from a commit of that day (UTC)
"""

import argparse
import datetime
import pathlib
import re
import sys

# What is stated, and how many of its numbers must be the header's. Measurements name the version that was measured, and
# the names of libraries and packages are checked where these are made.
STATED = [
    (re.compile(r"find_package\(fovea\w* (\d+(?:\.\d+)*)"), 2),
    (re.compile(r"\bfovea-(\d+\.\d+\.\d+)\.tar"), 3),
    (re.compile(r'^version = "(\d+\.\d+\.\d+)"'), 3),
    (re.compile(r"GIT_TAG v(\d+\.\d+\.\d+)"), 3),
]
PLACES = ["*.md", "docs/*.md", "docs/man/*", "examples/*/*.md", "examples/*/CMakeLists.txt", "python/pyproject.toml", "tests/install/**/*",
          "packaging/**/*"]


def version_of(root):
    header = (root / "include/fovea/fovea.h").read_text(encoding="utf-8")
    return ".".join(re.search(rf"^#define FOVEA_VERSION_{part} (\d+)$", header, re.MULTILINE)[1]
                    for part in ("MAJOR", "MINOR", "PATCH"))


def wrong_places(root, version):
    """A text for each place that states another version."""
    parts = version.split(".")
    for path in sorted({path for place in PLACES for path in root.glob(place) if path.is_file()}):
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            for pattern, most in STATED:
                for stated in pattern.findall(line):
                    if stated.split(".")[:most] != parts[:min(most, stated.count(".") + 1)]:
                        yield f"{path.relative_to(root)}:{number} states version {stated}, and the header {version}"


def wrong_headings(root, version, day):
    """What is wrong with the first heading of the change log. Only a release needs a date."""
    log = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = re.search(r"^## (.*)$", log, re.MULTILINE)
    heading = heading[1] if heading else ""
    if version not in re.findall(r"\d+\.\d+\.\d+", heading):
        yield f"CHANGELOG.md begins with '{heading}', and not with {version}"
    elif day:
        stated = re.search(r"\d{4}-\d{2}-\d{2}", heading)
        if not stated:
            yield f"CHANGELOG.md has '{heading}' without a date: write the day of the release, {day}"
        elif abs((datetime.date.fromisoformat(stated[0]) - day).days) > 1:  # a day is not the same day everywhere
            yield f"CHANGELOG.md has the date {stated[0]}, and the commit the day {day}: write the day of the release"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--day", type=datetime.date.fromisoformat)
    arguments = parser.parse_args()
    version = version_of(arguments.root)
    wrong = [*wrong_places(arguments.root, version), *wrong_headings(arguments.root, version, arguments.day)]
    if wrong:
        sys.exit("\n".join(wrong))
    print(version)


if __name__ == "__main__":
    main()
