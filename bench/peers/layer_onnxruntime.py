"""ONNX Runtime's layers. It packs constant weights when it loads a model. In int8 it quantises x at each run."""

import numpy
import onnxruntime

import cache_problems
import layer_graph
import layer_problems
from layer_problems import ADDITIVE, EPS, GELU, LAYER_NORM, LINEAR, MINILM, RMS_NORM, ROW, SOFTMAX
from peer_onnxruntime import VERSION  # noqa: F401 (VERSION is asked for)

WAYS = ("layers",)
F32, INT8 = 1, 4  # accuracy_level of MatMulNBits
BLOCK = 128


class Solver:
    """A model with one input, bound to memory, and outputs of one shape, of which the first counts."""

    def __init__(self, model, x, shape, threads):
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads, settings.inter_op_num_threads = threads, 1
        settings.log_severity_level = 4
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        self.session = onnxruntime.InferenceSession(model, settings, ["CPUExecutionProvider"])
        names = [output.name for output in self.session.get_outputs()]
        self.y = [onnxruntime.OrtValue.ortvalue_from_numpy(numpy.zeros(shape, dtype=numpy.float32)) for _ in names]
        self.layers = len(names)
        self.binding = self.session.io_binding()
        self.binding.bind_ortvalue_input(self.session.get_inputs()[0].name,
                                         onnxruntime.OrtValue.ortvalue_from_numpy(numpy.ascontiguousarray(x)))
        for name, y in zip(names, self.y):
            self.binding.bind_ortvalue_output(name, y)

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def output(self):
        return self.y[0].numpy()


def linear(kind):
    def build(problem, x, weights, threads):
        model = layer_graph.linear(problem, weights, kind)
        return Solver(model, x, (problem.sizes[0], problem.sizes[2]), threads)

    return build


def quantised(make):
    """`make` gives a model of the problem and its weights."""
    def build(problem, x, weights, threads):
        return Solver(make(problem, weights), x, (problem.sizes[0], problem.sizes[2]), threads)

    return build


def in_blocks(problem, weights):
    """MatMulNBits of 8 bits, x quantised too, with the largest blocks that it takes."""
    rows = weights.reshape(len(weights), -1, BLOCK)
    codes, scales = layer_problems.quantised(rows.reshape(-1, BLOCK))
    return layer_graph.blocks(problem, biased(codes).reshape(rows.shape), scales.reshape(rows.shape[:2]), INT8)


def biased(codes):
    """Codes of 8 bits with a sign as those of MatMulNBits, whose zero is 128."""
    return (codes.astype(numpy.int16) + 128).astype(numpy.uint8)


def row(accuracy):
    def build(problem, x, weights, threads):
        scales, codes = cache_problems.unblocked(weights, cache_problems.FORMATS[problem.type].block_bytes)
        if problem.type == "q8_0":
            codes = biased(codes.view(numpy.int8))
        else:  # neighbours share a byte
            halves = numpy.concatenate((codes & 15, codes >> 4), axis=-1)
            codes = halves[..., ::2] | halves[..., 1::2] << 4
        layers = layer_problems.copies(codes.nbytes + scales.nbytes)
        model = layer_graph.blocks(problem, codes, scales[..., 0], accuracy, layers)
        return Solver(model, x, (1, problem.sizes[1]), threads)

    return build


def of_rows(nodes):
    def build(problem, x, *rest):
        *factors, threads = rest
        return Solver(layer_graph.of_rows(problem, nodes, *factors), x, x.shape, threads)

    return build


def minilm(fused):
    def build(problem, tokens, threads):
        model = layer_graph.minilm(tokens.shape, fused)
        return Solver(model, tokens, (len(tokens), layer_graph.golden.DIM), threads)

    return build


def options(way, problem):
    if problem.kind == ROW:
        return {"MatMulNBits, f32": row(F32), "MatMulNBits, int8": row(INT8)}
    if problem.type == "bf16":
        return {}
    if problem.type == "int8":
        return {"DynamicQuantizeMatMul": quantised(lambda *of: layer_graph.dynamic(*of, True)),
                "MatMulInteger": quantised(lambda *of: layer_graph.dynamic(*of, False)), "MatMulNBits": quantised(in_blocks)}
    if problem.kind == LINEAR:
        return {kind: linear(kind) for kind in ("MatMul", "Gemm")}
    if problem.kind == MINILM:
        return {"plain graph": minilm(False), "MultiHeadAttention": minilm(True)}
    if problem.kind == ADDITIVE:
        return {}
    if problem.kind == LAYER_NORM:
        return {"LayerNormalization": of_rows(lambda graph, gamma, beta: graph.node(
            "LayerNormalization", "x", gamma, beta, epsilon=EPS))}
    if problem.kind == RMS_NORM:
        return {"SimplifiedLayerNormalization": of_rows(lambda graph, gamma: graph.node(
            "SimplifiedLayerNormalization", "x", gamma, epsilon=EPS))}
    if problem.kind == SOFTMAX:
        return {"Softmax": of_rows(lambda graph: graph.node("Softmax", "x", axis=-1))}
    if problem.kind == GELU:
        return {"Gelu": of_rows(lambda graph: graph.node("Gelu", "x")),
                "com.microsoft Gelu": of_rows(lambda graph: graph.node("Gelu", "x", domain=layer_graph.MICROSOFT))}
    return {"Sigmoid, Mul": of_rows(lambda graph: graph.node("Mul", "x", graph.node("Sigmoid", "x"))),
            "QuickGelu": of_rows(lambda graph: graph.node("QuickGelu", "x", domain=layer_graph.MICROSOFT, alpha=1.0))}
