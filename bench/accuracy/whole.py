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

import attention
import contract
import fixed
import methods
import subjects

WAYS = ("bf16/bf16", "int8/bf16", "int8/bf16 +ck", "int8/int8", "int8/int8 +ck", methods.TORCH, methods.SAGE,
        methods.SAGE_INT8)


def by(way, subject):
    """Attention of a layer after the other, all rows."""
    layers = itertools.count()

    def attend(*qkv):
        layer, qkv = next(layers), [x.contiguous().numpy() for x in qkv]
        heads = [subject.head(qkv, h, numpy.arange(qkv[0].shape[1])) for h in range(len(qkv[0]))]
        return torch.from_numpy(numpy.stack([way(head, layer, kv_head) for kv_head, head in heads]).astype(numpy.float32))

    return attend


def said(subject, ids, way):
    """The logarithms of the chances of every token, after each of the text's."""
    return torch.log_softmax(subject.model.forward(ids, by(way, subject))[:-1].double(), -1)


def surprise(logs, ids):
    return float(-logs[torch.arange(len(logs)), torch.as_tensor(ids[1:])].mean())


def compare(logs, wanted, ids):
    """Of all positions: the mean of -log(chance of the next token); the mean divergence from what is wanted; how often
    the likeliest token is the same."""
    return {"surprise": round(surprise(logs, ids), 6),
            "divergence": float(f"{float((wanted.exp() * (wanted - logs)).sum(-1).mean()):.3g}"),
            "same_token": round(float((logs.argmax(-1) == wanted.argmax(-1)).double().mean()), 4)}


def measure(subject, calls):
    name, ids = next(iter(subject.texts.items()))
    wanted = said(subject, ids, lambda head, *_: attention.exact(head))
    ways, found = methods.methods(calls, fixed.Fixed(subject.model.qkv(subject.calibration))), {}
    for way in WAYS:
        found[way] = compare(said(subject, ids, ways[way]), wanted, ids)
        print(f"{subject.name}: {way}: {found[way]}", file=sys.stderr)
    return subject.describe() | {"read": name, "float64": {"surprise": round(surprise(wanted, ids), 6)}, "methods": found}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    subjects.add_arguments(parser)
    parser.set_defaults(models=("stories", "smollm2"), tokens=512)
    arguments = subjects.prepare(parser)
    with tempfile.TemporaryDirectory() as place:
        calls = contract.build(place)
        entries = [measure(subject, calls) for subject in subjects.subjects(arguments)]
    document = {"date": time.strftime("%Y-%m-%d"), "context": subjects.context(arguments), "models": entries}
    arguments.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
