#!/usr/bin/env python3
"""What modes with other arithmetic change in what a language model says: whole.py --stories DIR --out whole.json

A model reads a text with all of its attention by one way: a mode of the contract, PyTorch in bf16, or SageAttention's
recipe. Its logits are compared with those that it has when attention is float64.
"""

import argparse
import itertools
import json
import sys
import tempfile
import time

import numpy
import torch

import contract
import fixed
import methods
import reference
import subjects

FLOAT64 = "float64"
WAYS = ("bf16/bf16", "int8/bf16", "int8/bf16 +ck", "int8/int8", "int8/int8 +ck", methods.TORCH, methods.SAGE,
        methods.SAGE_INT8)


def by(way, subject):
    """Attention of a layer after the other, all rows."""
    layers = itertools.count()

    def attend(*qkv):
        layer, qkv = next(layers), [x.contiguous().numpy() for x in qkv]
        heads = [subject.head(qkv, h, numpy.arange(qkv[0].shape[1])) for h in range(len(qkv[0]))]
        outputs = numpy.stack([way(head, layer, kv_head) for kv_head, head in heads])
        return torch.from_numpy(outputs.astype(numpy.float32))

    return attend


def said(subject, ids, way):
    """The logarithms of the chances of every token, after each of the text's."""
    return torch.log_softmax(subject.model.forward(ids, by(way, subject))[:-1].double(), -1)


def surprises(logs, ids):
    """-ln of the chance of each next token."""
    return -logs[torch.arange(len(logs)), torch.as_tensor(ids[1:])]


def measure_text(subject, ids, ways):
    """{way: (surprises, divergences, whether the likeliest token is the same)}, of all positions."""
    wanted, found = said(subject, ids, lambda head, *_: reference.exact(head)), {}
    for name, way in {FLOAT64: None, **ways}.items():
        logs = said(subject, ids, way) if way else wanted
        found[name] = (surprises(logs, ids), (wanted.exp() * (wanted - logs)).sum(-1),
                       (logs.argmax(-1) == wanted.argmax(-1)).double())
        print(f"{subject.name}: {name}: divergence {float(found[name][1].mean()):.3g}", file=sys.stderr)
    return found


def summary(way, wanted):
    """`more`: how much more surprise than by float64, and the standard error of that."""
    surprise, divergence, same = way
    more = surprise - wanted[0]
    return {"surprise": round(float(surprise.mean()), 5), "more": round(float(more.mean()), 5),
            "error_of_more": round(float(more.std() / len(more) ** 0.5), 5),
            "divergence": float(f"{float(divergence.mean()):.3g}"), "same_token": round(float(same.mean()), 4)}


def measure(subject, calls):
    own = methods.methods(calls, fixed.Fixed(subject.model.qkv(subject.calibration)))
    texts = [measure_text(subject, ids, {name: own[name] for name in WAYS}) for ids in subject.texts.values()]
    found = {name: [torch.cat(parts) for parts in zip(*(text[name] for text in texts))] for name in texts[0]}
    return subject.describe() | {"methods": {name: summary(way, found[FLOAT64]) for name, way in found.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    subjects.add_arguments(parser)
    parser.set_defaults(models=("stories", "smollm2"), tokens=384)
    arguments = subjects.prepare(parser)
    with tempfile.TemporaryDirectory() as place:
        calls = contract.build(place)
        entries = [measure(subject, calls) for subject in subjects.subjects(arguments)]
    document = {"date": time.strftime("%Y-%m-%d"), "context": subjects.context(arguments), "models": entries}
    arguments.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
