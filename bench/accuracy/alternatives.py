#!/usr/bin/env python3
"""What else could be done for scores in int8: alternatives.py --stories DIR --out alternatives.json

Simulated in numpy, values exact, over the rows, texts and calibration of layers.py: what the contract does with and
without fixed vectors, and what it does not do. Of each way the worst layer's cosine and rms error, the median layer's,
and the worst head's cosine.
"""

import argparse
import json
import sys
import time

import numpy

import fixed
import layers
import reference
import subjects

BYTE, TWO_BYTES = 127, 127 * 128  # the largest code
LIVE = "live"  # the centre is the mean over the keys of this very text


class Way:
    """vectors: the letters of fixed.py that are used, or LIVE; skip: keys that the mean leaves out; turn: K and Q by a
    Hadamard matrix; group: dims that share a scale."""

    def __init__(self, vectors="", skip=0, turn=False, group=None, q_codes=BYTE, k_codes=BYTE):
        self.vectors, self.skip, self.turn, self.group = vectors, skip, turn, group
        self.q_codes, self.k_codes = q_codes, k_codes

    def attend(self, head, vectors):
        centre = head.k.mean(0) if self.vectors == LIVE else vectors.get("key_centre", 0)
        scale = vectors.get("key_scale", 1)
        q, k = head.q * scale, (head.k - centre) / scale
        if self.turn:
            q, k = (x @ fixed.hadamard(q.shape[1]) for x in (q, k))
        q, k = rounded(q, self.group, self.q_codes), rounded(k, self.group, self.k_codes)
        return reference.exact(reference.Head(q, k, head.v, head.last, head.scale))


WAYS = {
    "nothing": Way(),
    "centre": Way("c"),
    "centre, of all but the first 8 keys": Way("c", skip=8),
    "centre, of this text": Way(LIVE),
    "scale": Way("k"),
    "centre and scale": Way("ck"),
    "Hadamard": Way(turn=True),
    "centre, Hadamard": Way("c", turn=True),
    "centre and scale, Hadamard": Way("ck", turn=True),
    "groups of 32 dims": Way(group=32),
    "centre, groups of 32 dims": Way("c", group=32),
    "centre, groups of 16 dims": Way("c", group=16),
    "Q of two bytes": Way(q_codes=TWO_BYTES),
    "centre, Q of two bytes": Way("c", q_codes=TWO_BYTES),
    "centre and scale, Q of two bytes": Way("ck", q_codes=TWO_BYTES),
    "centre, K of two bytes": Way("c", k_codes=TWO_BYTES),
}


def rounded(x, group, codes):
    """To codes with a scale for each group of dims (None: the whole row), and back."""
    pieces = x.astype(numpy.float64).reshape(len(x), -1, min(group or x.shape[1], x.shape[1]))
    scale = numpy.abs(pieces).max(-1, keepdims=True) / codes
    scale[scale == 0] = 1
    return (numpy.rint(pieces / scale) * scale).reshape(x.shape)


def measure(subject, count):
    texts, rows = [subject.model.qkv(ids) for ids in subject.texts.values()], subject.rows(count)
    calibrated = subject.model.qkv(subject.calibration)
    vectors = {skip: fixed.Fixed([(q, k[:, skip:], v) for q, k, v in calibrated]) for skip in (0, 8)}
    found = {name: [] for name in WAYS}
    for layer in range(len(texts[0])):
        heads = [[subject.head(text[layer], h, rows) for text in texts] for h in range(len(texts[0][0][0]))]
        wanted = [numpy.concatenate([reference.exact(head) for _, head in each]) for each in heads]
        for name, way in WAYS.items():
            letters = "" if way.vectors == LIVE else way.vectors
            got = [numpy.concatenate([way.attend(head, vectors[way.skip].vectors(layer, kv_head, letters))
                                      for kv_head, head in each]) for each in heads]
            found[name].append(layers.of_method(got, wanted))
    return {name: summary(entries) for name, entries in found.items()}


def summary(entries):
    distances, rms = ([entry[key] for entry in entries] for key in ("one_minus_cosine", "rms"))
    heads = [d for entry in entries for d in entry["heads_one_minus_cosine"]]
    found = {"worst_cosine": 1 - max(distances), "worst_rms": max(rms), "median_cosine": 1 - numpy.median(distances),
             "median_rms": numpy.median(rms), "worst_head_cosine": 1 - max(heads)}
    return {name: round(float(x), 6) for name, x in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    subjects.add_arguments(parser)
    parser.add_argument("--rows", type=int, default=32, help="rows of each head and text")
    arguments = subjects.prepare(parser)
    document = {"date": time.strftime("%Y-%m-%d"), "context": subjects.context(arguments), "models": {}}
    for subject in subjects.subjects(arguments):
        document["models"][subject.name] = measure(subject, arguments.rows)
        for name, entry in document["models"][subject.name].items():
            print(f"{subject.name}, {name}: {entry}", file=sys.stderr)
    arguments.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
