"""ONNX Runtime's layers. It packs constant weights when it loads a model."""

import numpy
import onnxruntime

import layer_graph
from layer_problems import ADDITIVE, GELU, LINEAR, MINILM
from peer_onnxruntime import VERSION  # noqa: F401 (VERSION is asked for)

WAYS = ("layers",)


class Solver:
    """A model with one input, bound to memory, and one output."""

    def __init__(self, model, x, shape, threads):
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads, settings.inter_op_num_threads = threads, 1
        settings.log_severity_level = 4
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        self.session = onnxruntime.InferenceSession(model, settings, ["CPUExecutionProvider"])
        self.y = onnxruntime.OrtValue.ortvalue_from_numpy(numpy.zeros(shape, dtype=numpy.float32))
        self.binding = self.session.io_binding()
        self.binding.bind_ortvalue_input(self.session.get_inputs()[0].name,
                                         onnxruntime.OrtValue.ortvalue_from_numpy(numpy.ascontiguousarray(x)))
        self.binding.bind_ortvalue_output(self.session.get_outputs()[0].name, self.y)

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def output(self):
        return self.y.numpy()


def linear(kind):
    def build(problem, x, weights, threads):
        model = layer_graph.linear(problem, weights, kind)
        return Solver(model, x, (problem.sizes[0], problem.sizes[2]), threads)

    return build


def activate(nodes):
    def build(problem, x, threads):
        return Solver(layer_graph.activation(problem, nodes), x, x.shape, threads)

    return build


def minilm(fused):
    def build(problem, tokens, threads):
        model = layer_graph.minilm(tokens.shape, fused)
        return Solver(model, tokens, (len(tokens), layer_graph.golden.DIM), threads)

    return build


def options(way, problem):
    if problem.kind == LINEAR:
        return {kind: linear(kind) for kind in ("MatMul", "Gemm")}
    if problem.kind == MINILM:
        return {"plain graph": minilm(False), "MultiHeadAttention": minilm(True)}
    if problem.kind == ADDITIVE:
        return {}
    if problem.kind == GELU:
        return {"Gelu": activate(lambda graph: graph.node("Gelu", "x")),
                "com.microsoft Gelu": activate(lambda graph: graph.node("Gelu", "x", domain=layer_graph.MICROSOFT))}
    return {"Sigmoid, Mul": activate(lambda graph: graph.node("Mul", "x", graph.node("Sigmoid", "x"))),
            "QuickGelu": activate(lambda graph: graph.node("QuickGelu", "x", domain=layer_graph.MICROSOFT, alpha=1.0))}
