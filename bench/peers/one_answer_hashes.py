#!/usr/bin/env python3
"""SHA-256 of a sentence's vector, with and without one_answer(): one_answer_hashes.py --minilm DIR --out run.json

DIR has all-MiniLM-L6-v2 (examples/minilm/README.md says from where). The sentence is the first of
examples/minilm/golden/sentences.txt, alone and as one of 3 and 16, padded. Each instruction set has a process of its own,
in which PyTorch, MKL and Fovea are told not to use more. --c PROGRAM... adds what fovea_minilm embeds, natively or, with
--emulator, of another CPU. Takes no times. one_answer_hashes_report.py makes the table.
"""

import argparse
import datetime
import hashlib
import json
import os
import pathlib
import subprocess
import sys

import measure

import kept  # of bench, which measure finds

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MINILM = ROOT / "examples" / "minilm"
# By what Fovea calls them: what PyTorch's own kernels and MKL are told.
SETS = {"scalar": ("default", "SSE4_2"), "avx2": ("avx2", "AVX2"), "avx512": ("avx512", "AVX512")}
BATCHES, THREADS, LONGEST = (1, 3, 16), (1, 2, 3), 20  # tokens of a text, since scalar code is slow


def hash_of(vector):
    return hashlib.sha256(vector.astype("<f4").tobytes()).hexdigest()


def compute(folder):
    """Prints the hashes of this process as JSON."""
    sys.path.append(str(MINILM))
    import fovea.torch
    import torch
    import torch_model

    lines = (MINILM / "golden" / "ids.txt").read_text().splitlines()
    texts = [[int(word) for word in line.split()] for line in lines if len(line.split()) <= LONGEST]
    model, found = torch_model.read(folder), []

    def add(way):
        for threads in THREADS:
            torch.set_num_threads(threads)
            for batch in BATCHES:
                vector = model(*torch_model.padded(texts[:batch]))[0].numpy()
                found.append({"way": way, "threads": threads, "batch": batch, "sha256": hash_of(vector)})

    add("torch")
    fovea.torch.pack(model)
    with fovea.torch.one_answer():
        add("one_answer")
    print(json.dumps({"version": torch.__version__, "fovea": fovea.__version__, "results": found}))


def of_process(name, folder):
    capability, instructions = SETS[name]
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("FOVEA_", "ATEN_", "MKL_"))}
    variables = kept | {"FOVEA_ISA": name, "ATEN_CPU_CAPABILITY": capability, "MKL_ENABLE_INSTRUCTIONS": instructions}
    done = subprocess.run([sys.executable, __file__, "--compute", str(folder)], env=variables, stdout=subprocess.PIPE,
                          text=True, check=True)
    return json.loads(done.stdout)


def of_program(program, emulator, folder):
    """The hash of what the program in C embeds, whose numbers say every bit."""
    import numpy

    done = subprocess.run([*emulator.split(), str(program), "embed", str(MINILM / "golden" / "sentences.txt"), "--model",
                           str(folder)], stdout=subprocess.PIPE, text=True, check=True)
    vector = numpy.array(done.stdout.split("\n", 1)[0].split(), dtype=numpy.float64).astype(numpy.float32)
    return {"way": f"C by {emulator.split()[0]}" if emulator else "C", "sha256": hash_of(vector)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minilm", type=pathlib.Path, help="the folder of the sentence model")
    parser.add_argument("--out", type=pathlib.Path, help="where the JSON goes")
    parser.add_argument("--c", metavar="PROGRAM", type=pathlib.Path, help="fovea_minilm of this CPU")
    parser.add_argument("--emulated-c", metavar="PROGRAM", type=pathlib.Path, help="fovea_minilm of another CPU")
    parser.add_argument("--emulator", default="qemu-aarch64 -L /usr/aarch64-linux-gnu", help="what runs that")
    parser.add_argument("--compute", metavar="DIR", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.compute:
        compute(arguments.compute)
        return
    if not arguments.minilm or not arguments.out:
        parser.error("--minilm and --out are needed")
    results, versions = [], {}
    for name in SETS:
        told = of_process(name, arguments.minilm)
        versions = {"fovea": told["fovea"], "torch": told["version"]}
        results += [{"set": name, **result} for result in told["results"]]
    for program, emulator in ((arguments.c, ""), (arguments.emulated_c, arguments.emulator)):
        if program:
            results.append(of_program(program, emulator, arguments.minilm))
    document = {"date": datetime.date.today().isoformat(), "context": measure.machine() | {"versions": versions}}
    kept.save(document, arguments.out)


if __name__ == "__main__":
    main()
