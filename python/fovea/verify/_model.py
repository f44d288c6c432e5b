"""What a model computes, with one answer, and its hashes."""

import concurrent.futures
import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

import fovea
import fovea.torch
import fovea.transformers  # pylint: disable=unused-import  # registers attn_implementation="fovea"
from fovea.torch._audit import Recorder

from ._receipt import hash_of_tokens, refuse


def _bytes_of(tensor: torch.Tensor) -> Any:
    """A tensor's memory, without a copy if its elements lie one after the other."""
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy()


def hash_of(tensor: torch.Tensor) -> str:
    return hashlib.sha256(_bytes_of(tensor)).hexdigest()


def _named(model: Any) -> dict[str, torch.Tensor]:
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


def tensors_of(model: Any) -> dict[str, list[Any]]:
    """name: [type, shape, hash] of each parameter and buffer; hashed by as many threads as PyTorch has."""
    tensors = _named(model)
    with concurrent.futures.ThreadPoolExecutor(torch.get_num_threads()) as threads:
        hashes = list(threads.map(hash_of, tensors.values()))
    return {name: [str(tensor.dtype).removeprefix("torch."), list(tensor.shape), each]
            for (name, tensor), each in zip(tensors.items(), hashes)}


# ---- Running a model ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def one_answer(model: Any) -> Iterator[None]:
    """With Fovea's operators and attention. Refuses what ran if an operator among it has no one answer."""
    before = model.config._attn_implementation  # pylint: disable=protected-access
    with fovea.torch.one_answer(), torch.no_grad(), Recorder() as recorder:
        if model._can_set_attn_implementation():  # pylint: disable=protected-access
            model.set_attn_implementation("fovea")
        try:
            yield
        finally:
            if model.config._attn_implementation != before:  # pylint: disable=protected-access
                model.set_attn_implementation(before)
    lost = [str(function) for function in recorder.calls if function in recorder.lost]
    if lost:
        refuse("model", f"runs {lost[0]}, which may have other bits on another machine", fovea.UnsupportedError)


def refuse_model(model: Any) -> None:
    """Refuses models that have no receipts."""
    name, text = type(model).__name__, ""
    if not hasattr(model, "set_attn_implementation"):
        refuse("model", f"is a {name}; it must be a model of transformers", fovea.UnsupportedError)
    if model.config.is_encoder_decoder:
        text = f"is a {name}, an encoder and a decoder; it must be one of both"
    elif model.training:
        text = "is in training; call eval()"
    for tensor in [name for name, tensor in _named(model).items() if tensor.device.type != "cpu"][:1]:
        text = f"has {tensor} on another device; Fovea computes on the CPU"
    if text:
        refuse("model", text, fovea.UnsupportedError)


def refuse_texts(model: Any, texts: Mapping[str, Sequence[int]]) -> None:
    """Refuses texts that a model does not take, by their names."""
    most, tokens = longest(model), model.get_input_embeddings().num_embeddings
    for where, text in texts.items():
        if not 0 < len(text) <= most:
            refuse(where, f"has {len(text)} tokens; the model was made for texts of 1 to {most}")
        for i, token in enumerate(text):
            if not 0 <= token < tokens:
                refuse(f"{where}[{i}]", f"is {token}; the model has tokens 0 to {tokens - 1}")


def longest(model: Any) -> int:
    return getattr(model.config, "max_position_embeddings", None) or 2**31 - 1


def _run(model: Any, output: str, ids: torch.Tensor, **options: Any) -> Any:
    done = model(input_ids=ids, output_hidden_states=True, return_dict=True, **options)
    for name in ("hidden_states", output):
        if getattr(done, name, None) is None:
            refuse("model", f"is a {type(model).__name__}, whose output has no {name}", fovea.UnsupportedError)
    return done


def _rows(states: Sequence[torch.Tensor], every: int, first: int = 0) -> dict[str, list[str]]:
    """position: hashes, of tensors of (rows, dim) that begin at a position."""
    return {str(first + i): [hash_of(state[i]) for state in states]
            for i in range(-first % every, len(states[0]), every)}


