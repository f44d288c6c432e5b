#!/usr/bin/env python3
"""Lets whisper.cpp hear a second of silence: speech.py MODEL [--plugin FILE]

whisper.cpp is the package pywhispercpp. Its log, which names the backends that it uses, is on stderr.
"""

import argparse

import _pywhispercpp  # noqa: F401 (loads whisper.cpp and its ggml)
import numpy
from pywhispercpp.model import Model

import loading


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--plugin")
    arguments = parser.parse_args()
    if arguments.plugin:
        loading.load(arguments.plugin)
    model = Model(arguments.model, n_threads=2)
    print(len(model.transcribe(numpy.zeros(16000, numpy.float32))))


if __name__ == "__main__":
    main()
