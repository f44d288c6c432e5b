"""PyTorch's layers: MKL and oneDNN, with weights as they are stored or packed beforehand; in int8 its dynamically
quantised layer, whose x has one scale and one zero point for all rows."""

import math

import numpy
import torch
from torch.nn import functional

import layer_problems
from layer_problems import ADDITIVE, EPS, GELU, LAYER_NORM, LINEAR, MINILM, NORMS, ROW, SILU, SOFTMAX, golden
from peer_torch import VERSION, Solver  # noqa: F401 (VERSION is asked for)

WAYS = ("layers",)


def tensor(array):
    """Bits of bf16 as numbers of bf16."""
    copy = torch.from_numpy(numpy.array(array))
    return copy.view(torch.bfloat16) if copy.dtype == torch.uint16 else copy


# ---- Linear layers: each takes x's rows, weights and bias, and returns a function of x ----


def plain(rows, weights, bias):
    return lambda x: functional.linear(x, weights, bias)


def mkl_packed(rows, weights, bias):
    packed = torch.ops.mkl._mkl_reorder_linear_weight(weights, rows)
    return lambda x: torch.ops.mkl._mkl_linear(x, packed, weights, bias, rows)


def onednn_packed(rows, weights, bias):
    packed = torch.ops.mkldnn._reorder_linear_weight(weights, rows)
    return lambda x: torch.ops.mkldnn._linear_pointwise(x, packed, bias, "none", [], "")


# MKL has packed weights in f32 only.
LAYERS = {"F.linear": plain, "MKL, packed": mkl_packed, "oneDNN, packed": onednn_packed}


def linear(make):
    def build(problem, x, weights, threads):
        torch.set_num_threads(threads)
        x = tensor(x)
        layer = make(problem.sizes[0], tensor(weights), None)
        return Solver(lambda: layer(x), threads, (problem.sizes[0], problem.sizes[2]))

    return build


def into_memory(problem, x, weights, threads):
    """Without allocating the output."""
    x, turned = tensor(x), tensor(weights).t()
    y = torch.empty(problem.sizes[0], problem.sizes[2], dtype=x.dtype)
    return Solver(lambda: torch.mm(x, turned, out=y), threads, y.shape)


def quantised(engine):
    """Weights are quantised and packed beforehand, with a scale for each output."""

    def build(problem, x, weights, threads):
        torch.set_num_threads(threads)
        torch.backends.quantized.engine = engine
        x, (codes, scales) = tensor(x), layer_problems.quantised(weights)
        made = torch._make_per_channel_quantized_tensor(
            tensor(codes), tensor(scales[:, 0]).double(), torch.zeros(len(codes), dtype=torch.int64), 0)
        packed = torch.ops.quantized.linear_prepack(made, None)
        return Solver(lambda: torch.ops.quantized.linear_dynamic(x, packed, False), threads,
                      (problem.sizes[0], problem.sizes[2]))

    return build


# ---- Others ----


def activate(problem, x, threads):
    x = tensor(x)
    y = torch.empty_like(x)
    function = {GELU: torch.ops.aten.gelu.out, SILU: torch.ops.aten.silu.out}[problem.kind]
    return Solver(lambda: function(x, out=y), threads, x.shape)


def normalise(problem, x, *rest):
    *factors, threads = rest
    x, factors = tensor(x), [tensor(factor) for factor in factors]
    function = functional.layer_norm if problem.kind == LAYER_NORM else functional.rms_norm
    return Solver(lambda: function(x, x.shape[1:], *factors, eps=EPS), threads, x.shape)


def softmax(problem, x, threads):
    x = tensor(x)
    y = torch.empty_like(x)
    return Solver(lambda: torch.ops.aten._softmax.out(x, -1, False, out=y), threads, x.shape)


def additive(problem, q, k, v, w, threads):
    q, k, v, w = (tensor(array) for array in (q, k, v, w))

    def call():
        return torch.softmax(torch.tanh_(q[:, None] + k) @ w, -1) @ v

    return Solver(call, threads, q.shape)


class Minilm:
    """What golden.forward() needs, for texts of one length."""

    def __init__(self, rows, make):
        self.weights = {name: tensor(w) for name, w in layer_problems.model_weights().items()}
        self.rows, self.make, self.layers = rows, make, {}

    def embed(self, ids):
        w = self.weights
        x = functional.embedding(ids, w["embeddings.word_embeddings.weight"])
        x = x + w["embeddings.token_type_embeddings.weight"][0]
        return x + w["embeddings.position_embeddings.weight"][: ids.shape[1]]

    def norm(self, x, name):
        w = self.weights
        return functional.layer_norm(x, (golden.DIM,), w[name + ".weight"], w[name + ".bias"], golden.EPS)

    def linear(self, x, name):
        if name not in self.layers:
            w = self.weights
            self.layers[name] = self.make(self.rows, w[name + ".weight"], w[name + ".bias"])
        return self.layers[name](x.reshape(self.rows, -1)).view(*x.shape[:2], -1)

    def attend(self, q, k, v):
        q, k, v = (x.view(*x.shape[:2], golden.HEADS, -1).transpose(1, 2) for x in (q, k, v))
        return functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)

    def gelu(self, x):
        return functional.gelu(x)

    def pool(self, x):
        return functional.normalize(x.mean(1))


def minilm(make):
    def build(problem, tokens, threads):
        torch.set_num_threads(threads)
        ids = tensor(tokens)
        ops = Minilm(math.prod(tokens.shape), make)
        return Solver(lambda: golden.forward(ops, ids), threads, (len(tokens), golden.DIM))

    return build


def options(way, problem):
    if problem.kind == LINEAR and problem.type == "int8":
        return {engine: quantised(engine) for engine in torch.backends.quantized.supported_engines if engine != "none"}
    if problem.kind == LINEAR:
        return {name: linear(make) for name, make in LAYERS.items() if problem.type == "f32" or make != mkl_packed} | {
            "mm into memory": into_memory}
    if problem.kind == ROW:
        return {}
    if problem.kind == MINILM:
        return {name: minilm(make) for name, make in LAYERS.items()}
    others = {ADDITIVE: additive, SOFTMAX: softmax} | dict.fromkeys(NORMS, normalise)
    return {"plain": others.get(problem.kind, activate)}
