#!/usr/bin/env python3
"""Plants bugs, one at a time, and tells which test finds each: a measure of what tests are worth.

    tests/mutants.py [--count 40] [--seed 1] [--only src/cache] [--preset aarch64] [--long] [--out mutants.json]

A mutant is one changed operator, number, call or lost statement in src, arch or nn, drawn by the seed; another seed draws
others. It is planted in a copy of HEAD in build/mutants, built by a preset, and tested until the first test fails. Mutants that do not compile are drawn again. A mutant that no test finds may be a change without effect on any
result, as of a size that only matters for speed: look at each. --long gives tests their long sizes.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPY = ROOT / "build/mutants"
SWAPS = [
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
    (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " + "), (r" / ", " * "), (r" % ", " / "),
    (r" && ", " || "), (r" \|\| ", " && "), (r" & ", " | "), (r" \+= ", " -= "), (r"\+\+", "--"), (r"!", ""),
    (r"\b0\b", "1"), (r"\b1\b", "2"), (r"\b1\b", "0"), (r"\b([2-9]|[1-9][0-9]+)\b", r"(\1 + 1)"),
    (r"\bvec_max\b", "vec_min"), (r"\bvec_min\b", "vec_max"), (r"\bvec_add\b", "vec_sub"), (r"\bvec_sub\b", "vec_add"),
    (r"\bvec_fma\b", "vec_fnma"), (r"\bvec_mul\b", "vec_add"), (r"\bvec_and\b", "vec_or"), (r"\btrue\b", "false"),
    (r"\bmin\b", "max"), (r"\bmax\b", "min"), (r"\bcontinue;", ";"), (r"\bbreak;", ";"),
]  # fmt: skip
LOST = re.compile(r"^(\s+)([a-z_][\w.>\[\]-]*( [-+|&*]?= |\().*;)$")  # a statement, which is left out


def sources(only):
    """The files that mutants are planted in; without a choice, none of other systems and instruction sets."""
    names = subprocess.run(["git", "ls-files", "src", "arch", "nn"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in names.stdout.splitlines():
        foreign = not only and re.search("windows|macos|apple|neon|amx", name)
        if name.endswith((".c", ".h")) and name.startswith(only) and not foreign:
            yield name


def changes_of(line):
    code = line.split("/*")[0].split("//")[0]
    if not line.startswith(" ") or code.lstrip().startswith(("#", "*", "static const", '"')):
        return
    for pattern, new in SWAPS:
        for match in re.finditer(pattern, code):
            if '"' not in code[: match.start()]:
                yield line[: match.start()] + match.expand(new) + line[match.end() :]
    match = LOST.match(code.rstrip())
    if match and not re.match(r"\s*(return|const|int|size_t|fovea_\w+ \w+ =)", code):
        yield match[1] + ";"


def draw(dice, files):
    name = dice.choice(files)
    lines = (ROOT / name).read_text().splitlines()
    places = [(number, change) for number, line in enumerate(lines) for change in changes_of(line)]
    if not places:
        return None
    number, change = dice.choice(places)
    return {"file": name, "line": number + 1, "old": lines[number].strip(), "new": change.strip(), "text": change}


def run(*command, **options):
    return subprocess.run(command, cwd=COPY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def failed_test(log):
    match = re.search(r"Test +#\d+: (\S+) \.*\*\*\*(?!Skipped)(\S+)", log) or re.search(r": (\S+) \.+\*\*\*(?!Skipped)(\w+)", log)
    return f"{match[1]} ({match[2].lower()})" if match else "?"


def try_mutant(mutant, preset, environment):
    """Sets what finds it: the compiler's warnings, or a test. None: it does not compile."""
    path = COPY / mutant["file"]
    whole = path.read_text()
    lines = whole.splitlines()
    lines[mutant["line"] - 1] = mutant["text"]
    path.write_text("\n".join(lines) + "\n")
    try:
        built = run("cmake", "--build", "--preset", preset)
        if built.returncode != 0:
            return "compiler" if re.search(r"\[-Werror=", built.stdout) else None
        tested = run("ctest", "--preset", preset, "--stop-on-failure", "--timeout", "120", env=environment)
        return "" if tested.returncode == 0 else failed_test(tested.stdout)
    finally:
        path.write_text(whole)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="the beginning of the names of files")
    parser.add_argument("--preset", default="test")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--out", help="a file for the results, as JSON")
    options = parser.parse_args()

    COPY.mkdir(parents=True, exist_ok=True)
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", COPY], input=archive.stdout, check=True)
    environment = {**os.environ, "CTEST_PARALLEL_LEVEL": str(os.cpu_count()), "OMP_WAIT_POLICY": "passive"}
    if options.long:
        environment["FOVEA_TEST_LONG"] = "1"
    (COPY / "build").mkdir(exist_ok=True)
    for sysroot in (ROOT / "build").glob("*-sysroot"):  # of other systems, where `./run test` made them
        if not (COPY / "build" / sysroot.name).exists():
            (COPY / "build" / sysroot.name).symlink_to(sysroot)
    preset = options.preset
    if run("cmake", "--preset", preset).returncode or run("cmake", "--build", "--preset", preset).returncode:
        sys.exit("mutants.py: HEAD does not build")

    dice, files, mutants = random.Random(options.seed), list(sources(options.only)), []
    while len(mutants) < options.count:
        mutant = draw(dice, files)
        found = try_mutant(mutant, preset, environment) if mutant else None
        if found is None:
            continue
        mutant["found"] = found
        del mutant["text"]
        mutants.append(mutant)
        print(f"{mutant['file']}:{mutant['line']}: {mutant['old']} -> {mutant['new']}: {found or 'not found'}", flush=True)
        if options.out:
            pathlib.Path(options.out).write_text(json.dumps(mutants, indent=1) + "\n")
    for name, count in collections.Counter(mutant["found"] or "not found" for mutant in mutants).most_common():
        print(f"{count:4} {name}")


if __name__ == "__main__":
    main()
