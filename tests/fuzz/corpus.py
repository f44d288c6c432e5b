#!/usr/bin/env python3
"""The kept inputs of a fuzz target, in corpus/<target>.hex: one input a line, in the order of their SHA-1.

corpus.py list TARGET              prints the name that extracting gives each input, its size, and its first bytes
corpus.py extract TARGET FOLDER    writes each input to a file of FOLDER, as libFuzzer wants them
corpus.py add TARGET FILE...       adds files; of a folder, all of its files
corpus.py replace TARGET FILE...   keeps these files, and nothing else
"""

import hashlib
import pathlib
import sys

KEPT = pathlib.Path(__file__).parent / "corpus"


def name_of(data):
    return hashlib.sha1(data).hexdigest()


def read(target):
    path = KEPT / f"{target}.hex"
    if not path.exists():
        sys.exit(f"corpus.py: {path} is not there. Targets: {', '.join(sorted(p.stem for p in KEPT.glob('*.hex')))}")
    return [bytes.fromhex(line) for line in path.read_text().splitlines()]


def write(target, inputs):
    lines = [data.hex() + "\n" for data in sorted(set(inputs), key=name_of)]
    (KEPT / f"{target}.hex").write_text("".join(lines))
    print(f"{target}: {len(lines)} inputs")


def files_of(names):
    for path in map(pathlib.Path, names):
        yield from sorted(p for p in path.iterdir() if p.is_file()) if path.is_dir() else [path]


def extract(target, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for data in read(target):
        (folder / name_of(data)).write_bytes(data)


def main():
    verb, target, *names = sys.argv[1:] if len(sys.argv) > 2 else [None, None]
    if verb == "list" and not names:
        for data in read(target):
            print(name_of(data), len(data), data[:16].hex())
    elif verb == "extract" and len(names) == 1:
        extract(target, names[0])
    elif verb == "add" and names:
        write(target, read(target) + [path.read_bytes() for path in files_of(names)])
    elif verb == "replace" and names:
        write(target, [path.read_bytes() for path in files_of(names)])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
