#!/usr/bin/env python3
"""Prints what a test needs from the build, as targets of ninja: targets_of.py <build directory> <test>"""

import difflib
import json
import pathlib
import subprocess
import sys


def main():
    build, name = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    listing = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, check=True)
    tests = {test["name"]: test.get("command", []) for test in json.loads(listing.stdout)["tests"]}
    if name not in tests:
        near = difflib.get_close_matches(name, tests, 8, 0.4) + [test for test in tests if name and name in test]
        sys.exit(f"No test is called '{name}'. " + (f"Near: {', '.join(dict.fromkeys(near))}" if near else ""))
    for word in tests[name]:
        if word.startswith(f"{build}/"):
            print(pathlib.Path(word).relative_to(build))


if __name__ == "__main__":
    main()
