"""Receipts that are checked."""

import os
from collections.abc import Mapping
from typing import Any, NoReturn

import fovea

from . import _model, _write
from ._receipt import load, require, validate


class Difference(fovea.Error):
    """A receipt that is not of this model and these texts; `field` is what differs first."""


def _differ(receipt: Mapping[str, Any], field: str, text: str) -> NoReturn:
    here = _write.versions()
    others = [f"{name} {version}, and this is {here.get(name, 'none')}"
              for name, version in receipt["versions"].items() if version != here.get(name)]
    error = Difference(text + "".join(f"; the receipt was written with {other}" for other in others[:1]))
    error.field = field
    raise error


def _compare_tensors(receipt: Mapping[str, Any], found: Mapping[str, list[Any]]) -> None:
    stated = receipt["tensors"]
    for name in {**stated, **found}:
        if name not in found or name not in stated:
            _differ(receipt, name, f"the {'model' if name in stated else 'receipt'} has no tensor {name}")
        for at, what in enumerate(("type", "shape")):
            if stated[name][at] != found[name][at]:
                _differ(receipt, name, f"{name} has the {what} {found[name][at]}; in the receipt {stated[name][at]}")
        if stated[name] != found[name]:
            _differ(receipt, name, f"{name} has another hash")


def _compare_text(receipt: Mapping[str, Any], i: int, rows: Mapping[str, list[str]], output: str,
                  chosen: list[int]) -> None:
    """In the order in which a model reads a text."""
    text, is_text = receipt["texts"][i], receipt["kind"] == "text"
    tokens, first = text["tokens"], "" if is_text else f"texts[{i}], "
    names = ["the embedding has", *(f"the state after layer {layer} has" for layer in range(receipt["layers"])),
             "the logits have"]
    for position in range(len(tokens)):
        for name, one, other in zip(names, text["rows"].get(str(position), ()), rows.get(str(position), ())):
            if one != other:
                _differ(receipt, f"texts[{i}].rows[{position}]", f"{first}position {position}: {name} another hash")
        written = position + 1 - text["prompt"] if is_text else -1
        if 0 <= written < len(chosen) and tokens[position + 1] != chosen[written]:
            _differ(receipt, f"texts[{i}].tokens[{position + 1}]", f"token {position + 1} is {tokens[position + 1]}; "
                    f"the model writes {chosen[written]} there")
    if text["output"] != output:
        _differ(receipt, f"texts[{i}].output", "the logits of all rows have another hash" if is_text else
                f"texts[{i}]: the vector has another hash")


def _compute(model: Any, receipt: Mapping[str, Any], batch: int) -> tuple[int, list[tuple[Any, str, list[int]]]]:
    """How many layers the model has; of each text the hashes of rows and output, and the tokens that it writes."""
    texts = [text["tokens"] for text in receipt["texts"]]
    if receipt["kind"] == "vectors":
        _, found, layers = _model.vectors_of(model, texts, receipt["pool"], receipt["every"], batch)
        return layers, [(each["rows"], each["output"], []) for each in found]
    choose = _model.Chooser(receipt["temperature"], receipt["seed"])
    reading = _model.Reading(model, receipt["texts"][0]["prompt"], receipt["every"], choose)
    with _model.one_answer(model):
        reading.add(texts[0][:-1])
    return reading.layers, [(reading.rows, reading.logits.hexdigest(), reading.chosen)]


def check(model: Any, receipt: Mapping[str, Any] | str | os.PathLike[str], *, batch: int = 32,
          any_weights: bool = False) -> str:
    """Computes again what a receipt says, and compares every hash and every token that was written; a text in one pass.
    Returns a line that says how much was compared.

    Raises Difference for what differs first: the model, a tensor, a state of a position and layer, a token, an output.
    Raises fovea.ArgumentError for what is no whole receipt of this version, fovea.UnsupportedError for a model with an
    operator that has no one answer.

    model: of transformers, in eval()
    receipt: as embed() and generate() return it, or the path of its file
    batch: how many texts an encoder reads at once; it changes no bit
    any_weights: goes on if the model has other weights, to say where states first differ
    """
    if isinstance(receipt, (str, os.PathLike)):
        receipt = load(receipt)
    validate(receipt)
    require({"batch": batch}, ("batch",))
    _model.refuse_model(model)
    if type(model).__name__ != receipt["model"]:
        _differ(receipt, "model", f"model is a {type(model).__name__}; the receipt is of a {receipt['model']}")
    tensors = {} if any_weights else _model.tensors_of(model)
    if not any_weights:
        _compare_tensors(receipt, tensors)
    _model.refuse_texts(model, {f"texts[{i}].tokens": text["tokens"] for i, text in enumerate(receipt["texts"])})
    layers, found = _compute(model, receipt, batch)
    if layers != receipt["layers"]:
        _differ(receipt, "layers", f"the model has {layers} layers; the receipt {receipt['layers']}")
    for i, (rows, output, chosen) in enumerate(found):
        _compare_text(receipt, i, rows, output, chosen)
    tokens = sum(len(text["tokens"]) for text in receipt["texts"])
    hashes = sum(len(row) for text in receipt["texts"] for row in text["rows"].values()) + len(found)
    return f"verified: {len(tensors)} tensors, {tokens} tokens, {hashes} hashes"
