#!/usr/bin/env python3
"""How exact modes with other arithmetic are on layers of real models: layers.py --stories DIR --out layers.json

For each layer and head of each model: q, k and v of real text, in f32; attention of some rows by the contract of modes
(tests/modes/contract_modes.c), by PyTorch in bf16, and by SageAttention's recipe; each compared with float64. DIR has
stories260K.bin of llama2.c. report.py makes tables of the JSON.
"""

import argparse
import json
import sys
import tempfile
import time

import numpy

import contract
import fixed
import methods
import reference
import subjects


def hardness(head):
    """What makes a head hard."""
    p, length, channel = reference.weights(head), numpy.linalg.norm(head.v, axis=1), fixed.root_mean_square(head.v, 0)
    scores = head.q @ head.k.T * head.scale
    return {"weight_of_first_key": (p[:, 0] / p.sum(1)).mean(),
            "length_of_first_value_over_median": length[0] / numpy.median(length),
            "largest_channel_mean_of_keys_over_rms": numpy.abs(head.k.mean(0)).max() / fixed.root_mean_square(head.k),
            "largest_channel_of_values_over_median": channel.max() / numpy.median(channel),
            "deviation_of_scores": numpy.mean([row[: last + 1].std() for row, last in zip(scores, head.last)])}


def short(x, digits=3):
    return float(f"{x:.{digits}g}")


def distance(cosine):
    """1 - cosine, which keeps more digits."""
    return short(max(0.0, 1 - cosine))


def of_method(got, wanted):
    """Of the outputs of each head: the errors of the layer, and of its heads."""
    pairs = [reference.errors(*pair) for pair in zip(got, wanted)]
    cosine, rms = reference.errors(numpy.stack(got), numpy.stack(wanted))
    return {"one_minus_cosine": distance(cosine), "rms": short(rms),
            "heads_one_minus_cosine": [distance(c) for c, _ in pairs], "heads_rms": [short(r, 2) for _, r in pairs]}


def measure_layer(subject, found, layer, rows, ways):
    """`found`: q, k and v of the layer, of each text."""
    got, wanted, hard = {name: [] for name in ways}, [], []
    for h in range(len(found[0][0])):
        heads = [subject.head(qkv, h, rows) for qkv in found]
        wanted.append(numpy.concatenate([reference.exact(head) for _, head in heads]))
        hard.append(hardness(heads[0][1]))
        for name, way in ways.items():
            got[name].append(numpy.concatenate([way(head, layer, kv_head) for kv_head, head in heads]))
    return {"hardness": {name: [short(each[name], 2) for each in hard] for name in hard[0]},
            "methods": {name: of_method(got[name], wanted) for name in ways}}


def measure(subject, calls, count):
    ways = methods.methods(calls, fixed.Fixed(subject.model.qkv(subject.calibration)))
    texts, rows, entries = [subject.model.qkv(ids) for ids in subject.texts.values()], subject.rows(count), []
    for layer in range(len(texts[0])):
        entries.append(measure_layer(subject, [text[layer] for text in texts], layer, rows, ways))
        print(f"{subject.name}: layer {layer} of {len(texts[0])}", file=sys.stderr)
    return subject.describe() | {"rows_of_a_text": len(rows), "layers": entries}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    subjects.add_arguments(parser)
    parser.add_argument("--rows", type=int, default=32, help="rows of each head and text")
    arguments = subjects.prepare(parser)
    with tempfile.TemporaryDirectory() as place:
        calls = contract.build(place)
        entries = [measure(subject, calls, arguments.rows) for subject in subjects.subjects(arguments)]
    document = {"date": time.strftime("%Y-%m-%d"), "context": subjects.context(arguments), "models": entries}
    arguments.out.write_text(json.dumps(document, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