# ---- Vectors -----------------------------------------------------------------------------------------------------


def _pooled(states: torch.Tensor, seen: torch.Tensor, pool: str) -> torch.Tensor:
    """The mean of the rows of each text, or the first row, 1 long."""
    if pool == "first":
        return torch.nn.functional.normalize(states[:, 0], dim=1)
    counted = seen[..., None].to(states.dtype)
    return torch.nn.functional.normalize((states * counted).sum(1) / counted.sum(1), dim=1)


def vectors_of(model: Any, texts: Sequence[list[int]], pool: str, every: int,
               batch: int) -> tuple[torch.Tensor, list[dict[str, Any]], int]:
    """Vectors, what a receipt says of each text, and the number of layers; `batch` texts at once."""
    vectors, found = [], []
    with one_answer(model):
        for begin in range(0, len(texts), batch):
            some = texts[begin:begin + batch]
            lengths = torch.tensor([len(text) for text in some])
            seen = torch.arange(max(map(len, some))) < lengths[:, None]
            ids = torch.full(seen.shape, getattr(model.config, "pad_token_id", None) or 0)
            ids[seen] = torch.tensor([token for text in some for token in text])
            states = _run(model, "hidden_states", ids, attention_mask=seen.long()).hidden_states
            vectors.append(_pooled(states[-1], seen, pool))
            for i, text in enumerate(some):
                found.append({"tokens": text, "inputs": hash_of_tokens(text),
                              "rows": _rows([state[i, :len(text)] for state in states], every),
                              "output": hash_of(vectors[-1][i])})
    return torch.cat(vectors), found, len(states) - 1


# ---- Texts -------------------------------------------------------------------------------------------------------


class Chooser:
    """The token that a row of logits chooses: the likeliest, or one that is drawn as examples/stories/chances.h says."""

    def __init__(self, temperature: float, seed: int):
        self.temperature, self.generator = temperature, seed

    def __call__(self, logits: torch.Tensor) -> int:
        if self.temperature == 0:
            return int(logits.argmax())
        p = torch.softmax(logits.float() * float(np.float32(1) / np.float32(self.temperature)), -1)
        if not bool(((p >= 0) & (p <= 2)).all()):
            refuse("model", "writes a number that is not finite")
        ends = ((p * 2.0**24).to(torch.int64) + 1).cumsum(0).numpy()
        self.generator = (self.generator + 0x9e3779b97f4a7c15) % 2**64  # SplitMix64
        z = (self.generator ^ self.generator >> 30) * 0xbf58476d1ce4e5b9 % 2**64
        z = (z ^ z >> 27) * 0x94d049bb133111eb % 2**64
        return int(np.searchsorted(ends, (z ^ z >> 31) * int(ends[-1]) >> 64, "right"))


class Reading:
    """Hashes of a text while a model reads it, and the tokens that its rows choose."""

    def __init__(self, model: Any, prompt: int, every: int, choose: Chooser):
        self.model, self.prompt, self.every, self.choose = model, prompt, every, choose
        self.read, self.layers, self.cache = 0, 0, None
        self.rows: dict[str, list[str]] = {}
        self.logits = hashlib.sha256()
        self.chosen: list[int] = []  # by the row before the first token after the prompt, and so on

    def add(self, tokens: list[int]) -> None:
        """Reads tokens after those that it has read."""
        done = _run(self.model, "logits", torch.tensor([tokens]), use_cache=True, cache=self.cache)
        states, logits = [state[0] for state in done.hidden_states], done.logits[0]
        self.cache, self.layers = done.cache, len(states) - 1
        self.rows.update(_rows([*states, logits], self.every, self.read))
        self.logits.update(_bytes_of(logits))
        self.chosen += [self.choose(row) for row in logits[max(self.prompt - 1 - self.read, 0):]]
        self.read += len(tokens)
